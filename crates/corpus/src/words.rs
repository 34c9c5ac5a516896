//! Invented words: for each language a vocabulary of pseudo-words put together from syllables, drawn with
//! frequencies that fall like those of real words.

use std::collections::HashSet;
use std::ops::Range;
use std::str::FromStr;

use crate::random::{Purpose, SplitMix64};

/// Words in a vocabulary.
pub(crate) const VOCABULARY: usize = 8192;
/// Entries of the table that turns 16 random bits into a word.
const TABLE: usize = 1 << 16;

/// A kind of invented text, named for its script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// Lower- and upper-case ASCII letters, words apart by blanks.
    Latin,
    /// Latin letters of which many carry accents (precomposed, so NFC), words apart by blanks.
    Accented,
    /// Cyrillic letters, words apart by blanks.
    Cyrillic,
    /// Han characters without blanks, with a Latin word or a number now and then.
    Han,
    /// Thai characters, blanks between sentences only, with a Latin word or a number now and then.
    Thai,
}

impl Language {
    /// All languages, in the order of their numbers.
    pub const ALL: [Self; 5] = [
        Self::Latin,
        Self::Accented,
        Self::Cyrillic,
        Self::Han,
        Self::Thai,
    ];

    /// The name in the column `meta.lang` and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Latin => "latin",
            Self::Accented => "accented",
            Self::Cyrillic => "cyrillic",
            Self::Han => "han",
            Self::Thai => "thai",
        }
    }

    /// Whether blanks stand between words.
    pub(crate) fn is_spaced(self) -> bool {
        !matches!(self, Self::Han | Self::Thai)
    }
}

impl FromStr for Language {
    type Err = anyhow::Error;

    /// # Errors
    /// The name is none of [`Language::ALL`]'s.
    fn from_str(name: &str) -> anyhow::Result<Self> {
        let found = Self::ALL
            .into_iter()
            .find(|language| language.name() == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.into_iter().map(Self::name).collect();
            anyhow::anyhow!(
                "no language is named `{name}`; there are {}",
                names.join(", ")
            )
        })
    }
}

/// What the syllables of a language are made of. No letter changes its length or identity when it is upper-cased
/// and lower-cased again, and no syllable changes under NFC.
struct Syllables {
    onsets: &'static [&'static str],
    vowels: &'static [&'static str],
    codas: &'static [&'static str],
}

const LATIN: Syllables = Syllables {
    onsets: &[
        "b", "br", "c", "ch", "d", "dr", "f", "fl", "g", "gr", "h", "j", "k", "l", "m", "n", "p",
        "pl", "qu", "r", "s", "sh", "st", "t", "tr", "v", "w", "y", "z", "",
    ],
    vowels: &["a", "e", "i", "o", "u", "ai", "ea", "ou"],
    codas: &["", "", "", "l", "m", "n", "r", "s", "t", "nd", "x"],
};

const ACCENTED: Syllables = Syllables {
    onsets: &[
        "b", "c", "ç", "č", "d", "f", "g", "h", "j", "l", "ł", "m", "n", "ñ", "p", "r", "ř", "s",
        "š", "t", "v", "z", "ž", "",
    ],
    vowels: &[
        "a", "á", "à", "â", "ä", "å", "e", "é", "è", "ê", "i", "í", "o", "ó", "ö", "ø", "u", "ú",
        "ü", "ý",
    ],
    codas: &["", "", "", "l", "m", "n", "r", "s", "ś", "t"],
};

const CYRILLIC: Syllables = Syllables {
    onsets: &[
        "б", "в", "г", "д", "ж", "з", "к", "л", "м", "н", "п", "пр", "р", "с", "ст", "т", "ф", "х",
        "ц", "ч", "ш", "щ", "",
    ],
    vowels: &["а", "е", "и", "о", "у", "ы", "э", "ю", "я", "ё"],
    codas: &["", "", "", "й", "к", "л", "м", "н", "р", "т", "сть"],
};

const THAI: Syllables = Syllables {
    onsets: &[
        "ก", "ข", "ค", "ง", "จ", "ช", "ซ", "ญ", "ด", "ต", "ถ", "ท", "ธ", "น", "บ", "ป", "ผ", "พ",
        "ฟ", "ภ", "ม", "ย", "ร", "ล", "ว", "ศ", "ส", "ห", "อ", "ฮ",
    ],
    vowels: &["ะ", "า", "ิ", "ี", "ึ", "ื", "ุ", "ู"],
    codas: &["", "", "ก", "ง", "ด", "น", "บ", "ม"],
};

/// The vocabulary of one language: words by rank, the frequent first.
pub(crate) struct Lexicon {
    /// Every word, lower-case and then with a capital.
    arena: String,
    words: Vec<[Range<u32>; 2]>,
    /// Word numbers, each as often as its frequency asks.
    table: Vec<u16>,
}

impl Lexicon {
    /// The vocabulary of `language` in the corpus of `seed`. Costs some milliseconds and 0.5 MB.
    pub(crate) fn new(language: Language, seed: u64) -> Self {
        let mut random = SplitMix64::stream(seed, Purpose::Vocabulary, language as u64);
        let mut seen = HashSet::with_capacity(VOCABULARY);
        let mut lexicon = Self {
            arena: String::new(),
            words: Vec::with_capacity(VOCABULARY),
            table: frequencies(),
        };
        for rank in 0..VOCABULARY {
            let mut parts = shortest(rank);
            let mut tries = 0;
            // A taken word is drawn again and, when a length is nearly used up, made longer.
            let word = loop {
                let word = invent(language, parts, &mut random);
                if seen.insert(word.clone()) {
                    break word;
                }
                tries += 1;
                parts += usize::from(tries % 8 == 0);
            };
            let capital = capitalised(&word);
            let words = [lexicon.push(&word), lexicon.push(&capital)];
            lexicon.words.push(words);
        }
        lexicon
    }

