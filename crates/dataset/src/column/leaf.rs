//! Reading one leaf column through the Parquet crate's typed column reader: no Arrow, so values
//! are what the file holds, and texts are not copied.

use std::path::PathBuf;
use std::sync::Arc;

use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::DataType;
use parquet::file::metadata::ParquetMetaData;
use parquet::schema::types::ColumnDescPtr;

use crate::error::Error;
use crate::open::pages::{Pages, Upcoming};
use crate::open::{SharedFile, guard};
use crate::source::Source;

/// The rows of a batch at most.
pub(crate) const MAX_ROWS: usize = 4096;
/// The rows that are read at once: a batch that is large enough ends after them, so that a run of
/// long values after many short ones does not come as one batch.
const MAX_STEP_ROWS: usize = 64;

/// A leaf column of an open file.
pub(crate) struct Leaf {
    pub(crate) path: PathBuf,
    /// The column as the setting names it.
    pub(crate) column: String,
    pub(crate) metadata: Arc<ParquetMetaData>,
    /// The index among the leaf columns.
    pub(crate) index: usize,
    file: SharedFile,
}

impl Leaf {
    /// Opens the file again, and finds the column by `find`.
    pub(crate) fn open(
        source: &Source,
        column: &str,
        find: impl FnOnce(&ParquetMetaData) -> Result<usize, Error>,
    ) -> Result<Self, Error> {
        let (file, metadata) = crate::source::reopen(source)?;
        let path = source.listed.path.clone();
        let index = guard(&path, "footer", || find(&metadata))?;
        Ok(Self {
            path,
            column: column.to_owned(),
            metadata,
            index,
            file,
        })
    }

    /// The place of an error.
    pub(crate) fn place(&self, row_group: usize) -> String {
        format!("row group {row_group}, column `{}`", self.column)
    }

    fn error(&self, row_group: usize, message: String) -> Error {
        Error::Parquet {
            path: self.path.clone(),
            place: self.place(row_group),
            message,
        }
    }

    /// Begins to read the column's chunk of a row group; `T` is the column's physical type.
    pub(crate) fn chunk<T: DataType>(&self, row_group: usize) -> Result<Chunk<T>, Error> {
        let place = self.place(row_group);
        guard(&self.path, &place, || {
            let missing = || self.error(row_group, "the footer does not list it".to_owned());
            let group = self
                .metadata
                .row_groups()
                .get(row_group)
                .ok_or_else(missing)?;
            let meta = group.columns().get(self.index).ok_or_else(missing)?;
            let rows = usize::try_from(group.num_rows())
                .map_err(|_| self.error(row_group, "its number of rows is negative".to_owned()))?;
            let file = self.file.for_chunk(&self.path, &place, meta)?;
            let pages = Pages::new(file, meta, rows)
                .map_err(|error| Error::parquet(&self.path, &place, error))?;
            let descr = meta.column_descr_ptr();
            Ok(Chunk {
                max_definition: descr.max_def_level(),
                reader: ColumnReaderImpl::new(Arc::clone(&descr), Box::new(pages.clone())),
                descr,
                pages,
                row_group,
                rows,
                left: rows,
                definitions: Vec::new(),
                values: Vec::new(),
            })
        })
    }

    /// Reads up to `max` rows of a chunk; `use_row` gets, row by row, the value or none. Fewer than
    /// `max` rows come at the chunk's end only. The rows of a chunk must be those of its row group.
    pub(crate) fn read<T: DataType>(
        &self,
        chunk: &mut Chunk<T>,
        max: usize,
        mut use_row: impl FnMut(Option<T::T>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let place = self.place(chunk.row_group);
        guard(&self.path, &place, || {
            let asked = max.min(chunk.left);
            let mut read = 0;
            while read < asked {
                let rows = chunk
                    .fill(asked - read)
                    .map_err(|error| Error::parquet(&self.path, &place, error))?;
                if rows == 0 {
                    let message = format!(
                        "it ends after {} rows, but its row group has {}",
                        chunk.rows - chunk.left,
                        chunk.rows
                    );
                    return Err(self.error(chunk.row_group, message));
                }
                read += rows;
                chunk.left -= rows;
                let mut values = chunk.values.drain(..);
                for row in 0..rows {
                    let present = chunk.max_definition == 0
                        || chunk.definitions.get(row) == Some(&chunk.max_definition);
                    use_row(if present { values.next() } else { None })?;
                }
            }
            if chunk.left == 0 && chunk.has_more() {
                let message = format!("it has more rows than its row group, {}", chunk.rows);
                return Err(self.error(chunk.row_group, message));
            }
            Ok(())
        })
    }

    /// What comes after the current page; none at the end of the chunk.
    pub(crate) fn upcoming<T: DataType>(
        &self,
        chunk: &Chunk<T>,
    ) -> Result<Option<Upcoming>, Error> {
        let place = self.place(chunk.row_group);
        guard(&self.path, &place, || {
            let upcoming = chunk.pages.upcoming();
            upcoming.map_err(|error| Error::parquet(&self.path, &place, error))
        })
    }
}

/// One column chunk that is being read.
pub(crate) struct Chunk<T: DataType> {
    reader: ColumnReaderImpl<T>,
    descr: ColumnDescPtr,
    pages: Pages,
    row_group: usize,
    rows: usize,
    /// The rows that were not yet read.
    pub(crate) left: usize,
    /// The definition level at which a value is there.
    max_definition: i16,
    definitions: Vec<i16>,
    values: Vec<T::T>,
}

impl<T: DataType> Chunk<T> {
    /// The rows of the current page that were not yet read.
    pub(crate) fn left_in_page(&self) -> usize {
        let read = (self.rows - self.left) as u64;
        usize::try_from(self.pages.given().saturating_sub(read)).unwrap_or(usize::MAX)
    }

