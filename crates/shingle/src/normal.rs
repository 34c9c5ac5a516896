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

    /// Makes runs of blanks one blank, and removes those at the ends. After it, [`Normal::bytes`] is the normalised
    /// text. On the way it gives the blanks that stay, and one behind the text, to `stays`, in order: the bytes so
    /// far, of which only those up to the last blank given are to be read; a place in them; and a mask whose bit i
    /// stands for a blank i bytes beyond that place.
    #[inline]
    pub(crate) fn collapse(&mut self, mut stays: impl FnMut(&[u8], usize, u64)) {
        let bytes = &mut self.bytes;
        // At least one blank more, so that each token ends at one; whole blocks to scan; and one to spare, as a block
        // is always moved as a whole.
        let padded = bytes.len() + BLOCK - bytes.len() % BLOCK;
        bytes.resize(padded + BLOCK, b' ');
        let mut kept = 0; // bytes that are at their place
        let mut after_blank = 1;
        let mut next = block_at(bytes, 0);
        for at in (0..padded).step_by(BLOCK) {
            // What is moved up may reach into the next block, and not beyond it.
            let block = next;
            next = block_at(bytes, at + BLOCK);
            let blanks = blanks(&block);
            let extra = blanks & (blanks << 1 | after_blank);
            after_blank = blanks >> (BLOCK - 1);
            if extra == 0 {
                if kept != at {
                    put_block(bytes, kept, &block);
                }
                stays(bytes, kept, blanks);
                kept += BLOCK;
                continue;
            }
            let mut wide = [b' '; 2 * BLOCK];
            put_block(&mut wide, 0, &block);
            let mut keep = !extra;
            while keep != 0 {
                let start = keep.trailing_zeros();
                let run = (!(keep >> start)).trailing_zeros();
                let mask = (1 << run) - 1;
                put_block(bytes, kept, &block_at(&wide, start as usize));
                stays(bytes, kept, (blanks >> start) & mask);
                kept += run as usize;
                keep &= !(mask << start);
            }
        }
        bytes.truncate(kept);
        if bytes.last() == Some(&b' ') {
            bytes.pop();
        }
    }
}

/// Bytes that are searched for blanks at a time: one bit each in a word.
const BLOCK: usize = 64;

/// The block at a place; blanks where there is none.
#[inline]
fn block_at(bytes: &[u8], at: usize) -> [u8; BLOCK] {
    let block = bytes.get(at..).and_then(<[u8]>::first_chunk);
    block.copied().unwrap_or([b' '; BLOCK])
}

#[inline]
fn put_block(bytes: &mut [u8], at: usize, block: &[u8; BLOCK]) {
    if let Some(place) = bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *place = *block;
    }
}

/// Bit i is set where byte i is a blank.
#[inline]
fn blanks(block: &[u8; BLOCK]) -> u64 {
    // The bit of each byte that is a blank, in a loop that compilers make one of vectors; then eight at a time gathered,
    // by a product whose top byte is the sum of all.
    let mut bits = [0; BLOCK];
    for (i, (bit, byte)) in bits.iter_mut().zip(block).enumerate() {
        *bit = if *byte == b' ' { 1 << (i % 8) } else { 0 };
    }
    let (words, _) = bits.as_chunks();
    words.iter().rev().fold(0, |blanks, word| {
        let gathered = u64::from_le_bytes(*word).wrapping_mul(0x0101_0101_0101_0101) >> 56;
        (blanks << 8) | gathered
    })
}

/// Bytes before the first that is not ASCII.
pub(crate) fn ascii_prefix(bytes: &[u8]) -> usize {
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

/// Gives the start and end of each token of a normalised text that may hold characters that are tokens of their own.
pub(crate) fn separate(text: &[u8], mut token: impl FnMut(usize, usize)) {
    let mut start = 0;
    let mut at = 0;
    while let Some(lead) = text.get(at) {
        // Below U+0800 no character but the blank ends a token, and a byte within a character is none.
        let (bytes, is_blank, is_alone) = match lead {
            0..0xe0 => (1, *lead == b' ', false),
            _ => {
                let c = decode(&text[at..]);
                (c.len_utf8(), false, CLASSES.of(c).is_alone())
            }
        };
        let end = at + bytes;
        if is_blank || is_alone {
            if at > start {
                token(start, at);
            }
            if is_alone {
                token(at, end);
            }
            start = end;
        }
        at = end;
    }
    if start < text.len() {
        token(start, text.len());
    }
}

/// The first character of UTF-8 if that has three or four bytes.
fn decode(utf8: &[u8]) -> char {
    let bits = |byte: u8| u32::from(byte & 0x3f);
    let code = match *utf8 {
        [a @ 0xe0..0xf0, b, c, ..] => u32::from(a & 0x0f) << 12 | bits(b) << 6 | bits(c),
        [a @ 0xf0..=0xff, b, c, d, ..] => {
            u32::from(a & 0x07) << 18 | bits(b) << 12 | bits(c) << 6 | bits(d)
        }
        _ => u32::from(char::REPLACEMENT_CHARACTER),
    };
    // The text is UTF-8, so nothing is ever replaced; this merely spares an error that cannot be.
    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Whether a token, of a text that may hold such, is a character that is a token of its own.
pub(crate) fn stands_alone(token: &[u8]) -> bool {
    token.first().is_some_and(|lead| *lead >= 0xe0) && CLASSES.of(decode(token)).is_alone()
}
