//! The tokens of a text, hashed some hundred at a time.
//!
//! Where a token ends, and by which method it is hashed, no processor can foresee. So the ends are gathered first,
//! from masks of blanks and without a branch a token, then sorted by method, and each method has a loop of its own.

use std::ops::Range;

use crate::hash::by_method;
use crate::normal::{Normal, separate};
use crate::xxh3::METHOD_BYTES;

/// Tokens that are gathered before they are hashed, as a rule.
const ENOUGH: usize = 192;
/// Most tokens: one mask more than are not enough yet. So a `u8` counts them.
const MOST: usize = 256;
/// Places that are written at a time.
const STRIDE: usize = 8;

/// Tokens on their way to their hashes.
#[derive(Debug)]
pub(crate) struct Tokens {
    /// Where each token starts; also that of the next one, and a stride of rubbish.
    starts: [usize; MOST + STRIDE + 1],
    /// Where each token ends.
    ends: [usize; MOST + STRIDE],
    count: usize,
    /// The tokens of each method.
    sorted: [[u8; MOST]; 4],
    hashes: [u64; MOST],
    /// The first and the last token that were hashed.
    outer: Option<[Range<usize>; 2]>,
}

impl Tokens {
    pub(crate) fn new() -> Self {
        Self {
            starts: [0; MOST + STRIDE + 1],
            ends: [0; MOST + STRIDE],
            count: 0,
            sorted: [[0; MOST]; 4],
            hashes: [0; MOST],
            outer: None,
        }
    }

    /// Normalises the text in `normal`, appends the hashes of its tokens, and returns where the first and the last one
    /// are, if there are any.
    pub(crate) fn words(
        &mut self,
        normal: &mut Normal,
        out: &mut Vec<u64>,
    ) -> Option<[Range<usize>; 2]> {
        self.outer = None;
        self.count = 0;
        self.starts[0] = 0;
        if normal.separates() {
            normal.collapse(|_, _, _| ());
            let text = normal.bytes();
            separate(text, |start, end| self.push(text, start, end, out));
        } else {
            normal.collapse(|text, base, blanks| self.end_at(text, base, blanks, out));
        }
        self.hash(normal.bytes(), out);
        self.outer.take()
    }

    /// Ends a token at `base + i` for each bit i of `blanks`; the next one starts behind the blank. Bits follow those of
    /// the call before, and none is at the start of a token.
    #[inline]
    fn end_at(&mut self, text: &[u8], base: usize, blanks: u64, out: &mut Vec<u64>) {
        let mut left = blanks;
        let mut at = self.count;
        while left != 0 {
            let starts = self.starts.get_mut(at + 1..at + 1 + STRIDE);
            let ends = self.ends.get_mut(at..at + STRIDE);
            let (Some(starts), Some(ends)) = (starts, ends) else {
                break;
            };
            for (start, end) in starts.iter_mut().zip(ends) {
                // With the top bit the compiler knows that there is one. What is written after the last is rubbish.
                *end = base + (left | 1 << 63).trailing_zeros() as usize;
                *start = *end + 1;
                left &= left.wrapping_sub(1);
            }
            at += STRIDE;
        }
        self.count += blanks.count_ones() as usize;
        if self.count >= ENOUGH {
            self.hash(text, out);
        }
    }

    /// A token from `start` to `end`.
    #[inline]
    fn push(&mut self, text: &[u8], start: usize, end: usize, out: &mut Vec<u64>) {
        self.starts[self.count] = start;
        self.ends[self.count] = end;
        self.count += 1;
        if self.count >= ENOUGH {
            self.hash(text, out);
        }
    }

    /// Appends the hashes of the tokens gathered, and goes on with the next one.
    fn hash(&mut self, text: &[u8], out: &mut Vec<u64>) {
        let [up_to_3, up_to_8, up_to_16, longer] = self.sort();
        self.hash_each(text, 0, up_to_3, by_method::up_to_3);
        self.hash_each(text, 1, up_to_8, by_method::up_to_8);
        self.hash_each(text, 2, up_to_16, by_method::up_to_16);
        self.hash_each(text, 3, longer, by_method::longer);
        if let Some(last) = self.count.checked_sub(1) {
            let last = self.starts[last]..self.ends[last];
            match &mut self.outer {
                Some([_, outer]) => *outer = last,
                None => self.outer = Some([self.starts[0]..self.ends[0], last]),
            }
        }
        out.extend_from_slice(self.hashes.get(..self.count).unwrap_or_default());
        self.starts[0] = self.starts[self.count];
        self.count = 0;
    }

    /// Sorts the tokens by method; returns how many each one has.
    fn sort(&mut self) -> [usize; 4] {
        let [mut shorts, mut middles, mut longs, mut rest] = [0; 4];
        let [up_to_3, up_to_8, up_to_16, longer] = &mut self.sorted;
        let bounds = self.starts.iter().zip(&self.ends);
        for (token, (start, end)) in (0..MOST).zip(bounds).take(self.count) {
            let bytes = end.wrapping_sub(*start);
            let [over_3, over_8, over_16] = METHOD_BYTES.map(|most| usize::from(bytes > most));
            // Each list gets the token, and keeps it if it is of that method: sums, where branches would be guesses.
            up_to_3[shorts % MOST] = token as u8;
            up_to_8[middles % MOST] = token as u8;
            up_to_16[longs % MOST] = token as u8;
            longer[rest % MOST] = token as u8;
            shorts += 1 - over_3;
            middles += over_3 - over_8;
            longs += over_8 - over_16;
            rest += over_16;
        }
        [shorts, middles, longs, rest]
    }

    #[inline]
    fn hash_each(&mut self, text: &[u8], list: usize, count: usize, hash: impl Fn(&[u8]) -> u64) {
        for token in &self.sorted[list][..count] {
            let token = usize::from(*token);
            let bytes = text.get(self.starts[token]..self.ends[token]);
            self.hashes[token] = hash(bytes.unwrap_or_default());
        }
    }
}
