//! Document `i` of a corpus as a pure function of (plan, i): its role, and its text. Nothing is remembered between
//! documents; the original of a copy is simply made again.

use std::fmt::Write as _;

use crate::edit;
use crate::plan::Plan;
use crate::random::{Purpose, SplitMix64};
use crate::words::{Language, Lexicon};

/// Attempts at finding an original by chance before a copy falls back to document 0, which always is one. With one
/// original in a hundred documents (a corpus of 99 % duplicates), 1 copy in 30,000 falls back.
const ATTEMPTS: u32 = 1024;

/// What a document is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Role {
    Original,
    Copy { kind: Kind, original: u64 },
    Null,
    Empty,
    Blank,
}

/// How a planted copy differs from its original.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Exact,
    Normalised,
    Near { rate: f64 },
}

impl Kind {
    /// The value of the column `kind` in the table of planted copies.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Normalised => "normalised",
            Self::Near { .. } => "near",
        }
    }

    pub(crate) fn edit_rate(self) -> f64 {
        match self {
            Self::Near { rate } => rate,
            Self::Exact | Self::Normalised => 0.0,
        }
    }
}

/// A document as it was made; the buffers are used again for the next.
#[derive(Default)]
pub(crate) struct Document {
    pub(crate) text: String,
    /// The text of the original, for copies.
    pub(crate) original: String,
}

/// Makes the documents of one plan. Holds the vocabularies, about 2.5 MB.
pub(crate) struct Maker {
    seed: u64,
    words: (u32, u32),
    edit_rates: Vec<f64>,
    /// Where the roles end in 2^32, in the order of `Plan::parts`.
    role_ends: [u64; 6],
    mix_ends: Vec<(Language, u64)>,
    lexicons: [Lexicon; 5],
}

impl Maker {
    /// Expects a plan that passed its check.
    pub(crate) fn new(plan: &Plan) -> Self {
        let mut sum = 0;
        let role_ends = plan.parts().map(|part| {
            sum += part;
            sum
        });
        Self {
            seed: plan.seed,
            words: (plan.words_min, plan.words_max),
            edit_rates: plan.edit_rates.clone(),
            role_ends,
            mix_ends: plan.mix_ends(),
            lexicons: Language::ALL.map(|language| Lexicon::new(language, plan.seed)),
        }
    }

    pub(crate) fn lexicon(&self, language: Language) -> &Lexicon {
        &self.lexicons[language as usize]
    }

    pub(crate) fn columns(&self, number: u64) -> SplitMix64 {
        SplitMix64::stream(self.seed, Purpose::Columns, number)
    }

    /// The place of a document's role among the ends; none for an original.
    fn draw(&self, number: u64, random: &mut SplitMix64) -> Option<usize> {
        let drawn = random.next() >> 32;
        if number == 0 {
            return None;
        }
        self.role_ends.iter().position(|&end| drawn < end)
    }

    fn is_original(&self, number: u64) -> bool {
        self.draw(
            number,
            &mut SplitMix64::stream(self.seed, Purpose::Role, number),
        )
        .is_none()
    }

    /// An original before document `number`, each as likely as the next.
    fn earlier(&self, number: u64, random: &mut SplitMix64) -> u64 {
        let mut tries = (0..ATTEMPTS).map(|_| random.below(number));
        tries
            .find(|&earlier| self.is_original(earlier))
            .unwrap_or(0)
    }

    pub(crate) fn role(&self, number: u64) -> Role {
        let random = &mut SplitMix64::stream(self.seed, Purpose::Role, number);
        let copy = |kind, random: &mut SplitMix64| Role::Copy {
            kind,
            original: self.earlier(number, random),
        };
        match self.draw(number, random) {
            None => Role::Original,
            Some(0) => copy(Kind::Exact, random),
            Some(1) => copy(Kind::Normalised, random),
            Some(2) => {
                let rate = random.pick(&self.edit_rates);
                copy(Kind::Near { rate }, random)
            }
            Some(3) => Role::Null,
            Some(4) => Role::Empty,
            Some(_) => Role::Blank,
        }
    }

