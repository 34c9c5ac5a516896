//! Connected components where the array of parents does not fit: union-find one range of
//! documents at a time.
//!
//! The documents that have edges are numbered without gaps, and the numbers are cut into P ranges
//! whose parents fit memory. Union-find that links by index (Tarjan and van Leeuwen 1984) keeps
//! `parent <= child`, so the ranges can be taken from the top down, each with the edges whose
//! larger end lies in it, as Sibeyn's elimination of nodes takes single ones (Dementiev, Sanders,
//! Schultes, Sibeyn: "Engineering an External Memory Minimum Spanning Tree Algorithm", 2004). A
//! tree of the range may hang on one document below the range. What would hang it on a second one
//! joins those two instead: an edge for a lower range.
//!
//! ```text
//! down   edges --> range P-1 --> ... --> range 0     an edge falls on, until both its ends are in one range
//!                      |                     |
//! up     labels <-- range P-1 <-- ... <-- range 0    a document asks for the label of the one that it hangs on
//! ```
//!
//! Cost: an edge is written at most P - 1 times, and in random graphs ln P times on average; a
//! document four times. No sort, no random access to the disk.

use std::path::PathBuf;

use extsort::{Spooled, Spools};
use records::DocSet;

use crate::Error;
use crate::components::EdgeSource;

/// So many ranges at most: more memory is asked for instead.
const MOST_RANGES: u64 = 256;
/// A set of queues takes this share of the memory; three exist at once.
const QUEUES_SHARE: u64 = 16;
/// Labels are read in blocks of this size.
pub(crate) const LABELS_BYTES: u64 = 256 << 10;

/// A number of a document in memory.
trait Number: Copy + Ord + Into<u64> {
    /// Words of a pair of numbers.
    const WORDS: usize;
    fn new(number: u64) -> Self;
    fn pack(low: Self, high: Self) -> [u64; 2];
    fn unpack(words: &[u64]) -> (Self, Self);
}

impl Number for u32 {
    const WORDS: usize = 1;
    fn new(number: u64) -> Self {
        number as u32
    }
    fn pack(low: Self, high: Self) -> [u64; 2] {
        [u64::from(low) << 32 | u64::from(high), 0]
    }
    fn unpack(words: &[u64]) -> (Self, Self) {
        let word = words.first().copied().unwrap_or(0);
        ((word >> 32) as u32, word as u32)
    }
}

impl Number for u64 {
    const WORDS: usize = 2;
    fn new(number: u64) -> Self {
        number
    }
    fn pack(low: Self, high: Self) -> [u64; 2] {
        [low, high]
    }
    fn unpack(words: &[u64]) -> (Self, Self) {
        match words {
            [low, high, ..] => (*low, *high),
            _ => (0, 0),
        }
    }
}

/// Bytes of a number among `linked` documents.
fn number_bytes(linked: u64) -> u64 {
    if linked <= u64::from(u32::MAX) { 4 } else { 8 }
}

/// The least memory for `linked` documents with edges: 0.154 bits each, and 1 MiB.
pub(crate) fn minimum_bytes(linked: u64) -> u64 {
    let array = (linked * number_bytes(linked)).div_ceil(MOST_RANGES);
    let queues = (3 * array).div_ceil(QUEUES_SHARE - 3);
    (1 << 20) + array + queues
}

/// The bytes that the queues and labels write at their peak, for so many edges.
pub(crate) fn disk_bytes(linked: u64, edges: u64) -> u64 {
    let pair = 2 * number_bytes(linked);
    (pair * (edges + linked)).max((2 * pair + 8) * linked)
}

/// What the method may use.
pub(crate) struct External {
    /// An existing folder.
    pub(crate) scratch: PathBuf,
    /// At least [`minimum_bytes`].
    pub(crate) memory_bytes: u64,
}

/// The labels of the documents that have edges, in order.
pub(crate) struct ExternalLabels {
    docs: DocSet,
    labels: Spooled,
    /// The number of the next document.
    next: u64,
}

