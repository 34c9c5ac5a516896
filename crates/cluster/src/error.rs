//! What can stop `cluster`.

use std::path::{Path, PathBuf};

/// An error of the stage; each carries path, place and remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An input column was refused or could not be read.
    #[error(transparent)]
    Dataset(#[from] dataset::Error),
    /// The work folder failed.
    #[error(transparent)]
    Work(#[from] workdir::Error),
    /// A table of ours failed.
    #[error(transparent)]
    Table(#[from] tables::Error),
    /// A sort failed.
    #[error(transparent)]
    Sort(#[from] extsort::Error),
    /// A record file failed.
    #[error("cannot use {}: {source}", path.display())]
    Records {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: records::file::FileError,
    },
    /// An edge names a document that is not there.
    #[error(
        "an edge names document {doc}, which has no signature; run `neardup join --force` to make \
         the edges again"
    )]
    NoSignature {
        /// The id.
        doc: u64,
    },
    /// The budget does not hold the stage's least.
    #[error(
        "a memory budget of {budget_bytes} bytes is too small for `cluster` over {documents} \
         documents; set run.memory = \"{}MiB\" or more",
        needed_bytes.div_ceil(1 << 20)
    )]
    Memory {
        /// The budget.
        budget_bytes: u64,
        /// Documents of the input.
        documents: u64,
        /// What would do.
        needed_bytes: u64,
    },
}

impl Error {
    /// Whether this is a refusal (exit 3) and not a failure in the work (exit 1).
    pub fn refused(&self) -> bool {
        match self {
            Error::Dataset(error) => error.refused(),
            Error::Work(error) => error.refused(),
            Error::Table(error) => error.refused(),
            Error::Sort(_) | Error::Records { .. } => false,
            Error::NoSignature { .. } | Error::Memory { .. } => true,
        }
    }

    pub(crate) fn records(path: &Path) -> impl Fn(records::file::FileError) -> Error + '_ {
        |source| Error::Records {
            path: path.to_owned(),
            source,
        }
    }
}
