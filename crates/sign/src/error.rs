//! What can stop `sign`.

use std::path::PathBuf;

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
    /// An input file is not what it was a moment ago.
    #[error(
        "the input files changed while `sign` ran; wait until the export is complete and run again"
    )]
    Changing,
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
    /// A text, the page that it lies in, or the footer of a file does not fit the budget.
    #[error(
        "`{}`: {place}: {what}, for which `sign` needs a memory budget of {needed_bytes} bytes, but has {budget_bytes}; \
         set run.memory = \"{}MiB\" or more, or leave the file out of input.paths",
        path.display(),
        needed_bytes.div_ceil(1 << 20)
    )]
    Large {
        /// The file.
        path: PathBuf,
        /// Where in it, such as ``row group 2, row 70 of the file, column `text` ``.
        place: String,
        /// What is too large, with its size.
        what: String,
        /// What would do.
        needed_bytes: u64,
        /// The budget.
        budget_bytes: u64,
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
            Error::Changing
            | Error::Shingle(_)
            | Error::Sketch(_)
            | Error::Memory { .. }
            | Error::Large { .. } => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_is_refused_by_place_size_and_remedy() {
        let large = Error::Large {
            path: "a.parquet".into(),
            place: "row group 2, row 70 of the file, column `body.text`".to_owned(),
            what: "a page of one text, 500000000 bytes".to_owned(),
            needed_bytes: 600 << 20,
            budget_bytes: 512 << 20,
        };
        assert!(large.refused());
        assert_eq!(
            large.to_string(),
            "`a.parquet`: row group 2, row 70 of the file, column `body.text`: a page of one text, 500000000 bytes, \
             for which `sign` needs a memory budget of 629145600 bytes, but has 536870912; set run.memory = \"600MiB\" \
             or more, or leave the file out of input.paths"
        );
    }
}
