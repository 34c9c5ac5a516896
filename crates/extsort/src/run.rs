//! A run: sorted records in a file, in blocks that prove themselves.
//!
//! A block is a header of five words and then whole records. All blocks of a run but the last hold
//! the same number of records. The reader knows from memory how many records each block must hold,
//! so nothing that the disk says sizes an allocation.
//!
//! | word | content                                                       |
//! |------|---------------------------------------------------------------|
//! | 0    | XXH3-64 of all that follows in the block                       |
//! | 1    | the magic `extsort1`                                           |
//! | 2    | the number of the run in its sort                              |
//! | 3    | the number of the block in its run                             |
//! | 4    | the records in the block                                       |

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::TempPath;
use xxhash_rust::xxh3::xxh3_64;

use crate::config::WORD_BYTES;
use crate::error::Error;
use crate::fault;

const HEADER_WORDS: usize = 5;
/// Bytes of a block's header.
pub(crate) const HEADER_BYTES: usize = HEADER_WORDS * WORD_BYTES;
const MAGIC: u64 = u64::from_le_bytes(*b"extsort1");
/// Run files begin with this.
pub(crate) const FILE_PREFIX: &str = "sort-";

/// The sizes that all runs of a sort share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Words of a record.
    pub(crate) record_words: usize,
    /// Records of a block, 1 or more.
    pub(crate) block_records: usize,
}

impl Shape {
    /// Words of a block of so many records.
    fn words_of(self, records: usize) -> usize {
        HEADER_WORDS + records * self.record_words
    }

    /// Words of a full block.
    pub(crate) fn block_words(self) -> usize {
        self.words_of(self.block_records)
    }
}

/// A complete run; its file goes when this is dropped.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) path: TempPath,
    pub(crate) number: u64,
    /// How often its records were written: 1 from the buffer, 2 from a merge of such runs, and so
    /// on.
    pub(crate) generation: u32,
    pub(crate) records: u64,
    pub(crate) bytes: u64,
}

/// Writes a run, block by block. Dropped before [`RunWriter::finish`] it removes its file.
pub(crate) struct RunWriter {
    // The handle closes before the file is removed, which some systems require.
    /// None where the file is open only while a block is written.
    file: Option<File>,
    run: Run,
    folder: PathBuf,
    shape: Shape,
    /// The block in the making, header first.
    block: Vec<u64>,
    block_number: u64,
}

impl RunWriter {
    /// Creates the file in `folder`. `block` is memory to use again: it comes back from
    /// [`RunWriter::finish`].
    pub(crate) fn create(
        folder: &Path,
        shape: Shape,
        number: u64,
        generation: u32,
        block: Vec<u64>,
    ) -> Result<Self, Error> {
        let (file, path) = fault::point("open")
            .and_then(|()| {
                tempfile::Builder::new()
                    .prefix(FILE_PREFIX)
                    .tempfile_in(folder)
            })
            .map_err(|error| Error::io("create a sort run in", folder, folder, error))?
            .into_parts();
        let run = Run {
            path,
            number,
            generation,
            records: 0,
            bytes: 0,
        };
        Ok(Self::new(file, run, folder, shape, block))
    }

    /// Closes the file between blocks, for those who write many runs at once.
    pub(crate) fn closed_between_blocks(mut self) -> Self {
        self.file = None;
        self
    }

    pub(crate) fn new(
        file: File,
        run: Run,
        folder: &Path,
        shape: Shape,
        mut block: Vec<u64>,
    ) -> Self {
        block.clear();
        block.reserve_exact(shape.block_words());
        block.resize(HEADER_WORDS, 0);
        Self {
            file: Some(file),
            run,
            folder: folder.to_path_buf(),
            shape,
            block,
            block_number: 0,
        }
    }

    /// Appends whole records, which continue the order.
    #[inline]
    pub(crate) fn append(&mut self, mut records: &[u64]) -> Result<(), Error> {
        let full = self.shape.block_words();
        while let Some((head, rest)) = records.split_at_checked(full - self.block.len()) {
            self.block.extend_from_slice(head);
            self.write_block()?;
            records = rest;
        }
        self.block.extend_from_slice(records);
        Ok(())
    }

    #[cold]
    fn write_block(&mut self) -> Result<(), Error> {
        let records = ((self.block.len() - HEADER_WORDS) / self.shape.record_words) as u64;
        if let [_, magic, run, number, count, ..] = &mut self.block[..] {
            (*magic, *run, *number, *count) = (MAGIC, self.run.number, self.block_number, records);
        }
        let sum = checksum(&self.block);
        if let Some(first) = self.block.first_mut() {
            *first = sum;
        }
        let bytes = bytemuck::cast_slice(&self.block);
        fault::point("write")
            .and_then(|()| match &mut self.file {
                Some(file) => file.write_all(bytes),
                None => OpenOptions::new()
                    .append(true)
                    .open(&self.run.path)
                    .and_then(|mut file| file.write_all(bytes)),
            })
            .map_err(|error| Error::io("write", &self.run.path, &self.folder, error))?;
        self.run.records += records;
        self.run.bytes += bytes.len() as u64;
        self.block_number += 1;
        self.block.truncate(HEADER_WORDS);
        Ok(())
    }

