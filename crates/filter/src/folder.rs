//! The output folder: whose it is, and how a new one takes its place whole.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde::{Deserialize, Serialize};

use crate::Error;

/// The name of the file that says whose an output folder is.
pub(crate) const SUCCESS: &str = "_SUCCESS";

/// What `_SUCCESS` says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Success {
    /// Always `neardup`.
    pub(crate) product: String,
    /// The version that wrote the folder.
    pub(crate) version: String,
    /// The identity of the run.
    pub(crate) run: String,
    /// `drop` or `annotate`.
    pub(crate) mode: String,
    /// Every file of the folder but this one.
    pub(crate) files: Vec<SuccessFile>,
}

/// A file of an output folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SuccessFile {
    /// The path relative to the folder.
    pub(crate) path: String,
    /// Its length.
    pub(crate) bytes: u64,
    /// Its rows.
    pub(crate) rows: u64,
}

impl Success {
    /// Reads the `_SUCCESS` of a folder; none where there is none of ours.
    pub(crate) fn load(folder: &Path) -> Option<Self> {
        let bytes = fs::read(folder.join(SUCCESS)).ok()?;
        let success: Self = serde_json::from_slice(&bytes).ok()?;
        (success.product == "neardup").then_some(success)
    }
}

/// The folders of an output.
pub(crate) struct Output {
    pub(crate) target: PathBuf,
    parent: PathBuf,
    name: OsString,
}

impl Output {
    pub(crate) fn new(target: &Path) -> Result<Self, Error> {
        let (Some(parent), Some(name)) = (target.parent(), target.file_name()) else {
            return Err(Error::output(target, "has no name; name a folder"));
        };
        Ok(Self {
            target: target.to_owned(),
            parent: parent.to_owned(),
            name: name.to_owned(),
        })
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = OsString::from(".");
        name.push(&self.name);
        name.push(suffix);
        self.parent.join(name)
    }

    /// Where the new output is made.
    pub(crate) fn partial(&self) -> PathBuf {
        self.beside(".neardup-partial")
    }

    /// Where the old output waits while the new one takes its place, on a system that cannot
    /// exchange two folders.
    fn old(&self) -> PathBuf {
        self.beside(".neardup-old")
    }

    /// The lock of the output folder.
    pub(crate) fn lock(&self) -> PathBuf {
        self.beside(".neardup-lock")
    }

    /// Refuses a target that is not absent, empty, or an earlier output and nothing else.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let target = &self.target;
        let found = match fs::symlink_metadata(target) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Error::io("look at", target)(error)),
            Ok(found) => found,
        };
        if found.is_symlink() {
            let what = "is a symbolic link; name the folder that it points to";
            return Err(Error::output(target, what));
        }
        if !found.is_dir() {
            let what = "is a file; name a folder, or remove the file";
            return Err(Error::output(target, what));
        }
        let parent = fs::metadata(&self.parent).map_err(Error::io("look at", &self.parent))?;
        if parent.dev() != found.dev() {
            let what = "is a mount point and cannot be replaced as a whole; name a folder below it";
            return Err(Error::output(target, what));
        }
        match foreign_file(target)? {
            None => Ok(()),
            Some(path) => Err(Error::output(
                target,
                format!(
                    "holds {}, which no run of neardup wrote (its {SUCCESS} does not name it); \
                     name another folder, or empty this one",
                    path.display()
                ),
            )),
        }
    }

    /// Removes what an unfinished run left beside the target, and puts back an old output whose
    /// replacement was interrupted.
    pub(crate) fn recover(&self) -> Result<(), Error> {
        let old = self.old();
        if old.exists() {
            if self.target.exists() {
                remove_tree(&old)?;
            } else {
                fs::rename(&old, &self.target).map_err(Error::io("rename", &old))?;
            }
        }
        remove_tree(&self.partial())
    }

    /// Puts the finished partial folder in the place of the target and removes the old one.
    pub(crate) fn replace(&self) -> Result<(), Error> {
        // Somebody may have put a file there since the run began.
        self.check()?;
        let (partial, target) = (self.partial(), &self.target);
        if !target.exists() {
            fs::rename(&partial, target).map_err(Error::io("rename", &partial))?;
            return self.sync();
        }
        match renameat_with(CWD, &partial, CWD, target, RenameFlags::EXCHANGE) {
            Ok(()) => {
                self.sync()?;
                remove_tree(&partial)
            }
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => self.replace_in_two(),
            Err(error) => Err(Error::io("rename", &partial)(error.into())),
        }
    }

    /// Two renames; [`Output::recover`] undoes the first where the second did not come to pass.
    fn replace_in_two(&self) -> Result<(), Error> {
        let (partial, old) = (self.partial(), self.old());
        fs::rename(&self.target, &old).map_err(Error::io("rename", &self.target))?;
        self.sync()?;
        fs::rename(&partial, &self.target).map_err(Error::io("rename", &partial))?;
        self.sync()?;
        remove_tree(&old)
    }

    fn sync(&self) -> Result<(), Error> {
        Ok(workdir::sync_folder(&self.parent)?)
    }
}

