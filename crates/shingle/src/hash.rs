//! The published hash: tokens, their rolling combination, the salt and the finaliser. See the crate's page.

use std::cell::Cell;

use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed, xxh3_128};

use crate::normal::ascii_prefix;
use crate::xxh3;

/// "neardup" and the version of this hash.
const SEED: u64 = 0x6e65_6172_6475_7001;

/// The base of the polynomial. Odd, so that no token is ever shifted out; and 3 mod 8, so that of M^d - 1, by which
/// two tokens d apart differ when they change places, only few low bits are zero.
const BASE: u64 = 0xd6e8_feb8_6659_fd93;

/// What stands for a unit in the salt.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UnitCode {
    Word = 1,
    Char = 2,
}

/// The hash of a token.
#[inline]
pub(crate) fn token(bytes: &[u8]) -> u64 {
    xxh3::hash::<SEED>(bytes)
}

/// [`token`], soonest for tokens of one method of [`xxh3`].
pub(crate) mod by_method {
    use super::{SEED, xxh3};

    #[inline]
    pub(crate) fn up_to_3(bytes: &[u8]) -> u64 {
        xxh3::up_to_3::<SEED>(bytes)
    }

    #[inline]
    pub(crate) fn up_to_8(bytes: &[u8]) -> u64 {
        xxh3::up_to_8::<SEED>(bytes)
    }

    #[inline]
    pub(crate) fn up_to_16(bytes: &[u8]) -> u64 {
        xxh3::up_to_16::<SEED>(bytes)
    }

    #[inline]
    pub(crate) fn longer(bytes: &[u8]) -> u64 {
        xxh3::longer::<SEED>(bytes)
    }
}

/// [`token`] of bytes that come in parts.
pub(crate) fn token_in_parts() -> Xxh3 {
    Xxh3::with_seed(SEED)
}

/// The hash of a normalised text.
pub(crate) fn text(bytes: &[u8]) -> u128 {
    xxh3_128(bytes)
}

/// The finaliser of SplitMix64, a bijection.
pub(crate) fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// What distinguishes equal tokens in shingles of another unit, length or count.
pub(crate) fn salt(unit: UnitCode, n: u64, count: u64) -> u64 {
    let fields = [unit as u64, n, count];
    let mut bytes = [0; 24];
    for (place, field) in bytes.chunks_exact_mut(8).zip(fields) {
        place.copy_from_slice(&field.to_le_bytes());
    }
    xxh3_64_with_seed(&bytes, SEED)
}

/// Turns token hashes into shingle hashes.
#[derive(Debug)]
pub(crate) struct Roller {
    unit: UnitCode,
    n: usize,
    /// Salt of a whole shingle.
    salt: u64,
    /// BASE^n, the weight of the token that leaves the window.
    leaving: u64,
}

impl Roller {
    pub(crate) fn new(unit: UnitCode, n: u32) -> Self {
        Self {
            unit,
            // No text has more tokens than usize can count.
            n: usize::try_from(n).unwrap_or(usize::MAX),
            salt: salt(unit, n.into(), n.into()),
            leaving: BASE.wrapping_pow(n),
        }
    }

    /// Whether a document of so many tokens has fewer than one whole shingle.
    pub(crate) fn is_short(&self, tokens: usize) -> bool {
        tokens < self.n
    }

    /// Replaces the hashes of a document's tokens by those of its shingles. No tokens stay none.
    pub(crate) fn roll(&self, hashes: &mut Vec<u64>) {
        if hashes.is_empty() {
            return;
        }
        let tokens = hashes.len();
        if self.is_short(tokens) {
            let sum = hashes.iter().fold(0, |sum, token| enter(sum, *token));
            let salt = salt(self.unit, self.n as u64, tokens as u64);
            hashes.clear();
            hashes.push(mix(sum ^ salt));
            return;
        }
        let shingles = self.roll_whole(hashes);
        hashes.truncate(shingles);
    }

    /// Replaces the hashes of tokens by those of the whole shingles that they form, and returns how many these are.
    /// The last n - 1 hashes, or all where there are fewer, stay those of tokens.
    pub(crate) fn roll_whole(&self, hashes: &mut [u64]) -> usize {
        let Some(last) = hashes.len().checked_sub(self.n) else {
            return 0;
        };
        // A shingle takes the place of its first token, which no later one needs.
        let hashes = Cell::from_mut(hashes).as_slice_of_cells();
        let (first, entering) = hashes.split_at(self.n);
        let mut sum = first.iter().fold(0, |sum, token| enter(sum, token.get()));
        for (place, entering) in hashes.iter().zip(entering) {
            let leaving = place.get().wrapping_mul(self.leaving);
            place.set(mix(sum ^ self.salt));
            sum = enter(sum, entering.get().wrapping_sub(leaving));
        }
        hashes[last].set(mix(sum ^ self.salt));
        last + 1
    }

    /// Tokens of a whole shingle.
    pub(crate) fn n(&self) -> usize {
        self.n
    }
}

fn enter(sum: u64, token: u64) -> u64 {
    sum.wrapping_mul(BASE).wrapping_add(token)
}

/// The hashes of the 128 tokens that are one ASCII character.
#[derive(Debug)]
pub(crate) struct AsciiTokens([u64; 128]);

impl AsciiTokens {
    pub(crate) fn new() -> Self {
        let mut hashes = [0; 128];
        for (byte, hash) in (0..).zip(&mut hashes) {
            *hash = token(&[byte]);
        }
        Self(hashes)
    }

    /// Appends the hash of each character of a UTF-8 text.
    pub(crate) fn characters(&self, text: &[u8], hashes: &mut Vec<u64>) {
        let mut rest = text;
        while let Some(lead) = rest.first() {
            if lead.is_ascii() {
                let (run, tail) = rest.split_at(ascii_prefix(rest));
                // A byte that is not ASCII is none of the run.
                hashes.extend(run.iter().map(|b| self.0[usize::from(b & 0x7f)]));
                rest = tail;
            } else {
                let bytes = rest.len().min(lead.leading_ones() as usize).max(1);
                let (character, tail) = rest.split_at(bytes);
                hashes.push(token(character));
                rest = tail;
            }
        }
    }
}
