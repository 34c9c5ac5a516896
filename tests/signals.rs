//! Stopping a run: by SIGTERM and SIGINT, and by SIGKILL of one process of two.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tests::{Done, Project, STAGES, copy_folder, files_below};

/// A hang is a failure; nothing else depends on it.
const PATIENCE: Duration = Duration::from_secs(60);

/// So many copies of the sample.
const COPIES: usize = 15;

/// Input that keeps `sign` busy for a while, and what an unbroken run makes of it.
struct Corpus {
    folder: tempfile::TempDir,
    expected: BTreeMap<String, Vec<u8>>,
}

impl Corpus {
    fn get() -> &'static Self {
        static CORPUS: OnceLock<Corpus> = OnceLock::new();
        CORPUS.get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            for copy in 0..COPIES {
                let copies = folder.path().join(format!("data/copy={copy:02}"));
                copy_folder(&tests::sample(), &copies);
            }
            let mut corpus = Self {
                folder,
                expected: BTreeMap::new(),
            };
            let whole = corpus.project();
            whole.run(&[]).succeeded();
            corpus.expected = whole.result();
            corpus
        })
    }

    fn project(&self) -> Project {
        let data = self.folder.path().join("data");
        let paths = format!("{:?}", data.to_str().unwrap());
        Project::new(&[("input.paths", &paths), ("run.threads", "1")])
    }
}

/// A process of neardup that is at work.
struct Running {
    process: Child,
    stderr: Lines<BufReader<ChildStderr>>,
}

impl Running {
    fn start(project: &Project, args: &[&str]) -> Self {
        Self::spawn(&mut project.command("neardup", args))
    }

    /// Starts it in a process group of its own.
    fn start_group(project: &Project, args: &[&str]) -> Self {
        Self::spawn(project.command("neardup", args).process_group(0))
    }

    fn spawn(command: &mut Command) -> Self {
        let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(process.stderr.take().unwrap()).lines();
        Self { process, stderr }
    }

    fn id(&self) -> u32 {
        self.process.id()
    }

    /// Waits for the line that says that a stage starts.
    fn wait_for_stage(&mut self, stage: &str) {
        let begins = format!(" {stage:<8}starts (");
        let found = self.stderr.any(|line| line.unwrap().contains(&begins));
        assert!(found, "{stage} starts");
    }

    /// The id of the child process, waited for.
    fn child(&self) -> u32 {
        let id = self.id();
        let list = PathBuf::from(format!("/proc/{id}/task/{id}/children"));
        until("the child runs", || {
            let text = fs::read_to_string(&list).unwrap();
            let child = text.split_whitespace().next()?.parse().unwrap();
            // It is a fork of its parent at first.
            let line = fs::read_to_string(format!("/proc/{child}/cmdline")).ok()?;
            line.contains("--child").then_some(child)
        })
    }

    /// Waits until it has ended; the code is none where a signal ended it.
    fn end(self) -> Done {
        let Self {
            mut process,
            mut stderr,
        } = self;
        let mut text = String::new();
        for line in stderr.by_ref() {
            text.push_str(&line.unwrap());
            text.push('\n');
        }
        Done {
            code: process.wait().unwrap().code(),
            stdout: String::new(),
            stderr: text,
        }
    }
}

fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn kill(signal: &str, process: &str) {
    let done = Command::new("kill")
        .args(["-s", signal, "--", process])
        .output();
    assert!(done.unwrap().status.success(), "kill {signal} {process}");
}

/// Asserts that nothing is half-made but the output that is to go on.
#[track_caller]
fn assert_stopped_tidily(project: &Project) {
    let files = files_below(project.root());
    let half_made = |name: &&String| {
        name.contains(".neardup-tmp-")
            || name.contains("/scratch/")
            || name.ends_with("lock")
            || name.contains(".neardup-old")
    };
    let left: Vec<&String> = files.keys().filter(half_made).collect();
    assert!(left.is_empty(), "left: {left:?}");
    assert!(!project.path("work/scratch").exists());
}

/// Asserts that another run makes what an unbroken one does, and begins no stage anew that was
/// finished.
#[track_caller]
fn assert_goes_on(project: &Project, from: &str) {
    let done = project.run(&[]).ok();
    let expected: Vec<&str> = STAGES.into_iter().skip_while(|s| *s != from).collect();
    assert_eq!(done.started(), expected, "{}", done.stderr);
    assert!(project.result() == Corpus::get().expected);
    project.assert_tidy();
}

fn shards(project: &Project) -> Vec<String> {
    let names = files_below(&project.path("work/signatures")).into_keys();
    names.filter(|name| name.ends_with(".parquet")).collect()
}

/// Waits until `sign` has finished a shard, but not all.
fn wait_for_shard(project: &Project) {
    until("a shard is finished", || {
        (!shards(project).is_empty()).then_some(())
    });
}

const MESSAGE: &str = "; run again, and it goes on from there";

#[test]
fn a_stopped_run_ends_with_the_code_of_the_signal_and_goes_on() {
    // SIGINT as a terminal sends it: to the whole group.
    for (signal, code, group) in [
        ("TERM", 143, false),
        ("INT", 130, false),
        ("INT", 130, true),
    ] {
        let project = Corpus::get().project();
        let mut running = Running::start_group(&project, &["run"]);
        running.wait_for_stage("sign");
        wait_for_shard(&project);
        let minus = if group { "-" } else { "" };
        kill(signal, &format!("{minus}{}", running.id()));
        let done = running.end();
        assert_eq!(done.code, Some(code), "{}", done.stderr);
        let message = format!("stopped by SIG{signal}{MESSAGE}\n");
        assert_eq!(done.stderr, message, "once, and nothing else");
        assert_stopped_tidily(&project);
        let finished = shards(&project);
        assert!(!finished.is_empty());
        let status = project.neardup(&["status"]);
        let line = status.stdout.lines().next().unwrap();
        let partly = format!(" of {} units; a run goes on from there", 3 * COPIES);
        assert!(line.starts_with("sign    partly   "), "{line}");
        assert!(line.ends_with(&partly), "{line}");
        assert_goes_on(&project, "sign");
    }
}

