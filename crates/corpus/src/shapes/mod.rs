//! Corpora that are skewed on purpose: the shapes that break tools which expect duplicates to be few and clusters to
//! be small.
//!
//! Every text is a pure function of (shape, seed, row), so a corpus streams to disk, and a test can make any row
//! again. What a shape promises (which documents are alike, and how much) is arithmetic, stated by
//! [`Shape::describe`] and proven by the tests of this module with [`jaccard`](crate::jaccard).

mod bucket;
mod chain;
mod lines;
mod star;

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

pub use bucket::Bucket;
pub use chain::Chain;
pub use lines::Lines;
pub use star::Star;

use crate::generate::{DATA, refuse_unless_empty};
use crate::plan::MAX_ROW_GROUPS;
use crate::random::{Purpose, SplitMix64, mix};
use crate::texts::TextFile;
use crate::words::{Language, Lexicon, VOCABULARY};

/// Words in a shingle, as DESIGN's default has it.
const SHINGLE: u64 = 5;

/// A corpus in which something is extreme.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Very many very short documents, many of them one and the same.
    Lines(Lines),
    /// Every document is like the next, and the ends share nothing.
    Chain(Chain),
    /// One document is like all others, which are unlike each other.
    Star(Star),
    /// Documents that meet in buckets of most of the corpus and are not alike.
    Bucket(Bucket),
}

/// How the rows are laid out in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Files that share the rows evenly, at least 1.
    pub files: u32,
    /// Rows of a row group, at least 1; it is held compressed while it is written.
    pub rows_per_row_group: u32,
}

/// What was written. Its `Display` is one line for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Documents.
    pub rows: u64,
    /// Files.
    pub files: u32,
    /// Bytes of all texts.
    pub text_bytes: u64,
    /// Bytes of all files.
    pub file_bytes: u64,
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} rows in {} files, {:.1} MB ({:.1} MB of text)",
            self.rows,
            self.files,
            self.file_bytes as f64 / 1e6,
            self.text_bytes as f64 / 1e6
        )
    }
}

impl Shape {
    /// Documents in all.
    pub fn rows(&self) -> u64 {
        match self {
            Self::Lines(lines) => lines.rows,
            Self::Chain(chain) => chain.rows,
            Self::Star(star) => star.leaves.saturating_add(1),
            Self::Bucket(bucket) => bucket.rows,
        }
    }

    /// Which documents are alike by construction, in one line.
    pub fn describe(&self) -> String {
        match self {
            Self::Lines(lines) => lines.to_string(),
            Self::Chain(chain) => chain.to_string(),
            Self::Star(star) => star.to_string(),
            Self::Bucket(bucket) => bucket.to_string(),
        }
    }

    /// Says whether such a corpus can be made.
    ///
    /// # Errors
    /// The first value that is out of its range, with the range.
    pub fn check(&self) -> Result<()> {
        ensure!(
            i64::try_from(self.rows()).is_ok(),
            "{} documents do not fit an INT64 row number",
            self.rows()
        );
        match self {
            Self::Lines(lines) => lines.check(),
            Self::Chain(chain) => chain.check(),
            Self::Star(star) => star.check(),
            Self::Bucket(bucket) => bucket.check(),
        }
    }
}

impl Layout {
    fn check(self, rows: u64) -> Result<()> {
        ensure!(
            self.files >= 1 && self.rows_per_row_group >= 1,
            "files = {} and rows per row group = {} must both be at least 1",
            self.files,
            self.rows_per_row_group
        );
        let groups = rows
            .div_ceil(self.files.into())
            .div_ceil(self.rows_per_row_group.into());
        ensure!(
            groups <= MAX_ROW_GROUPS,
            "a file would have {groups} row groups and Parquet allows {MAX_ROW_GROUPS}; \
             take more files or more rows per row group"
        );
        Ok(())
    }
}

/// Makes the texts of one shape.
pub(crate) struct Texts {
    shape: Shape,
    words: Words,
    /// What all rows share, made once.
    fixed: Vec<u16>,
}

