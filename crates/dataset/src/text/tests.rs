//! Text of every kind, by batches.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::types::Int32Type as ArrowInt32;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, DictionaryArray, LargeBinaryArray,
    LargeStringArray, StringArray, StringViewArray, StructArray,
};
use arrow_schema::{DataType, Field};
use parquet::basic::{Compression, Encoding};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::{WriterProperties, WriterVersion};

use super::*;
use crate::testing::{inspected, read_text, small, write, write_typed};

fn path(dir: &tempfile::TempDir, name: &str) -> PathBuf {
    dir.path().canonicalize().unwrap().join(name)
}

fn sample() -> Vec<Option<String>> {
    (0..200)
        .map(|i| match i % 9 {
            3 => None,
            5 => Some(String::new()),
            7 => Some("repeated".to_owned()),
            _ => Some(format!("ünï {i} {}", "x".repeat(i * 3 % 80))),
        })
        .collect()
}

fn expected() -> Vec<Option<Vec<u8>>> {
    sample()
        .into_iter()
        .map(|text| text.map(String::into_bytes))
        .collect()
}

#[test]
fn every_arrow_type_of_text_gives_equal_results() {
    let dir = tempfile::tempdir().unwrap();
    let file = path(&dir, "a.parquet");
    let strings = sample();
    let refs = || strings.iter().map(Option::as_deref);
    let bytes = || refs().map(|text| text.map(str::as_bytes));
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter(refs())),
        Arc::new(LargeStringArray::from_iter(refs())),
        Arc::new(StringViewArray::from_iter(refs())),
        Arc::new(BinaryArray::from_iter(bytes())),
        Arc::new(LargeBinaryArray::from_iter(bytes())),
        Arc::new(BinaryViewArray::from_iter(bytes())),
        Arc::new(DictionaryArray::<ArrowInt32>::from_iter(refs())),
    ];
    for array in arrays {
        for rows in [1, 33, 1000] {
            write(&file, &[("text", Arc::clone(&array))], small(rows));
            let source = inspected(&file, "text");
            assert_eq!(source.row_groups.len(), 200_usize.div_ceil(rows));
            let read = read_text(&source, "text").unwrap();
            assert_eq!(read, expected(), "{}", array.data_type());
        }
    }
}

#[test]
fn every_codec_page_version_and_encoding_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let file = path(&dir, "a.parquet");
    let array: ArrayRef = Arc::new(StringArray::from(sample()));
    let read = |properties: WriterProperties| {
        write(&file, &[("text", Arc::clone(&array))], properties);
        read_text(&inspected(&file, "text"), "text").unwrap()
    };
    for codec in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::BROTLI(Default::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::ZSTD(Default::default()),
    ] {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            let properties = WriterProperties::builder()
                .set_compression(codec)
                .set_writer_version(version)
                .set_data_page_row_count_limit(30)
                .set_write_batch_size(10)
                .build();
            assert_eq!(read(properties), expected(), "{codec} {version:?}");
        }
    }
    for encoding in [
        Encoding::PLAIN,
        Encoding::DELTA_BYTE_ARRAY,
        Encoding::DELTA_LENGTH_BYTE_ARRAY,
    ] {
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(false)
            .set_encoding(encoding)
            .build();
        assert_eq!(read(properties), expected(), "{encoding}");
    }
}

#[test]
fn a_null_parent_is_a_null_text() {
    let dir = tempfile::tempdir().unwrap();
    let file = path(&dir, "a.parquet");
    let texts: ArrayRef = Arc::new(StringArray::from(vec![
        Some("a"),
        Some("hidden"),
        None,
        Some(""),
        Some("b"),
    ]));
    let field = Field::new("text", DataType::Utf8, true);
    let valid = vec![true, false, true, true, true];
    let inner = StructArray::new(vec![field].into(), vec![texts], Some(valid.into()));
    let field = Field::new("inner", inner.data_type().clone(), true);
    let valid = vec![true, true, true, true, false];
    let outer = StructArray::new(
        vec![field].into(),
        vec![Arc::new(inner)],
        Some(valid.into()),
    );
    write(&file, &[("outer", Arc::new(outer))], small(2));
    let source = inspected(&file, "outer.inner.text");
    let read = read_text(&source, "outer.inner.text").unwrap();
    assert_eq!(
        read,
        [Some(b"a".to_vec()), None, None, Some(Vec::new()), None]
    );
}

