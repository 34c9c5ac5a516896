//! The share of equal slots against the true Jaccard similarity: bias and error. `--nocapture` prints the tables.

use super::*;

const K: u32 = 128;
const PAIRS: u64 = 2000;

/// Pairs of sets: (intersection, union) for J of about 0.3, 0.5, 0.8 and 0.95, where the union is large enough for it.
const SHAPES: &[(u64, u64)] = &[
    (2, 5),
    (3, 5),
    (4, 5),
    (6, 20),
    (10, 20),
    (16, 20),
    (19, 20),
    (60, 200),
    (100, 200),
    (160, 200),
    (190, 200),
    (600, 2000),
    (1000, 2000),
    (1600, 2000),
    (1900, 2000),
];

#[test]
fn fss_has_no_bias_and_at_most_the_error_of_minhash() {
    check(Scheme::Fss);
}

#[test]
fn universal_has_no_bias_and_the_error_of_minhash() {
    check(Scheme::Universal);
}

fn check(scheme: Scheme) {
    println!("{scheme:?}, k = {K}, {PAIRS} pairs each");
    println!("common  union      J      bias  std.err.    rmse  theory  ratio");
    let mut wrong = Vec::new();
    for (common, union) in SHAPES {
        let errors = errors(scheme, *common, *union);
        let n = PAIRS as f64;
        let bias = errors.iter().sum::<f64>() / n;
        let square = errors.iter().map(|e| e * e).sum::<f64>() / n;
        let standard_error = ((square - bias * bias) / (n - 1.0)).sqrt();
        let j = *common as f64 / *union as f64;
        let theory = (j * (1.0 - j) / f64::from(K)).sqrt();
        let rmse = square.sqrt();
        println!(
            "{common:6} {union:6} {j:6.3} {bias:9.5} {standard_error:9.5} {rmse:7.4} {theory:7.4} {:6.3}",
            rmse / theory
        );
        if bias.abs() > 4.0 * standard_error || rmse > 1.05 * theory {
            wrong.push((common, union, bias, standard_error, rmse, theory));
        }
    }
    assert!(wrong.is_empty(), "{scheme:?}: {wrong:?}");
}

/// The errors of the estimate for pairs of random sets of a given shape: what is not common is split in half.
fn errors(scheme: Scheme, common: u64, union: u64) -> Vec<f64> {
    let mut sketcher = Sketcher::new(scheme, K, 42).unwrap();
    let (mut a, mut b) = (vec![0; K as usize], vec![0; K as usize]);
    let mut state = common << 32 | union;
    let mut random = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(state)
    };
    let error = |_| {
        let all: Vec<u64> = (0..union).map(|_| random()).collect();
        let (common_part, rest) = all.split_at(common as usize);
        let (only_a, only_b) = rest.split_at(rest.len() / 2);
        sketcher
            .sketch(&[common_part, only_a].concat(), &mut a)
            .unwrap();
        sketcher
            .sketch(&[common_part, only_b].concat(), &mut b)
            .unwrap();
        f64::from(matches(&a, &b)) / f64::from(K) - common as f64 / union as f64
    };
    (0..PAIRS).map(error).collect()
}