fn remove_tree(path: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io("remove", path)(error)),
        _ => Ok(()),
    }
}

/// The first file below `folder` (by name) that its `_SUCCESS` does not name.
fn foreign_file(folder: &Path) -> Result<Option<PathBuf>, Error> {
    let named: BTreeSet<PathBuf> = Success::load(folder)
        .map(|success| {
            let mut paths: BTreeSet<PathBuf> = success
                .files
                .into_iter()
                .map(|file| file.path.into())
                .collect();
            paths.insert(SUCCESS.into());
            paths
        })
        .unwrap_or_default();
    let mut folders = vec![folder.to_owned()];
    while let Some(inside) = folders.pop() {
        let mut entries = fs::read_dir(&inside)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(Error::io("list", &inside))?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let kind = entry.file_type().map_err(Error::io("look at", &path))?;
            let relative = path.strip_prefix(folder).unwrap_or(&path);
            if kind.is_dir() {
                folders.push(path);
            } else if !kind.is_file() || !named.contains(relative) {
                return Ok(Some(path));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(parent: &Path) -> Output {
        Output::new(&parent.join("out")).unwrap()
    }

    fn make(folder: &Path, run: &str) {
        fs::create_dir_all(folder.join("day=1")).unwrap();
        fs::write(folder.join("day=1/a.parquet"), run).unwrap();
        let success = Success {
            product: "neardup".to_owned(),
            version: "0".to_owned(),
            run: run.to_owned(),
            mode: "drop".to_owned(),
            files: vec![SuccessFile {
                path: "day=1/a.parquet".to_owned(),
                bytes: run.len() as u64,
                rows: 0,
            }],
        };
        fs::write(folder.join(SUCCESS), serde_json::to_vec(&success).unwrap()).unwrap();
    }

    fn run_of(folder: &Path) -> Option<String> {
        Success::load(folder).map(|success| success.run)
    }

    fn refusal(output: &Output) -> String {
        let error = output.check().unwrap_err();
        assert!(error.refused());
        error.to_string()
    }

    #[test]
    fn a_new_output_takes_an_absent_an_empty_and_an_old_place() {
        let parent = tempfile::tempdir().unwrap();
        let output = output(parent.path());
        for (i, empty) in [(1, false), (2, false), (3, true)] {
            if empty {
                fs::remove_dir_all(&output.target).unwrap();
                fs::create_dir(&output.target).unwrap();
            }
            output.recover().unwrap();
            let run = format!("run {i}");
            make(&output.partial(), &run);
            output.replace().unwrap();
            assert_eq!(run_of(&output.target), Some(run));
            assert!(!output.partial().exists());
        }
        make(&output.partial(), "run 4");
        output.replace_in_two().unwrap();
        assert_eq!(run_of(&output.target), Some("run 4".to_owned()));
        assert!(!output.old().exists());
    }

    #[test]
    fn an_interrupted_replacement_is_undone() {
        let parent = tempfile::tempdir().unwrap();
        let output = output(parent.path());
        make(&output.target, "old");
        make(&output.partial(), "new");
        fs::rename(&output.target, output.old()).unwrap();
        output.recover().unwrap();
        assert_eq!(run_of(&output.target), Some("old".to_owned()));
        assert!(!output.partial().exists() && !output.old().exists());
    }

    #[test]
    fn foreign_files_links_and_files_are_refused() {
        let parent = tempfile::tempdir().unwrap();
        let output = output(parent.path());
        make(&output.target, "old");
        output.check().unwrap();
        let foreign = output.target.join("day=1/notes.txt");
        fs::write(&foreign, "mine").unwrap();
        let text = refusal(&output);
        assert!(
            text.contains("day=1/notes.txt, which no run of neardup wrote"),
            "{text}"
        );
        fs::remove_file(&foreign).unwrap();
        fs::remove_file(output.target.join(SUCCESS)).unwrap();
        let text = refusal(&output);
        assert!(
            text.contains("a.parquet, which no run of neardup wrote"),
            "{text}"
        );
        assert!(
            text.ends_with("name another folder, or empty this one"),
            "{text}"
        );

        fs::remove_dir_all(&output.target).unwrap();
        fs::write(&output.target, "a file").unwrap();
        assert!(refusal(&output).ends_with("is a file; name a folder, or remove the file"));
        fs::remove_file(&output.target).unwrap();
        std::os::unix::fs::symlink(parent.path(), &output.target).unwrap();
        assert!(refusal(&output).contains("is a symbolic link"));
    }
}
