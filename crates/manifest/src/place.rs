//! Places in the manifest and on the command line, and the problems found at them.

use std::path::Path;

use crate::{Error, Override, Problem};

/// The most problems that one error lists.
const LISTED: usize = 20;

/// Where a value was given. The order is the order of giving: what comes later overrides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Nowhere: the default.
    Default,
    /// At this byte of the manifest.
    Manifest(usize),
    /// In the override of this index.
    Override(usize),
}

/// Proof that a problem was recorded: only [`Problems::push`] makes one, so that a function that
/// returns it as its error cannot fail in silence.
#[derive(Debug)]
pub(crate) struct Reported(());

/// The problems found so far, with what it takes to name their places.
pub(crate) struct Problems<'a> {
    text: &'a str,
    origin: &'a Path,
    overrides: &'a [Override],
    found: Vec<(Place, String)>,
}

impl<'a> Problems<'a> {
    /// No problems yet in the manifest `text`, which messages call `origin`.
    pub(crate) fn new(text: &'a str, origin: &'a Path, overrides: &'a [Override]) -> Self {
        Self {
            text,
            origin,
            overrides,
            found: Vec::new(),
        }
    }

    /// Records that at `place` there is this problem.
    pub(crate) fn push(&mut self, place: Place, message: String) -> Reported {
        self.found.push((place, message));
        Reported(())
    }

    /// Proof that some problem was recorded, if one was.
    pub(crate) fn reported(&self) -> Option<Reported> {
        (!self.found.is_empty()).then_some(Reported(()))
    }

    /// All problems as one error, in the order of their places.
    pub(crate) fn into_error(mut self) -> Error {
        let mut found = std::mem::take(&mut self.found);
        found.sort_by_key(|(place, _)| *place);
        let left_out = found.len().saturating_sub(LISTED);
        found.truncate(LISTED);
        let problems = found
            .into_iter()
            .map(|(place, message)| Problem {
                place: self.name(place),
                message,
            })
            .collect();
        Error::Invalid { problems, left_out }
    }

    /// The place as messages name it. Offsets become lines only here, so that a long manifest is
    /// not searched for each of its values.
    fn name(&self, place: Place) -> String {
        let offset = match place {
            Place::Override(index) => match self.overrides.get(index) {
                Some(given) => return given.source.clone(),
                None => 0,
            },
            Place::Manifest(offset) => offset,
            Place::Default => 0,
        };
        let (line, column) = line_and_column(self.text, offset);
        format!("{}:{line}:{column}", self.origin.display())
    }
}

/// Line and column of a byte offset, both from 1, the column in characters.
fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let end = text.floor_char_boundary(offset);
    let head = text.get(..end).unwrap_or(text);
    let line = head.bytes().filter(|&byte| byte == b'\n').count() + 1;
    let start = head.rfind('\n').map_or(0, |newline| newline + 1);
    let column = head.get(start..).unwrap_or_default().chars().count() + 1;
    (line, column)
}
