//! Stage 1, `sign`: reads every text once and writes a signature for every document.
//!
//! The unit of work is a range of row groups of one input file, a function of the footers alone.
//! Each becomes one shard under `signatures/`, so that one large file keeps all threads busy. A
//! shard whose file is as it was is not made again: a stopped run goes on from there, and after a
//! change of one file only that one is read.
//! Memory is a batch of text, a row group of signatures and scratch buffers a thread; nothing
//! grows with the corpus but the list of files. A page that takes more than a thread's share of the
//! budget is left, with its unit, to a later pass of fewer threads that have larger shares.

mod budget;
mod error;
mod inputs;
mod plan;
mod units;
mod worker;

pub use error::Error;

use std::collections::BTreeSet;
use std::path::PathBuf;

use dataset::Source;
use records::{Pipeline, Provenance, Settings, Stage};
use tables::inputs::InputFile;
use workdir::{Context, Definition, Failure, INPUTS, Outcome, WorkDir};

use crate::inputs::{Input, Inputs, Known};
use crate::units::Unit;
use crate::worker::{Counts, Finished};

/// The stage, for the shell.
pub const STAGE: Definition = Definition {
    stage: Stage::Sign,
    identity: |pipeline, work| {
        identity(pipeline, work).map_err(|error| Failure::new(error.refused(), error))
    },
    outdated: Definition::never_outdated,
    preflight: |pipeline, _| {
        dataset::check_columns(pipeline).map_err(|error| Failure::new(error.refused(), error))
    },
    plan: |pipeline, facts, memory_bytes, threads| {
        plan::plan(pipeline, facts, memory_bytes, threads)
            .map_err(|error| Failure::new(error.refused(), error))
    },
    run: |pipeline, context| {
        run(pipeline, context).map_err(|error| Failure::new(error.refused(), error))
    },
};

/// Algorithm versions and the identity of the input.
fn identity(pipeline: &Pipeline, work: &WorkDir) -> Result<Settings, Error> {
    let scheme = worker::scheme(pipeline.sign.scheme);
    let sources = inputs::known_or_inspected(pipeline, work)?;
    Ok(Settings::from([
        (INPUTS.to_owned(), inputs::digest(&sources)),
        (
            "algorithm.shingle".to_owned(),
            shingle::ALGORITHM.to_owned(),
        ),
        (
            "algorithm.unicode".to_owned(),
            shingle::UNICODE_VERSION.to_owned(),
        ),
        ("algorithm.sketch".to_owned(), scheme.algorithm().to_owned()),
    ]))
}

/// Signs every document of the input.
///
/// Time is that of decoding the text column plus a few microseconds a document; see
/// [`shingle`] and [`sketch`].
///
/// # Errors
/// When an input is refused, the budget does not hold one worker or a page of text, or the disk
/// fails.
pub fn run(pipeline: &Pipeline, context: &Context<'_>) -> Result<Outcome, Error> {
    let work = context.work;
    let inputs = inputs::inspected(pipeline, context)?;
    let units = units::plan(&inputs.sources, &work.signatures());
    let mut done: Vec<Option<Finished>> = units
        .iter()
        .map(|unit| inputs::finished(context, &work.name_of(&unit.shard)))
        .collect();
    let kept: usize = inputs.files.iter().map(Input::shards).sum();
    let all = kept + units.len();
    context.journal.begin(all as u64)?;
    work.prepare(&work.signatures())?;

    let left: Vec<usize> = (0..units.len()).filter(|&i| done[i].is_none()).collect();
    let pending: Vec<Unit> = left.iter().map(|&i| units[i].clone()).collect();
    let total: u64 = pending.iter().map(|unit| unit.text_bytes).sum();
    context.progress.start(total.max(1));
    let signed = worker::sign_all(pipeline, context, &inputs.sources, &pending, all)?;
    for (i, finished) in left.into_iter().zip(signed.finished) {
        done[i] = Some(finished);
    }
    let (files, finished) = input_files(work, &inputs, &units, done);
    check_identity(context, &files)?;
    let kept: Vec<PathBuf> = finished
        .iter()
        .map(|unit| work.root().join(&unit.output.name))
        .collect();
    work.retain(&work.signatures(), &kept)?;

    let settings = context.expected.settings.clone();
    let provenance = Provenance::new(tables::inputs::KIND, tables::inputs::FORMAT, settings);
    let inputs_table = tables::inputs::write(work, &provenance, &files)?;

    let mut outcome = outcome(&finished, &files, inputs.skipped);
    outcome.outputs = finished.into_iter().map(|unit| unit.output).collect();
    outcome.outputs.push(inputs_table);
    outcome.count("threads_used", signed.threads);
    outcome.count("units_passed_on", signed.passed_on);
    outcome.count("memory_planned", signed.planned);
    outcome.warnings = inputs.warnings;
    outcome.warnings.extend(signed.warnings);
    Ok(outcome)
}

