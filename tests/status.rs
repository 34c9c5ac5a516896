//! What `status` says and `clean` removes; which changed files are named; damage that a run repairs.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails"
)]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use tests::{Done, Project, STAGES, files_below};

/// Five files of texts with exact and near copies among them.
fn small() -> Project {
    let project = Project::new(&[]);
    let words = |from: usize| {
        let words: Vec<String> = (from..from + 40).map(|i| format!("word{i}")).collect();
        words.join(" ")
    };
    for (i, name) in ["a", "b", "c", "d", "e"].into_iter().enumerate() {
        let (own, near) = (words(1000 * i), format!("{} and more", words(0)));
        let texts = [Some(own.as_str()), Some(near.as_str()), None];
        project.texts(&format!("data/{name}.parquet"), &texts);
    }
    project
}

fn done() -> Project {
    let project = small();
    project.run(&[]).succeeded();
    project
}

/// Content and time of every file below the project's folder.
fn all(project: &Project) -> BTreeMap<String, (Vec<u8>, SystemTime)> {
    let files = files_below(project.root()).into_iter();
    files
        .map(|(name, bytes)| {
            let time = fs::metadata(project.path(&name)).unwrap().modified();
            (name, (bytes, time.unwrap()))
        })
        .collect()
}

/// The lines of `status`, which has to end with that code, say nothing on standard error and
/// change nothing.
#[track_caller]
fn status(project: &Project, args: &[&str], code: i32) -> Vec<String> {
    let before = all(project);
    let Done {
        code: found,
        stdout,
        stderr,
    } = project.neardup(&[&["status"], args].concat());
    assert_eq!((found, stderr.as_str()), (Some(code), ""), "{stdout}");
    assert!(all(project) == before, "it changes nothing");
    stdout.lines().map(str::to_owned).collect()
}

/// The names of the stages and what `status` says of them first.
fn words(lines: &[String]) -> Vec<&str> {
    assert_eq!(lines.len(), STAGES.len(), "{lines:#?}");
    let pairs = lines.iter().zip(STAGES);
    pairs
        .map(|(line, stage)| {
            assert_eq!(line[..8].trim_end(), stage);
            line[8..].trim_end()
        })
        .collect()
}

#[test]
fn status_without_any_run_makes_no_folder() {
    let project = small();
    let lines = status(&project, &[], 1);
    assert_eq!(words(&lines), ["not run yet"; 5]);
    assert!(!project.path("work").exists());
    let lines = status(&project, &["--quiet"], 1);
    assert_eq!(lines, Vec::<String>::new());
}

#[test]
fn status_of_a_whole_run_has_figures_and_times() {
    let project = done();
    let lines = status(&project, &[], 0);
    let figures = [
        "done     15 documents in 5 files, ",
        "done     4 exact copies, ",
        "done     ",
        "done     1 clusters, 5 to drop; 20",
        "done     10 of 15 rows written, ",
    ];
    for (line, figures) in words(&lines).into_iter().zip(figures) {
        assert!(line.starts_with(figures), "{line}");
        assert!(line.ends_with('Z'), "it has a time: {line}");
    }
}

#[test]
fn status_names_the_setting_that_makes_a_stage_stale() {
    let project = done();
    let lines = status(&project, &["--set", "join.threshold=0.85"], 1);
    let words = words(&lines);
    assert!(words[..2].iter().all(|line| line.starts_with("done ")));
    for line in &words[2..] {
        assert_eq!(*line, "stale    join.threshold is 0.85, was 0.8");
    }
}

#[test]
fn the_readme_shows_what_status_says_of_the_sample() {
    let readme = fs::read_to_string(tests::repository().join("README.md")).unwrap();
    let shown = readme.split("$ neardup status --set band.rows=5\n").nth(1);
    let shown = shown.and_then(|rest| rest.split("```").next()).unwrap();
    let project = Project::of_sample(&[]);
    project.run(&[]).succeeded();
    let lines = status(&project, &["--set", "band.rows=5"], 1);
    // But for the time.
    let steady = |line: &str| line.split("; 20").next().unwrap().to_owned();
    let shown: Vec<String> = shown.lines().map(steady).collect();
    let printed: Vec<String> = lines.iter().map(|line| steady(line)).collect();
    assert_eq!(printed, shown);
}

