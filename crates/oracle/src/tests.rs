//! Hand-made cases and properties.

mod hand_made;
mod keepers;
mod properties;

use std::path::PathBuf;

use records::settings::{
    Band, Existing, Filter, Input, Join, Keep, Method, Mode, OnBadText, Run, Scheme, Sign, Unit,
    Verify,
};

use super::*;

/// Two bands of one slot over signatures of four: small enough to write signatures by hand.
fn pipeline() -> Pipeline {
    Pipeline {
        input: Input {
            paths: vec![PathBuf::from("in")],
            text: "text".to_owned(),
            id: None,
            on_bad_text: OnBadText::Refuse,
        },
        run: Run {
            work: PathBuf::from("work"),
            memory_bytes: None,
            threads: 0,
        },
        sign: Sign {
            scheme: Scheme::Fss,
            k: 4,
            seed: 1,
            unit: Unit::Word,
            n: 2,
            char_n: 5,
            strip_punctuation: false,
        },
        band: Band { bands: 2, rows: 1 },
        join: Join {
            verify: Verify::Estimate,
            threshold: 0.75,
            bits: 32,
            anchors: 256,
        },
        cluster: records::settings::Cluster {
            method: Method::Components,
            keep: Keep::Longest,
            column: None,
        },
        filter: Filter {
            output: PathBuf::from("out"),
            mode: Mode::Drop,
            prefix: "dedup_".to_owned(),
            existing: Existing::Refuse,
            compression_level: None,
        },
    }
}

/// A document with that text and no rank.
fn text(text: &str) -> Document {
    Document {
        text: Some(text.to_owned()),
        rank: None,
    }
}

/// Documents of one length, so that the smallest id stays where the longest is kept.
fn alike(count: usize) -> Vec<Document> {
    vec![text("same length"); count]
}

/// Signatures by hand, each of a text of its own.
fn signatures<const K: usize>(rows: &[[u32; K]]) -> Vec<Option<Signed>> {
    let signed = |(hash, slots): (u128, &[u32; K])| {
        Some(Signed {
            signature: slots.to_vec(),
            text_hash: hash,
            normalised_bytes: 9,
        })
    };
    (0..).zip(rows).map(signed).collect()
}

/// The members of each cluster.
fn groups(truth: &Truth) -> Vec<Vec<u64>> {
    let docs = |cluster: &Cluster| cluster.members.iter().map(|member| member.doc).collect();
    truth.clusters.iter().map(docs).collect()
}

/// The ids that stay.
fn kept(truth: &Truth) -> Vec<u64> {
    let ids = (0..).zip(&truth.kept);
    ids.filter_map(|(id, kept)| kept.then_some(id)).collect()
}
