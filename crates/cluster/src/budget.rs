//! How `cluster` shares out its memory, and what it needs on disk.

use extsort::Config;
use records::{DocSet, Pipeline};
use workdir::{BASE_BYTES, Facts, Span, StagePlan, common_parts, divide, spilled};

use crate::Error;
use crate::{components, external, keeper};

/// Batches of signatures and of columns, and the pages that they are decoded from.
const READER_BYTES: u64 = 5 << 20;
/// The tables being written.
const WRITER_BYTES: u64 = 3 << 20;
/// The least for each sort.
const SORT_BYTES: u64 = 1 << 20;

/// The parts of the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Whether components are found by union-find in memory, in so many bytes.
    pub(crate) parents_bytes: Option<u64>,
    /// For the external method otherwise, which is over before the sorts begin.
    pub(crate) external_bytes: u64,
    /// For each of two sorts.
    pub(crate) sort_bytes: u64,
}

impl Budget {
    /// `linked` documents have an edge.
    pub(crate) fn new(
        k: u32,
        documents: u64,
        linked: u64,
        memory_bytes: u64,
    ) -> Result<Self, Error> {
        let bits = DocSet::memory_bytes(documents);
        let fixed = BASE_BYTES + READER_BYTES + WRITER_BYTES + bits;
        let words = keeper::member_words(k);
        let sort = SORT_BYTES.max(Config::minimum_memory_bytes(words));
        let least = (2 * sort + external::LABELS_BYTES).max(external::minimum_bytes(linked));
        let left = divide(memory_bytes, fixed, least).map_err(|needed_bytes| Error::Memory {
            budget_bytes: memory_bytes,
            documents,
            needed_bytes,
        })?;
        let parents = components::resident_bytes(linked);
        let resident = parents + 2 * sort <= left && linked < u64::from(u32::MAX);
        let beside = match resident {
            true => parents,
            false => external::LABELS_BYTES,
        };
        Ok(Self {
            parents_bytes: resident.then_some(parents),
            external_bytes: left,
            sort_bytes: (left - beside) / 2,
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
    let signed = facts.signed();
    let copies = Span::or(facts.counter("band.exact_copies"), 0, signed);
    let edges = Span::or(facts.counter("join.edges"), 0, signed);
    let groups = Span::or(facts.counter("band.exact_groups"), 0, copies.high);
    // At most so many documents have an edge, and so few where all of them have one with all others.
    let in_buckets = facts.counter("band.documents_in_buckets").unwrap_or(signed);
    let near = edges.high.saturating_mul(2).min(in_buckets);
    let most = (near + copies.high + groups.high).min(signed);
    let least = (copies.low + groups.low).max(edges.low.saturating_mul(2).isqrt());
    let linked = Span::or(
        facts.counter("cluster.documents_in_clusters"),
        least.min(most),
        most,
    );
    let budget = |linked| Budget::new(pipeline.sign.k, facts.documents, linked, memory_bytes);
    let (low, high) = (budget(linked.low)?, budget(linked.high)?);
    let words = keeper::member_words(pipeline.sign.k) as u64;
    // Wide records are sorted through an index of 24 bytes.
    let members = linked.map(|linked| (8 * words + 24) * linked);
    let verdicts = linked.map(|linked| 32 * linked);
    let sorts = Span::between(
        members.low.min(low.sort_bytes) + verdicts.low.min(low.sort_bytes),
        members.high.min(high.sort_bytes) + verdicts.high.min(high.sort_bytes),
    );
    let tables = linked.map(|linked| 40 * linked);
    let components = |budget: &Budget, linked, edges| match budget.parents_bytes {
        Some(_) => 0,
        None => external::disk_bytes(linked, edges),
    };
    let mut memory = common_parts(facts.documents, READER_BYTES);
    memory.extend([
        (
            "parents",
            Span::between(
                low.parents_bytes
                    .unwrap_or(0)
                    .min(high.parents_bytes.unwrap_or(0)),
                high.parents_bytes.or(low.parents_bytes).unwrap_or(0),
            ),
        ),
        ("sort", sorts),
        ("tables", Span::exact(WRITER_BYTES)),
    ]);
    Ok(StagePlan {
        memory,
        threads,
        work_peak: Span::between(
            spilled(members.low, low.sort_bytes).max(components(
                &low,
                linked.low,
                edges.low + copies.low,
            )),
            (spilled(members.high, high.sort_bytes) + spilled(verdicts.high, high.sort_bytes))
                .max(components(&high, linked.high, edges.high + copies.high)),
        ) + tables,
        work_kept: tables,
        output: Span::default(),
    })
}
