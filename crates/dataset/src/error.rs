//! What can be wrong with an input, and what can go wrong while it is read.

use std::io;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;

/// Why an input was refused, or why the work on it failed. Every variant names the file
/// that it is about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system failed an operation.
    #[error("{operation} `{}`: {source}", path.display())]
    Io {
        /// What was tried, such as `cannot write`.
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The Parquet crate could not read a file, or what it read contradicts itself.
    #[error("`{}`: {place}: {message}; the file is damaged or of a kind that this version cannot \
             read: write it again, or leave it out of input.paths", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// Where in the file, such as ``row group 3, column `a.b` ``.
        place: String,
        /// What was wrong there.
        message: String,
    },
    /// A file is refused for a reason that needs no type of its own.
    #[error("`{}`: {message}", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// What is wrong, and the remedy.
        message: String,
    },
    /// `input.paths` is empty.
    #[error("input.paths names no file, folder or glob; name at least one")]
    NoPaths,
    /// A path does not exist.
    #[error("`{}` does not exist; correct input.paths", path.display())]
    Missing {
        /// The path as it was given.
        path: PathBuf,
    },
    /// A glob is malformed.
    #[error("`{}` is not a valid glob: {message}; correct input.paths", path.display())]
    Glob {
        /// The glob as it was given.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// A folder or a glob yields no file.
    #[error("no Parquet files {relation} `{}`{found}; correct input.paths", path.display())]
    NoFiles {
        /// `below` a folder or `match` a glob.
        relation: &'static str,
        /// The folder or the glob.
        path: PathBuf,
        /// What there is instead, in brackets; may be empty.
        found: String,
    },
    /// The path of an input is not UTF-8, so that it cannot be recorded.
    #[error("the path `{}` is not UTF-8; rename it, or leave it out of input.paths", path.display())]
    PathNotUtf8 {
        /// The path.
        path: PathBuf,
    },
    /// Something named as a Parquet file is a device, a pipe or a socket.
    #[error("`{}` is not a regular file; leave it out of input.paths", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// Two inputs would be written to one output file.
    #[error("`{}` and `{}` meet at `{relative}` in the output; give the folder above both in \
             input.paths, or rename one", first.display(), second.display())]
    SameRelative {
        /// The input that comes first.
        first: PathBuf,
        /// The other one.
        second: PathBuf,
        /// The path below the output folder.
        relative: String,
    },
    /// A file is not Parquet, or not all of it is there.
    #[error("`{}` is not a Parquet file: {found}; write it again, or leave it out of input.paths",
            path.display())]
    NotParquet {
        /// The file.
        path: PathBuf,
        /// What was found instead.
        found: String,
    },
    /// A file, or part of it, is encrypted.
    #[error("`{}` is encrypted, which this version cannot read; decrypt it, or leave it out of \
             input.paths", path.display())]
    Encrypted {
        /// The file.
        path: PathBuf,
    },
    /// A column is not there.
    #[error("column `{column}` not found in `{}`; its columns are {columns}", path.display())]
    NoColumn {
        /// The file.
        path: PathBuf,
        /// The column that was asked for.
        column: String,
        /// The leaf columns of the file, at most about 20.
        columns: String,
    },
    /// A column is of a type that the setting cannot use.
    #[error(
        "column `{column}` of `{}` is {found}, expected {expected}; name another column in the manifest",
        path.display()
    )]
    ColumnType {
        /// The file.
        path: PathBuf,
        /// The column that was asked for.
        column: String,
        /// Its type.
        found: String,
        /// The types that would do.
        expected: &'static str,
    },
    /// A name stands for several columns.
    #[error("`{}` has {count} columns named `{column}`; rename all but one", path.display())]
    AmbiguousColumn {
        /// The file.
        path: PathBuf,
        /// The name.
        column: String,
        /// How many columns bear it.
        count: usize,
    },
    /// A file is no longer the one that was listed.
    #[error("`{}` changed while the run was going on: {found}; run again when nothing writes to \
             the input", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// How it differs.
        found: String,
    },
    /// A file is no longer the one that was signed.
    #[error(
        "{} changed since `sign` read it; run `neardup run` to sign it again",
        path.display()
    )]
    SinceSigned {
        /// The file.
        path: PathBuf,
    },
    /// A value of the text column is not UTF-8.
    #[error("`{}`: row group {row_group}, row {row} of the file, column `{column}`: the text is \
             not UTF-8 at byte {byte}; correct it, or set input.on_bad_text = \"replace\"",
            path.display())]
    BadText {
        /// The file.
        path: PathBuf,
        /// The row group, from 0.
        row_group: usize,
        /// The row in the file, from 0.
        row: u64,
        /// The text column.
        column: String,
        /// The first byte of the value that is not UTF-8, from 0.
        byte: usize,
    },
    /// A rank column holds things in two files that cannot be compared.
    #[error(
        "column `{column}` holds {class} values in `{}` but {other_class} values in `{}`, which \
         cannot be compared; name a column of one kind in the manifest",
        path.display(), other.display()
    )]
    MixedRanks {
        /// The column.
        column: String,
        /// A file.
        path: PathBuf,
        /// What it holds.
        class: &'static str,
        /// Another file.
        other: PathBuf,
        /// What that one holds.
        other_class: &'static str,
    },

    // rewrite
    /// A top-level column has the name of one that `annotate` adds.
    #[error("`{}` has a column `{column}` already; set filter.prefix to another prefix, or \
             filter.existing = \"replace\" for a table that neardup annotated before",
            path.display())]
    NameTaken {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
    },
    /// A column that `filter.existing = "replace"` would replace is not neardup's.
    #[error("the column `{column}` of `{}` is not replaced: {reason}; set filter.prefix to another \
             prefix", path.display())]
    NotReplaceable {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// What speaks against it.
        reason: String,
    },
    /// A description of the schema in the key-value metadata cannot take the added columns.
    #[error("the metadata `{key}` of `{}` cannot take the added columns: {message}; write the file \
             again, or set filter.mode = \"drop\"", path.display())]
    KeyValue {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// Why not.
        message: String,
    },
    /// A file holds something that would not survive.
    #[error("`{}` cannot be written again as it is: {what}; write it again with another engine, or \
             leave it out of input.paths", path.display())]
    Unfaithful {
        /// The file.
        path: PathBuf,
        /// What would be lost.
        what: String,
    },
    /// A row group takes more memory than there is.
    #[error("`{}`: {place}{}: a page of {page_bytes} bytes takes {needed_bytes} bytes of memory to be \
             written again, and there are {budget_bytes}; give it more memory",
            path.display(), row_text(*row))]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The row group and the column.
        place: String,
        /// The row in the file, from 0, at which the page begins; none where that is not known.
        row: Option<u64>,
        /// The size of the page without compression.
        page_bytes: u64,
        /// What would do, in bytes.
        needed_bytes: u64,
        /// What there is.
        budget_bytes: u64,
    },
    /// The decisions of a file could not be read, or are not in the order of its rows.
    #[error("the decisions on `{}` cannot be used: {source}", path.display())]
    Decisions {
        /// The input file.
        path: PathBuf,
        /// What their store said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The caller stopped the work.
    #[error("the work was stopped before it was done")]
    Cancelled,
}

