//! The `shapes` and `recall` commands, run as users run them.

#![allow(
    clippy::unwrap_used,
    reason = "a test may end where what it needs is not there"
)]

use std::path::Path;
use std::process::{Command, Output};

fn shapes(shape: &str, folder: &Path, options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_shapes"))
        .arg(shape)
        .arg(folder)
        .args(options)
        .output()
        .unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn every_shape_is_made_and_described_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    for (shape, options, described) in [
        (
            "lines",
            &["--same", "0.5"][..],
            "50.0 % one line, 5.0 % a template",
        ),
        ("chain", &["--scattered"], "one chain: J 0.900 to the next"),
        (
            "star",
            &["--changes", "5"],
            "one star: J 0.881 of hub and leaf",
        ),
        (
            "bucket",
            &["--own", "10"],
            "one boilerplate: J 0.500 of any two",
        ),
    ] {
        let target = folder.path().join(shape);
        let options = [&["--rows", "200", "--files", "2"], options].concat();
        let output = shapes(shape, &target, &options);
        assert!(output.status.success(), "{}", stderr(&output));
        let line = String::from_utf8(output.stdout).unwrap();
        let start = format!("{}: 200 rows in 2 files, ", target.display());
        assert!(
            line.starts_with(&start) && line.contains(described),
            "{line}"
        );
        assert_eq!(line.lines().count(), 1);
        assert!(target.join("data/part-00001.parquet").is_file());

        let again = shapes(shape, &target, &options);
        assert_eq!(again.status.code(), Some(1));
        assert!(
            stderr(&again).starts_with("error: the folder `"),
            "{}",
            stderr(&again)
        );
        let options = ["--rows", "10", "--files", "1", "--force"];
        assert!(shapes(shape, &target, &options).status.success());
        assert!(!target.join("data/part-00001.parquet").exists());
    }
}

#[test]
fn a_shape_that_cannot_be_removes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    assert!(
        shapes("chain", folder.path(), &["--rows", "10"])
            .status
            .success()
    );
    let output = shapes("chain", folder.path(), &["--force", "--step", "0"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).starts_with("error: a chain of documents of 42 words in steps of 0 has")
    );
    assert!(folder.path().join("data/part-00000.parquet").is_file());
}

#[test]
fn recall_says_what_cannot_be_read_and_exits_2() {
    let folder = tempfile::tempdir().unwrap();
    let absent = folder.path().join("absent.parquet");
    let output = Command::new(env!("CARGO_BIN_EXE_recall"))
        .args([&absent, &absent])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let expected = format!("error: cannot read `{}`: ", absent.display());
    assert!(
        stderr(&output).starts_with(&expected),
        "{}",
        stderr(&output)
    );
}
