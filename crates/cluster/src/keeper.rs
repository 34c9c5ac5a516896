//! Which document of a cluster stays, and how the others stand to it.
//!
//! One sort brings the members of a cluster together, best first, each with its signature. The
//! first is the keeper; the rest are compared with it as they pass.

use dataset::{RankKind, RankReader, Source};
use extsort::{Sorted, Sorter};
use records::settings::Keep;
use tables::SignatureScan;
use tables::clusters::Kind;

use crate::Error;
use crate::components::Labels;

/// Words before the slots: cluster, rank (2), document, hash (2), length of the normalised text.
const HEAD_WORDS: usize = 7;
/// Cluster, rank and document order the members.
pub(crate) const KEY_WORDS: usize = 4;

/// Words of a member's record.
pub(crate) fn member_words(k: u32) -> usize {
    HEAD_WORDS + (k as usize).div_ceil(2)
}

/// The keep column of all files, row after row.
pub(crate) struct Ranks<'a> {
    sources: &'a [Source],
    column: &'a str,
    kind: RankKind,
    file: usize,
    reader: Option<RankReader>,
    batch: std::vec::IntoIter<[u64; 2]>,
}

impl<'a> Ranks<'a> {
    pub(crate) fn new(sources: &'a [Source], column: &'a str, kind: RankKind) -> Self {
        Self {
            sources,
            column,
            kind,
            file: 0,
            reader: None,
            batch: Vec::new().into_iter(),
        }
    }

    /// The rank of the next row.
    fn next(&mut self) -> Result<[u64; 2], Error> {
        loop {
            if let Some(rank) = self.batch.next() {
                return Ok(rank);
            }
            if let Some(reader) = &mut self.reader {
                match reader.next_batch()? {
                    Some(batch) => self.batch = batch.into_iter(),
                    None => {
                        self.reader = None;
                        self.file += 1;
                    }
                }
            } else if let Some(source) = self.sources.get(self.file) {
                self.reader = Some(RankReader::open(source, self.column, self.kind)?);
            } else {
                // More rows than the files have: they shrank since `sign`.
                let path = self.sources.last().map(|s| s.listed.path.clone());
                let path = path.unwrap_or_default();
                return Err(dataset::Error::SinceSigned { path }.into());
            }
        }
    }
}

/// How members of a cluster are ranked; smaller is better.
pub(crate) enum Order<'a> {
    /// By bytes of the raw text, most first.
    Longest,
    /// By document id alone.
    Id,
    /// By a column.
    Column(Box<Ranks<'a>>),
}

impl<'a> Order<'a> {
    pub(crate) fn new(keep: Keep, column: Option<&'a str>, sources: &'a [Source]) -> Self {
        match (keep, column) {
            (Keep::Earliest, Some(column)) => {
                let ranks = Ranks::new(sources, column, RankKind::Earliest);
                Order::Column(Box::new(ranks))
            }
            (Keep::Best, Some(column)) => {
                let ranks = Ranks::new(sources, column, RankKind::Best);
                Order::Column(Box::new(ranks))
            }
            (Keep::Longest, _) => Order::Longest,
            (Keep::Earliest | Keep::Best, None) => Order::Id,
        }
    }
}

/// Gives every member of a cluster its signature and rank, and sorts them.
///
/// `progress` is told of the documents that the scan has passed.
pub(crate) fn gather(
    mut labels: Labels,
    mut scan: SignatureScan,
    mut order: Order<'_>,
    mut sorter: Sorter,
    k: u32,
    progress: impl Fn(u64),
) -> Result<Sorter, Error> {
    let mut record = vec![0u64; member_words(k)];
    let mut next = labels.next()?;
    while let Some((first, batch)) = scan.next_batch()? {
        for i in 0..batch.rows() {
            let doc = first + i as u64;
            let rank = match &mut order {
                Order::Column(ranks) => Some(ranks.next()?),
                _ => None,
            };
            let Some((_, label)) = next.filter(|&(member, _)| member == doc) else {
                continue;
            };
            let missing = Error::NoSignature { doc };
            let (Some(slots), Some(identity)) = (batch.slots(i)?, batch.identity(i, doc)?) else {
                return Err(missing);
            };
            let rank = match (&order, rank) {
                (_, Some(rank)) => rank,
                (Order::Longest, None) => [u64::MAX - batch.text_bytes(i)?.unwrap_or(0), 0],
                (_, None) => [0, 0],
            };
            record[..HEAD_WORDS].copy_from_slice(&[
                label,
                rank[0],
                rank[1],
                doc,
                identity.hash_high,
                identity.hash_low,
                identity.normalised_bytes,
            ]);
            for (word, pair) in record[HEAD_WORDS..].iter_mut().zip(slots.chunks(2)) {
                let high = pair.get(1).copied().unwrap_or(0);
                *word = u64::from(pair[0]) | u64::from(high) << 32;
            }
            sorter.push(&record)?;
            next = labels.next()?;
        }
        progress(batch.rows() as u64);
        if next.is_none() {
            break;
        }
    }
    match next {
        Some((doc, _)) => Err(Error::NoSignature { doc }),
        None => Ok(sorter),
    }
}

/// What became of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) doc: u64,
    pub(crate) cluster: u64,
    pub(crate) keeper: u64,
    pub(crate) kind: Kind,
    /// Slots equal to the keeper's.
    pub(crate) matches: u32,
}

impl Verdict {
    /// Sorted by document.
    pub(crate) fn words(&self) -> [u64; 4] {
        let kind = match self.kind {
            Kind::Keeper => 0,
            Kind::Exact => 1,
            Kind::Near => 2,
        };
        let last = kind << 32 | u64::from(self.matches);
        [self.doc, self.cluster, self.keeper, last]
    }

    pub(crate) fn from_words(words: &[u64]) -> Self {
        let kind = match words[3] >> 32 {
            0 => Kind::Keeper,
            1 => Kind::Exact,
            _ => Kind::Near,
        };
        Self {
            doc: words[0],
            cluster: words[1],
            keeper: words[2],
            kind,
            matches: words[3] as u32,
        }
    }
}

/// Passes over the sorted members and says of each what became of it; memory is one signature.
pub(crate) fn decide(
    mut members: Sorted,
    k: u32,
    mut verdict: impl FnMut(Verdict) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut keeper: Vec<u64> = Vec::new();
    while let Some(member) = members.next()? {
        let (cluster, doc) = (member[0], member[3]);
        if keeper.first() != Some(&cluster) {
            keeper.clear();
            keeper.extend_from_slice(member);
            verdict(Verdict {
                doc,
                cluster,
                keeper: doc,
                kind: Kind::Keeper,
                matches: k,
            })?;
            continue;
        }
        let exact = keeper[KEY_WORDS..HEAD_WORDS] == member[KEY_WORDS..HEAD_WORDS];
        let (kind, matches) = if exact {
            (Kind::Exact, k)
        } else {
            let slots = |record: &[u64]| equal_halves(&keeper[HEAD_WORDS..], &record[HEAD_WORDS..]);
            // The unused half of the last word of an odd k is zero in both.
            (Kind::Near, slots(member) - k % 2)
        };
        verdict(Verdict {
            doc,
            cluster,
            keeper: keeper[3],
            kind,
            matches,
        })?;
    }
    Ok(())
}

/// Equal 32-bit halves of words.
fn equal_halves(a: &[u64], b: &[u64]) -> u32 {
    let a: &[u32] = bytemuck::cast_slice(a);
    sketch::matches(a, bytemuck::cast_slice(b))
}
