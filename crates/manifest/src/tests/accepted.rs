//! Manifests that are right, and the settings that they mean.

use std::path::{Path, PathBuf};

use records::settings::{
    Band, Cluster, Existing, Filter, Input, Join, Keep, Method, Mode, OnBadText, Run, Scheme, Sign,
    Unit, Verify,
};

use super::*;
use crate::{load, reference};

fn defaults() -> Pipeline {
    Pipeline {
        input: Input {
            paths: vec![PathBuf::from("/cwd/jobs/data")],
            text: "text".to_owned(),
            id: None,
            on_bad_text: OnBadText::Refuse,
        },
        run: Run {
            work: PathBuf::from("/cwd/jobs/.neardup"),
            memory_bytes: None,
            threads: 0,
        },
        sign: Sign {
            scheme: Scheme::Fss,
            k: 128,
            seed: 42,
            unit: Unit::Word,
            n: 5,
            char_n: 5,
            strip_punctuation: false,
        },
        band: Band { bands: 20, rows: 6 },
        join: Join {
            verify: Verify::Estimate,
            threshold: 0.8,
            bits: 8,
            anchors: 256,
        },
        cluster: Cluster {
            method: Method::Components,
            keep: Keep::Longest,
            column: None,
        },
        filter: Filter {
            output: PathBuf::from("/cwd/jobs/out"),
            mode: Mode::Drop,
            prefix: "dedup_".to_owned(),
            existing: Existing::Refuse,
            compression_level: None,
        },
    }
}

#[test]
fn the_least_manifest_has_the_defaults() {
    assert_eq!(accept("", &[]), defaults());
}

#[test]
fn a_byte_order_mark_and_windows_lines_are_no_matter() {
    let text = format!("\u{feff}{}", LEAST.replace('\n', "\r\n"));
    assert_eq!(parsed(&text, &[]).unwrap(), defaults());
}

#[test]
fn dotted_keys_and_inline_tables_are_toml_too() {
    let text = "input.paths = ['data']\nfilter = { output = 'out' }\n";
    assert_eq!(parsed(text, &[]).unwrap(), defaults());
}

/// A manifest that sets every key.
const EVERY_KEY: &str = r#"
[input]
paths = ["a", "/b/*.parquet", "../c"]
text = "page.body"
id = "url"
on_bad_file = "refuse"
on_bad_text = "replace"
[run]
work = "work"
memory = "1.5GiB"
threads = 1024
[sign]
scheme = "universal"
k = 4_096
seed = 9223372036854775807
unit = "auto"
n = 0x7
char_n = 9
strip_punctuation = true
[band]
bands = 512
rows = 8
[join]
verify = "none"
threshold = 0.123_456_789_012_345_68
bits = 16
anchors = 1
[cluster]
method = "components"
keep = "best"
column = "quality"
[filter]
output = "/out"
mode = "annotate"
prefix = "nd_"
existing = "replace"
compression_level = -7
"#;

#[test]
fn every_key_can_be_set() {
    let paths = ["/cwd/jobs/a", "/b/*.parquet", "/cwd/jobs/../c"];
    let expected = Pipeline {
        input: Input {
            paths: paths.map(PathBuf::from).to_vec(),
            text: "page.body".to_owned(),
            id: Some("url".to_owned()),
            on_bad_text: OnBadText::Replace,
        },
        run: Run {
            work: PathBuf::from("/cwd/jobs/work"),
            memory_bytes: Some(3 << 29),
            threads: 1024,
        },
        sign: Sign {
            scheme: Scheme::Universal,
            k: 4096,
            seed: 9_223_372_036_854_775_807,
            unit: Unit::Auto,
            n: 7,
            char_n: 9,
            strip_punctuation: true,
        },
        band: Band {
            bands: 512,
            rows: 8,
        },
        join: Join {
            verify: Verify::None,
            threshold: 0.123_456_789_012_345_68,
            bits: 16,
            anchors: 1,
        },
        cluster: Cluster {
            method: Method::Components,
            keep: Keep::Best,
            column: Some("quality".to_owned()),
        },
        filter: Filter {
            output: PathBuf::from("/out"),
            mode: Mode::Annotate,
            prefix: "nd_".to_owned(),
            existing: Existing::Replace,
            compression_level: Some(-7),
        },
    };
    assert_eq!(parsed(EVERY_KEY, &[]).unwrap(), expected);
    for key in reference() {
        let line = format!("\n{} = ", key.key);
        assert!(EVERY_KEY.contains(&line), "{} is not in this test", key.key);
    }
}

#[test]
fn thresholds_are_kept_exactly() {
    for text in ["1", "1.0", "0.8", "0.1", "5e-324", "0.30000000000000004"] {
        let pipeline = accept(&format!("[join]\nthreshold = {text}\n"), &[]);
        let expected: f64 = text.parse().unwrap();
        assert_eq!(pipeline.join.threshold.to_bits(), expected.to_bits());
    }
}

#[test]
fn memory_is_a_size_or_an_integer() {
    let memory = |more: &str, set: &[&str]| accept(more, set).run.memory_bytes;
    assert_eq!(memory("[run]\nmemory = \"8GiB\"", &[]), Some(8 << 30));
    assert_eq!(memory("[run]\nmemory = 65536", &[]), Some(65_536));
    assert_eq!(memory("", &["run.memory=8GiB"]), Some(8 << 30));
    assert_eq!(memory("", &["run.memory=\"64MB\""]), Some(64_000_000));
    assert_eq!(memory("", &["run.memory=1048576"]), Some(1 << 20));
}

