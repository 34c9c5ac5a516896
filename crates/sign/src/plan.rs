//! What `sign` needs in memory and on disk.

use records::Pipeline;
use tables::signatures::SignatureWriter;
use workdir::{BASE_BYTES, Facts, Span, StagePlan};

use crate::Error;
use crate::budget::{Budget, WORKER_BYTES};

/// What a shard holds of a document beside its slots: hash, lengths, row, levels.
const ROW_BYTES: u64 = 54;
/// What a shard holds beside its rows: footer, settings, page headers.
const SHARD_BYTES: u64 = 4 << 10;

/// What the stage will need.
pub(crate) fn plan(
    pipeline: &Pipeline,
    facts: &Facts,
    memory_bytes: u64,
    threads: usize,
) -> Result<StagePlan, Error> {
    let k = pipeline.sign.k;
    let budget = Budget::new(memory_bytes, threads, k)?;
    let threads = budget.threads();
    let batch_bytes = budget.share(threads).batch_bytes;
    let workers = threads as u64;
    let row = 4 * u64::from(k) + ROW_BYTES;
    let unsigned = facts.documents - facts.signed();
    let signatures = facts
        .signed()
        .saturating_mul(row)
        .saturating_add(unsigned.saturating_mul(32));
    let units = facts.files + facts.text_bytes / crate::units::UNIT_TEXT_BYTES;
    let kept = Span::exact(signatures.saturating_add(SHARD_BYTES * units));
    let shards = SignatureWriter::memory_bytes(k).min((2 * row).saturating_mul(facts.documents));
    let texts = (2 * batch_bytes).min(2 * facts.largest_text_group_bytes);
    Ok(StagePlan {
        memory: vec![
            ("program", Span::exact(BASE_BYTES)),
            ("text_batches", Span::exact(workers * texts)),
            (
                "pages",
                Span::exact(workers * WORKER_BYTES.min(facts.largest_text_group_bytes)),
            ),
            ("signature_shards", Span::exact(workers * shards)),
        ],
        threads,
        work_peak: kept,
        work_kept: kept,
        output: Span::default(),
    })
}