#[test]
fn required_columns_no_rows_and_no_row_groups() {
    let dir = tempfile::tempdir().unwrap();
    let file = path(&dir, "required.parquet");
    let values = [
        ByteArray::from("a"),
        ByteArray::from(""),
        ByteArray::from("c"),
    ];
    let schema = "message m { required binary text; }";
    write_typed::<ByteArrayType>(&file, schema, &values, None);
    let read = read_text(&inspected(&file, "text"), "text").unwrap();
    assert_eq!(
        read,
        [Some(b"a".to_vec()), Some(Vec::new()), Some(b"c".to_vec())]
    );

    let file = path(&dir, "rows.parquet");
    write_typed::<ByteArrayType>(&file, schema, &[], None);
    let source = inspected(&file, "text");
    assert_eq!((source.rows, source.row_groups.len()), (0, 1));
    assert_eq!(
        read_text(&source, "text").unwrap(),
        Vec::<Option<Vec<u8>>>::new()
    );

    let file = path(&dir, "groups.parquet");
    let none: ArrayRef = Arc::new(StringArray::from(Vec::<&str>::new()));
    write(&file, &[("text", none)], small(2));
    let source = inspected(&file, "text");
    assert_eq!((source.rows, source.row_groups.len()), (0, 0));
    assert_eq!(
        read_text(&source, "text").unwrap(),
        Vec::<Option<Vec<u8>>>::new()
    );
}

#[test]
fn a_range_of_row_groups_begins_at_its_row() {
    let dir = tempfile::tempdir().unwrap();
    let file = path(&dir, "a.parquet");
    let array: ArrayRef = Arc::new(StringArray::from(sample()));
    write(&file, &[("text", array)], small(30));
    let source = inspected(&file, "text");
    let mut reader = TextReader::open(&source, "text", 2..4, 100).unwrap();
    let mut rows = Vec::new();
    while let Some(batch) = reader.next_batch().unwrap() {
        for (row, value) in (batch.first_row..).zip(batch.values) {
            assert_eq!(value.as_deref(), expected()[row as usize].as_deref());
            rows.push(row);
        }
    }
    assert_eq!(rows, (60..120).collect::<Vec<_>>());
    assert!(reader.next_batch().unwrap().is_none());
    let beyond = Range { start: 9, end: 3 };
    let mut reader = TextReader::open(&source, "text", beyond, 100).unwrap();
    assert!(reader.next_batch().unwrap().is_none());
}

#[test]
fn batches_keep_to_their_size_where_lengths_vary() {
    let dir = tempfile::tempdir().unwrap();
    let file = path(&dir, "a.parquet");
    let size = |i: usize| {
        if (6000..6100).contains(&i) {
            50_000
        } else {
            10
        }
    };
    let array = StringArray::from_iter_values((0..12_000).map(|i| "x".repeat(size(i))));
    write(
        &file,
        &[("text", Arc::new(array))],
        WriterProperties::default(),
    );
    let source = inspected(&file, "text");
    let mut reader = TextReader::open(&source, "text", 0..1, 100_000).unwrap();
    let (mut rows, mut largest, mut most) = (0, 0, 0);
    while let Some(batch) = reader.next_batch().unwrap() {
        rows += batch.values.len();
        most = most.max(batch.values.len());
        if batch.first_row >= 6070 && batch.first_row + (batch.values.len() as u64) < 6100 {
            largest = largest.max(batch.values.iter().flatten().map(Bytes::len).sum());
        }
    }
    assert_eq!(rows, 12_000);
    // Short texts come by the thousand; once the long ones were noticed, two at a time.
    assert_eq!(most, 4096);
    assert!(largest > 0 && largest <= 4 * 50_000, "{largest}");
}

#[test]
fn text_that_is_not_utf8_is_refused_by_place_or_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let file = path(&dir, "a.parquet");
    let bad = b"ab\xff\xc3\xa4";
    let values: Vec<&[u8]> = (0..10)
        .map(|i| if i == 7 { &bad[..] } else { b"ok" })
        .collect();
    write(
        &file,
        &[("text", Arc::new(BinaryArray::from(values)))],
        small(4),
    );
    let source = inspected(&file, "text");
    let all = read_text(&source, "text").unwrap();
    let value = all[7].as_deref().unwrap();
    let error = utf8(&source, "text", 7, value, OnBadText::Refuse).unwrap_err();
    assert!(error.refused());
    assert_eq!(
        error.to_string(),
        format!(
            "`{}`: row group 1, row 7 of the file, column `text`: the text is not UTF-8 at byte 2; \
             correct it, or set input.on_bad_text = \"replace\"",
            file.display()
        )
    );
    let text = utf8(&source, "text", 7, value, OnBadText::Replace).unwrap();
    assert_eq!(text, "ab\u{fffd}ä");
    let text = utf8(&source, "text", 0, b"ok", OnBadText::Refuse).unwrap();
    assert!(matches!(text, Cow::Borrowed("ok")));
}