#[test]
fn status_names_the_files_that_are_lost() {
    let project = done();
    fs::remove_file(project.path("work/bands/band-0003.records")).unwrap();
    fs::remove_file(project.path("out/b.parquet")).unwrap();
    let lines = status(&project, &[], 1);
    let words = words(&lines);
    assert_eq!(words[1], "stale    bands/band-0003.records is missing");
    assert!(words[2].starts_with("done ") && words[3].starts_with("done "));
    assert_eq!(words[4], "stale    b.parquet is missing from the output");
}

/// Changes one input file, removes one and adds three.
fn change_inputs(project: &Project) {
    for name in ["b", "d"] {
        fs::remove_file(project.path(&format!("data/{name}.parquet"))).unwrap();
    }
    for name in ["b", "b2", "x", "y"] {
        let texts = [Some("words in a file of its own"); 5];
        project.texts(&format!("data/{name}.parquet"), &texts);
    }
}

#[test]
fn changed_inputs_are_named_wherever_they_matter() {
    let project = done();
    change_inputs(&project);
    let file = |name: &str| project.path("data").join(name).display().to_string();
    let named = format!(
        "{} changed, {} is gone, {} was added and 2 more",
        file("b.parquet"),
        file("d.parquet"),
        file("b2.parquet")
    );
    let lines = status(&project, &[], 1);
    let line = format!("stale    the input files changed: {named}");
    assert_eq!(words(&lines), [line.as_str(); 5]);
    let refused = project.run(&["--from", "band"]);
    let needs = "--from band needs the outputs of `sign`";
    refused.failed(
        3,
        &[needs, &format!("the input files changed: {named}; run")],
    );
    let named = named
        .replace(" and", " since it ran and")
        .replace(',', " since it ran,");
    let needs = "`band` needs the outputs of `sign`";
    project.neardup(&["band"]).failed(3, &[needs, &named]);
    let done = project.run(&[]).ok();
    let why = "sign    starts (the input files changed: b.parquet changed and 4 more)";
    assert!(done.stderr.contains(why), "{}", done.stderr);
    status(&project, &[], 0);
}

#[test]
fn another_order_of_the_same_files_is_a_change() {
    let project = small();
    let paths = |first: &str, second: &str| {
        format!(r#"input.paths=["data/{first}.parquet", "data/{second}.parquet"]"#)
    };
    project.run(&["--set", &paths("a", "b")]).succeeded();
    let lines = status(&project, &["--set", &paths("b", "a")], 1);
    let line = &lines[0];
    assert!(line.ends_with("b.parquet has another place"), "{line}");
}

#[test]
fn status_says_who_is_at_work() {
    let project = done();
    let lock = File::create(project.path("work/lock")).unwrap();
    lock.lock().unwrap();
    fs::write(project.path("work/lock"), "1 2026-01-02T03:04:05Z\n").unwrap();
    let lines = status(&project, &[], 0);
    let in_use = format!(
        "{} is in use by process 1 since 2026-01-02T03:04:05Z; ",
        project.path("work").display()
    );
    assert!(lines[0].starts_with(&in_use), "{}", lines[0]);
    assert_eq!(words(&lines[1..]).len(), 5);
    project.neardup(&["clean"]).failed(3, &[&in_use]);
}

#[test]
fn status_refuses_what_a_run_refuses() {
    let project = done();
    fs::remove_dir_all(project.path("data")).unwrap();
    let refused = project.neardup(&["status"]);
    refused.failed(3, &["data` does not exist; correct input.paths"]);
    let usage = project.neardup(&["status", "--set", "sign.k=0"]);
    usage.failed(2, &["sign.k"]);
}

fn names(project: &Project, folder: &str) -> Vec<String> {
    files_below(&project.path(folder)).into_keys().collect()
}

#[test]
fn clean_removes_what_is_half_made_and_the_band_runs() {
    let project = done();
    let result = project.result();
    let input = files_below(&project.path("data"));
    let write = |name: &str| {
        let path = project.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "half-made").unwrap();
    };
    let foreign = [
        "work/notes.txt",
        "work/bands/mine.txt",
        "elsewhere/x.records",
    ];
    foreign.into_iter().for_each(write);
    for name in [
        "work/scratch/join/run-1",
        "work/signatures/.neardup-tmp-a",
        "work/.neardup-tmp-b",
        ".out.neardup-partial/a.parquet",
        ".out.neardup-old/a.parquet",
        ".out.neardup-lock",
    ] {
        write(name);
    }
    symlink(project.path("elsewhere"), project.path("work/scratch/sign")).unwrap();
    symlink(
        project.path("elsewhere/x.records"),
        project.path("work/bands/link.records"),
    )
    .unwrap();
    let cleaned = project.neardup(&["clean"]).ok();
    for said in [
        "removed the unfinished output: 2 files, 18 B; ",
        "removed what killed runs left half-made: 3 files, 27 B\n",
        "removed the band runs: 21 files, ",
        "; the next run does `band` again\n",
    ] {
        assert!(cleaned.stderr.contains(said), "{}", cleaned.stderr);
    }
    assert!(foreign.iter().all(|name| project.path(name).exists()));
    assert!(project.path("work/scratch/sign").is_symlink());
    fs::remove_file(project.path("work/scratch/sign")).unwrap();
    fs::remove_dir(project.path("work/scratch")).unwrap();
    project.assert_tidy();
    assert_eq!(names(&project, "work/bands"), ["mine.txt"]);
    fs::remove_file(project.path("work/bands/link.records")).unwrap();
    fs::remove_file(project.path("work/bands/mine.txt")).unwrap();

    let lines = status(&project, &[], 1);
    let stale: Vec<bool> = words(&lines)
        .iter()
        .map(|line| line.starts_with("stale"))
        .collect();
    assert_eq!(stale, [false, true, false, false, false]);
    assert!(files_below(&project.path("data")) == input);
    assert!(project.result() == result);
    let done = project.run(&[]).ok();
    assert_eq!(done.started(), ["band"]);
    assert!(project.result() == result);
}

