//! The records that travel between stages and through sorts, plain old data.
//!
//! Every record is a row of little-endian `u64` words in the order in which it is sorted, so
//! that `extsort` orders it without knowing what it means.

use bytemuck::{Pod, Zeroable};

/// A record of a record file: its kind names the file, its format the layout.
pub trait Record: Pod {
    /// The kind in the header.
    const KIND: &'static str;
    /// The format version of this layout.
    const FORMAT: u32;
    /// `u64` words in a record.
    const WORDS: usize = size_of::<Self>() / 8;
}

/// A document under one key of one band; sorted by key, then document.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
pub struct Posting {
    /// The band key.
    pub key: u64,
    /// The document's id.
    pub doc: u64,
}

impl Record for Posting {
    const KIND: &'static str = "postings";
    const FORMAT: u32 = 1;
}

/// The identity of a document's normalised text; sorted so that equal texts are neighbours and
/// the smallest document comes first.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
pub struct TextIdentity {
    /// The high half of the XXH3-128 of the normalised text.
    pub hash_high: u64,
    /// The low half.
    pub hash_low: u64,
    /// Bytes of the normalised text.
    pub normalised_bytes: u64,
    /// The document's id.
    pub doc: u64,
}

impl TextIdentity {
    /// Whether both documents have one normalised text.
    pub fn same_text(&self, other: &Self) -> bool {
        (self.hash_high, self.hash_low, self.normalised_bytes)
            == (other.hash_high, other.hash_low, other.normalised_bytes)
    }
}

/// A document whose normalised text equals that of an earlier one, which stands for it in the
/// bands.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
pub struct ExactCopy {
    /// The document's id.
    pub doc: u64,
    /// The smallest id with the same text.
    pub representative: u64,
}

impl Record for ExactCopy {
    const KIND: &'static str = "exact copies";
    const FORMAT: u32 = 1;
}

/// Two documents that verified, `a` < `b`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
pub struct Edge {
    /// The smaller document id.
    pub a: u64,
    /// The larger document id.
    pub b: u64,
    /// Equal slots, or [`Edge::NOT_COMPARED`].
    pub matches: u64,
}

impl Edge {
    /// `matches` where nothing was compared (`verify = "none"`).
    pub const NOT_COMPARED: u64 = u64::MAX;
}

impl Record for Edge {
    const KIND: &'static str = "edges of bands";
    const FORMAT: u32 = 1;
}

/// What `cluster` decided about a document that is in a cluster of two or more; sorted by
/// document.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
pub struct Decision {
    /// The document's id.
    pub doc: u64,
    /// The cluster's id: its smallest document id.
    pub cluster: u64,
    /// The id of the document that stays.
    pub keeper: u64,
}

impl Decision {
    /// Whether this document is the one that stays.
    pub fn kept(&self) -> bool {
        self.doc == self.keeper
    }
}

impl Record for Decision {
    const KIND: &'static str = "decisions";
    const FORMAT: u32 = 1;
}
