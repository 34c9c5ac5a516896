//! Threads and memory decide how long a run takes, never what it comes to.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails"
)]

use corpus::Plan;
use tests::{Done, Project};

/// A corpus by the generator under `data`.
fn generated(plan: &Plan, settings: &[(&str, &str)]) -> Project {
    let project = Project::new(settings);
    corpus::generate(&project.path("made"), plan).unwrap();
    std::fs::rename(project.path("made/data"), project.path("data")).unwrap();
    project
}

fn check_all_equal(project: &Project) {
    let mut first = None;
    for threads in ["1", "2", "7"] {
        for memory in ["64MiB", "8GiB"] {
            project.forget();
            let args = ["--threads", threads, "--memory", memory];
            project.run(&args).succeeded();
            project.assert_tidy();
            let result = project.result();
            assert!(result.len() > 2, "clusters, _SUCCESS and files");
            assert!(project.rows("dropped") > 0);
            let first = first.get_or_insert_with(|| result.clone());
            // Not assert_eq: megabytes of bytes tell nobody anything.
            for (name, bytes) in &result {
                let equal = first.get(name) == Some(bytes);
                assert!(equal, "{name} with {threads} threads and {memory}");
            }
            assert_eq!(first.len(), result.len());
        }
    }
}

#[test]
fn the_sample_comes_to_the_same_bytes() {
    let settings = [
        ("cluster.keep", r#""best""#),
        ("cluster.column", r#""quality""#),
    ];
    check_all_equal(&Project::of_sample(&settings));
}

#[test]
fn a_corpus_of_some_thousand_documents_comes_to_the_same_bytes() {
    let plan = Plan {
        documents: 4_000,
        files: 5,
        rows_per_row_group: 300,
        words_min: 20,
        words_max: 120,
        ..Plan::default()
    };
    let settings = [
        ("join.anchors", "2"),
        ("filter.mode", r#""annotate""#),
        ("input.id", r#""id""#),
    ];
    check_all_equal(&generated(&plan, &settings));
}

/// Many near copies with long signatures, so that a small budget does not hold them.
fn heavy() -> Project {
    let plan = Plan {
        documents: 3_000,
        files: 3,
        words_min: 20,
        words_max: 40,
        exact_rate: 0.05,
        near_rate: 0.85,
        null_rate: 0.0,
        empty_rate: 0.0,
        blank_rate: 0.0,
        normalised_rate: 0.0,
        edit_rates: vec![0.02],
        ..Plan::default()
    };
    let settings = [
        ("sign.k", "2048"),
        ("band.bands", "20"),
        ("band.rows", "6"),
        ("join.anchors", "8"),
    ];
    generated(&plan, &settings)
}

/// The number of the message `set run.memory = "NMiB" or more`.
fn remedy_mib(done: Done) -> u64 {
    let error = done.failed(3, &["a memory budget of ", "; set run.memory = \""]);
    let number = error.split("run.memory = \"").nth(1).unwrap();
    number
        .split("MiB\" or more")
        .next()
        .unwrap()
        .parse()
        .unwrap()
}

/// A counter that is true or false.
fn flag(project: &Project, stage: &str, name: &str) -> bool {
    let counter = &project.report()["stages"][stage]["counters"][name];
    counter
        .as_bool()
        .unwrap_or_else(|| panic!("{stage} says nothing of {name}"))
}

#[test]
fn signatures_that_do_not_fit_come_to_the_same_bytes() {
    let project = heavy();
    project.run(&["--memory", "8GiB"]).succeeded();
    let edges = || std::fs::read(project.path("work/edges/part-00000.parquet")).unwrap();
    let first = edges();
    assert!(flag(&project, "join", "signatures_resident"));
    let least = remedy_mib(project.neardup(&["join", "--force", "--memory", "1MiB"]));
    for threads in ["1", "7"] {
        let memory = format!("{least}MiB");
        let args = ["join", "--force", "--memory", &memory, "--threads", threads];
        project.neardup(&args).succeeded();
        assert!(!flag(&project, "join", "signatures_resident"));
        assert!(edges() == first, "edges of signatures that travelled");
    }
}

#[test]
fn components_that_do_not_fit_come_to_the_same_bytes() {
    // So many documents in clusters that four bytes for each are more than the least budget holds.
    let texts: Vec<String> = (0..600_000).map(|i| format!("w{}", i % 190_000)).collect();
    let texts: Vec<Option<&str>> = texts.iter().map(|text| Some(text.as_str())).collect();
    let settings = [
        ("sign.k", "4"),
        ("sign.n", "1"),
        ("band.bands", "1"),
        ("band.rows", "4"),
    ];
    let project = Project::of(&texts, &settings);
    let to = ["--to", "cluster", "--memory", "8GiB"];
    project.run(&to).succeeded();
    let clusters = || std::fs::read(project.path("work/clusters.parquet")).unwrap();
    let first = clusters();
    assert!(flag(&project, "cluster", "components_resident"));
    assert_eq!(project.counter("cluster", "clusters"), 190_000);
    let least = remedy_mib(project.neardup(&["cluster", "--force", "--memory", "1MiB"]));
    let memory = format!("{least}MiB");
    let args = ["cluster", "--force", "--memory", &memory];
    project.neardup(&args).succeeded();
    assert!(!flag(&project, "cluster", "components_resident"));
    assert!(clusters() == first, "components by sorted passes");
}