    /// The row group that it belongs to.
    pub(crate) fn row_group(&self) -> usize {
        self.row_group
    }

    /// Its pages.
    pub(crate) fn pages(&self) -> &Pages {
        &self.pages
    }

    /// Whether a row follows. What cannot be read is none.
    fn has_more(&self) -> bool {
        self.left_in_page() > 0 || self.pages.upcoming().is_ok_and(|next| next.is_some())
    }

    /// Reads at most `rows` rows of one page; none at the end.
    fn fill(&mut self, rows: usize) -> Result<usize, parquet::errors::ParquetError> {
        self.definitions.clear();
        self.values.clear();
        let mut left = self.left_in_page();
        if left == 0 {
            let Some(upcoming) = self.pages.upcoming()? else {
                return Ok(0);
            };
            left = usize::try_from(upcoming.data.values).unwrap_or(usize::MAX);
            if self.pages.gives_back(&upcoming) {
                let (descr, pages) = (Arc::clone(&self.descr), self.pages.clone());
                self.reader = ColumnReaderImpl::new(descr, Box::new(pages));
                self.pages.reader_changed();
            }
        }
        let (records, _, _) = self.reader.read_records(
            rows.min(left),
            Some(&mut self.definitions),
            None,
            &mut self.values,
        )?;
        Ok(records)
    }
}

/// A batch in the making: how many rows to read at once, and when it is large enough.
pub(crate) struct Pace {
    batch_bytes: u64,
    /// The rows to read at once.
    step: usize,
    /// The rows and bytes of the batch so far.
    rows: usize,
    bytes: u64,
}

impl Pace {
    /// Batches of about `batch_bytes`; `mean_bytes` is what the footer says of a value.
    pub(crate) fn new(batch_bytes: u64, mean_bytes: u64) -> Self {
        let step = usize::try_from(batch_bytes / mean_bytes.max(1)).unwrap_or(MAX_STEP_ROWS);
        Self {
            batch_bytes: batch_bytes.max(1),
            step: step.clamp(1, MAX_STEP_ROWS),
            rows: 0,
            bytes: 0,
        }
    }

    /// Begins a batch.
    pub(crate) fn begin(&mut self) {
        (self.rows, self.bytes) = (0, 0);
    }

    /// The rows to read next; none when the batch is large enough.
    pub(crate) fn next(&self) -> Option<usize> {
        let room = MAX_ROWS.saturating_sub(self.rows);
        (self.bytes < self.batch_bytes && room > 0).then_some(self.step.min(room))
    }

    /// Whether nothing was read for the batch yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The bytes of a batch.
    pub(crate) fn batch_bytes(&self) -> u64 {
        self.batch_bytes
    }

    /// Learns from a step: the next has at most twice as many rows, or so many fewer as this one was
    /// too large.
    pub(crate) fn learn(&mut self, rows: usize, bytes: u64) {
        self.rows += rows;
        self.bytes = self.bytes.saturating_add(bytes);
        let fitting = u128::from(self.batch_bytes) * rows as u128 / u128::from(bytes.max(1));
        let fitting = usize::try_from(fitting).unwrap_or(MAX_STEP_ROWS);
        let step = fitting.min(self.step.saturating_mul(2));
        self.step = step.clamp(1, MAX_STEP_ROWS);
    }
}
