//! Signatures brought to the buckets by sorted passes, one band at a time.
//!
//! The signatures that buckets ask for are first copied, in document order ([`Compact`]). For a
//! band: its postings are sorted by document, merged with that copy, and sorted by key again, now
//! with the signature in the record. No signature is read at random.

use std::path::Path;

use records::DocSet;
use records::pods::Posting;

use crate::budget::Budget;
use crate::compact::Compact;
use crate::partition::Postings;
use crate::parts::{Finished, Parts};
use crate::slot::{Slot, unpack, words};
use crate::{BandJoin, Before, Error, travel_sorter};

/// Joins `bands`, one after the other; `docs` are the documents that share a bucket.
pub(crate) fn join<S: Slot>(
    before: &Before<'_>,
    budget: &Budget,
    docs: &DocSet,
    scratch: &Path,
    bands: &[u32],
) -> Result<Vec<Finished>, Error> {
    let copy = Compact::write::<S>(before, docs, scratch)?;
    let mut parts = Parts::new(before);
    for &band in bands {
        join_band::<S>(before, budget, band, &copy, scratch, &mut parts)?;
    }
    parts.finish()
}

fn join_band<S: Slot>(
    before: &Before<'_>,
    budget: &Budget,
    band: u32,
    copy: &Compact,
    scratch: &Path,
    parts: &mut Parts<'_>,
) -> Result<(), Error> {
    let k = before.pipeline.sign.k as usize;
    let mut by_doc = travel_sorter(before.context, scratch, 2, budget.travel_bytes)?;
    let mut postings = Postings::open(before, band)?;
    while let Some(Posting { key, doc }) = postings.next()? {
        by_doc.push(&[doc, key])?;
    }
    let count = by_doc.len();
    before.context.progress.add(count);

    let words = 2 + words::<S>(k);
    let mut by_key = travel_sorter(before.context, scratch, words, budget.travel_bytes)?;
    let mut wanted = by_doc.finish()?;
    let mut record = vec![0u64; words];
    let mut next = head(wanted.next()?);
    let mut signatures = copy.read()?;
    while next.is_some()
        && let Some((found, slots)) = signatures.next()?
    {
        while let Some((doc, key)) = next
            && doc == found
        {
            record[0] = key;
            record[1] = doc;
            record[2..].copy_from_slice(slots);
            by_key.push(&record)?;
            next = head(wanted.next()?);
        }
    }
    if let Some((doc, _)) = next {
        return Err(Error::NoSignature { doc });
    }
    drop(wanted);

    let mut join = BandJoin::<S>::begin(before, band, parts)?;
    let mut sorted = by_key.finish()?;
    while let Some(record) = sorted.next()? {
        join.add(record[0], record[1], unpack(&record[2..], k))?;
    }
    before.context.progress.add(count);
    join.finish()
}

fn head(record: Option<&[u64]>) -> Option<(u64, u64)> {
    record.map(|record| (record[0], record[1]))
}
