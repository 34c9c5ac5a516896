//! Similarity of two signatures, in whole numbers.

/// The number of equal slots of two signatures of the same scheme, k and seed. The share of the k slots estimates the
/// Jaccard similarity. Signatures of unequal length are compared as far as the shorter goes.
///
/// Cost: linear in k; the loop is one that the compiler turns into vector instructions.
#[must_use]
pub fn matches(a: &[u32], b: &[u32]) -> u32 {
    a.iter().zip(b).map(|(x, y)| u32::from(x == y)).sum()
}

/// The least number m of equal slots that passes a threshold: the least m >= 1 with m / k >= threshold. Products that
/// miss a whole number only by the rounding of decimal fractions count as that number (0.8 of 130 is 104; a float
/// product says a little more), with a tolerance of 1e-9 slots.
///
/// A threshold of 0 or less gives 1; one above 1, or NaN, gives k + 1, which no pair reaches.
#[must_use]
pub fn min_matches(k: u32, threshold: f64) -> u32 {
    if threshold.is_nan() || threshold > 1.0 {
        return k.saturating_add(1);
    }
    let least = (threshold * f64::from(k) - 1e-9).ceil();
    // The cast saturates; it never exceeds k, as the threshold is at most 1.
    (least as u32).max(1)
}

/// As [`min_matches`], where only the low `bits` of each slot are compared (b-bit minwise hashing: Li and König, WWW
/// 2010). Each of the k - m slots that differ agrees by chance with probability 2^-bits; the expected number of such,
/// rounded, is added to m. At most k, but where nothing passes.
#[must_use]
pub fn min_matches_of_bits(k: u32, bits: u32, threshold: f64) -> u32 {
    let least = min_matches(k, threshold);
    let unequal = f64::from(k.saturating_sub(least));
    let chance = (unequal / f64::from(bits).exp2()).round();
    // At most k - m, since the divisor is at least 1.
    least.saturating_add(chance as u32)
}
