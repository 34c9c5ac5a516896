//! One column chunk without its dropped rows, as typed values and levels; and the two added columns.
//!
//! Parquet's levels: <https://parquet.apache.org/docs/file-format/nestedencoding/>. A record (row)
//! begins where the repetition level is 0; a level is a value where the definition level is the
//! column's highest.

use std::io::Write;

use parquet::bloom_filter::Sbbf;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::column::writer::{
    ColumnCloseResult, ColumnWriter, ColumnWriterImpl, get_column_writer,
};
use parquet::data_type::{ByteArrayType, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use super::batch::{Batch, Detach};
use super::form::{Form, Indexed};
use super::input::{Input, codec};
use super::selection::Selection;
use super::{Options, copy};
use crate::Error;
use crate::open::guard;
use crate::open::header::PageHeader;
use crate::open::pages::Pages;

// What a batch is decides where pages end, so it is a function of the file alone.

/// Rows of a batch, at most.
pub(super) const BATCH_ROWS: u64 = 8192;
/// A batch ends before a page that would bring those that it points into beyond this, and lists end
/// it when their values and levels take as much.
pub(super) const BATCH_BYTES: u64 = 1 << 20;
/// What the values of a batch take at the most, where each is put together anew and can be as long as its page.
pub(super) const COPIED_BYTES: u64 = 4 << 20;
/// Rows of lists that are read at once, at most.
const LISTS: u64 = 64;
/// From this size on a page is given back before the next one is read.
pub(super) const LARGE_BYTES: u64 = 256 << 10;

/// What the writer's dictionary takes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filling {
    /// There is none, or no longer.
    Nothing,
    /// Entries of the input's dictionary, at most all, of so many bytes.
    All(u64),
    /// Any values, until they are so many bytes.
    UpTo(u64),
}

impl Filling {
    /// The same while `fills`.
    fn filter(self, fills: bool) -> Self {
        if fills { self } else { Self::Nothing }
    }

    /// The bytes of the entries at which it is given up.
    pub(super) fn limit(self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::All(bytes) | Self::UpTo(bytes) => bytes,
        }
    }
}

/// What encoding a chunk takes beside the chunk.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) input: &'a Input,
    pub(super) group: usize,
    pub(super) options: &'a Options,
    pub(super) cancelled: &'a (dyn Fn() -> bool + Sync),
}

/// Writes the rows of `selection` of the input's column `leaf` to `sink`.
pub(super) fn encode<W: Write + Send>(
    context: Context<'_>,
    leaf: usize,
    selection: &Selection,
    sink: &mut TrackedWrite<W>,
) -> Result<ColumnCloseResult, Error> {
    let Context { input, group, .. } = context;
    let place = input.place(group, leaf);
    guard(&input.path, &place, || {
        let failed = |error| Error::parquet(&input.path, &place, error);
        let chunk = input.chunk(group, leaf)?;
        let form = Form::probe(input, &place, chunk)?;
        let file = input.file.for_chunk(&input.path, &place, chunk)?;
        let rows = usize::try_from(selection.rows()).unwrap_or(usize::MAX);
        let pages = Pages::new(file, chunk, rows).map_err(failed)?;
        let index = copy::index(input, group, leaf);
        let indexed = Indexed {
            columns: index.0.is_some(),
            offsets: index.1.is_some(),
        };
        let codec = codec(chunk.compression_codec(), context.options.compression_level)
            .map_err(|why| input.damaged(place.clone(), &why))?;
        let order = input.metadata.file_metadata().column_orders();
        let order = order.and_then(|orders| orders.get(leaf).copied());
        let descr = chunk.column_descr_ptr();
        let properties = form.properties(chunk, indexed, order, codec, selection);
        let writer = Box::new(SerializedPageWriter::new(sink));
        let mut run = Run {
            context,
            place: &place,
            chunk,
            selection,
            filling: form.filling(selection),
            pages: pages.clone(),
            bloom: empty_like(copy::bloom(input, &place, chunk)?),
        };
        let reader = get_column_reader(descr.clone(), Box::new(pages));
        let mut close = run.dispatch(reader, get_column_writer(descr, properties, writer))?;
        close.bloom_filter = run.bloom;
        // Statistics of pages make the crate make all of these, whatever it is told.
        close.column_index = close.column_index.filter(|_| indexed.columns);
        close.offset_index = close.offset_index.filter(|_| indexed.offsets);
        if chunk.statistics().is_none() {
            let metadata = close.metadata.into_builder().clear_statistics().build();
            close.metadata = metadata.map_err(failed)?;
        }
        copy::put_in_order(close, order).map_err(failed)
    })
}

