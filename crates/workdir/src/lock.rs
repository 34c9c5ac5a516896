//! One run at a time in a folder.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::Error;

/// Holds a folder against other runs until dropped. The operating system frees it when the
/// process dies, however it dies: a file that is left over locks nothing.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    // Held for its lock.
    _file: File,
}

impl Lock {
    /// Takes the lock file `path` that stands for `folder`, and writes into it who holds it.
    ///
    /// # Errors
    /// [`Error::Locked`] with the holder when another process has it.
    pub fn take(path: &Path, folder: &Path) -> Result<Self, Error> {
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
                Err(TryLockError::WouldBlock) => return Err(locked(&mut file, folder)),
                Err(TryLockError::Error(error)) => return Err(Error::io("lock", path)(error)),
            }
            // The holder before removes the file as it ends: a lock on a removed file is none.
            let ours = file.metadata().map_err(Error::io("look at", path))?.ino();
            if !path.metadata().is_ok_and(|found| found.ino() == ours) {
                continue;
            }
            let holder = format!("{} {}\n", std::process::id(), now());
            file.set_len(0)
                .and_then(|()| file.rewind())
                .and_then(|()| file.write_all(holder.as_bytes()))
                .map_err(Error::io("write", path))?;
            return Ok(Self {
                path: path.to_owned(),
                _file: file,
            });
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
    let mut holder = String::new();
    // The holder's name is a courtesy: without it the refusal stands.
    let _ = file.read_to_string(&mut holder);
    let mut words = holder.split_whitespace();
    let mut word = || words.next().unwrap_or("(unknown)").to_owned();
    Error::Locked {
        path: folder.to_owned(),
        pid: word(),
        since: word(),
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
}
