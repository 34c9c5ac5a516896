//! Reading what a run leaves, and the pairs of a corpus whose similarity is known exactly.
//!
//! Everything is read whole with Arrow's own reader, as a user would: no code of the product takes part.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot read its data has failed"
)]

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int64Type, UInt32Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// A pair of documents, by their numbers, with its exact Jaccard similarity.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// The document with the smaller number.
    pub a: usize,
    /// The other.
    pub b: usize,
    /// Shingles in common over shingles in all.
    pub jaccard: f64,
    /// Shingles in all.
    pub union: u64,
}

/// What `signatures/` says of a document.
#[derive(Clone, Debug)]
pub struct Signed {
    /// The slots; none where there is nothing to compare.
    pub slots: Option<Vec<u32>>,
    /// Shingles, repeats included.
    pub shingles: u64,
}

/// A row of `clusters.parquet`.
#[derive(Clone, Debug)]
pub struct Member {
    /// The document's number.
    pub doc: usize,
    /// Its file, relative to the input folder.
    pub file: String,
    /// Its row in that file.
    pub row: usize,
    /// The cluster's smallest document.
    pub cluster: usize,
    /// The document that stays.
    pub keeper: usize,
    /// Whether this one stays.
    pub keep: bool,
    /// `exact`, `near` or `keeper`.
    pub kind: String,
    /// The estimated similarity to the keeper.
    pub similarity: f64,
}

/// All of a Parquet file.
///
/// # Panics
/// If it cannot be read.
#[must_use]
pub fn batches(path: &Path) -> Vec<RecordBatch> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    reader.build().unwrap().map(Result::unwrap).collect()
}

/// A column that has to be there.
///
/// # Panics
/// If it is not.
#[must_use]
pub fn column<'a>(batch: &'a RecordBatch, name: &str) -> &'a ArrayRef {
    batch
        .column_by_name(name)
        .unwrap_or_else(|| panic!("no column `{name}` in {:?}", batch.schema()))
}

/// A column of strings, whatever Arrow's type for them; null is "".
///
/// # Panics
/// If it is missing or holds something else.
#[must_use]
pub fn strings(batch: &RecordBatch, name: &str) -> Vec<String> {
    let array = cast(column(batch, name), &DataType::Utf8).unwrap();
    let array = array.as_string::<i32>();
    array
        .iter()
        .map(|value| value.unwrap_or_default().to_owned())
        .collect()
}

fn numbers(batch: &RecordBatch, name: &str) -> Vec<u64> {
    let array = cast(column(batch, name), &DataType::Int64).unwrap();
    let array = array.as_primitive::<Int64Type>();
    array
        .values()
        .iter()
        .map(|&value| u64::try_from(value).unwrap())
        .collect()
}

/// The number of each document by its value in the column `id`, for the `part-*.parquet` of a folder.
///
/// # Panics
/// If they cannot be read, or an id is there twice.
#[must_use]
pub fn numbers_by_id(data: &Path) -> HashMap<String, usize> {
    let mut files: Vec<_> = std::fs::read_dir(data)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "parquet"))
        .collect();
    files.sort();
    let mut by_id = HashMap::new();
    for batch in files.iter().flat_map(|path| batches(path)) {
        for id in strings(&batch, "id") {
            let number = by_id.len();
            assert!(by_id.insert(id, number).is_none(), "an id is there twice");
        }
    }
    by_id
}

/// The pairs of a truth file.
///
/// # Panics
/// If it cannot be read, or names an unknown document.
#[must_use]
pub fn pairs(truth: &Path, by_id: &HashMap<String, usize>) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for batch in batches(truth) {
        let jaccard = cast(column(&batch, "jaccard"), &DataType::Float64).unwrap();
        let jaccard = jaccard.as_primitive::<Float64Type>();
        let (ids_a, ids_b) = (strings(&batch, "id_a"), strings(&batch, "id_b"));
        let unions = numbers(&batch, "union");
        for (i, union) in unions.into_iter().enumerate() {
            let (a, b) = (by_id[&ids_a[i]], by_id[&ids_b[i]]);
            pairs.push(Pair {
                a: a.min(b),
                b: a.max(b),
                jaccard: jaccard.value(i),
                union,
            });
        }
    }
    pairs
}

/// The signatures of every document in order.
///
/// # Panics
/// If they cannot be read or are not for every row.
#[must_use]
pub fn signatures(work: &Path) -> Vec<Signed> {
    let mut signed = Vec::new();
    for inputs in batches(&work.join("inputs.parquet")) {
        let (first, rows) = (numbers(&inputs, "first_doc"), numbers(&inputs, "rows"));
        let shards = column(&inputs, "shards").as_list::<i32>();
        for file in 0..inputs.num_rows() {
            assert_eq!(signed.len() as u64, first[file], "documents before a file");
            let names = shards.value(file);
            for name in names.as_string::<i32>().iter().flatten() {
                let path = work.join("signatures").join(name);
                batches(&path)
                    .iter()
                    .for_each(|batch| signed_rows(batch, &mut signed));
            }
            let end = first[file] + rows[file];
            assert_eq!(signed.len() as u64, end, "documents after a file");
        }
    }
    signed
}

fn signed_rows(batch: &RecordBatch, signed: &mut Vec<Signed>) {
    let slots = column(batch, "signature").as_list::<i32>();
    let shingles = numbers(batch, "shingles");
    for (i, shingles) in shingles.into_iter().enumerate() {
        let slots = slots.is_valid(i).then(|| slots.value(i));
        let slots = slots.map(|slots| slots.as_primitive::<UInt32Type>().values().to_vec());
        signed.push(Signed { slots, shingles });
    }
}

/// The rows of `clusters.parquet`.
///
/// # Panics
/// If they cannot be read.
#[must_use]
pub fn clusters(work: &Path) -> Vec<Member> {
    let mut members = Vec::new();
    for batch in batches(&work.join("clusters.parquet")) {
        let number = |name| {
            let numbers = numbers(&batch, name).into_iter();
            numbers.map(|n| usize::try_from(n).unwrap()).collect()
        };
        let docs: Vec<usize> = number("doc_id");
        let (rows, clusters, keepers): (Vec<usize>, Vec<usize>, Vec<usize>) =
            (number("row"), number("cluster_id"), number("keeper"));
        let (files, kinds) = (strings(&batch, "file"), strings(&batch, "kind"));
        let keep = column(&batch, "keep").as_boolean();
        let similarity = column(&batch, "similarity").as_primitive::<Float32Type>();
        for (i, &doc) in docs.iter().enumerate() {
            members.push(Member {
                doc,
                file: files[i].clone(),
                row: rows[i],
                cluster: clusters[i],
                keeper: keepers[i],
                keep: keep.value(i),
                kind: kinds[i].clone(),
                similarity: f64::from(similarity.value(i)),
            });
        }
    }
    members
}
