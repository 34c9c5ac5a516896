//! The text of a file, by batches of bounded size.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;
use parquet::data_type::ByteArrayType;
use records::settings::OnBadText;

use crate::column::leaf::{Chunk, Leaf, Pace};
use crate::error::Error;
use crate::source::{Source, find};

/// Reads the text column of some row groups of a file.
///
/// Values are slices of the decoded pages, not copies, whatever the column's type in Arrow: string,
/// large string, view, dictionary and binary give equal results, and no row group is too large for
/// an offset. Memory: a batch, the page that is being decoded, and the chunk's dictionary.
pub struct TextReader {
    leaf: Leaf,
    row_groups: Range<usize>,
    chunk: Option<Chunk<ByteArrayType>>,
    pace: Pace,
    next_row: u64,
    values: Vec<Option<Bytes>>,
}

/// The text of some consecutive rows of one row group.
#[derive(Debug)]
pub struct TextBatch<'a> {
    /// The row of the first value in the file, from 0.
    pub first_row: u64,
    /// A value a row; none where the text or a struct that it is in is null.
    pub values: &'a [Option<Bytes>],
}

impl TextReader {
    /// Opens the text of a range of row groups of a file. A batch has at most 4096 rows of one row
    /// group, and ends when it has `batch_bytes` bytes of text; it is larger by at most 64 values, and
    /// by less than as much again where the values before were as long.
    ///
    /// # Errors
    ///
    /// As [`crate::inspect`]; a file that changed since it was inspected.
    pub fn open(
        source: &Source,
        text: &str,
        row_groups: Range<usize>,
        batch_bytes: u64,
    ) -> Result<Self, Error> {
        let path = &source.listed.path;
        let leaf = Leaf::open(source, text, |metadata| {
            find::find_text(metadata.file_metadata().schema_descr(), path, text)
        })?;
        let end = row_groups.end.min(source.row_groups.len());
        let row_groups = row_groups.start.min(end)..end;
        let before = source.row_groups.get(..row_groups.start);
        let chosen = source
            .row_groups
            .get(row_groups.clone())
            .unwrap_or_default();
        // The largest mean of the row groups, which sizes the first batch.
        let mean = chosen
            .iter()
            .map(|group| group.text_bytes / group.rows.max(1));
        Ok(Self {
            leaf,
            pace: Pace::new(batch_bytes, mean.max().unwrap_or(0)),
            next_row: before
                .unwrap_or_default()
                .iter()
                .map(|group| group.rows)
                .sum(),
            row_groups,
            chunk: None,
            values: Vec::new(),
        })
    }

    /// The next batch; none after the last row. After an error the reader is of no more use.
    ///
    /// # Errors
    ///
    /// A damaged page (also by its checksum, where it has one), a chunk with more or fewer rows
    /// than its row group, I/O; naming the row group and the column.
    pub fn next_batch(&mut self) -> Result<Option<TextBatch<'_>>, Error> {
        self.values.clear();
        loop {
            if let Some(chunk) = self.chunk.as_mut().filter(|chunk| chunk.left > 0) {
                self.pace.begin();
                while let Some(rows) = self.pace.next().filter(|_| chunk.left > 0) {
                    let (before, mut bytes) = (self.values.len(), 0);
                    let values = &mut self.values;
                    self.leaf.read(chunk, rows, |value| {
                        let value = value.map(Bytes::from_owner);
                        bytes += value.as_ref().map_or(0, |value| value.len() as u64);
                        values.push(value);
                        Ok(())
                    })?;
                    self.pace.learn(values.len() - before, bytes);
                }
                let first_row = self.next_row;
                self.next_row += self.values.len() as u64;
                let values = self.values.as_slice();
                return Ok(Some(TextBatch { first_row, values }));
            }
            let Some(row_group) = self.row_groups.next() else {
                return Ok(None);
            };
            self.chunk = Some(self.leaf.chunk(row_group)?);
        }
    }
}

/// A value of the text column as UTF-8. `row` is its row in the file.
///
/// # Errors
///
/// Under [`OnBadText::Refuse`] a value that is not UTF-8, naming file, row group, row, column and
/// byte; under [`OnBadText::Replace`] each ill-formed sequence becomes U+FFFD instead.
pub fn utf8<'v>(
    source: &Source,
    text: &str,
    row: u64,
    value: &'v [u8],
    on_bad_text: OnBadText,
) -> Result<Cow<'v, str>, Error> {
    match (std::str::from_utf8(value), on_bad_text) {
        (Ok(value), _) => Ok(Cow::Borrowed(value)),
        (Err(_), OnBadText::Replace) => Ok(String::from_utf8_lossy(value)),
        (Err(error), OnBadText::Refuse) => Err(Error::BadText {
            path: source.listed.path.clone(),
            row_group: source.row_group_of(row),
            row,
            column: text.to_owned(),
            byte: error.valid_up_to(),
        }),
    }
}

#[cfg(test)]
mod tests;
