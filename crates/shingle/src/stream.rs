//! Shingles of a long text by chunks: no buffer grows with the text.

use std::ops::Range;

use xxhash_rust::xxh3::{Xxh3, Xxh3Default};

use crate::hash::{self, AsciiTokens, Roller};
use crate::normal::{self, Normal};
use crate::segments::{self, SEGMENT_BYTES};
use crate::tokens::Tokens;
use crate::{Shingler, Unit};

/// Hashes of tokens that are gathered before shingles are made of them.
const CHUNK: usize = 32 << 10;
/// Bytes that a byte of the longest segment may need: its composed, lower-case and normalised forms in buffers that grow
/// by doubling, the marks that NFC sorts, and the hashes of its tokens.
const SCRATCH_FACTOR: u64 = 32;

/// What [`Shingler::stream`] says of a text beside its shingles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streamed {
    /// How many hashes were given: `max(1, tokens - n + 1)`.
    pub shingles: u64,
    /// XXH3-128 of the UTF-8 bytes of the normalised text.
    pub text_hash: u128,
    /// Length of the normalised text in UTF-8 bytes; at least 1.
    pub normalised_bytes: u64,
}

impl Shingler {
    /// The shingles of a text as of [`Shingler::document`], in chunks of some ten thousand, to `sink`; none, and no
    /// chunk, where there is nothing to compare. The text is the pieces one after the other, wherever it is divided;
    /// another call with the same pieces gives the same chunks.
    ///
    /// Memory: [`Shingler::stream_bytes`], a few MiB for all but contrived texts. Cost: that of
    /// [`Shingler::document`] and a few percent; twice that for a text of fewer than `n` tokens with [`Unit::Auto`].
    pub fn stream<'t>(
        &mut self,
        pieces: impl Iterator<Item = &'t str> + Clone,
        sink: impl FnMut(&[u64]),
    ) -> Option<Streamed> {
        self.stream_by(SEGMENT_BYTES, CHUNK, pieces, sink)
    }

    /// What [`Shingler::stream`] needs for a text at the most, in bytes: about 2 MiB, and 32 times the longest stretch
    /// that NFC and lower-casing have to see at once, where that is over 64 KiB. Such are runs of combining marks and,
    /// in a text with a capital sigma, of characters like dots and apostrophes.
    ///
    /// Cost: a look at the text every 64 KiB, and a search for a sigma.
    pub fn stream_bytes<'t>(pieces: impl Iterator<Item = &'t str> + Clone) -> u64 {
        let mut longest = SEGMENT_BYTES;
        segments::each(pieces, SEGMENT_BYTES, |segment| {
            longest = longest.max(segment.len());
        });
        SCRATCH_FACTOR.saturating_mul(longest as u64)
    }

    pub(crate) fn stream_by<'t>(
        &mut self,
        segment_bytes: usize,
        chunk: usize,
        pieces: impl Iterator<Item = &'t str> + Clone,
        mut sink: impl FnMut(&[u64]),
    ) -> Option<Streamed> {
        if self.config.unit != Unit::Char {
            let short_too = self.config.unit == Unit::Word;
            let mut flow = Flow::new(self, false, chunk);
            segments::each(pieces.clone(), segment_bytes, |segment| {
                flow.take(segment, &mut sink);
            });
            if let Some(done) = flow.finish(short_too, &mut sink) {
                return done;
            }
        }
        let mut flow = Flow::new(self, true, chunk);
        segments::each(pieces, segment_bytes, |segment| {
            flow.take(segment, &mut sink)
        });
        flow.finish(true, &mut sink).flatten()
    }
}

/// One pass over the segments of a text.
struct Flow<'s> {
    normal: &'s mut Normal,
    words: &'s mut Tokens,
    ascii: &'s AsciiTokens,
    roller: &'s Roller,
    by_char: bool,
    chunk: usize,
    /// Hashes of tokens that are not yet in all their shingles.
    tokens: &'s mut Vec<u64>,
    /// The token at the end of the last segment, if it may go on in the next one.
    open: Option<Xxh3>,
    /// Whether blanks follow what was read.
    blank: bool,
    text: Xxh3Default,
    text_bytes: u64,
    shingles: u64,
}

