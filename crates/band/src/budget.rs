//! How `band` shares out its memory, and what it needs on disk.

use records::{DocSet, Pipeline};
use workdir::{BASE_BYTES, Facts, Span, StagePlan, common_parts, divide, spilled};

use crate::Error;
use crate::keys::{OPEN_MAX, WRITER_BYTES};

/// A batch of signatures and the pages that it is decoded from.
const READER_BYTES: u64 = 8 << 20;
/// What the allocator holds beside what is in use, measured.
const KEPT_BACK_BYTES: u64 = 3 << 20;
/// The least for a sort.
const SORT_BYTES: u64 = 2 << 20;

/// The parts of the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// For sorting identities.
    pub(crate) exact_bytes: u64,
    /// For sorting one band.
    pub(crate) band_bytes: u64,
    /// Bands that are sorted at once.
    pub(crate) threads: usize,
    fixed_bytes: u64,
}

impl Budget {
    pub(crate) fn new(
        pipeline: &Pipeline,
        documents: u64,
        memory_bytes: u64,
        threads: usize,
    ) -> Result<Self, Error> {
        let writers = u64::from(pipeline.band.bands.min(OPEN_MAX)) * WRITER_BYTES;
        let bits = DocSet::memory_bytes(documents);
        // While keys are written nothing is sorted, and while bands are sorted nothing is scanned.
        let fixed = BASE_BYTES + bits + READER_BYTES;
        let left =
            divide(memory_bytes, fixed, writers.max(SORT_BYTES)).map_err(|needed_bytes| {
                Error::Memory {
                    budget_bytes: memory_bytes,
                    documents,
                    needed_bytes,
                }
            })?;
        let bands = u64::from(pipeline.band.bands);
        let sorts = (left / SORT_BYTES).min(threads as u64).min(bands).max(1);
        Ok(Self {
            exact_bytes: left,
            band_bytes: left / sorts,
            threads: sorts as usize,
            fixed_bytes: fixed,
        })
    }
}

/// What the stage will need.
pub(crate) fn plan(
    pipeline: &Pipeline,
    facts: &Facts,
    memory_bytes: u64,
    threads: usize,
) -> Result<StagePlan, Error> {
    let budget = Budget::new(pipeline, facts.documents, memory_bytes, threads)?;
    let signed = facts.signed();
    let unique = signed - facts.counter("band.exact_copies").unwrap_or(0).min(signed);
    let bands = u64::from(pipeline.band.bands);
    let exact = (32 * signed).min(budget.exact_bytes);
    let band = (16 * unique).min(budget.band_bytes);
    let writers = bands.min(OPEN_MAX.into()) * WRITER_BYTES;
    let sorting = exact.max(budget.threads as u64 * band).max(writers);
    let keys = 16 * bands * unique;
    let kept = Span::or(facts.counter("band.postings_kept"), 0, bands * unique)
        .map(|postings| 16 * postings);
    let copies = Span::or(facts.counter("band.exact_copies"), 0, signed).map(|copies| 16 * copies);
    let scratch = (keys + budget.threads as u64 * spilled(16 * unique, budget.band_bytes))
        .max(spilled(32 * signed, budget.exact_bytes));
    let mut memory = common_parts(facts.documents, READER_BYTES);
    let allocator = KEPT_BACK_BYTES.min(memory_bytes / 16);
    memory.extend([
        ("sort", Span::exact(sorting)),
        ("allocator", Span::exact(allocator)),
    ]);
    Ok(StagePlan {
        memory,
        threads: budget.threads,
        // A band's keys go before its buckets are written.
        work_peak: Span::between(scratch, scratch.max(kept.high) + copies.high),
        work_kept: kept + copies,
        output: Span::default(),
    })
}
