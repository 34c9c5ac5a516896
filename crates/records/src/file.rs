//! A file of fixed-width records: header, checksummed blocks, footer.
//!
//! All integers are little-endian.
//!
//! | part | bytes | content |
//! |---|---|---|
//! | magic | 8 | `ndrecs1\n` |
//! | sizes | 16 | `u32` bytes of the provenance, `u32` words in a record, `u32` records in a full block, `u32` 0 |
//! | provenance | as said | JSON of [`Provenance`] |
//! | header checksum | 8 | XXH3-64 of all before |
//! | block, repeated | 16 + records | `u32` records, `u32` number of the block (wraps), `u64` XXH3-64 of the records, seeded by the number of the block |
//! | footer | 32 | `ndrecend`, `u64` records, `u64` blocks, `u64` XXH3-64 of the two counts, seeded by the header checksum |
//!
//! All blocks but the last are full, so the place of every record follows from its number: a
//! sorted file can be searched. A torn tail is seen from the footer without reading the rest.
//!
//! Records are arrays of `u64` words; the format is defined for little-endian machines, and a
//! big-endian build does not compile.

use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom, Write};

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::pods::Record;
use crate::{Mismatch, Provenance};

#[cfg(target_endian = "big")]
compile_error!("record files are defined for little-endian machines");

const MAGIC: &[u8; 8] = b"ndrecs1\n";
const END_MAGIC: &[u8; 8] = b"ndrecend";
const FOOTER_BYTES: u64 = 32;
const BLOCK_HEADER_BYTES: usize = 16;
/// A full block holds about this many bytes of records.
const BLOCK_BYTES: usize = 64 << 10;
/// No provenance comes near this; a larger length is damage, and is not allocated.
const PROVENANCE_BYTES_MAX: u32 = 1 << 20;

/// What is wrong with a record file. The caller adds its path.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The disk failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file is not a record file or is damaged.
    #[error("it is damaged: {what} at byte {offset}")]
    Damaged {
        /// What does not hold.
        what: String,
        /// Where, from the start of the file.
        offset: u64,
    },
    /// The file was made with other settings.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
}

fn damaged(what: impl Into<String>, offset: u64) -> FileError {
    FileError::Damaged {
        what: what.into(),
        offset,
    }
}

/// Reads exactly, and calls an early end damage.
fn read_exact(reader: &mut impl Read, buffer: &mut [u8], offset: u64) -> Result<(), FileError> {
    reader.read_exact(buffer).map_err(|error| {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            damaged("the file ends early", offset)
        } else {
            FileError::Io(error)
        }
    })
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

/// Writes records of type `R` in the order given, holding one block in memory.
#[derive(Debug)]
pub struct RecordWriter<W: Write, R: Record> {
    writer: W,
    block: Vec<R>,
    block_records: usize,
    records: u64,
    blocks: u64,
    header_checksum: u64,
}

impl<W: Write, R: Record> RecordWriter<W, R> {
    /// Writes the header.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn new(mut writer: W, settings: BTreeMap<String, String>) -> Result<Self, FileError> {
        let block_records = (BLOCK_BYTES / size_of::<R>()).max(1);
        let provenance = Provenance::new(R::KIND, R::FORMAT, settings);
        let json = serde_json::to_vec(&provenance).map_err(io::Error::from)?;
        let mut header = MAGIC.to_vec();
        for size in [json.len(), R::WORDS, block_records, 0] {
            let size = u32::try_from(size).map_err(io::Error::other)?;
            header.extend_from_slice(&size.to_le_bytes());
        }
        header.extend_from_slice(&json);
        let header_checksum = xxh3_64(&header);
        header.extend_from_slice(&header_checksum.to_le_bytes());
        writer.write_all(&header)?;
        Ok(Self {
            writer,
            block: Vec::with_capacity(block_records),
            block_records,
            records: 0,
            blocks: 0,
            header_checksum,
        })
    }

    /// Appends a record.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn push(&mut self, record: &R) -> Result<(), FileError> {
        self.block.push(*record);
        if self.block.len() == self.block_records {
            self.write_block()?;
        }
        Ok(())
    }

    /// Records pushed so far.
    pub fn records(&self) -> u64 {
        self.records + self.block.len() as u64
    }

    fn write_block(&mut self) -> Result<(), FileError> {
        let payload: &[u8] = bytemuck::cast_slice(&self.block);
        let mut header = [0u8; BLOCK_HEADER_BYTES];
        header[..4].copy_from_slice(&(self.block.len() as u32).to_le_bytes());
        header[4..8].copy_from_slice(&(self.blocks as u32).to_le_bytes());
        header[8..].copy_from_slice(&xxh3_64_with_seed(payload, self.blocks).to_le_bytes());
        self.writer.write_all(&header)?;
        self.writer.write_all(payload)?;
        self.records += self.block.len() as u64;
        self.blocks += 1;
        self.block.clear();
        Ok(())
    }

    /// Writes the last block and the footer, flushes, and gives the writer back, with the number
    /// of records. A buffer that is only dropped would lose the error of a full disk. Nothing is
    /// synced here.
    ///
    /// # Errors
    /// When the writer fails.
    pub fn finish(mut self) -> Result<(W, u64), FileError> {
        if !self.block.is_empty() {
            self.write_block()?;
        }
        let mut counts = [0u8; 16];
        counts[..8].copy_from_slice(&self.records.to_le_bytes());
        counts[8..].copy_from_slice(&self.blocks.to_le_bytes());
        let checksum = xxh3_64_with_seed(&counts, self.header_checksum);
        self.writer.write_all(END_MAGIC)?;
        self.writer.write_all(&counts)?;
        self.writer.write_all(&checksum.to_le_bytes())?;
        self.writer.flush()?;
        Ok((self.writer, self.records))
    }
}

