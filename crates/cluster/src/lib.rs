//! Stage 4, `cluster`: the connected components of edges and exact copies, one keeper each.
//!
//! 1. [`components`] (or [`external`]) labels every document that has an edge with the smallest of its component.
//! 2. [`keeper`] sorts the members of each cluster, best first, with their signatures; the first
//!    stays, and the others are compared with it.
//! 3. [`output`] writes `clusters.parquet` and what `filter` needs, by document.
//!
//! Memory: one bit (and an eighth) a document, four bytes a document with edges where they fit,
//! and sort buffers within the budget.

mod budget;
mod components;
mod error;
mod external;
mod keeper;
mod output;
#[doc(hidden)]
pub mod proof;

pub use error::Error;

use std::path::PathBuf;

use dataset::Source;
use extsort::{Config, Sorter};
use records::pods::ExactCopy;
use records::{DocSet, Pipeline, Settings, Stage};
use tables::clusters::Kind;
use tables::inputs::InputFile;
use tables::signatures::Columns;
use tables::{SignatureScan, Signed};
use workdir::{Context, Definition, Failure, Outcome, Receipt};

use crate::budget::Budget;
use crate::components::{EdgeSource, Labels};
use crate::external::External;
use crate::keeper::{Order, Verdict};

/// The version of what this stage makes of its edges.
const ALGORITHM: &str = "components-1";
/// Clusters that the report names.
const LARGEST: usize = 10;
/// A cluster with more than one in so many documents draws a warning.
const GIANT_SHARE: u64 = 100;
/// A smaller cluster is no giant in any corpus.
const GIANT_DOCUMENTS: u64 = 100;

/// The stage, for the shell.
pub const STAGE: Definition = Definition {
    stage: Stage::Cluster,
    identity: |_, _| {
        Ok(Settings::from([(
            "algorithm.cluster".to_owned(),
            ALGORITHM.to_owned(),
        )]))
    },
    outdated: Definition::never_outdated,
    preflight: |pipeline, _| {
        dataset::check_columns(pipeline).map_err(|error| Failure::new(error.refused(), error))
    },
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
    join: Receipt,
    signed: Signed,
    /// The input files themselves, where a column of theirs is wanted.
    sources: Vec<Source>,
}

impl<'a> Before<'a> {
    fn open(pipeline: &'a Pipeline, context: &'a Context<'a>) -> Result<Self, Error> {
        let work = context.work;
        let mut chain = Receipt::chain(work, context.expected)?;
        let (sign, band) = (
            chain.take(work, Stage::Sign)?,
            chain.take(work, Stage::Band)?,
        );
        let join = chain.take(work, Stage::Join)?;
        let signed = Signed::open(work, &sign, pipeline.sign.k, context.threads, true)?;
        join.verify(work, context.threads, |_| true)?;
        let wants_columns = pipeline.cluster.column.is_some() || pipeline.input.id.is_some();
        let sources = match wants_columns {
            true => dataset::signed_sources(
                &pipeline.input,
                signed.inputs.iter().map(InputFile::identity),
            )?,
            false => Vec::new(),
        };
        dataset::check_columns_of(pipeline, &sources)?;
        Ok(Self {
            pipeline,
            context,
            band,
            join,
            signed,
            sources,
        })
    }

    fn scan(&self) -> SignatureScan {
        self.signed.scan(Columns {
            slots: true,
            identity: true,
            text_bytes: true,
        })
    }

    /// Visits every edge and every exact copy with its representative.
    fn edges(&self, each: &mut dyn FnMut(u64, u64) -> Result<(), Error>) -> Result<(), Error> {
        let work = self.context.work;
        let expected = self
            .join
            .provenance(tables::edges::KIND, tables::edges::FORMAT);
        let against = work.receipt(Stage::Join);
        let mut edges = tables::edges::EdgeReader::open(work, &expected, &against)?;
        while let Some(edge) = edges.next_edge()? {
            each(edge.a, edge.b)?;
        }
        let path = work.exact_copies();
        let fail = workdir::Error::record_file(&path, Stage::Band);
        let mut copies = self.band.open_records::<ExactCopy>(&path, None)?;
        while let Some(copy) = copies.next().map_err(&fail)? {
            each(copy.representative, copy.doc)?;
        }
        Ok(())
    }
}

