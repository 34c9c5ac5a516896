//! SIGTERM and SIGINT: the process ends soon, leaves nothing half-made, and says how to go on.
//!
//! Threads at work cannot be stopped one by one, and while they run they make new temporary files.
//! So the process starts its program anew in its place: that ends all threads at once and keeps
//! the process id and its locks. The new one finds the signal in its environment, removes what is
//! temporary, and ends.

use std::io::IsTerminal;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getppid, kill_process, waitid};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals as Stream;
use workdir::{Lock, WorkDir};

use crate::{Code, PipelineArgs, Problem, lines, load, own_program};

/// The environment variable that tells the new process which signal ended it.
const STOPPED_BY: &str = "NEARDUP_STOPPED_BY";
/// A child that has not ended by then, whatever holds it up, is killed.
const PATIENCE: Duration = Duration::from_secs(4);

/// A signal that the child has had is here by then, if it comes at all.
const GRACE: Duration = Duration::from_secs(1);

/// The signals of this process, watched by a thread until it ends.
#[derive(Clone, Debug)]
pub struct Signals {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// The first signal that came.
    signal: Option<i32>,
    /// The child that runs, and is not waited for yet: its id is no other process's.
    child: Option<Pid>,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Signals {
    /// Watches for SIGTERM and SIGINT from now on. While no child runs, either ends this process
    /// at once.
    ///
    /// # Errors
    /// Where the system refuses.
    pub fn watch() -> Result<Self, Problem> {
        let fail = |error: std::io::Error| {
            Problem::new(Code::Failed, format!("cannot watch for signals: {error}"))
        };
        let mut stream = Stream::new([SIGTERM, SIGINT]).map_err(fail)?;
        let signals = Self {
            state: Arc::default(),
        };
        let state = Arc::clone(&signals.state);
        let watcher = move || {
            for signal in stream.forever() {
                arrived(signal, &state);
            }
        };
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(watcher)
            .map_err(fail)?;
        Ok(signals)
    }

    /// Runs a child to its end. A signal that comes meanwhile is the child's too; then
    /// [`Signals::stopped`] has it. `started` is given the child's id.
    ///
    /// # Errors
    /// Where the child cannot be started or waited for.
    pub fn run_child(
        &self,
        command: &mut Command,
        started: impl FnOnce(u32),
    ) -> std::io::Result<ExitStatus> {
        let mut state = lock(&self.state);
        let mut child = command.spawn()?;
        let pid = Pid::from_child(&child);
        state.child = Some(pid);
        drop(state);
        started(child.id());
        // Not reaped: until its id is forgotten here, no other process can get it.
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), ended) {}
        lock(&self.state).child = None;
        child.wait()
    }

    /// The signal that asked this process to end.
    pub fn stopped(&self) -> Option<i32> {
        lock(&self.state).signal
    }

    /// [`Signals::stopped`] after a child ended by such a signal. A terminal sends it to both at
    /// once, and the child may be the faster one.
    pub fn stopped_soon(&self) -> Option<i32> {
        let start = Instant::now();
        loop {
            match self.stopped() {
                None if start.elapsed() < GRACE => std::thread::sleep(GRACE / 100),
                found => return found,
            }
        }
    }
}

fn arrived(signal: i32, state: &Arc<Mutex<State>>) {
    // Held to the end where this process starts anew: no child starts beside that.
    let mut held = lock(state);
    let first = held.signal.is_none();
    held.signal.get_or_insert(signal);
    if let Some(child) = held.child {
        let signal = if signal == SIGINT {
            Signal::INT
        } else {
            Signal::TERM
        };
        let _ = kill_process(child, signal);
        if first {
            let state = Arc::clone(state);
            std::thread::spawn(move || {
                std::thread::sleep(PATIENCE);
                if let Some(child) = lock(&state).child {
                    let _ = kill_process(child, Signal::KILL);
                }
            });
        }
    } else if first {
        start_anew(signal);
    }
    // Else the main thread is about to end this process.
}

/// Starts this process's program anew in its place, to end it.
fn start_anew(signal: i32) -> ! {
    if let Ok(program) = own_program() {
        let mut args = std::env::args_os();
        let name = args.next().unwrap_or_else(|| "neardup".into());
        let mut command = Command::new(program);
        command.arg0(name).args(args);
        // On success this does not come back.
        let _ = command.env(STOPPED_BY, signal.to_string()).exec();
    }
    // What is left goes with the next run.
    std::process::exit(code(signal))
}

/// The exit code of a process that a signal ended.
pub(crate) fn code(signal: i32) -> i32 {
    128 + signal
}

