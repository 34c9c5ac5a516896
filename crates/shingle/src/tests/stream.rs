//! A text by chunks has the shingles of the whole.

use super::*;
use crate::segments::SEGMENT_BYTES;

/// What [`Shingler::stream`] yields with segments and chunks of these sizes.
fn streamed(shingler: &mut Shingler, pieces: &[&str], segment_bytes: usize, chunk: usize) -> Owned {
    let mut hashes = Vec::new();
    let pieces = pieces.iter().copied();
    let done = shingler.stream_by(segment_bytes, chunk, pieces, |c| {
        assert!(!c.is_empty());
        hashes.extend_from_slice(c);
    });
    assert_eq!(done.is_none(), hashes.is_empty());
    done.map(|done| {
        assert_eq!(done.shingles, hashes.len() as u64);
        (hashes, done.text_hash, done.normalised_bytes)
    })
}

/// The text in so many pieces or fewer.
fn divided(text: &str, mut at: Vec<usize>) -> Vec<&str> {
    at.sort_unstable();
    let mut pieces = Vec::new();
    let (mut rest, mut before) = (text, 0);
    for at in at {
        let (head, tail) = rest.split_at(rest.floor_char_boundary(at.saturating_sub(before)));
        before += head.len();
        pieces.push(head);
        rest = tail;
    }
    pieces.push(rest);
    pieces
}

fn long_words() -> impl Strategy<Value = String> {
    let word = proptest::sample::select(
        "a bc Straße ΟΔΟΣ ΣΑΣ' Σ. ... 中文 カ゛ e\u{301} İ \u{a0} \n \u{2003} ไทย _x_ 한 \u{301} -"
            .split(' ')
            .collect::<Vec<_>>(),
    );
    let blank = proptest::sample::select(vec![" ", "", "", "\n\n", "."]);
    proptest::collection::vec((word, blank), 0..80)
        .prop_map(|words| words.into_iter().flat_map(|(a, b)| [a, b]).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn chunks_have_the_shingles_of_the_document(
        text in prop_oneof![any_text(), any_ascii(), long_words()],
        config in any_config(),
        segment_bytes in 1..40_usize,
        chunk in 1..40_usize,
        at in proptest::collection::vec(0..200_usize, 0..5),
    ) {
        let mut shingler = Shingler::new(config).unwrap();
        let whole = owned(shingler.document(&text));
        let pieces = divided(&text, at);
        prop_assert_eq!(pieces.concat(), text.as_str());
        // Twice, as it has to be possible to read a text again.
        for _ in 0..2 {
            prop_assert_eq!(&streamed(&mut shingler, &pieces, segment_bytes, chunk), &whole);
        }
        prop_assert_eq!(owned(shingler.document(&text)), whole);
    }
}

#[test]
fn long_texts_are_streamed_in_chunks_and_little_memory() {
    let lines =
        "The quick brown fox, Straße 42, ΟΔΟΣ;  jumps\tover 中文字元 e\u{301}!\n".repeat(20_000);
    let one_token = "x".repeat(1_000_000);
    for text in [lines.as_str(), &one_token] {
        assert!(Shingler::stream_bytes([text].into_iter()) <= 32 * (SEGMENT_BYTES as u64));
        for unit in [Unit::Word, Unit::Char, Unit::Auto] {
            let mut shingler = Shingler::new(config(unit, 5, 5, false)).unwrap();
            let whole = owned(shingler.document(text)).unwrap();
            let (mut hashes, mut longest) = (Vec::new(), 0);
            let done = shingler.stream([text].into_iter(), |chunk| {
                longest = longest.max(chunk.len());
                hashes.extend_from_slice(chunk);
            });
            let done = done.unwrap();
            assert_eq!(
                (hashes, done.text_hash, done.normalised_bytes),
                whole,
                "{unit:?}"
            );
            assert!(longest < 100_000, "{longest}");
            assert!(shingler.hashes.capacity() * 8 <= RETAINED_BYTES);
            assert!(shingler.normal.capacity() <= RETAINED_BYTES);
        }
    }
}

#[test]
fn what_has_to_be_seen_at_once_is_accounted_for() {
    let marks = format!("a{}", "\u{301}".repeat(100_000));
    assert_eq!(
        Shingler::stream_bytes([marks.as_str()].into_iter()),
        32 * 200_001
    );
    let dots = ".".repeat(100_000);
    assert_eq!(
        Shingler::stream_bytes([dots.as_str()].into_iter()),
        32 * (SEGMENT_BYTES as u64)
    );
    assert_eq!(
        Shingler::stream_bytes(["Σ", dots.as_str()].into_iter()),
        32 * 100_002
    );
}
