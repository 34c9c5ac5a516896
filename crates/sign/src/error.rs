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
    /// A text, or the page that it lies in, does not fit the budget.
    #[error(
        "`{}`: row group {row_group}, row {row} of the file, column `{column}`: {}, which `sign` needs a memory budget \
         of {needed_bytes} bytes for, but has {budget_bytes}; set run.memory = \"{}MiB\" or more, or leave the file out \
         of input.paths",
        path.display(),
        size(*rows, *bytes),
        needed_bytes.div_ceil(1 << 20)
    )]
    Large {
        /// The file.
        path: PathBuf,
        /// The row group, from 0.
        row_group: usize,
        /// The row in the file, from 0, with which the page begins.
        row: u64,
        /// The text column.
        column: String,
        /// The rows of the page; 0 where it is one text of it that needs more.
        rows: u64,
        /// The bytes of the page, or of the text.
        bytes: u64,
        /// What would do.
        needed_bytes: u64,
        /// The budget.
        budget_bytes: u64,
    },
}

/// What is too large, in words.
fn size(rows: u64, bytes: u64) -> String {
    match rows {
        0 => format!("a text of {bytes} bytes"),
        1 => format!("a page of one text, {bytes} bytes"),
        _ => format!("a page of {rows} texts, {bytes} bytes"),
    }
}

impl Error {
    /// Whether this is a refusal (exit 3) and not a failure in the work (exit 1).
    pub fn refused(&self) -> bool {
        match self {
            Error::Dataset(error) => error.refused(),
            Error::Work(error) => error.refused(),
            Error::Table(error) => error.refused(),
            Error::NoSketch(_) => false,
            Error::Shingle(_) | Error::Sketch(_) | Error::Memory { .. } | Error::Large { .. } => {
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_page_is_refused_by_place_size_and_remedy() {
        let large = |rows| Error::Large {
            path: "a.parquet".into(),
            row_group: 2,
            row: 70,
            column: "body.text".to_owned(),
            rows,
            bytes: 500_000_000,
            needed_bytes: 600 << 20,
            budget_bytes: 512 << 20,
        };
        assert!(large(1).refused());
        assert_eq!(
            large(1).to_string(),
            "`a.parquet`: row group 2, row 70 of the file, column `body.text`: a page of one text, 500000000 bytes, \
             which `sign` needs a memory budget of 629145600 bytes for, but has 536870912; set run.memory = \"600MiB\" \
             or more, or leave the file out of input.paths"
        );
        assert!(
            large(7)
                .to_string()
                .contains("a page of 7 texts, 500000000 bytes, which")
        );
        assert!(
            large(0)
                .to_string()
                .contains("a text of 500000000 bytes, which")
        );
    }
}
