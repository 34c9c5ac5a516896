//! Makes Parquet corpora of any size with known duplicates, for tests, benchmarks and the sample.
//!
//! A corpus is invented from its [`Plan`] alone: pseudo-words in five scripts, sentences and paragraphs, and among
//! them copies that are exact, equal once normalised, or edited at a known rate. Document `i` is a pure function of
//! (plan, `i`), so nothing is kept: a copy makes its original anew. [`generate`] says what is written.
//!
//! The similarity of each planted pair is measured by this crate's own [`jaccard`]: it shares no code with the
//! product, so that it can check it. Two copies of one original are alike as well; `planted.parquet` lists only the
//! pairs of copy and original. Originals share next to no 5-grams (see the test `originals_are_unlike`). [`recall()`]
//! says how many of the planted copies a deduplication found, beside how many it should have.
//!
//! [`write_shape`] makes corpora that are skewed on purpose instead: short lines, a chain, a star, a giant bucket.

mod edit;
mod files;
mod generate;
mod maker;
mod measure;
mod plan;
mod planted;
mod random;
mod recall;
mod shapes;
mod table;
mod texts;
mod words;

#[cfg(test)]
mod tests;

pub use generate::{Summary, clear, generate};
pub use measure::jaccard;
pub use plan::Plan;
pub use recall::{Near, Recall, Scheme, recall};
pub use shapes::{Bucket, Chain, Layout, Lines, Shape, Star, Written, write_shape};
pub use texts::{write_texts, write_texts_with};
pub use words::Language;
