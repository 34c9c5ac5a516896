//! Signatures: vectors, properties, the estimator against theory.

mod estimator;
mod incremental;
mod vectors;

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::mix::{mix, splitmix64};

const SCHEMES: [Scheme; 2] = [Scheme::Fss, Scheme::Universal];

fn signature(scheme: Scheme, k: u32, seed: u64, shingles: &[u64]) -> Vec<u32> {
    let mut out = vec![0; k as usize];
    let mut sketcher = Sketcher::new(scheme, k, seed).unwrap();
    sketcher.sketch(shingles, &mut out).unwrap();
    out
}

/// The i-th of a stream of shingle hashes that has nothing to do with the keys of the schemes.
fn random(i: u64) -> u64 {
    mix(i.wrapping_mul(0xd134_2543_de82_ef95))
}

/// `fss` as its definition reads: each bin holds the least (round, hash) of all shingles that meet it in any round.
fn naive_fss(k: u32, seed: u64, shingles: &[u64]) -> Vec<u32> {
    let hash = |round: u64, x: u64| mix(x ^ splitmix64(seed.wrapping_add(round)));
    let k = u64::from(k);
    let slot = |bin: u64| {
        let in_rounds = (0..k).flat_map(|round| {
            shingles
                .iter()
                .map(move |x| (round, hash(round, *x)))
                .filter(|(_, h)| ((h >> 32) * k) >> 32 == bin)
        });
        let own = shingles.iter().map(|x| (k + bin, hash(k + bin, *x)));
        in_rounds.chain(own).min().map(|(_, h)| h as u32).unwrap()
    };
    (0..k).map(slot).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn fss_is_its_definition(
        shingles in proptest::collection::vec(prop_oneof![any::<u64>(), 0..4_u64], 1..60),
        k in 1..24_u32,
        seed in any::<u64>(),
    ) {
        prop_assert_eq!(signature(Scheme::Fss, k, seed, &shingles), naive_fss(k, seed, &shingles));
    }

    #[test]
    fn order_and_repeats_do_not_matter(
        set in proptest::collection::btree_set(any::<u64>(), 1..300),
        repeats in 1..20_usize,
        k in prop_oneof![1..300_u32, Just(128)],
    ) {
        let plain: Vec<u64> = set.iter().copied().collect();
        let mut shuffled = plain.repeat(repeats);
        shuffled.sort_by_key(|x| mix(*x));
        for scheme in SCHEMES {
            prop_assert_eq!(signature(scheme, k, 42, &shuffled), signature(scheme, k, 42, &plain));
        }
    }

    #[test]
    fn a_sketcher_remembers_nothing(
        first in proptest::collection::vec(any::<u64>(), 1..400),
        second in proptest::collection::vec(0..5_u64, 1..400),
    ) {
        for scheme in SCHEMES {
            let mut sketcher = Sketcher::new(scheme, 32, 1).unwrap();
            let mut out = [0; 32];
            for shingles in [&first, &second, &first] {
                sketcher.sketch(shingles, &mut out).unwrap();
                prop_assert_eq!(out.as_slice(), signature(scheme, 32, 1, shingles));
            }
        }
    }

    #[test]
    fn matches_counts_equal_slots(pairs in proptest::collection::vec((0..3_u32, 0..3_u32), 0..300)) {
        let (a, b): (Vec<u32>, Vec<u32>) = pairs.iter().copied().unzip();
        let expected = pairs.iter().filter(|(a, b)| a == b).count();
        prop_assert_eq!(matches(&a, &b) as usize, expected);
    }
}

#[test]
fn repeats_cost_no_more_rounds_and_change_nothing() {
    // Few shingles, very often: bins stay empty for many rounds, which is where the copy without repeats comes in.
    for distinct in 1..6_u64 {
        let once: Vec<u64> = (0..distinct).map(random).collect();
        let mut often = once.repeat(20_000);
        often.reverse();
        let expected = naive_fss(64, 42, &once);
        assert_eq!(
            signature(Scheme::Fss, 64, 42, &often),
            expected,
            "{distinct}"
        );
    }
}

