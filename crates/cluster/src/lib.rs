//! Stage 4, `cluster`: the connected components of edges and exact copies, one keeper each.
//!
//! 1. [`components`] labels every document that has an edge with the smallest of its component.
//! 2. [`keeper`] sorts the members of each cluster, best first, with their signatures; the first
//!    stays, and the others are compared with it.
//! 3. [`output`] writes `clusters.parquet` and what `filter` needs, by document.
//!
//! Memory: one bit (and an eighth) a document, four bytes a document with edges where they fit,
//! and sort buffers within the budget.

mod components;
mod error;
mod keeper;
mod output;

pub use error::Error;

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use dataset::{RankKind, Source};
use extsort::{Config, Sorter};
use records::file::RecordReader;
use records::pods::ExactCopy;
use records::settings::Keep;
use records::{DocSet, Pipeline, Provenance, Settings, Stage};
use tables::SignatureScan;
use tables::clusters::Kind;
use tables::inputs::InputFile;
use tables::signatures::Columns;
use workdir::{Context, Definition, Failure, Outcome, Receipt};

use crate::components::{EdgeSource, Labels, Sorting};
use crate::keeper::{Order, Verdict};

/// The version of what this stage makes of its edges.
const ALGORITHM: &str = "components-1";
/// The program itself, its libraries and thread stacks, and batches of signatures and columns.
const BASE_BYTES: u64 = 20 << 20;
/// The least for each of the two sorts that exist at once.
const SORT_BYTES: u64 = 4 << 20;
/// Clusters that the report names.
const LARGEST: usize = 10;
/// A cluster with more than one in so many documents draws a warning.
const GIANT_SHARE: u64 = 100;
/// In a corpus smaller than this, no cluster is called a giant.
const GIANT_DOCUMENTS: u64 = 10_000;

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
    join: Receipt,
    inputs: Vec<InputFile>,
    /// The input files themselves, where a column of theirs is wanted.
    sources: Vec<Source>,
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
        let (sign, join) = (take(Stage::Sign)?, take(Stage::Join)?);
        sign.verify(work, context.threads, |_| true)?;
        join.verify(work, context.threads, |_| true)?;
        let expected = sign.provenance(tables::inputs::KIND, tables::inputs::FORMAT);
        let against = work.receipt(Stage::Sign);
        let inputs = tables::inputs::read(&work.inputs(), &expected, &against)?;
        let documents = inputs.iter().map(|file| file.rows).sum();
        let wants_columns = pipeline.cluster.column.is_some() || pipeline.input.id.is_some();
        let sources = if wants_columns {
            open_sources(pipeline, &inputs)?
        } else {
            Vec::new()
        };
        Ok(Self {
            pipeline,
            context,
            sign,
            join,
            inputs,
            sources,
            documents,
        })
    }

    fn scan(&self) -> SignatureScan {
        let columns = Columns {
            slots: true,
            identity: true,
            text_bytes: true,
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
        let file = File::open(&path).map_err(workdir::Error::io("open", &path))?;
        let fail = Error::records(&path);
        let mut copies = RecordReader::<_, ExactCopy>::new(BufReader::new(file)).map_err(&fail)?;
        while let Some(copy) = copies.next().map_err(&fail)? {
            each(copy.representative, copy.doc)?;
        }
        Ok(())
    }
}

/// Opens the input files again, and refuses one that changed.
fn open_sources(pipeline: &Pipeline, inputs: &[InputFile]) -> Result<Vec<Source>, Error> {
    let listing = dataset::list(&pipeline.input.paths)?;
    let mut sources = Vec::with_capacity(inputs.len());
    for (input, listed) in inputs.iter().zip(&listing.files) {
        let source = dataset::inspect(listed, &pipeline.input.text)?;
        if format!("{:032x}", source.fingerprint) != input.fingerprint || source.rows != input.rows
        {
            return Err(Error::Changed {
                path: listed.path.clone(),
            });
        }
        sources.push(source);
    }
    if let Some(input) = inputs.get(sources.len()) {
        let path = PathBuf::from(&input.path);
        return Err(Error::Changed { path });
    }
    if let Some(column) = &pipeline.cluster.column {
        check_kinds(&sources, column, pipeline.cluster.keep)?;
    }
    Ok(sources)
}

