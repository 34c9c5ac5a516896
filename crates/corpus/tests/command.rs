//! The `corpus` command, run as users run it.

#![allow(
    clippy::unwrap_used,
    reason = "a test may end where what it needs is not there"
)]

use std::path::Path;
use std::process::{Command, Output};

fn corpus(folder: &Path, options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_corpus"))
        .arg(folder)
        .args(options)
        .output()
        .unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_corpus_is_made_and_summed_up_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let options = [
        "--documents",
        "300",
        "--files",
        "2",
        "--mix",
        "han=1,latin=1",
        "--edit-rates",
        "0.5",
        "--seed",
        "9",
    ];
    let output = corpus(folder.path(), &options);
    assert!(output.status.success(), "{}", stderr(&output));
    let line = String::from_utf8(output.stdout).unwrap();
    assert!(
        line.starts_with(&format!(
            "{}: 300 rows in 2 files, ",
            folder.path().display()
        )),
        "{line}"
    );
    assert!(
        line.contains("; planted: ") && line.lines().count() == 1,
        "{line}"
    );
    for name in [
        "data/part-00000.parquet",
        "data/part-00001.parquet",
        "planted.parquet",
    ] {
        assert!(folder.path().join(name).is_file(), "{name}");
    }

    let again = corpus(folder.path(), &options);
    assert_eq!(again.status.code(), Some(1));
    assert!(
        stderr(&again).starts_with("error: the folder `"),
        "{}",
        stderr(&again)
    );
    assert!(
        corpus(
            folder.path(),
            &["--force", "--documents", "10", "--files", "1"]
        )
        .status
        .success()
    );
    assert!(!folder.path().join("data/part-00001.parquet").exists());
}

#[test]
fn a_plan_that_cannot_be_removes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    assert!(
        corpus(folder.path(), &["--documents", "10"])
            .status
            .success()
    );
    let output = corpus(folder.path(), &["--force", "--exact", "2"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        stderr(&output),
        "error: the exact rate 2 is not a share between 0 and 1\n"
    );
    assert!(folder.path().join("planted.parquet").is_file());
}

#[test]
fn wrong_usage_exits_2_and_says_what_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let output = corpus(folder.path(), &["--mix", "klingon=1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("no language is named `klingon`; there are latin, accented"),
        "{}",
        stderr(&output)
    );
    let output = corpus(folder.path(), &["--mix", "latin"]);
    assert!(
        stderr(&output).contains("it must be LANGUAGE=WEIGHT, as in latin=70"),
        "{}",
        stderr(&output)
    );
    for option in [["--documents", "5"], ["--zstd-level", "3"]] {
        let output = corpus(folder.path(), &[&["--sample"], option.as_slice()].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(
            stderr(&output).contains("cannot be used with"),
            "{}",
            stderr(&output)
        );
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn the_sample_needs_no_other_option() {
    let folder = tempfile::tempdir().unwrap();
    let output = corpus(folder.path(), &["--sample"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains(": 2000 rows in 3 files, "));
}
