//! Stage 3, `join`: the candidates of every bucket, verified, as edges.
//!
//! The postings of a band are walked in order; [`bucket`] says which pairs of a bucket are
//! compared and which edges come of it. Edges of all bands are sorted and each is written once.
//!
//! The signatures of the documents that share a bucket are held in memory where the budget allows
//! ([`resident`]), and otherwise brought to the buckets by sorted passes, one band at a time
//! ([`travel`]). Both give the same edges: a bucket sees the same documents with the same
//! signatures in the same order. Beside these: one bit (and an eighth) a document, the signatures
//! of a bucket's anchors, and sort buffers.

mod bucket;
mod cut;
mod error;
mod partition;
mod resident;
mod travel;

pub use error::Error;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use extsort::{Config, Sorter};
use records::pods::Edge;
use records::settings::Verify;
use records::{DocSet, Pipeline, Provenance, Settings, Stage};
use tables::SignatureScan;
use tables::inputs::InputFile;
use tables::signatures::Columns;
use workdir::{Context, Definition, Failure, Outcome, Receipt};

use crate::bucket::{Bucket, Counts, Rule};
use crate::cut::Cut;
use crate::partition::Postings;

/// The version of what this stage makes of its buckets.
const ALGORITHM: &str = "anchors-1";

/// The program itself, its libraries and thread stacks, and a batch of signatures.
const BASE_BYTES: u64 = 16 << 20;
/// The least for sorting edges, and as much for each sort of signatures that travel.
const SORT_BYTES: u64 = 6 << 20;
/// Edges that a thread gathers before it passes them on.
const EDGE_BATCH: usize = 4096;

/// The stage, for the shell.
pub const STAGE: Definition = Definition {
    stage: Stage::Join,
    identity: |_, _| {
        Ok(Settings::from([(
            "algorithm.join".to_owned(),
            ALGORITHM.to_owned(),
        )]))
    },
    outdated: Definition::never_outdated,
    preflight: Definition::always_ready,
    run: |pipeline, context| {
        run(pipeline, context).map_err(|error| Failure::new(error.refused(), error))
    },
};

/// What the stages before left, opened and checked.
struct Before<'a> {
    pipeline: &'a Pipeline,
    context: &'a Context<'a>,
    sign: Receipt,
    inputs: Vec<InputFile>,
    documents: u64,
}

impl<'a> Before<'a> {
    fn open(pipeline: &'a Pipeline, context: &'a Context<'a>) -> Result<Self, Error> {
        let work = context.work;
        let mut chain = Receipt::chain(work, context.expected)?;
        let mut take = |stage| {
            chain.remove(&stage).ok_or_else(|| {
                workdir::Error::damaged(&work.receipt(stage), stage, "it is missing")
            })
        };
        let sign: Receipt = take(Stage::Sign)?;
        // Record files are checked block by block as they are read; tables are checked here.
        let reads_signatures = pipeline.join.verify == Verify::Estimate;
        sign.verify(work, context.threads, |name| {
            reads_signatures || name == work.name_of(&work.inputs())
        })?;
        let expected = sign.provenance(tables::inputs::KIND, tables::inputs::FORMAT);
        let against = work.receipt(Stage::Sign);
        let inputs = tables::inputs::read(&work.inputs(), &expected, &against)?;
        let documents = inputs.iter().map(|file| file.rows).sum();
        Ok(Self {
            pipeline,
            context,
            sign,
            inputs,
            documents,
        })
    }

    fn scan(&self) -> SignatureScan {
        let columns = Columns {
            slots: true,
            ..Columns::default()
        };
        let kind = tables::signatures::KIND;
        let settings = self.sign.shard_settings();
        let expected = Provenance::new(kind, tables::signatures::FORMAT, settings);
        let against = self.context.work.receipt(Stage::Sign);
        let k = self.pipeline.sign.k;
        SignatureScan::new(
            self.context.work,
            &self.inputs,
            &expected,
            against,
            k,
            columns,
        )
    }

    fn rule(&self) -> Rule {
        let join = &self.pipeline.join;
        match join.verify {
            Verify::Estimate => {
                Rule::MinMatches(sketch::min_matches(self.pipeline.sign.k, join.threshold))
            }
            Verify::None => Rule::All,
        }
    }

    fn bucket(&self) -> Bucket {
        Bucket::new(self.rule(), self.pipeline.join.anchors)
    }
}

/// What the bands came to.
#[derive(Default)]
struct Joined {
    counts: Counts,
    cut: Cut,
}

