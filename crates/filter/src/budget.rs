//! How the memory budget is divided, how many threads it holds, and what `filter` needs on disk.

use dataset::Source;
use records::Pipeline;
use records::settings::Mode;
use serde_json::{Value, json};
use workdir::{BASE_BYTES, Facts, Span, StagePlan};

use crate::Error;

const MIB: u64 = 1 << 20;
/// What a thread wants for row groups that are not small: pages of common size of one column, decoded and encoded.
const WORK_BYTES: u64 = 10 * MIB;
/// The least that a lone thread has for row groups.
const WORK_BYTES_LEAST: u64 = 2 * MIB;
/// What a thread has beside: its stack, and what its part of the allocator keeps.
const THREAD_BYTES: u64 = MIB / 2;
/// How many times what reading a footer takes is in memory: the input's with statistics and page indexes, the output's, and
/// the bytes that are made of that.
const FOOTERS: u64 = 3;
/// The same where columns are added.
const FOOTERS_ANNOTATED: u64 = 5;
/// What is kept of each input file: paths, schema, row groups, decisions.
const FILE_BYTES: u64 = 2 << 10;
/// One part in so many of the budget is left to the allocator: memory that was given back, in pieces that it does not
/// return to the system.
const SLACK_SHARE: u64 = 16;
/// What copying a row group as it is takes.
const COPY_BYTES: u64 = MIB;
/// What the allocator holds beside what is in use, in percent of that, measured: pages of many sizes leave pieces that it
/// does not return.
const KEPT_BACK_PERCENT: u64 = 55;
/// A thread's part of that at most.
const KEPT_BACK_BYTES: u64 = 7 * MIB;
/// Files that are open beside those that are written again, and files that a thread has open: input, output and
/// decisions.
const OTHER_FILES: u64 = 32;
const THREAD_FILES: u64 = 4;

/// Files whose largest row group a plan looks into.
const LOOKED_AT: usize = 3;

/// What of the input decides how much memory is needed, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    /// The largest row group without compression.
    pub(crate) group_bytes: u64,
    /// The largest footers of an input and its output in memory.
    pub(crate) footer_bytes: u64,
    /// What is kept of all files.
    pub(crate) files_bytes: u64,
    /// Row groups.
    pub(crate) groups: u64,
}

impl Shape {
    /// That of these files, written in this mode.
    pub(crate) fn of(sources: &[Source], mode: Mode) -> Result<Self, Error> {
        let footers = match mode {
            Mode::Drop => FOOTERS,
            Mode::Annotate => FOOTERS_ANNOTATED,
        };
        let mut shape = Self {
            files_bytes: FILE_BYTES * sources.len() as u64,
            ..Self::default()
        };
        for source in sources {
            let footer = dataset::footer_memory(&source.listed)?.saturating_mul(footers);
            shape.footer_bytes = shape.footer_bytes.max(footer);
            shape.groups += source.row_groups.len() as u64;
            for group in &source.row_groups {
                shape.group_bytes = shape.group_bytes.max(group.total_bytes);
            }
        }
        Ok(shape)
    }

    /// What a thread has beside row groups.
    fn thread_bytes(&self) -> u64 {
        THREAD_BYTES.saturating_add(self.footer_bytes)
    }

    /// What a thread wants for row groups: those of less need less.
    fn wanted_bytes(&self) -> u64 {
        WORK_BYTES.min(self.group_bytes.saturating_mul(5).saturating_add(MIB))
    }
}

/// The budget of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    memory_bytes: u64,
    shape: Shape,
    /// The threads that it holds, at least one.
    pub(crate) threads: usize,
}

impl Budget {
    /// Divides `memory_bytes` among at most `threads` threads, at least one.
    pub(crate) fn new(memory_bytes: u64, threads: usize, shape: Shape) -> Result<Self, Error> {
        let mut budget = Self {
            memory_bytes,
            shape,
            threads: 1,
        };
        if budget.left(1) < WORK_BYTES_LEAST {
            return Err(Error::Memory {
                budget_bytes: memory_bytes,
                needed_bytes: budget.holding(1, WORK_BYTES_LEAST),
            });
        }
        let holds = |count: &usize| {
            budget.left(*count) >= shape.wanted_bytes().saturating_mul(*count as u64)
        };
        budget.threads = (2..=threads).rev().find(holds).unwrap_or(1);
        Ok(budget)
    }

