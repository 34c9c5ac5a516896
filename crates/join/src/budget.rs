//! How `join` shares out its memory, and what it needs on disk.

use extsort::Config;
use records::settings::Verify;
use records::{DocSet, Pipeline};
use workdir::{BASE_BYTES, Facts, Span, StagePlan, common_parts, divide, spilled};

use crate::Error;
use crate::bucket;
use crate::parts::PART_BYTES;

/// A batch of signatures and the pages that it is decoded from.
const READER_BYTES: u64 = 8 << 20;
/// The least for each sort.
const SORT_BYTES: u64 = 1 << 20;
/// The most that the sort of edges may leave to the signatures.
const EDGE_SHARE: u64 = 8;

/// How signatures come to the buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signatures {
    /// Not at all: nothing is compared.
    Unused,
    /// From memory.
    Resident,
    /// By sorted passes.
    Travel,
}

/// The parts of the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    pub(crate) signatures: Signatures,
    pub(crate) edge_bytes: u64,
    /// For each of the two sorts of signatures that travel.
    pub(crate) travel_bytes: u64,
    pub(crate) threads: usize,
    anchor_bytes: u64,
    store_bytes: u64,
}

impl Budget {
    /// `shared` documents are in a bucket with another.
    pub(crate) fn new(
        pipeline: &Pipeline,
        documents: u64,
        shared: u64,
        memory_bytes: u64,
        threads: usize,
    ) -> Result<Self, Error> {
        let (k, join) = (pipeline.sign.k, &pipeline.join);
        let anchors = bucket::memory_bytes(join.anchors, k, join.bits);
        let fixed = BASE_BYTES + DocSet::memory_bytes(documents) + READER_BYTES + anchors;
        let record = 2 + (u64::from(k) * u64::from(join.bits) / 8).div_ceil(8);
        let sort = SORT_BYTES.max(Config::minimum_memory_bytes(record as usize));
        let left = divide(memory_bytes, fixed, 3 * sort).map_err(|needed_bytes| Error::Memory {
            budget_bytes: memory_bytes,
            documents,
            anchors: join.anchors,
            needed_bytes,
        })?;
        let store = shared * u64::from(k) * u64::from(join.bits) / 8;
        let (signatures, spare) = match join.verify {
            Verify::None => (Signatures::Unused, left),
            Verify::Estimate if store + (left / EDGE_SHARE).max(sort) <= left => {
                (Signatures::Resident, left - store)
            }
            Verify::Estimate => (Signatures::Travel, left / 3),
        };
        // Each further thread holds the anchors of a bucket and a file of edges of its own.
        let each = anchors + PART_BYTES;
        let more = match signatures {
            Signatures::Travel => 0,
            _ => (spare - sort) / each,
        };
        let more = more.min(threads as u64 - 1);
        Ok(Self {
            signatures,
            edge_bytes: spare - more * each,
            travel_bytes: left / 3,
            threads: 1 + more as usize,
            anchor_bytes: each,
            store_bytes: if signatures == Signatures::Resident {
                store
            } else {
                0
            },
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
    let unique = signed - facts.counter("band.exact_copies").unwrap_or(0).min(signed);
    let shared = Span::or(facts.counter("band.documents_in_buckets"), 0, unique);
    let bands = u64::from(pipeline.band.bands);
    let postings = Span::or(facts.counter("band.postings_kept"), 0, unique * bands);
    let budget = |shared| Budget::new(pipeline, facts.documents, shared, memory_bytes, threads);
    let (low, high) = (budget(shared.low)?, budget(shared.high)?);
    // A bucket's forest has at most an edge a document less one.
    let found = Span::between(shared.low / 2, postings.high);
    let record = 16 + u64::from(pipeline.sign.k) * u64::from(pipeline.join.bits) / 8;
    // The compact copy, and one band at a time: its postings, then their signatures.
    let travelling = match high.signatures {
        Signatures::Travel => postings.map(|postings| postings / bands * (record + 16)),
        _ => Span::default(),
    };
    let copy = match high.signatures {
        Signatures::Travel => shared.map(|shared| shared * record),
        _ => Span::default(),
    };
    let edges = Span::or(
        facts.counter("join.edges"),
        shared.low / 2,
        unique.max(shared.high),
    );
    let sorts = Span::between(
        (24 * found.low).min(low.edge_bytes),
        (24 * found.high).min(high.edge_bytes) + 2 * travelling.high.min(high.travel_bytes),
    );
    let mut memory = common_parts(facts.documents, READER_BYTES);
    memory.extend([
        (
            "signatures",
            Span::between(low.store_bytes, high.store_bytes.max(low.store_bytes)),
        ),
        (
            "anchors",
            Span::between(0, high.threads as u64 * high.anchor_bytes),
        ),
        ("sort", sorts),
    ]);
    Ok(StagePlan {
        memory,
        threads: high.threads,
        work_peak: Span::between(
            spilled(24 * found.low, low.edge_bytes),
            spilled(24 * found.high, high.edge_bytes) + 2 * travelling.high + 9 * edges.high,
        ) + found.map(|found| 24 * found)
            + Span::between(0, copy.high),
        work_kept: edges.map(|edges| 9 * edges),
        output: Span::default(),
    })
}
