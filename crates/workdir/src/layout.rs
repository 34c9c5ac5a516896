//! Where things are in a work folder.

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
