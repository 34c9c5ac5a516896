//! Whether a deduplication found the copies that were planted: `planted.parquet` against `clusters.parquet`.
//!
//! The expected recall is computed here anew and simply: the check on the product may not share its code.

use std::fmt;
use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::maker::Kind;

/// How a deduplication finds pairs: banding of signatures, then verification by the share of equal slots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scheme {
    /// Slots of a signature, 1 or more.
    pub k: u32,
    /// Bands.
    pub bands: u32,
    /// Slots of a band.
    pub rows: u32,
    /// The least share of equal slots.
    pub threshold: f64,
}

impl Scheme {
    /// P(found | J) = (1 - (1 - J^rows)^bands) P(Binomial(k, J) >= ceil(threshold k)), its two factors taken as
    /// independent (Leskovec, Rajaraman and Ullman, "Mining of Massive Datasets", chapter 3).
    pub fn probability(&self, jaccard: f64) -> f64 {
        let candidate = 1.0 - (1.0 - jaccard.powf(self.rows.into())).powf(f64::from(self.bands));
        let k = f64::from(self.k);
        // A product that misses a whole number by its rounding only counts as that number.
        let least = ((self.threshold * k - 1e-9).ceil() as u32).max(1);
        if jaccard <= 0.0 || least > self.k {
            return 0.0;
        }
        if jaccard >= 1.0 {
            return candidate;
        }
        // ln of the binomial probability of 0 matches, then of each next number.
        let mut term_ln = k * (-jaccard).ln_1p();
        let odds_ln = jaccard.ln() - (-jaccard).ln_1p();
        let mut verified = 0.0;
        for matches in 0..=self.k {
            if matches >= least {
                verified += term_ln.exp();
            }
            term_ln += (f64::from(self.k - matches) / f64::from(matches + 1)).ln() + odds_ln;
        }
        candidate * verified.min(1.0)
    }
}

/// Edited copies and how many of them were found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Near {
    /// Pairs of copy and original.
    pub planted: u64,
    /// Those in one cluster.
    pub found: u64,
    /// The sum of their probabilities.
    pub expected: f64,
    /// The variance of that sum.
    pub variance: f64,
}

impl Near {
    fn add(&mut self, probability: f64, found: bool) {
        self.planted += 1;
        self.found += u64::from(found);
        self.expected += probability;
        self.variance += probability * (1.0 - probability);
    }

    fn share(count: f64, of: u64) -> f64 {
        if of == 0 { 1.0 } else { count / of as f64 }
    }
}

/// What became of the planted copies. Its `Display` is one line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Recall {
    /// Copies that are equal to their original once normalised.
    pub equal: u64,
    /// Those of them in one cluster with it.
    pub equal_found: u64,
    /// Edited copies with J of at least the threshold.
    pub above: Near,
    /// Edited copies below it.
    pub below: Near,
    /// Documents in a cluster whose first document has another origin.
    pub mixed: u64,
}

impl Recall {
    /// Whether every equal copy was found, edited copies at or above the threshold as often as expected (less 4
    /// standard deviations; a copy may also be found by way of a third document), and nothing that is unlike.
    pub fn is_as_planned(&self) -> bool {
        let least = self.above.expected - 4.0 * self.above.variance.sqrt();
        self.equal_found == self.equal && self.above.found as f64 >= least && self.mixed == 0
    }
}

impl fmt::Display for Recall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Near {
            planted,
            found,
            expected,
            ..
        } = self.above;
        write!(
            f,
            "equal {} of {}; near at or above the threshold {found} of {planted} ({:.4}, expected {:.4}), below it {} of \
             {} (expected {:.0}); {} documents with unlike ones",
            self.equal_found,
            self.equal,
            Near::share(found as f64, planted),
            Near::share(expected, planted),
            self.below.found,
            self.below.planted,
            self.below.expected,
            self.mixed
        )
    }
}

