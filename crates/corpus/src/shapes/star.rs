//! One document that is like all others, which are unlike each other.

use std::fmt;

use anyhow::{Result, ensure};

use super::{SHINGLE, Words, likeness};
use crate::random::Purpose;

/// A hub, and leaves that are the hub with some words replaced, each at places of its own choice. Places are a
/// multiple of a shingle's length apart, so that each replaced word changes five shingles, and five others than the
/// next; J to the hub is so the same for all leaves.
///
/// With n shingles and c replaced words, J is (n - 5 c) / (n + 5 c) to the hub, and (n - 10 c) / (n + 10 c) between
/// leaves that replace different places. No text can do much better: what two leaves share with the hub for
/// certain, they share with each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Star {
    /// Leaves; the hub is one document more.
    pub leaves: u64,
    /// Words of a document.
    pub words: u32,
    /// Words that each leaf replaces, 1 to `words` / 5 - 2.
    pub changes: u32,
    /// The row of the hub among all.
    pub hub_row: u64,
}

impl Star {
    fn shingles(&self) -> u64 {
        u64::from(self.words) + 1 - SHINGLE
    }

    /// Places where a word may be replaced: each lies in five shingles that no other place lies in.
    fn places(&self) -> u64 {
        (u64::from(self.words) / SHINGLE).saturating_sub(2)
    }

    pub(super) fn check(&self) -> Result<()> {
        ensure!(
            1 <= self.changes && u64::from(self.changes) <= self.places(),
            "leaves of {} words have {} places that can be replaced apart from each other, so {} changes cannot be; \
             take 1 to that many",
            self.words,
            self.places(),
            self.changes
        );
        ensure!(
            self.hub_row <= self.leaves,
            "the hub cannot be row {}: the rows are 0 to {}",
            self.hub_row,
            self.leaves
        );
        Ok(())
    }

    pub(super) fn make(&self, words: &Words, hub: &[u16], row: u64, out: &mut String) {
        if row == self.hub_row {
            hub.iter().for_each(|&word| words.push(word, out));
            return;
        }
        let mut random = words.random(row, Purpose::Copy);
        let (mut places, mut changes) = (self.places(), u64::from(self.changes));
        for (i, &word) in (0u64..).zip(hub) {
            // Five words in and five words before the end, a place at every fifth.
            let is_place = i >= SHINGLE && i % SHINGLE == 0 && i / SHINGLE <= self.places();
            // Selection sampling (Knuth, The Art of Computer Programming 2, algorithm S).
            let chosen = is_place && random.below(places) < changes;
            places -= u64::from(is_place);
            changes -= u64::from(chosen);
            if chosen {
                let mut other = Words::draw(&mut random);
                // One that is not the word itself.
                if other == word {
                    other ^= 1;
                }
                words.push(other, out);
            } else {
                words.push(word, out);
            }
        }
    }

    /// J of a leaf to the hub.
    pub fn jaccard_to_hub(&self) -> f64 {
        let changed = SHINGLE * u64::from(self.changes);
        likeness(self.shingles() - changed, changed)
    }

    /// J of two leaves that replace `shared` places both (by different words).
    pub fn jaccard_of_leaves(&self, shared: u32) -> f64 {
        let changed = SHINGLE * (2 * u64::from(self.changes)).saturating_sub(shared.into());
        let both = self.shingles().saturating_sub(changed);
        likeness(both, self.shingles() - both)
    }

    /// The share of pairs of leaves whose J is at least `threshold`, as they replace many places both: the tail of a
    /// hypergeometric distribution.
    pub fn alike_leaves(&self, threshold: f64) -> f64 {
        let (places, changes) = (self.places() as f64, f64::from(self.changes));
        let choose_ln = |n: f64, k: u32| -> f64 {
            (0..k)
                .map(|i| ((n - f64::from(i)) / f64::from(i + 1)).ln())
                .sum()
        };
        (0..=self.changes)
            .filter(|&shared| self.jaccard_of_leaves(shared) >= threshold)
            .filter(|&shared| f64::from(self.changes - shared) <= places - changes)
            .map(|shared| {
                let ways =
                    choose_ln(changes, shared) + choose_ln(places - changes, self.changes - shared);
                (ways - choose_ln(places, self.changes)).exp()
            })
            .sum()
    }
}

impl fmt::Display for Star {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = self.places() as f64;
        let changes = f64::from(self.changes);
        let usual = (changes * changes / places).round() as u32;
        write!(
            f,
            "one star: J {:.3} of hub and leaf, {:.3} of two leaves (usually; a share {:.1e} of the pairs reaches 0.8)",
            self.jaccard_to_hub(),
            self.jaccard_of_leaves(usual),
            self.alike_leaves(0.8)
        )
    }
}
