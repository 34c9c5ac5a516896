//! Settings, the shares of the budget, record types, and the life of files.

use bytemuck::{Pod, Zeroable};

use super::{config, drain, files, push_all, random_records, tuning};
use crate::config::{Tuning, WORD_BYTES};
use crate::order::index_bytes;
use crate::{Config, Error, MAX_RECORD_WORDS, Sorted, Sorter};

fn refusal(config: Config) -> String {
    match Sorter::new(config) {
        Ok(_) => panic!("taken"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn settings_out_of_range_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let with = |record_words, key_words| config(folder.path(), record_words, key_words);
    for (setting, text) in [
        (with(0, 1), "record_words must be 1 to 4096, found 0"),
        (with(4097, 1), "record_words must be 1 to 4096, found 4097"),
        (with(3, 0), "key_words must be 1 to 3, found 0"),
        (with(3, 4), "key_words must be 1 to 3, found 4"),
        (with(20, 9), "key_words must be 1 to 8, found 9"),
    ] {
        assert_eq!(
            refusal(setting),
            format!("the sorter's {text}; correct its configuration")
        );
    }
    let no_thread = Config {
        threads: 0,
        ..with(1, 1)
    };
    assert!(refusal(no_thread).starts_with("the sorter's threads must be 1 to "));
}

#[test]
fn a_budget_too_small_is_refused_with_the_number_that_would_do() {
    let folder = tempfile::tempdir().unwrap();
    for record_words in [1, 8, 9, 70, 4093, 4094, 4096] {
        let enough = config(folder.path(), record_words, 1);
        let minimum = enough.memory_bytes;
        let small = Config {
            memory_bytes: minimum - 1,
            ..enough.clone()
        };
        assert_eq!(
            refusal(small),
            format!(
                "sorting records of {record_words} words needs at least {minimum} bytes of memory, the budget is {} \
                 bytes; raise the memory budget",
                minimum - 1
            )
        );
        assert!(Sorter::new(enough).is_ok());
    }
    assert_eq!(Config::minimum_memory_bytes(1), 320 << 10);
    assert_eq!(Config::minimum_memory_bytes(4093), 320 << 10);
    assert!(Config::minimum_memory_bytes(4094) > 320 << 10);
}

#[test]
fn a_folder_that_is_none_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    for path in [missing, file] {
        let text = refusal(config(&path, 1, 1));
        let expected = format!(
            "the folder {} for sort runs is not an existing folder; create it and run again",
            path.display()
        );
        assert_eq!(text, expected);
    }
}

#[test]
fn the_shares_stay_within_the_budget() {
    let folder = tempfile::tempdir().unwrap();
    for record_words in (1..80).chain([500, 2047, 4093, 4094, MAX_RECORD_WORDS]) {
        let minimum = Config::minimum_memory_bytes(record_words);
        for memory_bytes in [
            minimum,
            minimum + 1,
            1 << 20,
            5 << 20,
            64 << 20,
            1 << 30,
            1 << 40,
        ] {
            for key_words in 1..=record_words.min(2) {
                let config = Config {
                    memory_bytes,
                    ..config(folder.path(), record_words, key_words)
                };
                let shares = Tuning::new(&config);
                let record_bytes = record_words * WORD_BYTES;
                let block_bytes = shares.block_records * record_bytes + 40;
                let buffer_bytes = shares.buffer_records * record_bytes;
                let sorting =
                    buffer_bytes + shares.buffer_records * index_bytes(record_words, key_words);
                assert!(
                    (sorting + block_bytes + (64 << 10)) as u64 <= memory_bytes,
                    "{config:?}"
                );
                assert!(shares.fan_in * block_bytes <= buffer_bytes, "{config:?}");
                assert!((2..=63).contains(&shares.fan_in), "{config:?}");
                assert!(shares.block_records >= 2, "{config:?}");
                assert!(block_bytes + record_bytes > 64 << 10, "{config:?}");
                assert!(block_bytes <= 1 << 20, "{config:?}");
            }
        }
    }
}

#[test]
fn a_budget_beyond_the_address_space_is_taken_for_small_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config {
        memory_bytes: u64::MAX,
        ..config(folder.path(), 2, 1)
    };
    let mut sorter = Sorter::new(config).unwrap();
    let records = random_records(1, 10_000, 2);
    push_all(&mut sorter, &records).unwrap();
    assert!(sorter.buffer_capacity() < 8 * 8 * 2 * 10_000);
    assert_eq!(sorter.finish().unwrap().len(), 10_000);
}

