//! The shape of the workspace: who may depend on whom, and what every source file looks like.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tests::{STAGES, repository};

/// The crates of ours that each crate is built from. A new edge is a decision: it is made here.
const EDGES: [(&str, &[&str]); 19] = [
    ("shingle", &[]),
    ("sketch", &[]),
    ("lsh", &[]),
    ("extsort", &[]),
    ("corpus", &[]),
    ("records", &[]),
    ("manifest", &["records"]),
    ("dataset", &["records"]),
    ("workdir", &["records"]),
    ("tables", &["records", "workdir"]),
    ("oracle", &["lsh", "records", "shingle", "sketch"]),
    (
        "cli",
        &["dataset", "manifest", "records", "tables", "workdir"],
    ),
    (
        "sign",
        &[
            "cli", "dataset", "records", "shingle", "sketch", "tables", "workdir",
        ],
    ),
    (
        "band",
        &["cli", "extsort", "lsh", "records", "tables", "workdir"],
    ),
    (
        "join",
        &["cli", "extsort", "records", "sketch", "tables", "workdir"],
    ),
    (
        "cluster",
        &[
            "cli", "dataset", "extsort", "records", "sketch", "tables", "workdir",
        ],
    ),
    (
        "filter",
        &["cli", "dataset", "records", "tables", "workdir"],
    ),
    (
        "neardup",
        &[
            "band", "cli", "cluster", "filter", "join", "records", "sign", "workdir",
        ],
    ),
    ("tests", &[]),
];

/// Crates that alone may name a dependency, whatever for.
const NAMED_ONLY_BY: [(&str, &[&str]); 3] = [
    ("parquet", &["corpus", "dataset", "tables", "tests"]),
    ("toml", &["manifest"]),
    ("clap", &["cli", "corpus", "neardup"]),
];

/// What the top level holds beside dot-files.
const TOP_LEVEL: [&str; 8] = [
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "crates",
    "pipeline.toml",
    "scripts",
    "tests",
];

const MAX_LINES: usize = 600;

struct Package {
    normal: BTreeSet<String>,
    /// Of any kind.
    all: BTreeSet<String>,
    default_run: Option<String>,
    binaries: Vec<String>,
}

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .current_dir(repository())
        .args(["metadata", "--no-deps", "--format-version=1", "--offline"])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo metadata failed: {errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn texts(list: &Value, field: &str) -> Vec<String> {
    let items = list.as_array().unwrap().iter();
    items
        .filter_map(|item| item[field].as_str())
        .map(str::to_owned)
        .collect()
}

fn packages() -> BTreeMap<String, Package> {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let package = |package: &Value| {
        let all = package["dependencies"].as_array().unwrap();
        let normal = all.iter().filter(|one| one["kind"].is_null()).cloned();
        let targets = package["targets"].as_array().unwrap().iter();
        let binaries = targets.filter(|target| target["kind"] == serde_json::json!(["bin"]));
        Package {
            normal: texts(&normal.collect(), "name").into_iter().collect(),
            all: texts(&package["dependencies"], "name")
                .into_iter()
                .collect(),
            default_run: package["default_run"].as_str().map(str::to_owned),
            binaries: texts(&binaries.cloned().collect(), "name"),
        }
    };
    let named = |one: &Value| (one["name"].as_str().unwrap().to_owned(), package(one));
    packages.iter().map(named).collect()
}

#[test]
fn crates_depend_on_each_other_as_the_map_says() {
    let packages = packages();
    let declared: BTreeSet<&str> = EDGES.iter().map(|(name, _)| *name).collect();
    let found: BTreeSet<&str> = packages.keys().map(String::as_str).collect();
    assert_eq!(found, declared, "the crates of the workspace");
    for (name, expected) in EDGES.iter().filter(|(name, _)| *name != "tests") {
        let package = &packages[*name];
        let ours = |names: &BTreeSet<String>| -> Vec<String> {
            let ours = names.iter().filter(|name| declared.contains(name.as_str()));
            ours.cloned().collect()
        };
        assert_eq!(ours(&package.normal), *expected, "what `{name}` depends on");
        // Nor do its tests look at what it must not know.
        assert_eq!(ours(&package.all), *expected, "what tests of `{name}` use");
    }
}

#[test]
fn some_dependencies_are_named_by_few() {
    for (dependency, allowed) in NAMED_ONLY_BY {
        let packages = packages();
        let users = packages
            .iter()
            .filter(|(_, package)| package.all.contains(dependency));
        let users: Vec<&str> = users.map(|(name, _)| name.as_str()).collect();
        assert_eq!(users, allowed, "who names `{dependency}`");
    }
}

#[test]
fn a_plain_build_makes_the_six_binaries() {
    let packages = packages();
    let mut binaries = Vec::new();
    for member in texts_of_ids(&metadata()["workspace_default_members"]) {
        let package = &packages[&member];
        assert_eq!(package.binaries, [member.as_str()]);
        binaries.push(member);
    }
    let mut expected: Vec<&str> = STAGES.to_vec();
    expected.push("neardup");
    expected.sort_unstable();
    binaries.sort_unstable();
    assert_eq!(binaries, expected);
    assert_eq!(packages["neardup"].default_run.as_deref(), Some("neardup"));
}

/// The names in package ids such as `path+file:///x/crates/sign#0.1.0` or `...#sign@0.1.0`.
fn texts_of_ids(ids: &Value) -> Vec<String> {
    let name = |id: &str| {
        let (path, version) = id.split_once('#').unwrap();
        match version.split_once('@') {
            Some((name, _)) => name.to_owned(),
            None => path.rsplit('/').next().unwrap().to_owned(),
        }
    };
    let ids = ids.as_array().unwrap().iter();
    ids.map(|id| name(id.as_str().unwrap())).collect()
}

#[test]
fn stage_libraries_know_neither_shell_nor_manifest() {
    for stage in STAGES {
        let source = repository().join("crates").join(stage).join("src");
        let mut seen = 0;
        for path in sources(&source) {
            if path.file_name().unwrap() == "main.rs" {
                let lines = code(&path).lines().filter(|l| !l.is_empty()).count();
                assert!(lines <= 10, "{} is a few lines", path.display());
                continue;
            }
            for forbidden in ["cli::", "manifest::", "use cli", "use manifest", "eprint"] {
                let found = code(&path).contains(forbidden);
                assert!(!found, "{} has `{forbidden}`", path.display());
            }
            seen += 1;
        }
        assert!(seen > 0, "`{stage}` has no library");
    }
}

#[test]
fn every_crate_is_in_the_map() {
    let map = repository().join("crates/README.md");
    let text = fs::read_to_string(&map)
        .unwrap_or_else(|error| panic!("crates/README.md, the map of the crates: {error}"));
    for entry in fs::read_dir(repository().join("crates")).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            let name = entry.file_name().into_string().unwrap();
            let row = format!("| `{name}` |");
            assert!(
                text.contains(&row),
                "crates/README.md has no row for {name}"
            );
        }
    }
}

