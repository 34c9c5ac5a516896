//! The text of a file, by batches of bounded size.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;
use parquet::data_type::ByteArrayType;
use records::settings::OnBadText;

use crate::column::leaf::{Chunk, Leaf, Pace};
use crate::error::Error;
use crate::open::header::PageHeader;
use crate::source::{Source, find};

/// A batch has at most so many rows.
pub const BATCH_ROWS: u64 = crate::column::leaf::MAX_ROWS as u64;

/// Reads the text column of some row groups of a file.
///
/// Values are slices of the decoded pages, not copies, whatever the column's type in Arrow: string,
/// large string, view, dictionary and binary give equal results, and no row group is too large for
/// an offset. Memory: [`TextReader::need`], and 1 MiB that is read ahead.
pub struct TextReader {
    leaf: Leaf,
    row_groups: Range<usize>,
    chunk: Option<Chunk<ByteArrayType>>,
    pace: Pace,
    next_row: u64,
    values: Vec<Option<Bytes>>,
    /// The pages that the batch points into, in bytes.
    held: u64,
}

/// What the next batch takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// Memory that the reader and the batch take at the most, in bytes.
    pub bytes: u64,
    /// The row in the file at which the page begins that takes it.
    pub row: u64,
    /// The row group.
    pub row_group: usize,
    /// The rows of the page; none where it is one that was begun.
    pub rows: u64,
    /// The size of the page, with a dictionary that stands before it, without compression: the
    /// length of its texts and a few bytes a row.
    pub page_bytes: u64,
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
    /// group, and ends when it has `batch_bytes` bytes of text or when the next page would bring the
    /// pages that it points into beyond that; so it is larger only by values of one page.
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
            held: 0,
        })
    }

    /// What the next batch takes, found in the headers of its pages before memory is taken for them;
    /// none after the last row. Gives back the last batch. Where this is more than there is, the reader
    /// is to be dropped.
    ///
    /// # Errors
    ///
    /// As [`TextReader::next_batch`].
    pub fn need(&mut self) -> Result<Option<Need>, Error> {
        self.values.clear();
        if !self.begin_chunk()? {
            return Ok(None);
        }
        let Some(chunk) = &self.chunk else {
            return Ok(None);
        };
        let pages = chunk.pages();
        let (page, rows, bytes) = if chunk.left_in_page() > 0 {
            let Some(page) = pages.current() else {
                return Ok(None);
            };
            let held = pages.dictionary_bytes().saturating_add(page.uncompressed);
            (page.uncompressed, (0, page), held)
        } else {
            let Some(upcoming) = self.leaf.upcoming(chunk)? else {
                // The chunk ends too early, which reading it will say.
                return Ok(Some(self.need_of(chunk.row_group(), 0, 0, 0)));
            };
            let rows = (upcoming.data.values, upcoming.data);
            (upcoming.page_bytes(), rows, pages.bytes_to_read(&upcoming))
        };
        let (rows, header) = rows;
        // No value is longer than its page; what is put together anew adds to the batch.
        let copied = match header.copies_values() {
            true => self.pace.batch_bytes() + header.uncompressed,
            false => 0,
        };
        let bytes = bytes.saturating_add(copied);
        Ok(Some(self.need_of(chunk.row_group(), rows, page, bytes)))
    }

    fn need_of(&self, row_group: usize, rows: u64, page_bytes: u64, bytes: u64) -> Need {
        Need {
            bytes: bytes.max(self.pace.batch_bytes()),
            row: self.next_row,
            row_group,
            rows,
            page_bytes,
        }
    }

    /// The next batch; none after the last row. After an error the reader is of no more use.
    ///
    /// # Errors
    ///
    /// A damaged page (also by its checksum, where it has one), a chunk with more or fewer rows
    /// than its row group, I/O; naming the row group and the column.
    pub fn next_batch(&mut self) -> Result<Option<TextBatch<'_>>, Error> {
        self.values.clear();
        if !self.begin_chunk()? {
            return Ok(None);
        }
        self.pace.begin();
        while let Some(rows) = self.next_step()? {
            let Some(chunk) = &mut self.chunk else { break };
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
        Ok(Some(TextBatch { first_row, values }))
    }

    /// Goes to the next row group that has rows left; false after the last.
    fn begin_chunk(&mut self) -> Result<bool, Error> {
        while self.chunk.as_ref().is_none_or(|chunk| chunk.left == 0) {
            // The chunk before is given back first.
            self.chunk = None;
            let Some(row_group) = self.row_groups.next() else {
                return Ok(false);
            };
            self.chunk = Some(self.leaf.chunk(row_group)?);
        }
        Ok(true)
    }

    /// How many rows to read next, all of one page; none where the batch ends.
    fn next_step(&mut self) -> Result<Option<usize>, Error> {
        let (Some(chunk), Some(rows)) = (&self.chunk, self.pace.next()) else {
            return Ok(None);
        };
        if chunk.left == 0 {
            return Ok(None);
        }
        let in_page = chunk.left_in_page();
        if in_page > 0 {
            if self.pace.is_empty() {
                let page = chunk.pages().current();
                self.held = page.map_or(0, |page| page.uncompressed);
            }
            let rows = self.rows_of_page(chunk.pages().current(), rows);
            return Ok(Some(rows.min(in_page)));
        }
        // A chunk that ends too early is an error of the reading itself.
        let Some(upcoming) = self.leaf.upcoming(chunk)? else {
            return Ok(Some(rows));
        };
        if self.pace.is_empty() {
            self.held = 0;
        } else {
            let reading = chunk.pages().bytes_to_read(&upcoming);
            if self.held.saturating_add(reading) > self.pace.batch_bytes() {
                return Ok(None);
            }
        }
        self.held = self.held.saturating_add(upcoming.data.uncompressed);
        let in_page = usize::try_from(upcoming.data.values).unwrap_or(usize::MAX);
        let rows = self.rows_of_page(Some(upcoming.data), rows);
        Ok(Some(rows.min(in_page)))
    }

    /// Fewer rows where each value is put together anew, and can be as long as the page.
    fn rows_of_page(&self, page: Option<PageHeader>, rows: usize) -> usize {
        match page {
            Some(page) if page.copies_values() => {
                let fitting = self.pace.batch_bytes() / page.uncompressed.max(1);
                rows.min(usize::try_from(fitting).unwrap_or(usize::MAX))
                    .max(1)
            }
            _ => rows,
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
mod need_tests;
#[cfg(test)]
mod tests;