impl Joined {
    fn merge(&mut self, other: Self) {
        self.counts.compared += other.counts.compared;
        self.counts.verified += other.counts.verified;
        self.cut.merge(other.cut);
    }
}

/// Where edges go: a sort that all threads share.
struct Edges(Mutex<Sorter>);

impl Edges {
    fn push(&self, batch: &mut Vec<Edge>) -> Result<(), Error> {
        let mut sorter = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for edge in batch.drain(..) {
            sorter.push_pod(&edge)?;
        }
        Ok(())
    }
}

/// Verifies the candidates of all buckets and writes the edges.
///
/// Cost: two walks over the postings, one scan of the signatures (one a band where they travel),
/// at most `anchors` comparisons of k slots a posting, and a sort of the edges.
///
/// # Errors
/// When upstream files are not those of this run, the budget is too small, or the disk fails.
pub fn run(pipeline: &Pipeline, context: &Context<'_>) -> Result<Outcome, Error> {
    let work = context.work;
    let before = Before::open(pipeline, context)?;
    let scratch = work.scratch(Stage::Join)?;
    let (shared, postings) = documents_in_buckets(&before)?;
    let passes = 1 + u64::from(pipeline.join.verify == Verify::Estimate);
    context.progress.start((passes * postings).max(1));

    let plan = Plan::new(&before, &shared)?;
    let edges = Edges(Mutex::new(Sorter::new(Config {
        folder: scratch.clone(),
        memory_bytes: plan.edge_bytes,
        threads: context.threads,
        record_words: 3,
        key_words: 2,
    })?));
    let joined = match plan.signatures {
        Signatures::Unused => resident::join(&before, &plan, None, &edges)?,
        Signatures::Resident => {
            let store = resident::load(&before, &shared.docs, shared.count)?;
            resident::join(&before, &plan, Some((&shared.docs, &store)), &edges)?
        }
        Signatures::Travel => travel::join(&before, &plan, &scratch, &edges)?,
    };

    let mut outcome = Outcome::default();
    let sorter = edges.0.into_inner().unwrap_or_else(PoisonError::into_inner);
    write_edges(&before, sorter, &mut outcome)?;
    outcome.count("documents_in_buckets", shared.count);
    outcome.count("compared", joined.counts.compared);
    outcome.count("verified", joined.counts.verified);
    outcome.count("buckets_cut", joined.cut.buckets);
    outcome.count("documents_verified_with_no_anchor", joined.cut.unverified);
    outcome.count("largest_cut_buckets", joined.cut.json());
    outcome.count(
        "signatures_resident",
        plan.signatures == Signatures::Resident,
    );
    if joined.cut.unverified > 0 {
        outcome.warnings.push(format!(
            "{} buckets hold more than {} documents; {} of the documents beyond verified with no \
             anchor of theirs (report.json names the largest buckets)",
            joined.cut.buckets, pipeline.join.anchors, joined.cut.unverified
        ));
    }
    work.remove_scratch(Stage::Join)?;
    Ok(outcome)
}

/// The documents that share a bucket with another.
struct Shared {
    docs: DocSet,
    count: u64,
}

