//! Signing the units, one a thread at a time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use dataset::{Need, Source, TextReader};
use records::settings::{self, OnBadText};
use records::{Pipeline, Provenance};
use serde::{Deserialize, Serialize};
use shingle::Shingler;
use sketch::{Pass, Scheme, Sketcher};
use tables::signatures::{FORMAT, KIND, Signature, SignatureWriter};
use workdir::{Context, Output, Progress};

use crate::Error;
use crate::budget::{Budget, Share, TEXT_BYTES_LEAST};
use crate::units::Unit;

/// A text from this size on is read in parts, so that no buffer grows with it.
const LONG_BYTES: usize = 128 << 10;
/// What a worker has for a part of a long text, within its scratch; more comes out of its share for the text.
const PART_BYTES: u64 = 2 << 20;

/// What a unit counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub(crate) documents: u64,
    pub(crate) null: u64,
    pub(crate) empty: u64,
    pub(crate) replaced: u64,
    pub(crate) text_bytes: u64,
    pub(crate) normalised_bytes: u64,
    pub(crate) shingles: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, other: &Self) {
        self.documents += other.documents;
        self.null += other.null;
        self.empty += other.empty;
        self.replaced += other.replaced;
        self.text_bytes += other.text_bytes;
        self.normalised_bytes += other.normalised_bytes;
        self.shingles += other.shingles;
    }
}

/// A unit that is done.
#[derive(Clone, Debug)]
pub(crate) struct Finished {
    pub(crate) output: Output,
    pub(crate) counts: Counts,
}

pub(crate) fn scheme(scheme: settings::Scheme) -> Scheme {
    match scheme {
        settings::Scheme::Fss => Scheme::Fss,
        settings::Scheme::Universal => Scheme::Universal,
    }
}

fn shingle_config(sign: &settings::Sign) -> shingle::Config {
    shingle::Config {
        unit: match sign.unit {
            settings::Unit::Word => shingle::Unit::Word,
            settings::Unit::Char => shingle::Unit::Char,
            settings::Unit::Auto => shingle::Unit::Auto,
        },
        n: sign.n,
        char_n: sign.char_n,
        strip_punctuation: sign.strip_punctuation,
    }
}

/// All units, signed.
#[derive(Debug)]
pub(crate) struct Signed {
    /// In the order of the units.
    pub(crate) finished: Vec<Finished>,
    /// The workers of the first pass.
    pub(crate) threads: usize,
    /// Units that a pass left to one of fewer workers.
    pub(crate) passed_on: u64,
    /// The parts of the budget in the first pass.
    pub(crate) planned: serde_json::Value,
    pub(crate) warnings: Vec<String>,
}

/// What does not fit a worker's share.
#[derive(Clone, Debug)]
struct Large {
    /// What it is, with its size.
    what: String,
    /// Where in the file.
    place: String,
    /// What has to fit.
    bytes: u64,
    /// Progress that was reported before it was met.
    reported: u64,
}

/// A unit that is to be signed, and the progress that an earlier pass reported for it.
type Pending = (usize, u64);

/// What became of a unit.
enum Done {
    Finished(Finished),
    Large(Large),
}