/// Reads records of type `R` in file order, or from any record on.
///
/// Header and footer are checked when it is opened; each block as it is read.
#[derive(Debug)]
pub struct RecordReader<F: Read + Seek, R: Record> {
    file: F,
    provenance: Provenance,
    header_bytes: u64,
    block_records: usize,
    records: u64,
    blocks: u64,
    next_block: u64,
    block: Vec<R>,
    position: usize,
}

impl<F: Read + Seek, R: Record> RecordReader<F, R> {
    /// Checks header, footer and length, and stands before the first record.
    ///
    /// # Errors
    /// [`FileError::Damaged`] for another kind of file, a torn or a changed one;
    /// [`FileError::Mismatch`] for another kind or format of record file.
    pub fn new(mut file: F) -> Result<Self, FileError> {
        let bytes = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(0))?;
        let (provenance, block_records, header_bytes, checksum) = read_header::<R>(&mut file)?;
        let block_bytes = (BLOCK_HEADER_BYTES + block_records * size_of::<R>()) as u64;
        let (records, blocks) = read_footer(&mut file, bytes, header_bytes, checksum)?;
        let full = records / block_records as u64;
        let rest = records % block_records as u64;
        let last = if rest == 0 {
            0
        } else {
            BLOCK_HEADER_BYTES as u64 + rest * size_of::<R>() as u64
        };
        let expected = full
            .checked_mul(block_bytes)
            .and_then(|bytes| bytes.checked_add(header_bytes + last + FOOTER_BYTES));
        if expected != Some(bytes) || blocks != full + u64::from(rest > 0) {
            return Err(damaged(
                format!("{records} records do not fit a file of {bytes} bytes"),
                bytes - FOOTER_BYTES,
            ));
        }
        file.seek(SeekFrom::Start(header_bytes))?;
        Ok(Self {
            file,
            provenance,
            header_bytes,
            block_records,
            records,
            blocks,
            next_block: 0,
            block: Vec::new(),
            position: 0,
        })
    }

    /// What the file says of itself.
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// Records in the file.
    pub fn len(&self) -> u64 {
        self.records
    }

    /// Whether the file has no record.
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// The next record, none at the end.
    ///
    /// # Errors
    /// When the disk fails or the block is damaged.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator of results reads worse in the stages' merge loops"
    )]
    pub fn next(&mut self) -> Result<Option<R>, FileError> {
        if self.position == self.block.len() {
            if self.next_block == self.blocks {
                return Ok(None);
            }
            self.read_block()?;
        }
        let record = self.block.get(self.position).copied();
        self.position += 1;
        Ok(record)
    }

    /// Stands before the first record for which `before` is false, where all records for which
    /// it is true come first (a sorted file). Reads O(log blocks) blocks.
    ///
    /// # Errors
    /// When the disk fails or a block is damaged.
    pub fn seek(&mut self, before: impl Fn(&R) -> bool) -> Result<(), FileError> {
        // The last block whose first record is `before` is the one that holds the border.
        let (mut low, mut high) = (0, self.blocks);
        while low < high {
            let middle = low + (high - low) / 2;
            self.go_to_block(middle)?;
            if self.block.first().is_some_and(&before) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if self.blocks == 0 {
            return Ok(());
        }
        self.go_to_block(low.saturating_sub(1))?;
        self.position = self.block.partition_point(before);
        Ok(())
    }

    fn go_to_block(&mut self, block: u64) -> Result<(), FileError> {
        let block_bytes = (BLOCK_HEADER_BYTES + self.block_records * size_of::<R>()) as u64;
        self.file
            .seek(SeekFrom::Start(self.header_bytes + block * block_bytes))?;
        self.next_block = block;
        self.read_block()
    }

    fn read_block(&mut self) -> Result<(), FileError> {
        let number = self.next_block;
        let block_bytes = (BLOCK_HEADER_BYTES + self.block_records * size_of::<R>()) as u64;
        let offset = self.header_bytes + number * block_bytes;
        let first = number * self.block_records as u64;
        let count = (self.records - first).min(self.block_records as u64) as usize;
        let mut header = [0u8; BLOCK_HEADER_BYTES];
        read_exact(&mut self.file, &mut header, offset)?;
        if u32_at(&header, 0) as usize != count || u32_at(&header, 4) != number as u32 {
            return Err(damaged("a block says another size or number", offset));
        }
        self.block.resize(count, R::zeroed());
        let payload: &mut [u8] = bytemuck::cast_slice_mut(&mut self.block);
        read_exact(&mut self.file, payload, offset)?;
        if xxh3_64_with_seed(payload, number) != u64_at(&header, 8) {
            return Err(damaged("the checksum of a block does not match", offset));
        }
        self.next_block = number + 1;
        self.position = 0;
        Ok(())
    }
}

