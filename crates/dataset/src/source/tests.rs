//! What a footer says, which text columns are taken, and when a file is the same.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arrow_array::builder::{ListBuilder, MapBuilder, StringBuilder};
use arrow_array::types::Int64Type as ArrowInt64;
use arrow_array::{
    ArrayRef, FixedSizeBinaryArray, Int64Array, ListArray, StringArray, StructArray,
    TimestampMicrosecondArray,
};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::WriterProperties;

use super::*;
use crate::testing::{inspected, listed, shared, small, write, write_typed};

fn texts(count: usize) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(
        (0..count).map(|i| format!("text {i}")),
    ))
}

fn path(dir: &tempfile::TempDir, name: &str) -> PathBuf {
    dir.path().canonicalize().unwrap().join(name)
}

/// The error of `inspect`, without the path.
fn refusal(path: &Path, text: &str) -> String {
    let error = inspect(&listed(path), text).unwrap_err();
    assert!(error.refused(), "{error}");
    error
        .to_string()
        .replace(&path.display().to_string(), "FILE")
}

#[test]
fn the_footer_gives_rows_row_groups_and_schema() {
    let dir = tempfile::tempdir().unwrap();
    let file = path(&dir, "a.parquet");
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..25));
    write(&file, &[("id", ids), ("text", texts(25))], small(10));
    let source = inspected(&file, "text");
    assert_eq!(source.rows, 25);
    let rows: Vec<u64> = source.row_groups.iter().map(|group| group.rows).collect();
    assert_eq!(rows, [10, 10, 5]);
    for group in &source.row_groups {
        assert!(group.text_bytes > 0 && group.total_bytes > group.text_bytes);
    }
    assert!(
        source.schema.contains("OPTIONAL BYTE_ARRAY text (STRING);"),
        "{}",
        source.schema
    );
    let rows = [0, 9, 10, 24, 25].map(|row| source.row_group_of(row));
    assert_eq!(rows, [0, 0, 1, 2, 3]);
}

#[test]
fn columns_that_are_no_text_are_refused_with_their_type() {
    let dir = tempfile::tempdir().unwrap();
    let file = path(&dir, "a.parquet");
    let mut list = ListBuilder::new(StringBuilder::new());
    list.values().append_value("x");
    list.append(true);
    let mut map = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
    map.keys().append_value("k");
    map.values().append_value("v");
    map.append(true).unwrap();
    let numbers = ListArray::from_iter_primitive::<ArrowInt64, _, _>([Some([Some(1)])]);
    let stamp = TimestampMicrosecondArray::from(vec![1]).with_timezone("UTC");
    let uuid = FixedSizeBinaryArray::try_from_iter([[7_u8; 16]].into_iter()).unwrap();
    let inner: Vec<(&str, ArrayRef)> = vec![("text", texts(1)), ("tags", Arc::new(numbers))];
    let payload = StructArray::from(
        inner
            .into_iter()
            .map(|(name, array)| {
                let field = arrow_schema::Field::new(name, array.data_type().clone(), true);
                (Arc::new(field), array)
            })
            .collect::<Vec<_>>(),
    );
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from(vec![1]))),
        ("list", Arc::new(list.finish())),
        ("map", Arc::new(map.finish())),
        ("stamp", Arc::new(stamp)),
        ("fixed", Arc::new(uuid)),
        ("payload", Arc::new(payload)),
    ];
    write(&file, &columns, small(10));
    for (column, found) in [
        ("id", "int64 (INT64)"),
        ("list", "list<string> (group, LIST)"),
        ("map", "map<string, string> (group, MAP)"),
        ("stamp", "timestamp[us, UTC] (INT64)"),
        ("fixed", "fixed_size_binary[16] (FIXED_LEN_BYTE_ARRAY)"),
        ("payload", "struct<text: string, tags: list<int64>> (group)"),
        ("payload.tags", "list<int64> (group, LIST)"),
        (
            "list.list.item",
            "string (BYTE_ARRAY) inside of a list or map",
        ),
    ] {
        assert_eq!(
            refusal(&file, column),
            format!(
                "column `{column}` of `FILE` is {found}, expected a string or binary column; \
                 name another column in the manifest"
            )
        );
    }
    assert_eq!(
        refusal(&file, "text"),
        "column `text` not found in `FILE`; its columns are `id`, `list.list.item`, \
         `map.entries.key`, `map.entries.value`, `stamp`, `fixed`, `payload.text`, \
         `payload.tags.list.item`"
    );
    assert_eq!(inspected(&file, "payload.text").rows, 1);
}

