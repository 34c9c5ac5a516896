//! Merges runs with a tree of losers (Knuth, The Art of Computer Programming, vol. 3, section
//! 5.4.1).
//!
//! Node `i` has the children `2i` and `2i + 1`; the leaves, one a reader, are `n..2n`. Each inner
//! node keeps the loser of the match that was played there, so that the next winner costs one
//! comparison a level, from a leaf to the root.

use std::hint::select_unpredictable;
use std::path::Path;

use crate::error::Error;
use crate::order::prefix;
use crate::run::{Run, RunReader, Shape};

/// A reader's place in the tournament.
#[derive(Clone, Copy)]
struct Player {
    /// The first two words of the reader's record, so that most matches need no look at it; the
    /// greatest value at the end of the run.
    prefix: u128,
    /// The reader; with [`ENDED`] set at the end of its run, which makes it lose all ties.
    reader: usize,
}

const ENDED: usize = 1 << (usize::BITS - 1);

/// A lending stream of the records of several runs, in order. Holds a block a run.
pub(crate) struct Merge {
    /// The readers' blocks, one after the other. One allocation, so that no allocator can scatter
    /// it.
    memory: Vec<u64>,
    readers: Vec<RunReader>,
    /// Node 0 is the winner, the others are losers.
    nodes: Vec<Player>,
    record_words: usize,
    /// The winner's record was lent: its reader has to go on first.
    lent: bool,
}

impl Merge {
    /// Opens all `runs`; the caller keeps their number within the fan-in. `memory` is used again:
    /// it comes back from [`Merge::into_memory`], and grows only if it is smaller than a block a
    /// run.
    pub(crate) fn open(
        runs: &[Run],
        folder: &Path,
        shape: Shape,
        mut memory: Vec<u64>,
    ) -> Result<Self, Error> {
        let words = runs.len() * shape.block_words();
        if memory.capacity() < words {
            memory = Vec::with_capacity(words);
        }
        memory.resize(words, 0);
        let mut readers = Vec::with_capacity(runs.len());
        for run in runs {
            let slot = readers.len() * shape.block_words();
            readers.push(RunReader::open(run, folder, shape, &mut memory, slot)?);
        }
        let mut merge = Self {
            memory,
            nodes: Vec::new(),
            readers,
            record_words: shape.record_words,
            lent: false,
        };
        merge.nodes = merge.play_all();
        Ok(merge)
    }

    /// The memory, for another use.
    pub(crate) fn into_memory(self) -> Vec<u64> {
        self.memory
    }

    /// Gives back the memory that this merge does not need.
    pub(crate) fn shrink_memory(&mut self) {
        self.memory.shrink_to_fit();
    }

    /// Plays every match once, from the leaves to the root; returns the nodes.
    fn play_all(&self) -> Vec<Player> {
        let count = self.readers.len();
        let mut nodes: Vec<Player> = (0..count).map(|reader| self.player(reader)).collect();
        // While the matches are played, the winners stand at 1..2 * count, the leaves last.
        let mut winners = nodes.repeat(2);
        for node in (1..count).rev() {
            let (left, right) = (winners[2 * node], winners[2 * node + 1]);
            let beaten = self.beats(left, right);
            winners[node] = if beaten { left } else { right };
            nodes[node] = if beaten { right } else { left };
        }
        if let ([first, ..], [_, winner, ..]) = (&mut nodes[..], &winners[..]) {
            *first = *winner;
        }
        nodes
    }

    fn head(&self, reader: usize) -> Option<&[u64]> {
        self.readers.get(reader)?.head(&self.memory)
    }

    #[inline]
    fn player(&self, reader: usize) -> Player {
        match self.head(reader) {
            Some(record) => Player {
                prefix: prefix(record),
                reader,
            },
            None => Player {
                prefix: u128::MAX,
                reader: reader | ENDED,
            },
        }
    }

    #[inline]
    fn beats(&self, a: Player, b: Player) -> bool {
        if a.prefix != b.prefix {
            return a.prefix < b.prefix;
        }
        self.beats_in_tie(a, b)
    }

    /// Decides by the words behind the prefix, then by the reader.
    #[cold]
    fn beats_in_tie(&self, a: Player, b: Player) -> bool {
        if self.record_words <= 2 || (a.reader | b.reader) & ENDED != 0 {
            return a.reader < b.reader;
        }
        let records = self.head(a.reader).cmp(&self.head(b.reader));
        records.then(a.reader.cmp(&b.reader)).is_lt()
    }

    /// The next record. After an error it still stands before it, and a further call tries again.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<&[u64]>, Error> {
        if self.lent {
            self.advance()?;
        }
        let record = match self.nodes.first() {
            Some(winner) => self
                .readers
                .get(winner.reader)
                .and_then(|reader| reader.head(&self.memory)),
            None => None,
        };
        self.lent = record.is_some();
        Ok(record)
    }

    /// Takes the winner's reader to its next record and plays its matches.
    #[inline]
    fn advance(&mut self) -> Result<(), Error> {
        let Some(winner) = self.nodes.first().map(|player| player.reader) else {
            return Ok(());
        };
        if let Some(reader) = self.readers.get_mut(winner) {
            reader.advance(&mut self.memory)?;
        }
        let mut player = self.player(winner);
        let mut node = (winner + self.nodes.len()) / 2;
        while node > 0 {
            let loser = self.nodes[node];
            // Which of two wins is random: a wrong guess of the processor costs more than both
            // moves.
            let beaten = self.beats(loser, player);
            self.nodes[node] = select_unpredictable(beaten, player, loser);
            player = select_unpredictable(beaten, loser, player);
            node /= 2;
        }
        self.nodes[0] = player;
        Ok(())
    }
}