#[test]
fn the_buffer_grows_with_the_input_to_its_exact_share() {
    let folder = tempfile::tempdir().unwrap();
    for record_words in [1, 3, 70] {
        let memory_bytes = 1 << 20;
        let config = Config {
            memory_bytes,
            ..config(folder.path(), record_words, 1)
        };
        let full = Tuning::new(&config).buffer_records * record_words;
        let mut sorter = Sorter::new(config).unwrap();
        let mut sizes = vec![0];
        let mut pushed = 0;
        let record = vec![7; record_words];
        while !sorter.has_runs() {
            sorter.push(&record).unwrap();
            let size = sorter.buffer_capacity();
            assert!(size <= full);
            pushed += 1;
            if sizes.last() != Some(&size) {
                sizes.push(size);
            }
        }
        assert_eq!(sizes.last(), Some(&full));
        assert_eq!(pushed, full / record_words + 1);
        assert!(sizes.len() > 2, "{sizes:?}");
        assert!(sizes[1] * WORD_BYTES > (32 << 10) - record_words * WORD_BYTES);
        assert!(sizes[1] * WORD_BYTES < 8 * (32 << 10) + record_words * WORD_BYTES);
    }
}

#[test]
fn what_fits_memory_touches_no_file() {
    let folder = tempfile::tempdir().unwrap();
    for record_words in [1, 2, 12] {
        let mut records = random_records(2, 500, record_words);
        let mut sorter = Sorter::new(config(folder.path(), record_words, 1)).unwrap();
        assert!(sorter.is_empty());
        push_all(&mut sorter, &records).unwrap();
        assert_eq!(sorter.len(), 500);
        let mut sorted = sorter.finish().unwrap();
        assert!(files(folder.path()).is_empty());
        assert_eq!(
            (
                sorted.spilled_bytes(),
                sorted.peak_disk_bytes(),
                sorted.generations()
            ),
            (0, 0, 0)
        );
        assert_eq!((sorted.len(), sorted.is_empty()), (500, false));
        records.sort();
        assert_eq!(drain(&mut sorted).0, records);
        assert_eq!(sorted.next().unwrap(), None);
        assert_eq!(sorted.len(), 500);
    }
}

