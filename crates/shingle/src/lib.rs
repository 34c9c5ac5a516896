//! Text to a stream of 64-bit shingle hashes.
//!
//! [`Shingler::document`] takes a text and gives the hash of each of its shingles, in order and with repeats, and the
//! hash and length of its normalised form; [`Shingler::stream`] gives the same by chunks, for texts that are too long
//! for that. It answers one question, "which shingles does this text have?", and knows
//! nothing of signatures, files or settings files.
//!
//! # From text to shingles
//! 1. **Normalisation**, in this order and with nothing after it: Unicode NFC; [`str::to_lowercase`] of the whole
//!    (so a final sigma is one); characters of the general categories P* removed, if asked for; runs of White_Space
//!    made one blank; blanks at both ends removed. Lower-casing can leave a text that is no longer NFC (İ becomes i
//!    and a dot above); it stays as it is.
//! 2. **Tokens.** For words: the maximal runs of characters other than blanks, except that each character whose
//!    Script property (not Script_Extensions) is Han, Hiragana, Katakana, Thai, Lao, Khmer, Myanmar or Tibetan is a
//!    token of its own. For characters: each Unicode scalar value of the normalised text, blanks included.
//! 3. **Shingles.** All windows of n tokens, or one shingle of all tokens where there are fewer than n.
//!
//! # The hash, `shingle-1`
//! With wrapping 64-bit arithmetic, `mix` the finaliser of SplitMix64, and `seed` = 0x6e65617264757001:
//! - a token is `t = XXH3-64(its UTF-8 bytes, seed)`;
//! - a shingle of tokens `t[0..c]` is `mix((t[0] * M^(c-1) + ... + t[c-1]) ^ salt)`, `M` = 0xd6e8feb86659fd93;
//! - `salt = XXH3-64(unit, n, c, seed)`, the three as little-endian u64, unit 1 for words and 2 for characters. As
//!   `mix` is a bijection, two units, two lengths n or two counts of tokens never share a shingle but by chance
//!   (2^-64 a pair), even where their texts are equal.
//!
//! The text hash is XXH3-128 (no seed) of the UTF-8 bytes of the normalised text. XXH3 is fixed by its
//! [specification](https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md), so no value here depends on the
//! machine. SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
//!
//! ```
//! use shingle::{Config, Shingler, Unit};
//!
//! let mut shingler = Shingler::new(Config { unit: Unit::Word, n: 2, char_n: 5, strip_punctuation: true })?;
//! let one = shingler.document("The quick,\n brown FOX").map(|s| s.hashes.to_vec());
//! let two = shingler.document("the quick brown fox").map(|s| s.hashes.to_vec());
//! assert_eq!(one.as_ref().map(Vec::len), Some(3));
//! assert_eq!(one, two);
//! assert_eq!(shingler.document(" ... "), None);
//! # Ok::<(), shingle::ConfigError>(())
//! ```

mod classes;
mod hash;
mod normal;
mod segments;
mod stream;
mod tokens;
mod version;
mod xxh3;

#[cfg(test)]
mod tests;

use normal::Normal;

pub use stream::Streamed;
pub use version::UNICODE_VERSION;

/// Name and version of all that decides the value of a shingle hash beside [`Config`] and [`UNICODE_VERSION`]: the
/// order of normalisation, the token rule, the token hash, the combination and the finaliser. It stands in the
/// headers of what is stored; another value means that the hashes cannot be compared.
pub const ALGORITHM: &str = "shingle-1";

/// Scratch that is kept from one document to the next, in bytes a buffer. A larger document gets larger buffers, and
/// they are given back at the next one.
const RETAINED_BYTES: usize = 4 << 20;

/// What a shingle is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// `n` tokens in a row.
    Word,
    /// `n` characters (Unicode scalar values) in a row of the normalised text.
    Char,
    /// As [`Unit::Word`], but as [`Unit::Char`] with length `char_n` for a document of fewer than `n` tokens. At that
    /// length there is a cliff: a document of `n - 1` tokens and one of `n` share no shingle, however alike they are.
    Auto,
}

/// The settings of a [`Shingler`]. Hashes compare only between equal settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// What a shingle is made of.
    pub unit: Unit,
    /// Tokens (or characters, for [`Unit::Char`]) a shingle; at least 1.
    pub n: u32,
    /// Characters a shingle for the short documents of [`Unit::Auto`], where it is at least 1; other units ignore it.
    pub char_n: u32,
    /// Whether characters of the general categories Pc, Pd, Ps, Pe, Pi, Pf and Po are removed. Symbols (`$`, `+`, `<`)
    /// are no punctuation and stay.
    pub strip_punctuation: bool,
}

