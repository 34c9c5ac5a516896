//! How the memory budget is divided, and how many workers it holds.

use serde_json::{Value, json};
use tables::signatures::SignatureWriter;
use workdir::BASE_BYTES;

use crate::Error;

/// What a worker reads ahead, and the state of its decoders.
const DECODE_BYTES: u64 = 3 << 20;
/// The shingles and the normalised text of a document that is not long, or of a part of a long one.
const SCRATCH_BYTES: u64 = 5 << 20;
/// What a worker needs beside the text and the signatures.
const WORKER_BYTES: u64 = DECODE_BYTES + SCRATCH_BYTES;
/// The least that a lone worker has for the text itself.
pub(crate) const TEXT_BYTES_LEAST: u64 = 1 << 20;
/// The least that each of several workers has for the text itself: a page and a dictionary of common size. With less,
/// they would mostly wait for a pass with fewer of them.
const TEXT_BYTES_SHARED: u64 = 4 << 20;
/// A batch of text is at most this large.
const BATCH_BYTES_MAX: u64 = 8 << 20;

/// One part in so many of the budget is left to the allocator.
const SLACK_SHARE: u64 = 16;

/// What one worker may take for the text that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// Pages in the file and in memory, the dictionary, and the texts that point into them; the footer.
    pub(crate) text_bytes: u64,
    /// The text of a batch. A quarter, as a batch points into pages, while the next is read.
    pub(crate) batch_bytes: u64,
}

impl Share {
    fn of(text_bytes: u64) -> Self {
        Self {
            text_bytes,
            batch_bytes: (text_bytes / 4).min(BATCH_BYTES_MAX),
        }
    }

    /// The share that is left when so many bytes of it are taken.
    pub(crate) fn without(self, bytes: u64) -> Self {
        Self::of(self.text_bytes.saturating_sub(bytes))
    }
}

/// The budget of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    memory_bytes: u64,
    writer_bytes: u64,
    /// The most workers that it holds, at least one.
    threads: usize,
}

impl Budget {
    /// Divides `memory_bytes` among at most `threads` workers, at least one.
    pub(crate) fn new(memory_bytes: u64, threads: usize, k: u32) -> Result<Self, Error> {
        let mut budget = Self {
            memory_bytes,
            writer_bytes: SignatureWriter::memory_bytes(k),
            threads: 1,
        };
        if budget.text_bytes(1) < TEXT_BYTES_LEAST {
            return Err(Error::Memory {
                budget_bytes: memory_bytes,
                k,
                needed_bytes: budget.for_text(TEXT_BYTES_LEAST),
            });
        }
        let holds = |threads: &usize| budget.text_bytes(*threads) >= TEXT_BYTES_SHARED;
        budget.threads = (2..=threads).rev().find(holds).unwrap_or(1);
        Ok(budget)
    }

    /// The budget while footers are read; none is one without limit. One that holds no worker at all, which is refused
    /// later and for that, lets common footers pass.
    pub(crate) fn for_footers(memory_bytes: Option<u64>, k: u32) -> Self {
        let mut budget = Self {
            memory_bytes: memory_bytes.unwrap_or(u64::MAX),
            writer_bytes: SignatureWriter::memory_bytes(k),
            threads: 1,
        };
        let least = budget.for_text(TEXT_BYTES_SHARED);
        budget.memory_bytes = budget.memory_bytes.max(least);
        budget
    }

    /// The most that a lone worker may take for the text.
    pub(crate) fn for_text_at_most(&self) -> u64 {
        self.text_bytes(1)
    }

    /// The most workers that it holds.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// What a worker needs beside the text.
    fn fixed_bytes(&self) -> u64 {
        WORKER_BYTES + self.writer_bytes
    }

    /// What is left when the allocator has kept what it keeps: memory that was given back, in pieces that it does not
    /// return to the system.
    fn without_slack(&self) -> u64 {
        self.memory_bytes - self.memory_bytes / SLACK_SHARE
    }

    fn text_bytes(&self, threads: usize) -> u64 {
        let all = self.without_slack().saturating_sub(BASE_BYTES) / threads.max(1) as u64;
        all.saturating_sub(self.fixed_bytes())
    }

    /// The share of each of so many workers.
    pub(crate) fn share(&self, threads: usize) -> Share {
        Share::of(self.text_bytes(threads))
    }

    /// The budget that lets one worker take so much for the text; a whole number of MiB.
    pub(crate) fn for_text(&self, text_bytes: u64) -> u64 {
        let needed = text_bytes
            .saturating_add(self.fixed_bytes())
            .saturating_add(BASE_BYTES);
        // The least budget that leaves so much without the slack.
        let slack = needed.saturating_sub(1) / (SLACK_SHARE - 1);
        let with_slack = needed.saturating_add(slack);
        with_slack.div_ceil(1 << 20).saturating_mul(1 << 20)
    }