#[test]
fn clean_all_removes_ours_alone_and_the_next_run_begins_anew() {
    let project = done();
    let result = project.result();
    let output = project.output();
    let cleaned = project.neardup(&["clean", "--all"]).ok();
    let said = "removed everything of earlier runs: ";
    assert!(cleaned.stderr.starts_with(said), "{}", cleaned.stderr);
    assert!(cleaned.stderr.contains("; the next run begins anew\n"));
    assert!(!project.path("work").exists());
    assert!(project.output() == output);
    let cleaned = project.neardup(&["clean", "--all"]).ok();
    assert_eq!(cleaned.stderr, "nothing to remove\n");
    assert!(!project.path("work").exists());
    assert_eq!(project.run(&[]).ok().started(), STAGES);
    assert!(project.result() == result);

    let foreign = ["notes.txt", "signatures/mine.csv", "deep/er/x.parquet"];
    for name in foreign {
        let path = project.path("work").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "mine").unwrap();
    }
    // Ours by name, but a link: what it leads to is not.
    fs::rename(project.path("work/edges"), project.path("edges")).unwrap();
    symlink(project.path("edges"), project.path("work/edges")).unwrap();
    let cleaned = project.neardup(&["clean", "--all"]).ok();
    for name in foreign.into_iter().chain(["edges"]) {
        let left = format!(
            "left {}: no run made it\n",
            project.path("work").join(name).display()
        );
        assert!(cleaned.stderr.contains(&left), "{}", cleaned.stderr);
    }
    assert_eq!(names(&project, "work").len(), foreign.len());
    assert_eq!(names(&project, "edges").len(), 1);
    assert!(project.output() == output);
    let cleaned = project.neardup(&["clean", "--all", "--quiet"]).ok();
    assert_eq!(cleaned.stderr, "");
}

#[test]
fn an_old_output_that_waits_is_not_removed() {
    let project = done();
    let output = project.output();
    fs::rename(project.path("out"), project.path(".out.neardup-old")).unwrap();
    project.neardup(&["clean"]).succeeded();
    assert!(files_below(&project.path(".out.neardup-old")) == output);
}

/// Flips a byte, the time of the file as it was.
fn damage(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).unwrap();
}

fn a_shard(project: &Project) -> PathBuf {
    let name = names(project, "work/signatures").remove(2);
    project.path("work/signatures").join(name)
}

