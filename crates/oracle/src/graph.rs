//! Candidates, edges and their components.

use std::collections::{BTreeMap, BTreeSet};

use records::Pipeline;
use records::settings::{Band, Verify};

use crate::signed::{Signed, representatives};

/// All candidate pairs `(a, b)`, `a < b`, of all buckets. A bucket is the documents that stand
/// for their text and share the key of one band; a pair of it is a candidate if the smaller id,
/// and so at least one of the two, is among the bucket's first `anchors` documents by id.
///
/// Memory: the pairs, which are all pairs where all documents are alike and `anchors` many.
///
/// # Panics
/// Where there are no rows or anchors, or a signature is too short for the bands.
#[must_use]
pub fn candidates(signed: &[Option<Signed>], band: &Band, anchors: u32) -> BTreeSet<(u64, u64)> {
    assert!(band.rows > 0 && anchors > 0, "rows and anchors from 1 up");
    let mut buckets: BTreeMap<(u32, u64), Vec<u64>> = BTreeMap::new();
    for (doc, (one, representative)) in (0..).zip(signed.iter().zip(representatives(signed))) {
        // By ascending id, so that a bucket is in that order too.
        let Some(one) = one.as_ref().filter(|_| representative == Some(doc)) else {
            continue;
        };
        for index in 0..band.bands {
            let start = (index * band.rows) as usize;
            let slots = &one.signature[start..start + band.rows as usize];
            let key = lsh::band_key(index, slots);
            buckets.entry((index, key)).or_default().push(doc);
        }
    }
    let mut pairs = BTreeSet::new();
    for bucket in buckets.values() {
        for (place, a) in bucket.iter().enumerate().take(anchors as usize) {
            pairs.extend(bucket[place + 1..].iter().map(|b| (*a, *b)));
        }
    }
    pairs
}

/// The candidates that verify: all of them, where nothing is verified, else those with at least
/// [`sketch::min_matches_of_bits`] slots whose low bits are equal. What the stages store are forests within these that have
/// the same components.
///
/// # Panics
/// As [`candidates`].
#[must_use]
pub fn edges(signed: &[Option<Signed>], pipeline: &Pipeline) -> BTreeSet<(u64, u64)> {
    let join = &pipeline.join;
    let least = sketch::min_matches_of_bits(pipeline.sign.k, join.bits, join.threshold);
    let verifies = |(a, b): &(u64, u64)| match join.verify {
        Verify::None => true,
        Verify::Estimate => match (&signed[*a as usize], &signed[*b as usize]) {
            (Some(a), Some(b)) => a.low_matches(b, join.bits) >= least,
            _ => false,
        },
    };
    let mut pairs = candidates(signed, &pipeline.band, join.anchors);
    pairs.retain(verifies);
    pairs
}

/// For each of the `n` nodes 0, 1, ..., the smallest node that can be reached from it over the
/// edges, in either direction; which is itself for a node without edges to smaller ones. Nodes
/// of one component have one value.
///
/// # Panics
/// Where an edge names a node that is not there.
#[must_use]
pub fn components(n: usize, edges: &[(u64, u64)]) -> Vec<u64> {
    let mut neighbours = vec![Vec::new(); n];
    for (a, b) in edges {
        neighbours[*a as usize].push(*b);
        neighbours[*b as usize].push(*a);
    }
    let mut least: Vec<Option<u64>> = vec![None; n];
    // A node that no smaller one has reached is the smallest of its component.
    for start in 0..n as u64 {
        let mut reached = vec![start];
        while let Some(node) = reached.pop() {
            if least[node as usize].is_none() {
                least[node as usize] = Some(start);
                reached.extend(&neighbours[node as usize]);
            }
        }
    }
    least.into_iter().flatten().collect()
}