    /// What all row groups together may take.
    pub(crate) fn work_bytes(&self) -> u64 {
        self.left(self.threads)
    }

    /// What so many threads leave for row groups.
    fn left(&self, threads: usize) -> u64 {
        let fixed = self.shape.thread_bytes().saturating_mul(threads as u64);
        (self.memory_bytes - self.memory_bytes / SLACK_SHARE)
            .saturating_sub(fixed.saturating_add(BASE_BYTES + self.shape.files_bytes))
    }

    /// The budget that leaves so many threads `bytes` for row groups; a whole number of MiB.
    fn holding(&self, threads: usize, bytes: u64) -> u64 {
        let fixed = self.shape.thread_bytes().saturating_mul(threads as u64);
        let needed = bytes
            .saturating_add(fixed)
            .saturating_add(BASE_BYTES + self.shape.files_bytes);
        // So that what is left without the slack is at least that, rounded up.
        let with_slack = needed.saturating_add(needed / (SLACK_SHARE - 1) + 1);
        with_slack.div_ceil(MIB).saturating_mul(MIB)
    }

    /// The budget under which a row group may take `bytes`, however many of `threads` threads it holds.
    pub(crate) fn for_work(&self, threads: usize, bytes: u64) -> u64 {
        let bytes = bytes.max(WORK_BYTES_LEAST);
        let mut needed = self.holding(1, bytes);
        // More memory may hold more threads, which leave less.
        for _ in 0..threads {
            let budget = Self::new(needed, threads, self.shape);
            let used = budget.map_or(1, |budget| budget.threads);
            let holding = self.holding(used, bytes);
            if holding <= needed {
                break;
            }
            needed = holding;
        }
        needed
    }

    /// The parts of the budget in bytes; together they are the budget.
    pub(crate) fn planned(&self) -> Value {
        let threads = self.threads as u64;
        let footers = self.shape.footer_bytes.saturating_mul(threads);
        let base = BASE_BYTES + self.shape.files_bytes;
        let parts = base + THREAD_BYTES * threads + footers + self.work_bytes();
        json!({
            "base": base,
            "threads": THREAD_BYTES * threads,
            "footers": footers,
            "row_groups": self.work_bytes(),
            "allocator": self.memory_bytes.saturating_sub(parts),
        })
    }

    /// Says that the budget holds fewer than `threads` threads; none where it holds them.
    pub(crate) fn warning(&self, threads: usize) -> Option<String> {
        let wanted = self.shape.wanted_bytes().saturating_mul(threads as u64);
        (self.threads < threads).then(|| {
            format!(
                "filter uses {} of {threads} threads: run.memory of {} MiB holds no more; {} MiB would hold all",
                self.threads,
                self.memory_bytes / MIB,
                self.holding(threads, wanted) / MIB,
            )
        })
    }
}

/// The threads that the soft limit of open files allows, at least one.
pub(crate) fn threads_of_files(open_files: u64, threads: usize) -> usize {
    let allowed = open_files.saturating_sub(OTHER_FILES) / THREAD_FILES;
    usize::try_from(allowed)
        .unwrap_or(threads)
        .clamp(1, threads.max(1))
}

/// What the stage will need.
pub(crate) fn plan(
    pipeline: &Pipeline,
    facts: &Facts,
    memory_bytes: u64,
    wanted: usize,
) -> Result<StagePlan, Error> {
    let listing = dataset::list(&pipeline.input.paths)?;
    let mut sources = Vec::with_capacity(listing.files.len());
    for listed in &listing.files {
        sources.push(dataset::inspect(listed, &pipeline.input.text)?);
    }
    let shape = Shape::of(&sources, pipeline.filter.mode)?;
    let budget = Budget::new(memory_bytes, wanted, shape)?;
    let rows = facts.documents.max(1);
    let dropped = Span::or(facts.counter("cluster.dropped"), 0, rows);
    // Rows weigh about the same. Without compression that is all; with it, what is dropped may have cost little beside
    // the row that it is like.
    let share = |all: u64, dropped: u64| {
        let bytes = u128::from(all) * u128::from(rows - dropped.min(rows));
        (bytes / u128::from(rows)) as u64
    };
    let inflated = sources.iter().flat_map(|source| &source.row_groups);
    let inflated = inflated.map(|group| group.total_bytes).sum::<u64>();
    let output = match pipeline.filter.mode {
        Mode::Annotate => Span::exact(facts.input_bytes + facts.documents),
        Mode::Drop => Span::between(
            share(facts.input_bytes, dropped.high),
            share(inflated, dropped.low)
                .clamp(share(facts.input_bytes, dropped.low), facts.input_bytes),
        ),
    };
    Ok(StagePlan {
        memory: memory_parts(pipeline, facts, &budget, &sources),
        threads: budget.threads,
        work_peak: Span::default(),
        work_kept: Span::default(),
        output,
    })
}

