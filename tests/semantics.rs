//! What counts as a duplicate, what never does, and that no input makes quadratic work.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails"
)]

use tests::{Project, Random};

/// Ids `d0`, `d1`, ... of the given rows.
fn ids(rows: impl IntoIterator<Item = usize>) -> Vec<String> {
    rows.into_iter().map(|row| format!("d{row}")).collect()
}

fn of(texts: &[String], settings: &[(&str, &str)]) -> Project {
    let texts: Vec<Option<&str>> = texts.iter().map(|text| Some(text.as_str())).collect();
    Project::of(&texts, settings)
}

#[test]
fn where_there_is_nothing_to_compare_all_is_kept_and_counted() {
    let texts = [
        None,
        Some(""),
        Some(" \t\r\n"),
        Some("\u{200b}"),
        Some("\u{301}"),
        Some("🦀"),
        Some("cat"),
        Some("dog"),
        Some("cat"),
        None,
        Some(""),
        Some("\u{a0}\u{3000}"),
    ];
    for unit in [r#""word""#, r#""char""#, r#""auto""#] {
        let project = Project::of(&texts, &[("sign.unit", unit)]);
        project.run(&[]).succeeded();
        let pairs: Vec<(u64, u64)> = project
            .clusters()
            .iter()
            .map(|row| (row.doc, row.keeper))
            .collect();
        assert_eq!(pairs, [(6, 6), (8, 6)], "only the cats pair");
        let kept = (0..texts.len()).filter(|row| *row != 8);
        assert_eq!(project.kept_ids(), ids(kept));
        let counts = ["in", "kept", "null", "empty", "exact", "near"].map(|n| project.rows(n));
        assert_eq!(counts, [12, 11, 2, 4, 1, 0], "{unit}");
    }
}

#[test]
fn what_is_left_of_stripped_punctuation_may_be_nothing() {
    let texts = [
        Some("..."),
        Some("!?"),
        Some("... !"),
        Some("a, b."),
        Some("A B"),
    ];
    let strip = Project::of(&texts, &[("sign.strip_punctuation", "true")]);
    strip.run(&[]).succeeded();
    assert_eq!(strip.kept_ids(), ids([0, 1, 2, 3]));
    assert_eq!(strip.rows("empty"), 3);
    let keep = Project::of(&texts, &[]);
    keep.run(&[]).succeeded();
    assert_eq!(keep.kept_ids(), ids(0..5));
    assert_eq!(keep.rows("empty"), 0);
}

#[test]
fn short_rows_that_differ_are_all_kept() {
    let texts: Vec<String> = (0..10_000)
        .map(|i| format!("row{} of w{}", i / 100, i % 100))
        .collect();
    let project = of(&texts, &[("sign.n", "5")]);
    project.run(&[]).succeeded();
    assert_eq!(project.clusters(), []);
    assert_eq!(project.kept_ids(), ids(0..10_000));
}

