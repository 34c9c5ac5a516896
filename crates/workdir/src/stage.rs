//! What the shell has to know of a stage to run it.

use std::error::Error as StdError;

use records::{Pipeline, Settings, Stage};

use crate::{Context, Facts, Outcome, Receipt, StagePlan, WorkDir};

/// Why a stage did not end well.
#[derive(Debug)]
pub struct Failure {
    /// Whether an input, the budget, the disk or a folder was refused (exit 3), and not a
    /// failure in the work (exit 1).
    pub refused: bool,
    /// What, where, and what to do.
    pub error: Box<dyn StdError + Send + Sync>,
}

impl Failure {
    /// A stage's own error with its kind.
    pub fn new(refused: bool, error: impl StdError + Send + Sync + 'static) -> Self {
        Self {
            refused,
            error: Box::new(error),
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.error.fmt(f)
    }
}

/// A stage as each stage's library defines it.
#[derive(Clone, Copy)]
pub struct Definition {
    /// Which one.
    pub stage: Stage,
    /// What decides its outputs beside its settings in the manifest: algorithm versions, and for
    /// `sign` the identity of the input.
    pub identity: fn(&Pipeline, &WorkDir) -> Result<Settings, Failure>,
    /// Why a receipt that fits does not hold all the same, such as an output folder that is gone.
    pub outdated: fn(&Pipeline, &Receipt) -> Option<String>,
    /// Refuses what can be known to fail, before any stage of a run begins.
    pub preflight: fn(&Pipeline, &WorkDir) -> Result<(), Failure>,
    /// What it will need under a budget of so many bytes and so many threads, as far as the facts
    /// tell; a refusal where the budget is too small says what would do.
    pub plan: fn(&Pipeline, &Facts, u64, usize) -> Result<StagePlan, Failure>,
    /// Does the work.
    pub run: fn(&Pipeline, &Context<'_>) -> Result<Outcome, Failure>,
}

impl Definition {
    /// A [`Definition::preflight`] for a stage that can refuse nothing before it runs.
    ///
    /// # Errors
    /// None.
    pub fn always_ready(_: &Pipeline, _: &WorkDir) -> Result<(), Failure> {
        Ok(())
    }

    /// An [`Definition::outdated`] for a stage whose outputs are all in the work folder.
    pub fn never_outdated(_: &Pipeline, _: &Receipt) -> Option<String> {
        None
    }
}