impl Texts {
    pub(crate) fn new(shape: &Shape, seed: u64) -> Self {
        let words = Words::new(seed);
        let fixed = match shape {
            Shape::Lines(_) => words.list(u64::MAX, lines::FIXED_WORDS),
            Shape::Chain(_) => Vec::new(),
            Shape::Star(star) => words.list(u64::MAX, star.words),
            Shape::Bucket(bucket) => words.list(u64::MAX, bucket.shared),
        };
        Self {
            shape: shape.clone(),
            words,
            fixed,
        }
    }

    /// Writes the text of document `row` to `out`, which is cleared first.
    pub(crate) fn make(&self, row: u64, out: &mut String) {
        out.clear();
        match &self.shape {
            Shape::Lines(lines) => lines.make(&self.words, &self.fixed, row, out),
            Shape::Chain(chain) => chain.make(&self.words, row, out),
            Shape::Star(star) => star.make(&self.words, &self.fixed, row, out),
            Shape::Bucket(bucket) => bucket.make(&self.words, &self.fixed, row, out),
        }
    }
}

/// Words of the Latin vocabulary, all equally likely, so that two lists share no five in a row but by a chance of
/// 1 in 8192^5 a pair of places.
pub(crate) struct Words {
    seed: u64,
    lexicon: Lexicon,
}

impl Words {
    fn new(seed: u64) -> Self {
        Self {
            seed,
            lexicon: Lexicon::new(Language::Latin, seed),
        }
    }

    /// The numbers that decide what is random about document `row`.
    fn random(&self, row: u64, purpose: Purpose) -> SplitMix64 {
        SplitMix64::stream(self.seed, purpose, row)
    }

    /// A random word.
    fn draw(random: &mut SplitMix64) -> u16 {
        random.below(VOCABULARY as u64) as u16
    }

    /// The first `count` words of list `number`.
    fn list(&self, number: u64, count: u32) -> Vec<u16> {
        let mut random = self.random(number, Purpose::Text);
        (0..count).map(|_| Self::draw(&mut random)).collect()
    }

    /// The word at place `place` of the endless list of this seed.
    fn at(&self, place: u64) -> u16 {
        (mix(self.seed ^ mix(place)) % VOCABULARY as u64) as u16
    }

    /// Appends a word.
    fn push(&self, word: u16, out: &mut String) {
        push(self.lexicon.word(word, false), out);
    }
}

fn push(word: &str, out: &mut String) {
    if !out.is_empty() {
        out.push(' ');
    }
    out.push_str(word);
}

/// J of two sets that share `both` shingles and have `own` of their own each.
fn likeness(both: u64, own: u64) -> f64 {
    both as f64 / (both + 2 * own) as f64
}

/// Makes the corpus of `shape` in `folder`, which is created if need be: `data/part-00000.parquet` and so on, with the
/// columns `id` (string, `d` and the row) and `text` (string).
///
/// Streams: memory is bounded by a row group (compressed) and a few MB. Costs up to 0.5 s of one core for each 100 MB
/// of text. A call that fails leaves a part of a corpus behind, for [`clear`](crate::clear).
///
/// # Errors
/// The shape or layout cannot be, the folder exists and holds anything, or a file cannot be written.
pub fn write_shape(folder: &Path, shape: &Shape, layout: Layout, seed: u64) -> Result<Written> {
    shape.check()?;
    layout.check(shape.rows())?;
    refuse_unless_empty(folder)?;
    let data = folder.join(DATA);
    fs::create_dir_all(&data)
        .with_context(|| format!("cannot create the folder `{}`", data.display()))?;
    let texts = Texts::new(shape, seed);
    let mut written = Written {
        rows: shape.rows(),
        files: layout.files,
        ..Written::default()
    };
    let first_of = |file: u32| {
        let first = u128::from(shape.rows()) * u128::from(file) / u128::from(layout.files);
        first as u64
    };
    let mut text = String::new();
    for file in 0..layout.files {
        let path = data.join(format!("part-{file:05}.parquet"));
        let mut write = || -> Result<u64> {
            let mut out = TextFile::create(&path, layout.rows_per_row_group as usize)?;
            for row in first_of(file)..first_of(file + 1) {
                texts.make(row, &mut text);
                written.text_bytes += text.len() as u64;
                out.push(row, Some(&text))?;
            }
            out.close()
        };
        let bytes = write().with_context(|| format!("cannot write `{}`", path.display()))?;
        written.file_bytes += bytes;
    }
    Ok(written)
}

#[cfg(test)]
mod tests;
