//! One band's buckets, read in order.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use records::Stage;
use records::file::RecordReader;
use records::pods::Posting;
use workdir::Error as WorkError;

use crate::{Before, Error};

/// Reads a band's postings.
pub(crate) struct Postings {
    path: PathBuf,
    reader: RecordReader<BufReader<File>, Posting>,
}

impl Postings {
    pub(crate) fn open(before: &Before<'_>, band: u32) -> Result<Self, Error> {
        let path = before.context.work.postings(band);
        let part = before.context.work.name_of(&path);
        let reader = before.band.open_records(&path, Some(&part))?;
        Ok(Self { path, reader })
    }

    pub(crate) fn next(&mut self) -> Result<Option<Posting>, Error> {
        let fail = WorkError::record_file(&self.path, Stage::Band);
        Ok(self.reader.next().map_err(fail)?)
    }
}
