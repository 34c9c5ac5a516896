//! neardup's own Parquet tables in the work folder, written atomically and read back with their
//! settings checked. Any Parquet reader can open them.
//!
//! * [`inputs`]: the input files, their document ids and their signature shards.
//! * [`signatures`]: a row for every document, in order.
//! * [`Signed`]: both, as the stages after `sign` read them.
//! * [`edges`]: the verified pairs.
//! * [`clusters`]: the documents that are in a cluster of two or more, and what became of them.

pub mod clusters;
pub mod edges;
mod error;
pub mod inputs;
mod io;
mod scan;
pub mod signatures;
mod signed;

pub use error::Error;
pub use scan::SignatureScan;
pub use signed::Signed;
