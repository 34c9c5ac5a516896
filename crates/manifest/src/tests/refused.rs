//! Values that are wrong, with the whole text of each message.

use super::*;

#[test]
fn unknown_names() {
    let table = [
        (
            "[join]\ntreshold = 0.8",
            "6:1: unknown key `treshold`, did you mean `threshold`?",
        ),
        (
            "[sign]\n  strip-punctuation = true",
            "6:3: unknown key `strip-punctuation`, did you mean `strip_punctuation`?",
        ),
        (
            "[sign]\nstrip = true",
            "6:1: unknown key `strip`, did you mean `strip_punctuation`?",
        ),
        ("[sign]\nN = 5", "6:1: unknown key `N`, did you mean `n`?"),
        (
            "[band]\nrow = 5",
            "6:1: unknown key `row`, did you mean `rows`?",
        ),
        (
            "[band]\nx = 5",
            "6:1: unknown key `x`; the keys of [band] are `bands` and `rows`",
        ),
        (
            "[join]\nzzz = 5",
            "6:1: unknown key `zzz`; the keys of [join] are `verify`, `threshold`, `bits` and `anchors`",
        ),
        (
            "[band]\nthreshold = 0.8",
            "6:1: unknown key `threshold` in [band]; it is a key of [join]",
        ),
        (
            "[joins]\nbits = 32",
            "5:2: unknown table `joins`, did you mean `join`?",
        ),
        (
            "[output]",
            "5:2: `output` stands in no table; it is a key of [filter]",
        ),
        (
            "[dedup]",
            "5:2: unknown table `dedup`; the tables are `input`, `run`, `sign`, `band`, `join`, `cluster` and `filter`",
        ),
        (
            "[join.sub]\nx = 1",
            "5:7: unknown key `sub`; the keys of [join] are `verify`, `threshold`, `bits` and `anchors`",
        ),
        (
            "[\"é\".x]",
            "5:2: unknown table `é`; the tables are `input`, `run`, `sign`, `band`, `join`, `cluster` and `filter`",
        ),
        ("[[join]]", "5:3: expected a table `[join]`, found an array"),
    ];
    for (more, expected) in table {
        check_more(more, expected);
    }
    check(
        &format!("join = 0.8\nk = 128\n{LEAST}"),
        &[],
        "jobs/pipeline.toml:1:1: expected a table `[join]`, found a float\n\
         jobs/pipeline.toml:2:1: `k` stands in no table; it is a key of [sign]",
    );
}

#[test]
fn what_later_versions_have() {
    let table = [
        (
            "[join]\nverify = \"exact\"",
            "6:10: join.verify = \"exact\" is not in this version of neardup; use \"estimate\" or \"none\"",
        ),
        (
            "[join]\nbits = 4",
            "6:8: join.bits = 4 is not in this version of neardup; use 8, 16, 32",
        ),
        (
            "[join]\nlevels = [0.7, 0.9]",
            "6:1: join.levels is not in this version of neardup; set one join.threshold",
        ),
        (
            "[cluster]\nmethod = \"representative\"",
            "6:10: cluster.method = \"representative\" is not in this version of neardup; use \"components\"",
        ),
        (
            "[cluster]\nprefer = ['a']",
            "6:1: cluster.prefer is not in this version of neardup; rank by cluster.keep and cluster.column",
        ),
        (
            "[cluster]\nscope = 'a'",
            "6:1: cluster.scope is not in this version of neardup; remove it",
        ),
    ];
    for (more, expected) in table {
        check_more(more, expected);
    }
}

