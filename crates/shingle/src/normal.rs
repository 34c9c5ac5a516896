//! Normalisation of a text, and its cut at blanks.

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use crate::classes::{CLASSES, Class, Classes};

/// A text on its way to its normalised form, in buffers that are used again.
#[derive(Debug)]
pub(crate) struct Normal {
    classes: &'static Classes,
    strip_punctuation: bool,
    /// The normalised text, but for blanks that [`Normal::collapse`] has yet to remove.
    bytes: Vec<u8>,
    /// The NFC form of a text that had another one.
    composed: String,
    /// Whether `bytes` may hold characters that are tokens of their own.
    separates: bool,
}

impl Normal {
    pub(crate) fn new(strip_punctuation: bool) -> Self {
        Self {
            classes: &CLASSES,
            strip_punctuation,
            bytes: Vec::new(),
            composed: String::new(),
            separates: false,
        }
    }

    /// Gives back what the buffers hold over so many bytes.
    pub(crate) fn release(&mut self, retained_bytes: usize) {
        self.bytes.clear();
        self.bytes.shrink_to(retained_bytes);
        self.composed.clear();
        self.composed.shrink_to(retained_bytes);
    }

    /// What the larger buffer could hold without growing, in bytes.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.capacity().max(self.composed.capacity())
    }

    /// The text; normalised once [`Normal::collapse`] has run.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether the text may hold characters that are tokens of their own, so that runs between blanks have to go
    /// through [`separate`].
    pub(crate) fn separates(&self) -> bool {
        self.separates
    }

    /// Reads a text: NFC, lower-case, punctuation removed if asked for, each White_Space a blank.
    pub(crate) fn fill(&mut self, text: &str) {
        if !self.fill_in_one_pass(text) {
            self.fill_by_characters(text);
        }
    }

    /// [`Normal::fill`] step by step, without a shortcut: for texts with a capital sigma, and for tests to hold the
    /// shortcuts against.
    pub(crate) fn fill_by_characters(&mut self, text: &str) {
        self.restart();
        let mut composed = std::mem::take(&mut self.composed);
        composed.clear();
        let text = if is_nfc_quick(text.chars()) == IsNormalized::Yes {
            text
        } else {
            composed.extend(text.nfc());
            &composed
        };
        if text.contains('Σ') {
            // Only the standard library knows which sigma is final. `push` leaves alone what is lower-case.
            self.push_all(text.to_lowercase().chars());
        } else {
            self.push_all(text.chars());
        }
        self.composed = composed;
    }

    /// [`Normal::fill`] for a text without a capital sigma; false if there is one: the buffer then holds a part.
    fn fill_in_one_pass(&mut self, text: &str) -> bool {
        self.restart();
        let mut rest = text;
        loop {
            let ascii = ascii_prefix(rest.as_bytes());
            if ascii == rest.len() {
                self.push_ascii(rest.as_bytes());
                return true;
            }
            // The last one may be the base of a mark.
            let (run, tail) = rest.split_at(ascii.saturating_sub(1));
            self.push_ascii(run.as_bytes());
            rest = match self.push_segments(tail) {
                Some(rest) => rest,
                None => return false,
            };
        }
    }

    /// Reads the first character, and then up to the next that is ASCII, which is where the rest begins. None if there
    /// is a capital sigma.
    ///
    /// The NFC of a text is that of its segments, where each settled character begins one (UAX 15, "Stable code
    /// points"). So the marks of Hindi or Thai, or of decomposed Latin, cost only their own segments.
    fn push_segments<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        let mut rest = text;
        let mut segment = text;
        let mut before_segment = self.bytes.len();
        let mut characters = text.chars();
        while let Some(c) = characters.next() {
            if c.is_ascii() && rest.len() < text.len() {
                break;
            }
            let class = self.classes.of(c);
            if class.is_sigma() {
                return None;
            }
            if class.is_settled() {
                segment = rest;
                before_segment = self.bytes.len();
                self.push(c, class);
                rest = characters.as_str();
            } else {
                let tail = characters.as_str();
                let settled = |c| self.classes.of(c).is_settled();
                rest = tail.find(settled).map_or("", |end| &tail[end..]);
                segment = &segment[..segment.len() - rest.len()];
                self.bytes.truncate(before_segment);
                self.push_segment(segment);
                segment = rest;
                before_segment = self.bytes.len();
                characters = rest.chars();
            }
        }
        Some(rest)
    }

    fn push_segment(&mut self, segment: &str) {
        if is_nfc_quick(segment.chars()) == IsNormalized::Yes {
            self.push_all(segment.chars());
        } else {
            self.push_all(segment.nfc());
        }
    }

    fn restart(&mut self) {
        self.bytes.clear();
        self.separates = false;
    }

    fn push_ascii(&mut self, run: &[u8]) {
        if !self.strip_punctuation {
            self.bytes.extend(run.iter().map(|b| lower_ascii(*b)));
            return;
        }
        // Each byte is written, and stays if the next one is written after it.
        let start = self.bytes.len();
        self.bytes.resize(start + run.len(), 0);
        let places = &mut self.bytes[start..];
        let mut kept = 0;
        for b in run {
            places[kept] = lower_ascii(*b);
            kept += usize::from(!ASCII_PUNCTUATION[usize::from(*b)]);
        }
        self.bytes.truncate(start + kept);
    }

    fn push_all(&mut self, characters: impl Iterator<Item = char>) {
        for c in characters {
            self.push(c, self.classes.of(c));
        }
    }

    fn push(&mut self, c: char, class: Class) {
        if class.lowers() {
            for lower in c.to_lowercase() {
                self.put(lower, self.classes.of(lower));
            }
        } else {
            self.put(c, class);
        }
    }

    fn put(&mut self, c: char, class: Class) {
        if class.is_space() {
            self.bytes.push(b' ');
        } else if !(self.strip_punctuation && class.is_punctuation()) {
            self.separates |= class.is_alone();
            // All four bytes and then back: cheaper than a copy of a length that the compiler does not know.
            let mut utf8 = [0; 4];
            c.encode_utf8(&mut utf8);
            self.bytes.extend_from_slice(&utf8);
            self.bytes
                .truncate(self.bytes.len() - utf8.len() + c.len_utf8());
        }
    }

    /// Makes runs of blanks one blank, removes those at the ends, and gives each run of other characters to `token`,
    /// in order. After it, [`Normal::bytes`] is the normalised text.
    pub(crate) fn collapse(&mut self, mut token: impl FnMut(&[u8])) {
        let bytes = &mut self.bytes;
        // At least one blank more, so that each token ends at one, and whole blocks to scan.
        let padded = bytes.len() + BLOCK - bytes.len() % BLOCK;
        bytes.resize(padded, b' ');
        let mut start = 0; // of the token
        let mut kept = 0; // bytes that are at their place
        let mut pending = 0; // start of those that have yet to move to `kept`
        let mut at = 0;
        while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
            let mut blanks = blanks(block);
            while blanks != 0 {
                let blank = at + blanks.trailing_zeros() as usize;
                blanks &= blanks - 1;
                if blank > start {
                    token(&bytes[start..blank]);
                } else {
                    // A second blank, or one at the front: what stands before it moves up, and it is left out.
                    move_up(bytes, pending, blank, &mut kept);
                    pending = blank + 1;
                }
                start = blank + 1;
            }
            at += BLOCK;
        }
        let end = bytes.len();
        move_up(bytes, pending, end, &mut kept);
        bytes.truncate(kept);
        if bytes.last() == Some(&b' ') {
            bytes.pop();
        }
    }
}