impl ExternalLabels {
    pub(crate) fn next(&mut self) -> Result<Option<(u64, u64)>, Error> {
        let Some(&[label]) = self.labels.next()? else {
            return Ok(None);
        };
        let pair = self.docs.select(self.next).zip(self.docs.select(label));
        self.next += 1;
        Ok(pair)
    }
}

/// Labels each of the `linked` members of the indexed set `docs` with the smallest of its
/// component.
pub(crate) fn components(
    setting: &External,
    docs: DocSet,
    linked: u64,
    edges: EdgeSource<'_>,
) -> Result<ExternalLabels, Error> {
    let labels = match number_bytes(linked) {
        4 => label::<u32>(setting, &docs, linked, edges)?,
        _ => label::<u64>(setting, &docs, linked, edges)?,
    };
    Ok(ExternalLabels {
        docs,
        labels,
        next: 0,
    })
}

/// How numbers are cut into ranges.
#[derive(Clone, Copy)]
struct Ranges {
    numbers: u64,
    /// Numbers of each but the last range.
    size: u64,
    queues_bytes: u64,
}

impl Ranges {
    fn new<N: Number>(memory_bytes: u64, numbers: u64) -> Self {
        let queues_bytes = memory_bytes / QUEUES_SHARE;
        let array_bytes = memory_bytes - 3 * queues_bytes;
        Self {
            numbers,
            size: (array_bytes / size_of::<N>() as u64)
                .max(numbers.div_ceil(MOST_RANGES))
                .max(1),
            queues_bytes,
        }
    }

    fn count(self) -> usize {
        self.numbers.div_ceil(self.size) as usize
    }

    fn of(self, number: u64) -> usize {
        (number / self.size) as usize
    }

    fn queues<N: Number>(self, setting: &External) -> Result<Spools, Error> {
        let bytes = self
            .queues_bytes
            .max(Spools::minimum_memory_bytes(self.count(), N::WORDS));
        Ok(Spools::new(
            &setting.scratch,
            self.count(),
            N::WORDS,
            bytes,
        )?)
    }

    /// The numbers of a range.
    fn numbers(self, range: usize) -> (u64, u64) {
        let low = range as u64 * self.size;
        (low, (low + self.size).min(self.numbers))
    }
}

/// Union-find over the numbers of one range.
struct Forest<N> {
    low: N,
    /// Of a number of the range: its parent in the range, itself if it has none, or, below the
    /// range, the document that its tree hangs on.
    parents: Vec<N>,
}

impl<N: Number> Forest<N> {
    /// Each number by itself.
    fn reset(&mut self, (low, high): (u64, u64)) {
        self.low = N::new(low);
        self.parents.clear();
        self.parents.extend((low..high).map(N::new));
    }

    fn at(&self, number: N) -> usize {
        (number.into() - self.low.into()) as usize
    }

    fn parent(&self, number: N) -> N {
        self.parents[self.at(number)]
    }

    fn set(&mut self, number: N, parent: N) {
        let at = self.at(number);
        self.parents[at] = parent;
    }

    /// The root of a number's tree, halving the path.
    fn root(&mut self, mut number: N) -> N {
        loop {
            let parent = self.parent(number);
            if parent == number || parent < self.low {
                return number;
            }
            let grandparent = self.parent(parent);
            if grandparent < self.low {
                return parent;
            }
            self.set(number, grandparent);
            number = grandparent;
        }
    }

    /// What a root hangs on, if anything.
    fn anchor(&self, root: N) -> Option<N> {
        Some(self.parent(root)).filter(|&parent| parent < self.low)
    }

    /// Joins the trees of an edge, whose `high` is in the range. Returns the edge that is left to
    /// a lower range.
    fn link(&mut self, low: N, high: N) -> Option<(N, N)> {
        let high = self.root(high);
        if low < self.low {
            return self.hang(high, low);
        }
        let low = self.root(low);
        if low == high {
            return None;
        }
        let (low, high) = (low.min(high), low.max(high));
        let anchor = self.anchor(high);
        self.set(high, low);
        anchor.and_then(|anchor| self.hang(low, anchor))
    }