#[test]
fn a_missing_column_lists_twenty_columns_and_counts_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let file = path(&dir, "a.parquet");
    let names: Vec<String> = (0..23).map(|i| format!("c{i}")).collect();
    let columns: Vec<(&str, ArrayRef)> = names.iter().map(|n| (n.as_str(), texts(1))).collect();
    write(&file, &columns, small(10));
    let text = refusal(&file, "text");
    assert!(text.ends_with("`c18`, `c19` and 3 more"), "{text}");
}

#[test]
fn annotations_decide_what_binary_is_text() {
    let dir = tempfile::tempdir().unwrap();
    for (annotation, taken) in [
        ("", true),
        ("UTF8", true),
        ("JSON", true),
        ("ENUM", true),
        ("BSON", false),
    ] {
        let file = path(&dir, &format!("x{annotation}.parquet"));
        let annotation = if annotation.is_empty() {
            String::new()
        } else {
            format!(" ({annotation})")
        };
        let schema = format!("message m {{ required binary text{annotation}; }}");
        write_typed::<ByteArrayType>(&file, &schema, &[ByteArray::from("x")], None);
        assert_eq!(
            inspect(&listed(&file), "text").is_ok(),
            taken,
            "{annotation}"
        );
    }
    let text = refusal(&path(&dir, "xBSON.parquet"), "text");
    let expected = "column `text` of `FILE` is Bson (BYTE_ARRAY), expected a string or binary column; \
         name another column in the manifest";
    assert_eq!(text, expected);
}

#[test]
fn names_with_dots_win_over_paths_and_duplicates_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = path(&dir, "twice.parquet");
    let schema = "message m { required binary text (UTF8); required binary text (UTF8); }";
    let writer = |file: &Path, schema: &str, columns: usize| {
        use parquet::file::writer::SerializedFileWriter;
        let schema = parquet::schema::parser::parse_message_type(schema).unwrap();
        let out = std::fs::File::create(file).unwrap();
        let mut writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        for index in 0..columns {
            let mut column = group.next_column().unwrap().unwrap();
            let value = ByteArray::from(format!("column {index}").as_str());
            column
                .typed::<ByteArrayType>()
                .write_batch(&[value], None, None)
                .unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
        writer.close().unwrap();
    };
    writer(&file, schema, 2);
    assert_eq!(
        refusal(&file, "text"),
        "`FILE` has 2 columns named `text`; rename all but one"
    );
    let file = path(&dir, "dots.parquet");
    let schema = "message m { required group a { required binary b (UTF8); } \
                  required binary a.b (UTF8); }";
    writer(&file, schema, 2);
    let source = inspected(&file, "a.b");
    let all = crate::testing::read_text(&source, "a.b").unwrap();
    assert_eq!(all, [Some(b"column 1".to_vec())]);
}

#[test]
fn the_fingerprint_decides_where_the_time_differs() {
    let dir = tempfile::tempdir().unwrap();
    let file = path(&dir, "a.parquet");
    let plain = || {
        WriterProperties::builder()
            .set_dictionary_enabled(false)
            .build()
    };
    write(&file, &[("text", texts(5000))], plain());
    let source = inspected(&file, "text");
    let same = |listed: &Listed| {
        let then = &source.listed;
        unchanged(
            listed,
            then.bytes,
            then.modified_ns,
            source.fingerprint,
            "text",
        )
        .unwrap()
    };
    assert!(same(&source.listed));

    let touch = |seconds: u64| {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let file = std::fs::File::options().write(true).open(&file).unwrap();
        file.set_modified(time).unwrap();
    };
    touch(1_000_000);
    let touched = listed(&file);
    assert_ne!(touched.modified_ns, source.listed.modified_ns);
    assert!(same(&touched));
    assert_eq!(inspected(&file, "text").fingerprint, source.fingerprint);

    // A reader that was given the old listing notices.
    let error = inspect(&source.listed, "text").unwrap_err().to_string();
    let expected = format!(
        "`{}` changed while the run was going on: its time of modification is another; run again \
         when nothing writes to the input",
        file.display()
    );
    assert_eq!(error, expected);

    // Another first byte of text, the same footer.
    let mut bytes = std::fs::read(&file).unwrap();
    let position = bytes
        .windows(6)
        .position(|window| window == b"text 0")
        .unwrap();
    bytes[position] = b'T';
    std::fs::write(&file, &bytes).unwrap();
    touch(2_000_000);
    assert!(!same(&listed(&file)));

    write(&file, &[("text", texts(10))], plain());
    assert!(!same(&listed(&file)));
}

