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

/// What an incremental sketch does with the shingles that come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Round 0.
    First,
    /// A later round.
    Round(u32),
    /// The hashes of the bins that k rounds left empty.
    Own,
}

/// [`Fss::few`] holds at most so many different shingles: 512 KiB. More of them leave a bin empty after the first round
/// only where k is in the thousands.
const FEW_MAX: usize = 1 << 16;

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
    /// How far an incremental sketch is.
    phase: Phase,
    /// The shingles of an incremental sketch, where few of them differ.
    few: Option<Vec<u64>>,
    /// Different shingles that `few` may hold.
    few_max: usize,
    /// Hashes after which a set without repeats would most surely be done: 4 k log2 k.
    ample: usize,
}

impl Fss {
    pub(crate) fn new(k: u32, seed: u64) -> Self {
        let slots = k as usize;
        let ample = 4 * slots * k.ilog2() as usize;
        Self {
            k,
            keys: (0..2 * u64::from(k))
                .map(|r| splitmix64(seed.wrapping_add(r)))
                .collect(),
            least: vec![0; slots],
            round: vec![NEVER; slots],
            distinct: Vec::new(),
            phase: Phase::First,
            few: None,
            few_max: ample.min(FEW_MAX),
            ample,
        }
    }

    pub(crate) fn sketch(&mut self, shingles: &[u64], out: &mut [u32]) {
        if self.first_round(shingles) > 0 {
            self.further_rounds(shingles);
        }
        self.write(out);
    }

    /// Begins an incremental sketch.
    pub(crate) fn begin(&mut self) {
        self.least.fill(u64::MAX);
        self.phase = Phase::First;
        let mut few = self.few.take().unwrap_or_default();
        few.clear();
        self.few = Some(few);
    }

    /// Takes some of the shingles of the pass.
    pub(crate) fn update(&mut self, shingles: &[u64]) {
        match self.phase {
            Phase::First => {
                self.fold_first_round(shingles);
                self.collect_few(shingles);
            }
            Phase::Round(r) => self.round(r, shingles),
            Phase::Own => self.own_hashes(shingles),
        }
    }

    /// Ends a pass; true where the sketch is complete, false where all shingles have to come again.
    pub(crate) fn end_pass(&mut self) -> bool {
        let next = match self.phase {
            Phase::First if !self.least.contains(&u64::MAX) => return true,
            Phase::First => {
                // Nearly always: so many different shingles as do not fit leave no bin empty.
                if let Some(few) = self.few.take() {
                    self.further_rounds(&few);
                    self.few = Some(few);
                    return true;
                }
                self.mark_filled();
                1
            }
            Phase::Round(_) if !self.round.contains(&NEVER) => return true,
            Phase::Round(r) => r + 1,
            Phase::Own => return true,
        };
        self.phase = if next < self.k {
            Phase::Round(next)
        } else {
            Phase::Own
        };
        false
    }

    /// Keeps shingles as long as few of them differ.
    fn collect_few(&mut self, shingles: &[u64]) {
        let Some(few) = &mut self.few else { return };
        few.extend_from_slice(shingles);
        // Not at each call, so that small chunks do not cost a sort each.
        if few.len() > 2 * self.few_max {
            few.sort_unstable();
            few.dedup();
            if few.len() > self.few_max {
                self.few = None;
            }
        }
    }

    /// The low 32 bits of the bins' hashes.
    pub(crate) fn write(&self, out: &mut [u32]) {
        for (slot, least) in out.iter_mut().zip(&self.least) {
            *slot = *least as u32;
        }
    }

    /// Round 0 over all shingles. Returns the number of empty bins. (A bin whose least hash is 2^64 - 1 counts as
    /// empty; as that is so for every set that has this least hash there, nothing is lost.)
    fn first_round(&mut self, shingles: &[u64]) -> usize {
        self.least.fill(u64::MAX);
        self.fold_first_round(shingles);
        self.least.iter().filter(|h| **h == u64::MAX).count()
    }

    /// Round 0, nearly all of the work for a document of a few times k shingles: no branch in the loop.
    fn fold_first_round(&mut self, shingles: &[u64]) {
        let key = self.keys.first().copied().unwrap_or_default();
        let k = u64::from(self.k);
        for x in shingles {
            let hash = mix(x ^ key);
            let least = &mut self.least[bin(hash, k)];
            *least = hash.min(*least);
        }
    }

    /// Notes which bins the first round filled.
    fn mark_filled(&mut self) {
        for (round, least) in self.round.iter_mut().zip(&self.least) {
            *round = if *least == u64::MAX { NEVER } else { 0 };
        }
    }

    /// The rounds after the first, and the bins that are empty after k of them.
    fn further_rounds(&mut self, shingles: &[u64]) {
        self.mark_filled();
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
        self.own_hashes(shingles);
        self.distinct = distinct;
    }

    /// Folds the shingles into the bins that k rounds left empty, by the hash of each.
    fn own_hashes(&mut self, shingles: &[u64]) {
        let own_keys = self.keys.iter().skip(self.k as usize);
        for ((round, least), key) in self.round.iter().zip(&mut self.least).zip(own_keys) {
            if *round == NEVER {
                *least = shingles
                    .iter()
                    .fold(*least, |least, x| least.min(mix(x ^ key)));
            }
        }
    }

    /// Lets an incremental sketch read everything again where it else would remember it.
    #[cfg(test)]
    pub(crate) fn remember_at_most(&mut self, few_max: usize) {
        self.few_max = few_max;
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
