//! `fss`: fast similarity sketching.
//!
//! Dahlgaard, Knudsen, Langhede (Houen) and Thorup, "Fast similarity sketching", FOCS 2017; its first round is the
//! one-permutation hashing of Li, Owen and Zhang, "One permutation hashing", NIPS 2012.
//!
//! Round r = 0, 1, ... throws every shingle x into one of k bins by a fresh hash h_r(x). A bin holds the least pair
//! (r, h_r(x)) that met it, so a round only fills bins that the rounds before left empty, and rounds end as soon as no
//! bin is empty. Should k rounds not do, each bin i that is still empty takes the least h_{k+i}(x) of all shingles.
//! Each bin's pair is the least over the set of a function of the shingle alone, as in minhash, so two sets agree in
//! a bin with probability J; and the bins of a round draw different shingles, which lessens the variance.
//!
//! # `fss-1`
//! h_r(x) = mix(x ^ splitmix64(seed + r)), mix the finaliser of SplitMix64, arithmetic mod 2^64. The bin is
//! floor((h >> 32) k / 2^32), the slot holds the low 32 bits of the winning h. Within a bin the winner is decided by
//! the bits above those 32 (but for ties), so slots are uniform however many shingles there are.

use crate::{
    RETAINED_SHINGLES,
    mix::{mix, splitmix64},
};

/// The round of a bin that no shingle has met.
const NEVER: u32 = u32::MAX;

#[derive(Debug)]
pub(crate) struct Fss {
    k: u32,
    /// The key of each of the 2 k hashes.
    keys: Vec<u64>,
    /// The least hash of each bin, in its round.
    least: Vec<u64>,
    /// The round that filled each bin.
    round: Vec<u32>,
    /// The shingles without repeats, where these are many.
    distinct: Vec<u64>,
    /// Hashes after which a set without repeats would most surely be done: 4 k log2 k.
    ample: usize,
}

impl Fss {
    pub(crate) fn new(k: u32, seed: u64) -> Self {
        let slots = k as usize;
        Self {
            k,
            keys: (0..2 * u64::from(k))
                .map(|r| splitmix64(seed.wrapping_add(r)))
                .collect(),
            least: vec![0; slots],
            round: vec![NEVER; slots],
            distinct: Vec::new(),
            ample: 4 * slots * k.ilog2() as usize,
        }
    }

    pub(crate) fn sketch(&mut self, shingles: &[u64], out: &mut [u32]) {
        if self.first_round(shingles) > 0 {
            self.further_rounds(shingles);
        }
        for (slot, least) in out.iter_mut().zip(&self.least) {
            *slot = *least as u32;
        }
    }

    /// Round 0, nearly all of the work for a document of a few times k shingles: no branch in the loop. Returns the
    /// number of empty bins. (A bin whose least hash is 2^64 - 1 counts as empty; as that is so for every set that
    /// has this least hash there, nothing is lost.)
    fn first_round(&mut self, shingles: &[u64]) -> usize {
        let key = self.keys.first().copied().unwrap_or_default();
        let k = u64::from(self.k);
        self.least.fill(u64::MAX);
        for x in shingles {
            let hash = mix(x ^ key);
            let least = &mut self.least[bin(hash, k)];
            *least = hash.min(*least);
        }
        self.least.iter().filter(|h| **h == u64::MAX).count()
    }

    /// The rounds after the first, and the bins that are empty after k of them.
    fn further_rounds(&mut self, shingles: &[u64]) {
        for (round, least) in self.round.iter_mut().zip(&self.least) {
            *round = if *least == u64::MAX { NEVER } else { 0 };
        }
        let mut distinct = std::mem::take(&mut self.distinct);
        distinct.clear();
        distinct.shrink_to(RETAINED_SHINGLES);
        for r in 1..self.k {
            // Only a document that repeats itself leaves bins empty after so many hashes. Without its repeats the
            // rest is cheap; with them, one that says the same over and over would be read k times.
            if distinct.is_empty()
                && r >= 3
                && shingles.len().saturating_mul(r as usize) > self.ample
            {
                distinct.extend_from_slice(shingles);
                distinct.sort_unstable();
                distinct.dedup();
            }
            let shingles = if distinct.is_empty() {
                shingles
            } else {
                &distinct
            };
            self.round(r, shingles);
            if !self.round.contains(&NEVER) {
                break;
            }
        }
        let shingles = if distinct.is_empty() {
            shingles
        } else {
            &distinct
        };
        let own_keys = self.keys.iter().skip(self.k as usize);
        for ((round, least), key) in self.round.iter().zip(&mut self.least).zip(own_keys) {
            if *round == NEVER {
                *least = shingles
                    .iter()
                    .fold(u64::MAX, |least, x| least.min(mix(x ^ key)));
            }
        }
        self.distinct = distinct;
    }

    fn round(&mut self, r: u32, shingles: &[u64]) {
        let key = self.keys[r as usize];
        let k = u64::from(self.k);
        for x in shingles {
            let hash = mix(x ^ key);
            let bin = bin(hash, k);
            let round = &mut self.round[bin];
            if *round == NEVER {
                *round = r;
                self.least[bin] = hash;
            } else if *round == r {
                let least = &mut self.least[bin];
                *least = hash.min(*least);
            }
        }
    }
}

/// Multiply-shift of the high 32 bits: any k will do, and the low 32 bits stay unused. Below k.
fn bin(hash: u64, k: u64) -> usize {
    (((hash >> 32) * k) >> 32) as usize
}
