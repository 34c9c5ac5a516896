//! What `sign` needs in memory and on disk.

use records::Pipeline;
use tables::signatures::SignatureWriter;
use workdir::{BASE_BYTES, Facts, Span, StagePlan};

use crate::Error;
use crate::budget::Budget;

/// What a shard holds of a document beside its slots: hash, lengths, row, levels.
const ROW_BYTES: u64 = 54;
/// What a shard holds beside its rows: footer, settings, page headers.
const SHARD_BYTES: u64 = 4 << 10;

/// What a shard takes in memory however few rows it has.
const SHARD_MEMORY_LEAST: u64 = 4 << 20;
/// Files are taken to have up to so many times as many rows as the mean, and batches of texts to be so many times as large.
const UNEVEN_FILES: u64 = 4;
const UNEVEN_BATCHES: u64 = 2;
/// Pages of common size, as they are stored and inflated, and what is read ahead.
const PAGES_BYTES: u64 = 4 << 20;
/// What of a large batch lies in memory a second time.
const BATCH_AGAIN_BYTES: u64 = 4 << 20;

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
    // The largest row group alone is no work for two.
    let groups = facts
        .text_bytes
        .div_ceil(facts.largest_text_group_bytes.max(1));
    let workers = workers.min(groups.max(1));
    let file_rows = facts.documents.div_ceil(facts.files.max(1));
    let shards = SHARD_MEMORY_LEAST
        .saturating_add((2 * row * UNEVEN_FILES).saturating_mul(file_rows))
        .min(SignatureWriter::memory_bytes(k));
    let mean = facts.text_bytes / facts.documents.max(1);
    let batch = batch_bytes
        .min(facts.largest_text_group_bytes)
        .min((dataset::BATCH_ROWS * UNEVEN_BATCHES).saturating_mul(mean));
    let pages = PAGES_BYTES.min(facts.largest_text_group_bytes);
    Ok(StagePlan {
        memory: vec![
            ("program", Span::exact(BASE_BYTES)),
            (
                "text_batches",
                Span::exact(workers * (batch + batch.min(BATCH_AGAIN_BYTES))),
            ),
            ("pages", Span::exact(workers * pages)),
            ("signature_shards", Span::exact(workers * shards)),
        ],
        threads,
        work_peak: kept,
        work_kept: kept,
        output: Span::default(),
    })
}