/// Finds the clusters and chooses who stays.
///
/// Cost: two walks over the edges, one scan of the signatures, one sort of the signatures of the
/// documents in clusters, and one of 32 bytes each.
///
/// # Errors
/// When upstream files are not those of this run, an input changed, the budget is too small, or
/// the disk fails.
pub fn run(pipeline: &Pipeline, context: &Context<'_>) -> Result<Outcome, Error> {
    let before = Before::open(pipeline, context)?;
    let scratch = context.work.scratch(Stage::Cluster)?;
    context.progress.start(before.signed.documents.max(1));
    let (labels, sort_bytes) = label(&before, scratch.clone())?;
    context.journal.begin(1)?;
    let components_resident = matches!(labels, Labels::Resident { .. });

    let k = pipeline.sign.k;
    let sorter = |words: usize, key_words: usize| {
        Sorter::new(Config {
            folder: scratch.clone(),
            memory_bytes: sort_bytes,
            open_files: context.sort_files(2),
            threads: context.threads,
            record_words: words,
            key_words,
        })
    };
    let column = pipeline.cluster.column.as_deref();
    let order = Order::new(pipeline.cluster.keep, column, &before.sources);
    let members = keeper::gather(
        labels,
        before.scan(),
        order,
        sorter(keeper::member_words(k), keeper::KEY_WORDS)?,
        k,
        |rows| context.progress.add(rows),
    )?;

    let mut verdicts = sorter(4, 1)?;
    let mut tally = Tally::default();
    keeper::decide(members.finish()?, k, |verdict| {
        tally.add(&verdict);
        Ok(verdicts.push(&verdict.words())?)
    })?;
    let mut outcome = Outcome::default();
    tally.report(&before, &mut outcome);
    outcome.count("components_resident", components_resident);
    let (inputs, sources) = (&before.signed.inputs, &before.sources);
    output::write(
        pipeline,
        context,
        inputs,
        sources,
        verdicts.finish()?,
        &mut outcome,
    )?;
    context.work.remove_scratch(Stage::Cluster)?;
    Ok(outcome)
}

/// The components, and what is left for each of two sorts.
fn label(before: &Before<'_>, scratch: PathBuf) -> Result<(Labels, u64), Error> {
    let edges: EdgeSource<'_> = &|each| before.edges(each);
    let mut docs = DocSet::new(before.signed.documents);
    edges(&mut |a, b| {
        for doc in [a, b] {
            if !docs.insert(doc) {
                return Err(Error::NoSignature { doc });
            }
        }
        Ok(())
    })?;
    let count = docs.index();
    let budget = Budget::new(
        before.pipeline.sign.k,
        before.signed.documents,
        count,
        before.context.memory_bytes,
    )?;
    let labels = match budget.parents_bytes {
        Some(_) => components::resident(docs, count, edges)?,
        None => {
            let setting = External {
                scratch,
                memory_bytes: budget.external_bytes,
            };
            Labels::External(external::components(&setting, docs, count, edges)?)
        }
    };
    Ok((labels, budget.sort_bytes))
}

/// What the clusters came to.
#[derive(Default)]
struct Tally {
    clusters: u64,
    documents: u64,
    exact: u64,
    near: u64,
    /// Largest first.
    largest: Vec<Sized>,
    open: Option<Sized>,
}

/// A cluster by its size.
#[derive(Clone, Copy, Debug)]
struct Sized {
    documents: u64,
    near: u64,
    cluster: u64,
    keeper: u64,
}

impl Tally {
    fn add(&mut self, verdict: &Verdict) {
        self.documents += 1;
        match verdict.kind {
            Kind::Keeper => {
                self.close();
                self.clusters += 1;
                self.open = Some(Sized {
                    documents: 0,
                    near: 0,
                    cluster: verdict.cluster,
                    keeper: verdict.keeper,
                });
            }
            Kind::Exact => self.exact += 1,
            Kind::Near => self.near += 1,
        }
        if let Some(open) = &mut self.open {
            open.documents += 1;
            open.near += u64::from(verdict.kind == Kind::Near);
        }
    }

    fn close(&mut self) {
        self.largest.extend(self.open.take());
        if self.largest.len() >= 16 * LARGEST {
            self.trim();
        }
    }

    fn trim(&mut self) {
        self.largest
            .sort_by_key(|found| (std::cmp::Reverse(found.documents), found.cluster));
        self.largest.truncate(LARGEST);
    }

    fn report(&mut self, before: &Before<'_>, outcome: &mut Outcome) {
        self.close();
        self.trim();
        outcome.count("clusters", self.clusters);
        outcome.count("documents_in_clusters", self.documents);
        outcome.count("dropped", self.exact + self.near);
        outcome.count("dropped_exact", self.exact);
        outcome.count("dropped_near", self.near);
        let place = |doc: u64| {
            let file = before
                .signed
                .inputs
                .partition_point(|file| file.first_doc + file.rows <= doc);
            before
                .signed
                .inputs
                .get(file)
                .map(|file| (file.relative.clone(), doc - file.first_doc))
        };
        let largest: Vec<serde_json::Value> = self
            .largest
            .iter()
            .map(|found| {
                let (file, row) = place(found.keeper).unzip();
                serde_json::json!({
                    "documents": found.documents, "near": found.near,
                    "cluster_id": found.cluster, "keeper": found.keeper,
                    "file": file, "row": row,
                })
            })
            .collect();
        outcome.count("largest_clusters", largest);
        let giant = self.largest.iter().find(|found| {
            // Identical texts are what they are; it is likeness that a template can feign.
            found.near * 2 > found.documents
                && found.documents >= GIANT_DOCUMENTS
                && found.documents > before.signed.documents / GIANT_SHARE
        });
        if let Some(found) = giant {
            outcome.warnings.push(format!(
                "cluster {} holds {} of {} documents, most of them near-duplicates; look whether a \
                 template or boilerplate joined them",
                found.cluster, found.documents, before.signed.documents
            ));
        }
    }
}
