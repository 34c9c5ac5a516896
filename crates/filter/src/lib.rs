//! Stage 5, `filter`: the same Parquet files, without the duplicates or with two columns that
//! mark them.
//!
//! The new output is made in a folder beside the target and takes its place whole at the end: on
//! any failure the old output is as it was. How a file is written is `dataset::rewrite`'s matter.

mod budget;
mod decisions;
mod error;
mod folder;

pub use error::Error;

use std::fs;
use std::path::Path;

use dataset::Source;
use dataset::rewrite::{Job, Options, rewrite};
use records::settings::Mode;
use records::{PRODUCT_VERSION, Pipeline, Settings, Stage};
use tables::Signed;
use tables::inputs::InputFile;
use workdir::{Context, Definition, Failure, Lock, Outcome, Receipt, WorkDir};

use crate::budget::{Budget, Shape};
use crate::decisions::FileDecisions;
use crate::folder::{Output, SUCCESS, Success, SuccessFile};

/// The version of how files are written.
const ALGORITHM: &str = "rewrite-2";

/// The stage, for the shell.
pub const STAGE: Definition = Definition {
    stage: Stage::Filter,
    identity: |_, _| {
        Ok(Settings::from([(
            "algorithm.filter".to_owned(),
            ALGORITHM.to_owned(),
        )]))
    },
    outdated,
    preflight: |pipeline, _| {
        preflight(pipeline).map_err(|error| Failure::new(error.refused(), error))
    },
    plan: |pipeline, facts, memory_bytes, threads| {
        budget::plan(pipeline, facts, memory_bytes, threads)
            .map_err(|error| Failure::new(error.refused(), error))
    },
    run: |pipeline, context| {
        run(pipeline, context).map_err(|error| Failure::new(error.refused(), error))
    },
};

/// Why an output that a receipt tells of is not there any more.
fn outdated(pipeline: &Pipeline, receipt: &Receipt) -> Option<String> {
    let folder = &pipeline.filter.output;
    let Some(success) = Success::load(folder) else {
        return Some("the output folder is gone or not this run's".to_owned());
    };
    if success.run != receipt.id {
        return Some("the output folder is another run's".to_owned());
    }
    success.files.iter().find_map(|file| {
        let path = folder.join(&file.path);
        match fs::metadata(&path) {
            Err(_) => Some(format!("{} is missing from the output", file.path)),
            Ok(found) if found.len() != file.bytes => Some(format!(
                "{} has {} bytes in the output, not {}",
                file.path,
                found.len(),
                file.bytes
            )),
            Ok(_) => None,
        }
    })
}

fn options(pipeline: &Pipeline, threads: usize, memory_bytes: u64) -> Options {
    let filter = &pipeline.filter;
    Options {
        mode: filter.mode,
        prefix: filter.prefix.clone(),
        existing: filter.existing,
        compression_level: filter.compression_level,
        threads,
        memory_bytes,
    }
}

/// Refuses an output folder that is somebody else's, and input files that
/// cannot be written again as the settings ask, before any stage runs.
fn preflight(pipeline: &Pipeline) -> Result<(), Error> {
    Output::new(&pipeline.filter.output)?.check()?;
    let listing = dataset::list(&pipeline.input.paths)?;
    let options = options(pipeline, 1, 0);
    for listed in &listing.files {
        let source = dataset::inspect(listed, &pipeline.input.text)?;
        dataset::rewrite::check(&source, &options)?;
    }
    Ok(())
}

/// Writes the output.
///
/// Cost: a copy of the chunks of row groups that lose nothing, a decode and an encode of those
/// that lose rows.
///
/// # Errors
/// When upstream files are not those of this run, an input changed, the output folder is refused,
/// or the disk fails. The old output is then untouched.
pub fn run(pipeline: &Pipeline, context: &Context<'_>) -> Result<Outcome, Error> {
    let before = Before::open(pipeline, context)?;
    let output = Output::new(&pipeline.filter.output)?;
    let parent = output.target.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent).map_err(Error::io("make the folder", parent))?;
    let _lock = Lock::take(&output.lock(), &output.target)?;
    output.recover()?;
    output.check()?;
    let partial = output.partial();
    context.journal.begin(before.sources.len() as u64)?;
    let written = write(pipeline, context, &before, &partial);
    let outcome = written.and_then(|outcome| {
        output.replace()?;
        Ok(outcome)
    });
    if outcome.is_err() {
        // The error that counts is the first; what stays here goes with the next run.
        let _ = fs::remove_dir_all(&partial);
    }
    outcome
}

/// What the stages before left, opened and checked.
struct Before {
    inputs: Vec<InputFile>,
    sources: Vec<Source>,
    dropped: u64,
}