#[test]
fn the_top_level_is_the_list() {
    let output = Command::new("git")
        .current_dir(repository())
        .args(["ls-files", "-z"])
        .output();
    let listing = match output {
        Ok(output) if output.status.success() => output.stdout,
        _ => {
            eprintln!("skipped: git is absent, or this is no checkout");
            return;
        }
    };
    let listing = String::from_utf8(listing).unwrap();
    let tops = listing.split('\0').filter(|path| !path.is_empty());
    let tops = tops.map(|path| path.split('/').next().unwrap());
    let foreign: BTreeSet<&str> = tops
        .filter(|top| !top.starts_with('.') && !TOP_LEVEL.contains(top))
        .collect();
    assert!(foreign.is_empty(), "not of the top level: {foreign:?}");
    for name in TOP_LEVEL {
        assert!(repository().join(name).exists(), "{name} is missing");
    }
}

#[test]
fn every_source_file_is_introduced_short_and_safe() {
    // In two parts, so that this file does not hold the word.
    let word = concat!("un", "safe");
    let mut seen = 0;
    for folder in ["crates", "tests"] {
        for path in sources(&repository().join(folder)) {
            let text = fs::read_to_string(&path).unwrap();
            let path = path.display();
            assert!(text.starts_with("//! "), "{path} opens with `//!`");
            let lines = text.lines().count();
            assert!(lines <= MAX_LINES, "{path} has {lines} lines");
            let code: String = text.lines().map(without_comment).collect();
            let mut words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
            assert!(!words.any(|found| found == word), "{path} is {word}");
            seen += 1;
        }
    }
    assert!(seen > 100, "{seen} source files");
}

#[test]
fn every_crate_has_the_lints_and_every_test_runs() {
    let mut manifests = vec![repository().join("tests/Cargo.toml")];
    for entry in fs::read_dir(repository().join("crates")).unwrap() {
        manifests.push(entry.unwrap().path().join("Cargo.toml"));
    }
    for path in manifests.iter().filter(|path| path.exists()) {
        let text = fs::read_to_string(path).unwrap();
        let lints = text.contains("[lints]\nworkspace = true");
        assert!(lints, "{} has not the lints", path.display());
    }
    // Targets are listed by hand, so one can be forgotten.
    let listed = fs::read_to_string(&manifests[0]).unwrap();
    for entry in fs::read_dir(repository().join("tests")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".rs") {
            let line = format!("path = \"{name}\"");
            assert!(listed.contains(&line), "tests/Cargo.toml lacks {name}");
        }
    }
}

/// Every Rust file below a folder, without build outputs.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            if entry.file_name() != "target" {
                files.extend(sources(&path));
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = text.lines().map(without_comment).collect();
    lines.join("\n")
}

fn without_comment(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}
