//! What can go wrong with our tables.

use std::io;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;

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
    /// What the Parquet library said. An error of the operating system that passed through it is one
    /// again.
    pub(crate) fn parquet<E: std::error::Error + Send + Sync + 'static>(
        operation: &'static str,
        path: &Path,
    ) -> impl FnOnce(E) -> Error {
        let path = path.to_owned();
        move |error| {
            let error: Box<dyn std::error::Error + Send + Sync> = Box::new(error);
            let message = error.to_string();
            match of_system(error) {
                Some(source) => workdir::Error::io(operation, &path)(source).into(),
                None => Error::Parquet {
                    operation,
                    path,
                    message,
                },
            }
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

/// The error of the operating system that the Parquet library wraps; none where it is an error of
/// its own, or of a decompressor, which are I/O errors of these kinds too.
fn of_system(error: Box<dyn std::error::Error + Send + Sync>) -> Option<io::Error> {
    let ParquetError::External(inner) = *error.downcast::<ParquetError>().ok()? else {
        return None;
    };
    let source = inner.downcast::<io::Error>().ok()?;
    let own = matches!(
        source.kind(),
        io::ErrorKind::InvalidData
            | io::ErrorKind::UnexpectedEof
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::Other
    );
    (!own).then_some(*source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_system_stay_so_through_the_parquet_library() {
        let path = Path::new("/work/a.parquet");
        let through = |kind: io::ErrorKind| {
            let inner = io::Error::new(kind, "inner");
            Error::parquet("write", path)(ParquetError::from(inner))
        };
        let full = through(io::ErrorKind::StorageFull);
        assert!(matches!(full, Error::Work(workdir::Error::Io { .. })));
        let text = full.to_string();
        assert!(
            text.starts_with("cannot write /work/a.parquet: inner; "),
            "{text}"
        );
        assert!(text.ends_with("run again, it resumes"), "{text}");
        let corrupt = through(io::ErrorKind::InvalidData);
        assert!(matches!(corrupt, Error::Parquet { .. }));
    }
}
