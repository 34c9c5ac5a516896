//! The memory budget holds on skewed corpora: small forms of `scripts/big.sh`.
//!
//! Each case runs at a small budget and at a large one: every stage stays within its budget, and
//! the results are equal.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails"
)]

use std::process::Command;

use corpus::{Bucket, Chain, Layout, Lines, Plan, Shape, Star};
use tests::{Project, STAGES, binary};

const SMALL: &str = "64MiB";
const LARGE: &str = "4GiB";

/// Asserts that every stage stayed within so many MiB, and had the parts of its budget reported.
#[track_caller]
fn within(project: &Project, budget_mib: u64) {
    let report = project.report();
    for stage in STAGES {
        let found = &report["stages"][stage];
        let peak = found["peak_rss_bytes"].as_u64().unwrap();
        assert!(
            peak <= budget_mib << 20,
            "{stage} had {peak} bytes under {budget_mib} MiB"
        );
        let planned = &found["counters"]["memory_planned"];
        assert!(planned.as_object().is_some_and(|parts| parts.len() >= 3));
    }
}

/// Runs the corpus at both budgets and gives the project back as the small one left it.
#[track_caller]
fn at_both(project: Project) -> Project {
    project.run(&["--memory", LARGE]).succeeded();
    let large = project.result();
    project.forget();
    project.run(&["--memory", SMALL]).succeeded();
    within(&project, 64);
    assert!(project.result() == large, "the budget changed the result");
    project
}

fn shape(shape: &Shape, files: u32, rows_per_row_group: u32, settings: &[(&str, &str)]) -> Project {
    let project = Project::new(settings);
    let layout = Layout {
        files,
        rows_per_row_group,
    };
    let made = project.path("made");
    corpus::write_shape(&made, shape, layout, 7).unwrap();
    std::fs::rename(made.join("data"), project.path("data")).unwrap();
    project
}

fn generated(plan: &Plan) -> Project {
    let project = Project::new(&[]);
    let made = project.path("made");
    corpus::generate(&made, plan).unwrap();
    std::fs::rename(made.join("data"), project.path("data")).unwrap();
    project
}

#[test]
fn short_lines_of_which_a_third_is_one_line() {
    let lines = Lines {
        rows: 60_000,
        same_rate: 0.3,
        template_rate: 0.1,
    };
    let project = at_both(shape(&Shape::Lines(lines), 2, 10_000, &[]));
    assert!(project.rows("dropped") > 60_000 * 3 / 10);
    let compared = project.counter("join", "compared");
    assert!(compared < 60_000 * 256, "{compared} comparisons");
}

#[test]
fn a_chain_a_star_and_a_bucket_of_nearly_all() {
    let chain = Chain {
        rows: 20_000,
        words: 42,
        step: 2,
        scattered: true,
    };
    let project = at_both(shape(&Shape::Chain(chain), 1, 5_000, &[]));
    assert_eq!(project.rows("kept"), 1, "one cluster, one keeper");

    let star = Star {
        leaves: 3_000,
        words: 400,
        changes: 6,
        hub_row: 0,
    };
    let project = at_both(shape(&Shape::Star(star), 1, 1_000, &[]));
    assert!(project.rows("dropped") > 2_000);

    let bucket = Bucket {
        rows: 4_000,
        shared: 24,
        own: 20,
    };
    let settings = [("band.rows", "1")];
    let project = at_both(shape(&Shape::Bucket(bucket), 1, 5_000, &settings));
    assert_eq!(project.rows("dropped"), 0);
    assert!(project.counter("join", "buckets_cut") > 0);
    let compared = project.counter("join", "compared");
    assert!(compared <= 20 * 4_000 * 256, "{compared} comparisons");
}

#[test]
fn nearly_all_duplicates_and_none_in_one_row_group() {
    let plan = Plan {
        documents: 8_000,
        files: 1,
        rows_per_row_group: 8_000,
        words_min: 20,
        words_max: 60,
        null_rate: 0.0,
        empty_rate: 0.0,
        blank_rate: 0.0,
        ..Plan::default()
    };
    let all = Plan {
        exact_rate: 0.5,
        normalised_rate: 0.2,
        near_rate: 0.29,
        edit_rates: vec![0.01],
        ..plan.clone()
    };
    let project = at_both(generated(&all));
    // Short texts: of those that one edit changed, about half stay above the threshold.
    assert!(
        project.rows("dropped") > 6_000,
        "{}",
        project.rows("dropped")
    );
    let none = Plan {
        exact_rate: 0.0,
        normalised_rate: 0.0,
        near_rate: 0.0,
        ..plan
    };
    let project = at_both(generated(&none));
    assert_eq!(project.rows("dropped"), 0);
}

#[test]
fn many_small_files_under_a_low_limit_of_open_files() {
    let plan = Plan {
        documents: 4_000,
        files: 200,
        words_min: 20,
        words_max: 60,
        ..Plan::default()
    };
    let project = generated(&plan);
    let command = format!(
        "ulimit -n 64 && exec {} run --memory {SMALL}",
        binary("neardup").display()
    );
    let status = Command::new("bash")
        .args(["-c", &command])
        .current_dir(project.root())
        .status()
        .unwrap();
    assert!(status.success());
    within(&project, 64);
    assert_eq!(project.counter("sign", "files"), 200);
}

/// The number of MiB in the remedy `set run.memory = "NMiB"`.
fn remedy(text: &str) -> u64 {
    let number = text.split("run.memory = \"").nth(1);
    let number = number.and_then(|rest| rest.split("MiB").next());
    number.and_then(|number| number.parse().ok()).expect(text)
}

#[test]
fn a_small_budget_works_or_is_refused_with_one_that_does() {
    for mib in [16, 24, 32, 64, 128] {
        let project = Project::of_sample(&[]);
        let mut budget = mib;
        let mut refusals = 0;
        loop {
            let done = project.run(&["--memory", &format!("{budget}MiB")]);
            if done.code == Some(0) {
                break;
            }
            assert!(refusals == 0, "the remedy did not do: {}", done.stderr);
            budget = remedy(&done.failed(3, &["too small"]));
            refusals += 1;
        }
        within(&project, budget);
    }
}

#[test]
fn plan_says_what_a_run_then_needs() {
    let project = Project::of_sample(&[]);
    let plan = project.neardup(&["plan"]);
    assert_eq!(plan.code, Some(0));
    let text = plan.stdout;
    for part in [
        "2,000 rows in 3 files",
        "it has not run yet",
        "filter",
        "free on its file system",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(!project.path("work").exists(), "plan makes nothing");
    project.run(&[]).succeeded();
    let text = project.neardup(&["plan"]).stdout;
    for stage in STAGES {
        assert!(
            text.contains(&format!("{stage:<8} is up to date")),
            "{text}"
        );
    }
    let refused = project.neardup(&["plan", "--force", "--memory", "8MiB"]);
    refused.failed(3, &["too small", "set run.memory"]);
}