#[test]
fn what_later_versions_have_in_sign_input_and_filter() {
    let table = [
        (
            "[sign]\nunit = \"code\"",
            "6:8: sign.unit = \"code\" is not in this version of neardup; use \"word\", \"char\" or \"auto\"",
        ),
        (
            "[sign]\nunit = \"dna\"",
            "6:8: sign.unit = \"dna\" is not in this version of neardup; use \"word\", \"char\" or \"auto\"",
        ),
        (
            "[sign]\nscheme = \"simhash\"",
            "6:10: sign.scheme = \"simhash\" is not in this version of neardup; use \"fss\" or \"universal\"",
        ),
        (
            "[sign]\nscheme = \"bottomk\"",
            "6:10: sign.scheme = \"bottomk\" is not in this version of neardup; use \"fss\" or \"universal\"",
        ),
        (
            "[sign]\nscheme = \"fracminhash\"",
            "6:10: sign.scheme = \"fracminhash\" is not in this version of neardup; use \"fss\" or \"universal\"",
        ),
        (
            "[sign]\nstrip_comments = true",
            "6:1: sign.strip_comments is not in this version of neardup; remove it",
        ),
        (
            "[input.source]\ncolumn = 'x'",
            "5:8: input.source is not in this version of neardup; remove it",
        ),
        (
            "removed = 'removed'",
            "5:1: filter.removed is not in this version of neardup; use filter.mode = \"annotate\" to see what is dropped",
        ),
        (
            "[preset]",
            "5:2: preset is not in this version of neardup; set the keys of [sign], [band] and [join]",
        ),
    ];
    for (more, expected) in table {
        check_more(more, expected);
    }
    for bits in [1, 2, 4] {
        let expected =
            format!("join.bits = {bits} is not in this version of neardup; use 8, 16, 32");
        check_set(&format!("join.bits={bits}"), &expected);
    }
    check_set(
        "input.on_bad_file=skip",
        "input.on_bad_file = \"skip\" is not in this version of neardup; use \"refuse\"",
    );
    check(
        &format!("preset = 'web'\n{LEAST}"),
        &[],
        "jobs/pipeline.toml:1:1: preset is not in this version of neardup; set the keys of [sign], [band] and [join]",
    );
}

#[test]
fn wrong_types() {
    let table = [
        (
            "compression_level = '3'",
            "5:21: filter.compression_level: expected an integer, found a string; write it without quotes",
        ),
        (
            "prefix = 7",
            "5:10: filter.prefix: expected a string, found an integer; write \"7\"",
        ),
        (
            "prefix = 2026-01-31",
            "5:10: filter.prefix: expected a string, found a date or time; write \"2026-01-31\"",
        ),
        (
            "prefix = ['a']",
            "5:10: filter.prefix: expected a string, found an array",
        ),
        (
            "mode = true",
            "5:8: filter.mode: expected a string, found a boolean; write \"true\"",
        ),
        (
            "[sign]\nk = 128.0",
            "6:5: sign.k: expected an integer, found a float",
        ),
        (
            "[sign]\nk = 'many'",
            "6:5: sign.k: expected an integer, found a string",
        ),
        (
            "[sign]\nstrip_punctuation = 1",
            "6:21: sign.strip_punctuation: expected true or false, found an integer",
        ),
        (
            "[sign]\nstrip_punctuation = 'true'",
            "6:21: sign.strip_punctuation: expected true or false, found a string",
        ),
    ];
    for (more, expected) in table {
        check_more(more, expected);
    }
}

#[test]
fn wrong_types_of_numbers_and_paths() {
    let table = [
        (
            "[join]\nthreshold = '0.8'",
            "6:13: join.threshold: expected a number, found a string; write it without quotes",
        ),
        (
            "[join]\nthreshold = [0.8]",
            "6:13: join.threshold: expected a number, found an array",
        ),
        (
            "[join]\nbits = {}",
            "6:8: join.bits: expected an integer, found a table",
        ),
        (
            "[run]\nmemory = 1.5",
            "6:10: run.memory: expected a size such as \"8GiB\" or an integer of bytes, found a float",
        ),
        (
            "[run]\nwork = 1",
            "6:8: run.work: expected a string, found an integer; write \"1\"",
        ),
    ];
    for (more, expected) in table {
        check_more(more, expected);
    }
    check(
        "[input]\npaths = [\n  'a',\n  7,\n]\n[filter]\noutput = 'o'\n",
        &[],
        "jobs/pipeline.toml:4:3: input.paths: expected a string or an array of strings, found an integer; write \"7\"",
    );
    check(
        "[input]\npaths = { a = 1 }\n[filter]\noutput = 'o'\n",
        &[],
        "jobs/pipeline.toml:2:9: input.paths: expected a string or an array of strings, found a table",
    );
}

