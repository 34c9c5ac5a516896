//! Random inputs and sizes against `Vec::sort`.

use proptest::prelude::*;

use super::{config, drain, files, mixed, push_all, size_of_files, tuning};
use crate::config::Tuning;
use crate::{Config, Sorter};

#[derive(Debug)]
struct Case {
    record_words: usize,
    key_words: usize,
    tuning: Tuning,
    records: Vec<Vec<u64>>,
}

fn cases() -> impl Strategy<Value = Case> {
    let sizes = (
        1..=12_usize,
        1..=8_usize,
        1..=40_usize,
        1..=9_usize,
        2..=9_usize,
        0..=30_usize,
    );
    (sizes, 0..=400_usize, 1..=64_u32, any::<u64>()).prop_map(|(sizes, count, bits, seed)| {
        let (record_words, key_words, buffer_records, block_records, fan_in, waiting) = sizes;
        let mut next = mixed(seed);
        let records = (0..count)
            .map(|_| (0..record_words).map(|_| next() >> (64 - bits)).collect())
            .collect();
        Case {
            record_words,
            key_words: key_words.min(record_words),
            tuning: Tuning {
                run_limit: fan_in + waiting,
                ..tuning(buffer_records, block_records, fan_in)
            },
            records,
        }
    })
}

/// The most bytes that all runs of a generation can have: every run may end in a block that is not
/// full.
fn generation_bytes(case: &Case, runs: usize) -> u64 {
    let count = case.records.len();
    let blocks = count.div_ceil(case.tuning.block_records) + runs;
    (count * case.record_words * 8 + blocks * 40) as u64
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_sort_equals_that_of_a_vector(case in cases()) {
        let folder = tempfile::tempdir().unwrap();
        let settings = Config { threads: 2, ..config(folder.path(), case.record_words, case.key_words) };
        let mut sorter = Sorter::with_tuning(settings, case.tuning);
        push_all(&mut sorter, &case.records).unwrap();
        let mut sorted = sorter.finish().unwrap();

        let count = case.records.len();
        let runs = count.div_ceil(case.tuning.buffer_records);
        let spilled = runs > 1;
        prop_assert_eq!(sorted.spilled_bytes() > 0, spilled);
        prop_assert_eq!(sorted.generations() > 0, spilled);
        prop_assert_eq!(sorted.generations() > 1, runs > case.tuning.fan_in);
        let most_generations = 2 + runs.checked_ilog(case.tuning.fan_in).unwrap_or(0);
        prop_assert!(sorted.generations() <= most_generations);
        prop_assert!(files(folder.path()).len() <= case.tuning.fan_in);
        prop_assert!(size_of_files(folder.path()) <= sorted.peak_disk_bytes());
        prop_assert!(sorted.peak_disk_bytes() <= 2 * generation_bytes(&case, runs));
        let all = u64::from(sorted.generations()) * generation_bytes(&case, runs);
        prop_assert!(sorted.spilled_bytes() <= all);
        prop_assert_eq!(sorted.len(), count as u64);

        let (found, error) = drain(&mut sorted);
        prop_assert!(error.is_none());
        let mut expected = case.records;
        expected.sort();
        prop_assert_eq!(found, expected);
        drop(sorted);
        prop_assert!(files(folder.path()).is_empty());
    }
}

#[test]
fn runs_stay_few_while_records_come_in() {
    let folder = tempfile::tempdir().unwrap();
    let mut sorter = Sorter::with_tuning(config(folder.path(), 2, 1), tuning(2, 1, 3));
    let mut next = mixed(6);
    let record_bytes = 2 * 8 + 40;
    for count in 1..=2_000_u64 {
        sorter.push(&[next() % 100, count]).unwrap();
        let folder_bytes = size_of_files(folder.path());
        assert!(folder_bytes <= count * record_bytes);
        // 1,000 runs of 2 records make 7 generations at a fan-in of 3.
        assert!(files(folder.path()).len() <= 2 * 7);
    }
    let mut sorted = sorter.finish().unwrap();
    assert!(sorted.generations() >= 6);
    assert!(sorted.peak_disk_bytes() <= 2 * 2_000 * record_bytes);
    let (records, error) = drain(&mut sorted);
    assert!(error.is_none());
    assert_eq!(records.len(), 2_000);
    assert!(records.is_sorted());
}
