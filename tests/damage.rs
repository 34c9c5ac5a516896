//! Damaged intermediates and killed runs: never a wrong result, and never a lost one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tests::{Project, Random, STAGES, files_below};

/// Asserts that the stages that read `name` refuse it when a byte is flipped, leave the output as
/// it was, and do what the message says; then puts things right as it says.
fn check_flips(
    project: &Project,
    name: &str,
    made_by: &str,
    read_by: &[&str],
    random: &mut Random,
) {
    let path = project.path("work").join(name);
    let good = fs::read(&path).unwrap();
    let result = project.output();
    let mut places = vec![0, good.len() - 1, good.len() / 2];
    places.extend((0..5).map(|_| random.below(good.len())));
    for place in places {
        let mut bad = good.clone();
        bad[place] ^= 1 << random.below(8);
        for stage in read_by {
            fs::write(&path, &bad).unwrap();
            let done = project.neardup(&[stage, "--force"]);
            let context = format!("{name}, byte {place} of {}, {stage}", good.len());
            assert_ne!(done.code, Some(0), "used: {context}\n{}", done.stderr);
            let remedy = format!("`neardup {made_by} --force`");
            done.failed(3, &[name, &remedy]);
            assert!(project.output() == result, "{context}");
            // The stage that was refused has no receipt any more; the file is whole again.
            fs::write(&path, &good).unwrap();
            project.run(&["--to", stage]).succeeded();
        }
    }
    fs::write(&path, &good[1..]).unwrap();
    project.neardup(&[made_by, "--force"]).succeeded();
    assert!(fs::read(&path).unwrap() == good, "{name} is made again");
    project.run(&[]).succeeded();
    assert!(project.output() == result);
}

#[test]
fn a_flipped_byte_is_refused_with_the_file_and_the_remedy() {
    let project = Project::of_sample(&[]);
    project.run(&[]).succeeded();
    let random = &mut Random::new(5);
    let shards = files_below(&project.path("work/signatures"));
    let shard = format!("signatures/{}", shards.keys().nth(1).unwrap());
    check_flips(
        &project,
        "inputs.parquet",
        "sign",
        &["band", "join", "cluster", "filter"],
        random,
    );
    check_flips(
        &project,
        &shard,
        "sign",
        &["band", "join", "cluster"],
        random,
    );
    check_flips(
        &project,
        "bands/band-0007.records",
        "band",
        &["join"],
        random,
    );
    check_flips(
        &project,
        "bands/exact.records",
        "band",
        &["cluster"],
        random,
    );
    check_flips(
        &project,
        "edges/part-00000.parquet",
        "join",
        &["cluster"],
        random,
    );
    check_flips(
        &project,
        "decisions.records",
        "cluster",
        &["filter"],
        random,
    );
}

#[test]
fn a_file_of_another_run_is_refused_with_the_setting_that_differs() {
    let project = Project::of_sample(&[]);
    project.run(&[]).succeeded();
    let result = project.output();
    let other = Project::of_sample(&[("sign.seed", "43")]);
    other.run(&["--to", "band"]).succeeded();
    // The exact copies of the two runs are the same, to the byte; their headers are not.
    let name = "work/bands/exact.records";
    fs::copy(other.path(name), project.path(name)).unwrap();
    let done = project.neardup(&["cluster", "--force"]);
    done.failed(3, &["bands/exact.records", "sign.seed", "42", "43"]);
    // It was removed, and is made again.
    project.neardup(&["band"]).succeeded();
    // A band of the other run has another size, which is looked at first.
    let name = "work/bands/band-0007.records";
    fs::copy(other.path(name), project.path(name)).unwrap();
    let done = project.neardup(&["join", "--force"]);
    done.failed(3, &["bands/band-0007.records has ", " bytes, not "]);
    assert!(project.output() == result);
}

#[test]
fn a_damaged_receipt_is_not_believed() {
    let project = Project::of_sample(&[]);
    project.run(&[]).succeeded();
    let result = project.result();
    for stage in STAGES {
        let path = project.path(&format!("work/receipts/{stage}.json"));
        let mut text = fs::read_to_string(&path).unwrap();
        let digit = text.rfind(|c: char| c.is_ascii_digit()).unwrap();
        let other = if text[digit..].starts_with('1') {
            "2"
        } else {
            "1"
        };
        text.replace_range(digit..=digit, other);
        fs::write(&path, text).unwrap();
        let done = project.run(&[]).ok();
        assert!(done.started().contains(&stage), "{stage}");
        let why = format!("{stage:<8}starts (its receipt is damaged or of another version)");
        assert!(done.stderr.contains(&why), "{}", done.stderr);
        assert!(project.result() == result, "{stage}");
    }
}

/// Starts a run in a process group of its own and kills the group with SIGKILL some time after
/// `stage` started.
fn kill_in(project: &Project, stage: &str, args: &[&str], delay_ms: u64) {
    let mut child = project
        .command("neardup", &[&["run"], args].concat())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let begins = format!(" {stage:<8}starts (");
    let stderr = BufReader::new(child.stderr.take().unwrap());
    let mut lines = stderr.lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains(&begins)), "{stage} starts");
    std::thread::sleep(Duration::from_millis(delay_ms));
    let group = format!("-{}", child.id());
    // It may have ended by now: then there is nothing to kill.
    let _ = Command::new("kill").args(["-9", "--", &group]).output();
    let _ = child.wait().unwrap();
    // The pipe closes when the last of the group is gone.
    assert!(lines.all(|line| !line.contains("error")));
}

fn check_kills(first_delay_ms: u64) {
    let project = Project::of_sample(&[("join.anchors", "3"), ("sign.n", "4")]);
    let old = &["--set", "join.threshold=0.95", "--set", "sign.seed=1"];
    project.run(old).succeeded();
    let old_output = project.output();
    let fresh = Project::of_sample(&[("join.anchors", "3"), ("sign.n", "4")]);
    fresh.run(&[]).succeeded();
    let expected = fresh.result();
    assert!(fresh.output() != old_output);
    let mut killed = 0;
    for stage in STAGES {
        for delay_ms in [first_delay_ms, first_delay_ms + 12, first_delay_ms + 45] {
            project.run(old).succeeded();
            assert!(project.output() == old_output);
            kill_in(&project, stage, &[], delay_ms);
            let left = project.output();
            let new = outputs(&expected);
            assert!(left == old_output || left == new, "half an output");
            killed += u64::from(left == old_output);
            project.run(&[]).succeeded();
            assert!(project.result() == expected, "{stage}, {delay_ms} ms");
            assert_eq!(counters(&project), counters(&fresh), "{stage}");
            project.assert_tidy();
        }
    }
    assert!(killed >= 5, "{killed} runs were killed before they ended");
}

/// What each stage counted.
fn counters(project: &Project) -> Vec<Value> {
    let report = project.report();
    STAGES
        .iter()
        .map(|stage| report["stages"][stage]["counters"].clone())
        .collect()
}

fn outputs(result: &BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Vec<u8>> {
    let mut output = result.clone();
    output.remove("clusters.parquet");
    output
}

#[test]
fn a_killed_run_goes_on_where_it_was() {
    check_kills(0);
}

#[test]
fn a_killed_run_goes_on_where_it_was_at_other_moments() {
    check_kills(25);
}
