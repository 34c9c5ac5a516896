//! README.md tells the truth: its manifest table, and the output of its main command.

use std::path::Path;
use std::process::Command;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn readme() -> String {
    std::fs::read_to_string(root().join("README.md")).unwrap()
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

/// The line with what differs from run to run (times, memory) taken out.
fn steady(line: &str) -> String {
    let line = match line.split_once("Z ") {
        Some((stamp, rest)) if stamp.starts_with("20") => rest,
        _ => line,
    };
    let words: Vec<&str> = line.split_whitespace().collect();
    let units = ["s", "s,", "MiB", "MiB,", "MiB)", "KiB"];
    let mut kept = Vec::new();
    for (i, word) in words.iter().enumerate() {
        let measured = words.get(i + 1).is_some_and(|unit| units.contains(unit));
        let of_text = words.get(i + 2) == Some(&"of") || line.contains("rows written");
        let memory = words.get(i + 2).is_some_and(|next| next.starts_with("peak"));
        kept.push(if measured && (!of_text || memory || i < 5) { "#" } else { word });
    }
    kept.join(" ")
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
    let scratch = tempfile::tempdir().unwrap();
    let set = |setting: &str, name: &str| {
        format!("filter_or_run.{setting}={}", scratch.path().join(name).display())
            .replace("filter_or_run.output", "filter.output")
            .replace("filter_or_run.work", "run.work")
    };
    let output = Command::new(tests::binary("neardup"))
        .current_dir(root())
        .arg("run")
        .args(["--set", &set("output", "output"), "--set", &set("work", "work")])
        .output()
        .unwrap();
    assert!(output.status.success());
    assert!(output.stdout.is_empty(), "stdout is for data");
    let printed = String::from_utf8(output.stderr).unwrap();
    let scratch = format!("{}/", scratch.path().display());
    let printed: Vec<String> = printed
        .lines()
        .map(|line| steady(&line.replace(&scratch, "target/sample/")))
        .collect();
    assert_eq!(printed, shown);
}