/// A Bloom filter of the same size without values.
fn empty_like(filter: Option<Sbbf>) -> Option<Sbbf> {
    filter.map(|filter| Sbbf::new(&vec![0; filter.num_blocks() * 32]))
}

/// One chunk being encoded.
struct Run<'a> {
    context: Context<'a>,
    place: &'a str,
    chunk: &'a ColumnChunkMetaData,
    selection: &'a Selection,
    filling: Filling,
    pages: Pages,
    bloom: Option<Sbbf>,
}

impl Run<'_> {
    fn dispatch(
        &mut self,
        reader: ColumnReader,
        writer: ColumnWriter<'_>,
    ) -> Result<ColumnCloseResult, Error> {
        use ColumnReader as R;
        use ColumnWriter as W;
        match (reader, writer) {
            (R::BoolColumnReader(r), W::BoolColumnWriter(w)) => self.transcode(r, w),
            (R::Int32ColumnReader(r), W::Int32ColumnWriter(w)) => self.transcode(r, w),
            (R::Int64ColumnReader(r), W::Int64ColumnWriter(w)) => self.transcode(r, w),
            (R::Int96ColumnReader(r), W::Int96ColumnWriter(w)) => self.transcode(r, w),
            (R::FloatColumnReader(r), W::FloatColumnWriter(w)) => self.transcode(r, w),
            (R::DoubleColumnReader(r), W::DoubleColumnWriter(w)) => self.transcode(r, w),
            (R::ByteArrayColumnReader(r), W::ByteArrayColumnWriter(w)) => self.transcode(r, w),
            (R::FixedLenByteArrayColumnReader(r), W::FixedLenByteArrayColumnWriter(w)) => {
                self.transcode(r, w)
            }
            _ => Err(self.damaged("it is read as another type than it is written as".to_owned())),
        }
    }

    fn transcode<T: DataType>(
        &mut self,
        reader: ColumnReaderImpl<T>,
        mut writer: ColumnWriterImpl<'_, T>,
    ) -> Result<ColumnCloseResult, Error>
    where
        T::T: Detach,
    {
        let path = &self.context.input.path;
        let place = self.place;
        let failed = |error| Error::parquet(path, place, error);
        let descr = self.chunk.column_descr_ptr();
        let mut batch = Batch::<T>::new(&descr);
        let mut source = Source::new(reader, self.pages.clone(), descr, self.chunk);
        let (mut row, mut levels) = (0, 0);
        while row < self.selection.rows() {
            if (self.context.cancelled)() {
                return Err(Error::Cancelled);
            }
            let wanted = BATCH_ROWS.min(self.selection.rows() - row);
            let read = source.fill(&mut batch, wanted).map_err(failed)?;
            if read == 0 {
                return Err(self.miscounted("rows", row, self.selection.rows()));
            }
            levels += batch.levels() as u64;
            batch
                .select(self.selection, row..row + read)
                .map_err(|found| self.damaged(found))?;
            // Nothing is written before the dictionary is given up.
            let fills = writer.get_total_bytes_written() == 0;
            let copies = source.detaches(&batch, self.filling.filter(fills));
            if let Some(bloom) = &mut self.bloom {
                for value in &batch.values {
                    bloom.insert(value);
                }
            }
            let written = match copies {
                true => batch.write_copies(&mut writer, BATCH_BYTES),
                false => batch.write(&mut writer),
            };
            written.map_err(failed)?;
            row += read;
        }
        if source.has_more(&mut batch).map_err(failed)? {
            return Err(self.damaged(format!("it has more rows than the row group ({row})")));
        }
        let expected = u64::try_from(self.chunk.num_values()).unwrap_or_default();
        if levels != expected {
            return Err(self.miscounted("values and nulls", levels, expected));
        }
        drop((batch, source));
        let close = writer.close().map_err(failed)?;
        if close.rows_written != self.selection.kept() {
            return Err(self.miscounted(
                "rows to write",
                close.rows_written,
                self.selection.kept(),
            ));
        }
        Ok(close)
    }

    fn damaged(&self, message: String) -> Error {
        Error::Parquet {
            path: self.context.input.path.clone(),
            place: self.place.to_owned(),
            message,
        }
    }

    fn miscounted(&self, what: &str, found: u64, expected: u64) -> Error {
        self.damaged(format!(
            "it has {found} {what} where the footer says {expected}"
        ))
    }
}

