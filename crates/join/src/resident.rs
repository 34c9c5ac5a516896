//! Signatures held in memory: bands in parallel.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use records::DocSet;

use crate::budget::Budget;
use crate::partition::Postings;
use crate::parts::{Finished, Parts};
use crate::slot::Slot;
use crate::{BandJoin, Before, Error};

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

/// Joins `bands`, as many at once as the budget has threads. Without `signatures`, nothing is
/// compared.
pub(crate) fn join<S: Slot>(
    before: &Before<'_>,
    budget: &Budget,
    signatures: Option<(&DocSet, &Store<S>)>,
    bands: &[u32],
) -> Result<Vec<Finished>, Error> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Result<Vec<Finished>, Error>>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..budget.threads {
            scope.spawn(|| {
                let mut parts = Parts::new(before);
                let mut work = || {
                    while let Some(&band) = bands.get(next.fetch_add(1, Ordering::Relaxed)) {
                        join_band(before, band, signatures, &mut parts)?;
                    }
                    Ok(())
                };
                let result = work().and_then(|()| parts.finish());
                if result.is_err() {
                    next.store(bands.len(), Ordering::Relaxed);
                }
                let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                results.push(result);
            });
        }
    });
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    let finished: Result<Vec<Vec<Finished>>, Error> = results.into_iter().collect();
    Ok(finished?.into_iter().flatten().collect())
}

fn join_band<S: Slot>(
    before: &Before<'_>,
    band: u32,
    signatures: Option<(&DocSet, &Store<S>)>,
    parts: &mut Parts<'_>,
) -> Result<(), Error> {
    let mut postings = Postings::open(before, band)?;
    let mut join = BandJoin::<S>::begin(before, band, parts)?;
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
