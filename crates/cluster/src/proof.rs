//! The external components method alone, for `examples/components.rs`; no part of the stage's interface.

use std::path::Path;

use records::DocSet;

use crate::Error;
use crate::budget::Budget;
use crate::external::{self, External};

/// A visitor of every edge, once a call.
pub type Edges<'a> = &'a dyn Fn(&mut dyn FnMut(u64, u64) -> Result<(), Error>) -> Result<(), Error>;

/// Labels every document that has an edge with the smallest of its component, with files in
/// `scratch`, an existing folder, and with what the stage would use of `memory_bytes` for so many
/// documents. `edges` visits every edge, twice; `label` is told document and label, in the order of
/// documents.
///
/// # Errors
/// When the disk fails, or the memory is too little; and those of the visitors.
pub fn components(
    scratch: &Path,
    documents: u64,
    memory_bytes: u64,
    edges: Edges<'_>,
    label: &mut dyn FnMut(u64, u64) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut docs = DocSet::new(documents);
    edges(&mut |a, b| match docs.insert(a) && docs.insert(b) {
        true => Ok(()),
        false => Err(Error::NoSignature { doc: a.max(b) }),
    })?;
    let linked = docs.index();
    let setting = External {
        scratch: scratch.to_owned(),
        memory_bytes: Budget::new(128, documents, linked, memory_bytes)?.external_bytes,
    };
    let mut labels = external::components(&setting, docs, linked, edges)?;
    while let Some((doc, smallest)) = labels.next()? {
        label(doc, smallest)?;
    }
    Ok(())
}