#[test]
fn fingerprints_of_many_row_groups_see_the_first_and_the_last() {
    let dir = tempfile::tempdir().unwrap();
    let file = path(&dir, "a.parquet");
    let plain = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_max_row_group_row_count(Some(1))
        .build();
    write(&file, &[("text", texts(200))], plain);
    let before = inspected(&file, "text").fingerprint;
    let original = std::fs::read(&file).unwrap();
    for text in ["text 0", "text 199"] {
        let mut bytes = original.clone();
        let at = bytes
            .windows(text.len())
            .position(|window| window == text.as_bytes());
        bytes[at.unwrap()] = b'T';
        std::fs::write(&file, &bytes).unwrap();
        assert_ne!(inspected(&file, "text").fingerprint, before, "{text}");
    }
}

#[test]
fn the_hard_files_are_read_or_refused_as_they_should() {
    let Some(hard) = shared("hard") else { return };
    let error = |name: &str, text: &str| {
        let listed = listed(&hard.join(name));
        let read = inspect(&listed, text)
            .and_then(|source| crate::testing::read_text(&source, text).map(|_| ()));
        let error = read.unwrap_err();
        assert!(error.refused(), "{error}");
        let text = error.to_string();
        assert!(text.contains(name), "{text}");
        text
    };
    let not = "is not a Parquet file: ";
    for (name, part) in [
        (
            "bad/truncated.parquet",
            "it begins with PAR1 but does not end so; it was cut short",
        ),
        ("bad/truncated_footer.parquet", "it was cut short"),
        ("bad/text_renamed.parquet", "it does not begin with PAR1"),
        ("bad/empty_file.parquet", "it has 0 bytes"),
        ("bad/huge_footer_length.parquet", "but the file has 81854"),
    ] {
        let text = error(name, "text");
        assert!(text.contains(not) && text.contains(part), "{text}");
    }
    let text = error("bad/corrupt_pages.parquet", "text");
    assert!(text.contains(": row group 0, column `text`: "), "{text}");
    let text = error("missing_text_column.parquet", "text");
    assert!(
        text.contains("not found in") && text.contains("its columns are `id`, `body`"),
        "{text}"
    );
    let text = error("int_text_column.parquet", "text");
    assert!(
        text.contains("is int64 (INT64), expected a string"),
        "{text}"
    );
    let text = error("list_text_column.parquet", "text");
    assert!(
        text.contains("is list<string> (group, LIST), expected"),
        "{text}"
    );

    let mut read = 0;
    for file in crate::list(std::slice::from_ref(&hard)).unwrap().files {
        let name = file.relative.as_str();
        if name.starts_with("bad/")
            || ["missing_", "int_text", "list_"]
                .iter()
                .any(|p| name.starts_with(p))
        {
            continue;
        }
        let text = match name {
            "nested_payload_text.parquet" => "payload.text",
            "nested_null_parents.parquet" => "payload.text",
            _ => "text",
        };
        let source = inspect(&file, text).unwrap();
        let all = crate::testing::read_text(&source, text).unwrap();
        if name.starts_with("type_") && name != "type_dictionary.parquet"
            || name.starts_with("codec_")
        {
            assert_eq!(all[10], all[200], "{name}");
        }
        read += 1;
    }
    assert!(read > 30, "{read}");
}

#[test]
fn rows_that_the_text_column_does_not_have_are_refused() {
    use parquet::file::metadata::{FileMetaData, RowGroupMetaData};
    use parquet::schema::parser::parse_message_type;
    use parquet::schema::types::SchemaDescriptor;

    let schema = parse_message_type("message m { optional binary text (STRING); }").unwrap();
    let schema = Arc::new(SchemaDescriptor::new(Arc::new(schema)));
    let of = |rows: i64, values: i64| {
        let column = ColumnChunkMetaData::builder(schema.column(0))
            .set_num_values(values)
            .build()
            .unwrap();
        let group = RowGroupMetaData::builder(Arc::clone(&schema))
            .set_num_rows(rows)
            .set_column_metadata(vec![column])
            .build()
            .unwrap();
        let file = FileMetaData::new(2, rows, None, None, Arc::clone(&schema), None);
        let metadata = ParquetMetaData::new(file, vec![group]);
        row_groups(&metadata, Path::new("x.parquet"), 0).map_err(|error| error.to_string())
    };
    assert_eq!(of(3, 3).unwrap().len(), 1);
    let error = of(1 << 31, 3).unwrap_err();
    assert!(error.contains("x.parquet"), "{error}");
    assert!(
        error.contains("it has 2147483648 rows, but column `text` has 3 values"),
        "{error}"
    );
    let error = of(1 << 41, 1 << 41).unwrap_err();
    assert!(
        error.contains("its number of rows or the size of a column is impossible"),
        "{error}"
    );
}
