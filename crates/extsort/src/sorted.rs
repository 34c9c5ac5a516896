//! Gives records back in order.

use bytemuck::AnyBitPattern;

use crate::error::Error;
use crate::merge::Merge;
use crate::order::Index;
use crate::run::Run;
use crate::sorter::{check_type, type_error};
use crate::store::DiskUse;

/// Where sorted records come from.
pub(crate) enum Records {
    /// Everything fitted the buffer.
    Memory {
        words: Vec<u64>,
        index: Index,
        next_rank: usize,
    },
    /// The readers close before the runs go.
    Runs { merge: Merge, _runs: Vec<Run> },
}

/// The records of a [`Sorter`](crate::Sorter) in order, one at a time.
///
/// Holds the buffer where all records fitted it, else a block of each run, within the sorter's
/// budget. Dropping it removes the runs.
pub struct Sorted {
    records: Records,
    record_words: usize,
    len: u64,
    disk: DiskUse,
}

impl Sorted {
    pub(crate) fn new(records: Records, record_words: usize, len: u64, disk: DiskUse) -> Self {
        Self {
            records,
            record_words,
            len,
            disk,
        }
    }

    /// The next record of W words, lent until the next call; `None` after the last. Costs a
    /// comparison for each doubling of the number of runs.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Corrupt`] where a block of a run cannot be read as it was
    /// written. A further call tries that block again; no record is skipped or repeated.
    #[inline]
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator cannot lend its records"
    )]
    pub fn next(&mut self) -> Result<Option<&[u64]>, Error> {
        match &mut self.records {
            Records::Runs { merge, .. } => merge.next(),
            Records::Memory {
                words,
                index,
                next_rank,
            } => {
                let width = self.record_words;
                let record = index
                    .position(*next_rank)
                    .and_then(|position| words.get(position * width..(position + 1) * width));
                *next_rank += usize::from(record.is_some());
                Ok(record)
            }
        }
    }

    /// The next record as the `#[repr(C)]` struct of W `u64` fields that was pushed.
    ///
    /// # Errors
    /// [`Error::RecordType`] if `R` has another size or alignment; else those of [`Sorted::next`].
    #[inline]
    pub fn next_pod<R: AnyBitPattern>(&mut self) -> Result<Option<R>, Error> {
        let record_words = self.record_words;
        check_type::<R>(record_words)?;
        let Some(words) = self.next()? else {
            return Ok(None);
        };
        match bytemuck::try_pod_read_unaligned(bytemuck::cast_slice(words)) {
            Ok(record) => Ok(Some(record)),
            Err(_) => Err(type_error::<R>(record_words)),
        }
    }

    /// The records of the whole sort, whether or not they were read already.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the sort has no record at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes that were written to runs in total, of all generations; 0 where all records fitted
    /// memory.
    #[must_use]
    pub fn spilled_bytes(&self) -> u64 {
        self.disk.written_bytes
    }

    /// The most bytes of runs that lay in the folder at once.
    #[must_use]
    pub fn peak_disk_bytes(&self) -> u64 {
        self.disk.peak_bytes
    }

    /// How often the record that was copied most was written to disk: 0 where all records fitted
    /// memory, 1 where one merge took all runs.
    #[must_use]
    pub fn generations(&self) -> u32 {
        self.disk.generations
    }
}