#[test]
fn values_out_of_range() {
    let range = |name: &str, written: &str, range: &str| {
        check_set(
            &format!("{name}={written}"),
            &format!("{name} = {written} is out of range; use {range}"),
        );
    };
    for written in [
        "0",
        "0.0",
        "-0.0",
        "-0.5",
        "1.0000001",
        "2",
        "80",
        "nan",
        "inf",
        "-inf",
    ] {
        range("join.threshold", written, "a number above 0 and up to 1");
    }
    for written in [
        "0",
        "-1",
        "4097",
        "99999999999999999999",
        "-99999999999999999999999999999999999999999",
    ] {
        range("sign.k", written, "an integer from 1 to 4096");
    }
    range(
        "sign.seed",
        "-1",
        "an integer from 0 to 9223372036854775807",
    );
    range(
        "sign.seed",
        "9223372036854775808",
        "an integer from 0 to 9223372036854775807",
    );
    range("sign.n", "0", "an integer from 1 to 1024");
    range("sign.char_n", "1025", "an integer from 1 to 1024");
    range("band.bands", "0", "an integer from 1 to 4096");
    range("band.rows", "0", "an integer from 1 to 4096");
    range("join.anchors", "0", "an integer from 1 to 65536");
    range("join.anchors", "65537", "an integer from 1 to 65536");
    range("run.threads", "1025", "an integer from 0 to 1024");
    range("run.threads", "-1", "an integer from 0 to 1024");
    range("filter.compression_level", "23", "an integer from -7 to 22");
    range("filter.compression_level", "-8", "an integer from -7 to 22");
    check_more(
        "[sign]\nk = 0x2000",
        "6:5: sign.k = 0x2000 is out of range; use an integer from 1 to 4096",
    );
    for bits in ["0", "7", "64", "-1"] {
        let expected = format!("join.bits = {bits} is not a value of it; use 8, 16, 32");
        check_set(&format!("join.bits={bits}"), &expected);
    }
}

#[test]
fn values_that_are_none() {
    let table = [
        (
            "[cluster]\nkeep = \"longst\"",
            "6:8: cluster.keep = \"longst\" is not a value of it, did you mean \"longest\"?",
        ),
        (
            "[cluster]\nkeep = \"all\"",
            "6:8: cluster.keep = \"all\" is not a value of it; use \"longest\", \"earliest\" or \"best\"",
        ),
        (
            "mode = \"\"",
            "5:8: filter.mode = \"\" is not a value of it; use \"drop\" or \"annotate\"",
        ),
        (
            "prefix = \"\"",
            "5:10: filter.prefix is empty; give it at least one character",
        ),
        (
            "[cluster]\nkeep = 'best'\ncolumn = ''",
            "7:10: cluster.column is empty; give it at least one character",
        ),
    ];
    for (more, expected) in table {
        check_more(more, expected);
    }
}

#[test]
fn memory_and_paths_that_are_none() {
    let table = [
        (
            "[run]\nmemory = 0",
            "6:10: run.memory = 0 is nothing to work with; use a size such as \"8GiB\", \"512MiB\" or \"64MB\", or an integer of bytes",
        ),
        (
            "[run]\nmemory = '0GiB'",
            "6:10: run.memory = \"0GiB\" is nothing to work with; use a size such as \"8GiB\", \"512MiB\" or \"64MB\", or an integer of bytes",
        ),
        (
            "[run]\nmemory = -1",
            "6:10: run.memory = -1 is not a size in bytes; use a size such as \"8GiB\", \"512MiB\" or \"64MB\", or an integer of bytes",
        ),
        (
            "[run]\nmemory = '8G'",
            "6:10: run.memory = \"8G\" is not a size in bytes; use a size such as \"8GiB\", \"512MiB\" or \"64MB\", or an integer of bytes",
        ),
        (
            "[run]\nmemory = '${MEMORY}'",
            "6:10: run.memory = \"plenty\" is not a size in bytes; use a size such as \"8GiB\", \"512MiB\" or \"64MB\", or an integer of bytes",
        ),
        (
            "[run]\nwork = ''",
            "6:8: run.work = \"\" names nothing; give a path",
        ),
        (
            "[run]\nwork = '~/w'",
            "6:8: run.work = \"~/w\" begins with `~`, which only a shell expands; write ${HOME} for it",
        ),
        (
            "[run]\nwork = 's3://b/w'",
            "6:8: run.work = \"s3://b/w\" is an address; neardup reads and writes files, so give a path",
        ),
    ];
    for (more, expected) in table {
        check_more(more, expected);
    }
    check_set(
        "input.text=",
        "input.text is empty; give it at least one character",
    );
    check_set(
        "input.id=",
        "input.id is empty; give it at least one character",
    );
    check_set(
        "input.paths=[]",
        "input.paths is empty; name at least one file, folder or glob",
    );
    check_set(
        "input.paths=['a', ' ']",
        "input.paths = \" \" names nothing; give a path",
    );
    check_set(
        "filter.output=~",
        "filter.output = \"~\" begins with `~`, which only a shell expands; write ${HOME} for it",
    );
}