impl<'s> Flow<'s> {
    fn new(shingler: &'s mut Shingler, by_char: bool, chunk: usize) -> Self {
        shingler.release();
        Self {
            normal: &mut shingler.normal,
            words: &mut shingler.tokens,
            ascii: &shingler.ascii,
            roller: if by_char {
                &shingler.char
            } else {
                &shingler.word
            },
            by_char,
            chunk,
            tokens: &mut shingler.hashes,
            open: None,
            blank: false,
            text: Xxh3Default::new(),
            text_bytes: 0,
            shingles: 0,
        }
    }

    /// Reads the next segment.
    fn take(&mut self, segment: &str, sink: &mut impl FnMut(&[u64])) {
        self.normal.fill(segment);
        let (Some(first), Some(last)) = (self.normal.bytes().first(), self.normal.bytes().last())
        else {
            // Punctuation that was removed: what stands around it meets.
            return;
        };
        let ends_in_blank = *last == b' ';
        self.blank |= *first == b' ';
        if self.by_char {
            self.normal.collapse(|_, _, _| ());
        } else {
            self.cut_words(ends_in_blank);
        }
        let text = self.normal.bytes();
        if !text.is_empty() {
            if self.blank && self.text_bytes > 0 {
                self.text.update(b" ");
                self.text_bytes += 1;
                if self.by_char {
                    self.ascii.characters(b" ", self.tokens);
                }
            }
            if self.by_char {
                self.ascii.characters(text, self.tokens);
            }
            self.text.update(text);
            self.text_bytes += text.len() as u64;
            self.blank = ends_in_blank;
        }
        if self.tokens.len() >= self.chunk.max(self.roller.n().saturating_mul(2)) {
            self.flush(sink);
        }
    }

    /// Cuts the text in `normal` into tokens. The first may be the end of the open one, and the last is left open.
    fn cut_words(&mut self, ends_in_blank: bool) {
        if self.blank {
            self.close();
        }
        let before = self.tokens.len();
        let Some([first, last]) = self.words.words(self.normal, self.tokens) else {
            return;
        };
        let text = self.normal.bytes();
        let separates = self.normal.separates();
        let is_alone = |token: &Range<usize>| {
            separates && normal::stands_alone(text.get(token.clone()).unwrap_or_default())
        };
        let mut resumed = None;
        if let Some(mut state) = self.open.take() {
            if is_alone(&first) {
                self.tokens.insert(before, state.digest());
            } else {
                state.update(&text[first.clone()]);
                self.tokens[before] = state.digest();
                // The last one too?
                resumed = (first == last).then_some(state);
            }
        }
        if !ends_in_blank && !is_alone(&last) {
            self.tokens.pop();
            self.open = Some(resumed.unwrap_or_else(|| {
                let mut state = hash::token_in_parts();
                state.update(&text[last]);
                state
            }));
        }
    }

    /// Ends the open token.
    fn close(&mut self) {
        if let Some(state) = self.open.take() {
            self.tokens.push(state.digest());
        }
    }

    /// Gives the shingles whose tokens are all there.
    fn flush(&mut self, sink: &mut impl FnMut(&[u64])) {
        let shingles = self.roller.roll_whole(self.tokens);
        if shingles > 0 {
            sink(&self.tokens[..shingles]);
            self.tokens.drain(..shingles);
            self.shingles += shingles as u64;
        }
    }

    /// Gives the rest. `Some(None)` where the normalised text is empty; none where there is no whole shingle, and
    /// `short_too` is not set, so that none was given.
    fn finish(
        mut self,
        short_too: bool,
        sink: &mut impl FnMut(&[u64]),
    ) -> Option<Option<Streamed>> {
        self.close();
        if self.text_bytes == 0 {
            return Some(None);
        }
        if self.shingles > 0 || !self.roller.is_short(self.tokens.len()) {
            self.flush(sink);
        } else if short_too {
            self.roller.roll(self.tokens);
            sink(self.tokens);
            self.shingles = 1;
        } else {
            return None;
        }
        Some(Some(Streamed {
            shingles: self.shingles,
            text_hash: self.text.digest128(),
            normalised_bytes: self.text_bytes,
        }))
    }
}