    /// Hangs a tree on a document below the range. Where it hangs on one, the two are an edge.
    fn hang(&mut self, root: N, below: N) -> Option<(N, N)> {
        match self.anchor(root) {
            Some(anchor) if anchor == below => None,
            // It hangs on the smaller: more of the following edges name that again.
            Some(anchor) => {
                let (low, high) = (anchor.min(below), anchor.max(below));
                self.set(root, low);
                Some((low, high))
            }
            None => {
                self.set(root, below);
                None
            }
        }
    }
}

fn label<N: Number>(
    setting: &External,
    docs: &DocSet,
    linked: u64,
    edges: EdgeSource<'_>,
) -> Result<Spooled, Error> {
    let ranges = Ranges::new::<N>(setting.memory_bytes, linked);
    let mut forest = Forest {
        low: N::new(0),
        parents: Vec::with_capacity(ranges.size.min(linked) as usize),
    };
    let letters = down(setting, ranges, &mut forest, docs, edges)?;
    up(setting, ranges, forest.parents, letters)
}

/// Pairs of numbers, the second a document that looks for its label.
struct Letters {
    /// The first has the same label. By the range of the first.
    questions: Spools,
    /// The first is the label. By the range of the second.
    answers: Spools,
}

/// Takes the ranges from the top down.
fn down<N: Number>(
    setting: &External,
    ranges: Ranges,
    forest: &mut Forest<N>,
    docs: &DocSet,
    edges: EdgeSource<'_>,
) -> Result<Letters, Error> {
    let mut waiting = ranges.queues::<N>(setting)?;
    let mut questions = ranges.queues::<N>(setting)?;
    let mut answers = ranges.queues::<N>(setting)?;
    let put = |queues: &mut Spools, (low, high): (N, N), number: N| -> Result<(), Error> {
        let words = N::pack(low, high);
        Ok(queues.push(ranges.of(number.into()), &words[..N::WORDS])?)
    };
    let last = ranges.count().saturating_sub(1);
    forest.reset(ranges.numbers(last));
    // The last range takes its edges from the source.
    edges(&mut |a, b| {
        let rank = |doc| docs.rank(doc).ok_or(Error::NoSignature { doc });
        let (a, b) = (N::new(rank(a)?), N::new(rank(b)?));
        let (low, high) = (a.min(b), a.max(b));
        let left = match high < forest.low {
            true => Some((low, high)),
            false => forest.link(low, high),
        };
        match left {
            Some(edge) => put(&mut waiting, edge, edge.1),
            None => Ok(()),
        }
    })?;
    for range in (0..ranges.count()).rev() {
        if range < last {
            forest.reset(ranges.numbers(range));
            let mut edges = waiting.take(range)?;
            while let Some(words) = edges.next()? {
                let (low, high) = N::unpack(words);
                if let Some(edge) = forest.link(low, high) {
                    put(&mut waiting, edge, edge.1)?;
                }
            }
        }
        let (low, high) = ranges.numbers(range);
        for number in (low..high).map(N::new) {
            let root = forest.root(number);
            match forest.anchor(root) {
                Some(anchor) => put(&mut questions, (anchor, number), anchor)?,
                // It hangs on nothing: the smallest of its component.
                None if root != number => put(&mut answers, (root, number), number)?,
                None => {}
            }
        }
    }
    Ok(Letters { questions, answers })
}