#[test]
fn a_run_makes_again_what_it_finds_damaged() {
    let project = done();
    let result = project.result();
    let fresh = small();
    fresh.run(&["--set", "join.threshold=0.7"]).succeeded();
    let shard = a_shard(&project);
    let files = [
        ("sign", project.path("work/inputs.parquet")),
        ("sign", shard),
        ("band", project.path("work/bands/band-0004.records")),
    ];
    for (stage, path) in &files {
        let whole = fs::read(path).unwrap();
        damage(path);
        let done = project.run(&["--set", "join.threshold=0.7"]).ok();
        let found = "the stage `join` found damage; what is damaged is made again";
        let damaged = format!("warning: {} is damaged (its checksum is ", path.display());
        for said in ["error: ", found, &damaged] {
            assert!(done.stderr.contains(said), "{said}: {}", done.stderr);
        }
        let again = format!("{stage:<8}starts (");
        assert!(done.stderr.contains(&again), "{}", done.stderr);
        assert!(fs::read(path).unwrap() == whole, "{}", path.display());
        // But for the identities, as those of a run that found no damage.
        assert_eq!(project.rows_of("out"), fresh.rows_of("out"));
        project.run(&[]).succeeded();
        assert!(project.result() == result);
        project.assert_tidy();
    }
    // Also before the first stage that was asked for, and with --force.
    for (_, path) in &files {
        damage(path);
    }
    project.run(&["--from", "join", "--force"]).succeeded();
    assert!(project.result() == result);
    status(&project, &[], 0);
}

#[test]
fn a_single_stage_says_which_file_is_damaged_and_what_makes_it_again() {
    let project = done();
    let result = project.result();
    let shard = a_shard(&project);
    let whole = fs::read(&shard).unwrap();
    for path in [shard.clone(), project.path("work/inputs.parquet")] {
        damage(&path);
        let damaged = format!("{} was damaged (its checksum is ", path.display());
        let remedy =
            "is removed; `neardup sign`, or `neardup run`, makes it again and nothing else";
        project
            .neardup(&["band", "--force"])
            .failed(3, &[&damaged, remedy]);
        assert!(!path.exists());
        project.neardup(&["sign"]).succeeded();
        assert!(fs::read(&shard).unwrap() == whole);
        project.neardup(&["band", "--force"]).succeeded();
    }
    project.run(&[]).succeeded();
    assert!(project.result() == result);
}

/// A bind mount, until it is dropped.
struct Bind(PathBuf);

impl Bind {
    fn mount(from: &Path, to: &Path) -> Option<Self> {
        fs::create_dir_all(to).unwrap();
        let mount = Command::new("mount")
            .arg("--bind")
            .args([from, to])
            .output();
        let mounted = mount.is_ok_and(|output| output.status.success());
        mounted.then(|| Self(to.to_owned()))
    }
}

impl Drop for Bind {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

#[test]
fn folders_that_are_one_through_a_bind_mount_overlap() {
    let project = small();
    let Some(_bind) = Bind::mount(&project.path("data"), &project.path("view")) else {
        eprintln!("SKIPPED: no bind mount can be made here");
        return;
    };
    let before = files_below(&project.path("data"));
    for (key, name) in [
        ("filter.output", "the output folder"),
        ("run.work", "the work folder"),
    ] {
        let ours = |value: &str| format!("{name} {}", project.path(value).display());
        for value in ["view", "view/deep/er"] {
            let set = format!("{key}={value}");
            let input = format!("the input folder {}", project.path("data").display());
            let parts: [&str; 3] = [&ours(value), &input, "overlap"];
            project.run(&["--set", &set]).failed(3, &parts);
        }
        let set = format!("{key}=view");
        let glob = ["--set", &set, "--set", "input.paths='data/*.parquet'"];
        let parts: [&str; 4] = [&ours("view"), "the input file", "a.parquet", "overlap"];
        project.run(&glob).failed(3, &parts);
    }
    // Neither is there yet.
    let set = "--set filter.output=view/new/out --set run.work=data/new/out --set input.paths=x";
    let args: Vec<&str> = set.split_whitespace().collect();
    let parts = ["the output folder", "the work folder", "overlap"];
    project.run(&args).failed(3, &parts);
    assert!(files_below(&project.path("data")) == before);
}

#[test]
fn clean_all_leaves_a_work_folder_that_is_a_link() {
    let project = small();
    fs::create_dir(project.path("disk")).unwrap();
    symlink(project.path("disk"), project.path("work")).unwrap();
    project.run(&[]).succeeded();
    project.neardup(&["clean", "--all"]).succeeded();
    assert!(files_below(&project.path("disk")).is_empty());
    assert_eq!(project.run(&[]).ok().started(), STAGES);
}
