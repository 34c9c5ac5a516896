//! All signatures of a run, in document order.

use std::path::PathBuf;

use records::Provenance;
use workdir::WorkDir;

use crate::Error;
use crate::inputs::InputFile;
use crate::signatures::{Columns, SignatureBatch, SignatureReader};

/// Reads the signature shards of all input files one after the other, one open at a time.
pub struct SignatureScan {
    shards: std::vec::IntoIter<(PathBuf, u64)>,
    expected: Provenance,
    against: PathBuf,
    k: u32,
    columns: Columns,
    current: Option<(PathBuf, SignatureReader, u64)>,
    next_doc: u64,
}

impl SignatureScan {
    /// A scan over the shards of `inputs`, whose settings have to be `expected`, as the receipt
    /// `against` says.
    pub(crate) fn new(
        work: &WorkDir,
        inputs: &[InputFile],
        expected: &Provenance,
        against: PathBuf,
        k: u32,
        columns: Columns,
    ) -> Self {
        let shards: Vec<(PathBuf, u64)> = inputs
            .iter()
            .flat_map(|input| input.shards.iter().zip(&input.shard_rows))
            .map(|(name, &rows)| (work.root().join(name), rows))
            .collect();
        Self {
            shards: shards.into_iter(),
            expected: expected.clone(),
            against,
            k,
            columns,
            current: None,
            next_doc: 0,
        }
    }

    /// The next batch with the id of its first document, none at the end.
    ///
    /// # Errors
    /// When a shard cannot be read, was made with other settings, or has not as many rows as
    /// `inputs.parquet` says.
    pub fn next_batch(&mut self) -> Result<Option<(u64, SignatureBatch)>, Error> {
        loop {
            let Some((path, reader, left)) = &mut self.current else {
                let Some((path, rows)) = self.shards.next() else {
                    return Ok(None);
                };
                let reader = SignatureReader::open(
                    &path,
                    &self.expected,
                    &self.against,
                    self.k,
                    self.columns,
                )?;
                self.current = Some((path, reader, rows));
                continue;
            };
            match reader.next_batch()? {
                Some(batch) if batch.rows() as u64 <= *left => {
                    let first = self.next_doc;
                    *left -= batch.rows() as u64;
                    self.next_doc += batch.rows() as u64;
                    return Ok(Some((first, batch)));
                }
                None if *left == 0 => self.current = None,
                _ => {
                    let what = "it has not the rows that inputs.parquet says";
                    return Err(Error::shape(path, what));
                }
            }
        }
    }
}