/// Refuses an input that changed between the look that decided that this stage has to run and
/// this one: an export that is still being written.
fn check_identity(context: &Context<'_>, files: &[InputFile]) -> Result<(), Error> {
    let known: Vec<Known> = files
        .iter()
        .map(|file| (file.relative.clone(), file.rows, file.fingerprint.clone()))
        .collect();
    match context.expected.settings.get(INPUTS) {
        Some(expected) if *expected != inputs::digest(&known) => Err(Error::Changing),
        _ => Ok(()),
    }
}

/// The input files in document order, and the shards of all of them. `done` are those of `units`,
/// which are those of the new files.
fn input_files(
    work: &WorkDir,
    inputs: &Inputs,
    units: &[Unit],
    done: Vec<Option<Finished>>,
) -> (Vec<InputFile>, Vec<Finished>) {
    let mut of_source: Vec<Vec<(String, Finished)>> = vec![Vec::new(); inputs.sources.len()];
    for (unit, finished) in units.iter().zip(done) {
        if let (Some(shards), Some(finished)) = (of_source.get_mut(unit.source), finished) {
            shards.push((work.name_of(&unit.shard), finished));
        }
    }
    let mut first_doc = 0;
    let mut files: Vec<InputFile> = Vec::with_capacity(inputs.files.len());
    let mut finished = Vec::new();
    for input in &inputs.files {
        let mut file = match input {
            Input::Kept(file, shards) => {
                finished.extend(shards.iter().cloned());
                InputFile::clone(file)
            }
            Input::New(number) => {
                let Some(source) = inputs.sources.get(*number) else {
                    continue;
                };
                let shards = std::mem::take(&mut of_source[*number]);
                let file = input_file(source, &shards);
                finished.extend(shards.into_iter().map(|(_, shard)| shard));
                file
            }
        };
        file.first_doc = first_doc;
        first_doc += file.rows;
        files.push(file);
    }
    (files, finished)
}

fn input_file(source: &Source, shards: &[(String, Finished)]) -> InputFile {
    InputFile {
        path: source.listed.path.to_string_lossy().into_owned(),
        relative: source.listed.relative.clone(),
        bytes: source.listed.bytes,
        modified_ns: source.listed.modified_ns,
        rows: source.rows,
        first_doc: 0,
        text_bytes: source.text_bytes(),
        largest_stored_group_bytes: source.largest_stored_group_bytes(),
        largest_text_group_bytes: source.largest_text_group_bytes(),
        schema: source.schema.clone(),
        fingerprint: format!("{:032x}", source.fingerprint),
        shards: shards.iter().map(|(name, _)| name.clone()).collect(),
        shard_rows: shards
            .iter()
            .map(|(_, shard)| shard.counts.documents)
            .collect(),
    }
}

fn outcome(finished: &[Finished], files: &[InputFile], skipped: u64) -> Outcome {
    let mut sum = Counts::default();
    for unit in finished {
        sum.add(&unit.counts);
    }
    let folders: BTreeSet<&str> = files
        .iter()
        .filter_map(|file| Some(file.relative.rsplit_once('/')?.0))
        .collect();
    let mut outcome = Outcome::default();
    outcome.count("files", files.len());
    outcome.count("folders", folders.len());
    outcome.count("files_skipped", skipped);
    outcome.count(
        "input_bytes",
        files.iter().map(|file| file.bytes).sum::<u64>(),
    );
    outcome.count("documents", sum.documents);
    outcome.count("null", sum.null);
    outcome.count("empty", sum.empty);
    outcome.count("text_replaced", sum.replaced);
    outcome.count("text_bytes", sum.text_bytes);
    outcome.count("normalised_bytes", sum.normalised_bytes);
    outcome.count("shingles", sum.shingles);
    outcome
}
