//! One run at a time in a folder.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, test_kill_process};

use crate::Error;

/// Who looks whether a lock is held ([`Lock::holder`]) has it for a moment: worth so many more tries.
const TRIES: u32 = 5;
/// The time between two tries.
const PAUSE: Duration = Duration::from_millis(20);

/// Holds a folder against other runs until dropped. The operating system frees it when the last
/// process that has it dies, however it dies: a file that is left over locks nothing.
///
/// The processes that the holder starts have the lock too: when it is killed, no other run
/// begins while one of them is still at work.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    // Held for its lock.
    file: File,
}

/// Who holds a lock, as the lock's file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The process; that which it started last, where it is dead itself.
    pub pid: Option<u32>,
    /// The process that took the lock.
    pub taker: Option<u32>,
    /// Since when, UTC.
    pub since: String,
}

impl Holder {
    /// The file says who took the lock and since when, then the processes started, a line each.
    fn read(file: &mut File) -> Self {
        let mut text = String::new();
        // The holder's name is a courtesy: without it the lock is held all the same.
        let _ = file.read_to_string(&mut text);
        let mut words = text.split_whitespace();
        let taker = words.next().and_then(|word| word.parse().ok());
        let since = words.next().unwrap_or("(unknown)").to_owned();
        let last = words.next_back().and_then(|word| word.parse().ok());
        let pid = match (taker, last) {
            (Some(taker), Some(last)) if !alive(taker) => Some(last),
            _ => taker,
        };
        Self { pid, taker, since }
    }

    /// The process in words.
    pub fn pid_shown(&self) -> String {
        self.pid
            .map_or("(unknown)".to_owned(), |pid| pid.to_string())
    }
}

/// Whether there is a process of that id.
fn alive(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return false;
    };
    // One that is somebody else's is alive too.
    !matches!(test_kill_process(pid), Err(rustix::io::Errno::SRCH))
}

impl Lock {
    /// Takes the lock file `path` that stands for `folder`, and writes into it who holds it.
    ///
    /// # Errors
    /// [`Error::Locked`] with the holder when another process has it.
    pub fn take(path: &Path, folder: &Path) -> Result<Self, Error> {
        let mut tries = 0;
        loop {
            let mut file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)
                .map_err(Error::io("open", path))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) if tries < TRIES => {
                    tries += 1;
                    std::thread::sleep(PAUSE);
                    continue;
                }
                Err(TryLockError::WouldBlock) => return Err(locked(&mut file, folder)),
                Err(TryLockError::Error(error)) => return Err(Error::io("lock", path)(error)),
            }
            // The holder before removes the file as it ends: a lock on a removed file is none.
            let ours = file.metadata().map_err(Error::io("look at", path))?.ino();
            if !path.metadata().is_ok_and(|found| found.ino() == ours) {
                continue;
            }
            let holder = format!("{} {}\n", std::process::id(), now());
            // A courtesy, for which a full disk does not keep anyone from removing things.
            let _ = file
                .set_len(0)
                .and_then(|()| file.rewind())
                .and_then(|()| file.write_all(holder.as_bytes()));
            fcntl_setfd(&file, FdFlags::empty())
                .map_err(|error| Error::io("lock", path)(error.into()))?;
            return Ok(Self {
                path: path.to_owned(),
                file,
            });
        }
    }

    /// Notes a process that has the lock with this one, for those whom it keeps out.
    pub fn note_child(&self, pid: u32) {
        // Only a courtesy.
        let _ = writeln!(&self.file, "{pid}");
    }

    /// Who holds the lock of the file `path`; none where nobody does. Changes nothing.
    ///
    /// # Errors
    /// When the file is there and cannot be opened or looked at.
    pub fn holder(path: &Path) -> Result<Option<Holder>, Error> {
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("open", path)(error)),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => Ok(Some(Holder::read(&mut file))),
            Err(TryLockError::Error(error)) => Err(Error::io("look at", path)(error)),
        }
    }

    /// Removes the lock file `path` if nobody holds it.
    pub fn remove_stale(path: &Path) {
        if path.symlink_metadata().is_ok_and(|found| found.is_file()) {
            drop(Self::take(path, path));
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A file that stays is harmless.
        let _ = fs::remove_file(&self.path);
    }
}

fn now() -> String {
    let now = jiff::Timestamp::now();
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn locked(file: &mut File, folder: &Path) -> Error {
    let holder = Holder::read(file);
    Error::Locked {
        path: folder.to_owned(),
        pid: holder.pid_shown(),
        since: holder.since,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_taker_is_told_who_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = Lock::take(&path, folder.path()).unwrap();
        let error = Lock::take(&path, folder.path()).unwrap_err();
        let text = error.to_string();
        let pid = format!("is in use by process {} since 20", std::process::id());
        assert!(text.contains(&pid), "{text}");
        assert!(error.refused());
        drop(first);
        assert!(!path.exists());
        std::fs::write(&path, "left over by a process that was killed").unwrap();
        Lock::take(&path, folder.path()).unwrap();
    }

    #[test]
    fn the_holder_is_known_without_taking_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        assert_eq!(Lock::holder(&path).unwrap(), None);
        assert!(!path.exists());
        let lock = Lock::take(&path, folder.path()).unwrap();
        let holder = Lock::holder(&path).unwrap().unwrap();
        assert_eq!(holder.pid, Some(std::process::id()));
        assert!(holder.since.starts_with("20"));
        Lock::remove_stale(&path);
        assert!(path.exists(), "it is held");
        drop(lock);
        fs::write(&path, "1 2026-01-01T00:00:00Z\n").unwrap();
        assert_eq!(Lock::holder(&path).unwrap(), None, "left over");
        Lock::remove_stale(&path);
        assert!(!path.exists());
    }

    #[test]
    fn a_child_of_a_dead_holder_is_named() {
        // Above the largest that Linux gives. No process is started here: it would have the locks of
        // the tests beside this one.
        let dead = 1 << 23;
        let mut file = tempfile::tempfile().unwrap();
        let mut read = |taker: u32| {
            file.set_len(0).unwrap();
            file.rewind().unwrap();
            write!(file, "{taker} 2026-01-01T00:00:00Z\n7\n8\n").unwrap();
            file.rewind().unwrap();
            Holder::read(&mut file).pid
        };
        assert_eq!(read(dead), Some(8));
        assert_eq!(read(std::process::id()), Some(std::process::id()));
    }
}
