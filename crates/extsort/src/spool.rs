//! Queues of records on disk, filled side by side and read once each, first in first out.

use std::path::{Path, PathBuf};

use crate::config::{MAX_RECORD_WORDS, WORD_BYTES};
use crate::error::Error;
use crate::run::{HEADER_BYTES, Run, RunReader, RunWriter, Shape};

/// Larger blocks gain nothing.
const MAX_BLOCK_BYTES: u64 = 1 << 20;

/// Several queues of fixed-width records in one folder.
///
/// Memory: one block for each queue that holds anything, and one for each [`Spooled`] that is read,
/// together with one reader within the bytes that were given. Disk: the bytes of the records and 40
/// a block; a queue's file goes when it was read. A file is open only while a block is written.
pub struct Spools {
    folder: PathBuf,
    shape: Shape,
    queues: Vec<Option<RunWriter>>,
}

impl Spools {
    /// The least bytes for `count` queues.
    #[must_use]
    pub fn minimum_memory_bytes(count: usize, record_words: usize) -> u64 {
        (count as u64 + 1) * (HEADER_BYTES + 64 * record_words * WORD_BYTES) as u64
    }

    /// `count` empty queues of records of `record_words` words, with their files in `folder`.
    ///
    /// # Errors
    /// [`Error::Setting`] for a width out of range, [`Error::Budget`] below
    /// [`Spools::minimum_memory_bytes`].
    pub fn new(
        folder: &Path,
        count: usize,
        record_words: usize,
        memory_bytes: u64,
    ) -> Result<Self, Error> {
        if !(1..=MAX_RECORD_WORDS).contains(&record_words) {
            return Err(Error::Setting {
                name: "record_words",
                least: 1,
                most: MAX_RECORD_WORDS,
                found: record_words,
            });
        }
        let minimum_bytes = Self::minimum_memory_bytes(count, record_words);
        if memory_bytes < minimum_bytes {
            return Err(Error::Budget {
                record_words,
                memory_bytes,
                minimum_bytes,
            });
        }
        let block_bytes = (memory_bytes / (count as u64 + 1)).min(MAX_BLOCK_BYTES) as usize;
        Ok(Self {
            folder: folder.to_path_buf(),
            shape: Shape {
                record_words,
                block_records: (block_bytes - HEADER_BYTES) / (record_words * WORD_BYTES),
            },
            queues: (0..count).map(|_| None).collect(),
        })
    }

    /// Appends a record to a queue.
    ///
    /// # Errors
    /// [`Error::RecordLength`] for another width, [`Error::Setting`] where there is no such queue,
    /// [`Error::Io`] where the disk fails; the queue is of no use then.
    #[inline]
    pub fn push(&mut self, queue: usize, record: &[u64]) -> Result<(), Error> {
        if record.len() != self.shape.record_words {
            return Err(Error::RecordLength {
                expected: self.shape.record_words,
                found: record.len(),
            });
        }
        match self.queues.get_mut(queue) {
            Some(Some(writer)) => writer.append(record),
            Some(None) => self.begin(queue, record),
            None => Err(Error::Setting {
                name: "queue",
                least: 0,
                most: self.queues.len().saturating_sub(1),
                found: queue,
            }),
        }
    }

    #[cold]
    fn begin(&mut self, queue: usize, record: &[u64]) -> Result<(), Error> {
        let number = queue as u64;
        let writer = RunWriter::create(&self.folder, self.shape, number, 1, Vec::new())?;
        let mut writer = writer.closed_between_blocks();
        writer.append(record)?;
        if let Some(place) = self.queues.get_mut(queue) {
            *place = Some(writer);
        }
        Ok(())
    }

