//! Buckets of most of the corpus, in which nothing is alike.

use std::fmt;

use anyhow::{Result, ensure};

use super::{SHINGLE, Words, likeness};
use crate::random::Purpose;

/// Documents of one boilerplate text followed by words of their own.
///
/// With S shared and u own shingles, two documents have J = S / (S + 2 u). A slot holds a minimum over all shingles of
/// a document; which of the shared shingles is the least among them is the same for all, and its hash, as a share of
/// the range, is about an exponential variable of mean 1 / S. So a document has that shared value with probability
/// e^(-u h), and a slot with a small h brings nearly all of the corpus into one bucket of a band of that slot alone.
/// The best of b bands of one slot has h of about 1 / (b S): with u = S (J = 1/3) and b = 20, a share of e^(-1/20) = 95 %
/// of all documents in one bucket; bands of 6 slots need a larger S for the same. The measured sizes stand in
/// `report.json` (`largest_buckets`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Documents.
    pub rows: u64,
    /// Words of the boilerplate, at least 5.
    pub shared: u32,
    /// Words of a document's own, at least 1.
    pub own: u32,
}

impl Bucket {
    /// J of any two documents.
    pub fn jaccard(&self) -> f64 {
        likeness(u64::from(self.shared) + 1 - SHINGLE, self.own.into())
    }

    pub(super) fn check(&self) -> Result<()> {
        ensure!(
            u64::from(self.shared) >= SHINGLE && self.own >= 1,
            "{} shared and {} own words make no bucket of documents that differ; it must be at least {SHINGLE} and 1",
            self.shared,
            self.own
        );
        Ok(())
    }

    pub(super) fn make(&self, words: &Words, shared: &[u16], row: u64, out: &mut String) {
        shared.iter().for_each(|&word| words.push(word, out));
        let mut random = words.random(row, Purpose::Text);
        (0..self.own).for_each(|_| words.push(Words::draw(&mut random), out));
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "one boilerplate: J {:.3} of any two documents",
            self.jaccard()
        )
    }
}
