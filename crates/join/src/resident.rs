//! Signatures held in memory: bands in parallel.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use records::DocSet;

use crate::budget::Budget;
use crate::partition::Postings;
use crate::slot::Slot;
use crate::{BandJoin, Before, Edges, Error, Joined};

/// The low bits of the slots of the documents that share a bucket, in document order.
pub(crate) struct Store<S> {
    k: usize,
    slots: Vec<S>,
}

impl<S> Store<S> {
    fn get(&self, rank: u64) -> Option<&[S]> {
        let begin = rank as usize * self.k;
        self.slots.get(begin..begin + self.k)
    }
}

/// Reads the signatures of the `count` members of `docs`.
pub(crate) fn load<S: Slot>(
    before: &Before<'_>,
    docs: &DocSet,
    count: u64,
) -> Result<Store<S>, Error> {
    let k = before.pipeline.sign.k as usize;
    let mut slots = Vec::new();
    slots.reserve_exact(count as usize * k);
    let mut scan = before.scan();
    while let Some((first, batch)) = scan.next_batch()? {
        for i in 0..batch.rows() {
            let doc = first + i as u64;
            if docs.contains(doc) {
                let signature = batch.slots(i)?.ok_or(Error::NoSignature { doc })?;
                slots.extend(signature.iter().map(|&slot| S::of(slot)));
            }
        }
    }
    Ok(Store { k, slots })
}

/// Joins all bands, as many at once as the budget has threads. Without `signatures`, nothing is
/// compared.
pub(crate) fn join<S: Slot>(
    before: &Before<'_>,
    budget: &Budget,
    signatures: Option<(&DocSet, &Store<S>)>,
    edges: &Edges,
) -> Result<Joined, Error> {
    let bands = before.pipeline.band.bands;
    let next = AtomicU32::new(0);
    let results: Mutex<Vec<Result<Joined, Error>>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..budget.threads {
            scope.spawn(|| {
                loop {
                    let band = next.fetch_add(1, Ordering::Relaxed);
                    if band >= bands {
                        break;
                    }
                    let result = join_band(before, band, signatures, edges);
                    if result.is_err() {
                        next.store(bands, Ordering::Relaxed);
                    }
                    let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                    results.push(result);
                }
            });
        }
    });
    let mut joined = Joined::default();
    for result in results.into_inner().unwrap_or_else(PoisonError::into_inner) {
        joined.merge(result?);
    }
    Ok(joined)
}

fn join_band<S: Slot>(
    before: &Before<'_>,
    band: u32,
    signatures: Option<(&DocSet, &Store<S>)>,
    edges: &Edges,
) -> Result<Joined, Error> {
    let mut postings = Postings::open(before, band)?;
    let mut join = BandJoin::<S>::new(before, band, edges);
    let mut done = 0;
    while let Some(posting) = postings.next()? {
        let doc = posting.doc;
        let slots = match signatures {
            None => &[],
            Some((docs, store)) => docs
                .rank(doc)
                .and_then(|rank| store.get(rank))
                .ok_or(Error::NoSignature { doc })?,
        };
        join.add(posting.key, doc, slots)?;
        done += 1;
    }
    before.context.progress.add(2 * done);
    join.finish()
}