/// The longest of what a chunk's large pages hold, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Longest {
    /// A value.
    pub(super) value: u64,
    /// What a bound holds on to: a value, or the page that is not much larger.
    pub(super) held: u64,
    /// A value that is copied out of its page.
    pub(super) copied: u64,
}

/// Reads the text of a chunk to find what is longest among the rows of `selection`.
pub(super) fn longest(
    context: Context<'_>,
    leaf: usize,
    selection: &Selection,
) -> Result<Longest, Error> {
    let Context { input, group, .. } = context;
    let place = input.place(group, leaf);
    guard(&input.path, &place, || {
        let failed = |error| Error::parquet(&input.path, &place, error);
        let chunk = input.chunk(group, leaf)?;
        let file = input.file.for_chunk(&input.path, &place, chunk)?;
        let rows = usize::try_from(selection.rows()).unwrap_or(usize::MAX);
        let pages = Pages::new(file, chunk, rows).map_err(failed)?;
        let descr = chunk.column_descr_ptr();
        let reader = ColumnReaderImpl::new(descr.clone(), Box::new(pages.clone()));
        let mut batch = Batch::<ByteArrayType>::new(&descr);
        let mut source = Source::new(reader, pages, descr, chunk);
        let (mut row, mut longest) = (0, Longest::default());
        while row < selection.rows() {
            if (context.cancelled)() {
                return Err(Error::Cancelled);
            }
            let wanted = BATCH_ROWS.min(selection.rows() - row);
            let read = source.fill(&mut batch, wanted).map_err(failed)?;
            if read == 0 {
                break;
            }
            batch
                .select(selection, row..row + read)
                .map_err(|found| input.damaged(place.clone(), &found))?;
            row += read;
            let value = batch.longest();
            longest.value = longest.value.max(value);
            if source.detaches(&batch, Filling::Nothing) {
                longest.held = longest.held.max(value);
                longest.copied = longest.copied.max(value);
            } else {
                longest.held = longest.held.max(source.held);
            }
        }
        Ok(longest)
    })
}

/// Rows of a page that make a batch, where each is put together anew, and can be as long as the page.
fn fitting_rows(page: &PageHeader) -> u64 {
    match page.copies_values() {
        true => COPIED_BYTES / page.uncompressed.max(1),
        false => u64::MAX,
    }
}

/// The rows of a chunk, in order.
struct Source<T: DataType> {
    reader: ColumnReaderImpl<T>,
    pages: Pages,
    descr: ColumnDescPtr,
    /// Whether a row can have more than one value.
    is_list: bool,
    /// Rows of lists to read at once.
    step: u64,
    /// Values and nulls that were read.
    read: u64,
    /// The pages that the batch points into, in bytes.
    held: u64,
    /// Whether the values of the batch are all entries of the chunk's dictionary; of lists, those of all batches so far.
    is_coded: bool,
}

impl<T: DataType> Source<T> {
    fn new(
        reader: ColumnReaderImpl<T>,
        pages: Pages,
        descr: ColumnDescPtr,
        chunk: &ColumnChunkMetaData,
    ) -> Self {
        let size = |bytes| u64::try_from(bytes).unwrap_or_default();
        let decoded = size(chunk.num_values()).saturating_mul(size_of::<T::T>() as u64 + 4);
        let bytes = size(chunk.uncompressed_size()).max(decoded);
        Self {
            reader,
            pages,
            is_list: descr.max_rep_level() > 0,
            descr,
            // At first as if there were but a thousand rows; see `fill_lists`.
            step: (BATCH_BYTES / (bytes / 1000).max(1)).clamp(1, LISTS),
            read: 0,
            held: 0,
            is_coded: true,
        }
    }

