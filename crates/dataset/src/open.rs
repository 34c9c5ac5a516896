//! Opening a Parquet file that may be anything: checks before the Parquet crate sees it, its
//! panics as errors, and reads that threads can share.

mod footer;
pub(crate) mod header;
mod inflate;
pub(crate) mod pages;

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, Once, PoisonError};

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataOptions,
    ParquetMetaDataReader, ParquetStatisticsPolicy,
};
use parquet::file::reader::{ChunkReader, Length};

use crate::error::Error;

/// Bytes that are read ahead where the extent of what follows is not known: page headers, indexes.
const READ_AHEAD: usize = 64 << 10;
/// Bytes that are read ahead within a column chunk.
const CHUNK_READ_AHEAD: usize = 1 << 20;

/// Bytes that a page header fits into, as a rule.
const HEADER_BYTES: usize = 256;

thread_local! {
    /// How many guards are open on this thread.
    static GUARDS: Cell<u32> = const { Cell::new(0) };
}

/// Runs `work` on a file of unknown origin: a panic of a dependency becomes an [`Error::Parquet`]
/// at `place`, and prints nothing. State that `work` changed is not to be used after an error.
pub(crate) fn guard<T>(
    path: &Path,
    place: &str,
    work: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    quiet_hook();
    GUARDS.set(GUARDS.get() + 1);
    let result = catch_unwind(AssertUnwindSafe(work));
    GUARDS.set(GUARDS.get().saturating_sub(1));
    result.unwrap_or_else(|payload| {
        let text = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| payload.downcast_ref::<&str>().copied())
            .unwrap_or("without a message");
        Err(Error::Parquet {
            path: path.to_path_buf(),
            place: place.to_owned(),
            message: format!("the Parquet reader panicked: {text}"),
        })
    })
}

/// Wraps the panic hook once, so that panics inside of a guard are silent and all others as ever.
fn quiet_hook() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if GUARDS.get() == 0 {
                before(info);
            }
        }));
    });
}

/// A file that any number of threads read at once, by position; clones share the descriptor and
/// each has a read-ahead block of its own.
pub(crate) struct SharedFile {
    file: Arc<File>,
    /// The length of the file as it was opened.
    length: u64,
    /// Where reading ahead has to end.
    ahead_end: u64,
    /// How many bytes are read ahead at a time.
    ahead: usize,
    /// The block that was read last: its position and bytes.
    block: Mutex<(u64, Bytes)>,
}

impl Clone for SharedFile {
    fn clone(&self) -> Self {
        self.with_ahead(self.ahead_end, self.ahead)
    }
}

impl SharedFile {
    fn with_ahead(&self, ahead_end: u64, ahead: usize) -> Self {
        Self {
            file: Arc::clone(&self.file),
            length: self.length,
            ahead_end,
            ahead,
            block: Mutex::new((0, Bytes::new())),
        }
    }

    /// The file for reading one column chunk from its start to its end: with larger blocks, that
    /// never reach into the next chunk. Refuses a chunk that lies outside of the file.
    pub(crate) fn for_chunk(
        &self,
        path: &Path,
        place: &str,
        chunk: &ColumnChunkMetaData,
    ) -> Result<Self, Error> {
        let (start, bytes) = chunk_range(self, path, place, chunk)?;
        Ok(self.with_ahead(start + bytes, CHUNK_READ_AHEAD))
    }