/// Compares the table of planted copies of a corpus with the clusters that were found in it, whose documents are
/// numbered by the rows of the corpus in the order of its files.
///
/// Holds 16 bytes for each planted copy and each document in a cluster.
///
/// # Errors
/// A table cannot be read, lacks a column or holds a null in it.
pub fn recall(planted: &Path, clusters: &Path, scheme: Scheme) -> Result<Recall> {
    let clusters = Pairs::read(clusters, ["doc_id", "cluster_id"])?;
    let originals = Pairs::read(planted, ["row", "original"])?;
    let mut recall = Recall::default();
    let names = ["row", "original", "kind", "jaccard"];
    scan(planted, &names, |batch| {
        let (rows, origins) = (integers(batch, "row")?, integers(batch, "original")?);
        let kinds = column(batch, "kind")?
            .as_string_opt::<i32>()
            .context("`kind` holds no strings")?;
        let jaccards = column(batch, "jaccard")?
            .as_primitive_opt::<Float64Type>()
            .context("`jaccard` holds no f64")?;
        let pairs = rows.iter().zip(origins).zip(kinds).zip(jaccards);
        for (((row, original), kind), jaccard) in pairs {
            let (kind, jaccard) = kind.zip(jaccard).context("a planted copy has a null")?;
            let cluster = clusters.get(*row);
            let found = cluster.is_some() && cluster == clusters.get(*original);
            if kind == (Kind::Near { rate: 0.0 }).name() {
                let near = if jaccard >= scheme.threshold {
                    &mut recall.above
                } else {
                    &mut recall.below
                };
                near.add(scheme.probability(jaccard), found);
            } else {
                recall.equal += 1;
                recall.equal_found += u64::from(found);
            }
        }
        Ok(())
    })?;
    let origin = |doc: i64| originals.get(doc).unwrap_or(doc);
    let mixed = clusters
        .0
        .iter()
        .filter(|(doc, cluster)| origin(*doc) != origin(*cluster));
    recall.mixed = mixed.count() as u64;
    Ok(recall)
}

/// Two columns of a table, by the first.
struct Pairs(Vec<(i64, i64)>);

impl Pairs {
    fn read(path: &Path, names: [&str; 2]) -> Result<Self> {
        let mut pairs = Vec::new();
        scan(path, &names, |batch| {
            let (keys, values) = (integers(batch, names[0])?, integers(batch, names[1])?);
            pairs.extend(keys.iter().copied().zip(values.iter().copied()));
            Ok(())
        })?;
        pairs.sort_unstable();
        if let Some(pair) = pairs.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            bail!(
                "`{}` has {} = {} twice",
                path.display(),
                names[0],
                pair[0].0
            );
        }
        Ok(Self(pairs))
    }

    fn get(&self, key: i64) -> Option<i64> {
        let place = self.0.binary_search_by_key(&key, |pair| pair.0).ok()?;
        self.0.get(place).map(|pair| pair.1)
    }
}

