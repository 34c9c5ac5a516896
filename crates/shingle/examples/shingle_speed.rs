//! How fast texts become shingles: nanoseconds a byte and a document, by kind of text, setting and length.
//!
//! `cargo run --release -p shingle --example shingle_speed [FILE]`; FILE holds documents with a zero byte between them, and is
//! measured instead of made-up texts. Each figure is the median of some rounds, and the least in brackets: on a busy
//! machine that one says more.

use std::hint::black_box;
use std::time::Instant;

use shingle::{Config, Shingler, Unit};

const ROUNDS: usize = 15;
/// Bytes of made-up text a round.
const ROUND_BYTES: usize = 2 << 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "{:<18} {:<20} {:>9}  {:>14}  ns/document",
        "text", "setting", "bytes", "ns/byte"
    );
    if let Some(path) = std::env::args().nth(1) {
        let file = String::from_utf8(std::fs::read(path)?)?;
        let texts: Vec<&str> = file.split('\0').filter(|t| !t.is_empty()).collect();
        return measure("file", &texts);
    }
    for (kind, words) in kinds() {
        for bytes in [200, 2400, 8000, 100_000] {
            let mut random = Random(bytes as u64);
            let texts: Vec<String> = (0..ROUND_BYTES / bytes)
                .map(|_| text(&words, bytes, &mut random))
                .collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            measure(kind, &texts)?;
        }
    }
    Ok(())
}

fn measure(kind: &str, texts: &[&str]) -> Result<(), Box<dyn std::error::Error>> {
    let words = Config {
        unit: Unit::Word,
        n: 5,
        char_n: 5,
        strip_punctuation: false,
    };
    let settings = [
        ("tokens", Config { n: 1, ..words }),
        ("words", words),
        (
            "words, no P",
            Config {
                strip_punctuation: true,
                ..words
            },
        ),
        (
            "characters",
            Config {
                unit: Unit::Char,
                ..words
            },
        ),
    ];
    for (name, config) in settings {
        let mut shingler = Shingler::new(config)?;
        report(kind, name, texts, |text| {
            black_box(shingler.document(black_box(text)));
        });
    }
    let mut shingler = Shingler::new(words)?;
    report(kind, "words, stream", texts, |text| {
        black_box(shingler.stream([black_box(text)].into_iter(), |chunk| {
            black_box(chunk);
        }));
    });
    Ok(())
}

fn report(kind: &str, setting: &str, texts: &[&str], mut work: impl FnMut(&str)) {
    let bytes: usize = texts.iter().map(|text| text.len()).sum();
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            texts.iter().for_each(|text| work(text));
            start.elapsed().as_nanos() as f64
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    let (median, least) = (rounds[ROUNDS / 2], rounds[0]);
    println!(
        "{kind:<18} {setting:<20} {:>9}  {:>6.2} ({:>5.2})  {:>9.0} ({:>7.0})",
        bytes / texts.len(),
        median / bytes as f64,
        least / bytes as f64,
        median / texts.len() as f64,
        least / texts.len() as f64,
    );
}

/// Made-up words of some kinds of text, each with what stands between them.
fn kinds() -> Vec<(&'static str, Vec<String>)> {
    let mut random = Random(1);
    let mut words = |letters: &str, longest: usize, between: &[&str]| -> Vec<String> {
        let letters: Vec<char> = letters.chars().collect();
        (0..4000)
            .map(|_| {
                // Lengths as of English: half of the tokens have at most four letters, few have very many.
                let rest = (0..longest).take_while(|_| random.below(100) < 81).count();
                let word: String = (0..=rest)
                    .map(|_| letters[random.below(letters.len())])
                    .collect();
                word + between[random.below(between.len())]
            })
            .collect()
    };
    let latin = "eeeeeetttttaaaaoooinnsshhrrddlucmfwypvbgkET.,-_";
    let plain = &[" ", " ", " ", " ", " ", " ", ", ", "\n", ".\n\n", "\n    "];
    vec![
        ("ascii", words(latin, 40, plain)),
        (
            "ascii and quotes",
            words(&format!("{}’é", latin.repeat(4)), 40, plain),
        ),
        (
            "cyrillic",
            words("оооеееааиинттсрвлкмдпуяыьгзбчйхжшюцщэфъёОПВ", 30, plain),
        ),
        (
            "chinese",
            words(
                "的一是不了人我在有他这中大来上国个到说们为子和你地出道也时年，。",
                30,
                &[""],
            ),
        ),
        (
            "thai",
            words(
                "กขคงจชซญดตถทธนบปผพฟมยรลวศสหอ\u{e31}\u{e35}\u{e48}\u{e49}เแโ",
                40,
                &[" "],
            ),
        ),
    ]
}

fn text(words: &[String], bytes: usize, random: &mut Random) -> String {
    let mut text = String::new();
    while text.len() < bytes {
        // Few words make up most of a text.
        let at = random.below(words.len()).min(random.below(words.len()));
        text += &words[at];
    }
    text
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) % end as u64) as usize
    }
}