    /// Writes the last block and closes the file.
    pub(crate) fn finish(mut self) -> Result<(Run, Vec<u64>), Error> {
        if self.block.len() > HEADER_WORDS {
            self.write_block()?;
        }
        Ok((self.run, self.block))
    }
}

/// Reads a run block by block into a slot of a merge's memory, and stands on a record: see
/// [`RunReader::head`].
pub(crate) struct RunReader {
    file: File,
    path: PathBuf,
    folder: PathBuf,
    shape: Shape,
    run_number: u64,
    block_number: u64,
    /// Where the next block begins, in bytes.
    offset: u64,
    /// Records in the blocks that are not read yet.
    records_left: u64,
    /// Where in the memory the slot begins.
    slot: usize,
    /// Where in the memory the record begins that the reader stands on.
    at: usize,
    /// Where in the memory the block ends; equal to `at` at the end of the run.
    end: usize,
}

impl RunReader {
    /// Opens a run, and reads its first block into the block's worth of `memory` that begins at
    /// `slot`.
    pub(crate) fn open(
        run: &Run,
        folder: &Path,
        shape: Shape,
        memory: &mut [u64],
        slot: usize,
    ) -> Result<Self, Error> {
        let file =
            File::open(&run.path).map_err(|error| Error::io("open", &run.path, folder, error))?;
        let mut reader = Self {
            file,
            path: run.path.to_path_buf(),
            folder: folder.to_path_buf(),
            shape,
            run_number: run.number,
            block_number: 0,
            offset: 0,
            records_left: run.records,
            slot,
            at: slot,
            end: slot,
        };
        reader.read_block(memory)?;
        Ok(reader)
    }

    /// The record that the reader stands on; `None` at the end of the run.
    #[inline]
    pub(crate) fn head<'m>(&self, memory: &'m [u64]) -> Option<&'m [u64]> {
        if self.at == self.end {
            return None;
        }
        memory.get(self.at..self.at + self.shape.record_words)
    }

    /// Goes to the next record, if there is one. After an error it still stands before it, and a
    /// further call tries the same block again.
    #[inline]
    pub(crate) fn advance(&mut self, memory: &mut [u64]) -> Result<(), Error> {
        let next = self.at + self.shape.record_words;
        if next < self.end {
            self.at = next;
            return Ok(());
        }
        self.read_block(memory)
    }

    #[cold]
    fn read_block(&mut self, memory: &mut [u64]) -> Result<(), Error> {
        let records = self.records_left.min(self.shape.block_records as u64);
        // At most block_records, which is a usize.
        let words = self.shape.words_of(records as usize);
        let Some(block) = memory
            .get_mut(self.slot..self.slot + words)
            .filter(|_| records > 0)
        else {
            (self.at, self.end) = (self.slot, self.slot);
            return Ok(());
        };
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(block);
        let wanted = bytes.len();
        let found = self
            .file
            .seek(SeekFrom::Start(self.offset))
            .and_then(|_| read_full(&mut self.file, bytes))
            .map_err(|error| Error::io("read", &self.path, &self.folder, error))?;
        if found < wanted {
            return Err(self.corrupt(
                format!("a block of {wanted} bytes"),
                format!("{found} bytes before the end of the file"),
            ));
        }
        self.check_block(block, records)?;
        (self.at, self.end) = (self.slot + HEADER_WORDS, self.slot + words);
        self.offset += wanted as u64;
        self.block_number += 1;
        self.records_left -= records;
        Ok(())
    }

    fn check_block(&self, block: &[u64], records: u64) -> Result<(), Error> {
        let (stored, header) = match block[..] {
            [sum, magic, run, number, count, ..] => (sum, [magic, run, number, count]),
            _ => (0, [0; 4]),
        };
        let computed = checksum(block);
        if stored != computed {
            return Err(self.corrupt(
                format!("the checksum {stored:016x}"),
                format!("bytes whose checksum is {computed:016x}"),
            ));
        }
        let expected = [MAGIC, self.run_number, self.block_number, records];
        if header != expected {
            return Err(self.corrupt(describe(expected), describe(header)));
        }
        Ok(())
    }

    fn corrupt(&self, expected: String, found: String) -> Error {
        Error::Corrupt {
            path: self.path.clone(),
            offset: self.offset,
            expected,
            found,
        }
    }
}

fn describe([magic, run, number, records]: [u64; 4]) -> String {
    format!("block {number} of run {run} with {records} records (magic {magic:016x})")
}

/// The checksum of a block: of all its words but the first, which holds it.
fn checksum(block: &[u64]) -> u64 {
    xxh3_64(bytemuck::cast_slice(block.get(1..).unwrap_or(&[])))
}

/// Reads until `bytes` is full or the file ends; returns the bytes read.
fn read_full(file: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
