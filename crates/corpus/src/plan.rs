//! What a corpus is to be like, and whether that can be.

use anyhow::{Result, ensure};

use crate::words::Language;

/// Row groups that Parquet's 16-bit ordinals allow in a file.
pub(crate) const MAX_ROW_GROUPS: u64 = 32_767;
/// Words that a document may have: with the longest words its text still stays below the 2 GiB of an Arrow string
/// array.
const MAX_WORDS: u32 = 20_000_000;
/// Shares are compared as integers of this unit, so that every platform draws the same roles.
const WHOLE: f64 = (1u64 << 32) as f64;

/// The description of a corpus. Two equal plans make byte-identical files, on any machine, with one version of the
/// `parquet` crate (its name and version stand in every file).
///
/// Rates are shares of all documents; what they leave are originals, documents unlike all others.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Documents (rows) in all; any number.
    pub documents: u64,
    /// Files that share the documents evenly, at least 1. With more files than documents some have no rows.
    pub files: u32,
    /// Documents in a row group, at least 1; the last row group of a file may have fewer. A row group is what the
    /// generator holds in memory, compressed.
    pub rows_per_row_group: u32,
    /// Decides everything that is random.
    pub seed: u64,
    /// Least length of an original in words, at least 1. Below about 8, originals may be equal by chance.
    pub words_min: u32,
    /// Greatest length of an original in words. Lengths lean towards the short: a quarter lies above the
    /// middle of the range.
    pub words_max: u32,
    /// Copies that have the bytes of their original.
    pub exact_rate: f64,
    /// Copies that equal their original after lower-casing and collapsing whitespace, but not in their bytes.
    pub normalised_rate: f64,
    /// Copies with some tokens replaced, inserted or deleted.
    pub near_rate: f64,
    /// The shares of tokens that near copies change, each for as many copies as the next; at least one token is
    /// always changed.
    pub edit_rates: Vec<f64>,
    /// Documents whose text is null.
    pub null_rate: f64,
    /// Documents whose text is the empty string.
    pub empty_rate: f64,
    /// Documents whose text is whitespace only.
    pub blank_rate: f64,
    /// Languages with their weights; a copy has the language of its original.
    pub mix: Vec<(Language, f64)>,
    /// Zstandard level of the columns, 1 to 22.
    pub zstd_level: i32,
}

impl Default for Plan {
    /// 10,000 documents of 100 to 1,000 words in 4 files, 70 % of them in plain Latin, a quarter planted copies.
    fn default() -> Self {
        Self {
            documents: 10_000,
            files: 4,
            rows_per_row_group: 1_000,
            seed: 42,
            words_min: 100,
            words_max: 1_000,
            exact_rate: 0.06,
            normalised_rate: 0.04,
            near_rate: 0.15,
            edit_rates: vec![0.01, 0.02, 0.05, 0.10],
            null_rate: 0.01,
            empty_rate: 0.005,
            blank_rate: 0.005,
            mix: vec![
                (Language::Latin, 70.0),
                (Language::Accented, 10.0),
                (Language::Cyrillic, 7.0),
                (Language::Han, 8.0),
                (Language::Thai, 5.0),
            ],
            zstd_level: 1,
        }
    }
}

impl Plan {
    /// The sample that is committed under `tests/data/sample`: 2,000 documents of 60 to 400 words in 3 files of
    /// 3 row groups each.
    pub fn sample() -> Self {
        Self {
            documents: 2_000,
            files: 3,
            rows_per_row_group: 256,
            words_min: 60,
            words_max: 400,
            exact_rate: 0.08,
            normalised_rate: 0.04,
            near_rate: 0.18,
            zstd_level: 12,
            ..Self::default()
        }
    }

    /// Says whether a corpus can be made by this plan.
    ///
    /// # Errors
    /// The first value that is out of its range, with the range.
    pub fn check(&self) -> Result<()> {
        ensure!(
            i64::try_from(self.documents).is_ok(),
            "documents = {} does not fit an INT64 row number",
            self.documents
        );
        ensure!(
            self.files >= 1,
            "files = 0 leaves no place for the documents; it must be at least 1"
        );
        ensure!(
            self.rows_per_row_group >= 1,
            "rows per row group = 0 holds no document; it must be at least 1"
        );
        let row_groups = self
            .documents
            .div_ceil(u64::from(self.files))
            .div_ceil(u64::from(self.rows_per_row_group));
        ensure!(
            row_groups <= MAX_ROW_GROUPS,
            "a file would have {row_groups} row groups and Parquet allows {MAX_ROW_GROUPS}; \
             take more files or more rows per row group"
        );
        ensure!(
            1 <= self.words_min && self.words_min <= self.words_max && self.words_max <= MAX_WORDS,
            "documents of {} to {} words cannot be made; it must be 1 <= least <= greatest <= {MAX_WORDS}",
            self.words_min,
            self.words_max
        );
        ensure!(
            (1..=22).contains(&self.zstd_level),
            "zstd level {} is not one of 1 to 22",
            self.zstd_level
        );
        self.check_rates()?;
        self.check_mix()
    }

