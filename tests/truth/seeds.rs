//! Banding over many seeds, from the texts themselves.
//!
//! The pairs of a real corpus are far from independent: 40 pages that share one frame make 780 pairs that all meet or
//! all miss by the same few shingles. With one seed the share of pairs that meet is therefore off the curve by up to
//! 0.27 in a bucket of 1,500 pairs, in both directions and without any fault. The mean over seeds is what the curve is
//! about, and the spread between seeds says how well it is known.
//!
//! With 600 seeds the largest difference of a bucket is 0.008 for `universal` (1.5 standard errors), and for `fss`
//! 0.012, by its nature: under the curve for J below 0.6, over it above (see the test `scurve`), in documents of few
//! shingles and of some hundreds alike.

use std::collections::HashMap;
use std::path::Path;

use lsh::{band_keys, candidate_probability};
use shingle::{Config, Shingler, Unit};
use sketch::{Scheme, Sketcher};
use tests::{files_below, read_table, strings};

use crate::data::Pair;
use crate::measure::{BANDS, K, ROWS};

/// The shingle sets of all documents, each distinct one once.
pub(crate) struct Sets {
    /// Sorted, without repeats.
    sets: Vec<Vec<u64>>,
    /// The set of each document; none where there is nothing to compare.
    of: Vec<Option<usize>>,
}

impl Sets {
    /// By the product's own shingles.
    pub(crate) fn read(folder: &Path, unit: Unit) -> Self {
        let config = Config {
            unit,
            n: 5,
            char_n: 5,
            strip_punctuation: false,
        };
        let mut shingler = Shingler::new(config).unwrap();
        let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
        let mut of = Vec::new();
        for name in files_below(folder).keys() {
            for text in strings(&read_table(&folder.join(name)), "text") {
                let shingles = shingler.document(text.as_deref().unwrap_or_default());
                of.push(shingles.map(|shingles| {
                    let mut set = shingles.hashes.to_vec();
                    set.sort_unstable();
                    set.dedup();
                    let next = known.len();
                    *known.entry(set).or_insert(next)
                }));
            }
        }
        let mut sets = vec![Vec::new(); known.len()];
        for (set, number) in known {
            sets[number] = set;
        }
        Self { sets, of }
    }

    /// The sets of a pair.
    fn numbers(&self, pair: &Pair) -> (usize, usize) {
        (self.of[pair.a].unwrap(), self.of[pair.b].unwrap())
    }

    /// Asserts that the product's shingles give every pair the union and the similarity that is true of it.
    pub(crate) fn agree_with(&self, pairs: &[Pair]) {
        for pair in pairs {
            let (a, b) = self.numbers(pair);
            let (a, b) = (&self.sets[a], &self.sets[b]);
            let common = common(a, b);
            let union = a.len() + b.len() - common;
            assert_eq!(union as u64, pair.union, "{pair:?}");
            let jaccard = common as f64 / union as f64;
            assert!((jaccard - pair.jaccard).abs() < 1e-6, "{pair:?}: {jaccard}");
        }
    }

    /// For each of `groupings`, which put every pair in a group: by seed and group, the share of the pairs that meet
    /// less the curve's mean.
    pub(crate) fn differences<const N: usize>(
        &self,
        scheme: Scheme,
        seeds: u64,
        pairs: &[Pair],
        groupings: [fn(&Pair) -> usize; N],
    ) -> [Vec<Group>; N] {
        let mut results = groupings.map(|of| {
            let last = pairs.iter().map(of).max().unwrap_or_default();
            let mut groups = vec![Group::default(); last + 1];
            for pair in pairs {
                let group = &mut groups[of(pair)];
                group.pairs += 1.0;
                group.curve += candidate_probability(pair.jaccard, BANDS, ROWS);
            }
            groups
        });
        for seed in 0..seeds {
            // A seed's coefficients come from the 2 k numbers after it.
            let keys = self.keys(scheme, seed * 10_000, pairs);
            let meets = |pair: &Pair| {
                let (a, b) = self.numbers(pair);
                keys[a].iter().zip(&keys[b]).any(|(a, b)| a == b)
            };
            let met: Vec<&Pair> = pairs.iter().filter(|pair| meets(pair)).collect();
            for (groups, of) in results.iter_mut().zip(groupings) {
                let mut hits = vec![0.0; groups.len()];
                met.iter().for_each(|pair| hits[of(pair)] += 1.0);
                for (group, hits) in groups.iter_mut().zip(hits) {
                    group.differences.push((hits - group.curve) / group.pairs);
                }
            }
        }
        results
    }

    /// The band keys of the sets of these pairs.
    fn keys(&self, scheme: Scheme, seed: u64, pairs: &[Pair]) -> Vec<Vec<u64>> {
        let mut sketcher = Sketcher::new(scheme, K, seed).unwrap();
        let mut slots = vec![0; K as usize];
        let mut keys = vec![Vec::new(); self.sets.len()];
        for pair in pairs {
            let (a, b) = self.numbers(pair);
            for set in [a, b] {
                if keys[set].is_empty() {
                    sketcher.sketch(&self.sets[set], &mut slots).unwrap();
                    keys[set] = band_keys(&slots, BANDS, ROWS).collect();
                }
            }
        }
        keys
    }
}

/// Some pairs, and how far the share that meets is from the curve.
#[derive(Clone, Default)]
pub(crate) struct Group {
    pub(crate) pairs: f64,
    /// The sum of the curve over the pairs.
    curve: f64,
    /// Measured less curve, by seed.
    differences: Vec<f64>,
}

impl Group {
    pub(crate) fn mean(&self) -> f64 {
        self.differences.iter().sum::<f64>() / self.differences.len() as f64
    }

    /// The standard deviation between seeds.
    fn deviation(&self) -> f64 {
        let mean = self.mean();
        let squares: f64 = self.differences.iter().map(|d| (d - mean).powi(2)).sum();
        (squares / (self.differences.len() as f64 - 1.0)).sqrt()
    }

    /// A line of the table.
    pub(crate) fn line(&self) -> String {
        let (curve, mean) = (self.curve / self.pairs, self.mean());
        format!(
            "{:7} {curve:8.4} {:8.4} {mean:+9.4} {:8.4} {:8.4}",
            self.pairs,
            curve + mean,
            self.standard_error(),
            self.deviation()
        )
    }

    /// The standard error of the mean.
    pub(crate) fn standard_error(&self) -> f64 {
        self.deviation() / (self.differences.len() as f64).sqrt()
    }
}

/// How many numbers two sorted sets have in common.
fn common(a: &[u64], b: &[u64]) -> usize {
    let (mut i, mut j, mut common) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        i += usize::from(x <= y);
        j += usize::from(y <= x);
        common += usize::from(x == y);
    }
    common
}
