//! The Arrow reader sees the same rows, and its stored schema still fits.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Decimal128Array, DictionaryArray, DurationMicrosecondArray,
    Float64Array, Int64Array, LargeStringArray, ListArray, RecordBatch, StringArray,
    StringViewArray, StructArray, TimestampNanosecondArray, UInt16Array,
};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use records::settings::{Existing, Mode};
use serde_json::{Value, json};

use super::fixture::metadata;
use super::{Picks, options, run};
use crate::rewrite::Options;

const ROWS: usize = 157;

fn columns() -> Vec<(&'static str, ArrayRef)> {
    let optional = |row: usize| (row % 4 != 1).then_some(row as i64 * 1000 - 7000);
    let text = |row: usize| (row % 7 != 2).then(|| format!("text é {}", row % 20));
    let rows = 0..ROWS;
    let instants: Vec<Option<i64>> = rows.clone().map(optional).collect();
    let texts: Vec<Option<String>> = rows.clone().map(text).collect();
    let named: DictionaryArray<Int32Type> = texts.iter().map(|t| t.as_deref()).collect();
    let decimals = Decimal128Array::from_iter(rows.clone().map(|r| optional(r).map(i128::from)));
    let mut lists = ListBuilder::new(Int32Builder::new());
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    for row in rows.clone() {
        for item in 0..row % 4 {
            lists
                .values()
                .append_option((item != 1).then_some(item as i32));
            maps.keys().append_value(format!("k{item}"));
            maps.values()
                .append_option((item != 2).then_some(row as i32));
        }
        lists.append(row % 5 != 0);
        maps.append(row % 6 != 0).unwrap();
    }
    let lists: ListArray = lists.finish();
    let score = Float64Array::from_iter(rows.clone().map(|r| optional(r).map(|v| v as f64)));
    let inner = StructArray::from(vec![
        (
            Arc::new(Field::new("score", DataType::Float64, true)),
            Arc::new(score) as ArrayRef,
        ),
        (
            Arc::new(Field::new("lists", lists.data_type().clone(), true)),
            Arc::new(lists.clone()) as ArrayRef,
        ),
    ]);
    vec![
        ("id", Arc::new(Int64Array::from_iter_values(0..ROWS as i64))),
        ("text", Arc::new(StringArray::from(texts.clone()))),
        ("large", Arc::new(LargeStringArray::from(texts.clone()))),
        ("view", Arc::new(StringViewArray::from_iter(texts))),
        ("named", Arc::new(named)),
        (
            "at",
            Arc::new(
                TimestampNanosecondArray::from(instants.clone()).with_timezone("Europe/Paris"),
            ),
        ),
        ("took", Arc::new(DurationMicrosecondArray::from(instants))),
        (
            "price",
            Arc::new(decimals.with_precision_and_scale(30, 4).unwrap()),
        ),
        (
            "small",
            Arc::new(UInt16Array::from_iter_values(
                rows.clone().map(|r| r as u16 * 400),
            )),
        ),
        (
            "flag",
            Arc::new(BooleanArray::from_iter(
                rows.map(|r| (r % 3 != 0).then_some(r % 2 == 0)),
            )),
        ),
        ("lists", Arc::new(lists)),
        ("maps", Arc::new(maps.finish())),
        ("inner", Arc::new(inner)),
    ]
}

fn fixture(folder: &Path, entries: Vec<KeyValue>) -> PathBuf {
    let path = folder.join("arrow.parquet");
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns()
            .into_iter()
            .map(|(name, array)| (name, array, true)),
    )
    .unwrap();
    let schema = batch.schema();
    let mut fields: Vec<Field> = schema.fields().iter().map(|f| f.as_ref().clone()).collect();
    fields[0] = fields[0]
        .clone()
        .with_metadata([("note".to_owned(), "x".to_owned())]);
    let schema = Schema::new_with_metadata(fields, [("of".to_owned(), "schema".to_owned())]);
    let batch = batch.with_schema(Arc::new(schema)).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(60))
        .set_key_value_metadata(Some(entries))
        .build();
    let file = File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    path
}

/// All rows of a file as the Arrow reader sees them, with the hints of its stored schema.
pub(super) fn read(path: &Path) -> RecordBatch {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let schema = builder.schema().clone();
    let mut reader = builder.with_batch_size(1 << 20).build().unwrap();
    let batch = reader.next().map(Result::unwrap);
    assert!(reader.next().is_none());
    batch.unwrap_or_else(|| RecordBatch::new_empty(schema))
}

