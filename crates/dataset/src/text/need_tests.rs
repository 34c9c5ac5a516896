//! What a batch takes is known before it is taken, and batches keep to it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};

use super::*;
use crate::testing::{inspected, read_text, write};

fn path(dir: &tempfile::TempDir) -> PathBuf {
    dir.path().canonicalize().unwrap().join("a.parquet")
}

fn texts(file: &Path, texts: &[String], properties: WriterPropertiesBuilder) -> Source {
    let array: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
    write(file, &[("text", array)], properties.build());
    inspected(file, "text")
}

/// Text that hardly compresses.
fn noise(bytes: usize, seed: u64) -> String {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        char::from(b'!' + (state >> 57) as u8 % 90)
    };
    (0..bytes).map(|_| next()).collect()
}

/// A page a value, without a dictionary.
fn page_a_value() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_write_batch_size(1)
        .set_data_page_row_count_limit(1)
}

#[test]
fn a_batch_ends_before_its_pages_are_too_many_whatever_came_before() {
    let dir = tempfile::tempdir().unwrap();
    // Many short values make steps of 64 rows, each of which is a page; then come long ones.
    let lengths: Vec<usize> = (0..400)
        .map(|i| if i < 300 { 10 } else { 60_000 })
        .collect();
    let values: Vec<String> = (0..).zip(&lengths).map(|(i, n)| noise(*n, i)).collect();
    let source = texts(&path(&dir), &values, page_a_value());
    let mut reader = TextReader::open(&source, "text", 0..1, 200_000).unwrap();
    let mut rows = 0;
    while let Some(need) = reader.need().unwrap() {
        assert!((200_000..=200_100).contains(&need.bytes), "{need:?}");
        assert_eq!((need.row, need.row_group, need.rows), (rows, 0, 1));
        let length = lengths[rows as usize] as u64;
        assert!(
            need.page_bytes >= length && need.page_bytes < length + 30,
            "{need:?}"
        );
        let batch = reader.next_batch().unwrap().unwrap();
        let bytes: usize = batch.values.iter().flatten().map(Bytes::len).sum();
        assert!(bytes <= 200_000, "{bytes}");
        rows += batch.values.len() as u64;
    }
    assert_eq!(rows, 400);
    assert!(reader.next_batch().unwrap().is_none());
}

#[test]
fn a_page_takes_what_is_stored_and_what_it_holds() {
    let dir = tempfile::tempdir().unwrap();
    let values = [noise(1_000_000, 1), "x".repeat(1_000_000)];
    for (codec, stored) in [
        (Compression::UNCOMPRESSED, [0, 0]),
        (Compression::SNAPPY, [1_000_000, 0]),
        (Compression::ZSTD(Default::default()), [800_000, 0]),
        (
            Compression::BROTLI(Default::default()),
            [2_800_000, 2_000_000],
        ),
    ] {
        let source = texts(&path(&dir), &values, page_a_value().set_compression(codec));
        let mut reader = TextReader::open(&source, "text", 0..1, 1000).unwrap();
        for stored in stored {
            let need = reader.need().unwrap().unwrap();
            let expected = 1_000_000 + stored;
            let allowed = expected..expected + 100_000;
            assert!(allowed.contains(&need.bytes), "{codec} {stored}: {need:?}");
            assert_eq!(reader.next_batch().unwrap().unwrap().values.len(), 1);
        }
    }
}

#[test]
fn a_large_dictionary_is_counted_and_read_again_where_it_was_given_back() {
    let dir = tempfile::tempdir().unwrap();
    // Pages of numbers that are large themselves, so that each is given back, and the dictionary with it.
    let entries: Vec<String> = (0..2000).map(|i| noise(200, i)).collect();
    let values: Vec<String> = (0..900_000_usize)
        .map(|i| entries[i.wrapping_mul(2_654_435_761) % 2000].clone())
        .collect();
    let properties = WriterProperties::builder()
        .set_data_page_row_count_limit(300_000)
        .set_max_row_group_row_count(None);
    let source = texts(&path(&dir), &values, properties);
    assert_eq!(source.row_groups.len(), 1);
    let mut reader = TextReader::open(&source, "text", 0..1, 10_000).unwrap();
    let (mut row, mut pages) = (0, 0);
    while let Some(need) = reader.need().unwrap() {
        // 2000 texts with their lengths, and as values.
        let dictionary = 2000 * (204 + 40);
        assert!(need.bytes >= dictionary + 250_000, "{need:?}");
        assert!(need.bytes <= dictionary + 1_500_000, "{need:?}");
        pages += u64::from(need.rows > 0);
        let batch = reader.next_batch().unwrap().unwrap();
        for value in batch.values {
            assert_eq!(value.as_deref(), Some(values[row].as_bytes()), "{row}");
            row += 1;
        }
    }
    assert_eq!(row, 900_000);
    assert!(pages >= 3, "{pages}");
}

