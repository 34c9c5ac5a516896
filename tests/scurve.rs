//! The S-curve, measured: the share of pairs of random sets that meet in at least one band, beside
//! 1 - (1 - s^r)^b, for both schemes, in every bucket of J from 0.1 to 0.95 and for two settings.
//! `--nocapture` prints the tables.
//!
//! The curve takes the slots as independent draws. `universal` makes them so, and the measured rate
//! has to agree within statistical error. `fss` throws the shingles of a round into the bins without
//! replacement, so the number of slots in which two sets agree spreads less around k J than a binomial
//! does. Pairs that would meet by a lucky run of equal slots (low J) meet less often, and pairs that
//! would miss by an unlucky one (high J) miss less often: the same curve, a little steeper. Measured for
//! unions of 20 and of 200: up to 0.015 under the curve where that is below a half, up to 0.012 over it
//! where that is above 0.7. For unions of 2,000, many times k, each slot draws from shingles of its own and
//! nothing is left of it. A threshold is set where the curve is high, so `fss` finds what the curve
//! promises or more.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fmt::Write as _;

use lsh::{band_keys, candidate_probability};
use sketch::{Scheme, Sketcher};
use tests::Random;

const K: u32 = 128;
/// Bands and rows: the product's default, and a steeper one.
const SETTINGS: [(u32, u32); 2] = [(20, 6), (14, 8)];
/// Shingles in the union of a pair.
const UNIONS: [u64; 3] = [20, 200, 2000];
/// Lower ends of the buckets of J, in twentieths.
const BUCKETS: std::ops::Range<u64> = 2..19;

#[test]
fn universal_follows_the_curve_within_statistical_error() {
    // 128 multiplications a shingle: fewer pairs where there are many shingles.
    let pairs = [6_000, 6_000, 700];
    let points = measure(Scheme::Universal, pairs);
    none(
        &points,
        "is off by over 4 standard errors and a pair",
        |p| p.difference().abs() > p.chance(),
    );
}

#[test]
fn fss_follows_a_curve_that_is_a_little_steeper_for_few_shingles() {
    let points = measure(Scheme::Fss, [20_000, 20_000, 8_000]);
    none(&points, "is off by over 0.02", |p| {
        p.difference().abs() > 0.02
    });
    none(&points, "promises more than it finds", |p| {
        p.expected > 0.7 && p.difference() < -p.chance()
    });
    none(&points, "finds more than the curve where it is low", |p| {
        p.expected < 0.4 && p.difference() > p.chance()
    });
    // What makes the difference is real: without it the sums would be about 0.
    for union in [20, 200] {
        let sum = |low, high| -> f64 {
            let within = |p: &&Point| p.union == union && p.expected > low && p.expected < high;
            points.iter().filter(within).map(Point::difference).sum()
        };
        let (rising, high) = (sum(0.02, 0.4), sum(0.7, 0.999));
        println!(
            "Fss, unions of {union}: sum of differences {rising:+.3} below 0.4, {high:+.3} above 0.7"
        );
        assert!(rising < -0.02 && high > 0.02, "{union}: {rising} {high}");
    }
}

/// Asserts that no point is such.
fn none(points: &[Point], what: &str, such: impl Fn(&Point) -> bool) {
    let wrong: Vec<String> = points
        .iter()
        .filter(|p| such(p))
        .map(|p| {
            let (bands, rows) = p.setting;
            format!(
                "union {}, J from {:.2}, {bands} x {rows}: curve {:.4}, measured {:.4}, s.e. {:.4}",
                p.union,
                p.low,
                p.expected,
                p.measured,
                p.standard_error()
            )
        })
        .collect();
    assert!(wrong.is_empty(), "{what}: {wrong:#?}");
}

/// What was measured in one bucket of J.
struct Point {
    union: u64,
    low: f64,
    setting: (u32, u32),
    pairs: f64,
    measured: f64,
    expected: f64,
}

impl Point {
    fn difference(&self) -> f64 {
        self.measured - self.expected
    }

    fn standard_error(&self) -> f64 {
        (self.expected * (1.0 - self.expected) / self.pairs).sqrt()
    }

    /// What chance explains: 4 standard errors, and one pair where these are next to nothing.
    fn chance(&self) -> f64 {
        4.0 * self.standard_error() + 1.0 / self.pairs
    }
}

/// Every bucket, union and setting; prints a table.
fn measure(scheme: Scheme, pairs: [u64; 3]) -> Vec<Point> {
    let mut points = Vec::new();
    for (union, pairs) in UNIONS.into_iter().zip(pairs) {
        let mut lines =
            format!("{scheme:?}, k = {K}, unions of {union}, {pairs} pairs a bucket\n      J     ");
        for (bands, rows) in SETTINGS {
            let _ = write!(
                lines,
                "  {bands:2} x {rows}: curve measured    diff     s.e."
            );
        }
        for bucket in BUCKETS {
            let low = bucket as f64 / 20.0;
            let _ = write!(lines, "\n{low:.2} - {:.2} ", low + 0.05);
            for point in bucket_points(scheme, union, bucket, pairs) {
                let _ = write!(
                    lines,
                    "  {:15.4} {:8.4} {:+7.4} {:8.4}",
                    point.expected,
                    point.measured,
                    point.difference(),
                    point.standard_error()
                );
                points.push(point);
            }
        }
        println!("{lines}\n");
    }
    points
}

/// Pairs of random sets whose J is spread evenly over the bucket.
fn bucket_points(scheme: Scheme, union: u64, bucket: u64, pairs: u64) -> Vec<Point> {
    let mut sketcher = Sketcher::new(scheme, K, 42).unwrap();
    let (mut a, mut b) = (vec![0; K as usize], vec![0; K as usize]);
    let mut random = Random::new(union << 32 | bucket);
    let mut found = [0_u64; SETTINGS.len()];
    let mut expected = [0.0; SETTINGS.len()];
    // Counts in common for which J lies in the bucket: a twentieth of the union's.
    let width = union / 20;
    for pair in 0..pairs {
        let common = bucket * width + pair % width;
        let all: Vec<u64> = (0..union).map(|_| random.bits()).collect();
        let (shared, rest) = all.split_at(common as usize);
        let (only_a, only_b) = rest.split_at(rest.len() / 2);
        sketcher.sketch(&[shared, only_a].concat(), &mut a).unwrap();
        sketcher.sketch(&[shared, only_b].concat(), &mut b).unwrap();
        for (i, (bands, rows)) in SETTINGS.into_iter().enumerate() {
            let meet = band_keys(&a, bands, rows)
                .zip(band_keys(&b, bands, rows))
                .any(|(a, b)| a == b);
            found[i] += u64::from(meet);
            expected[i] += candidate_probability(common as f64 / union as f64, bands, rows);
        }
    }
    let point = |(i, setting)| Point {
        union,
        low: bucket as f64 / 20.0,
        setting,
        pairs: pairs as f64,
        measured: found[i] as f64 / pairs as f64,
        expected: expected[i] / pairs as f64,
    };
    SETTINGS.into_iter().enumerate().map(point).collect()
}
