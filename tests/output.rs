//! The output folder: what is in it, and what is never overwritten.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails"
)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use arrow_array::RecordBatch;
use parquet::file::metadata::KeyValue;
use parquet::file::reader::{FileReader, SerializedFileReader};
use tests::{ClusterRow, Project, column, files_below, i64s, read_table, strings};

const ANNOTATE: (&str, &str) = ("filter.mode", r#""annotate""#);
const BEST: [(&str, &str); 2] = [
    ("cluster.keep", r#""best""#),
    ("cluster.column", r#""quality""#),
];

fn tables(folder: &Path) -> BTreeMap<String, RecordBatch> {
    let names = files_below(folder).into_keys();
    let tables = names.filter(|name| name.ends_with(".parquet"));
    tables
        .map(|name| (name.clone(), read_table(&folder.join(name))))
        .collect()
}

/// Document and cluster row by file and row of the file.
fn by_place(clusters: &[ClusterRow]) -> BTreeMap<(&str, usize), &ClusterRow> {
    let place = |row: &ClusterRow| row.row as usize;
    clusters
        .iter()
        .map(|row| ((row.file.as_str(), place(row)), row))
        .collect()
}

fn key_values(path: &Path) -> Vec<KeyValue> {
    let reader = SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap();
    let metadata = reader.metadata().file_metadata().key_value_metadata();
    metadata.cloned().unwrap_or_default()
}

#[test]
fn drop_keeps_exactly_the_kept_rows_in_order() {
    let project = Project::of_sample(&BEST);
    project.run(&[]).succeeded();
    let clusters = project.clusters();
    let clusters = by_place(&clusters);
    let output = tables(&project.path("out"));
    let mut dropped = 0;
    for (name, before) in tables(&project.path("data")) {
        let after = &output[&name];
        assert_eq!(after.schema(), before.schema(), "{name}");
        let mut next = 0;
        for row in 0..before.num_rows() {
            let keep = clusters.get(&(name.as_str(), row)).is_none_or(|c| c.keep);
            if keep {
                // NaN equals NaN here: the bytes of values are compared, and nulls.
                assert!(
                    before.slice(row, 1) == after.slice(next, 1),
                    "{name} row {row}"
                );
                next += 1;
            } else {
                dropped += 1;
            }
        }
        assert_eq!(next, after.num_rows(), "{name}");
        let path = |folder: &str| project.path(folder).join(&name);
        assert_eq!(key_values(&path("out")), key_values(&path("data")));
    }
    assert_eq!(dropped, project.rows("dropped"));
    assert!(dropped > 300);
}

#[test]
fn annotate_adds_two_columns_and_changes_nothing_else() {
    let project = Project::of_sample(&[BEST[0], BEST[1], ANNOTATE]);
    project.run(&[]).succeeded();
    let clusters = project.clusters();
    let clusters = by_place(&clusters);
    let input = tables(&project.path("data"));
    for (name, after) in tables(&project.path("out")) {
        let before = &input[&name];
        let columns = before.num_columns();
        let indices: Vec<usize> = (0..columns).collect();
        assert_eq!(after.num_columns(), columns + 2);
        assert!(after.project(&indices).unwrap() == *before, "{name}");
        let ids = i64s(&after, "dedup_cluster");
        let keep = strings(&after, "dedup_keep");
        for row in 0..before.num_rows() {
            let cluster = clusters.get(&(name.as_str(), row));
            assert_eq!(ids[row], cluster.map(|c| c.cluster as i64));
            let kept = cluster.is_none_or(|c| c.keep).to_string();
            assert_eq!(keep[row], Some(kept));
        }
        let path = |folder: &str| project.path(folder).join(&name);
        // The stored Arrow schema gains the two fields, and a key says whose they are.
        let others = |mut values: Vec<KeyValue>| {
            values.retain(|kv| kv.key != "ARROW:schema");
            values
        };
        let mut marked = others(key_values(&path("out")));
        let mark = marked.pop().unwrap();
        assert_eq!(mark.key, "neardup.annotation");
        assert!(mark.value.unwrap().contains("dedup_keep"));
        assert_eq!(marked, others(key_values(&path("data"))));
    }
}

#[test]
fn an_annotated_table_can_be_annotated_again() {
    let project = Project::of_sample(&[ANNOTATE]);
    project.run(&[]).succeeded();
    let first = tables(&project.path("out"));
    fs::rename(project.path("out"), project.path("annotated")).unwrap();
    project.forget();
    let paths = ("input.paths", r#""annotated""#);

    project.set(&[paths, ANNOTATE]);
    let error = project.run(&[]);
    let remedy = r#"set filter.prefix to another prefix, or filter.existing = "replace""#;
    error.failed(3, &["part-00000.parquet", "`dedup_cluster`", remedy]);
    assert!(!project.path("out").exists());

    project.set(&[paths, ANNOTATE, ("filter.existing", r#""replace""#)]);
    project.run(&[]).succeeded();
    assert!(
        tables(&project.path("out")) == first,
        "the same marks again"
    );

    let prefix = ("filter.prefix", r#""second_""#);
    project.set(&[paths, ANNOTATE, prefix]);
    project.run(&[]).succeeded();
    for (name, batch) in tables(&project.path("out")) {
        let before = &first[&name];
        assert_eq!(batch.num_columns(), before.num_columns() + 2);
        let pair = (column(&batch, "second_keep"), column(before, "dedup_keep"));
        assert!(pair.0 == pair.1, "{name}");
    }
}

#[test]
fn a_foreign_column_is_not_replaced() {
    let texts = arrow_array::StringArray::from(vec!["one", "one"]);
    let mine = arrow_array::StringArray::from(vec!["my own", "notes"]);
    let columns: [(&str, arrow_array::ArrayRef); 2] = [
        ("text", std::sync::Arc::new(texts)),
        ("dedup_keep", std::sync::Arc::new(mine)),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let project = Project::new(&[ANNOTATE, ("filter.existing", r#""replace""#)]);
    tests::write_table(&project.path("data/a.parquet"), &batch, 10);
    let parts = [
        "`dedup_keep`",
        "a.parquet",
        "is not replaced",
        "filter.prefix",
    ];
    project.run(&[]).failed(3, &parts);
    assert!(!project.path("out").exists());
}

#[test]
fn a_fresh_work_folder_replaces_the_output_of_an_earlier_run() {
    let project = Project::of_sample(&[]);
    project.run(&["--set", "join.threshold=0.95"]).succeeded();
    let before = project.output();
    fs::remove_dir_all(project.path("work")).unwrap();
    // A file that the next run does not write goes with the folder.
    fs::remove_file(project.path("data/part-00002.parquet")).unwrap();
    project.run(&[]).succeeded();
    let after = project.output();
    let names: Vec<&String> = after.keys().collect();
    assert_eq!(
        names,
        ["_SUCCESS", "part-00000.parquet", "part-00001.parquet"]
    );
    assert!(after["part-00000.parquet"] != before["part-00000.parquet"]);
    project.assert_tidy();
}

#[test]
fn what_is_not_ours_stays_untouched() {
    let project = Project::of_sample(&[]);
    project.run(&[]).succeeded();
    let foreign = [
        ("out/notes.txt", "notes.txt, which no run of neardup wrote"),
        (
            "out/sub/x.parquet",
            "sub/x.parquet, which no run of neardup wrote",
        ),
        ("out/.hidden", ".hidden, which no run of neardup wrote"),
    ];
    for (name, message) in foreign {
        let path = project.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "mine").unwrap();
        let before = project.output();
        for args in [&["run", "--force"][..], &["filter", "--force"]] {
            project
                .neardup(args)
                .failed(3, &[message, "name another folder"]);
            assert!(project.output() == before, "{name}");
        }
        fs::remove_file(&path).unwrap();
    }
    fs::write(project.path("file"), "mine").unwrap();
    let done = project.run(&["--set", "filter.output=file"]);
    done.failed(3, &["is a file; name a folder"]);
    symlink(project.path("elsewhere"), project.path("link")).unwrap();
    let done = project.run(&["--set", "filter.output=link"]);
    done.failed(3, &["is a symbolic link"]);
    assert_eq!(fs::read(project.path("file")).unwrap(), b"mine");
}

/// Settings whose folders overlap, in a project with the symlinks `alias` to the input and `up` to
/// the project.
const OVERLAPS: [&str; 11] = [
    "filter.output=data",
    "filter.output=data/out",
    "filter.output=.",
    "filter.output=alias/out",
    "filter.output=up/data",
    "filter.output=work",
    "filter.output=work/out",
    "run.work=data/work",
    "run.work=alias/work",
    "run.work=data",
    "run.work=out/work",
];

fn check_overlaps(stages: &[&str]) {
    for setting in OVERLAPS {
        let project = Project::of_sample(&[]);
        symlink(project.path("data"), project.path("alias")).unwrap();
        symlink(project.root(), project.path("up")).unwrap();
        let before = files_below(&project.path("data"));
        for stage in stages {
            let done = project.run(&["--set", setting, "--to", stage]);
            assert_eq!(done.code, Some(3), "{setting}: {}", done.stderr);
            let says = |words: &str| done.stderr.contains(words);
            let named = says("overlap; name folders that lie apart");
            // An output folder that is also the input is somebody else's.
            let foreign = says("which no run of neardup wrote");
            assert!(named || foreign, "{setting}: {}", done.stderr);
            let after = files_below(&project.path("data"));
            assert!(
                after.keys().eq(before.keys()),
                "{setting}: {:?}",
                after.keys()
            );
            assert!(after == before, "{setting}");
        }
    }
}

#[test]
fn folders_that_overlap_are_refused_and_untouched() {
    check_overlaps(&["filter"]);
}

#[test]
fn folders_that_overlap_are_refused_by_the_first_stages_too() {
    check_overlaps(&["sign", "cluster"]);
}

#[test]
fn an_input_by_a_glob_may_not_lie_in_the_output() {
    let project = Project::of_sample(&[("input.paths", r#""out/*.parquet""#)]);
    fs::rename(project.path("data"), project.path("out")).unwrap();
    let before = project.output();
    project.run(&[]).failed(3, &["out"]);
    assert!(project.output() == before);
}

#[test]
fn files_that_lose_all_rows_and_files_without_rows_are_written() {
    let project = Project::new(&[]);
    let (one, two) = (Some("one text"), Some("another text"));
    project.texts("data/year=2024/month=1/a.parquet", &[one, two]);
    project.texts("data/year=2024/month=2/a.parquet", &[two, one, two]);
    project.texts("data/year=2025/empty.parquet", &[]);
    fs::write(project.path("data/_SUCCESS"), "").unwrap();
    fs::write(project.path("data/.a.crc"), "x").unwrap();
    project.run(&[]).succeeded();
    let output = tables(&project.path("out"));
    let rows: Vec<(&str, usize)> = output
        .iter()
        .map(|(name, batch)| (name.as_str(), batch.num_rows()))
        .collect();
    let expected = [
        ("year=2024/month=1/a.parquet", 2),
        ("year=2024/month=2/a.parquet", 0),
        ("year=2025/empty.parquet", 0),
    ];
    assert_eq!(rows, expected);
    for (name, batch) in tables(&project.path("data")) {
        assert_eq!(output[&name].schema(), batch.schema());
    }
    let success = fs::read(project.path("out/_SUCCESS")).unwrap();
    let success: serde_json::Value = serde_json::from_slice(&success).unwrap();
    assert_eq!(success["product"], "neardup");
    for (place, (name, rows)) in expected.into_iter().enumerate() {
        let file = &success["files"][place];
        let bytes = fs::metadata(project.path("out").join(name)).unwrap().len();
        assert_eq!(file["path"], name);
        assert_eq!(
            (&file["rows"], &file["bytes"]),
            (&rows.into(), &bytes.into())
        );
    }
    assert_eq!(project.rows("in"), 5);
}

#[test]
fn an_input_without_any_row_runs_through() {
    for mode in [r#""drop""#, r#""annotate""#] {
        let project = Project::of(&[], &[("filter.mode", mode), ("input.id", r#""id""#)]);
        project.run(&[]).succeeded();
        assert_eq!(project.rows("in"), 0);
        assert_eq!(project.clusters(), []);
        assert_eq!(project.rows_of("out"), []);
    }
}
