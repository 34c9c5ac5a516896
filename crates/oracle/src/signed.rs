//! From texts to signatures and exact copies; the exact Jaccard similarity.

use std::collections::BTreeSet;

use records::settings;

use crate::Document;

/// What is compared of a document that has something to compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// Its k slots.
    pub signature: Vec<u32>,
    /// XXH3-128 of the normalised text.
    pub text_hash: u128,
    /// Bytes of the normalised text.
    pub normalised_bytes: u64,
}

impl Signed {
    /// Whether both have one normalised text.
    #[must_use]
    pub fn same_text(&self, other: &Self) -> bool {
        self.text_hash == other.text_hash && self.normalised_bytes == other.normalised_bytes
    }

    /// The number of slots whose low `bits` are equal.
    ///
    /// # Panics
    /// Where the two signatures are not of one length.
    #[must_use]
    pub fn low_matches(&self, other: &Self, bits: u32) -> u32 {
        assert_eq!(self.signature.len(), other.signature.len(), "one k for all");
        let low = |slot: u32| u64::from(slot) % (1 << bits);
        let pairs = self.signature.iter().zip(&other.signature);
        pairs
            .map(|(one, two)| u32::from(low(*one) == low(*two)))
            .sum()
    }

    /// The number of equal slots.
    ///
    /// # Panics
    /// Where the two signatures are not of one length.
    #[must_use]
    pub fn matches(&self, other: &Self) -> u32 {
        assert_eq!(self.signature.len(), other.signature.len(), "one k for all");
        let pairs = self.signature.iter().zip(&other.signature);
        pairs.map(|(one, two)| u32::from(one == two)).sum()
    }
}

/// The shingle settings of a manifest's `[sign]`.
#[must_use]
pub fn shingle_config(sign: &settings::Sign) -> shingle::Config {
    shingle::Config {
        unit: match sign.unit {
            settings::Unit::Word => shingle::Unit::Word,
            settings::Unit::Char => shingle::Unit::Char,
            settings::Unit::Auto => shingle::Unit::Auto,
        },
        n: sign.n,
        char_n: sign.char_n,
        strip_punctuation: sign.strip_punctuation,
    }
}

/// The signature of each document, by id; none where there is nothing to compare.
///
/// # Panics
/// Where a shingle length or k is such as `manifest` refuses.
#[must_use]
pub fn sign(documents: &[Document], sign: &settings::Sign) -> Vec<Option<Signed>> {
    let scheme = match sign.scheme {
        settings::Scheme::Fss => sketch::Scheme::Fss,
        settings::Scheme::Universal => sketch::Scheme::Universal,
    };
    let mut sketcher =
        sketch::Sketcher::new(scheme, sign.k, sign.seed).unwrap_or_else(|error| panic!("{error}"));
    let mut shingler = shingler(shingle_config(sign));
    let mut signed = |document: &Document| {
        let shingles = shingler.document(document.text.as_deref()?)?;
        let mut signature = vec![0; sign.k as usize];
        sketcher
            .sketch(shingles.hashes, &mut signature)
            .unwrap_or_else(|error| panic!("{error}"));
        Some(Signed {
            signature,
            text_hash: shingles.text_hash,
            normalised_bytes: shingles.normalised_bytes,
        })
    };
    documents.iter().map(&mut signed).collect()
}

/// For each document, the smallest id with the same normalised text, which may be its own; none
/// where there is nothing to compare. Cost: all pairs.
#[must_use]
pub fn representatives(signed: &[Option<Signed>]) -> Vec<Option<u64>> {
    let first_like = |one: &Signed| {
        let mut ids = (0..).zip(signed);
        ids.find_map(|(id, other)| one.same_text(other.as_ref()?).then_some(id))
    };
    let of = |one: &Option<Signed>| one.as_ref().and_then(first_like);
    signed.iter().map(of).collect()
}

/// The Jaccard similarity of the shingle sets of two texts: shared shingles by all shingles, from
/// 0 to 1. None where either text has nothing to compare, as an absent set is equal to none.
///
/// # Panics
/// Where a shingle length is such as `manifest` refuses.
#[must_use]
pub fn exact_jaccard(a: &str, b: &str, config: shingle::Config) -> Option<f64> {
    let mut shingler = shingler(config);
    let mut set = |text: &str| -> Option<BTreeSet<u64>> {
        Some(shingler.document(text)?.hashes.iter().copied().collect())
    };
    let (a, b) = (set(a)?, set(b)?);
    let shared = a.intersection(&b).count();
    Some(shared as f64 / a.union(&b).count() as f64)
}

fn shingler(config: shingle::Config) -> shingle::Shingler {
    shingle::Shingler::new(config).unwrap_or_else(|error| panic!("{error}"))
}
