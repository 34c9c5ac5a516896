//! What is true of a corpus, and its signatures as a run leaves them. All by Arrow's own reader, as a user would.

use std::collections::HashMap;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type};
use arrow_schema::DataType;
use tests::{column, files_below, i64s, read_table, strings};

/// A pair of documents, by their numbers, with its exact Jaccard similarity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    /// The document with the smaller number.
    pub(crate) a: usize,
    pub(crate) b: usize,
    pub(crate) jaccard: f64,
    /// Shingles in the union of the two sets.
    pub(crate) union: u64,
}

/// The number of each document by its value in the column `id`.
pub(crate) fn numbers_by_id(folder: &Path) -> HashMap<String, usize> {
    let mut by_id = HashMap::new();
    for name in files_below(folder).keys() {
        for id in strings(&read_table(&folder.join(name)), "id") {
            let number = by_id.len();
            let before = by_id.insert(id.unwrap(), number);
            assert_eq!(before, None, "an id is there twice");
        }
    }
    by_id
}

/// The pairs of a truth file.
pub(crate) fn pairs(truth: &Path, by_id: &HashMap<String, usize>) -> Vec<Pair> {
    let batch = read_table(truth);
    let number = |id: Option<String>| by_id[&id.unwrap()];
    let a = strings(&batch, "id_a").into_iter().map(number);
    let b = strings(&batch, "id_b").into_iter().map(number);
    let jaccard = arrow_cast::cast(&column(&batch, "jaccard"), &DataType::Float64).unwrap();
    let union = arrow_cast::cast(&column(&batch, "union"), &DataType::Int64).unwrap();
    let jaccard = jaccard.as_primitive::<Float64Type>().values();
    let union = union.as_primitive::<Int64Type>().values();
    let values = jaccard.iter().zip(union);
    a.zip(b)
        .zip(values)
        .map(|((a, b), (&jaccard, &union))| Pair {
            a: a.min(b),
            b: a.max(b),
            jaccard,
            union: union.try_into().unwrap(),
        })
        .collect()
}

/// The slots of every document in order; none where there is nothing to compare.
pub(crate) fn signatures(work: &Path) -> Vec<Option<Vec<u32>>> {
    let inputs = read_table(&work.join("inputs.parquet"));
    let shards = column(&inputs, "shards");
    let firsts = i64s(&inputs, "first_doc");
    let mut signatures = Vec::new();
    for (shards, first) in shards.as_list::<i32>().iter().zip(firsts) {
        assert_eq!(
            Some(signatures.len() as i64),
            first,
            "documents before a file"
        );
        for shard in shards.unwrap().as_string::<i32>() {
            let batch = read_table(&work.join(shard.unwrap()));
            let slots = column(&batch, "signature");
            signatures.extend(slots.as_list::<i32>().iter().map(|slots| {
                slots.map(|slots| slots.as_primitive::<UInt32Type>().values().to_vec())
            }));
        }
    }
    signatures
}

/// How many documents the components of the pairs with at least this similarity remove.
pub(crate) fn removed(pairs: &[Pair], documents: usize, least: f64) -> usize {
    let mut parent: Vec<usize> = (0..documents).collect();
    let find = |parent: &mut [usize], mut at: usize| {
        while parent[at] != at {
            parent[at] = parent[parent[at]];
            at = parent[at];
        }
        at
    };
    let mut merges = 0;
    for pair in pairs.iter().filter(|pair| pair.jaccard >= least) {
        let (a, b) = (find(&mut parent, pair.a), find(&mut parent, pair.b));
        parent[b] = a;
        merges += usize::from(a != b);
    }
    merges
}
