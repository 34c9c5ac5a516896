//! One column chunk without its dropped rows, as typed values and levels; and the two added columns.
//!
//! Parquet's levels: <https://parquet.apache.org/docs/file-format/nestedencoding/>. A record (row)
//! begins where the repetition level is 0; a level is a value where the definition level is the
//! column's highest.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use parquet::basic::{Compression, CompressionCodec};
use parquet::bloom_filter::Sbbf;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::column::writer::{
    ColumnCloseResult, ColumnWriter, ColumnWriterImpl, get_column_writer,
};
use parquet::data_type::{BoolType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::{EnabledStatistics, ReaderProperties, WriterProperties};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use super::form::{Form, Indexed};
use super::input::{Input, codec};
use super::selection::{Selection, checked};
use super::{Decisions, Options, copy};
use crate::Error;
use crate::open::guard;

/// Rows of a batch, at most. It and the next decide where pages end, so they are fixed.
const BATCH_ROWS: u64 = 8192;
/// Bytes of a batch's values and levels, on average.
const BATCH_BYTES: u64 = 1 << 20;

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
        let file = Arc::new(input.file.for_chunk(&input.path, &place, chunk)?);
        let rows = usize::try_from(selection.rows()).unwrap_or(usize::MAX);
        let reading = ReaderProperties::builder().set_read_page_statistics(true);
        let pages = SerializedPageReader::new_with_properties(
            file,
            chunk,
            rows,
            None,
            Arc::new(reading.build()),
        );
        let (form, pages) = Form::probe(Box::new(pages.map_err(failed)?)).map_err(failed)?;
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
        let properties = form.properties(chunk, indexed, order, codec);
        let writer = Box::new(SerializedPageWriter::new(sink));
        let mut run = Run {
            context,
            place: &place,
            chunk,
            selection,
            bloom: empty_like(copy::bloom(input, &place, chunk)?),
        };
        let reader = get_column_reader(descr.clone(), pages);
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
        mut reader: ColumnReaderImpl<T>,
        mut writer: ColumnWriterImpl<'_, T>,
    ) -> Result<ColumnCloseResult, Error> {
        let path = &self.context.input.path;
        let place = self.place;
        let failed = |error| Error::parquet(path, place, error);
        let descr = self.chunk.column_descr_ptr();
        let mut batch = Batch::<T>::new(&descr);
        let batch_rows = self.batch_rows(size_of::<T::T>() as u64);
        let (mut row, mut levels) = (0, 0);
        while row < self.selection.rows() {
            if (self.context.cancelled)() {
                return Err(Error::Cancelled);
            }
            let wanted = batch_rows.min(self.selection.rows() - row);
            let read = batch.read(&mut reader, wanted).map_err(failed)?;
            if read == 0 {
                return Err(self.miscounted("rows", row, self.selection.rows()));
            }
            levels += batch.levels() as u64;
            batch
                .select(self.selection, row..row + read)
                .map_err(|found| self.damaged(found))?;
            if let Some(bloom) = &mut self.bloom {
                for value in &batch.values {
                    bloom.insert(value);
                }
            }
            batch.write(&mut writer).map_err(failed)?;
            row += read;
        }
        if batch.read(&mut reader, 1).map_err(failed)? != 0 {
            return Err(self.damaged(format!("it has more rows than the row group ({row})")));
        }
        let expected = u64::try_from(self.chunk.num_values()).unwrap_or_default();
        if levels != expected {
            return Err(self.miscounted("values and nulls", levels, expected));
        }
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

    /// Rows of a batch, by what a row of this chunk takes on average; `width`: of a decoded value.
    fn batch_rows(&self, width: u64) -> u64 {
        let size = |bytes| u64::try_from(bytes).unwrap_or_default();
        let decoded = size(self.chunk.num_values()).saturating_mul(width + 4);
        let bytes = size(self.chunk.uncompressed_size()).max(decoded);
        let each = bytes / self.selection.rows().max(1);
        (BATCH_BYTES / each.max(1)).clamp(1, BATCH_ROWS)
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

/// Some rows of a column.
struct Batch<T: DataType> {
    values: Vec<T::T>,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
    max_definition: i16,
    max_repetition: i16,
}

impl<T: DataType> Batch<T> {
    fn new(descr: &ColumnDescPtr) -> Self {
        Self {
            values: Vec::new(),
            definitions: Vec::new(),
            repetitions: Vec::new(),
            max_definition: descr.max_def_level(),
            max_repetition: descr.max_rep_level(),
        }
    }

    /// Reads up to `rows` whole rows in place of those that were there, and says how many.
    fn read(&mut self, reader: &mut ColumnReaderImpl<T>, rows: u64) -> Result<u64, ParquetError> {
        self.values.clear();
        self.definitions.clear();
        self.repetitions.clear();
        let (records, ..) = reader.read_records(
            usize::try_from(rows).unwrap_or(usize::MAX),
            Some(&mut self.definitions),
            Some(&mut self.repetitions),
            &mut self.values,
        )?;
        Ok(records as u64)
    }

    /// Values and nulls.
    fn levels(&self) -> usize {
        match self.max_definition {
            0 => self.values.len(),
            _ => self.definitions.len(),
        }
    }

    /// Keeps the rows of the selection; the batch holds `rows` of the row group. The error says how
    /// the batch contradicts itself.
    fn select(&mut self, selection: &Selection, rows: Range<u64>) -> Result<(), String> {
        self.check(rows.end - rows.start)?;
        if rows.clone().all(|row| selection.keeps(row)) {
            return Ok(());
        }
        let mut row = rows.start;
        let (mut level_to, mut value_to, mut value) = (0, 0, 0);
        let mut keep = false;
        for level in 0..self.levels() {
            if self.repetitions.get(level).is_none_or(|r| *r == 0) {
                keep = selection.keeps(row);
                row += 1;
            }
            let definition = self.definitions.get(level).copied();
            let is_value = definition.is_none_or(|d| d == self.max_definition);
            if keep {
                move_to(&mut self.definitions, level, level_to);
                move_to(&mut self.repetitions, level, level_to);
                level_to += 1;
                if is_value {
                    move_to(&mut self.values, value, value_to);
                    value_to += 1;
                }
            }
            value += usize::from(is_value);
        }
        self.definitions.truncate(level_to);
        self.repetitions.truncate(level_to);
        self.values.truncate(value_to);
        Ok(())
    }

    /// Whether rows, levels and values are as many as each other say.
    fn check(&self, rows: u64) -> Result<(), String> {
        let values = match self.max_definition {
            0 => self.values.len(),
            max => self.definitions.iter().filter(|d| **d == max).count(),
        };
        let found = match self.max_repetition {
            0 => self.levels(),
            _ => self.repetitions.iter().filter(|r| **r == 0).count(),
        };
        let levels_agree = self.max_repetition == 0
            || (self.repetitions.len() == self.definitions.len()
                && self.repetitions.first().is_none_or(|r| *r == 0));
        if values == self.values.len() && found as u64 == rows && levels_agree {
            return Ok(());
        }
        Err(format!(
            "{rows} rows were read as {found} rows of {} levels and {values} values, but {} values \
             came",
            self.levels(),
            self.values.len()
        ))
    }

    fn write(&self, writer: &mut ColumnWriterImpl<'_, T>) -> Result<(), ParquetError> {
        if self.levels() == 0 {
            return Ok(());
        }
        let written = writer.write_batch(
            &self.values,
            (self.max_definition > 0).then_some(self.definitions.as_slice()),
            (self.max_repetition > 0).then_some(self.repetitions.as_slice()),
        )?;
        if written == self.values.len() {
            return Ok(());
        }
        Err(ParquetError::General(format!(
            "{written} of {} values were written",
            self.values.len()
        )))
    }
}

/// Moves an item towards the front; a list that is not in use is empty and stays so.
fn move_to<T>(list: &mut [T], from: usize, to: usize) {
    if from < list.len() && to < from {
        list.swap(from, to);
    }
}

/// Writes the two added columns of a row group to `sink`, and returns them in their order.
pub(super) fn annotate(
    context: Context<'_>,
    decisions: &dyn Decisions,
    sink: &mut TrackedWrite<Vec<u8>>,
) -> Result<Vec<ColumnCloseResult>, Error> {
    let Context { input, group, .. } = context;
    let columns = input.output.descr.columns();
    let added = columns.get(input.output.leaves.len()..).unwrap_or_default();
    let [cluster, keep] = added else {
        return Ok(Vec::new());
    };
    let place = format!("row group {group}, added columns");
    guard(&input.path, &place, || {
        let properties = Arc::new(added_properties(context)?);
        let mut closes = Vec::with_capacity(2);
        for column in [cluster, keep] {
            let pages = Box::new(SerializedPageWriter::new(sink));
            let writer = get_column_writer(column.clone(), Arc::clone(&properties), pages);
            closes.push(match writer {
                ColumnWriter::Int64ColumnWriter(writer) => {
                    write_clusters(context, decisions, writer, &place)?
                }
                ColumnWriter::BoolColumnWriter(writer) => {
                    write_keeps(context, decisions, writer, &place)?
                }
                _ => return Err(input.damaged(place.clone(), "an added column has another type")),
            });
        }
        Ok(closes)
    })
}

/// Whether any chunk of the row group has page indexes.
fn has_index(context: Context<'_>) -> Indexed {
    let Context { input, group, .. } = context;
    let mut any = Indexed {
        columns: false,
        offsets: false,
    };
    for leaf in &input.output.leaves {
        let (columns, offsets) = copy::index(input, group, *leaf);
        any.columns |= columns.is_some();
        any.offsets |= offsets.is_some();
    }
    any
}

/// The codec of the row group's first column, chunk statistics, and page indexes if it has any.
fn added_properties(context: Context<'_>) -> Result<WriterProperties, Error> {
    let Context { input, group, .. } = context;
    let first = input.group(group)?.columns().first();
    let named = first.map_or(CompressionCodec::UNCOMPRESSED, |chunk| {
        chunk.compression_codec()
    });
    let indexed = has_index(context);
    let statistics = match indexed.columns {
        true => EnabledStatistics::Page,
        false => EnabledStatistics::Chunk,
    };
    Ok(WriterProperties::builder()
        .set_compression(codec(named, None).unwrap_or(Compression::UNCOMPRESSED))
        .set_statistics_enabled(statistics)
        .set_offset_index_disabled(!indexed.offsets)
        .build())
}

fn write_clusters(
    context: Context<'_>,
    decisions: &dyn Decisions,
    mut writer: ColumnWriterImpl<'_, Int64Type>,
    place: &str,
) -> Result<ColumnCloseResult, Error> {
    let path = &context.input.path;
    let failed = |error| Error::parquet(path, place, error);
    let rows = context.input.rows(context.group);
    let count = rows.end - rows.start;
    let mut clustered = checked(path, decisions, rows)?.peekable();
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    for row in 0..count {
        let decision = clustered.next_if(|next| match next {
            Ok((at, _)) => *at == row,
            Err(_) => true,
        });
        levels.push(i16::from(decision.is_some()));
        if let Some(decision) = decision {
            values.push(decision?.1.cluster);
        }
        if levels.len() as u64 == BATCH_ROWS || row + 1 == count {
            writer
                .write_batch(&values, Some(&levels), None)
                .map_err(failed)?;
            values.clear();
            levels.clear();
            if (context.cancelled)() {
                return Err(Error::Cancelled);
            }
        }
    }
    writer.close().map_err(failed)
}

fn write_keeps(
    context: Context<'_>,
    decisions: &dyn Decisions,
    mut writer: ColumnWriterImpl<'_, BoolType>,
    place: &str,
) -> Result<ColumnCloseResult, Error> {
    let path = &context.input.path;
    let failed = |error| Error::parquet(path, place, error);
    let rows = context.input.rows(context.group);
    let selection = Selection::read(path, decisions, rows)?;
    let mut values = Vec::new();
    for row in 0..selection.rows() {
        values.push(selection.keeps(row));
        if values.len() as u64 == BATCH_ROWS || row + 1 == selection.rows() {
            writer.write_batch(&values, None, None).map_err(failed)?;
            values.clear();
        }
    }
    writer.close().map_err(failed)
}
