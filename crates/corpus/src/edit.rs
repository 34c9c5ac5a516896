//! The two ways in which a copy differs from its original.

use crate::measure::tokens;
use crate::random::SplitMix64;
use crate::words::{Language, Lexicon, VOCABULARY};

/// Writes a text that equals `original` after lower-casing and collapsing whitespace, and never in its bytes:
/// whitespace is added at the end, where no original has any.
pub(crate) fn normalised(original: &str, random: &mut SplitMix64, out: &mut String) {
    out.push_str(random.pick(&["", "", " ", "\n"]));
    for (number, word) in original.split_whitespace().enumerate() {
        if number > 0 {
            let usual = random.below(8) > 0;
            out.push_str(if usual {
                " "
            } else {
                random.pick(&["  ", "\n", "\t", "\r\n", " \n ", "\u{a0}"])
            });
        }
        match random.below(8) {
            0 => out.extend(word.chars().flat_map(char::to_uppercase)),
            1 => out.extend(word.chars().flat_map(char::to_lowercase)),
            _ => out.push_str(word),
        }
    }
    out.push_str(random.pick(&[" ", "\n", "\n\n", "\t"]));
}

/// Writes `original` with `rate` of its tokens (rounded, at least one) changed at places chosen evenly: half of
/// them replaced, a quarter followed by a new one, a quarter deleted.
pub(crate) fn near(
    original: &str,
    rate: f64,
    (language, lexicon): (Language, &Lexicon),
    random: &mut SplitMix64,
    out: &mut String,
) {
    let mut left = tokens(original).count() as u64;
    let mut edits = ((rate * left as f64 + 0.5) as u64).clamp(1, left.max(1));
    let mut end = 0;
    for token in tokens(original) {
        let (gap, text) = (&original[end..token.start], &original[token.clone()]);
        // Selection sampling (Knuth, The Art of Computer Programming 2, algorithm S): exactly `edits` places.
        let chosen = random.below(left) < edits;
        left -= 1;
        edits -= u64::from(chosen);
        // The first token is never deleted, so that something always remains.
        match if chosen { random.below(4) } else { 4 } {
            0 if token.start > 0 => {}
            0..=2 => {
                out.push_str(gap);
                replace(text, (language, lexicon), random, out);
            }
            3 => {
                out.push_str(gap);
                out.push_str(text);
                out.push_str(if language.is_spaced() { " " } else { "" });
                out.push_str(other("", false, (language, lexicon), random));
            }
            _ => {
                out.push_str(gap);
                out.push_str(text);
            }
        }
        end = token.end;
    }
    out.push_str(&original[end..]);
}

/// Writes another word in the place of `token`, with its capital and the punctuation at its end.
fn replace(token: &str, source: (Language, &Lexicon), random: &mut SplitMix64, out: &mut String) {
    let core = token.trim_end_matches(|c: char| c.is_ascii_punctuation());
    let capital = core.chars().next().is_some_and(char::is_uppercase);
    out.push_str(other(core, capital, source, random));
    out.push_str(&token[core.len()..]);
}

/// A token that is not `old`: a word, or a single character where each is a token.
fn other<'a>(
    old: &str,
    capital: bool,
    (language, lexicon): (Language, &'a Lexicon),
    random: &mut SplitMix64,
) -> &'a str {
    let first = lexicon.choose(random.next() as u16);
    let token = |step: u16| {
        let word = lexicon.word(first.wrapping_add(step), capital);
        let character = word.chars().next().map_or(0, char::len_utf8);
        if language.is_spaced() {
            word
        } else {
            &word[..character]
        }
    };
    // Neighbours in rank differ, so the search ends within a few steps.
    (0..VOCABULARY as u16)
        .map(token)
        .find(|&word| word != old)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::jaccard;

    fn collapsed(text: &str) -> String {
        text.to_lowercase()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn normalised_copies_differ_in_case_and_blanks_only() {
        let mut random = SplitMix64::new(5);
        for original in [
            "Žuřý ñandú, łok. Тётя ест щи!\n\nÅse øl",
            "天地玄黄。宇宙洪荒",
            "กาขา คางู",
            "x",
        ] {
            for _ in 0..200 {
                let mut copy = String::new();
                normalised(original, &mut random, &mut copy);
                assert_ne!(copy, original);
                assert_eq!(collapsed(&copy), collapsed(original));
            }
        }
    }

    #[test]
    fn near_copies_change_the_asked_number_of_tokens() {
        let lexicon = Lexicon::new(Language::Latin, 1);
        let original = (0..400)
            .map(|n| format!("t{n}"))
            .collect::<Vec<_>>()
            .join(" ");
        let mut random = SplitMix64::new(9);
        for (rate, expected) in [(0.000_1, 1), (0.01, 4), (0.05, 20), (0.1, 40), (1.0, 400)] {
            let mut copy = String::new();
            near(
                &original,
                rate,
                (Language::Latin, &lexicon),
                &mut random,
                &mut copy,
            );
            let kept = copy
                .split(' ')
                .filter(|word| word.starts_with('t') && word[1..].parse::<u32>().is_ok())
                .count();
            let words = copy.split(' ').count();
            // An edit makes an old token go (replaced, deleted) or a new one follow an old one that stays; so what
            // is new is a replacement or an insertion, and the three kinds add up.
            let (gone, new) = (400 - kept, words - kept);
            let inserted = expected - gone;
            let replaced = new - inserted;
            let deleted = gone - replaced;
            assert_eq!(replaced + inserted + deleted, expected);
            if rate > 0.5 {
                assert!(
                    replaced.abs_diff(200) < 40 && inserted.abs_diff(100) < 35,
                    "{replaced} {inserted} {deleted}"
                );
            }
        }
    }

    #[test]
    fn near_copies_of_the_shortest_texts_keep_something_and_differ() {
        let mut random = SplitMix64::new(2);
        for (language, original) in [
            (Language::Latin, "ab"),
            (Language::Han, "天"),
            (Language::Thai, "ก"),
        ] {
            let lexicon = Lexicon::new(language, 1);
            for _ in 0..200 {
                let mut copy = String::new();
                near(original, 1.0, (language, &lexicon), &mut random, &mut copy);
                assert!(!copy.trim().is_empty());
                assert_ne!(copy, original);
            }
        }
    }

    #[test]
    fn punctuation_capitals_and_paragraphs_stay() {
        let lexicon = Lexicon::new(Language::Latin, 1);
        let mut random = SplitMix64::new(4);
        let mut out = String::new();
        replace("Word?!", (Language::Latin, &lexicon), &mut random, &mut out);
        assert!(
            out.ends_with("?!") && out.starts_with(char::is_uppercase),
            "{out}"
        );
        let original = "one two.\n\nThree four five six";
        let mut copy = String::new();
        near(
            original,
            0.01,
            (Language::Latin, &lexicon),
            &mut SplitMix64::new(8),
            &mut copy,
        );
        assert!(jaccard(original, &copy) < 1.0);
        assert!(copy.contains("\n\n"), "{copy}");
    }
}
