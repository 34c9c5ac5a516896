//! One band's buckets, read in order.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use records::file::RecordReader;
use records::pods::Posting;
use workdir::{Context, Error as WorkError};

use crate::Error;

/// Reads a band's postings.
pub(crate) struct Postings {
    path: PathBuf,
    reader: RecordReader<BufReader<File>, Posting>,
}

impl Postings {
    pub(crate) fn open(context: &Context<'_>, band: u32) -> Result<Self, Error> {
        let path = context.work.postings(band);
        let file = File::open(&path).map_err(WorkError::io("open", &path))?;
        let reader = RecordReader::new(BufReader::with_capacity(256 << 10, file))
            .map_err(Error::records(&path))?;
        Ok(Self { path, reader })
    }

    pub(crate) fn next(&mut self) -> Result<Option<Posting>, Error> {
        self.reader.next().map_err(Error::records(&self.path))
    }
}