/// Signs `units`, which are those that are left of `of`, the error being that of the first unit that has one. Units with pages that do
/// not fit the share of each of several workers are signed by fewer workers in a later pass: no
/// worker ever waits for memory that another one holds.
pub(crate) fn sign_all(
    pipeline: &Pipeline,
    context: &Context<'_>,
    sources: &[Source],
    units: &[Unit],
    of: usize,
) -> Result<Signed, Error> {
    let budget = Budget::new(context.memory_bytes, context.threads, pipeline.sign.k)?;
    let first_threads = budget.threads().min(of).max(1);
    let mut threads = first_threads;
    let mut finished: Vec<(usize, Finished)> = Vec::with_capacity(units.len());
    let mut pending: Vec<Pending> = (0..units.len()).map(|unit| (unit, 0)).collect();
    let mut passed_on = 0;
    let mut warnings: Vec<String> = budget.warning(context.threads).into_iter().collect();
    while !pending.is_empty() {
        let job = Job {
            pipeline,
            context,
            sources,
            units,
            share: budget.share(threads),
        };
        let mut large = Vec::new();
        for (unit, done) in job.pass(threads, &pending) {
            match done? {
                Done::Finished(done) => finished.push((unit, done)),
                Done::Large(found) => large.push((unit, found)),
            }
        }
        pending = large
            .iter()
            .map(|(unit, found)| (*unit, found.reported))
            .collect();
        // The first of the largest, so that the message is the same whatever the threads.
        let largest = large.iter().rev().max_by_key(|(_, found)| found.bytes);
        let Some((unit, found)) = largest else { break };
        let Some(fewer) = budget.threads_below(threads, found.bytes) else {
            return Err(job.refusal(&budget, *unit, found));
        };
        passed_on += pending.len() as u64;
        warnings.push(format!(
            "sign uses {fewer} of {threads} threads for {} of {} units: {} takes more than a thread's \
             share of run.memory",
            pending.len(),
            units.len(),
            found.what
        ));
        threads = fewer;
    }
    finished.sort_by_key(|&(unit, _)| unit);
    Ok(Signed {
        finished: finished.into_iter().map(|(_, done)| done).collect(),
        threads: first_threads,
        passed_on,
        planned: budget.planned(first_threads),
        warnings,
    })
}

/// A pass over some units with workers of one share.
struct Job<'a> {
    pipeline: &'a Pipeline,
    context: &'a Context<'a>,
    sources: &'a [Source],
    units: &'a [Unit],
    share: Share,
}

