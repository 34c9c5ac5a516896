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
mod budget;
mod compact;
mod cut;
mod error;
mod partition;
mod resident;
mod slot;
mod travel;

pub use error::Error;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use extsort::{Config, Sorter};
use records::pods::Edge;
use records::settings::Verify;
use records::{DocSet, Pipeline, Provenance, Settings, Stage};
use tables::signatures::Columns;
use tables::{SignatureScan, Signed};
use workdir::{Context, Definition, Failure, Outcome, Receipt};

use crate::bucket::{Bucket, Counts, Rule};
use crate::budget::{Budget, Signatures};
use crate::cut::Cut;
use crate::partition::Postings;
use crate::slot::Slot;

/// The version of what this stage makes of its buckets.
const ALGORITHM: &str = "anchors-1";

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
    plan: |pipeline, facts, memory_bytes, threads| {
        budget::plan(pipeline, facts, memory_bytes, threads)
            .map_err(|error| Failure::new(error.refused(), error))
    },
    run: |pipeline, context| {
        run(pipeline, context).map_err(|error| Failure::new(error.refused(), error))
    },
};

/// What the stages before left, opened and checked.
struct Before<'a> {
    pipeline: &'a Pipeline,
    context: &'a Context<'a>,
    band: Receipt,
    signed: Signed,
}

impl<'a> Before<'a> {
    fn open(pipeline: &'a Pipeline, context: &'a Context<'a>) -> Result<Self, Error> {
        let work = context.work;
        let mut chain = Receipt::chain(work, context.expected)?;
        let (sign, band) = (
            chain.take(work, Stage::Sign)?,
            chain.take(work, Stage::Band)?,
        );
        // Record files are checked block by block as they are read; tables are checked here.
        let signatures = pipeline.join.verify == Verify::Estimate;
        let signed = Signed::open(work, &sign, pipeline.sign.k, context.threads, signatures)?;
        Ok(Self {
            pipeline,
            context,
            band,
            signed,
        })
    }

    fn scan(&self) -> SignatureScan {
        self.signed.scan(Columns {
            slots: true,
            ..Columns::default()
        })
    }

    fn rule(&self) -> Rule {
        let join = &self.pipeline.join;
        match join.verify {
            Verify::Estimate => Rule::MinMatches(sketch::min_matches_of_bits(
                self.pipeline.sign.k,
                join.bits,
                join.threshold,
            )),
            Verify::None => Rule::All,
        }
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
    match pipeline.join.bits {
        8 => run_with::<u8>(pipeline, context),
        16 => run_with::<u16>(pipeline, context),
        _ => run_with::<u32>(pipeline, context),
    }
}

fn run_with<S: Slot>(pipeline: &Pipeline, context: &Context<'_>) -> Result<Outcome, Error> {
    let work = context.work;
    let before = Before::open(pipeline, context)?;
    let scratch = work.scratch(Stage::Join)?;
    let (shared, postings) = documents_in_buckets(&before)?;
    let passes = 1 + u64::from(pipeline.join.verify == Verify::Estimate);
    context.progress.start((passes * postings).max(1));

    let (memory_bytes, threads) = (context.memory_bytes, context.threads);
    let documents = before.signed.documents;
    let budget = Budget::new(pipeline, documents, shared.count, memory_bytes, threads)?;
    context.journal.begin(pipeline.band.bands.into())?;
    let edges = Edges(Mutex::new(Sorter::new(Config {
        folder: scratch.clone(),
        memory_bytes: budget.edge_bytes,
        open_files: context.sort_files(3),
        threads: context.threads,
        record_words: 3,
        key_words: 2,
    })?));
    let joined = match budget.signatures {
        Signatures::Unused => resident::join::<S>(&before, &budget, None, &edges)?,
        Signatures::Resident => {
            let store = resident::load::<S>(&before, &shared.docs, shared.count)?;
            resident::join(&before, &budget, Some((&shared.docs, &store)), &edges)?
        }
        Signatures::Travel => travel::join::<S>(&before, &budget, &shared.docs, &scratch, &edges)?,
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
        budget.signatures == Signatures::Resident,
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
    let mut docs = DocSet::new(before.signed.documents);
    let mut postings = 0;
    for band in 0..before.pipeline.band.bands {
        let mut reader = Postings::open(before, band)?;
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
struct BandJoin<'a, S> {
    band: u32,
    anchors: u64,
    bucket: Bucket<S>,
    /// Key and first document of the open bucket.
    open: Option<(u64, u64)>,
    batch: Vec<Edge>,
    edges: &'a Edges,
    cut: Cut,
}

impl<'a, S: Slot> BandJoin<'a, S> {
    fn new(before: &Before<'_>, band: u32, edges: &'a Edges) -> Self {
        Self {
            band,
            anchors: before.pipeline.join.anchors.into(),
            bucket: Bucket::new(before.rule(), before.pipeline.join.anchors),
            open: None,
            batch: Vec::with_capacity(EDGE_BATCH),
            edges,
            cut: Cut::default(),
        }
    }

    /// Adds the next document, under `key`. Keys tell buckets apart and come in any order.
    fn add(&mut self, key: u64, doc: u64, slots: &[S]) -> Result<(), Error> {
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
fn travel_sorter(
    context: &Context<'_>,
    scratch: &Path,
    words: usize,
    memory_bytes: u64,
) -> Result<Sorter, Error> {
    Ok(Sorter::new(Config {
        folder: scratch.to_owned(),
        memory_bytes,
        open_files: context.sort_files(3),
        threads: 1,
        record_words: words,
        key_words: 2,
    })?)
}