    fn check_rates(&self) -> Result<()> {
        for (name, rate) in self.rates() {
            ensure!(
                (0.0..=1.0).contains(&rate),
                "the {name} rate {rate} is not a share between 0 and 1"
            );
        }
        let parts: u64 = self.parts().iter().sum();
        ensure!(
            parts <= WHOLE as u64,
            "the rates add up to {:.4}, which is more than all documents; lower some of them",
            parts as f64 / WHOLE
        );
        ensure!(
            self.near_rate == 0.0 || !self.edit_rates.is_empty(),
            "near copies are asked for (rate {}) without any edit rate; name at least one",
            self.near_rate
        );
        for &rate in &self.edit_rates {
            ensure!(
                rate > 0.0 && rate <= 1.0,
                "the edit rate {rate} is not a share above 0 and up to 1"
            );
        }
        Ok(())
    }

    fn check_mix(&self) -> Result<()> {
        for &(language, weight) in &self.mix {
            let name = language.name();
            ensure!(
                weight.is_finite() && weight >= 0.0,
                "the weight {weight} of language {name} is not a finite number of at least 0"
            );
        }
        let total: f64 = self.mix.iter().map(|&(_, weight)| weight).sum();
        ensure!(
            total > 0.0 && total.is_finite(),
            "the language mix has no weight; name at least one language"
        );
        Ok(())
    }

    fn rates(&self) -> [(&'static str, f64); 6] {
        [
            ("exact", self.exact_rate),
            ("normalised", self.normalised_rate),
            ("near", self.near_rate),
            ("null", self.null_rate),
            ("empty", self.empty_rate),
            ("blank", self.blank_rate),
        ]
    }

    /// The rates in the order of [`Plan::rates`], in parts of 2^32.
    pub(crate) fn parts(&self) -> [u64; 6] {
        self.rates().map(|(_, rate)| (rate * WHOLE) as u64)
    }

    /// The languages with the parts of 2^32 at which each ends; the last ends at the whole.
    pub(crate) fn mix_ends(&self) -> Vec<(Language, u64)> {
        let total: f64 = self.mix.iter().map(|&(_, weight)| weight).sum();
        let mut sum = 0.0;
        let mut ends: Vec<(Language, u64)> = Vec::new();
        for &(language, weight) in self.mix.iter().filter(|&&(_, weight)| weight > 0.0) {
            sum += weight;
            ends.push((language, (sum / total * WHOLE) as u64));
        }
        if let Some(last) = ends.last_mut() {
            last.1 = WHOLE as u64;
        }
        ends
    }

    /// The number of the first document of file `file`, which is the row count of all files before it.
    pub(crate) fn first_of(&self, file: u32) -> u64 {
        (u128::from(self.documents) * u128::from(file) / u128::from(self.files.max(1))) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(change: impl FnOnce(&mut Plan)) -> String {
        let mut plan = Plan::default();
        change(&mut plan);
        plan.check().unwrap_err().to_string()
    }

    #[test]
    fn the_presets_can_be_made() {
        Plan::default().check().unwrap();
        Plan::sample().check().unwrap();
    }

    #[test]
    fn impossible_values_are_named() {
        let cases = [
            (
                refusal(|p| p.documents = u64::MAX),
                "documents = 18446744073709551615 does not fit an INT64 row number",
            ),
            (
                refusal(|p| p.files = 0),
                "files = 0 leaves no place for the documents; it must be at least 1",
            ),
            (
                refusal(|p| p.rows_per_row_group = 0),
                "rows per row group = 0 holds no document; it must be at least 1",
            ),
            (
                refusal(|p| (p.documents, p.files, p.rows_per_row_group) = (65_536, 2, 1)),
                "a file would have 32768 row groups and Parquet allows 32767; take more files or more rows per row group",
            ),
            (
                refusal(|p| p.words_min = 2_000),
                "documents of 2000 to 1000 words cannot be made; it must be 1 <= least <= greatest <= 20000000",
            ),
            (
                refusal(|p| p.zstd_level = 0),
                "zstd level 0 is not one of 1 to 22",
            ),
            (
                refusal(|p| p.exact_rate = -0.1),
                "the exact rate -0.1 is not a share between 0 and 1",
            ),
            (
                refusal(|p| p.near_rate = f64::NAN),
                "the near rate NaN is not a share between 0 and 1",
            ),
            (
                refusal(|p| (p.exact_rate, p.near_rate) = (0.5, 0.5)),
                "the rates add up to 1.0600, which is more than all documents; lower some of them",
            ),
            (
                refusal(|p| p.edit_rates.clear()),
                "near copies are asked for (rate 0.15) without any edit rate; name at least one",
            ),
            (
                refusal(|p| p.edit_rates.push(0.0)),
                "the edit rate 0 is not a share above 0 and up to 1",
            ),
            (
                refusal(|p| p.mix.clear()),
                "the language mix has no weight; name at least one language",
            ),
            (
                refusal(|p| p.mix[3].1 = -1.0),
                "the weight -1 of language han is not a finite number of at least 0",
            ),
        ];
        for (found, expected) in cases {
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn rates_that_fill_the_whole_pass() {
        let plan = Plan {
            exact_rate: 0.1,
            normalised_rate: 0.2,
            near_rate: 0.7,
            null_rate: 0.0,
            empty_rate: 0.0,
            blank_rate: 0.0,
            ..Plan::default()
        };
        plan.check().unwrap();
    }

    #[test]
    fn files_share_the_documents_evenly() {
        let plan = Plan {
            documents: 11,
            files: 4,
            ..Plan::default()
        };
        let firsts: Vec<u64> = (0..=4).map(|file| plan.first_of(file)).collect();
        assert_eq!(firsts, [0, 2, 5, 8, 11]);
    }
}