    fn push(&mut self, word: &str) -> Range<u32> {
        let start = self.arena.len() as u32;
        self.arena.push_str(word);
        start..self.arena.len() as u32
    }

    /// The number of the word that 16 random bits choose.
    pub(crate) fn choose(&self, bits: u16) -> u16 {
        self.table[usize::from(bits)]
    }

    /// Word `number`, lower-case or with its first letter upper-case (the same where a script has no case).
    pub(crate) fn word(&self, number: u16, capital: bool) -> &str {
        let range = &self.words[usize::from(number) % VOCABULARY][usize::from(capital)];
        &self.arena[range.start as usize..range.end as usize]
    }
}

/// How many syllables (or Han characters) a word of this rank begins with: frequent words are short.
fn shortest(rank: usize) -> usize {
    match rank {
        0..256 => 1,
        256..4096 => 2,
        _ => 3,
    }
}

fn invent(language: Language, parts: usize, random: &mut SplitMix64) -> String {
    let syllables = match language {
        Language::Latin => &LATIN,
        Language::Accented => &ACCENTED,
        Language::Cyrillic => &CYRILLIC,
        Language::Thai => &THAI,
        Language::Han => {
            // U+4E00..=U+9FA5: the unified ideographs of Unicode 1.1, in which every code point is assigned.
            let character = |_| char::from_u32(0x4E00 + random.below(20_902) as u32);
            return (0..parts.min(2)).filter_map(character).collect();
        }
    };
    let mut word = String::new();
    for part in 1..=parts {
        word.push_str(random.pick(syllables.onsets));
        word.push_str(random.pick(syllables.vowels));
        // Inside a word open syllables read better; the last may close.
        if part == parts {
            word.push_str(random.pick(syllables.codas));
        }
    }
    word
}

fn capitalised(word: &str) -> String {
    let mut rest = word.chars();
    let first = rest.next().into_iter().flat_map(char::to_uppercase);
    first.chain(rest.as_str().chars()).collect()
}

/// The table of word numbers: rank r has a share in proportion to 1 / (r + 2.7), the law of Zipf as Mandelbrot
/// bent it, in integers, so that no platform's floating point can move a boundary.
fn frequencies() -> Vec<u16> {
    let weight = |rank: usize| (1u64 << 40) / (10 * rank as u64 + 27);
    let total: u64 = (0..VOCABULARY).map(weight).sum();
    let mut table = Vec::with_capacity(TABLE);
    let mut sum = 0u64;
    for rank in 0..VOCABULARY {
        sum += weight(rank);
        let end = (u128::from(sum) * TABLE as u128 / u128::from(total)) as usize;
        table.resize(end, rank as u16);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_differ_and_survive_a_change_of_case() {
        for language in Language::ALL {
            let lexicon = Lexicon::new(language, 7);
            let mut seen = HashSet::new();
            for number in 0..VOCABULARY as u16 {
                let word = lexicon.word(number, false);
                assert!(
                    !word.is_empty() && !word.contains(char::is_whitespace),
                    "{language:?} {word:?}"
                );
                assert!(
                    seen.insert(word.to_owned()),
                    "{language:?} has {word:?} twice"
                );
                assert_eq!(word.to_lowercase(), word);
                assert_eq!(word.to_uppercase().to_lowercase(), word);
                assert_eq!(lexicon.word(number, true).to_lowercase(), word);
            }
        }
    }

    #[test]
    fn the_latin_vocabulary_is_ascii_and_changes_with_the_seed() {
        let (one, two) = (
            Lexicon::new(Language::Latin, 1),
            Lexicon::new(Language::Latin, 2),
        );
        assert!(one.arena.is_ascii());
        assert_ne!(one.arena, two.arena);
        assert_eq!(one.arena, Lexicon::new(Language::Latin, 1).arena);
    }

    #[test]
    fn frequencies_fall_with_the_rank_and_fill_the_table() {
        let table = frequencies();
        assert_eq!(table.len(), TABLE);
        let mut counts = vec![0u32; VOCABULARY];
        for number in table {
            counts[usize::from(number)] += 1;
        }
        // 1 / 2.7 over the sum of 1 / (r + 2.7), which is about ln(8192 / 2.2).
        let share = f64::from(counts[0]) / TABLE as f64;
        assert!((0.043..0.048).contains(&share), "{share}");
        let ratio = f64::from(counts[10]) / f64::from(counts[100]);
        assert!(
            (7.5..8.7).contains(&ratio),
            "102.7 / 12.7 = 8.09, found {ratio}"
        );
    }

    #[test]
    fn a_language_is_found_by_name_only() {
        for language in Language::ALL {
            assert_eq!(language.name().parse::<Language>().unwrap(), language);
        }
        let error = "klingon".parse::<Language>().unwrap_err().to_string();
        assert_eq!(
            error,
            "no language is named `klingon`; there are latin, accented, cyrillic, han, thai"
        );
    }
}
