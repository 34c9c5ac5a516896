//! What can go wrong with the work folder.

use std::io;
use std::path::{Path, PathBuf};

use records::file::FileError;

/// An error of the work folder; each names the path and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The disk failed.
    #[error("cannot {operation} {}: {source}{}", path.display(), advice(source))]
    Io {
        /// What was tried, such as `write`.
        operation: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// An intermediate is not what its receipt says.
    #[error(
        "{} cannot be used: {what}; run `neardup {stage} --force` to make it again",
        path.display()
    )]
    Damaged {
        /// The intermediate.
        path: PathBuf,
        /// What does not hold.
        what: String,
        /// The stage that makes it.
        stage: &'static str,
    },
    /// Another run holds the folder.
    #[error(
        "{} is in use by process {pid} since {since}; wait for it to end, or stop it",
        path.display()
    )]
    Locked {
        /// The folder.
        path: PathBuf,
        /// Who holds it.
        pid: String,
        /// Since when, UTC.
        since: String,
    },
}

/// What to do about an I/O error, where it can be said.
fn advice(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull => "; free some space there and run again, it resumes",
        io::ErrorKind::QuotaExceeded => "; raise the quota or free space and run again, it resumes",
        io::ErrorKind::PermissionDenied => "; check the permissions of the folder",
        io::ErrorKind::ReadOnlyFilesystem => "; name a folder that can be written",
        _ => "",
    }
}

impl Error {
    /// An I/O error on `path`.
    pub fn io(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Io {
            operation,
            path,
            source,
        }
    }

    /// An intermediate that `stage` makes and that cannot be used.
    pub fn damaged(path: &Path, stage: records::Stage, what: impl ToString) -> Error {
        Error::Damaged {
            path: path.to_owned(),
            what: what.to_string(),
            stage: stage.name(),
        }
    }

    /// What is wrong with a record file that `stage` made and that is read again.
    pub fn record_file(path: &Path, stage: records::Stage) -> impl Fn(FileError) -> Error + use<> {
        let path = path.to_owned();
        move |error| match error {
            FileError::Io(source) => Error::io("read", &path)(source),
            damage => Error::damaged(&path, stage, damage),
        }
    }

    /// Whether this is a refusal (exit 3) and not a failure in the work (exit 1).
    pub fn refused(&self) -> bool {
        matches!(self, Error::Locked { .. } | Error::Damaged { .. })
    }
}
