//! Connected components of the edges, within a byte budget.
//!
//! Where the documents that have edges fit the budget at four bytes each, union-find in memory
//! (Tarjan and van Leeuwen 1984: linking by index, path halving). Otherwise by sorted passes: the
//! alternation of large-star and small-star (Kiveris, Lattanzi, Mirrokni, Rastogi, Vassilvitskii:
//! "Connected Components in MapReduce and Beyond", SoCC 2014), which needs no array at all. Both
//! label each document with the smallest of its component.

use std::path::{Path, PathBuf};

use extsort::{Config, Sorted, Sorter};
use records::DocSet;

use crate::Error;

/// The components, as a stream.
pub(crate) enum Labels {
    /// Union-find over the documents that have edges.
    Resident {
        docs: DocSet,
        parents: Vec<u32>,
        /// The rank of the next document.
        next: u64,
    },
    /// (document, label), sorted.
    Sorted(Sorted),
}

/// A document with edges and the smallest document of its component.
pub(crate) type Label = (u64, u64);

impl Labels {
    /// The next document in order, none at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Label>, Error> {
        match self {
            Labels::Sorted(sorted) => Ok(sorted.next()?.map(|pair| (pair[0], pair[1]))),
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

/// Sorts of the external method.
pub(crate) struct Sorting {
    pub(crate) scratch: PathBuf,
    /// For each of the two sorts that exist at once.
    pub(crate) memory_bytes: u64,
    /// For each of them.
    pub(crate) open_files: usize,
    pub(crate) threads: usize,
}

impl Sorting {
    fn sorter(&self) -> Result<Sorter, Error> {
        let folder: &Path = &self.scratch;
        Ok(Sorter::new(Config {
            folder: folder.to_owned(),
            memory_bytes: self.memory_bytes,
            open_files: self.open_files,
            threads: self.threads,
            record_words: 2,
            key_words: 2,
        })?)
    }
}

/// Components by sorted passes. Each round sorts the remaining edges twice; the number of rounds
/// is at most of the order of the squared logarithm of the documents, and in practice few.
pub(crate) fn external(sorting: &Sorting, edges: EdgeSource<'_>) -> Result<Labels, Error> {
    external_watched(sorting, edges, &mut |_| ())
}

/// As [`external`], and tells how many records each round begins with: twice its edges.
pub(crate) fn external_watched(
    sorting: &Sorting,
    edges: EdgeSource<'_>,
    round: &mut dyn FnMut(u64),
) -> Result<Labels, Error> {
    let mut both = sorting.sorter()?;
    edges(&mut |a, b| {
        both.push(&[a, b])?;
        both.push(&[b, a])?;
        Ok(())
    })?;
    loop {
        round(both.len());
        let (down, stars) = large_star(sorting, both.finish()?)?;
        let down = down.finish()?;
        if stars {
            return Ok(Labels::Sorted(down));
        }
        both = small_star(sorting, down)?;
    }
}

/// Links every larger neighbour of a document to the smallest of the document and its
/// neighbours.
///
/// `both` has each edge in both directions. The result has (document, smaller document), and
/// (document, itself) for those that have no smaller neighbour. With it, whether the edges were
/// all stars already, each around its smallest: then the result says of each document its label.
fn large_star(sorting: &Sorting, mut both: Sorted) -> Result<(Sorter, bool), Error> {
    let mut down = sorting.sorter()?;
    let mut stars = true;
    let mut last = None;
    // The open document and the smallest of it and its neighbours, which come in order.
    let mut open: Option<(u64, u64)> = None;
    while let Some(pair) = both.next()? {
        let (doc, neighbour) = (pair[0], pair[1]);
        if last == Some((doc, neighbour)) || doc == neighbour {
            continue;
        }
        last = Some((doc, neighbour));
        let smallest = match open {
            Some((same, smallest)) if same == doc => {
                // A leaf of a star has one neighbour.
                stars &= smallest == doc;
                smallest
            }
            _ => {
                let smallest = doc.min(neighbour);
                if smallest == doc {
                    down.push(&[doc, doc])?;
                }
                open = Some((doc, smallest));
                smallest
            }
        };
        if neighbour > doc {
            down.push(&[neighbour, smallest])?;
        }
    }
    Ok((down, stars))
}

/// Links the smaller neighbours of a document, and the document, to the smallest of them; the
/// result has each edge in both directions.
fn small_star(sorting: &Sorting, mut down: Sorted) -> Result<Sorter, Error> {
    let mut both = sorting.sorter()?;
    let mut last = None;
    let mut open: Option<(u64, u64)> = None;
    while let Some(pair) = down.next()? {
        let (doc, neighbour) = (pair[0], pair[1]);
        if last == Some((doc, neighbour)) || doc == neighbour {
            continue;
        }
        last = Some((doc, neighbour));
        let (from, to) = match open {
            Some((same, smallest)) if same == doc => (neighbour, smallest),
            _ => {
                open = Some((doc, neighbour));
                (doc, neighbour)
            }
        };
        both.push(&[from, to])?;
        both.push(&[to, from])?;
    }
    Ok(both)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

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
        let sorting = Sorting {
            scratch: scratch.path().to_owned(),
            memory_bytes: Config::minimum_memory_bytes(2),
            open_files: 8,
            threads: 1,
        };
        let visit = |each: &mut dyn FnMut(u64, u64) -> Result<(), Error>| {
            edges.iter().try_for_each(|&(a, b)| each(a, b))
        };
        let expected = reference(edges);
        assert_eq!(drain(external(&sorting, &visit).unwrap()), expected);
        let members: BTreeSet<u64> = edges.iter().flat_map(|&(a, b)| [a, b]).collect();
        let mut docs = DocSet::new(members.last().map_or(0, |last| last + 1));
        for doc in members {
            assert!(docs.insert(doc));
        }
        let count = docs.index();
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
