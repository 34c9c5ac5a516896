//! One giant chain.

use std::fmt;

use anyhow::{Result, ensure};

use super::{SHINGLE, Words, likeness};

/// Documents that are windows of one endless list of words, each some words further than the one before: each is like
/// the next, and those over a window apart share nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Documents.
    pub rows: u64,
    /// Words of a document, more than `step` and at least 5.
    pub words: u32,
    /// Words between the beginnings of a document and the next, at least 1.
    pub step: u32,
    /// Whether the links lie in the corpus in an order of no regularity, instead of one after the other.
    pub scattered: bool,
}

impl Chain {
    fn shingles(&self) -> u64 {
        u64::from(self.words) + 1 - SHINGLE
    }

    pub(super) fn check(&self) -> Result<()> {
        ensure!(
            u64::from(self.words) >= SHINGLE
                && 1 <= self.step
                && u64::from(self.step) < self.shingles(),
            "a chain of documents of {} words in steps of {} has no neighbours that share a shingle of {SHINGLE} words; \
             take 1 <= step <= words - {SHINGLE}",
            self.words,
            self.step
        );
        Ok(())
    }

    /// The link of the chain that document `row` is: all links, each once.
    pub(super) fn link(&self, row: u64) -> u64 {
        if !self.scattered || self.rows < 3 {
            return row;
        }
        // A multiplier without a common factor permutes 0..rows; near the golden section, neighbours go far apart.
        let mut multiplier = (self.rows as f64 * 0.618) as u64;
        while gcd(multiplier, self.rows) != 1 {
            multiplier += 1;
        }
        (u128::from(row) * u128::from(multiplier) % u128::from(self.rows)) as u64
    }

    pub(super) fn make(&self, words: &Words, row: u64, out: &mut String) {
        let first = self.link(row) * u64::from(self.step);
        for place in first..first + u64::from(self.words) {
            words.push(words.at(place), out);
        }
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shingles, step) = (self.shingles(), u64::from(self.step));
        write!(
            f,
            "one chain: J {:.3} to the next, {:.3} to the one after, 0 after {} steps",
            likeness(shingles - step, step),
            likeness(shingles.saturating_sub(2 * step), 2 * step),
            shingles.div_ceil(step)
        )
    }
}
