//! A set of documents: one bit a document, the only thing that stages hold for the whole corpus.

/// Words of the set between two stored ranks.
const SUPERBLOCK_WORDS: usize = 8;

/// A set of document ids below a bound, at one bit an id, and an eighth of a bit once it is
/// [`DocSet::index`]ed for [`DocSet::rank`] and [`DocSet::select`] (a two-level directory after
/// Jacobson, 1989).
#[derive(Clone, Debug)]
pub struct DocSet {
    words: Vec<u64>,
    /// Members before each superblock; empty until indexed.
    ranks: Vec<u64>,
}

impl DocSet {
    /// Bytes of a set over `documents` ids, indexed.
    pub const fn memory_bytes(documents: u64) -> u64 {
        let words = documents.div_ceil(64);
        8 * (words + words.div_ceil(SUPERBLOCK_WORDS as u64) + 1)
    }

    /// The empty set over the ids below `documents`.
    pub fn new(documents: u64) -> Self {
        Self {
            words: vec![0; documents.div_ceil(64) as usize],
            ranks: Vec::new(),
        }
    }

    /// Adds a document; false where its id is not below the bound, which only damaged data can
    /// cause. Ends an index.
    #[must_use]
    pub fn insert(&mut self, doc: u64) -> bool {
        self.ranks.clear();
        match self.words.get_mut((doc / 64) as usize) {
            Some(word) => {
                *word |= 1 << (doc % 64);
                true
            }
            None => false,
        }
    }

    /// Whether the document is a member. O(1).
    pub fn contains(&self, doc: u64) -> bool {
        self.words
            .get((doc / 64) as usize)
            .is_some_and(|word| word >> (doc % 64) & 1 == 1)
    }

    /// Makes the directory for [`DocSet::rank`] and [`DocSet::select`], and counts the members.
    pub fn index(&mut self) -> u64 {
        let mut total = 0;
        self.ranks.clear();
        self.ranks
            .reserve_exact(self.words.len().div_ceil(SUPERBLOCK_WORDS) + 1);
        for block in self.words.chunks(SUPERBLOCK_WORDS) {
            self.ranks.push(total);
            total += ones(block);
        }
        self.ranks.push(total);
        total
    }

    /// How many members are smaller than `doc`; none where it is no member or the set is not
    /// indexed. O(1).
    pub fn rank(&self, doc: u64) -> Option<u64> {
        if !self.contains(doc) {
            return None;
        }
        let word = (doc / 64) as usize;
        let block = word / SUPERBLOCK_WORDS;
        let before = self.words.get(block * SUPERBLOCK_WORDS..word)?;
        let inside = self.words.get(word)? & ((1 << (doc % 64)) - 1);
        Some(self.ranks.get(block)? + ones(before) + u64::from(inside.count_ones()))
    }

    /// The member with `rank` members before it; none beyond the last or where the set is not
    /// indexed. O(log n).
    pub fn select(&self, rank: u64) -> Option<u64> {
        let block = self.ranks.partition_point(|&before| before <= rank);
        let block = block.checked_sub(1)?;
        let mut left = rank - self.ranks.get(block)?;
        let first = block * SUPERBLOCK_WORDS;
        for (i, &word) in self
            .words
            .get(first..)?
            .iter()
            .take(SUPERBLOCK_WORDS)
            .enumerate()
        {
            let count = u64::from(word.count_ones());
            if left < count {
                let mut word = word;
                for _ in 0..left {
                    word &= word - 1;
                }
                return Some((first + i) as u64 * 64 + u64::from(word.trailing_zeros()));
            }
            left -= count;
        }
        None
    }

    /// The members in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.words.iter().enumerate().flat_map(|(i, &word)| {
            let mut word = word;
            std::iter::from_fn(move || {
                if word == 0 {
                    return None;
                }
                let bit = u64::from(word.trailing_zeros());
                word &= word - 1;
                Some(i as u64 * 64 + bit)
            })
        })
    }
}

fn ones(words: &[u64]) -> u64 {
    words.iter().map(|word| u64::from(word.count_ones())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn ids_beyond_the_bound_are_not_taken() {
        let mut set = DocSet::new(64);
        assert!(set.insert(63));
        assert!(!set.insert(64));
        assert!(!set.contains(64));
        assert_eq!(set.rank(63), None);
        assert_eq!(set.index(), 1);
        assert_eq!(set.rank(63), Some(0));
        assert_eq!(set.rank(62), None);
        assert_eq!(set.select(1), None);
        assert_eq!(DocSet::new(0).index(), 0);
    }

    proptest! {
        #[test]
        fn it_is_a_sorted_set(docs in proptest::collection::btree_set(0u64..3000, 0..400)) {
            let mut set = DocSet::new(3000);
            for &doc in &docs {
                prop_assert!(set.insert(doc));
            }
            prop_assert_eq!(set.index(), docs.len() as u64);
            prop_assert_eq!(set.iter().collect::<BTreeSet<_>>(), docs.clone());
            for (rank, &doc) in docs.iter().enumerate() {
                prop_assert_eq!(set.rank(doc), Some(rank as u64));
                prop_assert_eq!(set.select(rank as u64), Some(doc));
            }
            prop_assert_eq!(set.select(docs.len() as u64), None);
        }
    }
}
