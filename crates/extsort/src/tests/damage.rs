//! Run files that are altered behind the sort's back, and disks that refuse.

use std::fs::{self, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::{TempDir, TempPath};

use super::{config, drain, files, push_all, random_records, tuning};
use crate::run::{Run, RunWriter, Shape};
use crate::{Error, Sorter};

/// Bytes of a block of two records of two words.
const BLOCK_BYTES: u64 = 40 + 2 * 2 * 8;

/// A sort that wrote one run of six records, in three blocks, and has a seventh in its buffer.
fn one_run() -> (TempDir, Sorter, PathBuf, Vec<Vec<u64>>) {
    let folder = tempfile::tempdir().unwrap();
    let mut records = random_records(7, 7, 2);
    let mut sorter = Sorter::with_tuning(config(folder.path(), 2, 1), tuning(6, 2, 4));
    push_all(&mut sorter, &records).unwrap();
    let run = files(folder.path()).remove(0);
    assert_eq!(fs::metadata(&run).unwrap().len(), 3 * BLOCK_BYTES);
    records.sort();
    (folder, sorter, run, records)
}

/// Finishes and reads; the records before the error must be right.
fn read(sorter: Sorter, expected: &[Vec<u64>]) -> Option<Error> {
    let mut sorted = match sorter.finish() {
        Ok(sorted) => sorted,
        Err(error) => return Some(error),
    };
    let (found, error) = drain(&mut sorted);
    assert_eq!(found, expected[..found.len()]);
    assert_eq!(error.is_none(), found.len() == expected.len());
    error
}

/// Flips a bit in place.
fn flip(path: &Path, bit: u64) {
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    let mut byte = [0];
    file.seek(SeekFrom::Start(bit / 8)).unwrap();
    file.read_exact(&mut byte).unwrap();
    byte[0] ^= 1 << (bit % 8);
    file.seek(SeekFrom::Start(bit / 8)).unwrap();
    file.write_all(&byte).unwrap();
}

#[test]
fn every_flipped_bit_is_noticed() {
    for bit in 0..3 * BLOCK_BYTES * 8 {
        let (folder, sorter, run, expected) = one_run();
        flip(&run, bit);
        match read(sorter, &expected) {
            Some(Error::Corrupt { path, offset, .. }) => {
                assert_eq!((path, offset), (run, bit / 8 / BLOCK_BYTES * BLOCK_BYTES));
            }
            other => panic!("bit {bit}: {other:?}"),
        }
        assert!(files(folder.path()).is_empty());
    }
}

#[test]
fn every_truncation_is_noticed() {
    for len in 0..3 * BLOCK_BYTES {
        let (_folder, sorter, run, expected) = one_run();
        OpenOptions::new()
            .write(true)
            .open(&run)
            .unwrap()
            .set_len(len)
            .unwrap();
        let text = read(sorter, &expected).unwrap().to_string();
        assert_eq!(
            text,
            format!(
                "the sort run {} is damaged at byte {}: expected a block of {BLOCK_BYTES} bytes, found {} bytes before \
                 the end of the file; check the disk and what else writes to that folder, and run again",
                run.display(),
                len / BLOCK_BYTES * BLOCK_BYTES,
                len % BLOCK_BYTES
            )
        );
    }
}

#[test]
fn blocks_in_another_place_are_noticed() {
    let block = BLOCK_BYTES as usize;
    let (_folder, sorter, run, expected) = one_run();
    let mut bytes = fs::read(&run).unwrap();
    bytes.copy_within(block..2 * block, 2 * block);
    fs::write(&run, bytes).unwrap();
    let text = read(sorter, &expected).unwrap().to_string();
    let found = "expected block 2 of run 0 with 2 records (magic 3174726f73747865), found block 1 of run 0 with 2 records";
    assert!(text.contains(found), "{text}");
}

#[test]
fn exchanged_runs_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let records = random_records(8, 5, 2);
    let mut sorter = Sorter::with_tuning(config(folder.path(), 2, 1), tuning(2, 2, 4));
    push_all(&mut sorter, &records).unwrap();
    let runs = files(folder.path());
    let aside = folder.path().join("aside");
    fs::rename(&runs[0], &aside).unwrap();
    fs::rename(&runs[1], &runs[0]).unwrap();
    fs::rename(&aside, &runs[1]).unwrap();
    assert!(matches!(
        sorter.finish(),
        Err(Error::Corrupt { offset: 0, .. })
    ));
}

#[test]
fn damage_after_finish_is_noticed_and_reading_goes_on_once_it_is_mended() {
    let (folder, sorter, run, expected) = one_run();
    let mut sorted = sorter.finish().unwrap();
    let bit = (2 * BLOCK_BYTES + 50) * 8;
    flip(&run, bit);

    let (mut found, error) = drain(&mut sorted);
    let text = error.unwrap().to_string();
    let start = format!(
        "the sort run {} is damaged at byte {}: expected the checksum ",
        run.display(),
        2 * BLOCK_BYTES
    );
    assert!(text.starts_with(&start), "{text}");
    assert!(text.contains(", found bytes whose checksum is "), "{text}");
    assert!(matches!(sorted.next(), Err(Error::Corrupt { .. })));
    assert!(matches!(sorted.next(), Err(Error::Corrupt { .. })));

    flip(&run, bit);
    let (rest, error) = drain(&mut sorted);
    assert!(error.is_none() && !rest.is_empty());
    found.extend(rest);
    assert_eq!(found, expected);
    drop(sorted);
    assert!(files(folder.path()).is_empty());
}