#[test]
fn damaged_pages_are_errors_and_never_panics() {
    let dir = tempfile::tempdir().unwrap();
    let file = path(&dir, "a.parquet");
    let array: ArrayRef = Arc::new(StringArray::from(sample()));
    write(&file, &[("text", array)], small(50));
    let bytes = std::fs::read(&file).unwrap();
    let mut failed = 0;
    for position in (4..bytes.len() - 8).step_by(3) {
        let mut damaged = bytes.clone();
        damaged[position] ^= 0x55;
        std::fs::write(&file, &damaged).unwrap();
        let Ok(source) = crate::inspect(&crate::testing::listed(&file), "text") else {
            failed += 1;
            continue;
        };
        let mut reader = match TextReader::open(&source, "text", 0..usize::MAX, 4096) {
            Ok(reader) => reader,
            Err(error) => panic!("{error}"),
        };
        loop {
            match reader.next_batch() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => {
                    assert!(error.refused(), "{error}");
                    let text = error.to_string();
                    assert!(
                        text.contains("row group ") && text.contains("column `text`"),
                        "{text}"
                    );
                    failed += 1;
                    break;
                }
            }
        }
    }
    assert!(failed > 100, "{failed}");
}

#[test]
fn a_chunk_with_other_rows_than_its_row_group_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = path(&dir, "a.parquet");
    let values: Vec<ByteArray> = (0..5).map(|_| ByteArray::from("x")).collect();
    write_typed::<ByteArrayType>(&file, "message m { required binary text; }", &values, None);
    let bytes = std::fs::read(&file).unwrap();
    let (length, _) = bytes[bytes.len() - 8..].split_at(4);
    let length = u32::from_le_bytes(length.try_into().unwrap()) as usize;
    let start = bytes.len() - 8 - length;
    for (rows, message) in [
        (
            4,
            "row group 0, column `text`: it has more rows than its row group, 4; ",
        ),
        (
            6,
            "row group 0, column `text`: it ends after 5 rows, but its row group has 6; ",
        ),
    ] {
        // Every 5 rows in the footer become as many as said: a zigzag varint, so twice the number.
        let mut changed = bytes.clone();
        let mut found = 0;
        for position in start..changed.len() - 8 {
            // i64 fields of FileMetaData (num_rows) and RowGroup (num_rows).
            if changed[position] == 0x16 && changed[position + 1] == 10 {
                changed[position + 1] = rows * 2;
                found += 1;
            }
        }
        assert!(found >= 2, "{found}");
        std::fs::write(&file, &changed).unwrap();
        let source = inspected(&file, "text");
        assert_eq!(source.rows, u64::from(rows));
        let text = read_text(&source, "text").unwrap_err().to_string();
        assert!(text.contains(message), "{text}");
    }
}

#[test]
fn a_file_that_changed_since_it_was_inspected_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = path(&dir, "a.parquet");
    let array: ArrayRef = Arc::new(StringArray::from(sample()));
    write(&file, &[("text", Arc::clone(&array))], small(50));
    let source = inspected(&file, "text");
    let refusal = |source: &Source| {
        let error = TextReader::open(source, "text", 0..1, 100).err().unwrap();
        assert!(error.refused());
        error.to_string()
    };
    let changed = |found: &str| {
        let file = file.display();
        format!(
            "`{file}` changed while the run was going on: {found}; run again when nothing writes \
             to the input"
        )
    };
    let mut other = source.clone();
    other.row_groups[2].rows += 1;
    assert_eq!(
        refusal(&other),
        changed("its row groups are others than before")
    );

    let before = source.listed.bytes;
    write(&file, &[("text", array.slice(0, 100))], small(50));
    let after = std::fs::metadata(&file).unwrap().len();
    assert_eq!(
        refusal(&source),
        changed(&format!("it had {before} bytes and has {after}"))
    );

    std::fs::remove_file(&file).unwrap();
    let gone = format!("`{}` does not exist; correct input.paths", file.display());
    assert_eq!(refusal(&source), gone);
}