#[test]
fn values_that_are_put_together_anew_come_few_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    // A page of 100 KiB that holds 64 values of 100 KiB.
    let common = noise(100_000, 1);
    let values: Vec<String> = (0..64).map(|i| format!("{common}{i}")).collect();
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::DELTA_BYTE_ARRAY);
    let source = texts(&path(&dir), &values, properties);
    assert!(source.row_groups[0].text_bytes < 200_000);
    let mut reader = TextReader::open(&source, "text", 0..1, 250_000).unwrap();
    let mut rows = 0;
    while let Some(need) = reader.need().unwrap() {
        let batch = reader.next_batch().unwrap().unwrap();
        let bytes: usize = batch.values.iter().flatten().map(Bytes::len).sum();
        assert!(bytes <= 500_000, "{bytes}");
        assert!(need.bytes >= 100_000 + bytes as u64 - 100_000, "{need:?}");
        rows += batch.values.len();
    }
    assert_eq!(rows, 64);
    let all = read_text(&source, "text").unwrap();
    assert!(
        all.iter()
            .zip(&values)
            .all(|(a, b)| a.as_deref() == Some(b.as_bytes()))
    );
}

/// Replaces the uncompressed size and the number of values in the header of the page at `offset` by others that take no
/// more bytes.
fn claim(file: &Path, offset: usize, uncompressed: u64, values: u64) {
    let mut bytes = std::fs::read(file).unwrap();
    let length =
        |bytes: &[u8], at: usize| bytes[at..].iter().take_while(|b| **b >= 0x80).count() + 1;
    let put = |bytes: &mut [u8], at: usize, value: u64| {
        let count = length(bytes, at);
        assert!(
            value << 1 < 1 << (7 * count),
            "{value} does not fit {count} bytes"
        );
        for (i, byte) in bytes[at..at + count].iter_mut().enumerate() {
            let more = if i + 1 < count { 0x80 } else { 0 };
            *byte = (value << 1 >> (7 * i)) as u8 & 0x7f | more;
        }
    };
    // Type, uncompressed size, compressed size, checksum if there is one, structure, number of values: the head of each
    // field takes a byte.
    let mut at = offset + 3;
    put(&mut bytes, at, uncompressed);
    at += length(&bytes, at) + 1;
    at += length(&bytes, at);
    while bytes[at] & 0x0f != 12 {
        at += 1 + length(&bytes, at + 1);
    }
    put(&mut bytes, at + 2, values);
    std::fs::write(file, bytes).unwrap();
}

#[test]
fn a_claim_in_a_header_is_seen_before_it_is_believed() {
    let dir = tempfile::tempdir().unwrap();
    let file = path(&dir);
    // Sizes of 5 bytes need a page of over 128 MiB, so the claim is one that 4 bytes hold.
    let values = vec!["x".repeat(2_000_000)];
    let properties = page_a_value().set_compression(Compression::ZSTD(Default::default()));
    let source = texts(&file, &values, properties);
    claim(&file, 4, (1 << 27) - 1, 1);
    let source = Source {
        listed: crate::testing::listed(&file),
        ..source
    };
    let mut reader = TextReader::open(&source, "text", 0..1, 1000).unwrap();
    let need = reader.need().unwrap().unwrap();
    assert!(need.bytes >= 1 << 27, "{need:?}");
    assert_eq!(
        (need.row, need.row_group, need.page_bytes),
        (0, 0, (1 << 27) - 1)
    );
    let error = reader.next_batch().unwrap_err().to_string();
    assert!(
        error.contains("row group 0, column `text`: "),
        "{error:.300}"
    );

    // A dictionary of more entries than its page can hold.
    let values: Vec<String> = (0..100).map(|i| format!("{i:03}")).collect();
    let source = texts(&file, &values, WriterProperties::builder());
    claim(&file, 4, 700, 8191);
    let source = Source {
        listed: crate::testing::listed(&file),
        ..source
    };
    let mut reader = TextReader::open(&source, "text", 0..1, 1000).unwrap();
    let error = reader.need().unwrap_err();
    assert!(error.refused());
    assert_eq!(
        error.to_string(),
        format!(
            "`{}`: row group 0, column `text`: the dictionary is said to have 8191 values in 700 bytes; the file is \
             damaged or of a kind that this version cannot read: write it again, or leave it out of input.paths",
            file.display()
        )
    );
}