/// Bytes that are searched for blanks at a time: one bit each in a word.
const BLOCK: usize = 64;

fn move_up(bytes: &mut [u8], from: usize, to: usize, kept: &mut usize) {
    if from != *kept {
        bytes.copy_within(from..to, *kept);
    }
    *kept += to - from;
}

/// Bit i is set where byte i is a blank.
fn blanks(block: &[u8; BLOCK]) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let (words, _) = block.as_chunks();
    words.iter().rev().fold(0, |blanks, word| {
        let x = u64::from_le_bytes(*word) ^ 0x2020_2020_2020_2020;
        // The top bit of each byte that is a blank, without carries between bytes; then these eight bits, gathered.
        let tops = !(((x & LOW) + LOW) | x) & !LOW;
        let gathered = (tops >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        (blanks << 8) | gathered
    })
}

/// Bytes before the first that is not ASCII.
fn ascii_prefix(bytes: &[u8]) -> usize {
    let blocks = bytes.chunks_exact(32).take_while(|b| b.is_ascii()).count() * 32;
    blocks + bytes[blocks..].iter().take_while(|b| b.is_ascii()).count()
}

/// White_Space below 128 is 9 to 13 and the blank.
fn lower_ascii(b: u8) -> u8 {
    if b.wrapping_sub(b'\t') < 5 {
        b' '
    } else {
        b.to_ascii_lowercase()
    }
}

/// General category P*: ASCII punctuation but for these symbols; fixed by Unicode's stability policy.
const ASCII_PUNCTUATION: [bool; 256] = {
    let mut table = [false; 256];
    let mut b = 0_u8;
    while b < 128 {
        table[b as usize] = b.is_ascii_punctuation()
            && !matches!(
                b,
                b'$' | b'+' | b'<' | b'=' | b'>' | b'^' | b'`' | b'|' | b'~'
            );
        b += 1;
    }
    table
};

/// Cuts a run of UTF-8 without blanks at characters that are tokens of their own; `token` also gets whether it is one.
pub(crate) fn separate(run: &[u8], mut token: impl FnMut(&[u8], bool)) {
    // The run is whole characters, so nothing is ever replaced; this merely spares an error that cannot be.
    let run = String::from_utf8_lossy(run);
    let mut start = 0;
    for (at, c) in run.char_indices() {
        if !c.is_ascii() && CLASSES.of(c).is_alone() {
            if at > start {
                token(&run.as_bytes()[start..at], false);
            }
            let end = at + c.len_utf8();
            token(&run.as_bytes()[at..end], true);
            start = end;
        }
    }
    if start < run.len() {
        token(&run.as_bytes()[start..], false);
    }
}
