//! The footer's column orders, statistics under another order, and selections.

use std::path::Path;
use std::sync::Arc;

use parquet::basic::{ColumnOrder, Compression, SortOrder};
use parquet::column::writer::{ColumnCloseResult, ColumnWriter, get_column_writer};
use parquet::data_type::Int96;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::SchemaDescriptor;

use super::Picks;
use crate::rewrite::copy::put_in_order;
use crate::rewrite::footer::set_column_orders;
use crate::rewrite::lost;
use crate::rewrite::output::Output;
use crate::rewrite::selection::Selection;

/// The end of a file with `leaves` columns after `before`, as the crate writes it.
fn end(before: &[u8], field: u8, header: &[u8], leaves: usize) -> Vec<u8> {
    let mut bytes = before.to_vec();
    bytes.push(field);
    bytes.extend(header);
    bytes.extend([0x2C, 0, 0].repeat(leaves));
    bytes.push(0);
    let length = bytes.len() as u32;
    bytes.extend(length.to_le_bytes());
    bytes.extend(b"PAR1");
    bytes
}

#[test]
fn column_orders_are_set_or_taken_out() {
    let typed = ColumnOrder::TYPE_DEFINED_ORDER(SortOrder::SIGNED);
    for (leaves, field, header) in [
        (1, 0x19, vec![0x1C]),
        (14, 0x39, vec![0xEC]),
        (15, 0x29, vec![0xFC, 15]),
        (300, 0x19, vec![0xFC, 0xAC, 0x02]),
    ] {
        let mut bytes = end(b"fields", field, &header, leaves);
        set_column_orders(&mut bytes, leaves, Some(&vec![typed; leaves])).unwrap();
        let at = 7 + header.len();
        assert_eq!(bytes[at..at + 3 * leaves], [0x1C, 0, 0].repeat(leaves));
        assert_eq!(bytes.len(), end(b"fields", field, &header, leaves).len());

        set_column_orders(&mut bytes, leaves, None).unwrap();
        assert_eq!(bytes, b"fields\0\x07\0\0\0PAR1");
        let error = set_column_orders(&mut bytes, leaves, None).unwrap_err();
        assert_eq!(
            error,
            "the written footer does not end in its column orders"
        );
    }
}

/// The description of a chunk of `values`.
fn close(message: &str, put: impl FnOnce(&mut ColumnWriter<'_>)) -> ColumnCloseResult {
    let root = parse_message_type(&format!("message m {{ required {message} a; }}")).unwrap();
    let descr = SchemaDescriptor::new(Arc::new(root)).column(0);
    let mut sink = TrackedWrite::new(Vec::new());
    let properties = WriterProperties::builder().set_compression(Compression::UNCOMPRESSED);
    let pages = Box::new(SerializedPageWriter::new(&mut sink));
    let mut writer = get_column_writer(descr, Arc::new(properties.build()), pages);
    put(&mut writer);
    writer.close().unwrap()
}

fn floats(values: &[f32]) -> ColumnCloseResult {
    close("float", |writer| {
        let ColumnWriter::FloatColumnWriter(writer) = writer else {
            unreachable!()
        };
        writer.write_batch(values, None, None).unwrap();
    })
}

/// Whether the chunk has bounds and a column index.
fn has(close: &ColumnCloseResult) -> (bool, bool) {
    let statistics = close.metadata.statistics().unwrap();
    (
        statistics.min_bytes_opt().is_some(),
        close.column_index.is_some(),
    )
}

#[test]
fn bounds_that_another_order_does_not_allow_are_left_out() {
    let typed = Some(ColumnOrder::TYPE_DEFINED_ORDER(SortOrder::SIGNED));
    let total = Some(ColumnOrder::IEEE_754_TOTAL_ORDER);
    let some = [1.0, f32::NAN, -2.0];
    assert_eq!(
        has(&put_in_order(floats(&some), typed).unwrap()),
        (true, true)
    );
    let all = [f32::NAN, -f32::NAN];
    assert_eq!(
        has(&put_in_order(floats(&all), typed).unwrap()),
        (false, false)
    );
    assert_eq!(
        has(&put_in_order(floats(&all), None).unwrap()),
        (false, false)
    );
    assert_eq!(
        has(&put_in_order(floats(&all), total).unwrap()),
        (true, true)
    );

    let old = || {
        close("int96", |writer| {
            let ColumnWriter::Int96ColumnWriter(writer) = writer else {
                unreachable!()
            };
            writer.write_batch(&[Int96::new()], None, None).unwrap();
        })
    };
    assert_eq!(has(&put_in_order(old(), typed).unwrap()), (false, false));
    let by_time = Some(ColumnOrder::INT96_TIMESTAMP_ORDER);
    assert_eq!(has(&put_in_order(old(), by_time).unwrap()), (true, true));
}

#[test]
fn a_selection_counts_what_it_keeps() {
    let picks = Picks::dropping(1000, |row| row % 64 == 63);
    let selection = Selection::read(Path::new("x"), &picks, 60..260).unwrap();
    assert_eq!((selection.rows(), selection.kept()), (200, 196));
    assert!(!selection.is_whole());
    assert!(selection.keeps(2) && !selection.keeps(3) && selection.keeps(4));
    assert!(
        Selection::read(Path::new("x"), &picks, 64..127)
            .unwrap()
            .is_whole()
    );
    assert!(Selection::all(0).is_whole());
}

#[test]
fn what_the_crate_would_lose_is_found() {
    // FileMetaData { version, row_groups: [RowGroup { columns: [ColumnChunk { meta_data }] }] }
    let footer = |chunk: &[u8], file: &[u8]| {
        let mut bytes = vec![0x15, 0x02, 0x39, 0x1C, 0x19, 0x1C, 0x3C];
        bytes.extend(chunk);
        bytes.extend([0, 0, 0]);
        bytes.extend(file);
        bytes.push(0);
        bytes
    };
    assert_eq!(lost::find(&footer(&[0x15, 0x02], &[])), None);
    let extension = [0x08, 0xFE, 0xFF, 0x03, 0x01, 0x00];
    assert_eq!(lost::find(&footer(&[], &extension)), None);
    assert_eq!(
        lost::find(&footer(&[0x89, 0x1C, 0x18, 0x01, b'k', 0x00], &[])).unwrap(),
        "a column chunk has key-value metadata of its own"
    );
    assert_eq!(
        lost::find(&footer(&[], &[0x65, 0x02])).unwrap(),
        "its footer has a field 10 of FileMetaData that this version does not know"
    );
    assert_eq!(
        lost::find(&footer(&[], &[])[..8]).unwrap(),
        "its footer cannot be read to its end"
    );
}

#[test]
fn a_failing_disk_is_told_from_a_bad_input() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("read_only");
    std::fs::write(&path, b"").unwrap();
    let file = std::fs::File::open(&path).unwrap();
    let mut output = Output::over(&path, file).unwrap();
    let error = output.write(&vec![0; 3 << 20], Vec::new()).unwrap_err();
    let start = format!("cannot write `{}`: ", path.display());
    assert!(error.to_string().starts_with(&start), "{error}");
    assert!(!error.refused());
}
