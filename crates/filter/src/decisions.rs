//! What `cluster` decided, by rows of one input file.

use std::fs::File;
use std::io::BufReader;
use std::ops::Range;
use std::path::PathBuf;

use dataset::rewrite::{BoxError, Decisions, RowDecision};
use records::file::RecordReader;
use records::pods::Decision;

use crate::Error;

/// The decisions of the file whose first document is `first_doc`; read from disk a row group at a
/// time.
pub(crate) struct FileDecisions {
    pub(crate) path: PathBuf,
    pub(crate) first_doc: u64,
}

impl FileDecisions {
    fn open(&self, first: u64) -> Result<RecordReader<BufReader<File>, Decision>, Error> {
        let file = File::open(&self.path).map_err(Error::io("open", &self.path))?;
        let fail = |source| Error::Records {
            path: self.path.clone(),
            source,
        };
        let mut reader = RecordReader::new(BufReader::new(file)).map_err(fail)?;
        reader
            .seek(|decision: &Decision| decision.doc < first)
            .map_err(fail)?;
        Ok(reader)
    }
}

impl Decisions for FileDecisions {
    fn rows(
        &self,
        range: Range<u64>,
    ) -> Result<Box<dyn Iterator<Item = Result<RowDecision, BoxError>> + '_>, BoxError> {
        let end = self.first_doc + range.end;
        let mut reader = self.open(self.first_doc + range.start)?;
        Ok(Box::new(std::iter::from_fn(move || match reader.next() {
            Ok(Some(decision)) if decision.doc < end => Some(Ok(RowDecision {
                row: decision.doc - self.first_doc,
                cluster: i64::try_from(decision.cluster).unwrap_or(i64::MAX),
                keep: decision.kept(),
            })),
            Ok(_) => None,
            Err(source) => Some(Err(Box::new(Error::Records {
                path: self.path.clone(),
                source,
            }) as BoxError)),
        })))
    }
}