/// Which of the signals that are watched for ended a process: it ended itself, or was ended before
/// it watched.
pub fn ended_by(status: ExitStatus) -> Option<i32> {
    [SIGINT, SIGTERM]
        .into_iter()
        .find(|&signal| status.code() == Some(code(signal)) || status.signal() == Some(signal))
}

/// The name of a signal, such as `SIGTERM`.
pub fn signal_name(signal: i32) -> Option<&'static str> {
    signal_hook::low_level::signal_name(signal)
}

/// The signal that ended this process before it started anew: it has only to tidy up, with
/// [`end_stopped`].
pub fn stopped_by() -> Option<i32> {
    let signal = std::env::var(STOPPED_BY).ok()?.parse().ok()?;
    [SIGINT, SIGTERM].contains(&signal).then_some(signal)
}

/// Removes what is temporary where this process, or `parent`, holds the lock, says how to go on
/// (which is the parent's to say, where there is one), and ends the process with the code of
/// the signal.
pub fn end_stopped(signal: i32, args: &PipelineArgs, parent: Option<u32>) -> ! {
    if let Ok(pipeline) = load(args) {
        let work = WorkDir::at(&pipeline.run.work);
        let holder = Lock::holder(&work.lock()).ok().flatten();
        let taker = holder.and_then(|holder| holder.taker);
        let ours = taker == Some(std::process::id());
        if ours || (taker.is_some() && taker == parent) {
            // What cannot be removed goes with the next run.
            let _ = work.remove_temporary();
            tidy_output(&pipeline.filter.output);
        }
        if ours || orphaned(parent) && taker == parent && taker.is_some() {
            let _ = std::fs::remove_file(work.lock());
        }
    }
    if parent.is_none() && !args.quiet {
        if std::io::stderr().is_terminal() {
            // Over the line that says how far the stage is.
            eprint!("\r\x1b[K");
        }
        let name = signal_name(signal).unwrap_or("a signal");
        lines::say(&format!(
            "stopped by {name}; run again, and it goes on from there"
        ));
    }
    std::process::exit(code(signal))
}

/// Whether the process that started this one is gone.
pub(crate) fn orphaned(parent: Option<u32>) -> bool {
    let now = getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
    parent.is_some() && now != parent
}

/// Removes temporary files in an unfinished output, whose finished files stay, and its lock, where
/// nobody but this process is at work on it.
fn tidy_output(output: &Path) {
    let path = workdir::output_lock(output);
    let own = match Lock::holder(&path) {
        Ok(holder) => holder.is_some_and(|holder| holder.taker == Some(std::process::id())),
        Err(_) => return,
    };
    let taken = match own {
        true => None,
        false if path.exists() => match Lock::take(&path, output) {
            Ok(lock) => Some(lock),
            Err(_) => return,
        },
        // A run that makes an output has its lock.
        false => return,
    };
    for file in temporary_below(&workdir::output_partial(output)) {
        let _ = std::fs::remove_file(file);
    }
    if own {
        let _ = std::fs::remove_file(&path);
    }
    drop(taken);
}

/// The files under temporary names below a folder, no symbolic link followed.
fn temporary_below(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        if !folder.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            continue;
        }
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            if WorkDir::is_temporary(&entry.file_name()) {
                found.push(entry.path());
            } else {
                folders.push(entry.path());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_are_those_of_the_system() {
        assert_eq!((code(SIGINT), code(SIGTERM)), (130, 143));
        let status = |raw| ended_by(ExitStatus::from_raw(raw));
        assert_eq!([143 << 8, SIGTERM].map(status), [Some(SIGTERM); 2]);
        assert_eq!([137 << 8, 9, 1 << 8, 0].map(status), [None; 4]);
        assert_eq!(signal_name(SIGINT), Some("SIGINT"));
    }

    #[test]
    fn the_parent_is_told_from_another() {
        let parent = getppid().unwrap().as_raw_nonzero().get().unsigned_abs();
        assert!(!orphaned(None));
        assert!(!orphaned(Some(parent)));
        assert!(orphaned(Some(std::process::id())));
    }

    #[test]
    fn temporary_files_are_found_in_all_folders_but_behind_links() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("partial/day=1");
        std::fs::create_dir_all(&inside).unwrap();
        for name in [".neardup-tmp-1", "a.parquet"] {
            std::fs::write(inside.join(name), "x").unwrap();
        }
        std::os::unix::fs::symlink(&inside, folder.path().join("partial/link")).unwrap();
        let found = temporary_below(&folder.path().join("partial"));
        assert_eq!(found, [inside.join(".neardup-tmp-1")]);
    }
}
