//! What can go wrong with our tables.

use std::path::{Path, PathBuf};

/// An error of a table; each names the file and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The work folder failed.
    #[error(transparent)]
    Work(#[from] workdir::Error),
    /// The Parquet library could not write or read it.
    #[error("cannot {operation} {}: {message}", path.display())]
    Parquet {
        /// What was tried.
        operation: &'static str,
        /// The table.
        path: PathBuf,
        /// What the library said.
        message: String,
    },
    /// The table was made with other settings.
    #[error(
        "{} does not fit {}: {mismatch}; `neardup run` makes again what has to be",
        path.display(), against.display()
    )]
    Mismatch {
        /// The table.
        path: PathBuf,
        /// The receipt that it is held against.
        against: PathBuf,
        /// The difference.
        mismatch: records::Mismatch,
    },
    /// The table has not the columns or values that it should.
    #[error(
        "{} is not a table that this version of neardup wrote: {what}; \
         remove it and run `neardup run`",
        path.display()
    )]
    Shape {
        /// The table.
        path: PathBuf,
        /// What does not hold.
        what: String,
    },
}

impl Error {
    pub(crate) fn parquet<E: std::fmt::Display>(
        operation: &'static str,
        path: &Path,
    ) -> impl FnOnce(E) -> Error {
        let path = path.to_owned();
        move |error| Error::Parquet {
            operation,
            path,
            message: error.to_string(),
        }
    }

    pub(crate) fn shape(path: &Path, what: impl Into<String>) -> Error {
        Error::Shape {
            path: path.to_owned(),
            what: what.into(),
        }
    }

    /// Whether this is a refusal (exit 3) and not a failure in the work (exit 1).
    pub fn refused(&self) -> bool {
        match self {
            Error::Work(error) => error.refused(),
            Error::Parquet { .. } => false,
            Error::Mismatch { .. } | Error::Shape { .. } => true,
        }
    }
}
