//! The external components method alone, for `examples/components.rs`; no part of the stage's interface.

use std::path::Path;

use crate::Error;
use crate::components::{Sorting, external_watched};

/// A visitor of every edge, once a call.
pub type Edges<'a> = &'a dyn Fn(&mut dyn FnMut(u64, u64) -> Result<(), Error>) -> Result<(), Error>;

/// Labels every document that has an edge with the smallest of its component, by sorted passes in `scratch`, an
/// existing folder. `edges` visits every edge; `round` is told the records of each round, twice its edges; `label` is
/// told document and label, in the order of documents.
///
/// Memory: two sorts of `sort_bytes` each.
///
/// # Errors
/// When the disk fails, or `sort_bytes` are too few; and those of the visitors.
pub fn components(
    (scratch, sort_bytes, threads): (&Path, u64, usize),
    edges: Edges<'_>,
    round: &mut dyn FnMut(u64),
    label: &mut dyn FnMut(u64, u64) -> Result<(), Error>,
) -> Result<(), Error> {
    let sorting = Sorting {
        scratch: scratch.to_owned(),
        memory_bytes: sort_bytes,
        open_files: 64,
        threads,
    };
    let mut labels = external_watched(&sorting, edges, round)?;
    while let Some((doc, smallest)) = labels.next()? {
        label(doc, smallest)?;
    }
    Ok(())
}
