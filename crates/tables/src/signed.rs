//! What `sign` left, as the stages after it read it.

use std::path::PathBuf;

use records::{Provenance, Stage};
use workdir::{Receipt, WorkDir};

use crate::inputs::InputFile;
use crate::signatures::Columns;
use crate::{Error, SignatureScan, inputs, signatures};

/// The input files and their signatures, checked against the receipt of `sign`.
pub struct Signed {
    /// The input files, in document order.
    pub inputs: Vec<InputFile>,
    /// Documents of all files.
    pub documents: u64,
    work: WorkDir,
    shards: Provenance,
    against: PathBuf,
    k: u32,
}

impl Signed {
    /// Reads the list of input files. `threads` readers check its bytes, and those of the
    /// signature shards too if `signatures` are going to be read.
    ///
    /// # Errors
    /// When a file is damaged, cannot be read, or is not what the receipt `sign` says.
    pub fn open(
        work: &WorkDir,
        sign: &Receipt,
        k: u32,
        threads: usize,
        signatures: bool,
    ) -> Result<Self, Error> {
        let list = work.name_of(&work.inputs());
        sign.verify(work, threads, |name| signatures || name == list)?;
        let against = work.receipt(Stage::Sign);
        let expected = sign.provenance(inputs::KIND, inputs::FORMAT);
        let inputs = inputs::read(&work.inputs(), &expected, &against)?;
        Ok(Self {
            documents: inputs.iter().map(|file| file.rows).sum(),
            inputs,
            work: work.clone(),
            shards: Provenance::new(signatures::KIND, signatures::FORMAT, sign.shard_settings()),
            against,
            k,
        })
    }

    /// A scan over all signatures, in document order.
    pub fn scan(&self, columns: Columns) -> SignatureScan {
        let against = self.against.clone();
        SignatureScan::new(
            &self.work,
            &self.inputs,
            &self.shards,
            against,
            self.k,
            columns,
        )
    }
}
