//! Stage 3, `join`: the candidates of every bucket, verified, as edges.
//!
//! The postings of a band are walked in order; [`bucket`] says which pairs of a bucket are
//! compared and which edges come of it. The edges of bands are kept by [`parts`], so that a stopped
//! run goes on with the other bands; at the end all are sorted and each is written once.
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
mod parts;
mod resident;
mod slot;
mod travel;

pub use error::Error;

use std::path::Path;

use extsort::{Config, Sorter};
use records::pods::Edge;
use records::settings::Verify;
use records::{DocSet, Pipeline, Provenance, Settings, Stage};
use serde::{Deserialize, Serialize};
use tables::signatures::Columns;
use tables::{SignatureScan, Signed};
use workdir::{Context, Definition, Failure, Outcome, Receipt};

use crate::bucket::{Bucket, Counts, Rule};
use crate::budget::{Budget, Signatures};
use crate::cut::Cut;
use crate::partition::Postings;
use crate::parts::Parts;
use crate::slot::Slot;

/// The version of what this stage makes of its buckets.
const ALGORITHM: &str = "anchors-1";

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

/// What some bands came to.
#[derive(Debug, Default, Serialize, Deserialize)]
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
    let (shared, postings) = documents_in_buckets(&before)?;
    let (memory_bytes, threads) = (context.memory_bytes, context.threads);
    let documents = before.signed.documents;
    let budget = Budget::new(pipeline, documents, shared.count, memory_bytes, threads)?;
    context.journal.begin(pipeline.band.bands.into())?;
    let scratch = work.scratch(Stage::Join)?;
    let (mut finished, left) = parts::finished(&before)?;
    let passes = 1 + u64::from(pipeline.join.verify == Verify::Estimate);
    let share = left.len() as u64 * postings / u64::from(pipeline.band.bands.max(1));
    context.progress.start((passes * share).max(1));
    finished.extend(join_bands::<S>(&before, &budget, &shared, &left, &scratch)?);

    let mut sorter = Sorter::new(Config {
        folder: scratch.clone(),
        memory_bytes: budget.edge_bytes,
        open_files: context.sort_files(3),
        threads: context.threads,
        record_words: 3,
        key_words: 2,
    })?;
    let joined = parts::gather(&before, finished, |edge| Ok(sorter.push_pod(edge)?))?;
    let mut outcome = Outcome::default();
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

/// Joins the bands that no earlier attempt has finished.
fn join_bands<S: Slot>(
    before: &Before<'_>,
    budget: &Budget,
    shared: &Shared,
    bands: &[u32],
    scratch: &Path,
) -> Result<Vec<parts::Finished>, Error> {
    if bands.is_empty() {
        return Ok(Vec::new());
    }
    match budget.signatures {
        Signatures::Unused => resident::join::<S>(before, budget, None, bands),
        Signatures::Resident => {
            let store = resident::load::<S>(before, &shared.docs, shared.count)?;
            resident::join(before, budget, Some((&shared.docs, &store)), bands)
        }
        Signatures::Travel => travel::join::<S>(before, budget, &shared.docs, scratch, bands),
    }
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
struct BandJoin<'a, 'b, S> {
    band: u32,
    anchors: u64,
    bucket: Bucket<S>,
    /// Key and first document of the open bucket.
    open: Option<(u64, u64)>,
    batch: Vec<Edge>,
    edges: &'a mut Parts<'b>,
    cut: Cut,
    postings: u64,
}

impl<'a, 'b, S: Slot> BandJoin<'a, 'b, S> {
    fn begin(before: &Before<'_>, band: u32, edges: &'a mut Parts<'b>) -> Result<Self, Error> {
        edges.begin(band)?;
        Ok(Self {
            band,
            anchors: before.pipeline.join.anchors.into(),
            bucket: Bucket::new(before.rule(), before.pipeline.join.anchors),
            open: None,
            batch: Vec::new(),
            edges,
            cut: Cut::default(),
            postings: 0,
        })
    }

    /// Adds the next document, under `key`. Keys tell buckets apart and come in any order.
    fn add(&mut self, key: u64, doc: u64, slots: &[S]) -> Result<(), Error> {
        if self.open.is_none_or(|(open, _)| open != key) {
            self.close();
            self.open = Some((key, doc));
        }
        self.postings += 1;
        let batch = &mut self.batch;
        self.bucket.add(doc, slots, |edge| batch.push(edge));
        self.batch
            .iter()
            .try_for_each(|edge| self.edges.push(edge))?;
        self.batch.clear();
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

    fn finish(mut self) -> Result<(), Error> {
        self.close();
        let joined = Joined {
            counts: self.bucket.counts,
            cut: self.cut,
        };
        self.edges.end(joined, self.postings)
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
