//! What can be wrong with a manifest or an override.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::MAX_MANIFEST_BYTES;

/// One thing that is wrong, where it stands, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// `file:line:column`, both from 1 and the column in characters; or the argument as given.
    pub place: String,
    /// What is wrong and what would be right, in one line.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// Why there are no settings; every one is exit code 2.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The manifest cannot be opened or read.
    #[error("cannot read {}: {cause}; name the manifest, or make one (see README)", path.display())]
    Unreadable {
        /// The manifest as named.
        path: PathBuf,
        /// What the system said. It is part of the message, so not a source of its own.
        cause: io::Error,
    },
    /// The file is longer than any manifest.
    #[error(
        "{} has more than {} MiB, which no manifest has; name the manifest",
        path.display(), MAX_MANIFEST_BYTES >> 20
    )]
    TooLong {
        /// The manifest as named.
        path: PathBuf,
    },
    /// The argument of `--set` is not `table.key=value`.
    #[error(
        "--set {argument}: expected table.key=value, such as join.threshold=0.85, found {found}"
    )]
    NotAnOverride {
        /// The argument as given.
        argument: String,
        /// What is wrong with it.
        found: &'static str,
    },
    /// Problems in the manifest or the overrides, at least one, each on a line when displayed.
    #[error("{}", lines(problems, *left_out))]
    Invalid {
        /// The problems, in the order of the text, overrides last.
        problems: Vec<Problem>,
        /// How many more there are than are listed.
        left_out: usize,
    },
}

/// One problem a line.
fn lines(problems: &[Problem], left_out: usize) -> String {
    let mut lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
    if left_out > 0 {
        lines.push(format!("and {left_out} more"));
    }
    lines.join("\n")
}
