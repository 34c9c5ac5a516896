//! Reading and writing Parquet in tests.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::properties::WriterProperties;

/// A row of `clusters.parquet`.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterRow {
    /// `doc_id`
    pub doc: u64,
    /// `file`
    pub file: String,
    /// `row`
    pub row: u64,
    /// `id`; none where it is null or there is no such column.
    pub id: Option<String>,
    /// `cluster_id`
    pub cluster: u64,
    /// `keeper`
    pub keeper: u64,
    /// `keep`
    pub keep: bool,
    /// `kind`
    pub kind: String,
    /// `similarity`
    pub similarity: f32,
}

/// Id and text of a row of the input or the output.
pub type Row = (String, Option<String>);

/// All rows of a Parquet file.
///
/// # Panics
/// Where it cannot be read.
#[must_use]
pub fn read_table(path: &Path) -> RecordBatch {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let builder = ParquetRecordBatchReaderBuilder::try_new(file)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let rows = builder.metadata().file_metadata().num_rows();
    let schema = Arc::clone(builder.schema());
    let reader = builder.with_batch_size((rows as usize).max(1));
    let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
    let read: usize = batches.iter().map(RecordBatch::num_rows).sum();
    assert_eq!(read as i64, rows);
    assert!(batches.len() <= 1, "one batch holds all rows");
    let first = batches.into_iter().next();
    first.unwrap_or_else(|| RecordBatch::new_empty(schema))
}

/// Writes a Parquet file, with a row group for each `rows_per_row_group` rows and no compression.
///
/// # Panics
/// Where it exists or cannot be written.
pub fn write_table(path: &Path, batch: &RecordBatch, rows_per_row_group: usize) {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(rows_per_row_group.max(1)))
        .build();
    write_table_with(path, batch, properties);
}

/// Writes a Parquet file in one row group of the given properties.
///
/// # Panics
/// Where it exists or cannot be written.
pub fn write_table_with(path: &Path, batch: &RecordBatch, properties: WriterProperties) {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).unwrap();
    }
    let file = File::create_new(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

/// A column by name.
///
/// # Panics
/// Where there is none.
#[must_use]
pub fn column(batch: &RecordBatch, name: &str) -> ArrayRef {
    let found = batch.column_by_name(name);
    Arc::clone(found.unwrap_or_else(|| panic!("no column {name} in {}", batch.schema())))
}

/// A column as strings.
///
/// # Panics
/// Where there is none that can be cast.
#[must_use]
pub fn strings(batch: &RecordBatch, name: &str) -> Vec<Option<String>> {
    let cast = arrow_cast::cast(&column(batch, name), &DataType::Utf8).unwrap();
    let values = cast.as_string::<i32>().iter();
    values.map(|value| value.map(str::to_owned)).collect()
}

/// A column of 64-bit integers.
///
/// # Panics
/// Where there is none.
#[must_use]
pub fn i64s(batch: &RecordBatch, name: &str) -> Vec<Option<i64>> {
    let column = column(batch, name);
    column.as_primitive::<Int64Type>().iter().collect()
}

fn u64s(batch: &RecordBatch, name: &str) -> Vec<u64> {
    let values = i64s(batch, name).into_iter();
    values
        .map(|value| value.unwrap().try_into().unwrap())
        .collect()
}

/// The rows of `clusters.parquet`.
///
/// # Panics
/// Where it is not such a table.
#[must_use]
pub(crate) fn clusters(path: &Path) -> Vec<ClusterRow> {
    let batch = read_table(path);
    let (docs, rows) = (u64s(&batch, "doc_id"), u64s(&batch, "row"));
    let (clusters, keepers) = (u64s(&batch, "cluster_id"), u64s(&batch, "keeper"));
    let (files, kinds) = (strings(&batch, "file"), strings(&batch, "kind"));
    let ids = match batch.column_by_name("id") {
        Some(_) => strings(&batch, "id"),
        None => vec![None; batch.num_rows()],
    };
    let (keep, similarity) = (column(&batch, "keep"), column(&batch, "similarity"));
    let (keep, similarity) = (keep.as_boolean(), similarity.as_primitive::<Float32Type>());
    assert_eq!(keep.null_count() + similarity.null_count(), 0);
    (0..batch.num_rows())
        .map(|i| ClusterRow {
            doc: docs[i],
            file: files[i].clone().unwrap(),
            row: rows[i],
            id: ids[i].clone(),
            cluster: clusters[i],
            keeper: keepers[i],
            keep: keep.value(i),
            kind: kinds[i].clone().unwrap(),
            similarity: similarity.value(i),
        })
        .collect()
}

/// The rows of `edges/` in a work folder: a, b, matches.
///
/// # Panics
/// Where there is no such table.
#[must_use]
pub fn edges(work: &Path) -> Vec<(u64, u64, Option<i64>)> {
    let batch = read_table(&work.join("edges/part-00000.parquet"));
    let (a, b) = (u64s(&batch, "a"), u64s(&batch, "b"));
    let matches = arrow_cast::cast(&column(&batch, "matches"), &DataType::Int64).unwrap();
    let matches = matches.as_primitive::<Int64Type>().iter();
    let pairs = a.into_iter().zip(b);
    pairs.zip(matches).map(|((a, b), m)| (a, b, m)).collect()
}
