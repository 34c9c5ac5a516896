//! README.md tells the truth: its table of manifest keys, and what its main command prints.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails"
)]

use tests::{Project, binary, repository};

fn readme() -> String {
    std::fs::read_to_string(repository().join("README.md")).unwrap()
}

#[test]
fn the_manifest_table_is_the_reference() {
    let readme = readme();
    for key in manifest::reference() {
        let default = match (key.default, key.required) {
            (Some(default), _) => format!("`{default}`"),
            (None, true) => "(required)".to_owned(),
            (None, false) => "(none)".to_owned(),
        };
        let line = format!(
            "| `{}.{}` | {} | {default} | {} |",
            key.table, key.key, key.kind, key.doc
        );
        assert!(readme.contains(&line), "README.md lacks the line\n{line}");
    }
}

/// The line without what differs from run to run: the time of day, durations, peaks of memory.
fn steady(line: &str) -> String {
    if line.starts_with("time ") {
        return "time".to_owned();
    }
    let line = match line.split_once("Z ") {
        Some((stamp, rest)) if stamp.starts_with("20") => rest,
        _ => line,
    };
    match line.split_once(" peak: ") {
        Some((figures, done)) => {
            let stage = figures.split_whitespace().next().unwrap_or_default();
            format!("{stage}: {done}")
        }
        None => line.to_owned(),
    }
}

#[test]
fn the_main_command_prints_what_the_readme_says() {
    let readme = readme();
    let shown: Vec<String> = readme
        .split("$ cargo run --release -- run\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("README.md shows the main command")
        .lines()
        .map(steady)
        .collect();
    assert_eq!(shown.len(), 18, "{shown:#?}");
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().display();
    let output = std::process::Command::new(binary("neardup"))
        .current_dir(repository())
        .args(["run", "--set", &format!("filter.output={folder}/output")])
        .args(["--set", &format!("run.work={folder}/work")])
        .output()
        .unwrap();
    assert!(output.status.success());
    assert!(output.stdout.is_empty(), "stdout is for data");
    let printed = String::from_utf8(output.stderr).unwrap();
    let printed: Vec<String> = printed
        .replace(&format!("{folder}/"), "target/sample/")
        .lines()
        .map(steady)
        .collect();
    assert_eq!(printed, shown);
}

#[test]
fn the_answer_of_the_example_query_is_that_of_the_sample() {
    let settings = [
        ("cluster.keep", r#""best""#),
        ("cluster.column", r#""quality""#),
    ];
    let project = Project::of_sample(&settings);
    project.run(&[]).succeeded();
    let clusters = project.clusters();
    let dropped = clusters
        .iter()
        .find(|row| (row.file.as_str(), row.row) == ("part-00001.parquet", 10))
        .unwrap();
    let keeper = clusters
        .iter()
        .find(|row| row.doc == dropped.keeper)
        .unwrap();
    let line = format!(
        "-- {} | {} | {} | {}",
        dropped.kind, dropped.similarity, keeper.file, keeper.row
    );
    assert!(readme().contains(&line), "README.md lacks the line\n{line}");
}