/// A hundred paragraphs of words of the letters given, each word of `letters` pieces.
fn paragraphs(pieces: &[&str], blank: &str, seed: u64) -> Vec<String> {
    let mut random = Random::new(seed);
    let mut word = || -> String {
        let length = random.between(2, 4);
        (0..length).map(|_| random.pick(pieces)).collect()
    };
    let words: Vec<String> = (0..400).map(|_| word()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut random = Random::new(seed + 1);
    let mut paragraph = || {
        let length = random.between(40, 80);
        let words: Vec<&str> = (0..length).map(|_| random.pick(&words)).collect();
        words.join(blank)
    };
    (0..100).map(|_| paragraph()).collect()
}

const ARABIC: [&str; 12] = ["ا", "ب", "ت", "سَ", "ر", "م", "ن", "و", "ي", "لا", "ع", "ق"];
const THAI: [&str; 12] = [
    "กา",
    "ขี่",
    "คำ",
    "งู",
    "จะ",
    "ชื่",
    "ดี",
    "ตัว",
    "ที่",
    "นํ้า",
    "ปลา",
    "มา",
];
const HINDI: [&str; 12] = [
    "का", "खि", "गी", "घु", "चू", "जे", "टै", "डो", "तौ", "दं", "नः", "पृ",
];
const CHINESE: [&str; 20] = [
    "天", "地", "人", "你", "我", "山", "水", "火", "木", "金", "土", "日", "月", "中", "国", "大",
    "小", "上", "下", "文",
];

#[test]
fn paragraphs_of_any_script_that_differ_are_all_kept() {
    for (pieces, blank) in [
        (&ARABIC[..], " "),
        (&THAI[..], ""),
        (&HINDI[..], " "),
        (&CHINESE[..], ""),
    ] {
        for unit in [r#""word""#, r#""char""#] {
            let texts = paragraphs(pieces, blank, 7);
            let project = of(&texts, &[("sign.unit", unit)]);
            project.run(&[]).succeeded();
            assert_eq!(project.kept_ids(), ids(0..100), "{unit}: {}", texts[0]);
            assert_eq!(project.clusters(), []);
        }
    }
}

#[test]
fn a_paragraph_without_blanks_pairs_with_its_edit() {
    let mut random = Random::new(3);
    let mut text: Vec<&str> = (0..200).map(|_| random.pick(&CHINESE)).collect();
    let original = text.concat();
    text[100] = "龙";
    text[101] = "凤";
    let edited = text.concat();
    for unit in [r#""word""#, r#""char""#] {
        let texts = [original.clone(), edited.clone()];
        let project = of(&texts, &[("sign.unit", unit)]);
        project.run(&[]).succeeded();
        assert_eq!(project.kept_ids(), ids([0]), "{unit}");
        let clusters = project.clusters();
        assert_eq!(clusters[1].kind, "near");
        // 196 shingles of five, of which six differ: J = 190 / 202 = 0.94.
        let similarity = clusters[1].similarity;
        assert!((0.85..1.0).contains(&similarity), "{similarity}");
    }
}

#[test]
fn copies_of_one_text_cost_no_comparison() {
    let text = "the same words in the same order again and again".to_owned();
    let project = of(&vec![text; 10_000], &[]);
    project.run(&[]).succeeded();
    assert_eq!(project.kept_ids(), ids([0]));
    assert_eq!(project.rows("exact"), 9_999);
    assert_eq!(project.counter("band", "exact_copies"), 9_999);
    assert_eq!(project.counter("join", "compared"), 0);
    let clusters = project.clusters();
    assert_eq!(clusters.len(), 10_000);
    let one = |row: &tests::ClusterRow| row.cluster == 0 && row.keeper == 0;
    assert!(clusters.iter().all(one));
}

/// The words of one set in `count` orders, all different: unequal texts of equal shingle sets.
fn orders(count: usize) -> Vec<String> {
    let mut words: Vec<String> = (0..30).map(|i| format!("w{i}")).collect();
    let mut random = Random::new(11);
    (0..count)
        .map(|_| {
            for i in (1..words.len()).rev() {
                words.swap(i, random.below(i + 1));
            }
            words.join(" ")
        })
        .collect()
}

#[test]
fn documents_alike_in_every_band_are_compared_once_a_band() {
    let project = of(&orders(2_000), &[("sign.n", "1")]);
    project.run(&[]).succeeded();
    assert_eq!(project.kept_ids(), ids([0]));
    assert_eq!(project.rows("near"), 1_999);
    assert_eq!(project.counter("band", "exact_copies"), 0);
    assert_eq!(project.counter("band", "buckets"), 20);
    assert_eq!(project.counter("join", "compared"), 20 * 1_999);
    assert_eq!(project.counter("join", "edges"), 1_999);
}

#[test]
fn documents_that_meet_and_do_not_verify_are_compared_with_the_anchors_only() {
    // Each has a word of its own: nearly all slots are equal, never all.
    let mut texts = orders(1_000);
    for (i, text) in texts.iter_mut().enumerate() {
        text.push_str(&format!(" own{i}a own{i}b own{i}c own{i}d own{i}e"));
    }
    let settings = [
        ("sign.n", "1"),
        ("band.bands", "64"),
        ("band.rows", "1"),
        ("join.threshold", "1.0"),
        ("join.anchors", "4"),
    ];
    let project = of(&texts, &settings);
    let done = project.run(&[]).ok();
    assert_eq!(project.clusters(), []);
    let compared = project.counter("join", "compared");
    assert!(compared > 64 * 1_000, "{compared}: the buckets are large");
    assert!(compared <= 64 * 1_000 * 4, "{compared}: more than anchors");
    assert!(project.counter("join", "buckets_cut") > 0);
    let warning = "of the documents beyond verified with no anchor of theirs";
    assert!(done.stderr.contains(warning), "{}", done.stderr);
}