#[test]
fn slots_are_uniform_however_many_shingles() {
    for scheme in SCHEMES {
        for count in [1_u64, 20, 3000] {
            let mut sketcher = Sketcher::new(scheme, 64, 9).unwrap();
            let mut out = [0; 64];
            let mut ones = [0_u32; 32];
            let documents = 60;
            for document in 0..documents {
                let shingles: Vec<u64> = (0..count)
                    .map(|i| random(document * 1_000_000 + i))
                    .collect();
                sketcher.sketch(&shingles, &mut out).unwrap();
                for slot in out {
                    for (bit, ones) in ones.iter_mut().enumerate() {
                        *ones += slot >> bit & 1;
                    }
                }
            }
            let slots = 64.0 * documents as f64;
            let allowed = 5.0 * (slots / 4.0).sqrt();
            for (bit, ones) in ones.iter().enumerate() {
                let excess = f64::from(*ones) - slots / 2.0;
                assert!(
                    excess.abs() < allowed,
                    "{scheme:?} {count} bit {bit}: {excess}"
                );
            }
        }
    }
}

#[test]
fn sets_without_a_common_shingle_share_no_slot() {
    for scheme in SCHEMES {
        let all: BTreeSet<u32> = (0..100)
            .flat_map(|i| signature(scheme, 128, 42, &[random(i)]))
            .collect();
        // Of 12,800 slots 0.02 pairs are equal by chance; with the first stream tried it was one.
        assert!(all.len() >= 12_798, "{scheme:?}: {}", all.len());
    }
}

#[test]
fn least_matches_of_decimal_thresholds_are_exact() {
    for k in 1..=600_u32 {
        for percent in 0..=100_u32 {
            let expected = (k * percent).div_ceil(100).max(1);
            assert_eq!(
                min_matches(k, f64::from(percent) / 100.0),
                expected,
                "{k} {percent}"
            );
        }
    }
    assert_eq!(min_matches(130, 0.8), 104);
    assert_eq!(min_matches(128, 0.8), 103);
    assert_eq!(min_matches(128, 1.0), 128);
}

#[test]
fn thresholds_out_of_range_pass_all_or_none() {
    assert_eq!(min_matches(128, 0.0), 1);
    assert_eq!(min_matches(128, -1.0), 1);
    assert_eq!(min_matches(128, f64::MIN_POSITIVE), 1);
    assert_eq!(min_matches(128, 1.01), 129);
    assert_eq!(min_matches(128, f64::NAN), 129);
    assert_eq!(min_matches(128, f64::INFINITY), 129);
}

#[test]
fn errors_say_what_to_do() {
    let error = |k| Sketcher::new(Scheme::Fss, k, 42).unwrap_err().to_string();
    assert_eq!(
        error(0),
        "the number of slots k must be from 1 to 65536, but is 0; set k within it (128 is usual)"
    );
    assert_eq!(
        error(65_537),
        "the number of slots k must be from 1 to 65536, but is 65537; set k within it (128 is usual)"
    );
    for scheme in SCHEMES {
        let mut sketcher = Sketcher::new(scheme, 4, 42).unwrap();
        let mut out = [7; 4];
        assert_eq!(
            sketcher.sketch(&[], &mut out).unwrap_err().to_string(),
            "a document without shingles has no signature; leave it out before it is sketched"
        );
        assert_eq!(
            sketcher
                .sketch(&[1], &mut out[..3])
                .unwrap_err()
                .to_string(),
            "the signature must have room for k = 4 slots, but has 3; pass a slice of 4"
        );
        assert_eq!(out, [7; 4], "{scheme:?}");
        assert_eq!((sketcher.scheme(), sketcher.k()), (scheme, 4));
    }
}
