//! Sorting a band's postings and keeping the buckets of two or more.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use extsort::{Config, Sorted, Sorter};
use records::DocSet;
use records::file::{RecordReader, RecordWriter};
use records::pods::Posting;
use serde::{Deserialize, Serialize};
use tables::Signed;
use workdir::{AtomicFile, Context, Outcome, Output, Unit, part_settings};

use crate::Error;
use crate::budget::Budget;
use crate::keys::{Part, fail};

/// Buckets that the report names.
const LARGEST: usize = 10;

/// What a band counted.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Counts {
    buckets: u64,
    postings: u64,
    single: u64,
    pairs: u64,
    /// (size, band, key, first document), largest first.
    largest: Vec<(u64, u32, u64, u64)>,
}

/// A band that is done, in the order of bands.
pub(crate) type Finished = (u32, Output, Counts);

/// The bands that an earlier attempt finished.
pub(crate) fn finished(context: &Context<'_>, bands: u32) -> Vec<Finished> {
    (0..bands)
        .filter_map(|band| {
            let name = context.work.name_of(&context.work.postings(band));
            let unit: Unit<Counts> = context.journal.proven_unit(&name)?;
            Some((band, unit.outputs.into_iter().next()?, unit.data))
        })
        .collect()
}

/// Sorts every part and writes its buckets, beside those of `finished`; bands go to as many
/// threads as the budget feeds.
pub(crate) fn sort(
    context: &Context<'_>,
    signed: &Signed,
    (parts, mut finished): (&[Part], Vec<Finished>),
    scratch: &Path,
    budget: &Budget,
    outcome: &mut Outcome,
) -> Result<(), Error> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<Finished, Error>)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..budget.threads {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(part) = parts.get(i) else { break };
                    let result = sort_part(context, part, scratch, budget);
                    if result.is_err() {
                        next.store(parts.len(), Ordering::Relaxed);
                    }
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    done.push((i, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|&(i, _)| i);
    for (_, result) in done {
        finished.push(result?);
    }
    finished.sort_by_key(|&(band, _, _)| band);
    let bands: Vec<u32> = finished.iter().map(|&(band, _, _)| band).collect();
    let mut sum = Counts::default();
    for (_, output, counts) in finished {
        outcome.outputs.push(output);
        sum.buckets += counts.buckets;
        sum.postings += counts.postings;
        sum.single += counts.single;
        sum.pairs = sum.pairs.saturating_add(counts.pairs);
        sum.largest.extend(counts.largest);
    }
    report(&mut sum, outcome);
    let shared = documents_in_buckets(context, signed.documents, &bands)?;
    outcome.count("documents_in_buckets", shared);
    Ok(())
}

/// How many documents share a bucket with another: what `join` needs signatures of.
fn documents_in_buckets(
    context: &Context<'_>,
    documents: u64,
    bands: &[u32],
) -> Result<u64, Error> {
    let mut docs = DocSet::new(documents);
    for &band in bands {
        let path = context.work.postings(band);
        let file = File::open(&path).map_err(workdir::Error::io("open", &path))?;
        let mut reader =
            RecordReader::<_, Posting>::new(BufReader::new(file)).map_err(fail(&path))?;
        while let Some(Posting { doc, .. }) = reader.next().map_err(fail(&path))? {
            if !docs.insert(doc) {
                return Err(Error::Document { doc, documents });
            }
        }
    }
    Ok(docs.index())
}

fn report(sum: &mut Counts, outcome: &mut Outcome) {
    outcome.count("buckets", sum.buckets);
    outcome.count("buckets_of_one", sum.single);
    outcome.count("postings_kept", sum.postings);
    outcome.count("pairs_in_buckets", sum.pairs);
    keep_largest(&mut sum.largest);
    let largest: Vec<serde_json::Value> = sum
        .largest
        .iter()
        .map(|(size, band, key, doc)| {
            serde_json::json!({
                "documents": size, "band": band, "key": format!("{key:016x}"), "doc_id": doc,
            })
        })
        .collect();
    outcome.count("largest_buckets", largest);
}

/// Keeps the largest, and of equals those that come first, so that the report is a function of
/// the input.
fn keep_largest(largest: &mut Vec<(u64, u32, u64, u64)>) {
    largest.sort_by_key(|&(size, band, key, _)| (std::cmp::Reverse(size), band, key));
    largest.truncate(LARGEST);
}

fn sort_part(
    context: &Context<'_>,
    part: &Part,
    scratch: &Path,
    budget: &Budget,
) -> Result<Finished, Error> {
    let mut sorter = Sorter::new(Config {
        folder: scratch.to_owned(),
        memory_bytes: budget.band_bytes,
        open_files: context.sort_files(budget.threads),
        threads: 1,
        record_words: 2,
        key_words: 2,
    })?;
    let file = File::open(&part.path).map_err(workdir::Error::io("open", &part.path))?;
    let mut reader = RecordReader::<_, Posting>::new(BufReader::with_capacity(256 << 10, file))
        .map_err(fail(&part.path))?;
    while let Some(posting) = reader.next().map_err(fail(&part.path))? {
        sorter.push_pod(&posting)?;
    }
    drop(reader);
    fs::remove_file(&part.path).map_err(workdir::Error::io("remove", &part.path))?;
    context.progress.add(sorter.len());
    let (output, counts) = write_buckets(context, part.band, sorter.finish()?)?;
    let (name, outputs) = (output.name.clone(), [output.clone()]);
    context.journal.add(&name, &outputs, &counts)?;
    Ok((part.band, output, counts))
}

fn write_buckets(
    context: &Context<'_>,
    band: u32,
    mut sorted: Sorted,
) -> Result<(Output, Counts), Error> {
    let path = context.work.postings(band);
    let settings = part_settings(&context.expected.settings, &context.work.name_of(&path));
    let file = AtomicFile::create(&path)?;
    let mut writer = RecordWriter::new(file, settings).map_err(fail(&path))?;
    let mut counts = Counts::default();
    let (mut first, mut size) = (Posting::default(), 0u64);
    while let Some(posting) = sorted.next_pod::<Posting>()? {
        if size > 0 && posting.key == first.key {
            if size == 1 {
                writer.push(&first).map_err(fail(&path))?;
            }
            writer.push(&posting).map_err(fail(&path))?;
            size += 1;
        } else {
            close_bucket(&mut counts, band, &first, size);
            (first, size) = (posting, 1);
        }
    }
    close_bucket(&mut counts, band, &first, size);
    keep_largest(&mut counts.largest);
    let (file, _) = writer.finish().map_err(fail(&path))?;
    Ok((file.commit(context.work)?, counts))
}

fn close_bucket(counts: &mut Counts, band: u32, first: &Posting, size: u64) {
    match size {
        0 => {}
        1 => counts.single += 1,
        _ => {
            counts.buckets += 1;
            counts.postings += size;
            let pairs = size.saturating_mul(size - 1) / 2;
            counts.pairs = counts.pairs.saturating_add(pairs);
            counts.largest.push((size, band, first.key, first.doc));
            if counts.largest.len() >= 16 * LARGEST {
                keep_largest(&mut counts.largest);
            }
        }
    }
}
