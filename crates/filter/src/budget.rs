//! What `filter` needs in memory and on disk.

use records::Pipeline;
use records::settings::Mode;
use workdir::{BASE_BYTES, Facts, Span, StagePlan};

use crate::Error;

/// Pages being decoded and encoded, dictionaries and batches of values of a thread.
const THREAD_BYTES: u64 = 6 << 20;

/// How many threads the budget holds, at least one.
pub(crate) fn threads(facts_group_bytes: u64, memory_bytes: u64, threads: usize) -> usize {
    let left = memory_bytes.saturating_sub(BASE_BYTES);
    let each = THREAD_BYTES + facts_group_bytes.min(left / 4);
    (left / each).clamp(1, threads as u64) as usize
}

/// What the stage will need.
pub(crate) fn plan(
    pipeline: &Pipeline,
    facts: &Facts,
    memory_bytes: u64,
    wanted: usize,
) -> Result<StagePlan, Error> {
    let left = memory_bytes.saturating_sub(BASE_BYTES);
    if left < THREAD_BYTES {
        return Err(Error::Memory {
            budget_bytes: memory_bytes,
            needed_bytes: BASE_BYTES + THREAD_BYTES,
        });
    }
    let group = facts.largest_stored_group_bytes;
    let threads = threads(group, memory_bytes, wanted);
    let rewritten = match pipeline.filter.mode {
        Mode::Drop => (2 * threads as u64 * group).min(left / 2),
        Mode::Annotate => 0,
    };
    let rows = facts.documents.max(1);
    let dropped = Span::or(facts.counter("cluster.dropped"), 0, rows);
    // Rows weigh about the same; what is encoded again may be packed worse than it was.
    let kept = |dropped: u64| {
        let bytes = u128::from(facts.input_bytes) * u128::from(rows - dropped.min(rows));
        (bytes / u128::from(rows)) as u64
    };
    let output = match pipeline.filter.mode {
        Mode::Annotate => Span::exact(facts.input_bytes + facts.documents),
        Mode::Drop => Span::between(kept(dropped.high), kept(dropped.low)),
    };
    Ok(StagePlan {
        memory: vec![
            ("program", Span::exact(BASE_BYTES)),
            (
                "pages",
                Span::between(THREAD_BYTES, threads as u64 * THREAD_BYTES),
            ),
            ("row_groups", Span::between(0, rewritten)),
        ],
        threads,
        work_peak: Span::default(),
        work_kept: Span::default(),
        output,
    })
}
