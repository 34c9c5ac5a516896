//! Recall, precision and the estimate's error on real text, against the exact similarity of every pair.
//!
//! The corpora and their truth lie beside the repository; where they are absent the tests say so and
//! pass. `--nocapture` prints the tables.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot read its data has failed"
)]

#[path = "truth/data.rs"]
mod data;
#[path = "truth/measure.rs"]
mod measure;
#[path = "truth/seeds.rs"]
mod seeds;

use std::path::Path;

use measure::Case;
use seeds::Sets;
use shingle::Unit;
use sketch::Scheme;
use tests::Project;

/// The exact components of the pairs with J >= 0.8 would remove this many.
const ENGLISH: usize = 5_869;
const SAMPLE_WORD: usize = 1_376 - 643;
const SAMPLE_CHAR: usize = 1_602 - 694;

#[test]
fn english_fss() {
    prove("english", "truth", Unit::Word, Scheme::Fss, ENGLISH);
}

#[test]
fn english_universal() {
    prove("english", "truth", Unit::Word, Scheme::Universal, ENGLISH);
}

#[test]
fn sample_word_fss() {
    prove("sample", "truth", Unit::Word, Scheme::Fss, SAMPLE_WORD);
}

#[test]
fn sample_word_universal() {
    prove(
        "sample",
        "truth",
        Unit::Word,
        Scheme::Universal,
        SAMPLE_WORD,
    );
}

#[test]
fn sample_char_fss() {
    prove("sample", "truth_char", Unit::Char, Scheme::Fss, SAMPLE_CHAR);
}

#[test]
fn sample_char_universal() {
    prove(
        "sample",
        "truth_char",
        Unit::Char,
        Scheme::Universal,
        SAMPLE_CHAR,
    );
}

/// Seeds over which the share of pairs that meet is averaged, unless `NEARDUP_TRUTH_SEEDS` says another number: the
/// standard error falls with its root, and several hundred (with --release) bring it well under the bounds.
fn seeds(scheme: Scheme) -> u64 {
    let usual = match scheme {
        Scheme::Fss => 60,
        Scheme::Universal => 20,
    };
    std::env::var("NEARDUP_TRUTH_SEEDS").map_or(usual, |seeds| seeds.parse().unwrap())
}

/// Runs the pipeline without verification and with it, prints what it finds, and asserts the bounds.
fn prove(corpus: &str, truth: &str, unit: Unit, scheme: Scheme, removed: usize) {
    let corpora = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/corpora");
    let folder = Path::new(corpora).join(corpus);
    if !folder.is_dir() {
        eprintln!("skipped: {} is not there", folder.display());
        return;
    }
    let data = folder.join("data");
    let quoted = |text: &str| format!("{text:?}");
    let project = Project::new(&[
        ("input.paths", &quoted(data.to_str().unwrap())),
        (
            "sign.scheme",
            &quoted(&format!("{scheme:?}").to_lowercase()),
        ),
        ("sign.unit", &quoted(&format!("{unit:?}").to_lowercase())),
        ("sign.k", "128"),
        ("band.bands", "20"),
        ("band.rows", "6"),
        ("join.threshold", "0.8"),
    ]);
    project.run(&["--set", "join.verify=none"]).succeeded();
    let unverified = project.clusters();
    project.run(&["--set", "join.verify=estimate"]).succeeded();

    let by_id = data::numbers_by_id(&data);
    let pairs = data::pairs(&folder.join(format!("{truth}.parquet")), &by_id);
    assert_eq!(data::removed(&pairs, by_id.len(), 0.8), removed);
    let case = Case {
        name: format!("{corpus}, {unit:?}, {scheme:?}"),
        scheme,
        sets: Sets::read(&data, unit),
        pairs,
        signatures: data::signatures(&project.path("work")),
        unverified,
        verified: project.clusters(),
        exactly_removed: removed,
    };
    assert_eq!(case.signatures.len(), by_id.len());
    case.prove(seeds(scheme));
}