/// Answers the questions range by range, from the lowest up; `labels` is memory for one range.
fn up<N: Number>(
    setting: &External,
    ranges: Ranges,
    mut labels: Vec<N>,
    mut letters: Letters,
) -> Result<Spooled, Error> {
    let mut all = Spools::new(&setting.scratch, 1, 1, LABELS_BYTES)?;
    for range in 0..ranges.count() {
        let (low, high) = ranges.numbers(range);
        let at = |number: N| (number.into() - low) as usize;
        labels.clear();
        labels.extend((low..high).map(N::new));
        let mut answers = letters.answers.take(range)?;
        while let Some(words) = answers.next()? {
            let (label, number) = N::unpack(words);
            labels[at(number)] = label;
        }
        // All of them are from higher ranges.
        let mut questions = letters.questions.take(range)?;
        while let Some(words) = questions.next()? {
            let (like, number) = N::unpack(words);
            let answer = N::pack(labels[at(like)], number);
            let asker = ranges.of(number.into());
            letters.answers.push(asker, &answer[..N::WORDS])?;
        }
        for &label in &labels {
            all.push(0, &[label.into()])?;
        }
    }
    Ok(all.take(0)?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The labels of the numbers `0..numbers` by both widths, in ranges of `size` numbers.
    fn both_widths(numbers: u64, edges: &[(u64, u64)], size: u64) -> Vec<u64> {
        let mut docs = DocSet::new(numbers);
        (0..numbers).for_each(|number| assert!(docs.insert(number)));
        docs.index();
        let four = by_width::<u32>(&docs, numbers, edges, size);
        assert_eq!(by_width::<u64>(&docs, numbers, edges, size), four);
        four
    }

    fn by_width<N: Number>(
        docs: &DocSet,
        numbers: u64,
        edges: &[(u64, u64)],
        size: u64,
    ) -> Vec<u64> {
        let scratch = tempfile::tempdir().unwrap();
        let setting = External {
            scratch: scratch.path().to_owned(),
            memory_bytes: 0,
        };
        let ranges = Ranges {
            numbers,
            size,
            queues_bytes: 0,
        };
        let mut forest = Forest {
            low: N::new(0),
            parents: Vec::new(),
        };
        let visit = |each: &mut dyn FnMut(u64, u64) -> Result<(), Error>| {
            edges.iter().try_for_each(|&(a, b)| each(a, b))
        };
        let letters = down(&setting, ranges, &mut forest, docs, &visit).unwrap();
        let mut labels = up(&setting, ranges, forest.parents, letters).unwrap();
        let mut found = Vec::new();
        while let Some(&[label]) = labels.next().unwrap() {
            found.push(label);
        }
        drop(labels);
        let left = std::fs::read_dir(scratch.path()).unwrap().count();
        assert_eq!(left, 0, "queues were left");
        found
    }

    /// The smallest of each component, by relaxing until nothing changes.
    fn reference(numbers: u64, edges: &[(u64, u64)]) -> Vec<u64> {
        let mut labels: Vec<u64> = (0..numbers).collect();
        loop {
            let before = labels.clone();
            for &(a, b) in edges {
                let low = labels[a as usize].min(labels[b as usize]);
                labels[a as usize] = low;
                labels[b as usize] = low;
            }
            if labels == before {
                return labels;
            }
        }
    }

    #[test]
    fn chains_and_stars_through_all_ranges() {
        let chain: Vec<_> = (1..300).map(|i| (i - 1, i)).collect();
        let backwards: Vec<_> = (1..300).map(|i| (300 - i, 299 - i)).collect();
        let scattered: Vec<_> = (1..300)
            .map(|i| (i * 101 % 300, (i - 1) * 101 % 300))
            .collect();
        let star: Vec<_> = (0..300).filter(|&i| i != 150).map(|i| (150, i)).collect();
        for edges in [&chain, &backwards, &scattered, &star] {
            for size in [1, 7, 64, 299, 300, 1_000] {
                assert_eq!(both_widths(300, edges, size), vec![0; 300]);
            }
        }
        assert_eq!(both_widths(0, &[], 10), Vec::<u64>::new());
    }

    #[test]
    fn the_least_memory_gives_no_more_ranges_and_takes_the_published_bits() {
        for linked in [1, 1_000, 1 << 20, 1_000_000_007, 5_000_000_000] {
            let least = minimum_bytes(linked);
            let count = match number_bytes(linked) {
                4 => Ranges::new::<u32>(least, linked).count(),
                _ => Ranges::new::<u64>(least, linked).count(),
            };
            assert!((1..=256).contains(&count), "{linked}: {count}");
            let bits = 8 * (least - (1 << 20) + DocSet::memory_bytes(linked));
            if linked > 1 << 26 && number_bytes(linked) == 4 {
                assert!(bits as f64 <= workdir::BITS_A_DOCUMENT * linked as f64);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn any_edges_any_ranges(
            edges in proptest::collection::vec((0u64..80, 0u64..80), 0..120),
            size in 1u64..90,
        ) {
            prop_assert_eq!(both_widths(80, &edges, size), reference(80, &edges));
        }
    }
}