impl Job<'_> {
    /// What became of the units, in their order; after an error those that were not begun are missing.
    fn pass(&self, threads: usize, pending: &[Pending]) -> Vec<(usize, Result<Done, Error>)> {
        let next = AtomicUsize::new(0);
        let results: Mutex<Vec<(usize, Result<Done, Error>)>> = Mutex::default();
        std::thread::scope(|scope| {
            for _ in 0..threads.min(pending.len()) {
                scope.spawn(|| {
                    let mut worker = match Worker::new(self.pipeline, self.context, self.share) {
                        Ok(worker) => worker,
                        Err(error) => return lock(&results).push((0, Err(error))),
                    };
                    loop {
                        let i = next.fetch_add(1, Ordering::Relaxed);
                        let Some(&(number, reported)) = pending.get(i) else {
                            break;
                        };
                        let Some(unit) = self.units.get(number) else {
                            break;
                        };
                        let Some(source) = self.sources.get(unit.source) else {
                            break;
                        };
                        let result = worker.sign(source, unit, reported);
                        if result.is_err() {
                            next.store(pending.len(), Ordering::Relaxed);
                        }
                        lock(&results).push((number, result));
                    }
                });
            }
        });
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.sort_by_key(|&(number, _)| number);
        results
    }

    /// The refusal of what does not fit the share of a lone worker.
    fn refusal(&self, budget: &Budget, unit: usize, large: &Large) -> Error {
        let unit = self.units.get(unit);
        let source = unit.and_then(|unit| self.sources.get(unit.source));
        Error::Large {
            path: source
                .map(|source| source.listed.path.clone())
                .unwrap_or_default(),
            place: large.place.clone(),
            what: large.what.clone(),
            needed_bytes: budget.for_text(large.bytes),
            budget_bytes: budget.memory_bytes(),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A thread's buffers, used again for each document.
struct Worker<'a> {
    pipeline: &'a Pipeline,
    context: &'a Context<'a>,
    provenance: Provenance,
    share: Share,
    shingler: Shingler,
    sketcher: Sketcher,
    slots: Vec<u32>,
}

/// What is known of a document that has something to compare, beside its slots.
struct Known {
    text_hash: u128,
    normalised_bytes: u64,
    shingles: u64,
}

impl<'a> Worker<'a> {
    fn new(pipeline: &'a Pipeline, context: &'a Context<'a>, share: Share) -> Result<Self, Error> {
        let sign = &pipeline.sign;
        let settings = context.expected.shard_settings();
        Ok(Self {
            pipeline,
            context,
            provenance: Provenance::new(KIND, FORMAT, settings),
            share,
            shingler: Shingler::new(shingle_config(sign))?,
            sketcher: Sketcher::new(scheme(sign.scheme), sign.k, sign.seed)?,
            slots: vec![0; sign.k as usize],
        })
    }

    /// Signs a unit, of which an earlier pass reported `reported` bytes as done.
    fn sign(&mut self, source: &Source, unit: &Unit, reported: u64) -> Result<Done, Error> {
        let mut progress = Reported {
            progress: self.context.progress,
            reported,
        };
        let footer_bytes = dataset::footer_memory(&source.listed)?;
        let least = footer_bytes.saturating_add(TEXT_BYTES_LEAST);
        if least > self.share.text_bytes {
            return Ok(Done::Large(Large {
                what: format!("a footer that takes {footer_bytes} bytes of memory"),
                place: "footer".to_owned(),
                bytes: least,
                reported,
            }));
        }
        let share = self.share.without(footer_bytes);
        let (text, k) = (&self.pipeline.input.text, self.pipeline.sign.k);
        let groups = unit.row_groups.clone();
        let mut reader = TextReader::open(source, text, groups, share.batch_bytes)?;
        let mut writer = SignatureWriter::create(&unit.shard, &self.provenance, k, unit.first_row)?;
        let mut counts = Counts::default();
        let large = |what, need: &Need, row, bytes: u64, reported| {
            Ok(Done::Large(Large {
                what,
                place: format!(
                    "row group {}, row {row} of the file, column `{text}`",
                    need.row_group
                ),
                bytes: bytes.saturating_add(footer_bytes),
                reported,
            }))
        };
        while let Some(need) = reader.need()? {
            if need.bytes > share.text_bytes {
                let reported = progress.report(counts.text_bytes);
                return large(page(&need), &need, need.row, need.bytes, reported);
            }
            let Some(batch) = reader.next_batch()? else {
                break;
            };
            for (row, value) in (batch.first_row..).zip(batch.values) {
                let value = value.as_deref();
                let bytes = need.bytes.saturating_add(value.map_or(0, more_for_parts));
                if bytes > share.text_bytes {
                    let what = format!("a text of {} bytes", value.map_or(0, <[u8]>::len));
                    let reported = progress.report(counts.text_bytes);
                    return large(what, &need, row, bytes, reported);
                }
                self.document(source, row, value, &mut writer, &mut counts)?;
            }
            progress.report(counts.text_bytes);
        }
        // What the footer counts beside the text itself, so that the share ends at the whole.
        progress.report(unit.text_bytes);
        let (output, _) = writer.finish(self.context.work)?;
        let (name, outputs) = (output.name.clone(), [output.clone()]);
        self.context.journal.add(&name, &outputs, &counts)?;
        Ok(Done::Finished(Finished { output, counts }))
    }

    fn document(
        &mut self,
        source: &Source,
        row: u64,
        value: Option<&[u8]>,
        writer: &mut SignatureWriter,
        counts: &mut Counts,
    ) -> Result<(), Error> {
        counts.documents += 1;
        let Some(value) = value else {
            counts.null += 1;
            return Ok(writer.push(None, None)?);
        };
        let text_bytes = value.len() as u64;
        counts.text_bytes += text_bytes;
        let known = if value.len() < LONG_BYTES {
            self.whole(source, row, value, counts)?
        } else {
            self.in_parts(source, row, value, counts)?
        };
        let Some(known) = known else {
            counts.empty += 1;
            return Ok(writer.push(Some(text_bytes), None)?);
        };
        counts.normalised_bytes += known.normalised_bytes;
        counts.shingles += known.shingles;
        let signature = Signature {
            slots: &self.slots,
            text_hash: known.text_hash,
            normalised_bytes: known.normalised_bytes,
            shingles: known.shingles,
        };
        Ok(writer.push(Some(text_bytes), Some(signature))?)
    }

    /// Sketches a text into `slots`; none where there is nothing to compare.
    fn whole(
        &mut self,
        source: &Source,
        row: u64,
        value: &[u8],
        counts: &mut Counts,
    ) -> Result<Option<Known>, Error> {
        let input = &self.pipeline.input;
        let text = dataset::utf8(source, &input.text, row, value, input.on_bad_text)?;
        counts.replaced += u64::from(matches!(text, std::borrow::Cow::Owned(_)));
        let Some(shingles) = self.shingler.document(&text) else {
            return Ok(None);
        };
        self.sketcher.sketch(shingles.hashes, &mut self.slots)?;
        Ok(Some(Known {
            text_hash: shingles.text_hash,
            normalised_bytes: shingles.normalised_bytes,
            shingles: shingles.hashes.len() as u64,
        }))
    }

    /// [`Worker::whole`] of a long text.
    fn in_parts(
        &mut self,
        source: &Source,
        row: u64,
        value: &[u8],
        counts: &mut Counts,
    ) -> Result<Option<Known>, Error> {
        let input = &self.pipeline.input;
        if std::str::from_utf8(value).is_err() {
            if input.on_bad_text == OnBadText::Refuse {
                dataset::utf8(source, &input.text, row, value, input.on_bad_text)?;
            }
            counts.replaced += 1;
        }
        let pieces = well_formed(value);
        self.sketcher.begin();
        loop {
            let sketcher = &mut self.sketcher;
            let streamed = self
                .shingler
                .stream(pieces.clone(), |shingles| sketcher.update(shingles));
            let Some(streamed) = streamed else {
                return Ok(None);
            };
            if self.sketcher.finish(&mut self.slots)? == Pass::Last {
                return Ok(Some(Known {
                    text_hash: streamed.text_hash,
                    normalised_bytes: streamed.normalised_bytes,
                    shingles: streamed.shingles,
                }));
            }
        }
    }
}

/// The progress of a unit, which may be signed again from its beginning.
struct Reported<'a> {
    progress: &'a Progress,
    reported: u64,
}

