//! Runs the binary and looks at it and its children all the while.

use std::fs::{self, File};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tests::Project;

/// How a run ended.
pub(crate) struct Ended {
    /// None where a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stderr: String,
    /// The largest resident set that one of its processes was seen with.
    pub(crate) peak_bytes: u64,
    /// Whether it had to be ended.
    pub(crate) endless: bool,
}

/// Runs `neardup` with these arguments, for `limit` at the most.
pub(crate) fn run(project: &Project, args: &[&str], limit: Duration) -> Ended {
    let errors = project.path("stderr");
    let mut command = project.command("neardup", args);
    let command = command.stdout(Stdio::null());
    let mut child = command
        .stderr(File::create(&errors).unwrap())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    let (mut peak_bytes, mut endless) = (0, false);
    let status = loop {
        let processes = family(child.id());
        let peaks = processes.iter().map(|process| peak(*process));
        peak_bytes = peaks.max().unwrap_or(0).max(peak_bytes);
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begin.elapsed() > limit {
            endless = true;
            break end(&mut child, &processes);
        }
        sleep(Duration::from_millis(1));
    };
    let stderr = fs::read(&errors).unwrap();
    Ended {
        code: status.code(),
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
        peak_bytes,
        endless,
    }
}

fn end(child: &mut Child, processes: &[u32]) -> std::process::ExitStatus {
    for process in processes {
        let _ = Command::new("kill")
            .arg("-9")
            .arg(process.to_string())
            .status();
    }
    child.wait().unwrap()
}

/// A process and its children.
fn family(process: u32) -> Vec<u32> {
    let mut found = vec![process];
    let threads = fs::read_dir(format!("/proc/{process}/task"));
    for thread in threads.into_iter().flatten().filter_map(Result::ok) {
        let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        let children = children.split_whitespace();
        found.extend(children.filter_map(|child| child.parse::<u32>().ok()));
    }
    found
}

/// The peak of a process's resident set, 0 where it is gone.
fn peak(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|peak| peak.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}
