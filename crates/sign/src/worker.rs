//! Signing the units, one a thread at a time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use dataset::{Source, TextReader};
use records::settings;
use records::{Pipeline, Provenance};
use shingle::Shingler;
use sketch::{Scheme, Sketcher};
use tables::signatures::{FORMAT, KIND, Signature, SignatureWriter};
use workdir::{Context, Output};

use crate::Error;
use crate::units::Unit;

/// The program itself, its libraries and thread stacks.
const BASE_BYTES: u64 = 16 << 20;
/// Pages being decoded and scratch buffers of a worker, at the least.
const WORKER_BYTES: u64 = 6 << 20;
/// A batch of text is at most this large, and at least a sixteenth of it.
const BATCH_BYTES_MAX: u64 = 8 << 20;

/// What a unit counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
#[derive(Debug)]
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

/// How many workers the budget holds, and the bytes of text of a batch of each.
fn workers(context: &Context<'_>, k: u32) -> Result<(usize, u64), Error> {
    let least = WORKER_BYTES + BATCH_BYTES_MAX / 16 + SignatureWriter::memory_bytes(k);
    let available = context.memory_bytes.saturating_sub(BASE_BYTES);
    let threads = (available / least).min(context.threads as u64);
    if threads == 0 {
        return Err(Error::Memory {
            budget_bytes: context.memory_bytes,
            k,
            needed_bytes: BASE_BYTES + least,
        });
    }
    let share = available / threads - SignatureWriter::memory_bytes(k) - WORKER_BYTES;
    // A batch is held once, with the pages that it points into.
    let batch_bytes = (share / 4).clamp(BATCH_BYTES_MAX / 16, BATCH_BYTES_MAX);
    Ok((threads as usize, batch_bytes))
}

/// Signs all units; the results are in the order of the units, and so is the error that counts.
pub(crate) fn sign_all(
    pipeline: &Pipeline,
    context: &Context<'_>,
    sources: &[Source],
    units: &[Unit],
) -> Result<Vec<Finished>, Error> {
    let (threads, batch_bytes) = workers(context, pipeline.sign.k)?;
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, Result<Finished, Error>)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..threads.min(units.len()) {
            scope.spawn(|| {
                let mut worker = match Worker::new(pipeline, context, batch_bytes) {
                    Ok(worker) => worker,
                    Err(error) => return lock(&results).push((0, Err(error))),
                };
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(unit) = units.get(i) else { break };
                    let Some(source) = sources.get(unit.source) else {
                        break;
                    };
                    let result = worker.sign(source, unit);
                    if result.is_err() {
                        next.store(units.len(), Ordering::Relaxed);
                    }
                    lock(&results).push((i, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|&(i, _)| i);
    results.into_iter().map(|(_, result)| result).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A thread's buffers, used again for each document.
struct Worker<'a> {
    pipeline: &'a Pipeline,
    context: &'a Context<'a>,
    provenance: Provenance,
    batch_bytes: u64,
    shingler: Shingler,
    sketcher: Sketcher,
    slots: Vec<u32>,
}

impl<'a> Worker<'a> {
    fn new(
        pipeline: &'a Pipeline,
        context: &'a Context<'a>,
        batch_bytes: u64,
    ) -> Result<Self, Error> {
        let sign = &pipeline.sign;
        let settings = context.expected.shard_settings();
        Ok(Self {
            pipeline,
            context,
            provenance: Provenance::new(KIND, FORMAT, settings),
            batch_bytes,
            shingler: Shingler::new(shingle_config(sign))?,
            sketcher: Sketcher::new(scheme(sign.scheme), sign.k, sign.seed)?,
            slots: vec![0; sign.k as usize],
        })
    }

    fn sign(&mut self, source: &Source, unit: &Unit) -> Result<Finished, Error> {
        let text = &self.pipeline.input.text;
        let k = self.pipeline.sign.k;
        let mut reader = TextReader::open(source, text, unit.row_groups.clone(), self.batch_bytes)?;
        let mut writer = SignatureWriter::create(&unit.shard, &self.provenance, k, unit.first_row)?;
        let mut counts = Counts::default();
        while let Some(batch) = reader.next_batch()? {
            let before = counts.text_bytes;
            for (i, value) in batch.values.iter().enumerate() {
                let row = batch.first_row + i as u64;
                let value = value.as_deref();
                self.document(source, row, value, &mut writer, &mut counts)?;
            }
            self.context.progress.add(counts.text_bytes - before);
        }
        // What the footer counts beside the text itself, so that the share ends at the whole.
        let rest = unit.text_bytes.saturating_sub(counts.text_bytes);
        self.context.progress.add(rest);
        let (output, _) = writer.finish(self.context.work)?;
        Ok(Finished { output, counts })
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
        let input = &self.pipeline.input;
        let text = dataset::utf8(source, &input.text, row, value, input.on_bad_text)?;
        if matches!(text, std::borrow::Cow::Owned(_)) {
            counts.replaced += 1;
        }
        let text_bytes = value.len() as u64;
        counts.text_bytes += text_bytes;
        let Some(shingles) = self.shingler.document(&text) else {
            counts.empty += 1;
            return Ok(writer.push(Some(text_bytes), None)?);
        };
        self.sketcher.sketch(shingles.hashes, &mut self.slots)?;
        counts.normalised_bytes += shingles.normalised_bytes;
        counts.shingles += shingles.hashes.len() as u64;
        let signature = Signature {
            slots: &self.slots,
            text_hash: shingles.text_hash,
            normalised_bytes: shingles.normalised_bytes,
            shingles: shingles.hashes.len() as u64,
        };
        Ok(writer.push(Some(text_bytes), Some(signature))?)
    }
}