    /// Exactly `length` bytes from `start`.
    fn read_exact(&self, start: u64, length: usize) -> io::Result<Bytes> {
        let inside = start
            .checked_add(length as u64)
            .is_some_and(|end| end <= self.length);
        if !inside {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                format!(
                    "{length} bytes at {start} lie beyond the end of the file ({} bytes)",
                    self.length
                ),
            ));
        }
        let mut buffer = vec![0; length];
        self.file.read_exact_at(&mut buffer, start)?;
        Ok(buffer.into())
    }

    /// At least `least` bytes from `start`, and what was read ahead beyond them.
    fn read_block(&self, start: u64, least: usize) -> io::Result<Bytes> {
        let mut block = self.block.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(skip) = start.checked_sub(block.0)
            && let Ok(skip) = usize::try_from(skip)
            && skip < block.1.len()
            && block.1.len() - skip >= least
        {
            return Ok(block.1.slice(skip..));
        }
        if least >= self.ahead {
            return self.read_exact(start, least);
        }
        let end = self.ahead_end.min(self.length);
        let room = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
        let bytes = self.read_exact(start, self.ahead.min(room).max(least))?;
        *block = (start, bytes.clone());
        Ok(bytes)
    }
}

impl Length for SharedFile {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for SharedFile {
    type T = SharedRead;

    fn get_read(&self, start: u64) -> Result<SharedRead, ParquetError> {
        let end = self.ahead_end.min(self.length);
        let room = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
        let least = usize::from(start < self.length);
        Ok(SharedRead {
            buffered: self.read_block(start, HEADER_BYTES.min(room).max(least))?,
            file: self.clone(),
            position: start,
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        if length == 0 {
            return Ok(Bytes::new());
        }
        let mut bytes = self.read_block(start, length)?;
        bytes.truncate(length);
        Ok(bytes)
    }
}

/// Reads a [`SharedFile`] from a position on.
pub(crate) struct SharedRead {
    file: SharedFile,
    /// Where `buffered` begins in the file.
    position: u64,
    buffered: Bytes,
}

impl Read for SharedRead {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        if self.buffered.is_empty() && self.position < self.file.length {
            self.buffered = self.file.read_block(self.position, 1)?;
        }
        let count = target.len().min(self.buffered.len());
        let head = self.buffered.split_to(count);
        for (to, from) in target.iter_mut().zip(head.iter()) {
            *to = *from;
        }
        self.position += count as u64;
        Ok(count)
    }
}

/// Opens a file that should be Parquet, and checks what can be checked without decoding: a regular
/// file with the magic at both ends and a footer that fits between them.
pub(crate) fn open(path: &Path) -> Result<SharedFile, Error> {
    // Before opening: opening a pipe would wait for its other end.
    let found = std::fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::Missing {
            path: path.to_path_buf(),
        },
        _ => Error::io("cannot read", path, error),
    })?;
    if !found.is_file() {
        return Err(Error::NotAFile {
            path: path.to_path_buf(),
        });
    }
    let file = File::open(path).map_err(|error| Error::io("cannot open", path, error))?;
    let length = file
        .metadata()
        .map_err(|error| Error::io("cannot read", path, error))?
        .len();
    let shared = SharedFile {
        file: Arc::new(file),
        length,
        ahead_end: length,
        ahead: READ_AHEAD,
        block: Mutex::new((0, Bytes::new())),
    };
    footer::range(&shared, path)?;
    Ok(shared)
}

/// The size in bytes and the time of modification in nanoseconds since 1970 of an open file.
pub(crate) fn stamp(file: &SharedFile, path: &Path) -> Result<(u64, i64), Error> {
    let metadata = file
        .file
        .metadata()
        .map_err(|error| Error::io("cannot read", path, error))?;
    Ok((metadata.len(), modified_ns(&metadata)))
}

/// The time of modification in nanoseconds since 1970, saturating.
pub(crate) fn modified_ns(metadata: &std::fs::Metadata) -> i64 {
    use std::os::unix::fs::MetadataExt;
    metadata
        .mtime()
        .saturating_mul(1_000_000_000)
        .saturating_add(metadata.mtime_nsec())
}

/// The bytes of the footer: Thrift, without its length and the magic.
pub(crate) fn footer_bytes(file: &SharedFile, path: &Path) -> Result<Bytes, Error> {
    let (start, length) = footer::range(file, path)?;
    read_range(file, path, start, length)
}