/// Why a [`Config`] cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// `n` is 0.
    #[error("the shingle length n must be at least 1, but is 0; set n to 1 or more (5 is usual)")]
    Length,
    /// `char_n` is 0 where the unit is [`Unit::Auto`].
    #[error(
        "the shingle length char_n must be at least 1 where the unit is auto, but is 0; set char_n to 1 or more (5 is usual)"
    )]
    CharLength,
}

/// The shingles of one document, borrowed from the [`Shingler`] that made them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shingles<'a> {
    /// The hash of every shingle in the order of the text, repeats included; at least one, and
    /// `max(1, tokens - n + 1)` in number.
    pub hashes: &'a [u64],
    /// XXH3-128 of the UTF-8 bytes of the normalised text.
    pub text_hash: u128,
    /// Length of the normalised text in UTF-8 bytes; at least 1.
    pub normalised_bytes: u64,
}

/// Makes shingles of one document after another. Its buffers are used again, so that in the steady state a document
/// costs no allocation, unless it holds a capital sigma (one, for [`str::to_lowercase`]).
///
/// Scratch: for a text of `t` bytes at most about `2 t` (more only where lower-casing or NFC lengthens the text), and
/// 8 bytes a token (a character, for [`Unit::Char`]); vectors grow by doubling. Buffers over 4 MiB are given back at
/// the next document. [`Shingler::stream`] takes little, however long the text.
#[derive(Debug)]
pub struct Shingler {
    config: Config,
    normal: Normal,
    hashes: Vec<u64>,
    word: hash::Roller,
    char: hash::Roller,
    ascii: hash::AsciiTokens,
    tokens: tokens::Tokens,
}

impl Shingler {
    /// A shingler with these settings. The first one in a process also builds the table of character classes: about
    /// 10 ms and 128 KiB, shared by all.
    ///
    /// # Errors
    /// [`ConfigError`] where a length that the unit uses is 0.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        if config.n == 0 {
            return Err(ConfigError::Length);
        }
        let char_n = match config.unit {
            Unit::Auto if config.char_n == 0 => return Err(ConfigError::CharLength),
            Unit::Auto => config.char_n,
            Unit::Word | Unit::Char => config.n,
        };
        Ok(Self {
            config,
            normal: Normal::new(config.strip_punctuation),
            hashes: Vec::new(),
            word: hash::Roller::new(hash::UnitCode::Word, config.n),
            char: hash::Roller::new(hash::UnitCode::Char, char_n),
            ascii: hash::AsciiTokens::new(),
            tokens: tokens::Tokens::new(),
        })
    }

    /// The settings that this shingler was made with.
    #[must_use]
    pub fn config(&self) -> Config {
        self.config
    }

    /// The shingles of a text, or `None` where there is nothing to compare: the normalised text is empty. (A lone
    /// combining mark or zero-width character is no whitespace, hence something.)
    ///
    /// Cost: linear in the text; measured 1.6 ns a byte of ASCII with words, 2.7 with characters, 5 of Chinese.
    pub fn document(&mut self, text: &str) -> Option<Shingles<'_>> {
        self.normal.release(RETAINED_BYTES);
        self.normal.fill(text);
        self.finish()
    }

    /// [`Shingler::document`] without the shortcut for runs of ASCII.
    #[cfg(test)]
    fn document_by_characters(&mut self, text: &str) -> Option<Shingles<'_>> {
        self.normal.fill_by_characters(text);
        self.finish()
    }

    /// Gives back what large documents left.
    fn release(&mut self) {
        self.normal.release(RETAINED_BYTES);
        self.hashes.clear();
        self.hashes.shrink_to(RETAINED_BYTES / size_of::<u64>());
    }

    /// Cuts the text in `self.normal` into tokens and these into shingles.
    fn finish(&mut self) -> Option<Shingles<'_>> {
        self.hashes.clear();
        self.hashes.shrink_to(RETAINED_BYTES / size_of::<u64>());
        let hashes = &mut self.hashes;
        match self.config.unit {
            Unit::Char => self.normal.collapse(|_, _, _| ()),
            Unit::Word | Unit::Auto => {
                self.tokens.words(&mut self.normal, hashes);
            }
        }
        let text = self.normal.bytes();
        if text.is_empty() {
            return None;
        }
        let by_char = match self.config.unit {
            Unit::Word => false,
            Unit::Char => true,
            Unit::Auto => self.word.is_short(hashes.len()),
        };
        if by_char {
            hashes.clear();
            self.ascii.characters(text, hashes);
            self.char.roll(hashes);
        } else {
            self.word.roll(hashes);
        }
        Some(Shingles {
            hashes: &self.hashes,
            text_hash: hash::text(text),
            normalised_bytes: text.len() as u64,
        })
    }
}
