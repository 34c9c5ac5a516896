//! What can stop `join`.

/// An error of the stage; each carries path, place and remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The work folder failed.
    #[error(transparent)]
    Work(#[from] workdir::Error),
    /// A table of ours failed.
    #[error(transparent)]
    Table(#[from] tables::Error),
    /// A sort failed.
    #[error(transparent)]
    Sort(#[from] extsort::Error),
    /// A bucket names a document that has no signature.
    #[error(
        "document {doc} is in a bucket but has no signature; run `neardup band --force` to make \
         the buckets again"
    )]
    NoSignature {
        /// The id.
        doc: u64,
    },
    /// The budget does not hold the stage's least.
    #[error(
        "a memory budget of {budget_bytes} bytes is too small for `join` over {documents} \
         documents with {anchors} anchors; set run.memory = \"{}MiB\" or more",
        needed_bytes.div_ceil(1 << 20)
    )]
    Memory {
        /// The budget.
        budget_bytes: u64,
        /// Documents of the input.
        documents: u64,
        /// The setting that counts.
        anchors: u32,
        /// What would do.
        needed_bytes: u64,
    },
}

impl Error {
    /// Whether this is a refusal (exit 3) and not a failure in the work (exit 1).
    pub fn refused(&self) -> bool {
        match self {
            Error::Work(error) => error.refused(),
            Error::Table(error) => error.refused(),
            Error::Sort(_) => false,
            Error::NoSignature { .. } | Error::Memory { .. } => true,
        }
    }
}
