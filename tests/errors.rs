//! What is refused, with which exit code and which words, and that the output stays as it was.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails"
)]

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use tests::{Project, STAGES, write_table};

fn done_once(settings: &[(&str, &str)]) -> Project {
    let project = Project::new(settings);
    let project_texts = [Some("some words"), Some("other words"), Some("some words")];
    project.texts("data/a.parquet", &project_texts);
    project.texts("data/b.parquet", &project_texts);
    project.run(&[]).succeeded();
    project
}

/// Asserts that a run, and `sign` alone, are refused with these words and touch no output.
#[track_caller]
fn check_refused(project: &Project, args: &[&str], parts: &[&str]) {
    let before = project.output();
    project.run(args).failed(3, parts);
    project
        .neardup(&[&["sign", "--force"], args].concat())
        .failed(3, parts);
    assert!(project.output() == before, "the output is as it was");
    project.assert_tidy();
}

#[test]
fn a_wrong_text_column_is_named_with_those_there_are() {
    let project = done_once(&[]);
    for column in ["body", "Text", "text.x"] {
        let set = format!("input.text={column}");
        let parts = [
            &format!("column `{column}` not found in"),
            "data/a.parquet`",
            "its columns are `id`, `text`",
        ];
        check_refused(&project, &["--set", &set], &parts.map(|part| part));
    }
}

