//! All small inputs, with a buffer of one record and a fan-in of two: every shape of merge that few
//! runs can have.

use super::{config, drain, files, push_all, size_of_files, tuning};
use crate::Sorter;

/// By number of records, with one record a run and a fan-in of two.
const GENERATIONS: [u32; 5] = [0, 0, 1, 2, 2];

/// Sorts every sequence of up to four of these records.
fn check_all_sequences(alphabet: &[Vec<u64>], key_words: usize) {
    let folder = tempfile::tempdir().unwrap();
    let record_words = alphabet[0].len();
    let run_bytes = (record_words * 8 + 40) as u64;
    for (count, generations) in GENERATIONS.into_iter().enumerate() {
        for code in 0..alphabet.len().pow(count as u32) {
            let mut records: Vec<Vec<u64>> = (0..count)
                .map(|place| {
                    alphabet[code / alphabet.len().pow(place as u32) % alphabet.len()].clone()
                })
                .collect();
            let mut sorter = Sorter::with_tuning(
                config(folder.path(), record_words, key_words),
                tuning(1, 1, 2),
            );
            push_all(&mut sorter, &records).unwrap();
            let mut sorted = sorter.finish().unwrap();
            assert_eq!(sorted.len(), count as u64);
            assert_eq!(sorted.is_empty(), count == 0);
            assert_eq!(sorted.generations(), generations);
            let spilled = if count > 1 { count as u64 } else { 0 };
            assert_eq!(size_of_files(folder.path()), spilled * run_bytes);
            assert!(sorted.spilled_bytes() >= spilled * run_bytes);
            assert!(sorted.peak_disk_bytes() <= 2 * spilled * run_bytes);

            let (found, error) = drain(&mut sorted);
            assert!(error.is_none(), "{records:?}: {error:?}");
            records.sort();
            assert_eq!(found, records);
            assert_eq!(sorted.next().unwrap(), None);
            drop(sorted);
            assert!(files(folder.path()).is_empty());
        }
    }
}

/// All records of so many words from these values.
fn product(values: &[u64], record_words: u32) -> Vec<Vec<u64>> {
    (0..values.len().pow(record_words))
        .map(|code| {
            (0..record_words)
                .map(|place| values[code / values.len().pow(place) % values.len()])
                .collect()
        })
        .collect()
}

#[test]
fn records_of_one_word() {
    check_all_sequences(&product(&[0, 1, 1 << 63, u64::MAX], 1), 1);
}

#[test]
fn records_of_two_words() {
    check_all_sequences(&product(&[0, u64::MAX], 2), 1);
}

#[test]
fn records_of_three_words() {
    // The greatest prefix with different tails: it also marks the end of a run.
    let greatest = |tail| vec![u64::MAX, u64::MAX, tail];
    check_all_sequences(
        &[
            vec![0, 0, 1],
            vec![0, 1, 0],
            greatest(0),
            greatest(u64::MAX),
        ],
        2,
    );
}

#[test]
fn wide_records() {
    // They differ in the first word, the second, the third and the last.
    let mut alphabet = vec![vec![1; 9]; 5];
    alphabet[1][0] = 0;
    alphabet[2][1] = u64::MAX;
    alphabet[3][2] = 0;
    alphabet[4][8] = 2;
    for key_words in [1, 2] {
        check_all_sequences(&alphabet, key_words);
    }
}