#[test]
fn environment_variables() {
    let table = [
        (
            "prefix = 'x-${DAY}'",
            "5:10: filter.prefix: environment variable `DAY` is not set",
        ),
        (
            "prefix = '${EMPTY}x'",
            "5:10: filter.prefix: environment variable `EMPTY` is empty",
        ),
        (
            "prefix = '${DAY'",
            "5:10: filter.prefix: `${` without its `}`; close the variable's name, or write `$${` for a literal `${`",
        ),
        (
            "[sign]\nunit = '${HOME}'",
            "6:8: sign.unit = \"/home/ada\" is not a value of it; use \"word\", \"char\" or \"auto\"",
        ),
    ];
    for (more, expected) in table {
        check_more(more, expected);
    }
    check(
        "[input]\npaths = ['a', '${DAY}/b']\n[filter]\noutput = 'o'\n",
        &[],
        "jobs/pipeline.toml:2:15: input.paths: environment variable `DAY` is not set",
    );
    check_set(
        "filter.output=${DAY}",
        "filter.output: environment variable `DAY` is not set",
    );
}

#[test]
fn rules_between_keys() {
    let slots = "slots are more than sign.k =";
    let table = [
        ("[band]\nbands = 25", format!("6:9: band.bands * band.rows = 25 * 6 = 150 {slots} 128; lower band.bands or band.rows, or raise sign.k to 150 or more")),
        ("[band]\nrows = 7\nbands = 20", format!("7:9: band.bands * band.rows = 20 * 7 = 140 {slots} 128; lower band.bands or band.rows, or raise sign.k to 140 or more")),
        ("[band]\nrows = 4096\nbands = 4096", format!("7:9: band.bands * band.rows = 4096 * 4096 = 16777216 {slots} 128; lower band.bands or band.rows")),
        ("[sign]\nk = 119", format!("6:5: band.bands * band.rows = 20 * 6 = 120 {slots} 119; lower band.bands or band.rows, or raise sign.k to 120 or more")),
        ("[cluster]\nkeep = 'best'", "6:8: cluster.keep = \"best\" needs a column; set cluster.column to the quality column".to_owned()),
        ("[cluster]\ncolumn = 'q'", "6:10: cluster.column has no effect with cluster.keep = \"longest\"; remove it, or set cluster.keep to \"earliest\" or \"best\"".to_owned()),
    ];
    for (more, expected) in table {
        check_more(more, &expected);
    }
    check(
        &format!("{LEAST}[band]\nbands = 25\n[sign]\nk = 150\n"),
        &["sign.k=128"],
        "--set sign.k=128: band.bands * band.rows = 25 * 6 = 150 slots are more than sign.k = 128; lower band.bands or band.rows, or raise sign.k to 150 or more",
    );
    check(
        &format!("{LEAST}[cluster]\nkeep = 'best'\ncolumn = 'q'\n"),
        &["cluster.keep=longest"],
        "--set cluster.keep=longest: cluster.column has no effect with cluster.keep = \"longest\"; remove it, or set cluster.keep to \"earliest\" or \"best\"",
    );
}
