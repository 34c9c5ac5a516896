//! An output file while it is written.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::page_index::PageIndexBuilder;
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaDataBuilder, ParquetMetaDataWriter,
    RowGroupMetaData,
};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::page_index::offset_index::OffsetIndexMetaData;
use parquet::file::writer::TrackedWrite;
use xxhash_rust::xxh3::Xxh3;

use super::copy::{Copied, moved};
use super::footer;
use super::input::Input;
use crate::Error;
use crate::open::{guard, read_range};

/// Bytes that are written, and copied, at a time.
pub(super) const BLOCK: usize = 256 << 10;

/// The file below the Parquet crate, hashed as it is written. Clones write to the same file.
#[derive(Clone)]
pub(super) struct Sink(Arc<Mutex<SinkState>>);

struct SinkState {
    file: File,
    hash: Box<Xxh3>,
    bytes: u64,
    buffer: Vec<u8>,
    /// Where writes go instead, once the end of the file is being made.
    end: Option<Vec<u8>>,
    /// The first failure, since the crate's errors do not tell reading from writing.
    failure: Option<io::Error>,
}

impl Sink {
    fn lock(&self) -> MutexGuard<'_, SinkState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SinkState {
    /// Writes `bytes` behind those that wait.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.buffer.len() + bytes.len() > BLOCK {
            self.drain()?;
        }
        if bytes.len() < BLOCK {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.put(bytes)
    }

    /// Writes what waits.
    fn drain(&mut self) -> io::Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let written = self.put(&buffer);
        buffer.clear();
        self.buffer = buffer;
        written
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.file.write_all(bytes) {
            let kind = error.kind();
            self.failure.get_or_insert(error);
            return Err(kind.into());
        }
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.lock();
        if let Some(end) = &mut state.end {
            end.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        state.write(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut state = self.lock();
        match state.end {
            Some(_) => Ok(()),
            None => state.drain(),
        }
    }
}

/// The page indexes of one row group's chunks.
type GroupIndex = Vec<(Option<ColumnIndexMetaData>, Option<OffsetIndexMetaData>)>;

/// An output file.
pub(super) struct Output {
    path: PathBuf,
    sink: Sink,
    out: TrackedWrite<Sink>,
    groups: Vec<RowGroupMetaData>,
    indexes: Vec<GroupIndex>,
    /// The chunks of the row group that is being written, and where it began.
    chunks: Vec<ColumnCloseResult>,
    start: usize,
}

impl Output {
    /// Creates the file, which must not be there.
    pub(super) fn create(path: &Path) -> Result<Self, Error> {
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        Self::over(
            path,
            file.map_err(|error| Error::io("cannot create", path, error))?,
        )
    }

    /// Begins the file.
    pub(super) fn over(path: &Path, file: File) -> Result<Self, Error> {
        let sink = Sink(Arc::new(Mutex::new(SinkState {
            file,
            hash: Box::new(Xxh3::new()),
            bytes: 0,
            buffer: Vec::with_capacity(BLOCK),
            end: None,
            failure: None,
        })));
        let mut output = Self {
            path: path.to_owned(),
            out: TrackedWrite::new(sink.clone()),
            sink,
            groups: Vec::new(),
            indexes: Vec::new(),
            chunks: Vec::new(),
            start: 0,
        };
        let written = output.out.write_all(b"PAR1");
        output.written(written)?;
        output.start = output.out.bytes_written();
        Ok(output)
    }

    /// Writes to the file failed, or else the error was one of the input.
    pub(super) fn blame(&self, error: Error) -> Error {
        match self.sink.lock().failure.take() {
            Some(failure) => Error::io("cannot write", &self.path, failure),
            None => error,
        }
    }

    fn written(&self, result: io::Result<()>) -> Result<(), Error> {
        result.map_err(|error| self.blame(Error::io("cannot write", &self.path, error)))
    }

    fn made<T>(&self, result: Result<T, ParquetError>) -> Result<T, Error> {
        result.map_err(|error| self.blame(Error::parquet(&self.path, "output", error)))
    }

    /// Copies the next chunk of the row group.
    pub(super) fn copy(
        &mut self,
        input: &Input,
        chunk: Copied,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        let shift = shift(chunk.start, self.out.bytes_written());
        let mut at = chunk.start;
        let end = chunk.start + chunk.bytes;
        while at < end {
            if cancelled() {
                return Err(Error::Cancelled);
            }
            let length = usize::try_from(end - at).unwrap_or(BLOCK).min(BLOCK);
            let block = read_range(&input.file, &input.path, at, length)?;
            let written = self.out.write_all(&block);
            self.written(written)?;
            at += length as u64;
        }
        self.put(chunk.close, shift)
    }

    /// Writes chunks that were encoded into memory, with positions from its start.
    pub(super) fn write(
        &mut self,
        bytes: &[u8],
        closes: Vec<ColumnCloseResult>,
    ) -> Result<(), Error> {
        let shift = shift(0, self.out.bytes_written());
        let written = self.out.write_all(bytes);
        self.written(written)?;
        closes
            .into_iter()
            .try_for_each(|close| self.put(close, shift))
    }

    /// Lets `encode` write the next chunks straight to the file.
    pub(super) fn encode(
        &mut self,
        encode: impl FnOnce(&mut TrackedWrite<Sink>) -> Result<Vec<ColumnCloseResult>, Error>,
    ) -> Result<(), Error> {
        let closes = encode(&mut self.out).map_err(|error| self.blame(error))?;
        closes.into_iter().try_for_each(|close| self.put(close, 0))
    }

