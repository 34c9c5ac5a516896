//! Writing an input file again: without its duplicates, or with two columns that mark them.
//!
//! The output is the same table. Schema, field ids, logical types, column order, key-value
//! metadata, codecs, row order, row-group bounds, sorting columns, format version, `created_by`
//! (readers interpret old pages and statistics by it) and column orders are those of the input,
//! and there are page indexes and Bloom filters exactly where the input had them.
//!
//! - A row group that loses no row is copied: the bytes of its column chunks are never decoded.
//! - A row group that loses rows goes through Parquet's typed columns, values and levels, never
//!   through Arrow, which would alter some types on the way. Codec, value encoding, dictionary,
//!   page version and level of statistics are those of the input's chunk.
//! - A row group that loses all rows is left out; a file that loses all rows has none.
//!
//! What is not kept of a row group that loses rows: page bounds, page checksums, optional statistics
//! (distinct counts, geospatial ones, those in the header of a page of nulls), the place where a
//! dictionary was given up (1 MiB at the latest), the compression level (the file does not say it) and,
//! with version 1 pages, the dictionary encoding's newer name (`RLE_DICTIONARY` is written as
//! `PLAIN_DICTIONARY`, the same bytes).
//!
//! What would be lost of any file is refused: unknown logical types, column orders and footer fields,
//! key-value metadata of single column chunks. Two things are not: an extension in field 32767, which
//! the format wants dropped by whoever rewrites a file, and the obsolete `min` and `max` of statistics
//! that also have their successors.
//!
//! Row groups are the unit of parallelism, over all files. A file is a function of its input, of
//! the decisions and of the options; threads and memory never alter a byte of it.

mod added;
mod annotation;
mod batch;
mod column;
mod copy;
mod footer;
mod form;
mod input;
mod key_values;
mod lost;
mod memory;
mod need;
mod output;
mod schedule;
mod schema;
mod selection;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::path::PathBuf;

use records::settings::{Existing, Mode};

use crate::open::MetadataNeeds;
use crate::{Error, Source};

/// An error of the caller's [`Decisions`].
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What became of one row that is in a cluster of two or more documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowDecision {
    /// The row in the file, from 0.
    pub row: u64,
    /// The cluster's id.
    pub cluster: i64,
    /// Whether the row stays.
    pub keep: bool,
}

/// The decisions of one file, in ascending order of rows, for the rows that are in a cluster of two
/// or more documents. Every other row is kept and has no cluster.
pub trait Decisions: Sync {
    /// The decisions of the rows in `range`. Called once a row group in `drop` mode and twice in
    /// `annotate` mode, by any thread.
    ///
    /// # Errors
    /// Whatever the caller's store says; it is passed on with the file's name.
    fn rows(
        &self,
        range: Range<u64>,
    ) -> Result<Box<dyn Iterator<Item = Result<RowDecision, BoxError>> + '_>, BoxError>;
}

/// One file to write.
pub struct Job<'a> {
    /// The input.
    pub source: &'a Source,
    /// The file to make. Its folder exists, and the file does not.
    pub output: PathBuf,
    /// What becomes of its rows.
    pub decisions: &'a dyn Decisions,
}

/// How files are written.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether duplicates are left out or marked.
    pub mode: Mode,
    /// What the names of the two added columns begin with; they end in `cluster` and `keep`.
    pub prefix: String,
    /// What to do where a file has such columns.
    pub existing: Existing,
    /// The level of codecs that have levels, in row groups that are encoded again. None: zstd 3,
    /// gzip 6, brotli 5.
    pub compression_level: Option<i32>,
    /// Worker threads, at least 1.
    pub threads: usize,
    /// Bytes that the work on all row groups may take at once: pages, values, dictionaries, and encoded row groups that
    /// wait for their turn. What descriptions of the open files take is not among them.
    pub memory_bytes: u64,
}

/// What was written of one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Rows in the input.
    pub rows_in: u64,
    /// Rows in the output.
    pub rows_out: u64,
    /// Bytes of the output.
    pub bytes: u64,
    /// Row groups whose chunks were copied.
    pub row_groups_copied: u64,
    /// Row groups that were encoded again because they lost some rows. Those that lost all count in
    /// neither.
    pub row_groups_rewritten: u64,
    /// XXH3-128 of the output's bytes.
    pub checksum: u128,
}

impl Outcome {
    /// Adds the counts of a row group.
    fn add(&mut self, other: Self) {
        self.rows_in += other.rows_in;
        self.rows_out += other.rows_out;
        self.row_groups_copied += other.row_groups_copied;
        self.row_groups_rewritten += other.row_groups_rewritten;
    }
}

/// Looks at the footer of `source` and says whether [`rewrite`] could write it under `options`.
///
/// # Errors
/// A file that cannot be opened; names of added columns that are taken; what this version cannot
/// write again faithfully, such as an unknown logical type. All name the file.
pub fn check(source: &Source, options: &Options) -> Result<(), Error> {
    input::Input::open(source, options, MetadataNeeds::Footer).map(drop)
}

/// What writing a row group of `source` again takes in memory, about, in bytes, where `kept` of its rows stay. Reads the
/// footer and page headers; a run finds out more, since it has to hold its budget.
///
/// # Errors
/// Everything that [`check`] refuses, and page headers that are malformed.
pub fn expected_bytes(
    source: &Source,
    group: usize,
    kept: u64,
    options: &Options,
) -> Result<u64, Error> {
    let input = input::Input::open(source, options, MetadataNeeds::Everything)?;
    let context = column::Context {
        input: &input,
        group,
        options,
        cancelled: &|| false,
    };
    let rows = input.rows(group);
    let selection = selection::Selection::some(rows.end - rows.start, kept);
    match options.mode {
        Mode::Drop => need::expected(context, &selection),
        Mode::Annotate => Ok(need::annotation(selection.rows())),
    }
}

/// Writes every job's output, synced to the disk, and returns what was written, in the order of `jobs`.
///
/// `progress` is called with the number of input rows that were done since its last call, by any
/// thread. When `cancelled` says so, work stops within a batch of rows and the error is
/// [`Error::Cancelled`]; after any error, outputs may be there in part. At most about as many files
/// are open on each side as there are threads.
///
/// # Errors
/// Everything that [`check`] refuses, an input that cannot be decoded (naming file, row group and
/// column) or does not hold the rows that `source` says, decisions out of order, an output that
/// exists, and failures of the disk.
pub fn rewrite(
    jobs: &[Job<'_>],
    options: &Options,
    progress: &(dyn Fn(u64) + Sync),
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<Outcome>, Error> {
    schedule::run(jobs, options, progress, cancelled)
}
