//! Which rows of a row group stay.

use std::ops::Range;
use std::path::Path;

use super::{Decisions, RowDecision};
use crate::Error;

/// The rows of one row group that stay: one bit a row, and no memory while all of them do.
pub(super) struct Selection {
    /// A set bit is a dropped row.
    dropped: Vec<u64>,
    rows: u64,
    kept: u64,
}

impl Selection {
    /// All of `rows` rows.
    pub(super) fn all(rows: u64) -> Self {
        Self {
            dropped: Vec::new(),
            rows,
            kept: rows,
        }
    }

    /// As many of `rows` rows, whichever.
    pub(super) fn some(rows: u64, kept: u64) -> Self {
        Self {
            kept: kept.min(rows),
            ..Self::all(rows)
        }
    }

    /// The rows of `range` that `decisions` keep.
    pub(super) fn read(
        path: &Path,
        decisions: &dyn Decisions,
        range: Range<u64>,
    ) -> Result<Self, Error> {
        let mut selection = Self::all(range.end.saturating_sub(range.start));
        for decision in checked(path, decisions, range)? {
            let (offset, decision) = decision?;
            if !decision.keep {
                selection.drop_row(offset);
            }
        }
        Ok(selection)
    }

    fn drop_row(&mut self, row: u64) {
        let (word, bit) = place(row);
        if self.dropped.is_empty() {
            let words = usize::try_from(self.rows.div_ceil(64)).unwrap_or(usize::MAX);
            self.dropped = vec![0; words];
        }
        if let Some(word) = self.dropped.get_mut(word) {
            self.kept -= u64::from(*word & bit == 0);
            *word |= bit;
        }
    }

    /// Rows before the selection.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Rows that stay.
    pub(super) fn kept(&self) -> u64 {
        self.kept
    }

    /// As much of `bytes` as there are rows that stay.
    pub(super) fn share(&self, bytes: u64) -> u64 {
        let share = u128::from(bytes) * u128::from(self.kept) / u128::from(self.rows.max(1));
        u64::try_from(share).unwrap_or(u64::MAX)
    }

    /// Whether every row stays.
    pub(super) fn is_whole(&self) -> bool {
        self.kept == self.rows
    }

    /// Whether `row` of the row group stays.
    pub(super) fn keeps(&self, row: u64) -> bool {
        let (word, bit) = place(row);
        self.dropped.get(word).is_none_or(|word| word & bit == 0)
    }
}

fn place(row: u64) -> (usize, u64) {
    let word = usize::try_from(row / 64).unwrap_or(usize::MAX);
    (word, 1 << (row % 64))
}

/// The decisions of `range`, each with its row's offset in the range, checked to ascend within it.
pub(super) fn checked<'a>(
    path: &'a Path,
    decisions: &'a dyn Decisions,
    range: Range<u64>,
) -> Result<impl Iterator<Item = Result<(u64, RowDecision), Error>> + 'a, Error> {
    let failed = |source| Error::Decisions {
        path: path.to_owned(),
        source,
    };
    let mut least = range.start;
    let rows = decisions.rows(range.clone()).map_err(failed)?;
    Ok(rows.map(move |decision| {
        let decision = decision.map_err(failed)?;
        if decision.row < least || decision.row >= range.end {
            let message = format!(
                "a decision for row {} where one of rows {least} to {} was expected",
                decision.row, range.end
            );
            return Err(failed(message.into()));
        }
        least = decision.row + 1;
        Ok((decision.row - range.start, decision))
    }))
}
