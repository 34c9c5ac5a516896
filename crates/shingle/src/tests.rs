//! Whole documents: vectors, properties, and a naive reference.

mod naive;
mod stream;
mod vectors;

use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;

use super::*;

const fn config(unit: Unit, n: u32, char_n: u32, strip_punctuation: bool) -> Config {
    Config {
        unit,
        n,
        char_n,
        strip_punctuation,
    }
}

fn words(n: u32) -> Shingler {
    Shingler::new(config(Unit::Word, n, 5, false)).unwrap()
}

/// What a test compares: all that a document yields.
type Owned = Option<(Vec<u64>, u128, u64)>;

fn owned(shingles: Option<Shingles<'_>>) -> Owned {
    shingles.map(|s| (s.hashes.to_vec(), s.text_hash, s.normalised_bytes))
}

fn any_config() -> impl Strategy<Value = Config> {
    let unit = prop_oneof![Just(Unit::Word), Just(Unit::Char), Just(Unit::Auto)];
    (unit, 1..8_u32, 1..8_u32, any::<bool>())
        .prop_map(|(unit, n, char_n, strip)| config(unit, n, char_n, strip))
}

/// Characters that meet the rules: blanks of all kinds, letters whose case, marks or neighbours matter, scripts with
/// and without spaces, punctuation and symbols, what is invisible.
fn any_text() -> impl Strategy<Value = String> {
    let of = |set: &'static str| proptest::sample::select(set.chars().collect::<Vec<_>>());
    let character = prop_oneof![
        6 => of("abcdeABCXYZ019"),
        4 => of(" \n\t\r\u{b}\u{85}\u{a0}\u{2003}\u{2028}\u{3000}"),
        2 => of(".,-_'\"()$+<=>^`|~“’—。、"),
        2 => of("\u{301}\u{300}\u{323}\u{307}\u{30c}\u{308}\u{345}\u{93c}\u{94d}\u{e38}\u{e48}"),
        2 => of("éÉåÅİıßẞΣσςΑΟΐǅǆȷJЖжĳ\u{212b}\u{2126}\u{1e9b}\u{958}\u{915}कखग"),
        2 => of("中文日本語々〇あカｶーไทยກကកཀ𠀀豈\u{f900}한\u{1112}\u{1161}\u{11ab}"),
        1 => of("\0\u{1c}\u{1f}\u{7f}\u{200b}\u{200d}\u{feff}😀👩🇫\u{fe0f}"),
        1 => any::<char>(),
    ];
    proptest::collection::vec(character, 0..60).prop_map(String::from_iter)
}

fn any_ascii() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        4 => (b'a'..=b'z').prop_map(char::from),
        2 => proptest::sample::select(b" \n".to_vec()).prop_map(char::from),
        2 => (0..128_u8).prop_map(char::from),
    ];
    proptest::collection::vec(character, 0..300).prop_map(String::from_iter)
}

proptest! {
    #[test]
    fn shingles_are_those_of_the_naive_reference(text in any_text(), config in any_config()) {
        let mut shingler = Shingler::new(config).unwrap();
        prop_assert_eq!(owned(shingler.document(&text)), naive::document(&text, config));
    }

    #[test]
    fn the_ascii_path_equals_the_general_path(text in any_ascii(), config in any_config()) {
        let mut shingler = Shingler::new(config).unwrap();
        let general = owned(shingler.document_by_characters(&text));
        prop_assert_eq!(owned(shingler.document(&text)), general.clone());
        prop_assert_eq!(naive::document(&text, config), general);
    }

    #[test]
    fn one_pass_equals_the_general_path(text in any_text(), config in any_config()) {
        let mut shingler = Shingler::new(config).unwrap();
        let general = owned(shingler.document_by_characters(&text));
        prop_assert_eq!(owned(shingler.document(&text)), general);
    }

    #[test]
    fn composed_and_decomposed_are_one_text(text in any_text(), config in any_config()) {
        let mut shingler = Shingler::new(config).unwrap();
        let plain = owned(shingler.document(&text));
        let composed: String = text.nfc().collect();
        let decomposed: String = text.nfd().collect();
        prop_assert_eq!(owned(shingler.document(&composed)), plain.clone());
        prop_assert_eq!(owned(shingler.document(&decomposed)), plain);
    }

    #[test]
    fn blanks_at_the_ends_and_line_ends_do_not_matter(text in any_text(), config in any_config()) {
        let mut shingler = Shingler::new(config).unwrap();
        let plain = owned(shingler.document(&text));
        prop_assert_eq!(owned(shingler.document(&format!(" \n\u{3000}{text}\t \r\n"))), plain.clone());
        let lines = text.replace('\n', "\r\n");
        prop_assert_eq!(owned(shingler.document(&lines)), plain);
    }

    #[test]
    fn case_does_not_matter(text in any_ascii(), config in any_config()) {
        let mut shingler = Shingler::new(config).unwrap();
        let upper = owned(shingler.document(&text.to_uppercase()));
        prop_assert_eq!(owned(shingler.document(&text)), upper);
    }

    #[test]
    fn there_are_as_many_shingles_as_windows(tokens in 1..40_usize, n in 1..12_u32) {
        let text = "word ".repeat(tokens);
        let mut shingler = words(n);
        let count = shingler.document(&text).unwrap().hashes.len();
        prop_assert_eq!(count, (tokens + 1).saturating_sub(n as usize).max(1));
    }
}