/// Refuses a keep column that holds things which cannot be compared with each other.
fn check_kinds(sources: &[Source], column: &str, keep: Keep) -> Result<(), Error> {
    let rank = match keep {
        Keep::Longest => return Ok(()),
        Keep::Earliest => RankKind::Earliest,
        Keep::Best => RankKind::Best,
    };
    let mut first: Option<(&Source, &'static str)> = None;
    for source in sources {
        let kind = dataset::rank_class(source, column, rank)?;
        match first {
            Some((other, other_kind)) if other_kind != kind => {
                return Err(Error::MixedColumn {
                    column: column.to_owned(),
                    file: other.listed.path.clone(),
                    kind: other_kind,
                    other: source.listed.path.clone(),
                    other_kind: kind,
                });
            }
            _ => first = Some((source, kind)),
        }
    }
    Ok(())
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
    context.progress.start(before.documents.max(1));
    let (labels, sort_bytes) = label(&before, scratch.clone())?;

    let k = pipeline.sign.k;
    let sorter = |words: usize, key_words: usize| {
        Sorter::new(Config {
            folder: scratch.clone(),
            memory_bytes: sort_bytes,
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
    let (inputs, sources) = (&before.inputs, &before.sources);
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
    let budget = before.context.memory_bytes;
    let fixed = BASE_BYTES + DocSet::memory_bytes(before.documents);
    let needed = fixed + 2 * SORT_BYTES;
    let Some(left) = budget
        .checked_sub(fixed)
        .filter(|left| *left >= 2 * SORT_BYTES)
    else {
        return Err(Error::Memory {
            budget_bytes: budget,
            documents: before.documents,
            needed_bytes: needed,
        });
    };
    let edges: EdgeSource<'_> = &|each| before.edges(each);
    let mut docs = DocSet::new(before.documents);
    edges(&mut |a, b| {
        for doc in [a, b] {
            if !docs.insert(doc) {
                return Err(Error::NoSignature { doc });
            }
        }
        Ok(())
    })?;
    let count = docs.index();
    let parents = components::resident_bytes(count);
    if parents + 2 * SORT_BYTES <= left && count < u64::from(u32::MAX) {
        let labels = components::resident(docs, count, edges)?;
        return Ok((labels, (left - parents) / 2));
    }
    drop(docs);
    let sorting = Sorting {
        scratch,
        // The labels stay open while the members are sorted.
        memory_bytes: left / 3,
        threads: before.context.threads,
    };
    Ok((components::external(&sorting, edges)?, left / 3))
}

/// What the clusters came to.
#[derive(Default)]
struct Tally {
    clusters: u64,
    documents: u64,
    exact: u64,
    near: u64,
    /// (size, cluster, keeper), largest first; the last is open.
    largest: Vec<(u64, u64, u64)>,
    open: Option<(u64, u64, u64)>,
}

impl Tally {
    fn add(&mut self, verdict: &Verdict) {
        self.documents += 1;
        match verdict.kind {
            Kind::Keeper => {
                self.close();
                self.clusters += 1;
                self.open = Some((0, verdict.cluster, verdict.keeper));
            }
            Kind::Exact => self.exact += 1,
            Kind::Near => self.near += 1,
        }
        if let Some((size, ..)) = &mut self.open {
            *size += 1;
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
            .sort_by_key(|&(size, cluster, _)| (std::cmp::Reverse(size), cluster));
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
                .inputs
                .partition_point(|file| file.first_doc + file.rows <= doc);
            before
                .inputs
                .get(file)
                .map(|file| (file.relative.clone(), doc - file.first_doc))
        };
        let largest: Vec<serde_json::Value> = self
            .largest
            .iter()
            .map(|&(size, cluster, keeper)| {
                let (file, row) = place(keeper).unzip();
                serde_json::json!({
                    "documents": size, "cluster_id": cluster, "keeper": keeper,
                    "file": file, "row": row,
                })
            })
            .collect();
        outcome.count("largest_clusters", largest);
        if let Some(&(size, cluster, _)) = self.largest.first()
            && before.documents >= GIANT_DOCUMENTS
            && size > before.documents / GIANT_SHARE
        {
            outcome.warnings.push(format!(
                "cluster {cluster} holds {size} of {} documents; look whether a template or \
                 boilerplate joined them",
                before.documents
            ));
        }
    }
}
