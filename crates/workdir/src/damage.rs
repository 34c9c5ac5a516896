//! Which outputs of a stage are not what its receipt says, and making room for their like.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use records::Stage;

use crate::{Error, Output, Receipt, WorkDir, verify};

/// An output that is not what the receipt of its stage says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// The stage that makes it.
    pub stage: Stage,
    /// The file.
    pub path: PathBuf,
    /// What was found, and what was expected.
    pub what: String,
}

impl Receipt {
    /// The outputs whose names `wanted` picks and whose content is not what the receipt says, in
    /// its order, found with `threads` readers. Reads them all, at about the speed of the disk. A
    /// file that cannot be read for another reason (permissions, a failing disk) is not
    /// among them: to remove it would not help.
    pub fn damaged(
        &self,
        work: &WorkDir,
        threads: usize,
        wanted: impl Fn(&str) -> bool,
    ) -> Vec<Damaged> {
        let outputs: Vec<&Output> = self.outputs.iter().filter(|o| wanted(&o.name)).collect();
        let next = AtomicUsize::new(0);
        let found = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..threads.clamp(1, outputs.len().max(1)) {
                scope.spawn(|| {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(output) = outputs.get(at) else { break };
                        if let Err(Error::Damaged { path, what, .. }) =
                            verify(work, self.stage, output)
                        {
                            let stage = self.stage;
                            let damaged = Damaged { stage, path, what };
                            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                            found.push((at, damaged));
                        }
                    }
                });
            }
        });
        let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.sort_by_key(|(at, _)| *at);
        found.into_iter().map(|(_, damaged)| damaged).collect()
    }
}

impl Damaged {
    /// Removes the file, so that its stage makes it again, and only it.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(&self) -> Result<(), Error> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::io("remove", &self.path)(error))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{AtomicFile, Expected, Outcome, Usage};

    #[test]
    fn damaged_outputs_are_found_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let work = WorkDir::create(folder.path()).unwrap();
        let paths: Vec<PathBuf> = (0..5)
            .map(|i| folder.path().join(format!("part-{i}")))
            .collect();
        let outputs = paths
            .iter()
            .map(|path| AtomicFile::write(path, b"whole", &work).unwrap());
        let outcome = Outcome {
            outputs: outputs.collect(),
            ..Outcome::default()
        };
        let expected = Expected {
            stage: Stage::Sign,
            settings: Default::default(),
            upstream: None,
        };
        let receipt = Receipt::new(&expected, outcome, Usage::default());
        assert_eq!(receipt.damaged(&work, 2, |_| true), []);
        fs::write(&paths[1], "other").unwrap();
        fs::remove_file(&paths[2]).unwrap();
        fs::write(&paths[3], "who").unwrap();
        let found = receipt.damaged(&work, 2, |name| name != "part-3");
        assert_eq!(found.len(), 2);
        assert!(found[0].what.starts_with("its checksum is "));
        for damaged in receipt.damaged(&work, 1, |_| true) {
            damaged.remove().unwrap();
        }
        let left: Vec<bool> = paths.iter().map(|path| path.exists()).collect();
        assert_eq!(left, [true, false, false, false, true]);
    }
}
