//! Sorts fixed-width records on disk within a byte budget.
//!
//! A record is W words of 64 bits. The order is that of the words as unsigned integers, first word
//! first, over the whole record: the key (the first `key_words` words) decides, the words behind it
//! break ties. Records that tie in every word are equal, so the output is a function of the input's
//! multiset alone: no budget, number of threads or order of pushing shows in it.
//!
//! ```text
//! push --> buffer --sort--> run --+
//!             |             run --+--merge--> run (next generation) --+
//!             |             ...   (at most `fan-in` at once)          +--merge--> Sorted::next
//!             |             run --------------------------------------+
//!             +--sort--> Sorted::next   (everything fitted: nothing is written)
//! ```
//!
//! This is the balanced merge sort of Knuth (The Art of Computer Programming, vol. 3, sections
//! 5.4.1 and 5.4.9) with a tree of losers. At the end the smallest runs are merged first, and no
//! more than the final merge needs. While records come in, a group of `fan-in` runs of one
//! generation is merged where more than 128 runs exist, so that their number stays logarithmic.
//!
//! - **Memory**: one allocation serves as the buffer and then as the blocks of the runs that are
//!   merged; with the index that wide records are sorted through and the block that is written it
//!   stays within [`Config::memory_bytes`]. It grows with the input. The stacks of sort threads,
//!   some 100 KiB each, come on top.
//! - **Disk**: a group's runs are removed as soon as their merged run is complete, so at most twice
//!   the bytes of the records (and 40 bytes a block) lie in the folder. At most 64 files are open.
//! - **Damage**: every block carries its run, place, record count and an XXH3-64 checksum. A torn,
//!   flipped, truncated or exchanged block is an [`Error::Corrupt`] with file and offset, never a
//!   wrong record.
//! - **Unsorted**: [`Spools`] are queues of records on disk, in the same blocks, for algorithms that
//!   distribute instead of sorting.
//! - **Byte order**: runs hold the machine's own (little-endian on all that we build for). A run
//!   never outlives its [`Sorter`] or [`Sorted`], so no other machine reads it.

mod config;
mod error;
mod fault;
mod merge;
mod order;
mod run;
mod sorted;
mod sorter;
mod spool;
mod store;

#[cfg(test)]
mod tests;

pub use config::{Config, MAX_KEY_WORDS, MAX_RECORD_WORDS};
pub use error::Error;
pub use sorted::Sorted;
pub use sorter::Sorter;
pub use spool::{Spooled, Spools};