    /// The most workers below `threads` of which each may take so much for the text.
    pub(crate) fn threads_below(&self, threads: usize, text_bytes: u64) -> Option<usize> {
        let holds = |threads: &usize| self.text_bytes(*threads) >= text_bytes;
        (1..threads).rev().find(holds)
    }

    /// The parts of the budget with so many workers, in bytes; together they are the budget.
    pub(crate) fn planned(&self, threads: usize) -> Value {
        let each = threads.max(1) as u64;
        let text = self.text_bytes(threads) * each;
        let parts = [
            DECODE_BYTES * each,
            SCRATCH_BYTES * each,
            self.writer_bytes * each,
            text,
        ];
        let slack = self
            .memory_bytes
            .saturating_sub(BASE_BYTES + parts.iter().sum::<u64>());
        json!({
            "base": BASE_BYTES,
            "decode": DECODE_BYTES * each,
            "scratch": SCRATCH_BYTES * each,
            "signatures": self.writer_bytes * each,
            "text": text,
            "allocator": slack,
        })
    }

    /// Says that the budget holds fewer workers than `threads`; none where it holds them.
    pub(crate) fn warning(&self, threads: usize) -> Option<String> {
        (self.threads < threads).then(|| {
            format!(
                "sign uses {} of {threads} threads: run.memory of {} MiB holds no more; {} MiB would hold all",
                self.threads,
                self.memory_bytes >> 20,
                self.for_threads(threads) >> 20,
            )
        })
    }

    /// The budget that holds so many workers.
    fn for_threads(&self, threads: usize) -> u64 {
        let others = (threads as u64 - 1) * (self.fixed_bytes() + TEXT_BYTES_SHARED);
        self.for_text(TEXT_BYTES_SHARED.saturating_add(others))
    }

    /// The budget, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn too_small_a_budget_is_refused_with_one_that_does() {
        let error = Budget::new(16 * MIB, 2, 128).unwrap_err();
        let Error::Memory { needed_bytes, .. } = error else {
            panic!("{error}");
        };
        assert!(error.refused());
        assert!(error.to_string().starts_with(
            "a memory budget of 16777216 bytes is too small for `sign`: with k = 128 it needs "
        ));
        assert_eq!(Budget::new(needed_bytes, 2, 128).unwrap().threads(), 1);
        assert!(Budget::new(needed_bytes - MIB, 2, 128).is_err());
    }

    #[test]
    fn the_numbers_of_the_remedies_do_and_no_less_does() {
        for k in [1, 128, 4096] {
            for threads in [2, 3, 16, 64] {
                let budget = Budget::new(512 * MIB, 1, k).unwrap();
                let all = budget.for_threads(threads);
                assert_eq!(Budget::new(all, threads, k).unwrap().threads(), threads);
                assert!(Budget::new(all - MIB, threads, k).unwrap().threads() < threads);
            }
            for text_bytes in [TEXT_BYTES_LEAST, 12_345_678, 1 << 30, 1 << 40] {
                let budget = Budget::new(512 * MIB, 1, k).unwrap();
                let needed = budget.for_text(text_bytes);
                let share = |bytes| Budget::new(bytes, 1, k).map_or(0, |b| b.share(1).text_bytes);
                assert!(share(needed) >= text_bytes);
                assert!(share(needed - MIB) < text_bytes);
            }
        }
    }

    #[test]
    fn the_parts_are_the_budget() {
        for memory_bytes in [64 * MIB, 100_000_000, 1 << 30, 1 << 40] {
            for threads in [1, 2, 3, 8] {
                let budget = Budget::new(memory_bytes, threads, 128).unwrap();
                let planned = budget.planned(budget.threads());
                let sum: u64 = planned
                    .as_object()
                    .unwrap()
                    .values()
                    .map(|part| part.as_u64().unwrap())
                    .sum();
                assert_eq!(sum, memory_bytes, "{planned}");
            }
        }
    }

    #[test]
    fn fewer_workers_have_larger_shares() {
        let budget = Budget::new(1 << 30, 8, 128).unwrap();
        assert_eq!(budget.threads(), 8);
        let share = |threads| budget.share(threads).text_bytes;
        assert!(share(1) > share(2) && share(2) > share(8));
        assert_eq!(budget.threads_below(8, share(5)), Some(5));
        assert_eq!(budget.threads_below(5, share(5)), Some(4));
        assert_eq!(budget.threads_below(8, share(1) + 1), None);
        assert_eq!(budget.threads_below(1, 1), None);
        assert_eq!(budget.warning(8), None);
        let small = Budget::new(64 * MIB, 8, 128).unwrap();
        let warning = small.warning(8).unwrap();
        assert!(
            warning.starts_with(&format!(
                "sign uses {} of 8 threads: run.memory of 64 MiB holds no more; ",
                small.threads()
            )),
            "{warning}"
        );
    }
}
