//! The quadratic in-memory reference, for tests only.
//!
//! It answers "which documents stay, and why?" for a small corpus in memory, by the definitions
//! and without a thought for time or space: no sort, no budget, no union-find, no partitions. The
//! stages have to agree with it for all settings. It shares with them the crates that have
//! vectors of their own (`shingle`, `sketch`, `lsh`) and the settings, and no line beside.
//!
//! The definitions, in the order in which [`run`] applies them:
//!
//! 1. A document's id is its place in the list. One with null text, or with nothing left of it
//!    after normalisation, has no signature: it meets no other and is kept ([`sign`]).
//! 2. Documents with one normalised text (128-bit hash and length) are exact copies. The smallest
//!    id stands for all of them in the bands ([`representatives`]).
//! 3. A bucket is the representatives that share the key of one band. Its candidates are the
//!    pairs of which at least one is among its first `anchors` by id ([`candidates`]).
//! 4. A candidate is an edge if at least [`sketch::min_matches_of_bits`] slots are equal in
//!    their low `bits`, or always where nothing is verified ([`edges`]).
//! 5. The clusters are the components of these edges and of an edge from each exact copy to its
//!    representative, of two or more documents ([`components`]).
//! 6. The best document of a cluster by the keep rule stays. Another is `exact` if its
//!    normalised text is the keeper's, else `near` ([`decide`]).
//!
//! [`exact_jaccard`] is the truth that the signatures estimate.
//!
//! As this crate is for tests, settings that `manifest` refuses, and lists of unequal length, are
//! a mistake in the test, and panic.

mod graph;
mod keeper;
mod signed;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use records::Pipeline;

pub use graph::{candidates, components, edges};
pub use keeper::Rank;
pub use signed::{Signed, exact_jaccard, representatives, shingle_config, sign};

/// One row of the corpus. Its id is its place in the list.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The raw text; none where it is null.
    pub text: Option<String>,
    /// The value of the column that the keep rule ranks by; none counts as null. Looked at only
    /// where `cluster.column` is set.
    pub rank: Option<Rank>,
}

/// What a run has to find.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    /// The clusters of two or more documents, by id.
    pub clusters: Vec<Cluster>,
    /// Whether each document stays, by id.
    pub kept: Vec<bool>,
}

/// Two or more documents, of which one stays.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// The smallest document id of the members.
    pub id: u64,
    /// The id of the document that stays.
    pub keeper: u64,
    /// All members by id, the keeper among them.
    pub members: Vec<Member>,
}

/// A document of a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The document's id.
    pub doc: u64,
    /// What it is to the keeper, as in `clusters.parquet`: `keeper`, `exact` or `near`.
    pub kind: &'static str,
    /// The share of its slots that equal the keeper's; 1.0 for the keeper and its exact copies.
    pub similarity: f32,
}

/// The clusters and the kept documents of a corpus under the settings of `[sign]`, `[band]`,
/// `[join]` and `[cluster]`; the other tables are not looked at.
///
/// Cost: a signature a document, and all pairs of each bucket within its anchors.
///
/// # Panics
/// Where the settings are such as `manifest` refuses, or two documents have ranks of two types.
#[must_use]
pub fn run(documents: &[Document], pipeline: &Pipeline) -> Truth {
    decide(documents, &sign(documents, &pipeline.sign), pipeline)
}

/// [`run`] from the signatures on: for tests that make signatures by hand. `signed` has one entry
/// a document.
///
/// # Panics
/// As [`run`], and where `documents` and `signed` are not of one length.
#[must_use]
pub fn decide(documents: &[Document], signed: &[Option<Signed>], pipeline: &Pipeline) -> Truth {
    assert_eq!(documents.len(), signed.len(), "one signature a document");
    let mut links = edges(signed, pipeline);
    for (doc, representative) in (0..).zip(representatives(signed)) {
        if let Some(representative) = representative {
            links.insert((representative, doc));
        }
    }
    let links: Vec<(u64, u64)> = links.into_iter().collect();
    let mut groups: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (doc, least) in (0..).zip(components(documents.len(), &links)) {
        groups.entry(least).or_default().push(doc);
    }
    groups.retain(|_, docs| docs.len() >= 2);

    let mut kept = vec![true; documents.len()];
    let mut clusters = Vec::new();
    for (id, docs) in groups {
        let keeper = keeper::of(&docs, documents, &pipeline.cluster);
        for doc in &docs {
            kept[*doc as usize] = *doc == keeper;
        }
        let members = docs.iter().map(|doc| member(*doc, keeper, signed));
        clusters.push(Cluster {
            id,
            keeper,
            members: members.collect(),
        });
    }
    Truth { clusters, kept }
}

/// What a document of a cluster is to the cluster's keeper.
fn member(doc: u64, keeper: u64, signed: &[Option<Signed>]) -> Member {
    let (Some(one), Some(other)) = (&signed[doc as usize], &signed[keeper as usize]) else {
        panic!("a document with nothing to compare is in a cluster: {doc} or {keeper}");
    };
    let (kind, similarity) = if doc == keeper {
        ("keeper", 1.0)
    } else if one.same_text(other) {
        ("exact", 1.0)
    } else {
        let share = one.matches(other) as f32 / one.signature.len() as f32;
        ("near", share)
    };
    Member {
        doc,
        kind,
        similarity,
    }
}
