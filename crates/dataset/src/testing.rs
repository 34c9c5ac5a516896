//! Parquet files for the tests of reading, built in code.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use parquet::arrow::ArrowWriter;
use parquet::data_type::DataType;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::{Error, Listed, Source, TextReader, inspect, list};

/// Writes columns through Arrow, with at most so many rows in a row group.
pub(crate) fn write(path: &Path, columns: &[(&str, ArrayRef)], properties: WriterProperties) {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns
            .iter()
            .map(|(name, array)| (*name, Arc::clone(array), true)),
    )
    .unwrap();
    write_batch(path, &batch, properties);
}

/// Writes a batch through Arrow.
pub(crate) fn write_batch(path: &Path, batch: &RecordBatch, properties: WriterProperties) {
    let file = std::fs::File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

/// Writes one column of a Parquet schema with its physical values and definition levels.
pub(crate) fn write_typed<T: DataType>(
    path: &Path,
    schema: &str,
    values: &[T::T],
    definitions: Option<&[i16]>,
) {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = std::fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column
        .typed::<T>()
        .write_batch(values, definitions, None)
        .unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}

/// Small row groups and pages.
pub(crate) fn small(rows: usize) -> WriterProperties {
    WriterProperties::builder()
        .set_max_row_group_row_count(Some(rows))
        .set_data_page_row_count_limit(7)
        .set_write_batch_size(5)
        .build()
}

pub(crate) fn listed(path: &Path) -> Listed {
    list(&[path.to_path_buf()]).unwrap().files.remove(0)
}

pub(crate) fn inspected(path: &Path, text: &str) -> Source {
    inspect(&listed(path), text).unwrap()
}

/// All the text of a file, with small batches; checks the numbering of rows.
pub(crate) fn read_text(source: &Source, text: &str) -> Result<Vec<Option<Vec<u8>>>, Error> {
    let mut reader = TextReader::open(source, text, 0..source.row_groups.len(), 4096)?;
    let mut all = Vec::new();
    while let Some(batch) = reader.next_batch()? {
        assert_eq!(batch.first_row, all.len() as u64);
        assert!(!batch.values.is_empty());
        all.extend(
            batch
                .values
                .iter()
                .map(|value| value.as_ref().map(|v| v.to_vec())),
        );
    }
    assert_eq!(all.len() as u64, source.rows);
    Ok(all)
}

/// A file of `shared`, or none with a visible line.
pub(crate) fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")).join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: `{name}` is not there");
    None
}
