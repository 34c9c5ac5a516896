//! Takes records in any order.

use bytemuck::NoUninit;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::config::{Config, Tuning, WORD_BYTES};
use crate::error::Error;
use crate::order::{self, Index};
use crate::run::Shape;
use crate::sorted::{Records, Sorted};
use crate::store::Store;

/// The buffer begins with room for about this many bytes.
const FIRST_BUFFER_BYTES: usize = 32 << 10;

/// Takes records in any order; [`Sorter::finish`] gives them back in order.
///
/// Nothing is written while the records fit the buffer. A push costs a copy, and now and then the
/// sorting and writing of a full buffer. Dropping a sorter removes its runs.
///
/// ```
/// # fn main() -> Result<(), extsort::Error> {
/// let folder = std::env::temp_dir();
/// let (record_words, key_words) = (2, 1);
/// let memory_bytes = extsort::Config::minimum_memory_bytes(record_words);
/// let (open_files, threads) = (64, 1);
/// let config =
///     extsort::Config { folder, memory_bytes, open_files, threads, record_words, key_words };
/// let mut sorter = extsort::Sorter::new(config)?;
/// sorter.push(&[7, 1])?;
/// sorter.push(&[3, 2])?;
/// let mut sorted = sorter.finish()?;
/// assert_eq!(sorted.next()?, Some(&[3, 2][..]));
/// assert_eq!(sorted.next()?, Some(&[7, 1][..]));
/// assert_eq!(sorted.next()?, None);
/// # Ok(())
/// # }
/// ```
pub struct Sorter {
    record_words: usize,
    threads: usize,
    tuning: Tuning,
    /// Started when the first buffer is sorted, if there is more than one thread.
    pool: Option<ThreadPool>,
    index: Index,
    buffer: Vec<u64>,
    /// Words that the buffer holds before it has to grow or to be spilled.
    room_words: usize,
    records: u64,
    store: Store,
}

impl Sorter {
    /// Makes a sorter; touches no file.
    ///
    /// # Errors
    /// [`Error::Setting`], [`Error::Budget`] with the number that would do, [`Error::Folder`].
    pub fn new(config: Config) -> Result<Self, Error> {
        config.check()?;
        let tuning = Tuning::new(&config);
        Ok(Self::with_tuning(config, tuning))
    }

    /// A sorter whose sizes do not follow from the budget.
    pub(crate) fn with_tuning(config: Config, tuning: Tuning) -> Self {
        let shape = Shape {
            record_words: config.record_words,
            block_records: tuning.block_records,
        };
        Self {
            record_words: config.record_words,
            threads: config.threads,
            tuning,
            pool: None,
            index: Index::new(config.record_words, config.key_words),
            buffer: Vec::new(),
            room_words: 0,
            records: 0,
            store: Store::new(config.folder, shape, tuning),
        }
    }

    /// Takes a record of W words.
    ///
    /// # Errors
    /// [`Error::RecordLength`]; where the buffer is full, [`Error::Io`], [`Error::Corrupt`] and
    /// [`Error::Threads`] of writing and merging runs. After an error this record is not taken, and
    /// all earlier ones still are.
    #[inline]
    pub fn push(&mut self, record: &[u64]) -> Result<(), Error> {
        if record.len() != self.record_words {
            return Err(Error::RecordLength {
                expected: self.record_words,
                found: record.len(),
            });
        }
        if self.buffer.len() >= self.room_words {
            self.make_room()?;
        }
        self.buffer.extend_from_slice(record);
        self.records += 1;
        Ok(())
    }

    /// Takes a record that is a `#[repr(C)]` struct of W `u64` fields; they are compared in the
    /// order of declaration.
    ///
    /// # Errors
    /// [`Error::RecordType`] if `R` has another size or alignment; else those of [`Sorter::push`].
    #[inline]
    pub fn push_pod<R: NoUninit>(&mut self, record: &R) -> Result<(), Error> {
        check_type::<R>(self.record_words)?;
        match bytemuck::try_cast_slice(bytemuck::bytes_of(record)) {
            Ok(words) => self.push(words),
            Err(_) => Err(type_error::<R>(self.record_words)),
        }
    }

