//! The readers of our own formats, and the reading of input files, in this process.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;

use dataset::{LabelReader, RankKind, RankReader, TextReader};
use records::file::{RecordReader, RecordWriter};
use records::pods::{Decision, Edge, ExactCopy, Posting, Record};
use records::{Pipeline, Stage};
use tests::Random;
use workdir::{Journal, Receipt, WorkDir};

/// What a text batch may take here.
const BATCH_BYTES: u64 = 1 << 20;
/// Where a reader says that it needs more, it is not asked to go on.
const MEMORY_BYTES: u64 = 48 << 20;

/// A record file of some records.
fn record_file<R: Record>(records: usize) -> Vec<u8> {
    let settings = BTreeMap::from([("band.rows".to_owned(), "6".to_owned())]);
    let mut writer = RecordWriter::<_, R>::new(Vec::new(), settings).unwrap();
    for number in 0..records {
        let mut record = R::zeroed();
        bytemuck::bytes_of_mut(&mut record).fill(number as u8);
        writer.push(&record).unwrap();
    }
    writer.finish().unwrap().0
}

fn read_records<R: Record>(bytes: &[u8], random: &mut Random) -> Result<u64, String> {
    let said = |error: records::file::FileError| {
        let text = error.to_string();
        assert!(!text.is_empty());
        text
    };
    let mut reader = RecordReader::<_, R>::new(Cursor::new(bytes)).map_err(said)?;
    assert!(
        reader.len() <= bytes.len() as u64,
        "{} records",
        reader.len()
    );
    if random.one_in(3) {
        let border = random.bits();
        let first = |record: &R| bytemuck::bytes_of(record)[0] < border as u8;
        reader.seek(first).map_err(said)?;
    }
    let mut records = 0;
    while reader.next().map_err(said)?.is_some() {
        records += 1;
    }
    Ok(records)
}

/// Changes some bytes.
fn damage(good: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = good.to_vec();
    for _ in 0..1 + random.below(3) {
        let at = random.below(bytes.len().max(1));
        match random.below(6) {
            0 => bytes.truncate(at),
            1 => bytes.extend_from_slice(&good[at.min(good.len())..]),
            2 => {
                let end = (at + random.below(40)).min(bytes.len());
                bytes[at.min(end)..end].fill([0, 0xff][random.below(2)]);
            }
            3 if at < bytes.len() => bytes[at] = random.bits() as u8,
            4 => {
                let end = (at + random.below(100)).min(bytes.len());
                bytes.drain(at.min(end)..end);
            }
            _ if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            _ => {}
        }
    }
    bytes
}

/// As [`damage`], with checksums that fit again, so that what stands behind them is looked at.
fn damage_proven(good: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = good.to_vec();
    let header = 24 + u32::from_le_bytes(good[8..12].try_into().unwrap()) as usize;
    let place = match random.below(3) {
        0 => 8 + random.below(16),
        1 => 24 + random.below(header - 24),
        _ => good.len() - 24 + random.below(16),
    };
    let value = [0, 0xff, 0x7f, random.bits() as u8][random.below(4)];
    bytes[place] = value;
    if random.one_in(2) {
        let end = (place + 8).min(bytes.len() - 8);
        bytes[place.min(end)..end].fill(value);
    }
    let sum = xxhash_rust::xxh3::xxh3_64(&bytes[..header]);
    bytes[header..header + 8].copy_from_slice(&sum.to_le_bytes());
    let counts = bytes.len() - 24;
    let last = xxhash_rust::xxh3::xxh3_64_with_seed(&bytes[counts..counts + 16], sum);
    bytes[counts + 16..].copy_from_slice(&last.to_le_bytes());
    bytes
}

