//! The output of a run against its input, file by file.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use parquet::file::reader::{FileReader, SerializedFileReader};
use tests::{ClusterRow, Project, column, files_below, i64s, read_table, strings};

/// A file as `inputs.parquet` names it.
pub(crate) struct Input {
    pub(crate) path: PathBuf,
    pub(crate) relative: String,
    pub(crate) rows: u64,
    first: u64,
}

/// The inputs of a run.
pub(crate) fn inputs(project: &Project) -> Vec<Input> {
    let batch = read_table(&project.path("work/inputs.parquet"));
    let (paths, relative) = (strings(&batch, "path"), strings(&batch, "relative"));
    let (rows, firsts) = (i64s(&batch, "rows"), i64s(&batch, "first_doc"));
    let number = |number: Option<i64>| u64::try_from(number.unwrap()).unwrap();
    (0..batch.num_rows())
        .map(|i| Input {
            path: PathBuf::from(paths[i].as_ref().unwrap()),
            relative: relative[i].clone().unwrap(),
            rows: number(rows[i]),
            first: number(firsts[i]),
        })
        .collect()
}

/// The output holds the kept rows of each file in order, every column as it was, and no other file.
pub(crate) fn check_dropped(
    project: &Project,
    inputs: &[Input],
    clusters: &[ClusterRow],
    name: &str,
) {
    let dropped: HashSet<u64> = clusters
        .iter()
        .filter(|row| !row.keep)
        .map(|row| row.doc)
        .collect();
    check_files(project, inputs);
    for input in inputs {
        let output = project.path("out").join(&input.relative);
        assert_eq!(shape(&output), shape(&input.path), "{name}");
        let (before, after) = (read_table(&input.path), read_table(&output));
        let keep: Vec<bool> = (input.first..input.first + input.rows)
            .map(|doc| !dropped.contains(&doc))
            .collect();
        let (mut row, mut written) = (0, 0);
        for run in keep.chunk_by(|a, b| a == b) {
            if run[0] {
                let (expected, found) = (
                    before.slice(row, run.len()),
                    after.slice(written, run.len()),
                );
                assert!(expected == found, "{name}: rows from {row}");
                written += run.len();
            }
            row += run.len();
        }
        assert_eq!(written, after.num_rows(), "{name}");
    }
}

/// The output holds every row of each file, every column as it was, and two more that tell its cluster.
pub(crate) fn check_annotated(
    project: &Project,
    inputs: &[Input],
    clusters: &[ClusterRow],
    name: &str,
) {
    let clusters: HashMap<u64, &ClusterRow> = clusters.iter().map(|row| (row.doc, row)).collect();
    check_files(project, inputs);
    for input in inputs {
        let before = read_table(&input.path);
        let after = read_table(&project.path("out").join(&input.relative));
        let columns = before.num_columns();
        assert_eq!(after.num_columns(), columns + 2, "{name}");
        for (i, field) in before.schema().fields().iter().enumerate() {
            assert_eq!(after.schema().field(i), field.as_ref(), "{name}");
            assert!(after.column(i) == before.column(i), "{name}: {field}");
        }
        check_columns(input, &after, &clusters, name);
    }
}

fn check_columns(
    input: &Input,
    after: &RecordBatch,
    clusters: &HashMap<u64, &ClusterRow>,
    name: &str,
) {
    let (cluster, keep) = (column(after, "dedup_cluster"), column(after, "dedup_keep"));
    let (cluster, keep) = (cluster.as_primitive::<Int64Type>(), keep.as_boolean());
    assert_eq!(keep.null_count(), 0, "{name}");
    for (row, doc) in (0..after.num_rows()).zip(input.first..) {
        let found = (
            cluster.is_valid(row).then(|| cluster.value(row)),
            keep.value(row),
        );
        let expected = match clusters.get(&doc) {
            Some(row) => (Some(row.cluster as i64), row.keep),
            None => (None, true),
        };
        assert_eq!(found, expected, "{name}: row {row} of {}", input.relative);
    }
}

fn check_files(project: &Project, inputs: &[Input]) {
    let mut expected: Vec<&str> = inputs.iter().map(|input| input.relative.as_str()).collect();
    expected.push("_SUCCESS");
    expected.sort_unstable();
    let files = files_below(&project.path("out"));
    assert_eq!(files.keys().collect::<Vec<_>>(), expected);
}

/// Schema and key-value metadata as they stand in the footer.
fn shape(path: &Path) -> (parquet::schema::types::Type, Vec<(String, Option<String>)>) {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let file = reader.metadata().file_metadata();
    let pairs = file.key_value_metadata().into_iter().flatten();
    let pairs = pairs.map(|pair| (pair.key.clone(), pair.value.clone()));
    (file.schema().clone(), pairs.collect())
}
