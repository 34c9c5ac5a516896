//! What a stage will need: memory by named parts, disk as a range.

use std::collections::BTreeMap;

use records::DocSet;
use serde::{Deserialize, Serialize};

/// The resident set of any stage before it has done anything: program, libraries, stacks.
pub const BASE_BYTES: u64 = 12 << 20;

/// What no stage can spill, of a large corpus: a bit a document and an eighth for ranks, and 2/13 of
/// a bit for a document with an edge.
pub const BITS_A_DOCUMENT: f64 = 1.28;

/// One in so many bytes of a budget is left to the allocator and to lists of runs.
const SLACK_SHARE: u64 = 12;

/// What a budget leaves beside `fixed_bytes`, if that is `least_bytes` or more.
///
/// # Errors
/// The budget that would do, in bytes.
pub fn divide(memory_bytes: u64, fixed_bytes: u64, least_bytes: u64) -> Result<u64, u64> {
    let slack = memory_bytes / SLACK_SHARE;
    let left = memory_bytes.checked_sub(fixed_bytes + slack);
    left.filter(|left| *left >= least_bytes).ok_or_else(|| {
        let needed = fixed_bytes + least_bytes;
        needed + needed / (SLACK_SHARE - 1) + 1
    })
}

/// The most that a sort of so many bytes has on disk, with a buffer of so many: nothing where all
/// fits, and twice the records while runs are merged.
pub fn spilled(bytes: u64, buffer_bytes: u64) -> u64 {
    if bytes > buffer_bytes { 2 * bytes } else { 0 }
}

/// A figure that is known to lie between two bounds; equal bounds mean that it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// At least this.
    pub low: u64,
    /// At most this.
    pub high: u64,
}

impl Span {
    /// A known figure.
    pub const fn exact(value: u64) -> Self {
        Self {
            low: value,
            high: value,
        }
    }

    /// A figure between two bounds, in any order.
    pub const fn between(one: u64, other: u64) -> Self {
        let (low, high) = if one < other {
            (one, other)
        } else {
            (other, one)
        };
        Self { low, high }
    }

    /// The figure where it is known, and else this span.
    pub fn or(known: Option<u64>, low: u64, high: u64) -> Self {
        known.map_or(Self::between(low, high), Self::exact)
    }

    /// Both bounds through a growing function.
    #[must_use]
    pub fn map(self, grow: impl Fn(u64) -> u64) -> Self {
        Self {
            low: grow(self.low),
            high: grow(self.high),
        }
    }
}

impl std::ops::Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            low: self.low.saturating_add(other.low),
            high: self.high.saturating_add(other.high),
        }
    }
}

/// What is known of the input and of the stages that are done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Input files.
    pub files: u64,
    /// Rows of all files.
    pub documents: u64,
    /// Bytes of all files.
    pub input_bytes: u64,
    /// Uncompressed bytes of the text columns.
    pub text_bytes: u64,
    /// The largest row group as it is stored.
    pub largest_stored_group_bytes: u64,
    /// Bytes of text of the largest row group.
    pub largest_text_group_bytes: u64,
    /// Counters of the stages that are done, by `stage.counter`.
    pub counters: BTreeMap<String, u64>,
}

impl Facts {
    /// A counter of a stage that is done.
    pub fn counter(&self, name: &str) -> Option<u64> {
        self.counters.get(name).copied()
    }

    /// Documents with a signature.
    pub fn signed(&self) -> u64 {
        let nothing =
            self.counter("sign.null").unwrap_or(0) + self.counter("sign.empty").unwrap_or(0);
        self.documents.saturating_sub(nothing)
    }
}

/// What a stage will need under a budget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StagePlan {
    /// Parts of the resident set, by name, at their largest.
    pub memory: Vec<(&'static str, Span)>,
    /// Worker threads that the budget holds.
    pub threads: usize,
    /// Bytes that lie in the work folder at once while the stage runs, beside what the stages
    /// before it left.
    pub work_peak: Span,
    /// Bytes that stay in the work folder.
    pub work_kept: Span,
    /// Bytes of the new output, which lie beside the old one.
    pub output: Span,
}

/// The parts of the stages that walk over signatures: the program, the bits of all documents, and a
/// batch of signatures of so many bytes.
pub fn common_parts(documents: u64, batch_bytes: u64) -> Vec<(&'static str, Span)> {
    let bits = DocSet::memory_bytes(documents);
    vec![
        ("program", Span::exact(BASE_BYTES)),
        ("document_bits", Span::exact(bits)),
        ("signature_batch", Span::exact(batch_bytes)),
    ]
}

impl StagePlan {
    /// The resident set: the sum of the parts.
    pub fn memory_bytes(&self) -> Span {
        self.memory
            .iter()
            .fold(Span::default(), |sum, (_, part)| sum + *part)
    }

    /// The parts as they stand in the report, at their largest.
    pub fn memory_json(&self) -> serde_json::Value {
        self.memory
            .iter()
            .map(|(name, part)| ((*name).to_owned(), part.high.into()))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_in_order_however_they_are_given() {
        let span = Span { low: 3, high: 5 };
        assert_eq!(Span::between(3, 5), span);
        assert_eq!(Span::between(5, 3), span);
    }

    #[test]
    fn the_budget_that_would_do_does() {
        for (fixed, least) in [(0, 100), (12 << 20, 3 << 20), (1 << 30, 7)] {
            let needed = divide(0, fixed, least).unwrap_err();
            assert!(divide(needed, fixed, least).unwrap() >= least);
            assert!(divide(needed - needed / 10, fixed, least).is_err());
        }
    }
}
