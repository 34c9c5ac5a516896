//! Keys: vectors, the cut into bands, and the measured S-curve.

use proptest::prelude::*;

use super::*;
use crate::candidate_probability;

#[test]
fn shared_vectors_are_exact() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/vectors/band_keys.json"
    );
    let Ok(text) = std::fs::read_to_string(path) else {
        eprintln!("skipped: {path} is not there");
        return;
    };
    let file: serde_json::Value = serde_json::from_str(&text).unwrap();
    let cases = file["cases"].as_array().unwrap();
    assert!(!cases.is_empty());
    let narrow = |v: &serde_json::Value| u32::try_from(v.as_u64().unwrap()).unwrap();
    for case in cases {
        let slots: Vec<u32> = case["slots"]
            .as_array()
            .unwrap()
            .iter()
            .map(narrow)
            .collect();
        let key: u64 = case["key"].as_str().unwrap().parse().unwrap();
        assert_eq!(band_key(narrow(&case["band"]), &slots), key, "{case}");
    }
}

#[test]
fn own_vectors_are_exact() {
    // From the reference implementation of XXH64.
    assert_eq!(band_key(0, &[]), 0xb71b_47eb_da15_746c);
    assert_eq!(band_key(0, &[0]), 0x8053_4700_ba5d_177e);
    assert_eq!(band_key(1, &[0]), 0xe12e_325b_8603_2959);
    assert_eq!(band_key(19, &[1, 2, 3, 4, 5, 6]), 0xdb94_b56b_12bf_1e46);
    assert_eq!(band_key(u32::MAX, &[u32::MAX; 3]), 0x1994_a140_02fa_5fac);
}

proptest! {
    #[test]
    fn a_fold_is_xxh64_of_eight_bytes(seed: u64, value: u32) {
        let bytes = u64::from(value).to_le_bytes();
        prop_assert_eq!(fold(seed, value), xxhash_rust::xxh64::xxh64(&bytes, seed));
    }
}

#[test]
fn keys_are_those_of_consecutive_slots() {
    let signature: Vec<u32> = (0..128).collect();
    let keys: Vec<u64> = band_keys(&signature, 20, 6).collect();
    assert_eq!(keys.len(), 20);
    for (band, key) in (0..).zip(&keys) {
        let start = band as usize * 6;
        assert_eq!(*key, band_key(band, &signature[start..start + 6]));
    }
}

#[test]
fn bands_without_their_slots_have_no_key() {
    assert_eq!(band_keys(&[], 20, 6).count(), 0);
    assert_eq!(band_keys(&[1, 2, 3, 4, 5], 3, 2).count(), 2);
    assert_eq!(band_keys(&[1, 2, 3], 0, 1).count(), 0);
    assert_eq!(band_keys(&[1, 2, 3], 3, 0).count(), 0);
    assert_eq!(band_keys(&[1, 2, 3], u32::MAX, u32::MAX).count(), 0);
}

proptest! {
    #[test]
    fn equal_bands_and_only_they_have_equal_keys(
        a in (0..4_u32, proptest::collection::vec(0..3_u32, 0..5)),
        b in (0..4_u32, proptest::collection::vec(0..3_u32, 0..5)),
    ) {
        prop_assert_eq!(band_key(a.0, &a.1) == band_key(b.0, &b.1), a == b);
    }
}

/// Pairs of signatures whose slots agree independently with probability s: the share that has a band in common is
/// within 4 standard errors of the curve, for every s from 0.1 to 0.95.
fn measure_curve(bands: u32, rows: u32) {
    let pairs = 5000;
    let slots = (bands * rows) as usize;
    let mut state = u64::from(bands);
    let mut random = || {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    };
    for step in 2..20 {
        let s = f64::from(step) * 0.05;
        let mut candidates = 0;
        for _ in 0..pairs {
            let a: Vec<u32> = (0..slots).map(|_| random() as u32).collect();
            let b: Vec<u32> = a
                .iter()
                .map(|slot| {
                    let draw = random();
                    let agree = ((draw >> 32) as f64) < s * 2.0_f64.powi(32);
                    if agree { *slot } else { draw as u32 }
                })
                .collect();
            let mut keys = band_keys(&a, bands, rows).zip(band_keys(&b, bands, rows));
            candidates += u32::from(keys.any(|(a, b)| a == b));
        }
        let measured = f64::from(candidates) / f64::from(pairs);
        let expected = candidate_probability(s, bands, rows);
        let error = (expected * (1.0 - expected) / f64::from(pairs)).sqrt();
        println!(
            "{bands} x {rows}, s = {s:.2}: {measured:.4}, expected {expected:.4}, std. error {error:.4}"
        );
        assert!(
            (measured - expected).abs() <= 4.0 * error,
            "{bands} x {rows}, s = {s:.2}: {measured}, expected {expected} within 4 of {error}"
        );
    }
}

#[test]
fn measured_curve_of_20_bands_of_6_rows_is_the_expected() {
    measure_curve(20, 6);
}

#[test]
fn measured_curve_of_14_bands_of_8_rows_is_the_expected() {
    measure_curve(14, 8);
}
