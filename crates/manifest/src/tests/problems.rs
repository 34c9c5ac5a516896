//! Files, texts, names and overrides that are wrong, and how problems are told.

use super::*;
use crate::{MAX_MANIFEST_BYTES, load};

#[test]
fn missing_keys() {
    check(
        "",
        &[],
        "jobs/pipeline.toml:1:1: input.paths is missing; name the files, folders or globs to read, such as paths = [\"data/*.parquet\"] in [input]\n\
         jobs/pipeline.toml:1:1: filter.output is missing; name the folder to write, such as output = \"deduplicated\" in [filter]",
    );
    check(
        "[input]\npaths = 'a'\n\n  [filter]\nmode = 'drop'\n",
        &[],
        "jobs/pipeline.toml:4:4: filter.output is missing; name the folder to write, such as output = \"deduplicated\" in [filter]",
    );
    check(
        "[input]\npath = 'a'\n",
        &[],
        "jobs/pipeline.toml:2:1: unknown key `path`, did you mean `paths`?",
    );
}

#[test]
fn columns_count_characters() {
    check(
        &format!("run = {{ work = \"ééé\", threads = 2000 }}\n{LEAST}"),
        &[],
        "jobs/pipeline.toml:1:33: run.threads = 2000 is out of range; use an integer from 0 to 1024",
    );
}

#[test]
fn what_is_not_toml() {
    let table = [
        ("x", "5:2: not TOML: key with no value, expected `=`"),
        ("mode = ", "5:8: not TOML: a value is missing here"),
        (
            "mode = drop",
            "5:8: not TOML: `drop` is no value; put a string in quotes",
        ),
        (
            "[run]\nmemory = 8GiB",
            "6:10: not TOML: `8GiB` is no value; put a string in quotes",
        ),
        ("[join\n", "5:6: not TOML: unclosed table, expected `]`"),
        (
            "[join]\nthreshold = 0,8",
            "6:14: not TOML: unexpected key or value, expected newline, `#`",
        ),
        (
            "prefix = \"é",
            "5:12: not TOML: invalid basic string, expected `\"`",
        ),
        (
            "prefix = 'a'\nprefix = 'b'",
            "6:1: duplicate key `prefix`; give each table and each key once",
        ),
        (
            "[filter]\nmode = 'drop'",
            "5:2: duplicate key `filter`; give each table and each key once",
        ),
    ];
    for (more, expected) in table {
        check_more(more, expected);
    }
}

#[test]
fn wrong_overrides() {
    check_set(
        "join.treshold=0.85",
        "unknown key `treshold`, did you mean `threshold`?",
    );
    check_set(
        "joins.threshold=0.85",
        "unknown table `joins`, did you mean `join`?",
    );
    check_set(
        "join.x.y=3",
        "unknown key `x.y`; the keys of [join] are `verify`, `threshold`, `bits` and `anchors`",
    );
    check_set(
        "join.threshold=high",
        "join.threshold: expected a number, found a string",
    );
    check_set(
        "cluster.keep=7",
        "cluster.keep = \"7\" is not a value of it; use \"longest\", \"earliest\" or \"best\"",
    );
    check_set(
        "input.paths=[a,b]",
        "the value is not a TOML array: string values must be quoted, expected literal string; quote the whole argument for the shell, such as --set 'input.paths=[\"a\", \"b\"]'",
    );
    check_set(
        "filter.output=\"a\" b",
        "the value is not a TOML string: unexpected content; quote the whole argument for the shell, such as --set 'input.paths=[\"a\", \"b\"]'",
    );
    let table = [
        ("rows", "no `=`"),
        ("rows=3", "no `.` before the `=`"),
        ("=a.b", "no `.` before the `=`"),
        (".rows=3", "no table before the `.`"),
        ("band. =3", "no key between `.` and `=`"),
    ];
    for (argument, found) in table {
        check_set(
            argument,
            &format!("expected table.key=value, such as join.threshold=0.85, found {found}"),
        );
    }
}

