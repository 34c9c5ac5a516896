//! What can go wrong, with the place and the remedy.

use std::io;
use std::path::{Path, PathBuf};

/// Why a sort failed. Each text names the place, what was expected, what was found, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The budget holds no run and two merge streams.
    #[error(
        "sorting records of {record_words} words needs at least {minimum_bytes} bytes of memory, the budget is \
         {memory_bytes} bytes; raise the memory budget"
    )]
    Budget {
        /// Words of a record.
        record_words: usize,
        /// The budget that was given, in bytes.
        memory_bytes: u64,
        /// The least budget that would do, in bytes.
        minimum_bytes: u64,
    },
    /// A field of [`Config`](crate::Config) is outside its range.
    #[error(
        "the sorter's {name} must be {least} to {most}, found {found}; correct its configuration"
    )]
    Setting {
        /// The field.
        name: &'static str,
        /// The least value allowed.
        least: usize,
        /// The greatest value allowed.
        most: usize,
        /// The value that was given.
        found: usize,
    },
    /// The folder for runs is not there, or is not a folder.
    #[error("the folder {} for sort runs is not an existing folder; create it and run again", folder.display())]
    Folder {
        /// The folder that was given.
        folder: PathBuf,
    },
    /// A pushed record has another width than the sorter's.
    #[error(
        "a record of {expected} words was expected, found {found} words; push records of the sorter's width"
    )]
    RecordLength {
        /// Words of a record of this sorter.
        expected: usize,
        /// Words of the record that was pushed.
        found: usize,
    },
    /// A record type is not a row of `u64` words of the sorter's width.
    #[error(
        "a record type of {expected_bytes} bytes aligned to 8 was expected, {type_name} has {found_bytes} bytes \
         aligned to {found_alignment}; use a #[repr(C)] struct of u64 fields as wide as the sorter's records"
    )]
    RecordType {
        /// The type, as the compiler names it.
        type_name: &'static str,
        /// Bytes of a record of this sorter.
        expected_bytes: usize,
        /// Bytes of the type.
        found_bytes: usize,
        /// Alignment of the type, in bytes.
        found_alignment: usize,
    },
    /// The operating system refused an operation on a run.
    #[error("cannot {operation} {}: {source}; {remedy}", path.display())]
    Io {
        /// The operation, as an infinitive.
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
        /// What to do.
        remedy: String,
    },
    /// A run does not hold what was written to it.
    #[error(
        "the sort run {} is damaged at byte {offset}: expected {expected}, found {found}; check the disk and what else \
         writes to that folder, and run again",
        path.display()
    )]
    Corrupt {
        /// The run file.
        path: PathBuf,
        /// Where the damaged block begins, in bytes.
        offset: u64,
        /// What was written there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// The sort threads could not be started.
    #[error("cannot start {threads} sort threads: {error}; lower the number of threads")]
    Threads {
        /// How many were asked for.
        threads: usize,
        /// What the thread pool said.
        error: rayon::ThreadPoolBuildError,
    },
}

impl Error {
    /// An I/O error at `path`, whose remedy concerns `folder`.
    pub(crate) fn io(
        operation: &'static str,
        path: &Path,
        folder: &Path,
        error: io::Error,
    ) -> Self {
        let folder = folder.display();
        let remedy = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                format!("free space in {folder} and run again")
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                format!("make {folder} readable and writable and run again")
            }
            io::ErrorKind::NotFound => {
                format!("leave {folder} and its files in place while the sort runs, and run again")
            }
            _ => format!("check the disk that holds {folder} and run again"),
        };
        Self::Io {
            operation,
            path: path.to_path_buf(),
            source: error,
            remedy,
        }
    }
}
