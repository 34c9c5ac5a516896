//! Very many very short documents.

use std::fmt::{self, Write as _};

use anyhow::{Result, ensure};

use super::{SHINGLE, Words, likeness, push};
use crate::random::Purpose;

/// Words of a row: least and most.
const WORDS: (u64, u64) = (8, 20);
/// The line that many rows are, and the two templates.
const LINE: usize = 14;
const TEMPLATE: usize = 20;
pub(super) const FIXED_WORDS: u32 = (LINE + 2 * TEMPLATE) as u32;
/// The place in the middle of a template whose word changes.
const MIDDLE: usize = 10;
/// Shares are compared as integers of this unit.
const WHOLE: f64 = (1u64 << 32) as f64;

/// Rows of 8 to 20 words: a share is one and the same line, a share comes from a template of 20 words of which one
/// changes (in half of them the last, in half the one in the middle; two templates), the rest is unlike.
#[derive(Clone, Debug, PartialEq)]
pub struct Lines {
    /// Documents.
    pub rows: u64,
    /// Share of rows that are one line.
    pub same_rate: f64,
    /// Share of rows from the templates.
    pub template_rate: f64,
}

impl Lines {
    pub(super) fn check(&self) -> Result<()> {
        for (name, rate) in [("same", self.same_rate), ("template", self.template_rate)] {
            ensure!(
                (0.0..=1.0).contains(&rate),
                "the {name} rate {rate} is not a share between 0 and 1"
            );
        }
        let sum = self.same_rate + self.template_rate;
        ensure!(
            sum <= 1.0,
            "the rates of same and template rows add up to {sum}, over 1"
        );
        Ok(())
    }

    pub(super) fn make(&self, words: &Words, fixed: &[u16], row: u64, out: &mut String) {
        let drawn = (words.random(row, Purpose::Role).next() >> 32) as f64;
        let same = self.same_rate * WHOLE;
        let template = self.template_rate * WHOLE;
        let (line, templates) = fixed.split_at(LINE);
        let (at_end, in_middle) = templates.split_at(TEMPLATE);
        if drawn < same {
            line.iter().for_each(|&word| words.push(word, out));
        } else if drawn < same + template / 2.0 {
            changed(words, at_end, TEMPLATE - 1, row, out);
        } else if drawn < same + template {
            changed(words, in_middle, MIDDLE, row, out);
        } else {
            let mut random = words.random(row, Purpose::Text);
            let count = WORDS.0 + random.below(WORDS.1 - WORDS.0 + 1);
            (0..count).for_each(|_| words.push(Words::draw(&mut random), out));
        }
    }
}

/// A template with the word at `place` changed to one that no other row has.
fn changed(words: &Words, template: &[u16], place: usize, row: u64, out: &mut String) {
    for (i, &word) in template.iter().enumerate() {
        if i == place {
            push("no", out);
            // Writing to a string cannot fail.
            let _ = write!(out, "{row}");
        } else {
            words.push(word, out);
        }
    }
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shingles = TEMPLATE as u64 - SHINGLE + 1;
        write!(
            f,
            "{:.1} % one line, {:.1} % a template that changes at its end (J {:.3} among them), {:.1} % one that \
             changes in its middle (J {:.3})",
            100.0 * self.same_rate,
            50.0 * self.template_rate,
            likeness(shingles - 1, 1),
            50.0 * self.template_rate,
            likeness(shingles - SHINGLE, SHINGLE),
        )
    }
}
