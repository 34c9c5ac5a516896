//! A data-lake export as an ordered list of documents; rewriting it.
//!
//! * [`list`]: the Parquet files below files, folders and globs, in the order that gives every
//!   document its id.
//! * [`inspect`]: what the footer of one of them says: rows, row groups, schema, fingerprint, and
//!   whether its text column is one.
//! * [`TextReader`]: the text of a range of row groups, by batches of bounded size; its values are
//!   slices of the pages that they came in.
//! * [`LabelReader`], [`RankReader`]: a column as text, or as keys that order keepers.
//! * [`rewrite`]: writes a file again with some of its rows, or with two more columns.
//!
//! Input files are hostile until proven otherwise: what a crafted file makes the Parquet crate do
//! (a panic included) becomes an [`Error`] that names the file.

mod column;
mod error;
mod fault;
mod list;
mod open;
pub mod rewrite;
mod source;
#[cfg(test)]
mod testing;
mod text;

pub use column::{
    LabelReader, RankKind, RankReader, check_columns, check_columns_of, check_label_column,
    check_rank_columns, rank_class,
};
pub use error::Error;
pub use list::{Listed, Listing, list};
pub use open::footer_memory;
pub use source::{RowGroup, Source, inspect, signed_sources, unchanged};
pub use text::{BATCH_ROWS, Need, TextBatch, TextReader, utf8};