impl Before {
    fn open(pipeline: &Pipeline, context: &Context<'_>) -> Result<Self, Error> {
        let work = context.work;
        let mut chain = Receipt::chain(work, context.expected)?;
        let sign = chain.take(work, Stage::Sign)?;
        let cluster = chain.take(work, Stage::Cluster)?;
        let signed = Signed::open(work, &sign, pipeline.sign.k, 1, false)?;
        cluster.verify(work, 1, |name| name == work.name_of(&work.decisions()))?;
        let dropped = cluster
            .counters
            .get("dropped")
            .and_then(serde_json::Value::as_u64)
            .ok_or_else(|| {
                let path = work.receipt(Stage::Cluster);
                workdir::Error::damaged(&path, Stage::Cluster, "it has no counters")
            })?;
        let sources = dataset::signed_sources(
            &pipeline.input,
            signed.inputs.iter().map(InputFile::identity),
        )?;
        Ok(Self {
            inputs: signed.inputs,
            sources,
            dropped,
        })
    }
}

fn write(
    pipeline: &Pipeline,
    context: &Context<'_>,
    before: &Before,
    partial: &Path,
) -> Result<Outcome, Error> {
    fs::create_dir_all(partial).map_err(Error::io("make the folder", partial))?;
    let decisions: Vec<FileDecisions> = before
        .inputs
        .iter()
        .map(|input| FileDecisions {
            path: context.work.decisions(),
            first_doc: input.first_doc,
        })
        .collect();
    let mut jobs = Vec::with_capacity(before.sources.len());
    for ((source, input), decisions) in before.sources.iter().zip(&before.inputs).zip(&decisions) {
        let path = partial.join(&input.relative);
        let folder = path.parent().unwrap_or(partial);
        fs::create_dir_all(folder).map_err(Error::io("make the folder", folder))?;
        jobs.push(Job {
            source,
            output: path,
            decisions,
        });
    }
    let rows: u64 = before.inputs.iter().map(|input| input.rows).sum();
    context.progress.start(rows.max(1));
    let threads = budget::threads_of_files(context.open_files, context.threads);
    let shape = Shape::of(&before.sources, pipeline.filter.mode)?;
    let budget = Budget::new(context.memory_bytes, threads, shape)?;
    let options = options(pipeline, budget.threads, budget.work_bytes());
    let progress = |rows| context.progress.add(rows);
    let written = rewrite(&jobs, &options, &progress, &|| false)
        .map_err(|error| Error::rewrite(error, &budget, context))?;

    let rows_in: u64 = written.iter().map(|file| file.rows_in).sum();
    let rows_out: u64 = written.iter().map(|file| file.rows_out).sum();
    let dropped = match pipeline.filter.mode {
        Mode::Drop => before.dropped,
        Mode::Annotate => 0,
    };
    if rows_in != rows || rows_out.checked_add(dropped) != Some(rows_in) {
        return Err(Error::Count {
            rows_in,
            rows_out,
            dropped,
        });
    }
    success(pipeline, context, before, &written, partial)?;
    let sum = |get: fn(&dataset::rewrite::Outcome) -> u64| written.iter().map(get).sum::<u64>();
    let mut outcome = Outcome::default();
    outcome.count("rows_in", rows_in);
    outcome.count("rows_out", rows_out);
    outcome.count("output_bytes", sum(|file| file.bytes));
    outcome.count("row_groups_copied", sum(|file| file.row_groups_copied));
    outcome.count(
        "row_groups_rewritten",
        sum(|file| file.row_groups_rewritten),
    );
    outcome.count("threads_used", budget.threads);
    outcome.count("memory_planned", budget.planned());
    outcome.warnings.extend(budget.warning(threads));
    Ok(outcome)
}

/// Writes `_SUCCESS` and makes the names of all files durable.
fn success(
    pipeline: &Pipeline,
    context: &Context<'_>,
    before: &Before,
    written: &[dataset::rewrite::Outcome],
    partial: &Path,
) -> Result<(), Error> {
    let files = before.inputs.iter().zip(written);
    let success = Success {
        product: "neardup".to_owned(),
        version: PRODUCT_VERSION.to_owned(),
        run: context.expected.id(),
        mode: pipeline.filter.mode.to_string(),
        files: files
            .map(|(input, written)| SuccessFile {
                path: input.relative.clone(),
                bytes: written.bytes,
                rows: written.rows_out,
            })
            .collect(),
    };
    let path = partial.join(SUCCESS);
    let json = serde_json::to_vec_pretty(&success)
        .map_err(|error| Error::io("write", &path)(error.into()))?;
    workdir::AtomicFile::write(&path, &json, &WorkDir::at(partial))?;
    let mut folders = vec![partial.to_owned()];
    while let Some(folder) = folders.pop() {
        workdir::sync_folder(&folder)?;
        for entry in fs::read_dir(&folder).map_err(Error::io("list", &folder))? {
            let entry = entry.map_err(Error::io("list", &folder))?;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
        }
    }
    Ok(())
}