#[test]
fn nothing_to_compare_has_no_shingles() {
    for unit in [Unit::Word, Unit::Char, Unit::Auto] {
        let mut shingler = Shingler::new(config(unit, 5, 5, false)).unwrap();
        for text in ["", " ", "\r\n\t\u{b}\u{c}", "\u{a0}\u{2003}\u{3000}\u{85}"] {
            assert_eq!(shingler.document(text), None, "{text:?}");
        }
        let mut shingler = Shingler::new(config(unit, 5, 5, true)).unwrap();
        for text in ["", "...", " - ' \n“ ”。", "_\u{2028}_"] {
            assert_eq!(shingler.document(text), None, "{text:?}");
        }
        assert!(shingler.document("+").is_some());
    }
}

#[test]
fn what_is_invisible_is_a_token() {
    let mut shingler = words(5);
    for text in [
        "\u{200b}", "\u{301}", "\u{feff}", "\0", "\u{1c}", "😀", "...",
    ] {
        assert_eq!(shingler.document(text).unwrap().hashes.len(), 1, "{text:?}");
    }
}

#[test]
fn short_documents_differ_by_their_number_of_tokens() {
    let mut shingler = words(5);
    let mut seen = Vec::new();
    for text in ["cat", "dog", "cat cat", "cat cat cat", "cat dog", "dog cat"] {
        seen.extend_from_slice(shingler.document(text).unwrap().hashes);
    }
    let count = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!((count, seen.len()), (6, 6));
}

#[test]
fn units_and_lengths_share_no_shingle() {
    let text = "a b c d e f g h";
    let mut all = Vec::new();
    for unit in [Unit::Word, Unit::Char] {
        for n in [1, 2, 3, 5] {
            let mut shingler = Shingler::new(config(unit, n, 5, false)).unwrap();
            let mut own = shingler.document(text).unwrap().hashes.to_vec();
            own.sort_unstable();
            own.dedup();
            all.extend(own);
        }
    }
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count);
}

#[test]
fn auto_is_word_or_char_by_the_number_of_tokens() {
    let mut auto = Shingler::new(config(Unit::Auto, 5, 4, false)).unwrap();
    let mut char = Shingler::new(config(Unit::Char, 4, 0, false)).unwrap();
    let mut word = words(5);
    for text in ["one two three four", "a", "中文字元"] {
        assert_eq!(owned(auto.document(text)), owned(char.document(text)));
    }
    for text in ["one two three four five", "中文字元五", "a b c d e f g"] {
        assert_eq!(owned(auto.document(text)), owned(word.document(text)));
    }
}

#[test]
fn one_changed_word_changes_n_shingles() {
    let mut shingler = words(5);
    let a = shingler
        .document("a b c d e f g h i j k l m")
        .unwrap()
        .hashes
        .to_vec();
    let b = shingler
        .document("a b c d e f X h i j k l m")
        .unwrap()
        .hashes
        .to_vec();
    let changed = a.iter().zip(&b).filter(|(a, b)| a != b).count();
    assert_eq!((a.len(), b.len(), changed), (9, 9, 5));
}

#[test]
fn a_large_document_leaves_no_large_buffers() {
    let mut shingler = words(5);
    let text = "é word ".repeat(2_000_000);
    assert_eq!(
        shingler.document(&text).unwrap().hashes.len(),
        4_000_000 - 4
    );
    shingler.document("a small one");
    assert!(shingler.hashes.capacity() * 8 <= RETAINED_BYTES);
    assert!(shingler.normal.bytes().len() < 20);
    assert!(shingler.normal.capacity() <= RETAINED_BYTES);
}

#[test]
fn lengths_of_zero_are_refused() {
    let error = |unit, n, char_n| Shingler::new(config(unit, n, char_n, false)).unwrap_err();
    for unit in [Unit::Word, Unit::Char, Unit::Auto] {
        assert_eq!(
            error(unit, 0, 5).to_string(),
            "the shingle length n must be at least 1, but is 0; set n to 1 or more (5 is usual)"
        );
    }
    assert_eq!(
        error(Unit::Auto, 5, 0).to_string(),
        "the shingle length char_n must be at least 1 where the unit is auto, but is 0; set char_n to 1 or more \
         (5 is usual)"
    );
    assert!(Shingler::new(config(Unit::Word, 1, 0, false)).is_ok());
}
