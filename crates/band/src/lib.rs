//! Stage 2, `band`: groups identical texts, then sorts (band, key) -> document on disk.
//!
//! 1. The identities of all normalised texts are sorted; of each group of equals the smallest
//!    document stands for all in the bands, and the others go to `bands/exact.records`.
//! 2. The band keys of every other document are written to one scratch file a band, each is
//!    sorted, and the buckets of two or more go to `bands/band-NNNN.records`, by key, then
//!    document. A bucket of one can yield no candidate and is only counted.
//!
//! The unit of work is a band, and the exact copies are one: a stopped run goes on with the others.
//!
//! Memory: one bit a document (who is an exact copy), and sort buffers within the budget.

mod buckets;
mod budget;
mod error;
mod exact;
mod keys;

pub use error::Error;

use records::{Pipeline, Settings, Stage};
use tables::Signed;
use workdir::{Context, Definition, Failure, Outcome, Receipt};

use crate::budget::Budget;

/// The version of the band keys and of what this stage makes of them.
const ALGORITHM: &str = "xxh64-fold-1";

/// The stage, for the shell.
pub const STAGE: Definition = Definition {
    stage: Stage::Band,
    identity: |_, _| {
        Ok(Settings::from([(
            "algorithm.band".to_owned(),
            ALGORITHM.to_owned(),
        )]))
    },
    outdated: Definition::never_outdated,
    preflight: Definition::always_ready,
    plan: |pipeline, facts, memory_bytes, threads| {
        budget::plan(pipeline, facts, memory_bytes, threads)
            .map_err(|error| Failure::new(error.refused(), error))
    },
    run: |pipeline, context| {
        run(pipeline, context).map_err(|error| Failure::new(error.refused(), error))
    },
};

/// Groups identical texts and sorts the band keys.
///
/// Cost: two scans of the signatures, one sort of 32 bytes a document, and b sorts of 16 bytes a
/// document that is no exact copy.
///
/// # Errors
/// When the signatures are not those of this run, the budget is too small, or the disk fails.
pub fn run(pipeline: &Pipeline, context: &Context<'_>) -> Result<Outcome, Error> {
    let work = context.work;
    let sign = Receipt::chain(work, context.expected)?.take(work, Stage::Sign)?;
    let signed = Signed::open(work, &sign, pipeline.sign.k, context.threads, true)?;
    let (memory_bytes, threads) = (context.memory_bytes, context.threads);
    let budget = Budget::new(pipeline, signed.documents, memory_bytes, threads)?;
    context.journal.begin(1 + u64::from(pipeline.band.bands))?;
    let scratch = work.scratch(Stage::Band)?;
    work.prepare(&work.bands())?;
    let finished = buckets::finished(context, pipeline.band.bands);
    let left: Vec<u32> = (0..pipeline.band.bands)
        .filter(|band| finished.iter().all(|(done, _, _)| done != band))
        .collect();
    let passes = 2 + left.len() as u64;
    context.progress.start((passes * signed.documents).max(1));

    let mut outcome = Outcome::default();
    let copies = exact::group(context, &signed, &scratch, &budget, &mut outcome)?;
    let parts = keys::scatter(pipeline, context, &signed, (&copies, &left), &scratch)?;
    // Sorting needs the copies no more.
    drop(copies);
    let parts = (&parts[..], finished);
    buckets::sort(context, &signed, parts, &scratch, &budget, &mut outcome)?;

    let kept: Vec<_> = outcome
        .outputs
        .iter()
        .map(|output| work.root().join(&output.name))
        .collect();
    work.retain(&work.bands(), &kept)?;
    work.remove_scratch(Stage::Band)?;
    Ok(outcome)
}
