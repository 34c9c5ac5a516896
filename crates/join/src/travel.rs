//! Signatures brought to the buckets by sorted passes, one band at a time.
//!
//! For a band: its postings are sorted by document, merged with a scan of the signature shards,
//! and sorted by key again, now with the signature in the record. No signature is read at random.

use std::path::Path;

use records::pods::Posting;

use crate::partition::Postings;
use crate::{BandJoin, Before, Edges, Error, Joined, Plan, travel_sorter};

/// Joins all bands, one after the other.
pub(crate) fn join(
    before: &Before<'_>,
    plan: &Plan,
    scratch: &Path,
    edges: &Edges,
) -> Result<Joined, Error> {
    let mut joined = Joined::default();
    for band in 0..before.pipeline.band.bands {
        joined.merge(join_band(before, plan, band, scratch, edges)?);
    }
    Ok(joined)
}

fn join_band(
    before: &Before<'_>,
    plan: &Plan,
    band: u32,
    scratch: &Path,
    edges: &Edges,
) -> Result<Joined, Error> {
    let k = before.pipeline.sign.k as usize;
    let mut by_doc = travel_sorter(scratch, 2, plan.travel_bytes)?;
    let mut postings = Postings::open(before.context, band)?;
    while let Some(Posting { key, doc }) = postings.next()? {
        by_doc.push(&[doc, key])?;
    }
    let count = by_doc.len();
    if count == 0 {
        return Ok(Joined::default());
    }
    before.context.progress.add(count);

    let words = 2 + k.div_ceil(2);
    let mut by_key = travel_sorter(scratch, words, plan.travel_bytes)?;
    let mut wanted = by_doc.finish()?;
    let mut record = vec![0u64; words];
    let mut next = head(wanted.next()?);
    let mut scan = before.scan();
    while let Some((first, batch)) = scan.next_batch()? {
        while let Some((doc, key)) = next
            && doc < first + batch.rows() as u64
        {
            let slots = batch
                .slots((doc - first) as usize)?
                .ok_or(Error::NoSignature { doc })?;
            record[0] = key;
            record[1] = doc;
            pack(slots, &mut record[2..]);
            by_key.push(&record)?;
            next = head(wanted.next()?);
        }
        if next.is_none() {
            break;
        }
    }
    if let Some((doc, _)) = next {
        return Err(Error::NoSignature { doc });
    }
    drop(wanted);

    let mut join = BandJoin::new(before, band, edges);
    let mut sorted = by_key.finish()?;
    let mut slots = vec![0u32; k];
    while let Some(record) = sorted.next()? {
        unpack(&record[2..], &mut slots);
        join.add(record[0], record[1], &slots)?;
    }
    before.context.progress.add(count);
    join.finish()
}

fn head(record: Option<&[u64]>) -> Option<(u64, u64)> {
    record.map(|record| (record[0], record[1]))
}

/// Two slots a word, the first in the low half.
fn pack(slots: &[u32], words: &mut [u64]) {
    for (word, pair) in words.iter_mut().zip(slots.chunks(2)) {
        let high = pair.get(1).copied().unwrap_or(0);
        *word = u64::from(pair[0]) | u64::from(high) << 32;
    }
}

fn unpack(words: &[u64], slots: &mut [u32]) {
    for (word, pair) in words.iter().zip(slots.chunks_mut(2)) {
        pair[0] = *word as u32;
        if let Some(high) = pair.get_mut(1) {
            *high = (*word >> 32) as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_survive_packing_for_odd_and_even_k() {
        for k in [1usize, 2, 7, 128] {
            let slots: Vec<u32> = (0..k as u32).map(|i| u32::MAX - 3 * i).collect();
            let mut words = vec![0; k.div_ceil(2)];
            pack(&slots, &mut words);
            let mut back = vec![0; k];
            unpack(&words, &mut back);
            assert_eq!(back, slots);
        }
    }
}