/// Provenance, records in a block, bytes of the header, its checksum.
fn read_header<R: Record>(
    file: &mut impl Read,
) -> Result<(Provenance, usize, u64, u64), FileError> {
    let mut header = vec![0u8; 24];
    read_exact(file, &mut header, 0)?;
    if &header[..8] != MAGIC {
        return Err(damaged("it does not begin as a record file does", 0));
    }
    let provenance_bytes = u32_at(&header, 8);
    let words = u32_at(&header, 12) as usize;
    let block_records = u32_at(&header, 16) as usize;
    if provenance_bytes > PROVENANCE_BYTES_MAX {
        return Err(damaged("the header has an impossible length", 8));
    }
    header.resize(24 + provenance_bytes as usize, 0);
    read_exact(file, &mut header[24..], 24)?;
    let mut stored = [0u8; 8];
    read_exact(file, &mut stored, 24 + u64::from(provenance_bytes))?;
    let checksum = xxh3_64(&header);
    if checksum != u64::from_le_bytes(stored) {
        return Err(damaged("the checksum of the header does not match", 0));
    }
    let provenance: Provenance = serde_json::from_slice(&header[24..])
        .map_err(|error| damaged(format!("the header is not understood ({error})"), 24))?;
    Provenance::new(R::KIND, R::FORMAT, provenance.settings.clone()).check(&provenance)?;
    if words != R::WORDS || block_records != (BLOCK_BYTES / size_of::<R>()).max(1) {
        return Err(damaged("the records have another size", 12));
    }
    Ok((provenance, block_records, header.len() as u64 + 8, checksum))
}

/// Records and blocks.
fn read_footer(
    file: &mut (impl Read + Seek),
    bytes: u64,
    header_bytes: u64,
    header_checksum: u64,
) -> Result<(u64, u64), FileError> {
    if bytes < header_bytes + FOOTER_BYTES {
        return Err(damaged("the file ends early", bytes));
    }
    let offset = bytes - FOOTER_BYTES;
    file.seek(SeekFrom::Start(offset))?;
    let mut footer = [0u8; FOOTER_BYTES as usize];
    read_exact(file, &mut footer, offset)?;
    if &footer[..8] != END_MAGIC {
        return Err(damaged("the footer is missing (a torn write?)", offset));
    }
    if xxh3_64_with_seed(&footer[8..24], header_checksum) != u64_at(&footer, 24) {
        return Err(damaged("the checksum of the footer does not match", offset));
    }
    Ok((u64_at(&footer, 8), u64_at(&footer, 16)))
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