impl Reported<'_> {
    /// Reports that so many bytes of the unit are done, and returns what was reported in all.
    fn report(&mut self, done: u64) -> u64 {
        self.progress.add(done.saturating_sub(self.reported));
        self.reported = self.reported.max(done);
        self.reported
    }
}

/// A page that is to be read, in words.
fn page(need: &Need) -> String {
    match need.rows {
        1 => format!("a page of one text, {} bytes", need.page_bytes),
        rows => format!("a page of {rows} texts, {} bytes", need.page_bytes),
    }
}

/// What the parts of a long text take beyond what every worker has for them. Nothing, but for contrived texts.
fn more_for_parts(value: &[u8]) -> u64 {
    if value.len() < LONG_BYTES {
        return 0;
    }
    Shingler::stream_bytes(well_formed(value)).saturating_sub(PART_BYTES)
}

/// A text in pieces, each ill-formed sequence replaced by U+FFFD as [`String::from_utf8_lossy`] does; well-formed text in
/// one piece, which is found many times faster.
fn well_formed(value: &[u8]) -> impl Iterator<Item = &str> + Clone {
    let whole = std::str::from_utf8(value).ok();
    let chunked = if whole.is_some() { &[] } else { value };
    let pieces = chunked.utf8_chunks().flat_map(|chunk| {
        let replaced = if chunk.invalid().is_empty() {
            ""
        } else {
            "\u{fffd}"
        };
        [chunk.valid(), replaced]
    });
    whole.into_iter().chain(pieces)
}

#[cfg(test)]
mod tests;