/// Damages record files of every kind, and reads them as every kind.
pub(crate) fn record_files(cases: usize, random: &mut Random) {
    let files = [0, 1, 30, 5000].map(|records| {
        [
            record_file::<Posting>(records),
            record_file::<ExactCopy>(records),
            record_file::<Edge>(records),
            record_file::<Decision>(records),
        ]
    });
    for _ in 0..cases {
        let kind = random.below(4);
        let good = &files[random.below(4)][kind];
        let bad = match random.one_in(2) {
            true => damage(good, random),
            false => damage_proven(good, random),
        };
        let kind = if random.one_in(10) {
            random.below(4)
        } else {
            kind
        };
        let read = match kind {
            0 => read_records::<Posting>(&bad, random),
            1 => read_records::<ExactCopy>(&bad, random),
            2 => read_records::<Edge>(&bad, random),
            _ => read_records::<Decision>(&bad, random),
        };
        // A proven file with other settings is one; of the records nothing may be lost.
        assert!(bad == *good || read.is_err() || bad[..8] == good[..8]);
    }
}

/// Damages a manifest with every key.
pub(crate) fn manifests(cases: usize, folder: &Path, random: &mut Random) {
    let mut good = String::new();
    let mut table = "";
    let keys = manifest::reference();
    for key in &keys {
        if key.table != table {
            good.push_str(&format!("[{}]\n", key.table));
            table = key.table;
        }
        let value = ["\"a\"", "1", "[\"a\"]", "\"8GiB\"", "0.5", "true"][random.below(6)];
        good.push_str(&format!("{} = {value}\n", key.key));
    }
    let path = folder.join("pipeline.toml");
    let plain = "[input]\npaths = \"data\"\n[filter]\noutput = \"out\"\n";
    for _ in 0..cases {
        let text = if random.one_in(2) { &good } else { plain };
        std::fs::write(&path, damage(text.as_bytes(), random)).unwrap();
        let loaded: Result<Pipeline, _> =
            manifest::load(&path, &[], &|_| Some("value".to_owned()), folder);
        if let Err(error) = loaded {
            assert!(!error.to_string().is_empty());
        }
    }
}

/// Damages the receipts and journals of a work folder.
pub(crate) fn receipts(cases: usize, work: &Path, random: &mut Random) {
    let files = tests::files_below(&work.join("receipts"));
    assert!(files.len() >= 6, "{:?}", files.keys());
    let names: Vec<&String> = files.keys().collect();
    let folder = WorkDir::at(work);
    for _ in 0..cases {
        let name = names[random.below(names.len())];
        let path = work.join("receipts").join(name);
        std::fs::write(&path, damage(&files[name], random)).unwrap();
        for stage in Stage::ALL {
            let _ = Receipt::load(&folder, stage);
            let _ = Journal::extent(&folder, stage, "id");
        }
        std::fs::write(&path, &files[name]).unwrap();
    }
}

/// Reads a file as the stages do: footer, text, and the columns that documents are named and ranked by. Says how many
/// rows came.
pub(crate) fn input_file(path: &Path, text: &str) -> Result<u64, dataset::Error> {
    let listing = dataset::list(&[path.to_owned()])?;
    let source = dataset::inspect(&listing.files[0], text)?;
    let mut rows = 0;
    let mut reader = TextReader::open(&source, text, 0..source.row_groups.len(), BATCH_BYTES)?;
    while let Some(need) = reader.need()? {
        if need.bytes > MEMORY_BYTES {
            break;
        }
        let Some(batch) = reader.next_batch()? else {
            break;
        };
        for (value, row) in batch.values.iter().zip(batch.first_row..) {
            let Some(value) = value else { continue };
            let mode = records::settings::OnBadText::Replace;
            dataset::utf8(&source, text, row, value, mode)?;
        }
        rows += batch.values.len() as u64;
    }
    for column in ["id", "hash", "good"] {
        let read = || -> Result<(), dataset::Error> {
            let mut reader = LabelReader::open(&source, column)?;
            while reader.next_batch()?.is_some() {}
            Ok(())
        };
        typed(read());
    }
    for (column, kind) in [("score", RankKind::Best), ("at", RankKind::Earliest)] {
        let read = || -> Result<(), dataset::Error> {
            let mut reader = RankReader::open(&source, column, kind)?;
            while reader.next_batch()?.is_some() {}
            Ok(())
        };
        typed(read());
    }
    Ok(rows)
}

fn typed(result: Result<(), dataset::Error>) {
    if let Err(error) = result {
        assert!(error.refused() && !error.to_string().is_empty(), "{error}");
    }
}