/// How a row is named where it is known.
fn row_text(row: Option<u64>) -> String {
    row.map_or_else(String::new, |row| format!(", row {row} of the file"))
}

impl Error {
    /// Whether an input is at fault (exit 3), rather than the machine (exit 1).
    pub fn refused(&self) -> bool {
        !matches!(
            self,
            Self::Io { .. } | Self::Decisions { .. } | Self::Cancelled
        )
    }

    /// The error of the Parquet crate at a place of a file. An I/O error that passed through the
    /// crate is one again.
    pub(crate) fn parquet(path: &Path, place: &str, error: ParquetError) -> Self {
        let message = match error {
            ParquetError::External(inner) => match inner.downcast::<io::Error>() {
                // These two kinds are how decompressors report a corrupt stream.
                Ok(source)
                    if !matches!(
                        source.kind(),
                        io::ErrorKind::InvalidData
                            | io::ErrorKind::UnexpectedEof
                            | io::ErrorKind::InvalidInput
                            | io::ErrorKind::Other
                    ) =>
                {
                    return Self::Io {
                        operation: "cannot read",
                        path: path.to_path_buf(),
                        source: *source,
                    };
                }
                Ok(source) => source.to_string(),
                Err(other) => other.to_string(),
            },
            ParquetError::General(message)
            | ParquetError::EOF(message)
            | ParquetError::ArrowError(message) => message,
            ParquetError::NYI(message) => format!("not supported: {message}"),
            other => other.to_string(),
        };
        Self::Parquet {
            path: path.to_path_buf(),
            place: place.to_owned(),
            message,
        }
    }

    /// An operation of the operating system that failed; `operation` as in `cannot read`.
    pub(crate) fn io(operation: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io {
            operation,
            path: path.to_path_buf(),
            source,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io_errors_stay_so_through_the_parquet_crate_and_corrupt_streams_do_not() {
        let path = Path::new("a.parquet");
        let through = |kind: io::ErrorKind| {
            let inner = io::Error::new(kind, "inner");
            Error::parquet(path, "row group 1", ParquetError::from(inner))
        };
        let denied = through(io::ErrorKind::PermissionDenied);
        assert!(!denied.refused());
        assert_eq!(denied.to_string(), "cannot read `a.parquet`: inner");
        let disk = Error::parquet(
            path,
            "row group 1",
            ParquetError::from(io::Error::from_raw_os_error(5)),
        );
        assert!(!disk.refused(), "{disk}");
        let corrupt = through(io::ErrorKind::InvalidData);
        assert!(corrupt.refused());
        assert_eq!(
            corrupt.to_string(),
            "`a.parquet`: row group 1: inner; the file is damaged or of a kind that this version \
             cannot read: write it again, or leave it out of input.paths"
        );
    }
}