#[test]
fn the_option_in_messages_is_the_callers() {
    let memory = Override {
        table: "run".to_owned(),
        key: "memory".to_owned(),
        value: "lots".to_owned(),
        source: "--memory lots".to_owned(),
    };
    let origin = Path::new("pipeline.toml");
    let error = parse(LEAST, origin, &[memory], &env, Path::new("/cwd")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "--memory lots: run.memory = \"lots\" is not a size in bytes; use a size such as \"8GiB\", \"512MiB\" or \"64MB\", or an integer of bytes"
    );
}

#[test]
fn all_problems_are_told_in_the_order_of_the_text() {
    check(
        "[filter]\noutput = 3\n[sign]\nk = 0\nseed = -1\n[input]\npaths = []\n",
        &["run.threads=-1", "band.rows=0"],
        "jobs/pipeline.toml:2:10: filter.output: expected a string, found an integer; write \"3\"\n\
         jobs/pipeline.toml:4:5: sign.k = 0 is out of range; use an integer from 1 to 4096\n\
         jobs/pipeline.toml:5:8: sign.seed = -1 is out of range; use an integer from 0 to 9223372036854775807\n\
         jobs/pipeline.toml:7:9: input.paths is empty; name at least one file, folder or glob\n\
         --set run.threads=-1: run.threads = -1 is out of range; use an integer from 0 to 1024\n\
         --set band.rows=0: band.rows = 0 is out of range; use an integer from 1 to 4096",
    );
}

#[test]
fn many_problems_are_cut_and_counted() {
    let more: String = (0..25).map(|i| format!("zzzz{i} = 1\n")).collect();
    match parsed(&format!("{LEAST}[run]\n{more}"), &[]).unwrap_err() {
        Error::Invalid { problems, left_out } => assert_eq!((problems.len(), left_out), (20, 5)),
        other => panic!("{other}"),
    }
    let text = parsed(&format!("{LEAST}[run]\n{more}"), &[])
        .unwrap_err()
        .to_string();
    assert!(text.ends_with("\nand 5 more"), "{text}");
}

#[test]
fn long_texts_are_cut() {
    let long = "é".repeat(100);
    let shown = "é".repeat(60);
    check_more(
        &format!("mode = '{long}'"),
        &format!(
            "5:8: filter.mode = \"{shown}...\" is not a value of it; use \"drop\" or \"annotate\""
        ),
    );
    check_more(
        &format!("'{long}' = 1"),
        &format!(
            "5:1: unknown key `{shown}...`; the keys of [filter] are `output`, `mode`, `prefix`, `existing` and `compression_level`"
        ),
    );
    check_more(
        "mode = \"a\\nb\"",
        "5:8: filter.mode = \"a b\" is not a value of it; use \"drop\" or \"annotate\"",
    );
}

#[test]
fn files_that_are_no_manifest() {
    let cwd = Path::new("/cwd");
    let error = load(Path::new("no/such.toml"), &[], &env, cwd).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot read no/such.toml: No such file or directory (os error 2); name the manifest, or make one (see README)"
    );

    let path = std::env::temp_dir().join(format!("neardup-manifest-{}.toml", std::process::id()));
    std::fs::write(&path, b"[input]\npaths = \"caf\xe9\"\n").unwrap();
    let latin = load(&path, &[], &env, cwd).unwrap_err().to_string();
    let length = usize::try_from(MAX_MANIFEST_BYTES).unwrap();
    std::fs::write(&path, vec![b'#'; length + 1]).unwrap();
    let long = load(&path, &[], &env, cwd).unwrap_err().to_string();
    std::fs::write(&path, vec![b'#'; length]).unwrap();
    let comment = load(&path, &[], &env, cwd).unwrap_err().to_string();
    std::fs::remove_file(&path).unwrap();

    let name = path.display();
    assert_eq!(
        latin,
        format!("{name}:2:13: the byte 0xE9 is not UTF-8; save the manifest as UTF-8 text")
    );
    assert_eq!(
        long,
        format!("{name} has more than 4 MiB, which no manifest has; name the manifest")
    );
    assert!(comment.starts_with(&format!("{name}:1:1: input.paths is missing;")));
}
