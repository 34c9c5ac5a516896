//! The random numbers of a corpus: SplitMix64, written out here so that no upgrade of a dependency can ever
//! change a corpus.
//!
//! Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014; the constants are
//! those of Vigna's public-domain `splitmix64.c`.

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// What a stream of random numbers decides; streams of one document never overlap in use, so that a later change
/// of how one column is made leaves the others as they are.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    Vocabulary = 1,
    Role = 2,
    Language = 3,
    Text = 4,
    Copy = 5,
    Columns = 6,
}

/// The finaliser of SplitMix64: a bijection of `u64` in which every input bit moves about half of the output bits.
pub(crate) fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// A SplitMix64 generator.
#[derive(Clone)]
pub(crate) struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    pub(crate) fn new(state: u64) -> Self {
        Self { state }
    }

    /// The generator of one purpose of document (or vocabulary) `number` in the corpus of `seed`: a pure function
    /// of the three, so that any document can be made again at any time.
    pub(crate) fn stream(seed: u64, purpose: Purpose, number: u64) -> Self {
        let seed = mix(seed.wrapping_add(GOLDEN));
        let seed = mix(seed.wrapping_add((purpose as u64).wrapping_mul(GOLDEN)));
        Self::new(mix(seed.wrapping_add(number.wrapping_mul(GOLDEN))))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// A number in `0..n` by multiply and shift (0 for `n` = 0); its bias of at most n / 2^64 does not matter here.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// True once in `n` draws on average.
    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of `items`, each as likely as the next; the default when there are none.
    pub(crate) fn pick<T: Copy + Default>(&mut self, items: &[T]) -> T {
        let index = self.below(items.len() as u64) as usize;
        items.get(index).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_sequence_comes_out() {
        let mut random = SplitMix64::new(1_234_567);
        let drawn: Vec<u64> = (0..5).map(|_| random.next()).collect();
        let published = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(drawn, published);
    }

    #[test]
    fn draws_stay_below_and_reach_every_value() {
        let mut random = SplitMix64::new(1);
        let mut seen = [0u32; 7];
        for _ in 0..7_000 {
            seen[random.below(7) as usize] += 1;
        }
        assert!(seen.iter().all(|n| (850..1150).contains(n)), "{seen:?}");
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn streams_differ_by_seed_purpose_and_number() {
        let first = |seed, purpose, number| SplitMix64::stream(seed, purpose, number).next();
        let base = first(1, Purpose::Text, 1);
        assert_eq!(base, first(1, Purpose::Text, 1));
        assert_ne!(base, first(2, Purpose::Text, 1));
        assert_ne!(base, first(1, Purpose::Copy, 1));
        assert_ne!(base, first(1, Purpose::Text, 2));
    }
}