#[test]
fn dropped_rows_are_all_that_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let input = fixture(folder.path(), Vec::new());
    let before = read(&input);
    for modulus in [2, 3, 10] {
        let picks = Picks::dropping(ROWS as u64, |row| row % modulus == 1);
        let (output, _) = run(&input, folder.path(), &picks, &options(Mode::Drop)).unwrap();
        let after = read(&output);
        assert_eq!(before.schema(), after.schema());
        let kept: Vec<usize> = (0..ROWS).filter(|row| picks.keeps(*row as u64)).collect();
        assert_eq!(kept.len(), after.num_rows());
        for (to, from) in kept.into_iter().enumerate() {
            assert_eq!(before.slice(from, 1), after.slice(to, 1), "row {from}");
        }
    }
}

/// The two columns after the first `width` say that rows 7 and 9 are a cluster and 9 goes.
fn assert_added(after: &RecordBatch, width: usize) {
    let added = after.schema();
    assert_eq!(
        added.field(width),
        &Field::new("dedup_cluster", DataType::Int64, true)
    );
    assert_eq!(
        added.field(width + 1),
        &Field::new("dedup_keep", DataType::Boolean, false)
    );
    let clusters: Vec<Option<i64>> = (0..ROWS)
        .map(|r| (r == 7 || r == 9).then_some(i64::MAX))
        .collect();
    let keeps: Vec<bool> = (0..ROWS).map(|r| r != 9).collect();
    assert_eq!(after.column(width).as_ref(), &Int64Array::from(clusters));
    assert_eq!(after.column(width + 1).as_ref(), &BooleanArray::from(keeps));
}

#[test]
fn stored_schemas_gain_the_added_columns() {
    let folder = tempfile::tempdir().unwrap();
    let pandas = json!({"index_columns": [], "columns": [{"name": "id", "x": 1.5}], "v": "2"});
    let spark = json!({"type": "struct", "fields": [{"name": "id", "type": "long"}]});
    let input = fixture(
        folder.path(),
        vec![
            KeyValue::new("pandas".to_owned(), pandas.to_string()),
            KeyValue::new(
                "org.apache.spark.sql.parquet.row.metadata".to_owned(),
                spark.to_string(),
            ),
        ],
    );
    let before = read(&input);
    let picks = Picks([(7, (i64::MAX, true)), (9, (i64::MAX, false))].into());
    let (once, _) = run(&input, folder.path(), &picks, &options(Mode::Annotate)).unwrap();
    let replace = Options {
        existing: Existing::Replace,
        ..options(Mode::Annotate)
    };
    let (twice, _) = run(&once, folder.path(), &picks, &replace).unwrap();
    assert_eq!(
        std::fs::read(&once).unwrap(),
        std::fs::read(&twice).unwrap()
    );

    let after = read(&once);
    let width = before.num_columns();
    let old = after.project(&(0..width).collect::<Vec<_>>()).unwrap();
    assert_eq!(before, old);
    assert_added(&after, width);

    let metadata = metadata(&once);
    let entries = metadata.file_metadata().key_value_metadata().unwrap();
    let parsed = |key: &str| -> Value {
        let entry = entries.iter().find(|entry| entry.key == key).unwrap();
        serde_json::from_str(entry.value.as_deref().unwrap()).unwrap()
    };
    let mut expected = pandas;
    expected["columns"].as_array_mut().unwrap().extend([
        json!({"name": "dedup_cluster", "field_name": "dedup_cluster", "pandas_type": "int64",
               "numpy_type": "Int64", "metadata": null}),
        json!({"name": "dedup_keep", "field_name": "dedup_keep", "pandas_type": "bool",
               "numpy_type": "bool", "metadata": null}),
    ]);
    assert_eq!(parsed("pandas"), expected);
    let mut expected = spark;
    expected["fields"].as_array_mut().unwrap().extend([
        json!({"name": "dedup_cluster", "type": "long", "nullable": true, "metadata": {}}),
        json!({"name": "dedup_keep", "type": "boolean", "nullable": false, "metadata": {}}),
    ]);
    assert_eq!(
        parsed("org.apache.spark.sql.parquet.row.metadata"),
        expected
    );
}

#[test]
fn a_stored_schema_that_cannot_be_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let entry = KeyValue::new("pandas".to_owned(), "[]".to_owned());
    let input = fixture(folder.path(), vec![entry]);
    let error = run(
        &input,
        folder.path(),
        &Picks::default(),
        &options(Mode::Annotate),
    )
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "the metadata `pandas` of `{}` cannot take the added columns: it has no array \
             `columns`; write the file again, or set filter.mode = \"drop\"",
            input.display()
        )
    );
}