#[test]
fn a_column_of_a_wrong_type_is_named_with_its_type() {
    let project = done_once(&[]);
    let columns: [(&str, ArrayRef); 2] = [
        ("text", Arc::new(StringArray::from(vec!["some words"]))),
        ("number", Arc::new(Int64Array::from(vec![1]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    write_table(&project.path("one/c.parquet"), &batch, 10);
    let paths = ["--set", r#"input.paths="one""#];
    let with = |settings: &[&'static str]| -> Vec<&'static str> {
        let sets = settings.iter().flat_map(|setting| ["--set", setting]);
        paths.into_iter().chain(sets).collect()
    };
    let number = ["column `number`", "one/c.parquet` is", "expected"];
    check_refused(&project, &with(&["input.text=number"]), &number);
    let earliest = ["cluster.keep=earliest", "cluster.column=text"];
    check_refused(
        &project,
        &with(&earliest),
        &["column `text`", "one/c.parquet` is", "expected"],
    );
    let absent = ["cluster.keep=best", "cluster.column=quality"];
    let parts = ["column `quality` not found", "`text`, `number`"];
    check_refused(&project, &with(&absent), &parts);
    let parts = ["column `name` not found", "`text`, `number`"];
    check_refused(&project, &with(&["input.id=name"]), &parts);
}

/// Two files of the same text, each with its own `rank`.
fn ranked(ranks: [ArrayRef; 2], keep: &str) -> Project {
    let settings = [("cluster.keep", keep), ("cluster.column", r#""rank""#)];
    let project = Project::new(&settings);
    for (name, rank) in ["a", "b"].into_iter().zip(ranks) {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["some words"]));
        let columns = [("text", texts), ("rank", rank)];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        write_table(&project.path(&format!("data/{name}.parquet")), &batch, 10);
    }
    project
}

#[test]
fn a_keep_column_of_two_kinds_is_compared_by_value_or_refused() {
    let integers: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.5]));
    let project = ranked([integers.clone(), floats], r#""best""#);
    project.run(&[]).succeeded();
    assert_eq!(project.clusters()[0].keeper, 1, "1.5 is more than 1");

    let times: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![1]));
    let project = ranked([integers, times], r#""earliest""#);
    let parts = [
        "`rank` holds integer values in",
        "a.parquet` but timestamp values in",
        "b.parquet",
        "cannot be compared",
    ];
    project.run(&[]).failed(3, &parts);
    assert!(!project.path("out").exists());
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let project = done_once(&[]);
    let whole = fs::read(project.path("data/a.parquet")).unwrap();
    let bad: [(&str, Vec<u8>); 5] = [
        ("cut", whole[..whole.len() - 7].to_vec()),
        ("head", whole[..whole.len() / 2].to_vec()),
        ("text", b"id,text\n1,some words\n2,other words\n".to_vec()),
        ("empty", Vec::new()),
        ("footer", {
            let mut bytes = whole.clone();
            let length = bytes.len();
            bytes[length - 8..length - 4].copy_from_slice(&u32::MAX.to_le_bytes());
            bytes
        }),
    ];
    for (name, bytes) in bad {
        let file = format!("data/{name}.parquet");
        fs::write(project.path(&file), bytes).unwrap();
        check_refused(&project, &[], &[&file, "leave it out of input.paths"]);
        fs::remove_file(project.path(&file)).unwrap();
    }
    // Pages that are damaged, behind a footer that is whole.
    let mut bytes = whole.clone();
    let start = bytes.len() / 4;
    bytes[start..start + 40].fill(0xFF);
    fs::write(project.path("data/pages.parquet"), bytes).unwrap();
    let before = project.output();
    project.run(&[]).failed(3, &["data/pages.parquet"]);
    assert!(project.output() == before);
    fs::remove_file(project.path("data/pages.parquet")).unwrap();
    project.run(&[]).succeeded();
}

#[test]
fn paths_that_lead_nowhere_are_named() {
    let project = done_once(&[]);
    fs::create_dir(project.path("none")).unwrap();
    fs::create_dir(project.path("others")).unwrap();
    fs::write(project.path("others/readme.txt"), "x").unwrap();
    symlink("nowhere", project.path("dangling.parquet")).unwrap();
    let cases = [
        ("missing", "does not exist; correct input.paths"),
        ("missing.parquet", "does not exist; correct input.paths"),
        ("dangling.parquet", "dangling.parquet"),
        ("none", "no Parquet files below"),
        ("others", "no Parquet files below"),
        ("data/*.csv", "no Parquet files match"),
        ("data/[", "is not a valid glob"),
    ];
    for (path, message) in cases {
        let set = format!("input.paths='{path}'");
        check_refused(&project, &["--set", &set], &[message]);
    }
    let set = r#"input.paths=["data/a.parquet", "twin/a.parquet"]"#;
    project.texts("twin/a.parquet", &[Some("x")]);
    check_refused(
        &project,
        &["--set", set],
        &["meet at `a.parquet` in the output"],
    );
}

/// Text that is not UTF-8 in a string column.
#[test]
fn text_that_is_not_utf8_is_refused_or_replaced() {
    let bytes = arrow_array::BinaryArray::from_vec(vec![b"some words", b"some \xFF words", b"x"]);
    let columns: [(&str, ArrayRef); 1] = [("text", Arc::new(bytes))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let project = Project::new(&[]);
    write_table(&project.path("data/a.parquet"), &batch, 10);
    let parts = [
        "data/a.parquet",
        "row 1",
        "`text`",
        "not UTF-8 at byte 5",
        "input.on_bad_text",
    ];
    project.run(&[]).failed(3, &parts);
    assert!(!project.path("out").exists());
    project
        .run(&["--set", "input.on_bad_text=replace"])
        .succeeded();
    let output = tests::read_table(&project.path("out/a.parquet"));
    assert!(output == tests::read_table(&project.path("data/a.parquet")));
}

/// What stands in a manifest after [`LEAST`], and what the error then says.
const MANIFESTS: &[(&str, &str)] = &[
    (
        "[join]\ntreshold = 0.8",
        "pipeline.toml:8:1: unknown key `treshold`, did you mean `threshold`?",
    ),
    (
        "[join]\nthreshold = 0",
        "pipeline.toml:8:13: join.threshold",
    ),
    (
        "[join]\nthreshold = 1.5",
        "pipeline.toml:8:13: join.threshold",
    ),
    (
        "[join]\nthreshold = \"high\"",
        "pipeline.toml:8:13: join.threshold: expected",
    ),
    (
        "[join]\nverify = \"exact\"",
        "is not in this version of neardup",
    ),
    ("[join]\nbits = 3", "pipeline.toml:8:8: join.bits = 3"),
    ("[join]\nanchors = 0", "join.anchors = 0 is out of range"),
    ("[sign]\nn = 0", "sign.n = 0 is out of range"),
    ("[sign]\nk = 5000", "sign.k = 5000 is out of range"),
    (
        "[sign]\nunit = \"code\"",
        "is not in this version of neardup",
    ),
    (
        "[sign]\nscheme = \"simhash\"",
        "is not in this version of neardup",
    ),
    (
        "[band]\nbands = 64",
        "64 * 6 = 384 slots are more than sign.k = 128",
    ),
    (
        "[cluster]\nkeep = \"best\"",
        "cluster.keep = \"best\" needs a column",
    ),
    (
        "[cluster]\nkeep = \"first\"",
        "pipeline.toml:8:8: cluster.keep",
    ),
    (
        "[cluster]\nmethod = \"representative\"",
        "is not in this version of neardup",
    ),
    ("[cluster]\ncolumn = \"q\"", "cluster.column has no effect"),
    (
        "[output]\nx = 1",
        "pipeline.toml:7:2: `output` stands in no table",
    ),
    ("[sign]\nk = ", "pipeline.toml:8:"),
    ("[sign]\nk = 64\nk = 65", "pipeline.toml:9:"),
];

/// Six lines that are right.
const LEAST: &str =
    "[input]\npaths = \"data\"\n[filter]\noutput = \"out\"\n[run]\nwork = \"work\"\n";

#[test]
fn every_manifest_error_is_exit_2_with_its_place() {
    let project = done_once(&[]);
    let before = project.output();
    for (more, message) in MANIFESTS {
        project.write_manifest(&format!("{LEAST}{more}\n"));
        for command in ["run"].into_iter().chain(STAGES) {
            project.neardup(&[command]).failed(2, &[message]);
        }
    }
    project.write_manifest("[input]\n[filter]\n");
    project
        .run(&[])
        .failed(2, &["input.paths is missing", "filter.output is missing"]);
    project.write_manifest("[input]\npaths = \"${NO_SUCH_NIGHT}\"\n[filter]\noutput = \"o\"\n");
    project
        .run(&[])
        .failed(2, &["pipeline.toml:2:9", "NO_SUCH_NIGHT"]);
    assert!(project.output() == before);
}

#[test]
fn wrong_arguments_are_exit_2() {
    let project = done_once(&[]);
    let cases: [(&[&str], &str); 6] = [
        (
            &["run", "--set", "join.threshold"],
            "expected table.key=value",
        ),
        (
            &["run", "--set", "join.treshold=0.8"],
            "--set join.treshold=0.8: unknown key",
        ),
        (&["run", "--memory", "lots"], "--memory lots"),
        (&["run", "absent.toml"], "cannot read absent.toml"),
        (&["run", "data"], "cannot read data"),
        (
            &["run", "--from", "filter", "--to", "sign"],
            "--from filter comes after --to sign",
        ),
    ];
    for (args, message) in cases {
        project.neardup(args).failed(2, &[message]);
    }
    for args in [
        &["walk"][..],
        &[],
        &["run", "--frm", "sign"],
        &["run", "--threads", "x"],
    ] {
        assert_eq!(project.neardup(args).code, Some(2), "{args:?}");
    }
    let version = project.neardup(&["--version"]);
    assert_eq!(version.code, Some(0));
    assert!(
        version.stdout.starts_with("neardup 0."),
        "{}",
        version.stdout
    );
}

#[test]
fn too_small_a_budget_is_refused_with_the_number_that_would_do() {
    let project = Project::of_sample(&[]);
    let mut memory = "1MiB".to_owned();
    let mut refusals = Vec::new();
    loop {
        let done = project.run(&["--memory", &memory]);
        if done.code == Some(0) {
            break;
        }
        assert!(!project.path("out").exists());
        let parts = [
            "a memory budget of",
            "is too small for `",
            "set run.memory = \"",
        ];
        let error = done.failed(3, &parts);
        let more = error.split("run.memory = \"").nth(1).unwrap();
        let more = more.split('"').next().unwrap().to_owned();
        assert!(!refusals.contains(&more), "{more} did not do: {error}");
        refusals.push(more.clone());
        memory = more;
    }
    // A stage that runs later may need more than those before it.
    assert!((1..=5).contains(&refusals.len()), "{refusals:?}");
    project.run(&["--force", "--memory", &memory]).succeeded();
}
