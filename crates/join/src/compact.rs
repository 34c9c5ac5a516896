//! A compact copy of the signatures that buckets ask for, on disk, in document order.
//!
//! Written once and read once a band while signatures travel, so that the signature shards, of
//! which it is a small part, are scanned only once. It never outlives the stage. Records are
//! `[document, packed slots]`; blocks of them are preceded by an XXH3-64 of their bytes, seeded by
//! the number of the block.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use records::DocSet;
use workdir::{Error as WorkError, ScratchFile};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::slot::{Slot, pack, words};
use crate::{Before, Error};

/// A block holds about this many bytes.
const BLOCK_BYTES: usize = 256 << 10;

/// The copy.
pub(crate) struct Compact {
    path: PathBuf,
    record_words: usize,
    records: u64,
}

impl Compact {
    /// Words of a record.
    pub(crate) fn record_words<S: Slot>(k: u32) -> usize {
        1 + words::<S>(k as usize)
    }

    /// Copies the low bits of the signatures of the members of `docs`.
    pub(crate) fn write<S: Slot>(
        before: &Before<'_>,
        docs: &DocSet,
        scratch: &Path,
    ) -> Result<Self, Error> {
        let record_words = Self::record_words::<S>(before.pipeline.sign.k);
        let path = scratch.join("signatures");
        let file = ScratchFile::create(&path)?;
        let mut file = BufWriter::with_capacity(BLOCK_BYTES, file);
        let mut block: Vec<u64> = Vec::with_capacity(block_words(record_words));
        let (mut records, mut blocks) = (0u64, 0u64);
        let mut scan = before.scan();
        while let Some((first, batch)) = scan.next_batch()? {
            for i in 0..batch.rows() {
                let doc = first + i as u64;
                if !docs.contains(doc) {
                    continue;
                }
                let slots = batch.slots(i)?.ok_or(Error::NoSignature { doc })?;
                block.push(doc);
                let begin = block.len();
                block.resize(begin + record_words - 1, 0);
                pack::<S>(slots, block.get_mut(begin..).unwrap_or_default());
                records += 1;
                if block.len() == block_words(record_words) {
                    write_block(&mut file, &mut block, &mut blocks)
                        .map_err(WorkError::io("write", &path))?;
                }
            }
        }
        write_block(&mut file, &mut block, &mut blocks)
            .and_then(|()| file.flush())
            .map_err(WorkError::io("write", &path))?;
        Ok(Self {
            path,
            record_words,
            records,
        })
    }

    /// Reads the copy from its start.
    pub(crate) fn read(&self) -> Result<CompactReader<'_>, Error> {
        let file = File::open(&self.path).map_err(WorkError::io("open", &self.path))?;
        Ok(CompactReader {
            copy: self,
            file: BufReader::with_capacity(BLOCK_BYTES, file),
            left: self.records,
            blocks: 0,
            block: Vec::new(),
            position: 0,
        })
    }
}

/// Words of a full block: whole records.
fn block_words(record_words: usize) -> usize {
    (BLOCK_BYTES / 8 / record_words).max(1) * record_words
}

fn write_block(
    file: &mut impl Write,
    block: &mut Vec<u64>,
    blocks: &mut u64,
) -> std::io::Result<()> {
    let bytes: &[u8] = bytemuck::cast_slice(block);
    file.write_all(&xxh3_64_with_seed(bytes, *blocks).to_le_bytes())?;
    file.write_all(bytes)?;
    *blocks += 1;
    block.clear();
    Ok(())
}

/// Reads records in document order.
pub(crate) struct CompactReader<'a> {
    copy: &'a Compact,
    file: BufReader<File>,
    left: u64,
    blocks: u64,
    block: Vec<u64>,
    position: usize,
}

impl CompactReader<'_> {
    /// The next document and its packed slots, none at the end.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, &[u64])>, Error> {
        if self.left == 0 {
            return Ok(None);
        }
        if self.position == self.block.len() {
            self.read_block()?;
        }
        let record_words = self.copy.record_words;
        let record = self.block.get(self.position..self.position + record_words);
        self.position += record_words;
        self.left -= 1;
        Ok(record
            .and_then(|record| record.split_first())
            .map(|(doc, slots)| (*doc, slots)))
    }

    fn read_block(&mut self) -> Result<(), Error> {
        let path = &self.copy.path;
        let rest = self.left.saturating_mul(self.copy.record_words as u64);
        let words = block_words(self.copy.record_words).min(rest as usize);
        let mut checksum = [0u8; 8];
        self.block.resize(words, 0);
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut self.block);
        self.file
            .read_exact(&mut checksum)
            .and_then(|()| self.file.read_exact(bytes))
            .map_err(WorkError::io("read", path))?;
        if xxh3_64_with_seed(bytes, self.blocks) != u64::from_le_bytes(checksum) {
            let what = "a scratch file changed on disk while `join` ran";
            let error = std::io::Error::new(std::io::ErrorKind::InvalidData, what);
            return Err(WorkError::io("read", path)(error).into());
        }
        self.blocks += 1;
        self.position = 0;
        Ok(())
    }
}