fn documents_in_buckets(before: &Before<'_>) -> Result<(Shared, u64), Error> {
    let mut docs = DocSet::new(before.documents);
    let mut postings = 0;
    for band in 0..before.pipeline.band.bands {
        let mut reader = Postings::open(before.context, band)?;
        while let Some(posting) = reader.next()? {
            postings += 1;
            if !docs.insert(posting.doc) {
                return Err(Error::NoSignature { doc: posting.doc });
            }
        }
    }
    let count = docs.index();
    Ok((Shared { docs, count }, postings))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signatures {
    Unused,
    Resident,
    Travel,
}

/// How the budget is shared out.
struct Plan {
    signatures: Signatures,
    edge_bytes: u64,
    /// For each of the two sorts of signatures that travel.
    travel_bytes: u64,
    threads: usize,
}

impl Plan {
    fn new(before: &Before<'_>, shared: &Shared) -> Result<Self, Error> {
        let (k, join) = (before.pipeline.sign.k, &before.pipeline.join);
        let budget = before.context.memory_bytes;
        let bucket = Bucket::memory_bytes(join.anchors, k);
        let fixed = BASE_BYTES + DocSet::memory_bytes(before.documents) + bucket;
        let needed = fixed + 3 * SORT_BYTES;
        let Some(left) = budget
            .checked_sub(fixed)
            .filter(|left| *left >= 3 * SORT_BYTES)
        else {
            return Err(Error::Memory {
                budget_bytes: budget,
                documents: before.documents,
                anchors: join.anchors,
                needed_bytes: needed,
            });
        };
        let store = shared.count * 4 * u64::from(k);
        let signatures = match join.verify {
            Verify::None => Signatures::Unused,
            Verify::Estimate if store + SORT_BYTES <= left => Signatures::Resident,
            Verify::Estimate => Signatures::Travel,
        };
        let spare = match signatures {
            Signatures::Unused => left,
            Signatures::Resident => left - store,
            Signatures::Travel => left / 3,
        };
        // Each further thread holds the anchors of a bucket of its own.
        let threads = 1
            + (spare.saturating_sub(SORT_BYTES) / bucket.max(1))
                .min(before.context.threads as u64 - 1);
        let edge_bytes = spare - (threads - 1) * bucket;
        Ok(Self {
            signatures,
            edge_bytes,
            travel_bytes: left / 3,
            threads: threads as usize,
        })
    }
}

fn write_edges(before: &Before<'_>, sorter: Sorter, outcome: &mut Outcome) -> Result<(), Error> {
    let work = before.context.work;
    work.prepare(&work.edges())?;
    let join = &before.pipeline.join;
    let settings = before.context.expected.settings.clone();
    let provenance = Provenance::new(tables::edges::KIND, tables::edges::FORMAT, settings);
    let mut metadata = vec![
        ("k", before.pipeline.sign.k.to_string()),
        ("verify", join.verify.to_string()),
    ];
    if let Rule::MinMatches(least) = before.rule() {
        metadata.push(("bits", join.bits.to_string()));
        metadata.push(("threshold", join.threshold.to_string()));
        metadata.push(("min_matches", least.to_string()));
    }
    let mut writer = tables::edges::EdgeWriter::create(work, &provenance, &metadata)?;
    let mut last = None;
    let mut sorted = sorter.finish()?;
    while let Some(edge) = sorted.next_pod::<Edge>()? {
        // An edge that several bands found has the same matches in each.
        if last != Some((edge.a, edge.b)) {
            writer.push(&edge)?;
            last = Some((edge.a, edge.b));
        }
    }
    let (output, edges) = writer.finish(work)?;
    let path = work.root().join(&output.name);
    outcome.outputs.push(output);
    outcome.count("edges", edges);
    work.retain(&work.edges(), &[path])?;
    Ok(())
}

/// Feeds the documents of a band to its buckets.
struct BandJoin<'a> {
    band: u32,
    anchors: u64,
    bucket: Bucket,
    /// Key and first document of the open bucket.
    open: Option<(u64, u64)>,
    batch: Vec<Edge>,
    edges: &'a Edges,
    cut: Cut,
}

impl<'a> BandJoin<'a> {
    fn new(before: &Before<'_>, band: u32, edges: &'a Edges) -> Self {
        Self {
            band,
            anchors: before.pipeline.join.anchors.into(),
            bucket: before.bucket(),
            open: None,
            batch: Vec::with_capacity(EDGE_BATCH),
            edges,
            cut: Cut::default(),
        }
    }

    /// Adds the next document, under `key`. Keys tell buckets apart and come in any order.
    fn add(&mut self, key: u64, doc: u64, slots: &[u32]) -> Result<(), Error> {
        if self.open.is_none_or(|(open, _)| open != key) {
            self.close();
            self.open = Some((key, doc));
        }
        let batch = &mut self.batch;
        self.bucket.add(doc, slots, |edge| batch.push(edge));
        if self.batch.len() >= EDGE_BATCH {
            self.edges.push(&mut self.batch)?;
        }
        Ok(())
    }

    fn close(&mut self) {
        let (size, unverified) = self.bucket.close();
        if let Some((key, doc)) = self.open.take()
            && size > self.anchors
        {
            self.cut.add(cut::CutBucket {
                size,
                band: self.band,
                key,
                doc,
                unverified,
            });
        }
    }

    fn finish(mut self) -> Result<Joined, Error> {
        self.close();
        self.edges.push(&mut self.batch)?;
        Ok(Joined {
            counts: self.bucket.counts,
            cut: self.cut,
        })
    }
}

/// The scratch folder's sorter for records of that width, sorted by their first two words.
fn travel_sorter(scratch: &Path, words: usize, memory_bytes: u64) -> Result<Sorter, Error> {
    Ok(Sorter::new(Config {
        folder: scratch.to_owned(),
        memory_bytes,
        threads: 1,
        record_words: words,
        key_words: 2,
    })?)
}
