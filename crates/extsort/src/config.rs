//! What the caller sets, and how the budget is shared out.

use std::path::PathBuf;

use crate::error::Error;
use crate::order;
use crate::run::HEADER_BYTES;

/// The greatest width of a record, in words of 8 bytes.
pub const MAX_RECORD_WORDS: usize = 4096;
/// The greatest width of a key, in words of 8 bytes.
pub const MAX_KEY_WORDS: usize = 8;

/// Bytes of a record's word.
pub(crate) const WORD_BYTES: usize = size_of::<u64>();
/// Kept free for what is small: the list of runs, the tree, paths.
const FIXED_BYTES: usize = 64 << 10;
const MIN_BLOCK_BYTES: usize = 64 << 10;
const MAX_BLOCK_BYTES: usize = 1 << 20;
/// With the merged run that is being written, 64 files are open at most.
const MAX_FAN_IN: usize = 63;
/// More runs than this would not fit [`FIXED_BYTES`].
const RUN_LIMIT: usize = 128;

/// The settings of a [`Sorter`](crate::Sorter).
#[derive(Clone, Debug)]
pub struct Config {
    /// An existing folder for runs. Their names begin with `sort-`; they are made when the buffer
    /// is first full, and removed when the sort is dropped.
    pub folder: PathBuf,
    /// The most memory that the sort may hold, in bytes; at least [`Config::minimum_memory_bytes`].
    pub memory_bytes: u64,
    /// The most files that the sort may have open, 3 or more; beyond 64 there is no use for them.
    pub open_files: usize,
    /// The threads that sort the buffer, 1 or more. Merging takes the caller's thread.
    pub threads: usize,
    /// W, the words of a record: 1 to [`MAX_RECORD_WORDS`].
    pub record_words: usize,
    /// The words at a record's head that normally decide: 1 to [`MAX_KEY_WORDS`] and at most W. All
    /// words are compared where these are equal, so this never changes the order; records wider
    /// than 8 words are sorted through an index of 16 bytes a record where it is 1, else of 24.
    pub key_words: usize,
}

impl Config {
    /// The least [`Config::memory_bytes`] for records of `record_words` words: two merge streams,
    /// the run that they are merged into, the index of wide records, and 64 KiB for the rest. It is
    /// 320 KiB for all widths up to 4093 words.
    #[must_use]
    pub fn minimum_memory_bytes(record_words: usize) -> u64 {
        (FIXED_BYTES + 4 * min_block_bytes(record_words)) as u64
    }

    /// Refuses what cannot be sorted, before anything is read or written.
    pub(crate) fn check(&self) -> Result<(), Error> {
        in_range("record_words", self.record_words, MAX_RECORD_WORDS)?;
        in_range(
            "key_words",
            self.key_words,
            MAX_KEY_WORDS.min(self.record_words),
        )?;
        in_range("threads", self.threads, usize::MAX)?;
        if self.open_files < 3 {
            return Err(Error::Setting {
                name: "open_files",
                least: 3,
                most: usize::MAX,
                found: self.open_files,
            });
        }
        let minimum_bytes = Self::minimum_memory_bytes(self.record_words);
        if self.memory_bytes < minimum_bytes {
            return Err(Error::Budget {
                record_words: self.record_words,
                memory_bytes: self.memory_bytes,
                minimum_bytes,
            });
        }
        if !self.folder.is_dir() {
            return Err(Error::Folder {
                folder: self.folder.clone(),
            });
        }
        Ok(())
    }
}

fn in_range(name: &'static str, found: usize, most: usize) -> Result<(), Error> {
    let least = 1;
    if (least..=most).contains(&found) {
        return Ok(());
    }
    Err(Error::Setting {
        name,
        least,
        most,
        found,
    })
}

/// A block holds two records at least, so that a merge advances by more than a record a read.
fn min_block_bytes(record_words: usize) -> usize {
    let two_records = record_words.saturating_mul(2 * WORD_BYTES);
    MIN_BLOCK_BYTES.max(two_records.saturating_add(HEADER_BYTES))
}

/// How the budget is shared out; tests set it directly to reach several generations with few
/// records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tuning {
    /// Records that the buffer holds before it is spilled.
    pub(crate) buffer_records: usize,
    /// Records of a block of a run.
    pub(crate) block_records: usize,
    /// Runs that are merged at once, 2 or more.
    pub(crate) fan_in: usize,
    /// Runs that may exist before some are merged while records still come in. Waiting pays: only
    /// at the end is it known how few have to be merged.
    pub(crate) run_limit: usize,
}

impl Tuning {
    /// Shares out the budget of a checked `config`: the buffer and its index, and the writer's
    /// block. Merges read into the buffer.
    pub(crate) fn new(config: &Config) -> Self {
        let record_bytes = config.record_words * WORD_BYTES;
        let memory_bytes = usize::try_from(config.memory_bytes).unwrap_or(usize::MAX);
        let block_bytes = (memory_bytes / 64)
            .min(MAX_BLOCK_BYTES)
            .max(min_block_bytes(config.record_words));
        let free_bytes = memory_bytes.saturating_sub(FIXED_BYTES + block_bytes);
        let index_bytes = order::index_bytes(config.record_words, config.key_words);
        let buffer_records = free_bytes / (record_bytes + index_bytes);
        let buffer_bytes = buffer_records * record_bytes;
        Self {
            buffer_records,
            block_records: (block_bytes - HEADER_BYTES) / record_bytes,
            fan_in: (buffer_bytes / block_bytes).clamp(
                2,
                MAX_FAN_IN.min(config.open_files.saturating_sub(1)).max(2),
            ),
            run_limit: RUN_LIMIT,
        }
    }
}