/// Memory that a byte of a footer takes while it is parsed and after: measured up to 4.2, for row
/// groups of one row.
const FOOTER_FACTOR: u64 = 5;

/// What reading the footer of a file takes in memory, in bytes, found without reading it; as long
/// as the file is open, nearly all of it stays. Costs opening the file.
///
/// # Errors
///
/// A file that cannot be read or is not Parquet.
pub fn footer_memory(listed: &crate::Listed) -> Result<u64, Error> {
    let file = open(&listed.path)?;
    let (_, length) = footer::range(&file, &listed.path)?;
    Ok(FOOTER_FACTOR.saturating_mul(length as u64))
}

/// Exactly these bytes of the file.
pub(crate) fn read_range(
    file: &SharedFile,
    path: &Path,
    start: u64,
    length: usize,
) -> Result<Bytes, Error> {
    file.read_exact(start, length).map_err(|error| {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            Error::NotParquet {
                path: path.to_path_buf(),
                found: format!(
                    "it ends before byte {}",
                    start.saturating_add(length as u64)
                ),
            }
        } else {
            Error::io("cannot read", path, error)
        }
    })
}

/// How much of a file's metadata is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetadataNeeds {
    /// What reading takes: schema and row groups, without statistics.
    Footer,
    /// What copying takes: all of the footer, and the page indexes that there are.
    Everything,
}

/// Parses the metadata of a file, under [`guard`]. Costs the footer's size in memory several times.
///
/// The footer is walked before the Parquet crate parses it, so that neither a schema nested so
/// deeply that the stack overflows nor a count that no memory could hold reaches the crate.
pub(crate) fn metadata(
    file: &SharedFile,
    path: &Path,
    needs: MetadataNeeds,
) -> Result<Arc<ParquetMetaData>, Error> {
    let bytes = footer_bytes(file, path)?;
    footer::check(&bytes, path)?;
    let mut options = ParquetMetaDataOptions::new();
    match needs {
        MetadataNeeds::Footer => {
            options.set_column_stats_policy(ParquetStatisticsPolicy::SkipAll);
            options.set_size_stats_policy(ParquetStatisticsPolicy::SkipAll);
            options.set_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll);
        }
        MetadataNeeds::Everything => options.set_encoding_stats_as_mask(false),
    }
    let metadata = guard(path, "footer", || {
        ParquetMetaDataReader::decode_metadata_with_options(&bytes, Some(&options))
            .map_err(|error| Error::parquet(path, "footer", error))
    })?;
    if needs == MetadataNeeds::Footer {
        return Ok(Arc::new(metadata));
    }
    guard(path, "page indexes", || {
        let mut reader = ParquetMetaDataReader::new_with_metadata(metadata)
            .with_page_index_policy(PageIndexPolicy::Optional);
        reader
            .read_page_indexes(file)
            .and_then(|()| reader.finish())
            .map(Arc::new)
            .map_err(|error| Error::parquet(path, "page indexes", error))
    })
}

/// Where a column chunk lies: its first byte and its length; refused if that is not in the file.
pub(crate) fn chunk_range(
    file: &SharedFile,
    path: &Path,
    place: &str,
    chunk: &ColumnChunkMetaData,
) -> Result<(u64, u64), Error> {
    let start = chunk
        .dictionary_page_offset()
        .unwrap_or_else(|| chunk.data_page_offset());
    let length = chunk.compressed_size();
    match (u64::try_from(start), u64::try_from(length)) {
        (Ok(first), Ok(bytes))
            if first
                .checked_add(bytes)
                .is_some_and(|end| end <= file.length) =>
        {
            Ok((first, bytes))
        }
        _ => Err(Error::Parquet {
            path: path.to_path_buf(),
            place: place.to_owned(),
            message: format!(
                "the column chunk is said to take {length} bytes from {start}, but the file has {}",
                file.length
            ),
        }),
    }
}

#[cfg(test)]
mod tests;