#[test]
fn a_failed_merge_while_pushing_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut records = random_records(9, 7, 2);
    let mut sorter = Sorter::with_tuning(config(folder.path(), 2, 1), tuning(2, 1, 3));
    push_all(&mut sorter, &records[..6]).unwrap();
    let run = files(folder.path()).remove(0);
    let sound = fs::read(&run).unwrap();
    fs::write(&run, &sound[..70]).unwrap();
    for _ in 0..3 {
        assert!(matches!(
            sorter.push(&records[6]),
            Err(Error::Corrupt { .. })
        ));
        assert_eq!((sorter.len(), files(folder.path()).len()), (6, 3));
    }
    fs::write(&run, sound).unwrap();
    sorter.push(&records[6]).unwrap();
    let mut sorted = sorter.finish().unwrap();
    assert_eq!(sorted.generations(), 2);
    records.sort();
    assert_eq!(drain(&mut sorted).0, records);
}

#[test]
fn a_run_that_vanished_is_named() {
    let (folder, sorter, run, expected) = one_run();
    fs::remove_file(&run).unwrap();
    let text = read(sorter, &expected).unwrap().to_string();
    let remedy = format!(
        "; leave {} and its files in place while the sort runs, and run again",
        folder.path().display()
    );
    assert!(
        text.starts_with(&format!("cannot open {}: ", run.display())),
        "{text}"
    );
    assert!(text.ends_with(&remedy), "{text}");
}

#[test]
fn a_folder_that_vanished_is_named_and_the_push_can_be_repeated() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("runs");
    fs::create_dir(&folder).unwrap();
    let mut records = random_records(10, 3, 2);
    let mut sorter = Sorter::with_tuning(config(&folder, 2, 1), tuning(2, 1, 2));
    push_all(&mut sorter, &records[..2]).unwrap();
    fs::remove_dir(&folder).unwrap();
    let text = sorter.push(&records[2]).unwrap_err().to_string();
    assert!(
        text.starts_with(&format!(
            "cannot create a sort run in {}: ",
            folder.display()
        )),
        "{text}"
    );

    fs::create_dir(&folder).unwrap();
    sorter.push(&records[2]).unwrap();
    let mut sorted = sorter.finish().unwrap();
    records.sort();
    assert_eq!(drain(&mut sorted).0, records);
}

#[test]
fn a_full_disk_is_named_with_the_remedy() {
    let full = Path::new("/dev/full");
    let Ok(file) = OpenOptions::new().write(true).open(full) else {
        eprintln!("skipped: this system has no /dev/full");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sort-full");
    fs::write(&path, "").unwrap();
    let run = Run {
        path: TempPath::try_from_path(&path).unwrap(),
        number: 0,
        generation: 1,
        records: 0,
        bytes: 0,
    };
    let shape = Shape {
        record_words: 1,
        block_records: 2,
    };
    let mut writer = RunWriter::new(file, run, folder.path(), shape, Vec::new());
    let text = writer.append(&[1, 2, 3]).unwrap_err().to_string();
    assert_eq!(
        text,
        format!(
            "cannot write {}: No space left on device (os error 28); free space in {} and run again",
            path.display(),
            folder.path().display()
        )
    );
    drop(writer);
    assert!(files(folder.path()).is_empty());
}

#[test]
fn remedies_follow_the_cause() {
    let at = Path::new("runs");
    let text = |kind: std::io::ErrorKind| {
        Error::io("write", &at.join("sort-1"), at, kind.into()).to_string()
    };
    for (kind, remedy) in [
        (
            std::io::ErrorKind::QuotaExceeded,
            "free space in runs and run again",
        ),
        (
            std::io::ErrorKind::PermissionDenied,
            "make runs readable and writable and run again",
        ),
        (
            std::io::ErrorKind::Other,
            "check the disk that holds runs and run again",
        ),
    ] {
        let text = text(kind);
        assert!(
            text.starts_with("cannot write runs") && text.ends_with(remedy),
            "{text}"
        );
    }
}

#[test]
fn threads_that_cannot_start_are_named() {
    let refused = rayon::ThreadPoolBuilder::new()
        .num_threads(3)
        .spawn_handler(|_| Err(std::io::Error::from_raw_os_error(11)))
        .build();
    let error = refused
        .err()
        .map(|error| Error::Threads { threads: 3, error });
    let text = error.unwrap().to_string();
    assert!(text.starts_with("cannot start 3 sort threads: "), "{text}");
    assert!(text.ends_with("; lower the number of threads"), "{text}");
}
