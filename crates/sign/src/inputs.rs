//! Finding the input files and telling whether they are those of the last run.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use dataset::{Listed, Listing, Source};
use records::{Pipeline, Stage};
use tables::inputs::InputFile;
use workdir::{Receipt, WorkDir};
use xxhash_rust::xxh3::Xxh3;

use crate::Error;
use crate::budget::{Budget, TEXT_BYTES_LEAST};

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
    let before = last_run(pipeline, work);
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

/// The files of the last run by path, if it looked at the same text column.
fn last_run(pipeline: &Pipeline, work: &WorkDir) -> std::collections::HashMap<String, InputFile> {
    let Some(receipt) = Receipt::load(work, Stage::Sign) else {
        return Default::default();
    };
    if receipt.settings.get("input.text") != Some(&pipeline.input.text) {
        return Default::default();
    }
    let expected = receipt.provenance(tables::inputs::KIND, tables::inputs::FORMAT);
    // A table that cannot be read only costs a look at the files themselves.
    tables::inputs::read(&work.inputs(), &expected, &work.receipt(Stage::Sign))
        .unwrap_or_default()
        .into_iter()
        .map(|file| (file.path.clone(), file))
        .collect()
}

fn same_file<'a>(
    before: &'a std::collections::HashMap<String, InputFile>,
    listed: &Listed,
) -> Option<&'a InputFile> {
    let file = before.get(listed.path.to_str()?)?;
    let same = file.bytes == listed.bytes
        && file.modified_ns == listed.modified_ns
        && file.relative == listed.relative;
    same.then_some(file)
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Lists the input and reads every footer.
pub(crate) fn inspected(
    pipeline: &Pipeline,
    threads: usize,
    memory_bytes: u64,
) -> Result<(Vec<Source>, Listing), Error> {
    let budget = Budget::for_footers(Some(memory_bytes), pipeline.sign.k);
    let listing = dataset::list(&pipeline.input.paths)?;
    let sources = inspect_all(&listing.files, &pipeline.input.text, threads, &budget)?;
    Ok((sources, listing))
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