/// Visits the batches of a file, with those columns only.
fn scan(
    path: &Path,
    names: &[&str],
    mut visit: impl FnMut(&RecordBatch) -> Result<()>,
) -> Result<()> {
    let mut read = || -> Result<()> {
        let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?;
        let mask = ProjectionMask::columns(builder.parquet_schema(), names.iter().copied());
        for batch in builder
            .with_projection(mask)
            .with_batch_size(8192)
            .build()?
        {
            visit(&batch?)?;
        }
        Ok(())
    };
    read().with_context(|| format!("cannot read `{}`", path.display()))
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a dyn Array> {
    let column = batch.column_by_name(name);
    Ok(column.with_context(|| format!("there is no column `{name}`"))?)
}

fn integers<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a [i64]> {
    let column = column(batch, name)?;
    ensure!(column.null_count() == 0, "`{name}` holds a null");
    let integers = column.as_primitive_opt::<Int64Type>();
    Ok(integers
        .with_context(|| format!("`{name}` holds no i64"))?
        .values())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array};

    use super::*;
    use crate::{Plan, files, generate};

    const SCHEME: Scheme = Scheme {
        k: 128,
        bands: 20,
        rows: 6,
        threshold: 0.8,
    };

    #[test]
    fn probabilities_worked_out_by_hand() {
        let scheme = Scheme {
            k: 2,
            bands: 2,
            rows: 1,
            threshold: 1.0,
        };
        // A candidate with 1 - 1/4, verified with 1/4.
        assert!((scheme.probability(0.5) - 0.1875).abs() < 1e-12);
        assert_eq!(scheme.probability(0.0), 0.0);
        assert_eq!(SCHEME.probability(1.0), 1.0);
        // 1 - (1 - 0.9^6)^20 = 1 to 7 places, and P(Binomial(128, 0.9) >= 103) = 0.9995 or so.
        assert!((0.999..0.999_9).contains(&SCHEME.probability(0.9)));
        assert!((0.4..0.5).contains(&SCHEME.probability(0.8)));
        let impossible = Scheme {
            threshold: 1.1,
            ..SCHEME
        };
        assert_eq!(impossible.probability(1.0), 0.0);
    }

    fn write_clusters(path: &Path, pairs: &[(i64, i64)]) {
        let (docs, clusters): (Vec<i64>, Vec<i64>) = pairs.iter().copied().unzip();
        let batch = RecordBatch::try_from_iter([
            ("doc_id", Arc::new(Int64Array::from(docs)) as ArrayRef),
            (
                "cluster_id",
                Arc::new(Int64Array::from(clusters)) as ArrayRef,
            ),
        ])
        .unwrap();
        let properties = files::properties(1000, 1).unwrap().build();
        let mut writer = files::create(path, &batch.schema(), properties).unwrap();
        writer.write(&batch).unwrap();
        files::close(writer).unwrap();
    }

    fn planted(path: &Path) -> Vec<(i64, i64, String)> {
        let mut all = Vec::new();
        scan(path, &["row", "original", "kind"], |batch| {
            let kinds = column(batch, "kind")?.as_string::<i32>();
            let rows = integers(batch, "row")?.iter();
            for ((row, original), kind) in rows.zip(integers(batch, "original")?).zip(kinds) {
                all.push((*row, *original, kind.unwrap().to_owned()));
            }
            Ok(())
        })
        .unwrap();
        all
    }

    /// A corpus in `folder`: what was made, the planted table, its copies, and the clusters that hold
    /// all of them.
    #[expect(clippy::type_complexity, reason = "four things that four tests need")]
    fn corpus_of_copies(
        folder: &Path,
    ) -> (
        crate::Summary,
        std::path::PathBuf,
        Vec<(i64, i64, String)>,
        Vec<(i64, i64)>,
    ) {
        let plan = Plan {
            documents: 2_000,
            words_min: 40,
            words_max: 60,
            ..Plan::default()
        };
        let summary = generate(folder, &plan).unwrap();
        let table = folder.join("planted.parquet");
        let copies = planted(&table);
        let mut clusters: Vec<(i64, i64)> = Vec::new();
        for (row, original, _) in &copies {
            clusters.extend([(*row, *original), (*original, *original)]);
        }
        clusters.sort_unstable();
        clusters.dedup();
        (summary, table, copies, clusters)
    }

    #[test]
    fn all_found_and_nothing_found_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let (summary, table, _, clusters) = corpus_of_copies(folder.path());
        let path = folder.path().join("all.parquet");
        write_clusters(&path, &clusters);
        let all = recall(&table, &path, SCHEME).unwrap();
        assert_eq!(all.equal, summary.exact + summary.normalised);
        assert_eq!(all.equal_found, all.equal);
        assert_eq!(all.above.planted + all.below.planted, summary.near);
        assert_eq!(
            (all.above.found, all.below.found),
            (all.above.planted, all.below.planted)
        );
        assert!(all.above.planted > 50 && all.below.planted > 50);
        assert!(all.above.expected < all.above.planted as f64);
        assert_eq!(all.mixed, 0);
        assert!(all.is_as_planned(), "{all}");

        // Nothing found at all.
        let path = folder.path().join("none.parquet");
        write_clusters(&path, &[]);
        let none = recall(&table, &path, SCHEME).unwrap();
        assert_eq!((none.equal_found, none.above.found), (0, 0));
        assert!(!none.is_as_planned());
        let line = none.to_string();
        let start = format!(
            "equal 0 of {}; near at or above the threshold 0 of ",
            none.equal
        );
        assert!(line.starts_with(&start), "{line}");
    }

    #[test]
    fn lost_and_mixed_copies_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let (_, table, copies, clusters) = corpus_of_copies(folder.path());
        // One equal copy in a cluster of its own: lost.
        let (lost, _, _) = copies.iter().find(|(.., kind)| kind == "exact").unwrap();
        let fewer: Vec<(i64, i64)> = clusters
            .iter()
            .copied()
            .filter(|(doc, _)| doc != lost)
            .collect();
        let path = folder.path().join("fewer.parquet");
        write_clusters(&path, &fewer);
        let one_lost = recall(&table, &path, SCHEME).unwrap();
        assert_eq!(one_lost.equal_found + 1, one_lost.equal);
        assert!(!one_lost.is_as_planned());

        // Document 0 is an original; another original in its cluster is one too many.
        let root = |doc| {
            copies
                .iter()
                .find(|copy| copy.0 == doc)
                .map_or(doc, |copy| copy.1)
        };
        let foreign =
            (1..2_000).find(|&doc| root(doc) == doc && !clusters.iter().any(|c| c.0 == doc));
        let mut mixed = clusters.clone();
        mixed.push((foreign.unwrap(), 0));
        let path = folder.path().join("mixed.parquet");
        write_clusters(&path, &mixed);
        let mixed = recall(&table, &path, SCHEME).unwrap();
        assert_eq!(mixed.mixed, 1);
        assert!(!mixed.is_as_planned());
    }

    #[test]
    fn tables_that_are_none_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("clusters.parquet");
        let missing = recall(&path, &path, SCHEME).unwrap_err();
        assert!(
            missing.to_string().starts_with("cannot read `"),
            "{missing}"
        );
        write_clusters(&path, &[(1, 1), (1, 2)]);
        let twice = recall(&path, &path, SCHEME).unwrap_err();
        assert!(
            twice.to_string().ends_with("has doc_id = 1 twice"),
            "{twice}"
        );
        std::fs::remove_file(&path).unwrap();
        write_clusters(&path, &[(1, 1)]);
        let other = format!("{:#}", recall(&path, &path, SCHEME).unwrap_err());
        assert!(other.ends_with("there is no column `row`"), "{other}");
    }
}
