//! Small Parquet files of many forms, from which the mutated ones are made.

use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeBinaryArray, Float64Array, Int64Array, LargeStringArray,
    RecordBatch, StringArray, StructArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;
use tests::files_below;

/// A file that is whole.
pub(crate) struct Seed {
    pub(crate) name: String,
    /// The text column.
    pub(crate) text: &'static str,
    /// Whether it has the columns of [`table`].
    pub(crate) ours: bool,
    pub(crate) bytes: Vec<u8>,
}

const ROWS: usize = 40;
/// Files of `hard` up to this size are seeds as well.
const HARD_BYTES: usize = 128 << 10;

pub(crate) fn codecs() -> [Compression; 7] {
    [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::BROTLI(Default::default()),
        Compression::LZ4,
        Compression::ZSTD(Default::default()),
        Compression::LZ4_RAW,
    ]
}

/// The seeds, always in the same order.
pub(crate) fn seeds(hard: Option<&Path>) -> Vec<Seed> {
    let mut seeds = Vec::new();
    for (number, codec) in codecs().into_iter().enumerate() {
        for form in 0..4 {
            let nested = (number + form) % 3 == 0;
            seeds.push(Seed {
                name: format!("{codec}, form {form}"),
                text: if nested { "payload.text" } else { "text" },
                ours: true,
                bytes: written(&table(), properties(codec, form)),
            });
        }
    }
    for (name, bytes) in hard.map(files_below).unwrap_or_default() {
        if name.ends_with(".parquet") && bytes.len() <= HARD_BYTES {
            let nested = name.starts_with("nested");
            seeds.push(Seed {
                text: if nested { "payload.text" } else { "text" },
                name: format!("hard: {name}"),
                ours: false,
                bytes,
            });
        }
    }
    seeds
}

fn properties(codec: Compression, form: usize) -> WriterProperties {
    let text = || ColumnPath::from("text");
    let builder = WriterProperties::builder()
        .set_compression(codec)
        .set_max_row_group_row_count(Some(25))
        .set_data_page_row_count_limit(7)
        .set_write_batch_size(4);
    let builder = match form {
        0 => builder,
        1 => builder
            .set_writer_version(WriterVersion::PARQUET_2_0)
            .set_dictionary_enabled(false)
            .set_bloom_filter_enabled(true)
            .set_bloom_filter_max_ndv(50),
        2 => builder
            .set_column_dictionary_enabled(text(), false)
            .set_column_encoding(text(), Encoding::DELTA_BYTE_ARRAY)
            .set_statistics_enabled(EnabledStatistics::Page)
            .set_write_page_header_statistics(true),
        _ => builder
            .set_writer_version(WriterVersion::PARQUET_2_0)
            .set_column_dictionary_enabled(text(), false)
            .set_column_encoding(text(), Encoding::DELTA_LENGTH_BYTE_ARRAY)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_offset_index_disabled(true),
    };
    builder.build()
}

/// Texts of which some are equal, some nearly, one is null.
pub(crate) fn text(row: usize) -> Option<String> {
    let words = |from: usize| {
        let words: Vec<String> = (from..from + 12).map(|i| format!("word{i}")).collect();
        words.join(" ")
    };
    match row % 8 {
        0 => Some(words(0)),
        1 => Some(words(100)),
        2 => None,
        3 => Some(format!("{} end{row}", words(0))),
        4 => Some(String::new()),
        _ => Some(words(1000 * row)),
    }
}

fn table() -> RecordBatch {
    let rows = || 0..ROWS;
    let texts: StringArray = rows().map(text).collect();
    let mut tags = ListBuilder::new(StringBuilder::new());
    for row in rows() {
        for tag in 0..row % 4 {
            tags.values().append_value(format!("tag {tag}"));
        }
        tags.append(row % 5 != 3);
    }
    let inner: LargeStringArray = rows().map(text).collect();
    let numbers: Int64Array = rows().map(|row| Some(row as i64 * 77)).collect();
    let payload = StructArray::from(vec![
        (
            Arc::new(Field::new("text", DataType::LargeUtf8, true)),
            Arc::new(inner) as ArrayRef,
        ),
        (
            Arc::new(Field::new("n", DataType::Int64, true)),
            Arc::new(numbers) as ArrayRef,
        ),
    ]);
    let hashes = rows().map(|row| [row as u8; 16]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "id",
            Arc::new(Int64Array::from_iter_values(rows().map(|row| row as i64))),
        ),
        ("text", Arc::new(texts)),
        ("tags", Arc::new(tags.finish())),
        ("payload", Arc::new(payload)),
        (
            "score",
            Arc::new(Float64Array::from_iter(
                rows().map(|row| (row % 9 > 0).then_some(row as f64 / 7.0)),
            )),
        ),
        (
            "good",
            Arc::new(BooleanArray::from_iter(
                rows().map(|row| Some(row % 3 == 0)),
            )),
        ),
        (
            "at",
            Arc::new(TimestampMicrosecondArray::from_iter_values(
                rows().map(|row| row as i64 * 1_000_003),
            )),
        ),
        (
            "hash",
            Arc::new(FixedSizeBinaryArray::try_from_iter(hashes).unwrap()),
        ),
    ];
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, column)| Field::new(*name, column.data_type().clone(), true))
        .collect();
    let columns = columns.into_iter().map(|(_, column)| column).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

fn written(table: &RecordBatch, properties: WriterProperties) -> Vec<u8> {
    let mut writer = ArrowWriter::try_new(Vec::new(), table.schema(), Some(properties)).unwrap();
    writer.write(table).unwrap();
    writer.into_inner().unwrap()
}

/// The body of a page that inflates to a text of `bytes` bytes, and how many the page has then.
pub(crate) fn bomb(codec: Compression, bytes: usize) -> (Vec<u8>, i64) {
    let text: ArrayRef = Arc::new(StringArray::from(vec!["a".repeat(bytes)]));
    let table = RecordBatch::try_from_iter([("text", text)]).unwrap();
    let properties = WriterProperties::builder()
        .set_compression(codec)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .build();
    let parts = crate::file::Parts::of(&written(&table, properties)).unwrap();
    let page = &parts.pages[0];
    let header = parts.header(page).unwrap();
    let size = crate::thrift::field(&header, 2).unwrap().int().unwrap();
    (parts.bytes()[page.body.clone()].to_vec(), size)
}
