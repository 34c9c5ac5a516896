//! Units of work: ranges of row groups.

use std::ops::Range;
use std::path::{Path, PathBuf};

use dataset::Source;
use xxhash_rust::xxh3::xxh3_64;

/// A unit ends with the row group that brings it to this many bytes of text, so that a row group
/// is never divided and small ones go together.
pub(crate) const UNIT_TEXT_BYTES: u64 = 32 << 20;
/// A unit of tiny texts ends here: signatures then weigh more than the text.
const UNIT_ROWS: u64 = 1 << 18;

/// Row groups of one file that are signed together into one shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    /// The number of the input file.
    pub(crate) source: usize,
    /// Its row groups.
    pub(crate) row_groups: Range<usize>,
    /// The first row in the file.
    pub(crate) first_row: u64,
    /// Rows by the footer.
    pub(crate) rows: u64,
    /// Bytes of text by the footer.
    pub(crate) text_bytes: u64,
    /// The shard's path.
    pub(crate) shard: PathBuf,
}

/// The units of all files, in document order. A file without row groups has none.
pub(crate) fn plan(sources: &[Source], folder: &Path) -> Vec<Unit> {
    let mut units = Vec::new();
    for (number, source) in sources.iter().enumerate() {
        let stem = shard_stem(source);
        let mut next = (0, 0);
        let mut of_file = 0;
        let (mut rows, mut text_bytes) = (0, 0);
        for (i, group) in source.row_groups.iter().enumerate() {
            rows += group.rows;
            text_bytes += group.text_bytes;
            let last = i + 1 == source.row_groups.len();
            if text_bytes >= UNIT_TEXT_BYTES || rows >= UNIT_ROWS || last {
                units.push(Unit {
                    source: number,
                    row_groups: next.0..i + 1,
                    first_row: next.1,
                    rows,
                    text_bytes,
                    shard: folder.join(format!("{stem}-{of_file:05}.parquet")),
                });
                next = (i + 1, next.1 + rows);
                of_file += 1;
                (rows, text_bytes) = (0, 0);
            }
        }
    }
    units
}

/// The name of a file's shards: from its relative path and its content, so that the shards of an
/// unchanged file keep their names whatever other files come and go.
fn shard_stem(source: &Source) -> String {
    let path = xxh3_64(source.listed.relative.as_bytes());
    let content = source.fingerprint as u64;
    format!("{path:016x}-{content:016x}")
}