    /// Whether the values of the batch are to be copied out of their pages.
    ///
    /// A dictionary that may be given up would hold on to the page of each of its entries; a value that fills it at once
    /// does so for this batch only. Bounds of pages and of the chunk are values, and would hold on to large pages.
    fn detaches(&self, batch: &Batch<T>, filling: Filling) -> bool
    where
        T::T: Detach,
    {
        let is_large = self.held >= LARGE_BYTES && !self.is_coded;
        let fills = match filling {
            Filling::Nothing => false,
            Filling::All(_) => !self.is_coded,
            Filling::UpTo(_) => true,
        };
        if !fills && !is_large {
            return false;
        }
        let longest = batch.longest();
        (fills && longest < filling.limit()) || (is_large && 2 * longest < self.held)
    }

    /// Reads up to `rows` rows in place of those that were there, and says how many; none at the end.
    fn fill(&mut self, batch: &mut Batch<T>, rows: u64) -> Result<u64, ParquetError> {
        batch.clear();
        let filled = match self.is_list {
            true => self.fill_lists(batch, rows),
            false => self.fill_flat(batch, rows),
        };
        self.read += batch.levels() as u64;
        filled
    }

    /// As [`Self::fill`] where each row is one value or null: rows of one page at a time.
    fn fill_flat(&mut self, batch: &mut Batch<T>, rows: u64) -> Result<u64, ParquetError> {
        self.is_coded = true;
        self.held = 0;
        let mut filled = 0;
        while filled < rows {
            let mut left = self.pages.given().saturating_sub(self.read + filled);
            let mut page = self.pages.current();
            if left == 0 {
                let Some(upcoming) = self.pages.upcoming()? else {
                    break;
                };
                let data = upcoming.data;
                if filled > 0 && self.held.saturating_add(data.uncompressed) > BATCH_BYTES {
                    break;
                }
                // A dictionary that is read again is another one to the writer, which would hold both.
                if filled == 0 && self.pages.gives_back(&upcoming) && !data.needs_dictionary() {
                    let pages = Box::new(self.pages.clone());
                    self.reader = ColumnReaderImpl::new(self.descr.clone(), pages);
                    self.pages.reader_changed();
                }
                (left, page) = (data.values, Some(data));
                self.held = self.held.saturating_add(data.uncompressed);
            } else if filled == 0 {
                self.held = page.map_or(0, |page| page.uncompressed);
            }
            let mut step = left.min(rows - filled);
            if let Some(page) = page {
                self.is_coded &= page.needs_dictionary();
                let fitting = fitting_rows(&page).saturating_sub(filled);
                if filled > 0 && fitting == 0 {
                    break;
                }
                step = step.min(fitting.max(1));
            }
            let read = batch.read(&mut self.reader, step)?;
            if read == 0 {
                break;
            }
            filled += read;
        }
        Ok(filled)
    }

    /// As [`Self::fill`] where headers do not say how many rows a page has: some rows at a time, the next time at most
    /// twice as many, until they are enough.
    fn fill_lists(&mut self, batch: &mut Batch<T>, rows: u64) -> Result<u64, ParquetError> {
        let each = size_of::<T::T>() as u64 + 4;
        self.held = self.pages.current().map_or(0, |page| page.uncompressed);
        let (mut held, mut filled) = (0_u64, 0);
        while filled < rows && held < BATCH_BYTES {
            let (given, levels) = (self.pages.given(), batch.levels());
            let read = batch.read(&mut self.reader, self.step.min(rows - filled))?;
            if read == 0 {
                break;
            }
            filled += read;
            let mut bytes = each.saturating_mul((batch.levels() - levels) as u64);
            if let Some(page) = self.pages.current() {
                self.is_coded &= page.needs_dictionary();
                if self.pages.given() != given {
                    bytes = bytes.saturating_add(page.uncompressed);
                    self.held = self.held.max(page.uncompressed);
                }
            }
            held = held.saturating_add(bytes);
            let fitting = BATCH_BYTES.saturating_mul(read) / bytes.max(1);
            self.step = fitting.min(2 * self.step).clamp(1, LISTS);
        }
        Ok(filled)
    }

    /// Whether rows are left.
    fn has_more(&mut self, batch: &mut Batch<T>) -> Result<bool, ParquetError> {
        batch.clear();
        match self.is_list {
            true => Ok(batch.read(&mut self.reader, 1)? > 0),
            false => Ok(self.pages.given() > self.read || self.pages.upcoming()?.is_some()),
        }
    }
}