fn memory_parts(
    pipeline: &Pipeline,
    facts: &Facts,
    budget: &Budget,
    sources: &[Source],
) -> Vec<(&'static str, Span)> {
    let shape = budget.shape;
    let (each, encoded) = match (pipeline.filter.mode, facts.counter("cluster.dropped")) {
        // Whole row groups are copied.
        (Mode::Drop, Some(0)) => (COPY_BYTES, 0),
        _ => largest_expected(pipeline, facts, sources),
    };
    let rows = facts.documents.max(1);
    let kept = rows - facts.counter("cluster.dropped").unwrap_or(0).min(rows);
    // Row groups of which nothing is kept are passed over.
    let groups = match pipeline.filter.mode {
        Mode::Drop => shape.groups.min(kept),
        Mode::Annotate => shape.groups,
    };
    let mut threads = (budget.threads as u64).min(groups.max(1));
    // Row groups of one file that do not fit beside each other are encoded one after the other. Where they do, all but
    // the one that is written are encoded into memory.
    let mut waiting = encoded;
    if each.saturating_add(encoded) > budget.work_bytes() / threads {
        threads = threads.min(facts.files.max(1));
        waiting = 0;
    }
    // Half is the input's; the output's describes only what stays.
    let half = shape
        .footer_bytes
        .saturating_mul(threads.min(facts.files.max(1)))
        / 2;
    let footers = match pipeline.filter.mode {
        Mode::Drop => half + (u128::from(half) * u128::from(kept) / u128::from(rows)) as u64,
        Mode::Annotate => 2 * half,
    };
    let all = each.saturating_mul(threads);
    let all = all.saturating_add(waiting.saturating_mul(threads - 1));
    let work = all.min(budget.work_bytes());
    let used = THREAD_BYTES * threads + footers + work;
    let left = (budget.memory_bytes).saturating_sub(BASE_BYTES + shape.files_bytes + used);
    // What is dropped is read, but not encoded.
    let kept_back =
        u128::from(used / 100 * KEPT_BACK_PERCENT) * u128::from(kept) / u128::from(rows);
    let kept_back = (kept_back as u64).min(threads * KEPT_BACK_BYTES).min(left);
    vec![
        ("program", Span::exact(BASE_BYTES + shape.files_bytes)),
        ("threads", Span::exact(THREAD_BYTES * threads)),
        ("footers", Span::exact(footers)),
        ("row_groups", Span::exact(work)),
        ("allocator", Span::exact(kept_back)),
    ]
}

/// What the largest row groups take while they are worked on, and what their encoded bytes take, with as many rows
/// dropped as everywhere.
fn largest_expected(pipeline: &Pipeline, facts: &Facts, sources: &[Source]) -> (u64, u64) {
    let mut groups: Vec<(u64, &Source, usize)> = Vec::new();
    for source in sources {
        let largest = source.row_groups.iter().enumerate();
        let largest = largest.max_by_key(|(_, group)| group.total_bytes);
        groups.extend(largest.map(|(index, group)| (group.total_bytes, source, index)));
    }
    groups.sort_by_key(|(bytes, ..)| std::cmp::Reverse(*bytes));
    let options = crate::options(pipeline, 1, 0);
    let rows = facts.documents.max(1);
    let dropped = facts
        .counter("cluster.dropped")
        .unwrap_or(rows / 2)
        .min(rows);
    let kept = |all: u64| (u128::from(all) * u128::from(rows - dropped) / u128::from(rows)) as u64;
    let (mut most, mut encoded) = (0, 0);
    for (_, source, index) in groups.into_iter().take(LOOKED_AT) {
        let Some(group) = source.row_groups.get(index) else {
            continue;
        };
        // What is wrong with a file is said by the stage that reads it.
        let bytes = dataset::rewrite::expected_bytes(source, index, kept(group.rows), &options)
            .unwrap_or(WORK_BYTES);
        most = most.max(bytes);
        encoded = encoded.max(kept(group.stored_bytes));
    }
    (most, encoded)
}

#[cfg(test)]
mod tests;
