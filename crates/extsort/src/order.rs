//! The order of records, and sorting a buffer of them.
//!
//! Narrow records are sorted in place. Wide ones are sorted through an index of their first words
//! and positions, so that a swap moves 16 or 24 bytes instead of the record.

use std::cmp::Ordering;

use rayon::ThreadPool;
use rayon::slice::ParallelSliceMut;

/// Records of up to this many words are sorted in place.
pub(crate) const NARROW_WORDS: usize = 8;
/// Below this many records threads cost more than they save.
const PARALLEL_RECORDS: usize = 1 << 14;

/// Whether a buffer of so many records is sorted by several threads.
pub(crate) fn worth_threads(records: usize) -> bool {
    records >= PARALLEL_RECORDS
}

/// The first two words as one integer, which the processor compares without a branch.
#[inline]
pub(crate) fn prefix(record: &[u64]) -> u128 {
    match *record {
        [] => 0,
        [first] => u128::from(first) << 64,
        [first, second, ..] => u128::from(first) << 64 | u128::from(second),
    }
}

/// Bytes of index that each record of such a sort takes.
pub(crate) fn index_bytes(record_words: usize, key_words: usize) -> usize {
    match (record_words, key_words) {
        (..=NARROW_WORDS, _) => 0,
        (_, 1) => size_of::<Entry<1>>(),
        _ => size_of::<Entry<2>>(),
    }
}

/// A wide record's first `P` words and its position in the buffer.
#[derive(Clone, Copy)]
pub(crate) struct Entry<const P: usize> {
    prefix: [u64; P],
    position: usize,
}

/// Where the records of a sorted buffer are, in order.
pub(crate) enum Index {
    /// At their places: the buffer itself is in order.
    InPlace,
    /// Wide records with a key of one word.
    One(Vec<Entry<1>>),
    /// Wide records with a longer key.
    Two(Vec<Entry<2>>),
}

impl Index {
    /// An empty index for such records.
    pub(crate) fn new(record_words: usize, key_words: usize) -> Self {
        match (record_words, key_words) {
            (..=NARROW_WORDS, _) => Self::InPlace,
            (_, 1) => Self::One(Vec::new()),
            _ => Self::Two(Vec::new()),
        }
    }

    /// The position in the buffer of the record of this rank.
    #[inline]
    pub(crate) fn position(&self, rank: usize) -> Option<usize> {
        match self {
            Self::InPlace => Some(rank),
            Self::One(entries) => entries.get(rank).map(|entry| entry.position),
            Self::Two(entries) => entries.get(rank).map(|entry| entry.position),
        }
    }
}

/// Sorts a buffer of whole records: in place, or by filling `index`, whose memory is used again.
/// O(n log n) comparisons.
pub(crate) fn sort(
    words: &mut [u64],
    record_words: usize,
    index: &mut Index,
    pool: Option<&ThreadPool>,
) {
    match index {
        Index::One(entries) => fill_index(entries, words, record_words, pool),
        Index::Two(entries) => fill_index(entries, words, record_words, pool),
        Index::InPlace => match record_words {
            1 => sort_by(words, pool, u64::cmp),
            2 => in_place::<2>(words, pool),
            3 => in_place::<3>(words, pool),
            4 => in_place::<4>(words, pool),
            5 => in_place::<5>(words, pool),
            6 => in_place::<6>(words, pool),
            7 => in_place::<7>(words, pool),
            _ => in_place::<NARROW_WORDS>(words, pool),
        },
    }
}

fn in_place<const W: usize>(words: &mut [u64], pool: Option<&ThreadPool>) {
    let (records, _) = words.as_chunks_mut::<W>();
    sort_by(records, pool, |a, b| {
        prefix(a)
            .cmp(&prefix(b))
            .then_with(|| a.get(2..).cmp(&b.get(2..)))
    });
}

fn fill_index<const P: usize>(
    entries: &mut Vec<Entry<P>>,
    words: &[u64],
    record_words: usize,
    pool: Option<&ThreadPool>,
) {
    let records = words.chunks_exact(record_words);
    entries.clear();
    entries.reserve_exact(records.len());
    entries.extend(records.enumerate().map(|(position, record)| Entry {
        prefix: record.first_chunk::<P>().copied().unwrap_or([0; P]),
        position,
    }));
    let tail = |entry: &Entry<P>| {
        let start = entry.position * record_words;
        words.get(start + P..start + record_words)
    };
    sort_by(entries, pool, |a, b| {
        a.prefix.cmp(&b.prefix).then_with(|| tail(a).cmp(&tail(b)))
    });
}

/// Equal items are equal in every word, so an unstable sort gives one order.
fn sort_by<T: Send>(
    items: &mut [T],
    pool: Option<&ThreadPool>,
    compare: impl Fn(&T, &T) -> Ordering + Send + Sync,
) {
    match pool {
        Some(pool) if worth_threads(items.len()) => {
            pool.install(|| items.par_sort_unstable_by(compare))
        }
        _ => items.sort_unstable_by(compare),
    }
}
