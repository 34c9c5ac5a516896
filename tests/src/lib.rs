//! The harness of the tests that run the real binaries.
//!
//! [`Project`] is a pipeline in a folder of its own: it writes the manifest and the input, runs a
//! binary, and reads what the run leaves. [`Random`] is a seeded source of numbers.
//!
//! A test that cannot go on fails, so everything here panics instead of giving errors back.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails"
)]

mod binaries;
mod done;
mod project;
mod random;
mod table;

pub use binaries::binary;
pub use done::Done;
pub use project::{Project, copy_folder, files_below};
pub use random::Random;
pub use table::{
    ClusterRow, Row, column, edges, i64s, read_table, strings, write_table, write_table_with,
};

use std::path::{Path, PathBuf};

/// The stages in order.
pub const STAGES: [&str; 5] = ["sign", "band", "join", "cluster", "filter"];

/// The root of the repository.
#[must_use]
pub fn repository() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().expect("tests/ lies in the root").to_owned()
}

/// The input folder of the committed sample.
#[must_use]
pub fn sample() -> PathBuf {
    repository().join("tests/data/sample/data")
}