    /// The language that document `number` has unless it is a copy.
    pub(crate) fn language(&self, number: u64) -> Language {
        let drawn = SplitMix64::stream(self.seed, Purpose::Language, number).next() >> 32;
        let found = self.mix_ends.iter().find(|&&(_, end)| drawn < end);
        found.map_or(Language::Latin, |&(language, _)| language)
    }

    /// Makes document `number` and says what it is and in which language.
    pub(crate) fn make(&self, number: u64, document: &mut Document) -> (Role, Language) {
        let Document {
            text,
            original: source,
        } = document;
        text.clear();
        source.clear();
        let role = self.role(number);
        let random = &mut SplitMix64::stream(self.seed, Purpose::Copy, number);
        let Role::Copy { kind, original } = role else {
            match role {
                Role::Original => self.original(number, text),
                Role::Blank => text.push_str(random.pick(&[
                    " ",
                    "   ",
                    "\t\n",
                    "\r\n\r\n",
                    "\u{a0}",
                    "\u{3000} ",
                ])),
                _ => {}
            }
            return (role, self.language(number));
        };
        let language = self.language(original);
        self.original(original, source);
        match kind {
            Kind::Exact => text.push_str(source),
            Kind::Normalised => edit::normalised(source, random, text),
            Kind::Near { rate } => edit::near(
                source,
                rate,
                (language, self.lexicon(language)),
                random,
                text,
            ),
        }
        (role, language)
    }

    /// Writes the text of original `number`: sentences in paragraphs.
    fn original(&self, number: u64, out: &mut String) {
        let random = &mut SplitMix64::stream(self.seed, Purpose::Text, number);
        let language = self.language(number);
        let style = Style::of(language);
        let range = u64::from(self.words.1 - self.words.0) + 1;
        let mut left = u64::from(self.words.0) + random.below(range).min(random.below(range));
        let mut paragraph = 2 + random.below(6);
        loop {
            let words = (4 + random.below(16)).min(left);
            self.sentence(words, language, &style, random, out);
            left -= words;
            if left == 0 {
                return;
            }
            paragraph -= 1;
            if paragraph == 0 {
                paragraph = 2 + random.below(6);
                out.push_str(style.paragraph);
            } else {
                out.push_str(style.sentence);
            }
        }
    }

    fn sentence(
        &self,
        words: u64,
        language: Language,
        style: &Style,
        random: &mut SplitMix64,
        out: &mut String,
    ) {
        let (own, latin) = (self.lexicon(language), self.lexicon(Language::Latin));
        for word in 0..words {
            // One draw a word: 16 bits choose it, 6 make it a number or foreign, 4 set a comma behind it.
            let bits = random.next();
            let number = own.choose(bits as u16);
            match (bits >> 16) & 63 {
                0 => {
                    // Writing to a string cannot fail.
                    let _ = write!(out, "{}", (bits >> 32) % 10_000);
                }
                1 if !language.is_spaced() => out.push_str(latin.word(number, false)),
                _ => out.push_str(own.word(number, word == 0)),
            }
            if word + 1 < words {
                out.push_str(if (bits >> 24) & 15 == 0 {
                    style.comma
                } else {
                    style.word
                });
            }
        }
        out.push_str(random.pick(&style.stops));
    }
}

/// What stands between words, sentences and paragraphs.
struct Style {
    word: &'static str,
    comma: &'static str,
    stops: [&'static str; 8],
    sentence: &'static str,
    paragraph: &'static str,
}

impl Style {
    fn of(language: Language) -> Self {
        match language {
            Language::Latin | Language::Accented | Language::Cyrillic => Self {
                word: " ",
                comma: ", ",
                stops: [".", ".", ".", ".", ".", ".", "?", "!"],
                sentence: " ",
                paragraph: "\n\n",
            },
            Language::Han => Self {
                word: "",
                comma: "，",
                stops: ["。", "。", "。", "。", "。", "。", "？", "！"],
                sentence: "",
                paragraph: "\n",
            },
            Language::Thai => Self {
                word: "",
                comma: "",
                stops: [""; 8],
                sentence: " ",
                paragraph: "\n\n",
            },
        }
    }
}
