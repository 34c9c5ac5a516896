//! `universal`: k minhashes by functions of Carter and Wegman's universal family.
//!
//! Carter and Wegman, "Universal classes of hash functions", Journal of Computer and System Sciences 18 (1979);
//! minhash: Broder, "On the resemblance and containment of documents", SEQUENCES 1997.
//!
//! With p = 2^61 - 1, and x a shingle hash mod p, slot i is the low 32 bits of the least (a_i x + b_i) mod p over the
//! shingles, with a_i = splitmix64(seed + 2i) mod (p - 1) + 1 and b_i = splitmix64(seed + 2i + 1) mod p. The low bits
//! of the least value are as good as uniform, however many shingles there are.

use crate::{RETAINED_SHINGLES, mix::splitmix64};

const P: u64 = (1 << 61) - 1;

#[derive(Debug)]
pub(crate) struct Universal {
    coefficients: Vec<(u64, u64)>,
    /// The shingle hashes mod p.
    reduced: Vec<u64>,
    /// The least value of each slot in an incremental sketch.
    least: Vec<u64>,
}

impl Universal {
    pub(crate) fn new(k: u32, seed: u64) -> Self {
        let coefficient = |i: u32| {
            let at = seed.wrapping_add(2 * u64::from(i));
            let a = splitmix64(at) % (P - 1) + 1;
            let b = splitmix64(at.wrapping_add(1)) % P;
            (a, b)
        };
        Self {
            coefficients: (0..k).map(coefficient).collect(),
            reduced: Vec::new(),
            least: Vec::new(),
        }
    }

    pub(crate) fn sketch(&mut self, shingles: &[u64], out: &mut [u32]) {
        self.reduce(shingles);
        for (slot, (a, b)) in out.iter_mut().zip(&self.coefficients) {
            *slot = least(*a, *b, &self.reduced) as u32;
        }
    }

    /// Begins an incremental sketch.
    pub(crate) fn begin(&mut self) {
        self.least.clear();
        self.least.resize(self.coefficients.len(), P);
    }

    /// Takes some of the shingles.
    pub(crate) fn update(&mut self, shingles: &[u64]) {
        self.reduce(shingles);
        for (slot, (a, b)) in self.least.iter_mut().zip(&self.coefficients) {
            *slot = (*slot).min(least(*a, *b, &self.reduced));
        }
    }

    /// The signature of the shingles that came.
    pub(crate) fn write(&self, out: &mut [u32]) {
        for (slot, least) in out.iter_mut().zip(&self.least) {
            *slot = *least as u32;
        }
    }

    fn reduce(&mut self, shingles: &[u64]) {
        self.reduced.clear();
        self.reduced.shrink_to(RETAINED_SHINGLES);
        self.reduced.extend(shingles.iter().map(|x| x % P));
    }

    /// The coefficients, for the shared vectors.
    #[cfg(test)]
    pub(crate) fn coefficients(&self) -> &[(u64, u64)] {
        &self.coefficients
    }
}

/// The least (a x + b) mod p; p where there is no x.
pub(crate) fn least(a: u64, b: u64, reduced: &[u64]) -> u64 {
    reduced.iter().fold(P, |least, x| least.min(hash(a, b, *x)))
}

/// (a x + b) mod p for a, b, x < p. As 2^61 = 1 mod p, the high part counts as much as the low one.
fn hash(a: u64, b: u64, x: u64) -> u64 {
    let value = u128::from(a) * u128::from(x) + u128::from(b);
    let low = value as u64 & P;
    // The value is below 2^122, so the high part fits, and the sum is below 2 p.
    let high = (value >> 61) as u64;
    let sum = low + high;
    sum.min(sum.wrapping_sub(P))
}
