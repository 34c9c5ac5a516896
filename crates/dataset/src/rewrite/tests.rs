//! Tests of writing files again: every comparison decodes input and output independently.

mod annotate;
mod arrow;
mod fixture;
mod hard;
mod large;
mod parts;
mod typed;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use parquet::file::reader::{FileReader, SerializedFileReader};
use records::settings::{Existing, Mode};

use super::{BoxError, Decisions, Job, Options, Outcome, RowDecision, rewrite};
use crate::{Error, Listed, RowGroup, Source};

/// Decisions from a map of rows.
#[derive(Clone, Default)]
pub(super) struct Picks(pub(super) BTreeMap<u64, (i64, bool)>);

impl Decisions for Picks {
    fn rows(
        &self,
        range: Range<u64>,
    ) -> Result<Box<dyn Iterator<Item = Result<RowDecision, BoxError>> + '_>, BoxError> {
        Ok(Box::new(self.0.range(range).map(
            |(row, (cluster, keep))| {
                Ok(RowDecision {
                    row: *row,
                    cluster: *cluster,
                    keep: *keep,
                })
            },
        )))
    }
}

impl Picks {
    /// Drops the rows that `dropped` names.
    fn dropping(rows: u64, dropped: impl Fn(u64) -> bool) -> Self {
        let of = |row| (row, (row as i64 / 2, !dropped(row)));
        Self((0..rows).filter(|row| dropped(*row)).map(of).collect())
    }

    fn keeps(&self, row: u64) -> bool {
        self.0.get(&row).is_none_or(|(_, keep)| *keep)
    }
}

/// A small generator of repeatable numbers (xorshift64).
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

/// What a footer says of a file, without asking for a text column.
fn source(path: &Path) -> Source {
    let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let groups = reader.metadata().row_groups().iter().map(|group| RowGroup {
        rows: group.num_rows() as u64,
        text_bytes: 0,
        total_bytes: 0,
        stored_bytes: 0,
    });
    Source {
        listed: Listed {
            path: path.to_owned(),
            relative: "x.parquet".to_owned(),
            paths_index: 0,
            bytes: std::fs::metadata(path).unwrap().len(),
            modified_ns: 0,
        },
        rows: reader.metadata().file_metadata().num_rows() as u64,
        row_groups: groups.collect(),
        schema: String::new(),
        fingerprint: 0,
    }
}

fn options(mode: Mode) -> Options {
    Options {
        mode,
        prefix: "dedup_".to_owned(),
        existing: Existing::Refuse,
        compression_level: None,
        threads: 1,
        memory_bytes: 1 << 30,
    }
}

/// Rewrites one file into `folder` and returns the output's path.
fn run(
    input: &Path,
    folder: &Path,
    picks: &Picks,
    options: &Options,
) -> Result<(PathBuf, Outcome), Error> {
    let output = folder.join(format!(
        "out{}.parquet",
        std::fs::read_dir(folder).unwrap().count()
    ));
    let source = source(input);
    let job = Job {
        source: &source,
        output: output.clone(),
        decisions: picks,
    };
    let outcomes = rewrite(&[job], options, &|_| {}, &|| false)?;
    let outcome = outcomes[0];
    let bytes = std::fs::read(&output).unwrap();
    assert_eq!(outcome.bytes, bytes.len() as u64);
    assert_eq!(outcome.checksum, xxhash_rust::xxh3::xxh3_128(&bytes));
    Ok((output, outcome))
}