#[test]
fn the_budget_alone_decides_what_spills() {
    let folder = tempfile::tempdir().unwrap();
    for record_words in [2, 70] {
        let config = config(folder.path(), record_words, 1);
        let fits = Tuning::new(&config).buffer_records;
        // The fan-in of the least budget is 2 or 3: nine full runs are merged twice.
        for (count, generations) in [(fits, 0), (fits + 1, 1), (10 * fits, 3)] {
            let mut records = random_records(3, count, record_words);
            let mut sorter = Sorter::new(config.clone()).unwrap();
            push_all(&mut sorter, &records).unwrap();
            let mut sorted = sorter.finish().unwrap();
            assert!(sorted.generations() >= generations);
            assert_eq!(sorted.spilled_bytes() > 0, generations > 0);
            assert!(
                sorted.peak_disk_bytes()
                    <= (2 * count * record_words * WORD_BYTES) as u64 * 101 / 100
            );
            records.sort();
            assert!(drain(&mut sorted).0 == records);
            drop(sorted);
            assert!(files(folder.path()).is_empty());
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same() {
    let folder = tempfile::tempdir().unwrap();
    for (record_words, key_words) in [(1, 1), (2, 1), (5, 2), (9, 1), (9, 3)] {
        let mut records = random_records(4, 40_000, record_words);
        // Few keys, so that the words behind them decide.
        records.iter_mut().for_each(|record| record[0] %= 5);
        let mut expected = records.clone();
        expected.sort();
        for threads in [1, 2, 7] {
            let config = Config {
                threads,
                ..config(folder.path(), record_words, key_words)
            };
            let mut sorter = Sorter::with_tuning(config, tuning(17_000, 100, 3));
            push_all(&mut sorter, &records).unwrap();
            assert_eq!(sorter.has_threads(), threads > 1);
            let mut sorted = sorter.finish().unwrap();
            assert!(
                drain(&mut sorted).0 == expected,
                "{record_words} words, {threads} threads"
            );
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct Row {
    band: u64,
    key: u64,
    doc_id: u64,
}

#[test]
fn structs_come_back_ordered_by_their_fields() {
    let folder = tempfile::tempdir().unwrap();
    let row = |band, key, doc_id| Row { band, key, doc_id };
    let expected = [
        row(0, u64::MAX, 9),
        row(1, 5, 2),
        row(1, 5, 1 << 40),
        row(2, 0, 0),
    ];
    for buffer_records in [1, 4] {
        let mut sorter =
            Sorter::with_tuning(config(folder.path(), 3, 2), tuning(buffer_records, 1, 2));
        for record in [expected[2], expected[0], expected[3], expected[1]] {
            sorter.push_pod(&record).unwrap();
        }
        let mut sorted = sorter.finish().unwrap();
        for record in expected {
            assert_eq!(sorted.next_pod::<Row>().unwrap(), Some(record));
        }
        assert_eq!(sorted.next_pod::<Row>().unwrap(), None);
    }
}

#[test]
fn records_of_another_shape_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut sorter = Sorter::new(config(folder.path(), 2, 1)).unwrap();
    for record in [&[1][..], &[1, 2, 3], &[]] {
        let text = sorter.push(record).unwrap_err().to_string();
        assert_eq!(
            text,
            format!(
                "a record of 2 words was expected, found {} words; push records of the sorter's width",
                record.len()
            )
        );
    }
    let wide = Row {
        band: 1,
        key: 2,
        doc_id: 3,
    };
    assert_eq!(
        sorter.push_pod(&wide).unwrap_err().to_string(),
        "a record type of 16 bytes aligned to 8 was expected, extsort::tests::settings::Row has 24 bytes aligned to 8; \
         use a #[repr(C)] struct of u64 fields as wide as the sorter's records"
    );
    let bytes = sorter.push_pod(&[0_u8; 16]).unwrap_err().to_string();
    assert!(
        bytes.contains("[u8; 16] has 16 bytes aligned to 1"),
        "{bytes}"
    );
    assert!(sorter.is_empty());

    sorter.push_pod(&[4_u64, 5]).unwrap();
    let mut sorted = sorter.finish().unwrap();
    assert!(matches!(
        sorted.next_pod::<Row>(),
        Err(Error::RecordType { .. })
    ));
    assert_eq!(sorted.next_pod().unwrap(), Some([4_u64, 5]));
}

#[test]
fn dropping_removes_the_runs() {
    let folder = tempfile::tempdir().unwrap();
    let records = random_records(5, 10, 2);
    let start = || {
        let mut sorter = Sorter::with_tuning(config(folder.path(), 2, 1), tuning(2, 1, 3));
        push_all(&mut sorter, &records).unwrap();
        sorter
    };
    let sorter = start();
    let names = files(folder.path());
    assert!(!names.is_empty());
    for name in names {
        assert!(
            name.file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with("sort-")
        );
    }
    drop(sorter);
    assert!(files(folder.path()).is_empty());

    let mut sorted = start().finish().unwrap();
    sorted.next().unwrap();
    assert!(!files(folder.path()).is_empty());
    drop(sorted);
    assert!(files(folder.path()).is_empty());
}

#[test]
fn sorts_may_move_between_threads() {
    fn check<T: Send>() {}
    check::<Sorter>();
    check::<Sorted>();
    check::<Error>();
}
