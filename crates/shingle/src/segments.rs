//! Cuts a long text into segments whose normalised forms, one after the other, are that of the whole.
//!
//! NFC lets a text be cut before any settled character (see [`Normal`](crate::normal::Normal)). Lower-casing looks
//! beyond a character only at a capital sigma, which is final where a cased character stands before it and none after
//! it, case-ignorable ones skipped on both sides. So where the text has a sigma, it is only cut between two characters
//! that end this search.

use crate::classes::CLASSES;

/// Bytes of a segment, as a rule.
pub(crate) const SEGMENT_BYTES: usize = 64 << 10;

/// Gives the segments of a text, itself in pieces, to `segment`. They have at most `target` bytes where the text can be
/// cut there, and are never empty. A segment is copied only where it lies in several pieces.
pub(crate) fn each<'t>(
    pieces: impl Iterator<Item = &'t str> + Clone,
    target: usize,
    mut segment: impl FnMut(&str),
) {
    let sigma = pieces.clone().any(|piece| piece.contains('Σ'));
    // What was not cut yet of the pieces before, and the length at which to try again.
    let mut carried = String::new();
    let mut enough = target;
    for piece in pieces {
        let mut rest = piece;
        if carried.is_empty() {
            while let Some(at) = cut(rest, target, sigma) {
                let (head, tail) = rest.split_at(at);
                segment(head);
                rest = tail;
            }
        }
        while !rest.is_empty() {
            let (head, tail) = rest.split_at(rest.floor_char_boundary(target.max(4)));
            carried.push_str(head);
            rest = tail;
            if carried.len() <= enough {
                continue;
            }
            let mut done = 0;
            while let Some(at) = cut(&carried[done..], target, sigma) {
                segment(&carried[done..done + at]);
                done += at;
            }
            carried.drain(..done);
            // Twice as much, so that looking again and again costs no more than the text's length.
            enough = target.max(2 * carried.len());
        }
    }
    if !carried.is_empty() {
        segment(&carried);
    }
}

/// Where to cut a text of more than `target` bytes: as far as possible but not beyond `target`, or else as little
/// beyond it as possible. None where it is no longer, or cannot be cut.
fn cut(text: &str, target: usize, sigma: bool) -> Option<usize> {
    if text.len() <= target {
        return None;
    }
    let start = text.floor_char_boundary(target);
    let before = text[..start].char_indices().rev().map(|(at, _)| at);
    let at_or_before = std::iter::once(start).chain(before);
    let after = text[start..].char_indices().map(|(at, _)| start + at);
    at_or_before
        .chain(after)
        .filter(|at| *at > 0)
        .find(|at| may_cut(text, *at, sigma))
}

fn may_cut(text: &str, at: usize, sigma: bool) -> bool {
    let (head, tail) = text.split_at(at);
    let (Some(last), Some(next)) = (head.chars().next_back(), tail.chars().next()) else {
        return false;
    };
    CLASSES.of(next).is_settled() && (!sigma || (ends_search(last) && ends_search(next)))
}

/// Whether a character is no sigma, and lower-casing one does not look beyond this character. What is case-ignorable is
/// asked of the standard library in the only way there is, so that it is the library's own answer; cuts are rare.
fn ends_search(c: char) -> bool {
    if c.is_ascii_alphanumeric() || c.is_ascii_whitespace() {
        return true;
    }
    let is_final = |text: String| text.to_lowercase().contains('ς');
    let skipped = is_final(format!("AΣ{c}")) && !is_final(format!("AΣ{c}A"));
    c != 'Σ' && !skipped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn characters() -> impl Iterator<Item = char> {
        ('\0'..='\u{33fff}').chain('\u{e0000}'..='\u{e0fff}')
    }

    fn lower(text: &str) -> String {
        text.to_lowercase()
    }

    #[test]
    fn where_a_search_ends_sigmas_do_not_see_beyond() {
        let mut ends = 0;
        for c in characters().filter(|c| ends_search(*c)) {
            ends += 1;
            let after = format!("AΣ{c}");
            assert_eq!(lower(&format!("{after}A")), lower(&after) + "a", "{c:?}");
            let before = format!("{c}Σ");
            assert_eq!(
                lower(&format!("A{before}")),
                format!("a{}", lower(&before)),
                "{c:?}"
            );
        }
        assert!(ends > 100_000, "{ends}");
        for c in "'.:·\u{301}ʰ^Σ\u{ad}".chars() {
            assert!(!ends_search(c), "{c:?}");
        }
        for c in " \n\u{3000}aZé7,-中あ😀".chars() {
            assert!(ends_search(c), "{c:?}");
        }
    }

    fn segments(pieces: &[&str], target: usize) -> Vec<String> {
        let mut all = Vec::new();
        each(pieces.iter().copied(), target, |s| all.push(s.to_owned()));
        all
    }

    #[test]
    fn segments_are_as_long_as_they_may_and_can() {
        assert_eq!(segments(&["abcdefg"], 3), ["abc", "def", "g"]);
        assert_eq!(segments(&["a", "bcd", "", "efg"], 3), ["abc", "def", "g"]);
        assert_eq!(segments(&["", ""], 3), Vec::<String>::new());
        // Marks stay with their base, however many there are.
        assert_eq!(
            segments(&["abe\u{301}\u{301}\u{301}cd"], 3),
            ["ab", "e\u{301}\u{301}\u{301}", "cd"]
        );
        // Without a sigma dots are cut, with one they are not.
        assert_eq!(segments(&["a......b"], 3), ["a..", "...", ".b"]);
        assert_eq!(segments(&["Σ......bc d"], 3), ["Σ......b", "c d"]);
        assert_eq!(segments(&["中文日本"], 4), ["中", "文", "日", "本"]);
    }
}
