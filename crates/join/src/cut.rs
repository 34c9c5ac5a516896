//! Buckets larger than the anchors.

use serde::{Deserialize, Serialize};

/// Buckets that the report names.
const NAMED: usize = 10;

/// A bucket in which not all pairs were candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CutBucket {
    pub(crate) size: u64,
    pub(crate) band: u32,
    pub(crate) key: u64,
    /// Its first document.
    pub(crate) doc: u64,
    /// Documents beyond the anchors that verified with none of them.
    pub(crate) unverified: u64,
}

/// How many buckets were cut, and the largest of them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Cut {
    pub(crate) buckets: u64,
    pub(crate) unverified: u64,
    largest: Vec<CutBucket>,
}

impl Cut {
    pub(crate) fn add(&mut self, bucket: CutBucket) {
        self.buckets += 1;
        self.unverified += bucket.unverified;
        self.largest.push(bucket);
        if self.largest.len() >= 16 * NAMED {
            self.trim();
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.buckets += other.buckets;
        self.unverified += other.unverified;
        self.largest.extend(other.largest);
        self.trim();
    }

    fn trim(&mut self) {
        self.largest
            .sort_by_key(|b| (std::cmp::Reverse(b.size), b.band, b.key));
        self.largest.truncate(NAMED);
    }

    pub(crate) fn json(&self) -> Vec<serde_json::Value> {
        self.largest
            .iter()
            .map(|bucket| {
                serde_json::json!({
                    "documents": bucket.size,
                    "band": bucket.band,
                    "key": format!("{:016x}", bucket.key),
                    "doc_id": bucket.doc,
                    "verified_with_no_anchor": bucket.unverified,
                })
            })
            .collect()
    }
}