    /// The records taken so far.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.records
    }

    /// Whether no record was taken.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Sorts what is in memory, merges runs until one merge can take them all, and opens it.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Corrupt`] and [`Error::Threads`] of writing and merging runs. All
    /// runs are removed then.
    pub fn finish(mut self) -> Result<Sorted, Error> {
        if self.store.is_empty() {
            self.sort_buffer()?;
            let records = Records::Memory {
                words: self.buffer,
                index: self.index,
                next_rank: 0,
            };
            return Ok(Sorted::new(
                records,
                self.record_words,
                self.records,
                self.store.disk(),
            ));
        }
        self.spill()?;
        drop((self.index, self.pool));
        let (merge, runs, disk) = self.store.into_final_merge(self.buffer)?;
        let records = Records::Runs { merge, _runs: runs };
        Ok(Sorted::new(records, self.record_words, self.records, disk))
    }

    /// Grows the buffer, or empties it where it has its full size.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) -> Result<(), Error> {
        let full_words = self.tuning.buffer_records * self.record_words;
        if self.room_words >= full_words {
            self.spill()?;
        }
        if self.store.has_too_many_runs() {
            // The merge works in the buffer's memory, which is lost if it fails.
            self.room_words = 0;
            let memory = std::mem::take(&mut self.buffer);
            self.buffer = self.store.merge_surplus(memory)?;
            self.buffer.clear();
        }
        if self.room_words < full_words {
            self.room_words = self.next_room_words();
            self.buffer
                .reserve_exact(self.room_words - self.buffer.len());
        }
        Ok(())
    }

    /// The next size of the buffer. The sizes are the full one divided by powers of 8: the last
    /// step meets it exactly, and even an allocator that copies to grow touches no more pages than
    /// the full buffer has.
    fn next_room_words(&self) -> usize {
        let least = (FIRST_BUFFER_BYTES / WORD_BYTES / self.record_words).max(1);
        let now = self.room_words / self.record_words;
        let mut records = self.tuning.buffer_records.max(1);
        while records / 8 > now && records / 8 >= least {
            records /= 8;
        }
        records * self.record_words
    }

    fn spill(&mut self) -> Result<(), Error> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.sort_buffer()?;
        self.store.spill(&self.buffer, &self.index)?;
        self.buffer.clear();
        Ok(())
    }

    fn sort_buffer(&mut self) -> Result<(), Error> {
        if self.threads > 1
            && self.pool.is_none()
            && order::worth_threads(self.buffer.len() / self.record_words)
        {
            self.pool = Some(start_pool(self.threads)?);
        }
        order::sort(
            &mut self.buffer,
            self.record_words,
            &mut self.index,
            self.pool.as_ref(),
        );
        Ok(())
    }
}

/// What tests look at.
#[cfg(test)]
impl Sorter {
    pub(crate) fn buffer_capacity(&self) -> usize {
        self.buffer.capacity()
    }

    pub(crate) fn has_runs(&self) -> bool {
        !self.store.is_empty()
    }

    pub(crate) fn has_threads(&self) -> bool {
        self.pool.is_some()
    }
}

fn start_pool(threads: usize) -> Result<ThreadPool, Error> {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|number| format!("extsort-{number}"))
        .build()
        .map_err(|error| Error::Threads { threads, error })
}

/// Refuses types that are not a row of `record_words` words.
#[inline]
pub(crate) fn check_type<R>(record_words: usize) -> Result<(), Error> {
    if size_of::<R>() == record_words * WORD_BYTES && align_of::<R>() == WORD_BYTES {
        return Ok(());
    }
    Err(type_error::<R>(record_words))
}

#[cold]
pub(crate) fn type_error<R>(record_words: usize) -> Error {
    Error::RecordType {
        type_name: std::any::type_name::<R>(),
        expected_bytes: record_words * WORD_BYTES,
        found_bytes: size_of::<R>(),
        found_alignment: align_of::<R>(),
    }
}