    /// The records of a queue, which is empty again.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Corrupt`] where the disk fails.
    pub fn take(&mut self, queue: usize) -> Result<Spooled, Error> {
        let Some(writer) = self.queues.get_mut(queue).and_then(Option::take) else {
            return Ok(Spooled {
                source: None,
                lent: false,
                memory: Vec::new(),
            });
        };
        // The writer's block becomes the reader's.
        let (run, mut memory) = writer.finish()?;
        memory.resize(self.shape.block_words(), 0);
        let reader = RunReader::open(&run, &self.folder, self.shape, &mut memory, 0)?;
        Ok(Spooled {
            source: Some((reader, run)),
            lent: false,
            memory,
        })
    }
}

/// The records of one queue in the order of pushing, one at a time. Holds a block; dropping it
/// removes the file.
pub struct Spooled {
    // The reader closes before the file goes.
    source: Option<(RunReader, Run)>,
    /// The record under the reader was lent: it has to go on first.
    lent: bool,
    memory: Vec<u64>,
}

impl Spooled {
    /// The next record, lent until the next call; `None` after the last.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Corrupt`] where a block cannot be read as it was written; a
    /// further call tries it again.
    #[inline]
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator cannot lend its records"
    )]
    pub fn next(&mut self) -> Result<Option<&[u64]>, Error> {
        let Some((reader, _)) = &mut self.source else {
            return Ok(None);
        };
        if self.lent {
            reader.advance(&mut self.memory)?;
        }
        self.lent = true;
        Ok(reader.head(&self.memory))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn least(count: usize, words: usize) -> u64 {
        Spools::minimum_memory_bytes(count, words)
    }

    #[test]
    fn queues_give_back_what_each_was_given_in_order() {
        let folder = tempfile::tempdir().unwrap();
        for (words, records) in [(1, 0), (1, 1), (1, 63), (2, 64), (2, 65), (3, 1_000)] {
            let mut spools = Spools::new(folder.path(), 4, words, least(4, words)).unwrap();
            let record = |i: u64| (0..words as u64).map(|w| i << 8 | w).collect::<Vec<_>>();
            for i in 0..records {
                spools.push((i % 3) as usize, &record(i)).unwrap();
            }
            for queue in 0..4 {
                let mut spooled = spools.take(queue).unwrap();
                for i in (0..records).filter(|i| i % 3 == queue as u64) {
                    assert_eq!(spooled.next().unwrap(), Some(&record(i)[..]));
                }
                assert_eq!(spooled.next().unwrap(), None);
                assert_eq!(spooled.next().unwrap(), None);
                // Read once.
                assert_eq!(spools.take(queue).unwrap().next().unwrap(), None);
            }
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn refusals_name_what_would_do() {
        let folder = tempfile::tempdir().unwrap();
        let Err(error) = Spools::new(folder.path(), 3, 1, 100) else {
            panic!("100 bytes hold no block");
        };
        assert!(error.to_string().contains("at least 2208 bytes"), "{error}");
        let mut spools = Spools::new(folder.path(), 3, 1, least(3, 1)).unwrap();
        let error = spools.push(3, &[1]).unwrap_err().to_string();
        assert!(error.contains("queue must be 0 to 2, found 3"), "{error}");
        let error = spools.push(0, &[1, 2]).unwrap_err().to_string();
        assert!(error.contains("a record of 1 words"), "{error}");
    }

    #[test]
    fn a_damaged_block_is_an_error_with_file_and_offset() {
        let folder = tempfile::tempdir().unwrap();
        let mut spools = Spools::new(folder.path(), 1, 1, least(1, 1)).unwrap();
        for i in 0..200 {
            spools.push(0, &[i]).unwrap();
        }
        let path = fs::read_dir(folder.path())
            .unwrap()
            .next()
            .unwrap()
            .unwrap();
        let mut spooled = spools.take(0).unwrap();
        let mut bytes = fs::read(path.path()).unwrap();
        let second = bytes.len() - 100;
        bytes[second] ^= 1;
        fs::write(path.path(), &bytes).unwrap();
        let error = loop {
            match spooled.next() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("damage was not seen"),
                Err(error) => break error.to_string(),
            }
        };
        assert!(error.contains("is damaged at byte"), "{error}");
        assert!(spooled.next().is_err());
    }
}
