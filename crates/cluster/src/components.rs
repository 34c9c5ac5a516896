//! Connected components of the edges, within a byte budget.
//!
//! Where the documents that have edges fit the budget at four bytes each, union-find in memory
//! (Tarjan and van Leeuwen 1984: linking by index, path halving), otherwise [`crate::external`].
//! Both label each document with the smallest of its component.

use records::DocSet;

use crate::Error;
use crate::external::ExternalLabels;

/// The components, as a stream.
pub(crate) enum Labels {
    /// Union-find over the documents that have edges.
    Resident {
        docs: DocSet,
        parents: Vec<u32>,
        /// The rank of the next document.
        next: u64,
    },
    /// From disk.
    External(ExternalLabels),
}

/// A document with edges and the smallest document of its component.
pub(crate) type Label = (u64, u64);

impl Labels {
    /// The next document in order, none at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Label>, Error> {
        match self {
            Labels::External(labels) => labels.next(),
            Labels::Resident {
                docs,
                parents,
                next,
            } => {
                let Some(doc) = docs.select(*next) else {
                    return Ok(None);
                };
                let root = find(parents, *next as usize);
                *next += 1;
                Ok(docs.select(root as u64).map(|label| (doc, label)))
            }
        }
    }
}

/// The root of `i`, halving the path.
fn find(parents: &mut [u32], mut i: usize) -> usize {
    while parents[i] as usize != i {
        let grandparent = parents[parents[i] as usize];
        parents[i] = grandparent;
        i = grandparent as usize;
    }
    i
}

/// Bytes of the in-memory method for `count` documents with edges.
pub(crate) fn resident_bytes(count: u64) -> u64 {
    4 * count
}

/// A visitor of every edge, once a call.
pub(crate) type EdgeSource<'a> =
    &'a dyn Fn(&mut dyn FnMut(u64, u64) -> Result<(), Error>) -> Result<(), Error>;

/// Components in memory: `docs` is the indexed set of the `count` documents with edges.
pub(crate) fn resident(docs: DocSet, count: u64, edges: EdgeSource<'_>) -> Result<Labels, Error> {
    let mut parents: Vec<u32> = (0..count as u32).collect();
    edges(&mut |a, b| {
        let rank = |doc| docs.rank(doc).ok_or(Error::NoSignature { doc });
        let a = find(&mut parents, rank(a)? as usize);
        let b = find(&mut parents, rank(b)? as usize);
        // The smaller stays the root, so that a root is the smallest of its component.
        let (low, high) = (a.min(b), a.max(b));
        parents[high] = low as u32;
        Ok(())
    })?;
    Ok(Labels::Resident {
        docs,
        parents,
        next: 0,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;
    use crate::external::{self, External};

    fn drain(mut labels: Labels) -> Vec<Label> {
        let mut all = Vec::new();
        while let Some(label) = labels.next().unwrap() {
            all.push(label);
        }
        all
    }

    /// Labels by relaxing until nothing changes.
    fn reference(edges: &[Label]) -> Vec<Label> {
        let mut labels: BTreeMap<u64, u64> =
            edges.iter().flat_map(|&(a, b)| [(a, a), (b, b)]).collect();
        loop {
            let before = labels.clone();
            for (a, b) in edges {
                let low = labels[a].min(labels[b]);
                labels.insert(*a, low);
                labels.insert(*b, low);
            }
            if labels == before {
                return labels.into_iter().collect();
            }
        }
    }

    fn check(edges: &[Label]) {
        let scratch = tempfile::tempdir().unwrap();
        let visit = |each: &mut dyn FnMut(u64, u64) -> Result<(), Error>| {
            edges.iter().try_for_each(|&(a, b)| each(a, b))
        };
        let expected = reference(edges);
        let members: BTreeSet<u64> = edges.iter().flat_map(|&(a, b)| [a, b]).collect();
        let mut docs = DocSet::new(members.last().map_or(0, |last| last + 1));
        for doc in members {
            assert!(docs.insert(doc));
        }
        let count = docs.index();
        let setting = External {
            scratch: scratch.path().to_owned(),
            memory_bytes: external::minimum_bytes(count),
        };
        let labels = external::components(&setting, docs.clone(), count, &visit).unwrap();
        assert_eq!(drain(Labels::External(labels)), expected);
        assert_eq!(drain(resident(docs, count, &visit).unwrap()), expected);
    }

    #[test]
    fn no_edges_no_labels() {
        check(&[]);
    }

    #[test]
    fn chains_stars_and_both_orders() {
        let chain: Vec<Label> = (0..500).map(|i| (i, i + 1)).collect();
        check(&chain);
        let backwards: Vec<Label> = (0..500).map(|i| (500 - i, 499 - i)).rev().collect();
        check(&backwards);
        let star: Vec<Label> = (0..300).filter(|&i| i != 77).map(|i| (77, i)).collect();
        check(&star);
        // A chain whose ids are scattered: the worst for label passing.
        let scattered = |i: u64| i * 7919 % 1009;
        let chain: Vec<Label> = (0..1008)
            .map(|i| (scattered(i), scattered(i + 1)))
            .collect();
        check(&chain);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn both_methods_give_the_components(
            edges in proptest::collection::vec((0u64..60, 0u64..60), 0..80),
        ) {
            let edges: Vec<Label> = edges.into_iter().filter(|(a, b)| a != b).collect();
            check(&edges);
        }
    }
}