    /// Notes a chunk whose bytes moved by `shift`.
    fn put(&mut self, mut close: ColumnCloseResult, shift: i64) -> Result<(), Error> {
        close.metadata = self.made(moved(&close.metadata, shift))?;
        if let Some(index) = &mut close.offset_index {
            for location in &mut index.page_locations {
                location.offset += shift;
            }
        }
        self.chunks.push(close);
        Ok(())
    }

    /// Ends the row group: `rows` rows in every chunk.
    pub(super) fn end_group(&mut self, input: &Input, from: usize, rows: u64) -> Result<(), Error> {
        let closes = std::mem::take(&mut self.chunks);
        let mut chunks: Vec<ColumnChunkMetaData> = Vec::with_capacity(closes.len());
        let mut index = GroupIndex::with_capacity(closes.len());
        for close in closes {
            if close.rows_written != rows {
                let name = close.metadata.column_path().string();
                let message = format!(
                    "{} rows were written of column `{name}`, and {rows} expected",
                    close.rows_written
                );
                return Err(input.damaged(format!("row group {from}"), &message));
            }
            let mut chunk = close.metadata.into_builder();
            if let Some(filter) = close.bloom_filter {
                let start = self.out.bytes_written();
                let written = filter.write(&mut self.out);
                self.made(written)?;
                let length = self.out.bytes_written() - start;
                chunk = chunk
                    .set_bloom_filter_offset(Some(shift(0, start)))
                    .set_bloom_filter_length(i32::try_from(length).ok());
            }
            chunks.push(self.made(chunk.build())?);
            index.push((close.column_index, close.offset_index));
        }
        let bytes = chunks.iter().map(ColumnChunkMetaData::uncompressed_size);
        let sorting = input.group(from)?.sorting_columns();
        let group = RowGroupMetaData::builder(input.output.descr.clone())
            .set_total_byte_size(bytes.sum())
            .set_num_rows(i64::try_from(rows).unwrap_or(i64::MAX))
            .set_sorting_columns(input.output.sorting(sorting))
            .set_ordinal(i32::try_from(self.groups.len()).unwrap_or(i32::MAX))
            .set_file_offset(shift(0, self.start))
            .set_column_metadata(chunks);
        self.groups.push(self.made(group.build())?);
        self.indexes.push(index);
        self.start = self.out.bytes_written();
        Ok(())
    }

    /// Writes indexes and footer, syncs the file, and returns its bytes and their XXH3-128.
    pub(super) fn finish(mut self, input: &Input) -> Result<(u64, u128), Error> {
        let flushed = self.out.flush();
        self.written(flushed)?;
        self.sink.lock().end = Some(Vec::new());
        let groups = std::mem::take(&mut self.groups);
        let rows: i64 = groups.iter().map(RowGroupMetaData::num_rows).sum();
        let from = input.metadata.file_metadata();
        let metadata = FileMetaData::new(
            from.version(),
            rows,
            from.created_by().map(str::to_owned),
            input.output.key_values.clone(),
            input.output.descr.clone(),
            None,
        );
        let mut index = PageIndexBuilder::new(groups.len(), input.output.descr.num_columns());
        for (group, chunks) in std::mem::take(&mut self.indexes).into_iter().enumerate() {
            for (leaf, (columns, offsets)) in chunks.into_iter().enumerate() {
                if let Some(columns) = columns {
                    index.put_column_index(columns, group, leaf);
                }
                if let Some(offsets) = offsets {
                    index.put_offset_index(offsets, group, leaf);
                }
            }
        }
        let metadata = ParquetMetaDataBuilder::new(metadata)
            .set_row_groups(groups)
            .set_page_index(Some(Arc::new(index.build())))
            .build();
        let Self {
            path, sink, out, ..
        } = self;
        guard(&input.path, "footer", || {
            ParquetMetaDataWriter::new_with_tracked(out, &metadata)
                .with_preserve_page_index_locations(false)
                .finish()
                .map_err(|error| Error::parquet(&input.path, "footer", error))
        })?;
        sink.end(input).map_err(|error| {
            sink.lock()
                .failure
                .take()
                .map_or(error, |failure| Error::io("cannot write", &path, failure))
        })?;
        let state = sink.lock();
        let synced = state.file.sync_all();
        synced.map_err(|error| Error::io("cannot sync", &path, error))?;
        Ok((state.bytes, state.hash.digest128()))
    }
}

impl Sink {
    /// Writes the end of the file, which was held back, with the input's column orders.
    fn end(&self, input: &Input) -> Result<(), Error> {
        let mut state = self.lock();
        let mut end = state.end.take().unwrap_or_default();
        let leaves = input.output.descr.num_columns();
        footer::set_column_orders(&mut end, leaves, input.output.orders.as_deref())
            .map_err(|why| input.damaged("footer".to_owned(), &why))?;
        let written = state.write(&end).and_then(|()| state.drain());
        written.map_err(|error| Error::io("cannot write", &input.path, error))
    }
}

/// How far bytes at `from` of the input move to come to `to` of the output.
fn shift(from: u64, to: usize) -> i64 {
    let signed = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
    signed(to as u64) - signed(from)
}
