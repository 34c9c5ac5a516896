//! What can stop `sign`.

/// An error of the stage; each carries path, place and remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An input was refused or could not be read.
    #[error(transparent)]
    Dataset(#[from] dataset::Error),
    /// The work folder failed.
    #[error(transparent)]
    Work(#[from] workdir::Error),
    /// A table of ours failed.
    #[error(transparent)]
    Table(#[from] tables::Error),
    /// The shingle settings are impossible.
    #[error("the settings of [sign] cannot be used: {0}")]
    Shingle(#[from] shingle::ConfigError),
    /// The sketch settings are impossible.
    #[error("the settings of [sign] cannot be used: {0}")]
    Sketch(#[from] sketch::ConfigError),
    /// A document could not be sketched.
    #[error("a signature could not be made: {0}")]
    NoSketch(#[from] sketch::SketchError),
    /// The budget does not hold one worker.
    #[error(
        "a memory budget of {budget_bytes} bytes is too small for `sign`: with k = {k} it needs \
         {needed_bytes} bytes; set run.memory = \"{}MiB\" or more",
        needed_bytes.div_ceil(1 << 20)
    )]
    Memory {
        /// The budget.
        budget_bytes: u64,
        /// Slots in a signature.
        k: u32,
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
            Error::NoSketch(_) => false,
            Error::Shingle(_) | Error::Sketch(_) | Error::Memory { .. } => true,
        }
    }
}
