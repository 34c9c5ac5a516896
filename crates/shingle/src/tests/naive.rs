//! The rules written down plainly: a string a step, a vector of tokens, each window hashed by itself.

use unicode_general_category::get_general_category;
use unicode_normalization::UnicodeNormalization;
use unicode_script::{Script, UnicodeScript};
use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128};

use super::Owned;
use crate::{Config, Unit};

const SEED: u64 = 0x6e65_6172_6475_7001;
const SPACELESS: [Script; 8] = [
    Script::Han,
    Script::Hiragana,
    Script::Katakana,
    Script::Thai,
    Script::Lao,
    Script::Khmer,
    Script::Myanmar,
    Script::Tibetan,
];

pub(super) fn document(text: &str, config: Config) -> Owned {
    let text = normalise(text, config.strip_punctuation);
    if text.is_empty() {
        return None;
    }
    let words = words(&text);
    let characters: Vec<String> = text.chars().map(String::from).collect();
    let n = config.n as usize;
    let hashes = match config.unit {
        Unit::Char => shingles(&characters, 2, n),
        Unit::Auto if words.len() < n => shingles(&characters, 2, config.char_n as usize),
        Unit::Word | Unit::Auto => shingles(&words, 1, n),
    };
    Some((hashes, xxh3_128(text.as_bytes()), text.len() as u64))
}

fn normalise(text: &str, strip_punctuation: bool) -> String {
    let text = text.nfc().collect::<String>().to_lowercase();
    let is_punctuation = |c| get_general_category(c).abbreviation().starts_with('P');
    let text = text.replace(|c| strip_punctuation && is_punctuation(c), "");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn words(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    for run in text.split(' ') {
        let mut token = String::new();
        for c in run.chars() {
            if SPACELESS.contains(&c.script()) {
                tokens.push(std::mem::take(&mut token));
                tokens.push(c.to_string());
            } else {
                token.push(c);
            }
        }
        tokens.push(token);
    }
    tokens.retain(|token| !token.is_empty());
    tokens
}

fn shingles(tokens: &[String], unit: u64, n: usize) -> Vec<u64> {
    let count = n.min(tokens.len());
    let fields = [unit, n as u64, count as u64];
    let salt = xxh3_64_with_seed(&fields.map(u64::to_le_bytes).concat(), SEED);
    let shingle = |window: &[String]| {
        let mut sum = 0_u64;
        for (place, token) in (0..).zip(window.iter().rev()) {
            let weight = 0xd6e8_feb8_6659_fd93_u64.wrapping_pow(place);
            let token = xxh3_64_with_seed(token.as_bytes(), SEED);
            sum = sum.wrapping_add(token.wrapping_mul(weight));
        }
        crate::hash::mix(sum ^ salt)
    };
    tokens.windows(count).map(shingle).collect()
}
