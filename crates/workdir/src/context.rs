//! What a stage is given beside its settings, and what it gives back.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Expected, Journal, Output, WorkDir};

/// How far a stage is; the shell shows it. Units are the stage's own (bytes of text, records).
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress {
    /// Begins a pass over `total` units of work.
    pub fn start(&self, total: u64) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    /// Adds finished units.
    pub fn add(&self, units: u64) {
        self.done.fetch_add(units, Ordering::Relaxed);
    }

    /// The finished share in [0, 1], none before the first pass.
    pub fn share(&self) -> Option<f64> {
        let total = self.total.load(Ordering::Relaxed);
        let done = self.done.load(Ordering::Relaxed).min(total);
        (total > 0).then(|| done as f64 / total as f64)
    }
}

/// What a stage is given beside its settings.
pub struct Context<'a> {
    /// The work folder.
    pub work: &'a WorkDir,
    /// The budget of resident memory in bytes.
    pub memory_bytes: u64,
    /// Worker threads, at least one.
    pub threads: usize,
    /// Files that the process may have open at once: the soft limit.
    pub open_files: u64,
    /// Where to say how far the stage is.
    pub progress: &'a Progress,
    /// What the stage's receipt will say: its settings and those of the stages before it.
    pub expected: &'a Expected,
    /// The units that earlier attempts finished, and those of this one. The stage begins it when
    /// all that may refuse is behind it.
    pub journal: &'a Journal<'a>,
}

/// Files that a stage has open beside those of its sorts.
const OTHER_FILES: u64 = 32;

impl Context<'_> {
    /// The files that each of `sorts` sorts may have open, so that all stay under the soft limit.
    pub fn sort_files(&self, sorts: usize) -> usize {
        let left = self.open_files.saturating_sub(OTHER_FILES) / sorts.max(1) as u64;
        left.clamp(3, 64) as usize
    }
}

/// What a stage leaves, for its receipt.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Files in the work folder.
    pub outputs: Vec<Output>,
    /// Figures for the report, by stable names.
    pub counters: BTreeMap<String, serde_json::Value>,
    /// Lines for the person at the machine.
    pub warnings: Vec<String>,
}

impl Outcome {
    /// Adds a figure for the report.
    pub fn count(&mut self, name: &str, value: impl Into<serde_json::Value>) {
        self.counters.insert(name.to_owned(), value.into());
    }
}
