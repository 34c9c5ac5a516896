//! Finding the input files and telling which of them are those of the last run.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use dataset::{Listed, Listing, Source};
use records::Pipeline;
use tables::inputs::{InputFile, last_run};
use workdir::{Context, WorkDir};
use xxhash_rust::xxh3::Xxh3;

use crate::Error;
use crate::budget::{Budget, TEXT_BYTES_LEAST};
use crate::worker::Finished;

/// What identifies a file of the input: path relative to its root, rows, fingerprint.
pub(crate) type Known = (String, u64, String);

/// A digest of the ordered list of files: equal digests mean equal documents with equal ids.
pub(crate) fn digest(files: &[Known]) -> String {
    let mut hash = Xxh3::new();
    for (relative, rows, fingerprint) in files {
        for part in [
            relative.as_bytes(),
            &rows.to_le_bytes(),
            fingerprint.as_bytes(),
        ] {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    format!("{:032x}", hash.digest128())
}

/// The identity of every input file. Files with the size and time of the last run are not
/// opened: that run's table says what they are.
pub(crate) fn known_or_inspected(pipeline: &Pipeline, work: &WorkDir) -> Result<Vec<Known>, Error> {
    let listing = dataset::list(&pipeline.input.paths)?;
    let before = last_run(work, &pipeline.input.text);
    let unknown: Vec<Listed> = listing
        .files
        .iter()
        .filter(|listed| same_file(&before, listed).is_none())
        .cloned()
        .collect();
    let budget = Budget::for_footers(pipeline.run.memory_bytes, pipeline.sign.k);
    let text = &pipeline.input.text;
    let mut inspected = inspect_all(&unknown, text, threads(), &budget)?.into_iter();
    let mut all = Vec::with_capacity(listing.files.len());
    for listed in &listing.files {
        if let Some(file) = same_file(&before, listed) {
            all.push((file.relative.clone(), file.rows, file.fingerprint.clone()));
        } else if let Some(source) = inspected.next() {
            let fingerprint = format!("{:032x}", source.fingerprint);
            all.push((source.listed.relative, source.rows, fingerprint));
        }
    }
    Ok(all)
}

fn same_file<'a>(before: &'a HashMap<String, InputFile>, listed: &Listed) -> Option<&'a InputFile> {
    let file = before.get(listed.path.to_str()?)?;
    file.looks_like(&listed.relative, listed.bytes, listed.modified_ns)
        .then_some(file)
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// An input file.
pub(crate) enum Input {
    /// As the last run found it, with all its shards.
    Kept(Box<InputFile>, Vec<Finished>),
    /// To be looked at: its number among those.
    New(usize),
}

impl Input {
    /// The shards that the last run left.
    pub(crate) fn shards(&self) -> usize {
        match self {
            Input::Kept(_, shards) => shards.len(),
            Input::New(_) => 0,
        }
    }
}

/// The input files in document order.
pub(crate) struct Inputs {
    pub(crate) files: Vec<Input>,
    /// What the footers of the new ones say.
    pub(crate) sources: Vec<Source>,
    pub(crate) skipped: u64,
    pub(crate) warnings: Vec<String>,
}

/// Lists the input, and reads the footer of every file that is not as the last run found it and
/// signed it.
pub(crate) fn inspected(pipeline: &Pipeline, context: &Context<'_>) -> Result<Inputs, Error> {
    let budget = Budget::for_footers(Some(context.memory_bytes), pipeline.sign.k);
    let Listing {
        files: listed,
        skipped,
        warnings,
    } = dataset::list(&pipeline.input.paths)?;
    let before = last_run(context.work, &pipeline.input.text);
    let mut files = Vec::with_capacity(listed.len());
    let mut new = Vec::new();
    for listed in listed {
        let kept = same_file(&before, &listed).and_then(|file| {
            let shards = file.shards.iter().map(|name| finished(context, name));
            Some(Input::Kept(
                Box::new(file.clone()),
                shards.collect::<Option<_>>()?,
            ))
        });
        files.push(kept.unwrap_or(Input::New(new.len())));
        if let Some(Input::New(_)) = files.last() {
            new.push(listed);
        }
    }
    let sources = inspect_all(&new, &pipeline.input.text, context.threads, &budget)?;
    Ok(Inputs {
        files,
        sources,
        skipped,
        warnings,
    })
}

/// The shard of that name, where an earlier run finished it.
pub(crate) fn finished(context: &Context<'_>, name: &str) -> Option<Finished> {
    let unit = context.journal.unit(name)?;
    Some(Finished {
        output: unit.outputs.into_iter().next()?,
        counts: unit.data,
    })
}

/// Reads the footers of `files` with `threads` readers, those that do not fit a thread's share of
/// the budget one at a time; the error is that of the first file in order that has one, whatever
/// the threads.
fn inspect_all(
    files: &[Listed],
    text: &str,
    threads: usize,
    budget: &Budget,
) -> Result<Vec<Source>, Error> {
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<(usize, Result<Source, Error>)>> = Mutex::default();
    let alone: Mutex<Vec<usize>> = Mutex::default();
    let put = |i, source| {
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        found.push((i, source));
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.min(files.len()) {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(listed) = files.get(i) else { break };
                    let source = match check_footer(listed, budget) {
                        Ok(bytes) if bytes > budget.for_text_at_most() / threads as u64 => {
                            let mut alone = alone.lock().unwrap_or_else(PoisonError::into_inner);
                            alone.push(i);
                            continue;
                        }
                        Ok(_) => dataset::inspect(listed, text).map_err(Error::from),
                        Err(error) => Err(error),
                    };
                    if source.is_err() {
                        next.store(files.len(), Ordering::Relaxed);
                    }
                    put(i, source);
                }
            });
        }
    });
    for i in alone.into_inner().unwrap_or_else(PoisonError::into_inner) {
        if let Some(listed) = files.get(i) {
            put(i, dataset::inspect(listed, text).map_err(Error::from));
        }
    }
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_key(|&(i, _)| i);
    found.into_iter().map(|(_, source)| source).collect()
}

/// What the footer of a file takes in memory; refused where the budget does not hold it and a
/// worker.
fn check_footer(listed: &Listed, budget: &Budget) -> Result<u64, Error> {
    let bytes = dataset::footer_memory(listed)?;
    let least = bytes.saturating_add(TEXT_BYTES_LEAST);
    if least <= budget.for_text_at_most() {
        return Ok(bytes);
    }
    Err(Error::Large {
        path: listed.path.clone(),
        place: "footer".to_owned(),
        what: format!("a footer that takes {bytes} bytes of memory"),
        needed_bytes: budget.for_text(least),
        budget_bytes: budget.memory_bytes(),
    })
}
