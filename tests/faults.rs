//! Every point at which a run opens, writes, syncs, renames or removes a file: the process ends there, or the disk
//! is full or broken there. The output is then the old one or the new one, whole; and a rerun completes it, with the
//! bytes and the counters of an unbroken run.
//!
//! The binary is built with the feature `faults`, which no release has. `NEARDUP_FAULTS=all` tries a full disk and
//! a broken one at every point, in under two minutes; by default they take turns.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use serde_json::Value;
use tests::{Done, Project, STAGES, files_below, repository};

const OPERATIONS: [&str; 5] = ["open", "write", "sync", "rename", "remove"];
const FULL: &str = "28";
const BROKEN: &str = "5";

/// Builds `neardup` with fault points, and copies it away from where other tests look.
fn faulty_binary(folder: &Path) -> PathBuf {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(repository()).args([
        "build",
        "--quiet",
        "--package=neardup",
        "--features=faults",
        "--message-format=json",
    ]);
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo build failed:\n{errors}");
    let messages = String::from_utf8_lossy(&output.stdout);
    let built = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == "neardup")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .expect("cargo build names the binary neardup");
    let copy = folder.join("neardup");
    fs::copy(built, &copy).unwrap();
    copy
}

fn project() -> Project {
    let project = Project::new(&[
        ("band.bands", "3"),
        ("band.rows", "4"),
        ("sign.k", "12"),
        ("run.threads", "1"),
    ]);
    let text = |from: usize, last: &str| {
        let words: Vec<String> = (from..from + 30).map(|i| format!("word{i}")).collect();
        format!("{} {last}", words.join(" "))
    };
    let near = text(0, "end");
    let (one, two, three) = (text(0, "start"), text(100, ""), text(200, ""));
    project.texts("data/a.parquet", &[Some(&one), Some(&two), None]);
    project.texts(
        "data/day=1/b.parquet",
        &[Some(&near), Some(&two), Some(&three)],
    );
    project
}

fn counters(project: &Project) -> Vec<Value> {
    let report = project.report();
    let of = |stage: &&str| report["stages"][stage]["counters"].clone();
    STAGES.iter().map(of).collect()
}

type Files = BTreeMap<String, Vec<u8>>;

/// What runs come to.
struct Expected {
    /// The work folder of the old output.
    old_work: Files,
    old: Files,
    new: Files,
    result: Files,
    counters: Vec<Value>,
}

fn expected(project: &Project) -> Expected {
    project.run(&["--set", "sign.seed=7"]).succeeded();
    let (old_work, old) = (files_below(&project.path("work")), project.output());
    project.run(&[]).succeeded();
    let new = project.output();
    assert!(old != new);
    Expected {
        old_work,
        old,
        new,
        result: project.result(),
        counters: counters(project),
    }
}

fn write_files(files: &Files, folder: &Path) {
    for (name, bytes) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// One run with a fault, then one without. Whether the fault came to pass.
fn check(
    binary: &Path,
    project: &Project,
    expected: &Expected,
    (process, operation, number, action): (&str, &str, usize, &str),
) -> bool {
    project.forget();
    write_files(&expected.old_work, &project.path("work"));
    write_files(&expected.old, &project.path("out"));
    let fault = format!("{process}:{operation}:{number}:{action}");
    let mut command = Command::new(binary);
    command
        .current_dir(project.root())
        .arg("run")
        .env("NEARDUP_FAULT", &fault);
    let done = Done::from(command.output().unwrap());
    let context = format!("{fault}\n{}", done.stderr);
    if !done.stderr.contains("fault: ") {
        assert_eq!(done.code, Some(0), "{context}");
        return false;
    }
    assert!(!done.stderr.contains("panicked"), "{context}");
    let left = project.output();
    assert!(
        left == expected.old || left == expected.new,
        "half an output: {context}"
    );
    match action {
        "abort" => assert_ne!(done.code, Some(0), "{context}"),
        // What is tidied up after all is done may fail without harm.
        _ if done.code == Some(0) => assert!(left == expected.new, "{context}"),
        FULL => assert!(done.stderr.contains("No space left on device"), "{context}"),
        _ => assert!(done.stderr.contains("Input/output error"), "{context}"),
    }
    let again = project.run(&[]);
    assert_eq!(again.code, Some(0), "{context}\nthen:\n{}", again.stderr);
    assert!(
        project.result() == expected.result,
        "another result: {context}"
    );
    assert_eq!(counters(project), expected.counters, "{context}");
    project.assert_tidy();
    true
}

/// Every point of one operation in one process. How many there are.
fn walk(
    binary: &Path,
    project: &Project,
    expected: &Expected,
    (process, operation): (&str, &str),
    all: bool,
) -> usize {
    for number in 1.. {
        let in_turn = if number % 2 == 0 { FULL } else { BROKEN };
        let tried: &[&str] = if all {
            &["abort", FULL, BROKEN]
        } else {
            &["abort", in_turn]
        };
        for action in tried {
            if !check(
                binary,
                project,
                expected,
                (process, operation, number, action),
            ) {
                return number - 1;
            }
        }
    }
    0
}

#[test]
fn a_rerun_completes_what_any_fault_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let binary = faulty_binary(folder.path());
    let all = std::env::var("NEARDUP_FAULTS").is_ok_and(|value| value == "all");
    let processes = STAGES.iter().chain(&["neardup"]);
    let walks: Vec<(&str, &str)> = processes
        .flat_map(|process| OPERATIONS.map(|operation| (*process, operation)))
        .collect();
    let walks = Mutex::new(walks);
    let points = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let project = project();
                let expected = expected(&project);
                loop {
                    let next = walks.lock().unwrap().pop();
                    let Some((process, operation)) = next else {
                        break;
                    };
                    let number = walk(&binary, &project, &expected, (process, operation), all);
                    points.lock().unwrap().insert((process, operation), number);
                }
            });
        }
    });
    let points = points.into_inner().unwrap();
    eprintln!("fault points: {points:?}");
    let of = |operation: &str| -> usize {
        let of = points.iter().filter(|((_, found), _)| *found == operation);
        of.map(|(_, count)| count).sum()
    };
    for operation in OPERATIONS {
        assert!(
            of(operation) >= 5,
            "only {} points {operation}",
            of(operation)
        );
    }
}