#[test]
fn a_run_is_stopped_in_every_stage_and_between_them() {
    let project = Corpus::get().project();
    for stage in STAGES {
        let mut running = Running::start(&project, &["run"]);
        running.wait_for_stage(stage);
        kill("TERM", &running.id().to_string());
        let done = running.end();
        assert_eq!(done.code, Some(143), "{stage}: {}", done.stderr);
        assert!(done.stderr.ends_with(&format!("SIGTERM{MESSAGE}\n")));
        assert!(!done.stderr.contains("error"), "{}", done.stderr);
        assert_stopped_tidily(&project);
        assert!(!project.path("out").exists());
        if stage != "filter" {
            project.run(&["--to", stage]).succeeded();
        }
    }
    assert_goes_on(&project, "filter");
}

#[test]
fn a_single_stage_is_stopped_the_same_way() {
    let project = Corpus::get().project();
    let running = Running::start(&project, &["sign", "--quiet"]);
    wait_for_shard(&project);
    kill("TERM", &running.id().to_string());
    let done = running.end();
    assert_eq!(done.code, Some(143));
    assert_eq!(done.stderr, "", "--quiet");
    assert_stopped_tidily(&project);
    assert!(!shards(&project).is_empty(), "what is finished stays");
    assert_goes_on(&project, "sign");
}

#[test]
fn a_child_that_another_ends_is_a_failure_that_names_the_signal() {
    for (signal, number) in [("TERM", 15), ("KILL", 9)] {
        let project = Corpus::get().project();
        let mut running = Running::start(&project, &["run"]);
        running.wait_for_stage("sign");
        kill(signal, &running.child().to_string());
        let words = format!("the stage `sign` was killed by signal {number} (SIG{signal}");
        running.end().failed(1, &[&words, "run again"]);
        if signal == "TERM" {
            assert_goes_on(&project, "sign");
        }
    }
}

#[test]
fn no_run_begins_beside_the_child_of_a_killed_run() {
    let project = Corpus::get().project();
    let mut running = Running::start(&project, &["run"]);
    running.wait_for_stage("sign");
    let child = running.child();
    wait_for_shard(&project);
    // It would end with its parent: so it is made to live on.
    kill("STOP", &child.to_string());
    kill("KILL", &running.id().to_string());
    running.process.wait().unwrap();
    let in_use = format!(
        "{} is in use by process {child} since 20",
        project.path("work").display()
    );
    project.run(&[]).failed(3, &[&in_use, "wait for it to end"]);
    project.neardup(&["sign"]).failed(3, &[&in_use]);
    project.neardup(&["clean", "--all"]).failed(3, &[&in_use]);
    let status = project.neardup(&["status"]);
    assert_eq!((status.code, status.stderr.as_str()), (Some(1), ""));
    assert!(status.stdout.starts_with(&in_use), "{}", status.stdout);
    let before = files_below(project.root());
    kill("CONT", &child.to_string());
    until("the child ends and takes the lock with it", || {
        (!project.path("work/lock").exists()).then_some(())
    });
    assert!(before.contains_key("work/lock"));
    assert_stopped_tidily(&project);
    let mut said = String::new();
    for line in running.stderr {
        said.push_str(&line.unwrap());
    }
    assert_eq!(said, "", "the child says nothing");
    assert_goes_on(&project, "sign");
}

#[test]
fn a_child_whose_parent_is_gone_already_ends_at_once() {
    let project = Corpus::get().project();
    let parent = u32::MAX.to_string();
    let done = project.neardup(&["sign", "--child", &parent]);
    assert_eq!((done.code, done.stderr.as_str()), (Some(143), ""));
    assert!(!project.path("work").exists());
}

#[test]
fn a_lock_that_a_dead_process_left_is_taken_over() {
    let project = Project::of(&[Some("some words"), Some("other words")], &[]);
    fs::create_dir(project.path("work")).unwrap();
    let locks = [project.path("work/lock"), project.path(".out.neardup-lock")];
    for lock in &locks {
        fs::write(lock, "1 2026-01-01T00:00:00Z\n").unwrap();
    }
    project.run(&[]).succeeded();
    assert!(locks.iter().all(|lock: &PathBuf| !Path::exists(lock)));
}

#[test]
fn what_a_signal_finds_before_there_is_anything_is_left_alone() {
    // The lock is another's: what lies there is that run's.
    let project = Project::of(&[Some("some words")], &[]);
    fs::create_dir(project.path("work")).unwrap();
    let lock = fs::File::create(project.path("work/lock")).unwrap();
    lock.lock().unwrap();
    let temporary = project.path("work/.neardup-tmp-other");
    fs::write(&temporary, "x").unwrap();
    let mut command = project.command("neardup", &["run"]);
    let done: Done = command
        .env("NEARDUP_STOPPED_BY", "15")
        .output()
        .unwrap()
        .into();
    assert_eq!(done.code, Some(143));
    assert!(temporary.exists() && project.path("work/lock").exists());
    drop(lock);
}
