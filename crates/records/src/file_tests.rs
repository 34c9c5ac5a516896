//! Record files: round trips, searches, and every kind of damage.

use std::io::Cursor;

use proptest::prelude::*;

use super::*;
use crate::pods::{ExactCopy, Posting};

fn written(count: u64) -> Vec<u8> {
    let settings = BTreeMap::from([("band.rows".to_owned(), "6".to_owned())]);
    let mut writer = RecordWriter::new(Vec::new(), settings).unwrap();
    for i in 0..count {
        let record = Posting {
            key: i / 3 * 10,
            doc: i,
        };
        writer.push(&record).unwrap();
    }
    assert_eq!(writer.records(), count);
    let (bytes, records) = writer.finish().unwrap();
    assert_eq!(records, count);
    bytes
}

/// A disk that fills at once.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn no_buffer_hides_that_the_disk_is_full() {
    let buffer = io::BufWriter::with_capacity(1 << 20, Full);
    let mut writer = RecordWriter::new(buffer, BTreeMap::new()).unwrap();
    writer.push(&Posting::default()).unwrap();
    assert_eq!(
        writer.finish().map(|_| ()).unwrap_err().to_string(),
        "no storage space"
    );
}

fn open(bytes: &[u8]) -> Result<RecordReader<Cursor<&[u8]>, Posting>, FileError> {
    RecordReader::new(Cursor::new(bytes))
}

fn read_all(bytes: &[u8]) -> Result<Vec<Posting>, FileError> {
    let mut reader = open(bytes)?;
    let mut all = Vec::new();
    while let Some(record) = reader.next()? {
        all.push(record);
    }
    Ok(all)
}

const BLOCK: u64 = (BLOCK_BYTES / size_of::<Posting>()) as u64;

#[test]
fn records_come_back_in_order_at_every_block_border() {
    for count in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK] {
        let bytes = written(count);
        let all = read_all(&bytes).unwrap();
        assert_eq!(all.len() as u64, count);
        assert!(all.iter().enumerate().all(|(i, r)| r.doc == i as u64));
        let reader = open(&bytes).unwrap();
        assert_eq!(reader.len(), count);
        assert_eq!(reader.is_empty(), count == 0);
        assert_eq!(reader.provenance().settings["band.rows"], "6");
    }
}

#[test]
fn a_search_finds_the_first_record_not_before() {
    for count in [0, 1, BLOCK, 2 * BLOCK + 7] {
        let bytes = written(count);
        for wanted in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 6, 5 * BLOCK] {
            let mut reader = open(&bytes).unwrap();
            reader.seek(|record| record.doc < wanted).unwrap();
            let found = reader.next().unwrap().map(|record| record.doc);
            assert_eq!(
                found,
                (wanted < count).then_some(wanted),
                "{count} {wanted}"
            );
        }
    }
}

#[test]
fn another_kind_is_named() {
    let bytes = written(1);
    let error = RecordReader::<_, ExactCopy>::new(Cursor::new(&bytes)).unwrap_err();
    assert_eq!(error.to_string(), "it holds postings, not exact copies");
}

#[test]
fn other_files_are_not_read() {
    let text = vec![b'x'; 100];
    let error = open(&text).unwrap_err();
    assert_eq!(
        error.to_string(),
        "it is damaged: it does not begin as a record file does at byte 0"
    );
    let error = open(b"short").unwrap_err();
    assert_eq!(
        error.to_string(),
        "it is damaged: the file ends early at byte 0"
    );
}

#[test]
fn every_truncation_is_noticed_when_opened() {
    let bytes = written(50);
    for end in 0..bytes.len() {
        assert!(open(&bytes[..end]).is_err(), "cut to {end} bytes");
    }
}

#[test]
fn every_flipped_bit_is_noticed() {
    let bytes = written(20);
    for byte in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[byte] ^= 1 << bit;
            assert!(read_all(&changed).is_err(), "bit {bit} of byte {byte}");
        }
    }
}

#[test]
fn blocks_that_change_places_are_noticed() {
    let bytes = written(2 * BLOCK);
    let reader = open(&bytes).unwrap();
    let (first, size) = (
        reader.header_bytes as usize,
        BLOCK_HEADER_BYTES + BLOCK_BYTES,
    );
    let mut changed = bytes.clone();
    changed[first..first + size].copy_from_slice(&bytes[first + size..first + 2 * size]);
    changed[first + size..first + 2 * size].copy_from_slice(&bytes[first..first + size]);
    assert!(read_all(&changed).is_err());
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(read_all(&bytes).is_err());
    }

    #[test]
    fn spliced_bytes_never_give_other_records(
        at in 0usize..2000, patch in proptest::collection::vec(any::<u8>(), 1..40),
    ) {
        let bytes = written(100);
        let mut changed = bytes.clone();
        let at = at % bytes.len();
        let end = (at + patch.len()).min(bytes.len());
        changed[at..end].copy_from_slice(&patch[..end - at]);
        if let Ok(all) = read_all(&changed) {
            prop_assert_eq!(all, read_all(&bytes).unwrap());
        }
    }
}
