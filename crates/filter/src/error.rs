//! What can stop `filter`.

use std::io;
use std::path::{Path, PathBuf};

use workdir::Context;

use crate::budget::Budget;

/// An error of the stage; each carries path, place and remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An input was refused, or could not be read or written again.
    #[error(transparent)]
    Dataset(#[from] dataset::Error),
    /// The work folder failed.
    #[error(transparent)]
    Work(#[from] workdir::Error),
    /// A table of ours failed.
    #[error(transparent)]
    Table(#[from] tables::Error),
    /// A record file failed.
    #[error("cannot use {}: {source}", path.display())]
    Records {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: records::file::FileError,
    },
    /// The output folder cannot be had.
    #[error("the output folder {} {what}", path.display())]
    Output {
        /// The folder.
        path: PathBuf,
        /// Why, and what to do.
        what: String,
    },
    /// The budget does not hold one thread.
    #[error(
        "a memory budget of {budget_bytes} bytes is too small for `filter`; set run.memory = \
         \"{}MiB\" or more",
        needed_bytes.div_ceil(1 << 20)
    )]
    Memory {
        /// The budget.
        budget_bytes: u64,
        /// What would do.
        needed_bytes: u64,
    },
    /// A row group takes more than the budget.
    #[error(
        "`{}`: {place}{}: a page of {page_bytes} bytes takes more memory to be written again than \
         a budget of {budget_bytes} bytes has; set run.memory = \"{}MiB\" or more",
        path.display(),
        row.map_or_else(String::new, |row| format!(", row {row} of the file")),
        needed_bytes.div_ceil(1 << 20)
    )]
    TooLarge {
        /// The input file.
        path: PathBuf,
        /// The row group and the column.
        place: String,
        /// The row in the file, from 0, at which the page begins; none where that is not known.
        row: Option<u64>,
        /// The size of the page without compression: the length of its values and a few bytes a row.
        page_bytes: u64,
        /// The budget.
        budget_bytes: u64,
        /// What would do for all of the input.
        needed_bytes: u64,
    },
    /// The kept and dropped rows do not sum up to the rows read.
    #[error(
        "{rows_in} rows were read and {rows_out} written, but {dropped} were to be dropped; \
         the old output is untouched; run `neardup cluster --force`, then `neardup run`, and \
         report this as a bug if it comes again"
    )]
    Count {
        /// Rows read.
        rows_in: u64,
        /// Rows written.
        rows_out: u64,
        /// Rows that `cluster` decided to drop.
        dropped: u64,
    },
}

impl Error {
    /// Whether this is a refusal (exit 3) and not a failure in the work (exit 1).
    pub fn refused(&self) -> bool {
        match self {
            Error::Dataset(error) => error.refused(),
            Error::Work(error) => error.refused(),
            Error::Table(error) => error.refused(),
            Error::Records { .. } | Error::Count { .. } => false,
            Error::Output { .. } | Error::Memory { .. } | Error::TooLarge { .. } => true,
        }
    }

    /// An error of writing files again, with the budget that would do in place of a part of it.
    pub(crate) fn rewrite(error: dataset::Error, budget: &Budget, context: &Context<'_>) -> Self {
        match error {
            dataset::Error::TooLarge {
                path,
                place,
                row,
                page_bytes,
                needed_bytes,
                ..
            } => Self::TooLarge {
                path,
                place,
                row,
                page_bytes,
                budget_bytes: context.memory_bytes,
                needed_bytes: budget.for_work(context.threads, needed_bytes),
            },
            other => other.into(),
        }
    }

    pub(crate) fn output(path: &Path, what: impl Into<String>) -> Self {
        Error::Output {
            path: path.to_owned(),
            what: what.into(),
        }
    }

    pub(crate) fn io(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let fail = workdir::Error::io(operation, path);
        move |error| fail(error).into()
    }
}
