//! The candidates of one bucket.
//!
//! The candidates of a bucket are all pairs of which at least one is among its first `anchors`
//! documents. Documents come in the order of their ids; each is compared with the anchors before
//! it, in order, but for those that it is already connected with *in this bucket*. The edges of a
//! bucket are so a forest whose components are those of all its verified candidates, and depend
//! on nothing outside of it.

use records::pods::Edge;
use serde::{Deserialize, Serialize};

use crate::slot::{self, Slot};

/// What decides an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// At least so many equal slots.
    MinMatches(u32),
    /// Nothing is compared.
    All,
}

/// A document of the bucket being joined.
struct Anchor {
    doc: u64,
    /// Union-find parent among the anchors.
    parent: usize,
}

/// Sums over buckets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// Pairs compared.
    pub(crate) compared: u64,
    /// Pairs that verified.
    pub(crate) verified: u64,
}

/// Joins one bucket after the other. Holds the signatures of the anchors of the present one and
/// nothing that grows with its size.
pub(crate) struct Bucket<S> {
    rule: Rule,
    limit: usize,
    anchors: Vec<Anchor>,
    slots: Vec<S>,
    size: u64,
    unverified: u64,
    pub(crate) counts: Counts,
}

/// Bytes of the anchors of a bucket.
pub(crate) fn memory_bytes(anchors: u32, k: u32, bits: u32) -> u64 {
    let slots = u64::from(k) * u64::from(bits) / 8;
    u64::from(anchors) * (slots + size_of::<Anchor>() as u64)
}

impl<S: Slot> Bucket<S> {
    pub(crate) fn new(rule: Rule, anchors: u32) -> Self {
        Self {
            rule,
            limit: anchors as usize,
            anchors: Vec::new(),
            slots: Vec::new(),
            size: 0,
            unverified: 0,
            counts: Counts::default(),
        }
    }

    /// Ends the bucket: its size, and how many documents beyond the anchors verified with none.
    pub(crate) fn close(&mut self) -> (u64, u64) {
        let closed = (self.size, self.unverified);
        self.anchors.clear();
        self.slots.clear();
        (self.size, self.unverified) = (0, 0);
        closed
    }

    /// Adds the next document of the bucket, with its signature unless nothing is compared.
    pub(crate) fn add(&mut self, doc: u64, slots: &[S], mut edge: impl FnMut(Edge)) {
        self.size += 1;
        // The component that the document is in so far, as an anchor's number.
        let mut component: Option<usize> = None;
        for i in 0..self.anchors.len() {
            let root = find(&mut self.anchors, i);
            if component == Some(root) {
                continue;
            }
            let Some(matches) = self.compare(i, slots) else {
                continue;
            };
            let a = self.anchors[i].doc;
            edge(Edge { a, b: doc, matches });
            component = Some(match component {
                None => root,
                Some(other) => {
                    let (low, high) = (root.min(other), root.max(other));
                    self.anchors[high].parent = low;
                    low
                }
            });
        }
        if self.anchors.len() < self.limit {
            let own = self.anchors.len();
            let parent = component.unwrap_or(own);
            self.anchors.push(Anchor { doc, parent });
            self.slots.extend_from_slice(slots);
        } else if component.is_none() {
            self.unverified += 1;
        }
    }

    /// The matches of a document with anchor `i`, if the pair verifies.
    fn compare(&mut self, i: usize, slots: &[S]) -> Option<u64> {
        self.counts.compared += 1;
        let matches = match self.rule {
            Rule::All => Edge::NOT_COMPARED,
            Rule::MinMatches(least) => {
                let anchor = &self.slots[i * slots.len()..(i + 1) * slots.len()];
                let matches = slot::matches(anchor, slots);
                if matches < least {
                    return None;
                }
                matches.into()
            }
        };
        self.counts.verified += 1;
        Some(matches)
    }
}

/// The root of anchor `i`, halving the path.
fn find(anchors: &mut [Anchor], mut i: usize) -> usize {
    while anchors[i].parent != i {
        let grandparent = anchors[anchors[i].parent].parent;
        anchors[i].parent = grandparent;
        i = grandparent;
    }
    i
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join(anchors: u32, least: u32, bucket: &[(u64, [u32; 4])]) -> (Vec<Edge>, Bucket<u32>) {
        let mut joiner = Bucket::new(Rule::MinMatches(least), anchors);
        let mut edges = Vec::new();
        for (doc, slots) in bucket {
            joiner.add(*doc, slots, |edge| edges.push(edge));
        }
        (edges, joiner)
    }

    fn edge(a: u64, b: u64, matches: u64) -> Edge {
        Edge { a, b, matches }
    }

    #[test]
    fn equal_documents_cost_one_comparison_each() {
        let bucket: Vec<_> = (0..1000).map(|doc| (doc, [7; 4])).collect();
        let (edges, joiner) = join(256, 3, &bucket);
        assert_eq!(edges.len(), 999);
        assert!(edges.iter().all(|edge| edge.a == 0 && edge.matches == 4));
        assert_eq!(joiner.counts.compared, 999);
    }

    #[test]
    fn unlike_documents_cost_at_most_the_anchors_each() {
        let bucket: Vec<_> = (0..1000).map(|doc| (doc, [doc as u32; 4])).collect();
        let (edges, mut joiner) = join(10, 3, &bucket);
        assert!(edges.is_empty());
        assert_eq!(joiner.counts.compared, 45 + 990 * 10);
        assert_eq!(joiner.close(), (1000, 990));
        assert_eq!(joiner.close(), (0, 0));
    }

    #[test]
    fn a_document_connects_two_components_and_is_not_compared_within_one() {
        // 0 and 1 are unlike, 2 is like both; 3 is like 0 and then not compared with 1 or 2.
        let bucket = [
            (0, [1, 1, 2, 9]),
            (1, [2, 2, 2, 2]),
            (2, [1, 2, 2, 2]),
            (3, [1, 1, 2, 9]),
        ];
        let (edges, joiner) = join(256, 2, &bucket);
        assert_eq!(edges, [edge(0, 2, 2), edge(1, 2, 3), edge(0, 3, 4)]);
        assert_eq!(joiner.counts.compared, 1 + 2 + 1);
    }

    #[test]
    fn a_document_beyond_the_anchors_connects_them_but_is_none() {
        let bucket = [
            (10, [1, 1, 0, 0]),
            (11, [2, 2, 3, 3]),
            (12, [1, 1, 3, 3]),
            (13, [9, 9, 9, 9]),
            (14, [9, 9, 9, 9]),
        ];
        let (edges, mut joiner) = join(2, 2, &bucket);
        assert_eq!(edges, [edge(10, 12, 2), edge(11, 12, 2)]);
        assert_eq!(joiner.close(), (5, 2));
    }

    #[test]
    fn without_verification_a_bucket_is_a_star() {
        let mut joiner = Bucket::<u8>::new(Rule::All, 256);
        let mut edges = Vec::new();
        for doc in [3, 5, 8] {
            joiner.add(doc, &[], |edge| edges.push(edge));
        }
        let not = Edge::NOT_COMPARED;
        assert_eq!(edges, [edge(3, 5, not), edge(3, 8, not)]);
    }
}
