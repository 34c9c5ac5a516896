//! The S-curve: how likely a pair of documents is to be found.
//!
//! Leskovec, Rajaraman and Ullman, "Mining of Massive Datasets", chapter 3 (the banding technique).

/// P(candidate | s) = 1 - (1 - s^r)^b: the probability that two signatures whose slots agree independently with
/// probability `similarity` have at least one of `bands` bands of `rows` slots in common. Exact to a few units in the
/// last place, also near 0 and 1.
///
/// Schemes whose slots are drawn without replacement (`fss`) depart from it a little for documents of few shingles.
///
/// `similarity` is taken as within 0 to 1 (NaN gives NaN); no bands, or bands of no rows, find nothing (0).
#[must_use]
pub fn candidate_probability(similarity: f64, bands: u32, rows: u32) -> f64 {
    if bands == 0 || rows == 0 {
        return 0.0;
    }
    let band = similarity.clamp(0.0, 1.0).powf(f64::from(rows));
    -(f64::from(bands) * (-band).ln_1p()).exp_m1()
}

/// P(found | s) = [`candidate_probability`] times P(Binomial(k, s) >= min_matches): the probability that a pair is a
/// candidate and also shows `min_matches` of `k` equal slots. The two are taken as independent, as the project's plan
/// does. In truth a pair with more equal slots is likelier to be a candidate, so this is a little low.
///
/// Computed with logarithms, to about 1e-10 relative for k up to 4096 and beyond. Cost: linear in k. `similarity` is
/// taken as within 0 to 1 (NaN gives NaN).
#[must_use]
pub fn found_probability(similarity: f64, k: u32, bands: u32, rows: u32, min_matches: u32) -> f64 {
    candidate_probability(similarity, bands, rows)
        * at_least(k, similarity.clamp(0.0, 1.0), min_matches)
}

/// P(Binomial(n, p) >= least).
fn at_least(n: u32, p: f64, least: u32) -> f64 {
    if least > n {
        return 0.0;
    }
    // At the ends the logarithms have no value.
    if least == 0 || p >= 1.0 {
        return 1.0;
    }
    if p <= 0.0 {
        return 0.0;
    }
    let odds = p.ln() - (-p).ln_1p();
    // ln P(Binomial = least), then on to each next count.
    let mut term = f64::from(n - least) * (-p).ln_1p() + f64::from(least) * p.ln();
    for i in 1..=least {
        term += (f64::from(n - least + i) / f64::from(i)).ln();
    }
    let mut sum = Sum::of(term);
    for count in least..n {
        term += (f64::from(n - count) / f64::from(count + 1)).ln() + odds;
        sum.add(term);
    }
    sum.value().clamp(0.0, 1.0)
}

/// A sum of numbers given by their logarithms, as a multiple of the largest so far.
struct Sum {
    largest: f64,
    multiple: f64,
}

impl Sum {
    fn of(term: f64) -> Self {
        Self {
            largest: term,
            multiple: 1.0,
        }
    }

    fn add(&mut self, term: f64) {
        if term > self.largest {
            self.multiple = self.multiple * (self.largest - term).exp() + 1.0;
            self.largest = term;
        } else {
            self.multiple += (term - self.largest).exp();
        }
    }

    fn value(&self) -> f64 {
        self.largest.exp() * self.multiple
    }
}

#[cfg(test)]
mod tests;
