//! Tests of whole sorts. [`small`] is exhaustive, [`random`] compares with `Vec::sort`, [`damage`]
//! alters run files.

mod damage;
mod random;
mod settings;
mod small;

use std::fs;
use std::path::{Path, PathBuf};

use crate::config::Tuning;
use crate::{Config, Error, Sorted, Sorter};

/// Settings with the least budget and one thread.
fn config(folder: &Path, record_words: usize, key_words: usize) -> Config {
    Config {
        folder: folder.to_path_buf(),
        memory_bytes: Config::minimum_memory_bytes(record_words),
        open_files: 64,
        threads: 1,
        record_words,
        key_words,
    }
}

/// Runs are merged as soon as there are enough for one merge.
fn tuning(buffer_records: usize, block_records: usize, fan_in: usize) -> Tuning {
    Tuning {
        buffer_records,
        block_records,
        fan_in,
        run_limit: fan_in,
    }
}

/// The run files in a folder, by name.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
}

fn size_of_files(folder: &Path) -> u64 {
    files(folder)
        .iter()
        .map(|path| fs::metadata(path).unwrap().len())
        .sum()
}

fn push_all(sorter: &mut Sorter, records: &[Vec<u64>]) -> Result<(), Error> {
    records.iter().try_for_each(|record| sorter.push(record))
}

/// Reads until the end or an error.
fn drain(sorted: &mut Sorted) -> (Vec<Vec<u64>>, Option<Error>) {
    let mut records = Vec::new();
    loop {
        match sorted.next() {
            Ok(Some(record)) => records.push(record.to_vec()),
            Ok(None) => return (records, None),
            Err(error) => return (records, Some(error)),
        }
    }
}

/// A fixed sequence of well-mixed numbers (`SplitMix64`: Steele, Lea and Flood, OOPSLA 2014).
fn mixed(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let once = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let twice = (once ^ (once >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        twice ^ (twice >> 31)
    }
}

fn random_records(seed: u64, count: usize, record_words: usize) -> Vec<Vec<u64>> {
    let mut next = mixed(seed);
    (0..count)
        .map(|_| (0..record_words).map(|_| next()).collect())
        .collect()
}
