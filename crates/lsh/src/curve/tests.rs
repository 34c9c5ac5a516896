//! The curve against tables, exact binomial tails and its own limits.

use proptest::prelude::*;

use super::*;

fn close(found: f64, expected: f64, relative: f64) -> bool {
    (found - expected).abs() <= relative * expected.abs()
}

#[test]
fn shared_table_agrees() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/vectors/s_curve.json"
    );
    let Ok(text) = std::fs::read_to_string(path) else {
        eprintln!("skipped: {path} is not there");
        return;
    };
    let file: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut compared = 0;
    for row in file["rows"].as_array().unwrap() {
        let narrow = |field: &str| u32::try_from(row[field].as_u64().unwrap()).unwrap();
        for (s, p) in row["p"].as_object().unwrap() {
            let found = candidate_probability(s.parse().unwrap(), narrow("bands"), narrow("rows"));
            assert!(
                (found - p.as_f64().unwrap()).abs() <= 1e-6,
                "{row}, s = {s}: {found}"
            );
            compared += 1;
        }
    }
    assert!(compared > 0);
}

#[test]
fn candidates_have_known_probabilities() {
    assert!(close(candidate_probability(0.5, 1, 1), 0.5, 1e-15));
    assert!(close(candidate_probability(0.5, 2, 1), 0.75, 1e-15));
    assert!(close(candidate_probability(0.5, 1, 3), 0.125, 1e-15));
    // Far below what 1 - (1 - s^r)^b could show: b s^r.
    assert!(close(candidate_probability(0.01, 10, 10), 1e-19, 1e-12));
    assert_eq!(candidate_probability(0.0, 20, 6), 0.0);
    assert_eq!(candidate_probability(1.0, 20, 6), 1.0);
    assert_eq!(candidate_probability(1.5, 20, 6), 1.0);
    assert_eq!(candidate_probability(-0.5, 20, 6), 0.0);
    assert_eq!(candidate_probability(0.9, 0, 6), 0.0);
    assert_eq!(candidate_probability(0.9, 20, 0), 0.0);
    assert!(candidate_probability(f64::NAN, 20, 6).is_nan());
}

/// (n, p, least, P(Binomial(n, p) >= least)), the last computed with exact fractions.
const TAILS: &[(u32, f64, u32, f64)] = &[
    (128, 0.8, 103, 0.500_055_006_672_532_6),
    (128, 0.9, 103, 0.999_638_717_149_162_2),
    (128, 0.5, 103, 9.666_701_992_393_99e-13),
    (128, 0.78, 103, 0.289_909_356_550_736_74),
    (10, 0.3, 1, 0.971_752_475_1),
    (1024, 0.8, 820, 0.493_768_583_349_198_1),
    (4096, 0.8, 3277, 0.506_233_111_561_737_2),
    (4096, 0.99, 100, 1.0),
    (4096, 0.1, 1000, 2.430_922_872_875_543_7e-155),
    (512, 0.95, 512, 3.930_844_897_840_412e-12),
];

#[test]
fn tails_are_exact() {
    for (n, p, least, expected) in TAILS {
        let found = at_least(*n, *p, *least);
        assert!(close(found, *expected, 1e-10), "{n} {p} {least}: {found}");
    }
}

#[test]
fn tails_end_where_they_should() {
    assert_eq!(at_least(128, 0.8, 0), 1.0);
    assert_eq!(at_least(128, 0.8, 129), 0.0);
    assert_eq!(at_least(128, 0.0, 1), 0.0);
    assert_eq!(at_least(128, 0.0, 0), 1.0);
    assert_eq!(at_least(128, 1.0, 128), 1.0);
    assert_eq!(at_least(0, 0.5, 0), 1.0);
    assert!(at_least(128, f64::NAN, 3).is_nan());
}

#[test]
fn found_is_candidate_times_verified() {
    let found = found_probability(0.8, 128, 20, 6, 103);
    let expected = candidate_probability(0.8, 20, 6) * 0.500_055_006_672_532_6;
    assert!(close(found, expected, 1e-10), "{found}");
    assert_eq!(found_probability(1.0, 128, 20, 6, 128), 1.0);
    assert_eq!(found_probability(0.0, 128, 20, 6, 1), 0.0);
    assert_eq!(found_probability(0.9, 128, 20, 6, 129), 0.0);
    let unverified = candidate_probability(0.7, 20, 6);
    assert_eq!(found_probability(0.7, 128, 20, 6, 0), unverified);
}

proptest! {
    #[test]
    fn a_tail_and_its_complement_make_one(n in 1..4096_u32, p in 0.001..0.999_f64, at in 0.0..1.0_f64) {
        let least = 1 + (at * f64::from(n - 1)) as u32;
        // P(X >= m) + P(n - X >= n - m + 1), the latter for the opposite coin.
        let sum = at_least(n, p, least) + at_least(n, 1.0 - p, n - least + 1);
        prop_assert!((sum - 1.0).abs() < 1e-9, "{}", sum);
    }

    #[test]
    fn probabilities_grow_with_similarity(
        s in 0.0..0.999_f64, k in 1..600_u32, bands in 1..60_u32, rows in 1..30_u32, at in 0.0..1.0_f64,
    ) {
        let least = (at * f64::from(k)) as u32;
        let low = found_probability(s, k, bands, rows, least);
        let high = found_probability(s + 0.001, k, bands, rows, least);
        prop_assert!((0.0..=1.0).contains(&low) && (0.0..=1.0).contains(&high));
        prop_assert!(high >= low * (1.0 - 1e-9), "{} {}", low, high);
    }
}
