//! Where things are in a work folder.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use records::Stage;

use crate::{Error, fault};

/// A work folder. Names in it are stable: users and tests rely on them.
#[derive(Clone, Debug)]
pub struct WorkDir {
    root: PathBuf,
}

/// Temporary files of [`crate::AtomicFile`] begin so.
pub(crate) const TEMPORARY_PREFIX: &str = ".neardup-tmp-";

impl WorkDir {
    /// Makes the folder where it is missing.
    ///
    /// # Errors
    /// When it cannot be made, or is not a folder.
    pub fn create(root: &Path) -> Result<Self, Error> {
        fs::create_dir_all(root).map_err(Error::io("make the folder", root))?;
        let root = fs::canonicalize(root).map_err(Error::io("open the folder", root))?;
        Ok(Self { root })
    }

    /// The folder at `root`, which need not exist: to look, not to write.
    pub fn at(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    /// The folder itself, absolute.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The lock of the folder.
    pub fn lock(&self) -> PathBuf {
        self.root.join("lock")
    }

    /// The list of input files.
    pub fn inputs(&self) -> PathBuf {
        self.root.join("inputs.parquet")
    }

    /// The folder of signature shards.
    pub fn signatures(&self) -> PathBuf {
        self.root.join("signatures")
    }

    /// The folder of sorted postings, one file a band.
    pub fn bands(&self) -> PathBuf {
        self.root.join("bands")
    }

    /// The sorted postings of a band.
    pub fn postings(&self, band: u32) -> PathBuf {
        self.bands().join(format!("band-{band:04}.records"))
    }

    /// The documents whose text equals an earlier one.
    pub fn exact_copies(&self) -> PathBuf {
        self.bands().join("exact.records")
    }

    /// The folder of edges.
    pub fn edges(&self) -> PathBuf {
        self.root.join("edges")
    }

    /// The table of clusters.
    pub fn clusters(&self) -> PathBuf {
        self.root.join("clusters.parquet")
    }

    /// Keep or drop by document, as `filter` reads it.
    pub fn decisions(&self) -> PathBuf {
        self.root.join("decisions.records")
    }

    /// The report of the last run.
    pub fn report(&self) -> PathBuf {
        self.root.join("report.json")
    }

    /// The receipt of a stage.
    pub fn receipt(&self, stage: Stage) -> PathBuf {
        self.root.join("receipts").join(format!("{stage}.json"))
    }

    /// A path of ours as it stands in a receipt: relative to the work folder.
    pub fn name_of(&self, path: &Path) -> String {
        let relative = path.strip_prefix(&self.root).unwrap_or(path);
        relative.to_string_lossy().into_owned()
    }

    /// An empty scratch folder for a stage; whatever a killed run left there goes first.
    ///
    /// # Errors
    /// When the folder cannot be emptied or made.
    pub fn scratch(&self, stage: Stage) -> Result<PathBuf, Error> {
        let folder = self.scratch_path(stage);
        self.remove_scratch(stage)?;
        fs::create_dir_all(&folder).map_err(Error::io("make the folder", &folder))?;
        Ok(folder)
    }

    /// Removes the scratch folder of a stage, if there is one.
    ///
    /// # Errors
    /// When the folder cannot be removed.
    pub fn remove_scratch(&self, stage: Stage) -> Result<(), Error> {
        let folder = self.scratch_path(stage);
        remove_tree(&folder)?;
        // The folder that holds the scratch folders goes with the last of them.
        let _ = fs::remove_dir(self.root.join("scratch"));
        Ok(())
    }

    /// The folder of finished units that are no output themselves: it outlives a stopped run, and
    /// goes when its stage is finished.
    pub fn parts(&self, stage: Stage) -> PathBuf {
        self.root.join("parts").join(stage.name())
    }

    /// Removes the folder of finished units of a stage.
    ///
    /// # Errors
    /// When the folder cannot be removed.
    pub fn remove_parts(&self, stage: Stage) -> Result<(), Error> {
        remove_tree(&self.parts(stage))?;
        let _ = fs::remove_dir(self.root.join("parts"));
        Ok(())
    }

    /// Whether [`crate::AtomicFile`] gives such names to files that are not whole yet.
    pub fn is_temporary(name: &OsStr) -> bool {
        name.to_string_lossy().starts_with(TEMPORARY_PREFIX)
    }

    /// What a killed run may have left half-made: the scratch folders of the stages, and the files
    /// under temporary names in all folders of ours. No symbolic link is followed.
    pub fn temporary(&self) -> Vec<PathBuf> {
        let scratch = Stage::ALL.map(|stage| self.scratch_path(stage));
        let mut found: Vec<PathBuf> = scratch.into_iter().filter(|path| is_folder(path)).collect();
        for folder in self.folders() {
            found.extend(files(&folder, Self::is_temporary));
        }
        found.extend(files(&self.root, Self::is_temporary));
        found
    }

    /// Removes what [`WorkDir::temporary`] finds. Only for the run that holds the lock.
    ///
    /// # Errors
    /// The first that cannot be removed, after all others.
    pub fn remove_temporary(&self) -> Result<(), Error> {
        let mut result = Ok(());
        for path in self.temporary() {
            let removed = match is_folder(&path) {
                true => remove_tree(&path),
                false => remove_file(&path),
            };
            result = result.and(removed);
        }
        let _ = fs::remove_dir(self.root.join("scratch"));
        result
    }

    /// The sorted postings and the exact copies, which `band` leaves for later stages.
    pub fn band_runs(&self) -> Vec<PathBuf> {
        files(&self.bands(), |name| has_extension(name, "records"))
    }

    /// Every file that a run leaves in the folder, but for the lock and what is temporary.
    pub fn outputs(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for stage in Stage::ALL {
            found.extend([
                self.receipt(stage),
                self.receipt(stage).with_extension("journal"),
            ]);
        }
        found.extend([
            self.inputs(),
            self.clusters(),
            self.decisions(),
            self.report(),
        ]);
        found.retain(|path| is_file(path));
        let parquet = |name: &OsStr| has_extension(name, "parquet");
        found.extend(files(&self.signatures(), parquet));
        found.extend(self.band_runs());
        found.extend(files(&self.edges(), parquet));
        for stage in Stage::ALL {
            found.extend(files(&self.parts(stage), |_| true));
        }
        found
    }

    /// The folders of ours in the work folder that are there, those inside before those around
    /// them.
    pub fn folders(&self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = Stage::ALL.map(|stage| self.parts(stage)).into();
        found.extend(Stage::ALL.map(|stage| self.scratch_path(stage)));
        found.extend(["parts", "scratch", "receipts"].map(|name| self.root.join(name)));
        found.extend([self.signatures(), self.bands(), self.edges()]);
        found.retain(|path| is_folder(path));
        found
    }

    fn scratch_path(&self, stage: Stage) -> PathBuf {
        self.root.join("scratch").join(stage.name())
    }

    /// Makes a folder of ours and removes what a killed run left half-written in it.
    ///
    /// # Errors
    /// When the folder cannot be made, listed or cleaned.
    pub fn prepare(&self, folder: &Path) -> Result<(), Error> {
        fs::create_dir_all(folder).map_err(Error::io("make the folder", folder))?;
        for entry in fs::read_dir(folder).map_err(Error::io("list", folder))? {
            let entry = entry.map_err(Error::io("list", folder))?;
            if entry
                .file_name()
                .to_string_lossy()
                .starts_with(TEMPORARY_PREFIX)
            {
                remove_file(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Removes what a killed run left half-written in the folder itself and among the receipts.
    /// Only for the run that holds the lock.
    ///
    /// # Errors
    /// When a folder cannot be made, listed or cleaned.
    pub fn sweep(&self) -> Result<(), Error> {
        self.prepare(&self.root)?;
        self.prepare(&self.root.join("receipts"))
    }

    /// Removes every file of `folder` whose name is not in `keep`: what no input or setting
    /// owns any more.
    ///
    /// # Errors
    /// When the folder cannot be listed or a file not removed.
    pub fn retain(&self, folder: &Path, keep: &[PathBuf]) -> Result<(), Error> {
        let keep: std::collections::HashSet<&Path> = keep.iter().map(PathBuf::as_path).collect();
        for entry in fs::read_dir(folder).map_err(Error::io("list", folder))? {
            let path = entry.map_err(Error::io("list", folder))?.path();
            if !keep.contains(path.as_path()) {
                remove_file(&path)?;
            }
        }
        Ok(())
    }
}

/// Where an output is made that takes the place of the folder `target` when it is whole.
pub fn output_partial(target: &Path) -> PathBuf {
    beside(target, ".neardup-partial")
}

/// Where the old output waits while the new one takes its place, on a system that cannot exchange
/// two folders.
pub fn output_old(target: &Path) -> PathBuf {
    beside(target, ".neardup-old")
}

/// The lock of an output folder.
pub fn output_lock(target: &Path) -> PathBuf {
    beside(target, ".neardup-lock")
}

fn beside(target: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(suffix);
    target.with_file_name(name)
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_file())
}

fn has_extension(name: &OsStr, extension: &str) -> bool {
    let name = Path::new(name);
    name.extension().is_some_and(|found| found == extension)
}

/// The files of a folder whose names `wanted` picks, in the order of their names; none where it is
/// no folder. Neither it nor what is in it may be a symbolic link.
fn files(folder: &Path, wanted: impl Fn(&OsStr) -> bool) -> Vec<PathBuf> {
    if !is_folder(folder) {
        return Vec::new();
    }
    // What cannot be listed cannot be removed either.
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| wanted(&entry.file_name()))
        .map(|entry| entry.path())
        .filter(|path| is_file(path))
        .collect();
    found.sort();
    found
}

fn remove_file(path: &Path) -> Result<(), Error> {
    match fault::point("remove").and_then(|()| fs::remove_file(path)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}

fn remove_tree(path: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_ours_by_name_is_found_and_no_link_followed() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = folder.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("band-0001.records"), "x").unwrap();
        let work = WorkDir::create(&folder.path().join("work")).unwrap();
        let write = |name: &str| {
            let path = work.root().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "x").unwrap();
            path
        };
        let foreign = ["notes.txt", "signatures/a.txt", "scratch/x", "lock"].map(write);
        let ours = [
            "receipts/join.journal",
            "clusters.parquet",
            "signatures/a.parquet",
        ]
        .map(write);
        let temporary = ["scratch/join/run", "edges/.neardup-tmp-1", ".neardup-tmp-2"].map(write);
        std::os::unix::fs::symlink(&elsewhere, work.bands()).unwrap();
        std::os::unix::fs::symlink(&foreign[0], work.report()).unwrap();
        assert_eq!(work.outputs(), ours);
        assert!(work.band_runs().is_empty());
        work.remove_temporary().unwrap();
        for path in temporary {
            assert!(!path.exists(), "{}", path.display());
        }
        for path in foreign.iter().chain(&ours) {
            assert!(path.exists(), "{}", path.display());
        }
    }

    #[test]
    fn what_lies_beside_an_output_has_its_name() {
        let partial = output_partial(Path::new("/a/out"));
        assert_eq!(partial, Path::new("/a/.out.neardup-partial"));
    }
}