#[test]
fn variables_are_expanded_in_every_string() {
    let text = "[input]\npaths = [\"${HOME}/lake/${NIGHT}/*.parquet\", '$${NIGHT}']\n\
                [filter]\noutput = \"out-${NIGHT}\"\nprefix = \"p$_\"\n";
    let pipeline = parsed(text, &[]).unwrap();
    let paths = ["/home/ada/lake/2026-01-31/*.parquet", "/cwd/jobs/${NIGHT}"];
    assert_eq!(pipeline.input.paths, paths.map(PathBuf::from));
    assert_eq!(
        pipeline.filter.output,
        Path::new("/cwd/jobs/out-2026-01-31")
    );
    assert_eq!(pipeline.filter.prefix, "p$_");
    let pipeline = accept("", &["filter.output=set-${NIGHT}"]);
    assert_eq!(pipeline.filter.output, Path::new("/cwd/set-2026-01-31"));
}

#[test]
fn overrides_replace_the_manifest() {
    let pipeline = accept("[join]\nthreshold = 0.9\n", &["join.threshold=0.85"]);
    assert_eq!(pipeline.join.threshold, 0.85);
    let pipeline = accept("", &["band.rows=5", "band.rows=4"]);
    assert_eq!(pipeline.band.rows, 4, "the later one holds");
    let pipeline = accept("", &[" sign.unit = char "]);
    assert_eq!(pipeline.sign.unit, Unit::Char);
    let pipeline = accept("[cluster]\nkeep = \"best\"\n", &["cluster.column=quality"]);
    assert_eq!(pipeline.cluster.column.as_deref(), Some("quality"));
}

#[test]
fn a_replaced_value_is_not_looked_at() {
    let pipeline = accept("[sign]\nk = \"${UNSET}\"\n", &["sign.k=256"]);
    assert_eq!(pipeline.sign.k, 256);
}

#[test]
fn an_override_can_be_all_there_is() {
    let pipeline = parsed(
        "",
        &["input.paths=[\"a\", '/b/[0-9].parquet']", "filter.output=o"],
    );
    let pipeline = pipeline.unwrap();
    let paths = ["/cwd/a", "/b/[0-9].parquet"];
    assert_eq!(pipeline.input.paths, paths.map(PathBuf::from));
    assert_eq!(pipeline.filter.output, Path::new("/cwd/o"));
    assert_eq!(pipeline.run.work, Path::new("/cwd/jobs/.neardup"));
}

#[test]
fn bare_words_of_overrides_are_strings() {
    let output = |value: &str| {
        accept("", &[&format!("filter.output={value}")])
            .filter
            .output
    };
    for value in [
        "2026-01-31",
        "20260131",
        "1e5",
        "true",
        "a b # c",
        "[0-9]*",
        "x=y",
        "1 2",
    ] {
        assert_eq!(output(value), Path::new("/cwd").join(value));
    }
    assert_eq!(output("\"2026\""), Path::new("/cwd/2026"));
    let paths = accept("", &["input.paths=[2026-01-31, 7, 'x']"])
        .input
        .paths;
    let expected = ["/cwd/2026-01-31", "/cwd/7", "/cwd/x"];
    assert_eq!(paths, expected.map(PathBuf::from));
}

#[test]
fn overrides_split_at_the_first_signs() {
    let given = Override::parse("filter.output=a.b=c").unwrap();
    let expected = Override {
        table: "filter".to_owned(),
        key: "output".to_owned(),
        value: "a.b=c".to_owned(),
        source: "--set filter.output=a.b=c".to_owned(),
    };
    assert_eq!(given, expected);
}

#[test]
fn an_absolute_origin_is_its_own_folder() {
    let origin = Path::new("/etc/jobs/night.toml");
    let pipeline = parse(LEAST, origin, &[], &env, Path::new("/cwd")).unwrap();
    assert_eq!(pipeline.input.paths, [PathBuf::from("/etc/jobs/data")]);
    assert_eq!(pipeline.run.work, Path::new("/etc/jobs/.neardup"));
}

#[test]
fn load_reads_the_file() {
    // Cargo's own manifest is TOML that is always there, and no pipeline.
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
    let error = load(path, &[], &env, Path::new("/cwd"))
        .unwrap_err()
        .to_string();
    let first = format!("{}:1:2: unknown table `package`;", path.display());
    assert!(error.starts_with(&first), "{error}");
}

#[test]
fn the_reference_has_every_key_once_and_every_default_is_right() {
    let reference = reference();
    assert_eq!(reference.len(), 29);
    let mut names: Vec<_> = reference.iter().map(|key| (key.table, key.key)).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), reference.len());
    let tables = ["input", "run", "sign", "band", "join", "cluster", "filter"];
    assert_eq!(crate::keys::tables(), tables);

    let required: Vec<_> = reference.iter().filter(|key| key.required).collect();
    assert_eq!(required.len(), 2);
    assert_eq!((required[0].table, required[0].key), ("input", "paths"));
    assert_eq!((required[1].table, required[1].key), ("filter", "output"));

    // The printed defaults, written into a manifest, change nothing.
    let mut text = "input.paths = 'data'\nfilter.output = 'out'\n".to_owned();
    for key in &reference {
        assert!(!key.doc.is_empty() && !key.doc.ends_with('.') && !key.kind.is_empty());
        if let Some(default) = key.default {
            text.push_str(&format!("{}.{} = {default}\n", key.table, key.key));
        }
    }
    assert_eq!(parsed(&text, &[]).unwrap(), defaults());
    let threads = reference.iter().find(|key| key.key == "threads").unwrap();
    assert_eq!(threads.kind, "integer, 0 to 1024");
}
