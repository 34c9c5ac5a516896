//! The exact Jaccard similarity of two texts, written anew and simply: the check on the product may not share its
//! code.

use std::ops::Range;

use crate::random::mix;

/// Tokens in a shingle.
const SHINGLE: usize = 5;

/// The tokens of a text as byte ranges: maximal runs of characters that are not White_Space, except that each Han
/// or Thai character is a token of its own. Of the scripts without blanks only those that this crate writes are
/// known here: U+4E00..=U+9FFF and the Thai letters and marks.
#[derive(Clone)]
pub(crate) struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

enum Class {
    Blank,
    Alone,
    Part,
}

fn class(character: char) -> Class {
    match character {
        '\u{4E00}'..='\u{9FFF}' | '\u{0E01}'..='\u{0E3A}' | '\u{0E40}'..='\u{0E5B}' => Class::Alone,
        _ if character.is_whitespace() => Class::Blank,
        _ => Class::Part,
    }
}

pub(crate) fn tokens(text: &str) -> Tokens<'_> {
    Tokens { text, at: 0 }
}

impl Iterator for Tokens<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let mut start = None;
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            let here = self.at;
            let character = if byte < 0x80 {
                char::from(byte)
            } else {
                self.text[here..].chars().next()?
            };
            match (class(character), start) {
                (Class::Alone | Class::Blank, Some(start)) => return Some(start..here),
                (Class::Alone, None) => {
                    self.at += character.len_utf8();
                    return Some(here..self.at);
                }
                (Class::Part, None) => start = Some(here),
                (Class::Part, Some(_)) | (Class::Blank, None) => {}
            }
            self.at += character.len_utf8();
            if start.is_some() {
                // For speed alone: most bytes are the inside of an ASCII word.
                let rest = bytes.get(self.at..).unwrap_or_default();
                self.at += rest
                    .iter()
                    .take_while(|byte| byte.is_ascii_graphic())
                    .count();
            }
        }
        start.map(|start| start..self.at)
    }
}

/// The Jaccard similarity of the sets of word 5-grams of two texts: tokens as DESIGN has them, of the lower-cased
/// text; a text of fewer than five tokens is one shingle of all of them. 0.0 when either has no token.
///
/// Shingles are compared by 64-bit hashes, so two of n shingles each are told apart wrongly with a probability of
/// about n^2 / 2^64. Only Han (U+4E00..=U+9FFF) and Thai count as scripts without blanks, the ones that this crate
/// writes, and the texts are taken to be NFC. Costs O(n log n).
pub fn jaccard(a: &str, b: &str) -> f64 {
    similarity(&shingles(a), &shingles(b))
}

/// The shared part of two sorted sets.
pub(crate) fn similarity(a: &[u64], b: &[u64]) -> f64 {
    let (mut left, mut right) = (a.iter().peekable(), b.iter().peekable());
    let (mut union, mut both) = (0u64, 0u64);
    while let (Some(x), Some(y)) = (left.peek(), right.peek()) {
        let order = x.cmp(y);
        union += 1;
        both += u64::from(order.is_eq());
        if order.is_le() {
            left.next();
        }
        if order.is_ge() {
            right.next();
        }
    }
    union += (left.len() + right.len()) as u64;
    if union == 0 {
        0.0
    } else {
        both as f64 / union as f64
    }
}

/// The set of a text's shingle hashes, sorted.
pub(crate) fn shingles(text: &str) -> Vec<u64> {
    let text = text.to_lowercase();
    let hashes: Vec<u64> = tokens(&text)
        .map(|token| fnv1a(&text.as_bytes()[token]))
        .collect();
    let mut set: Vec<u64> = if hashes.len() < SHINGLE {
        // No shingle is made of no tokens.
        hashes.chunks(SHINGLE).map(combine).collect()
    } else {
        hashes.windows(SHINGLE).map(combine).collect()
    };
    set.sort_unstable();
    set.dedup();
    set
}

/// FNV-1a, 64 bit (Fowler, Noll, Vo).
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

fn combine(hashes: &[u64]) -> u64 {
    hashes.iter().fold(hashes.len() as u64, |sum, &hash| {
        mix(sum.rotate_left(7) ^ hash)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;
    use std::collections::HashSet;

    fn parts(text: &str) -> Vec<&str> {
        tokens(text).map(|range| &text[range]).collect()
    }

    #[test]
    fn tokens_follow_the_rule() {
        assert_eq!(
            parts(" One,  two\tthree\u{a0}four\n"),
            ["One,", "two", "three", "four"]
        );
        assert_eq!(
            parts("天地,玄x1黄。"),
            ["天", "地", ",", "玄", "x1", "黄", "。"]
        );
        assert_eq!(parts("กา ab"), ["ก", "า", "ab"]);
        assert_eq!(parts("naïve\u{3000}чай"), ["naïve", "чай"]);
        assert!(parts(" \u{2003}\n").is_empty());
        assert!(parts("").is_empty());
    }

    /// The definition, word for word, over sets of lists of strings.
    fn by_definition(a: &str, b: &str) -> f64 {
        let set = |text: &str| -> HashSet<Vec<String>> {
            let text = text.to_lowercase();
            let list: Vec<String> = tokens(&text).map(|range| text[range].to_owned()).collect();
            if list.is_empty() {
                return HashSet::new();
            }
            list.windows(list.len().min(5))
                .map(<[String]>::to_vec)
                .collect()
        };
        let (a, b) = (set(a), set(b));
        let union = a.union(&b).count();
        if union == 0 {
            0.0
        } else {
            a.intersection(&b).count() as f64 / union as f64
        }
    }

    #[test]
    fn jaccard_is_what_its_definition_says() {
        let mut random = SplitMix64::new(3);
        let mut between = 0;
        for _ in 0..2_000 {
            // Few words, so that shingles repeat within a text and are shared between texts.
            let mut text = || -> String {
                let words = random.below(24);
                (0..words)
                    .map(|_| ["a ", "A ", "a\n", "b ", "天"][random.below(5) as usize])
                    .collect()
            };
            let (a, b) = (text(), text());
            let found = jaccard(&a, &b);
            assert_eq!(found, by_definition(&a, &b), "{a:?} {b:?}");
            between += u32::from(found > 0.0 && found < 1.0);
        }
        assert!(between > 300, "only {between} pairs were between 0 and 1");
    }

    #[test]
    fn jaccard_of_pairs_worked_out_by_hand() {
        assert_eq!(jaccard("a b c d e f", "a b c d e g"), 1.0 / 3.0);
        assert_eq!(jaccard("A  b c\td e", "a b C d e"), 1.0);
        assert_eq!(jaccard("cat", "cat"), 1.0);
        assert_eq!(jaccard("cat", "dog"), 0.0);
        assert_eq!(jaccard("a b", "a b c"), 0.0);
        assert_eq!(jaccard("", ""), 0.0);
        assert_eq!(jaccard("", "a"), 0.0);
    }
}
