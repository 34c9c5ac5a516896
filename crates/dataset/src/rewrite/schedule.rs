//! Threads over the row groups of all files.
//!
//! Row groups are handed out in order. A thread encodes its row group into memory. If the row groups
//! before it in the same file are written, it writes it, and those after it that are ready. If they
//! are not, it leaves it to the thread that writes the one before, as far as memory allows, or
//! waits for its turn. The row group that was handed out first of those at work never waits, so
//! that no thread waits for ever.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use parquet::column::writer::ColumnCloseResult;
use parquet::file::writer::TrackedWrite;
use records::settings::Mode;

use super::column::{Context, annotate, encode};
use super::input::Input;
use super::output::Output;
use super::selection::Selection;
use super::{Job, Options, Outcome, copy};
use crate::Error;
use crate::open::MetadataNeeds;

/// How often a waiting thread looks whether work was cancelled.
const LOOK: Duration = Duration::from_millis(50);

/// Does every job. See [`super::rewrite`].
pub(super) fn run(
    jobs: &[Job<'_>],
    options: &Options,
    progress: &(dyn Fn(u64) + Sync),
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<Outcome>, Error> {
    let stopped = AtomicBool::new(false);
    let cancelled = || stopped.load(Ordering::Relaxed) || cancelled();
    let work = Work {
        jobs,
        options,
        progress,
        cancelled: &cancelled,
        next: Mutex::new((0, 0)),
        left_bytes: AtomicU64::new(0),
        files: jobs.iter().map(|_| Turns::default()).collect(),
    };
    let error = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..options.threads.max(1) {
            scope.spawn(|| {
                if let Err(found) = work.take_part() {
                    stopped.store(true, Ordering::Relaxed);
                    let mut first = lock(&error);
                    // The first cause; those that it stopped say no more than that.
                    if first.is_none() || matches!(*first, Some(Error::Cancelled)) {
                        *first = Some(found);
                    }
                }
            });
        }
    });
    match error.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(work
            .files
            .into_iter()
            .map(|turns| {
                let file = turns.file.into_inner();
                file.unwrap_or_else(PoisonError::into_inner).outcome
            })
            .collect()),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the threads share.
struct Work<'a> {
    jobs: &'a [Job<'a>],
    options: &'a Options,
    progress: &'a (dyn Fn(u64) + Sync),
    cancelled: &'a (dyn Fn() -> bool + Sync),
    /// The next job and row group.
    next: Mutex<(usize, usize)>,
    /// Bytes of row groups that were left to other threads.
    left_bytes: AtomicU64,
    files: Vec<Turns>,
}

/// One job's file, and whose turn it is to write.
#[derive(Default)]
struct Turns {
    /// Open from its first row group's start to its last one's end.
    input: Mutex<Option<Arc<Input>>>,
    file: Mutex<FileState>,
    turn: Condvar,
}

#[derive(Default)]
struct FileState {
    output: Option<Output>,
    /// The row group that is to be written next.
    next: usize,
    /// Row groups that are ready before their turn.
    ready: BTreeMap<usize, (Selection, Prepared)>,
    outcome: Outcome,
}

/// A row group ready to be written.
enum Prepared {
    /// No row stays.
    Nothing,
    /// Every row stays. The chunks are copied, and these follow: bytes and descriptions.
    Copy(Vec<u8>, Vec<ColumnCloseResult>),
    /// Encoded.
    Encoded(Vec<u8>, Vec<ColumnCloseResult>),
    /// Too large for memory: to be encoded into the file.
    Straight,
}

impl Prepared {
    /// Bytes held.
    fn bytes(&self) -> u64 {
        match self {
            Self::Copy(bytes, _) | Self::Encoded(bytes, _) => bytes.len() as u64,
            Self::Nothing | Self::Straight => 0,
        }
    }
}

impl Work<'_> {
    /// Works on row groups until none is left.
    fn take_part(&self) -> Result<(), Error> {
        while let Some((job, group)) = self.take() {
            if (self.cancelled)() {
                return Err(Error::Cancelled);
            }
            self.row_group(job, group)?;
        }
        Ok(())
    }

    /// The next row group. A file without any has one turn all the same, in which it is made.
    fn take(&self) -> Option<(usize, usize)> {
        let mut next = lock(&self.next);
        let (job, group) = *next;
        let groups = self.jobs.get(job)?.source.row_groups.len();
        *next = match group + 1 < groups {
            true => (job, group + 1),
            false => (job + 1, 0),
        };
        Some((job, group))
    }

    fn row_group(&self, index: usize, group: usize) -> Result<(), Error> {
        let (Some(job), Some(turns)) = (self.jobs.get(index), self.files.get(index)) else {
            return Ok(());
        };
        let input = self.input(job, turns)?;
        if input.groups() == 0 {
            return self.finish(job, turns, lock(&turns.file), &input);
        }
        let context = Context {
            input: &input,
            group,
            options: self.options,
            cancelled: self.cancelled,
        };
        let selection = match self.options.mode {
            Mode::Drop => Selection::read(&input.path, job.decisions, input.rows(group))?,
            Mode::Annotate => {
                let rows = input.rows(group);
                Selection::all(rows.end - rows.start)
            }
        };
        let prepared = self.prepare(context, job, &selection)?;

        let mut file = lock(&turns.file);
        if file.next != group {
            if self.leave(&prepared) {
                file.ready.insert(group, (selection, prepared));
                return Ok(());
            }
            file = self.wait(turns, file, group)?;
        }
        if file.output.is_none() {
            file.output = Some(Output::create(&job.output)?);
        }
        let mut turn = Some((selection, prepared));
        while let Some((selection, prepared)) = turn {
            let group = file.next;
            let context = Context { group, ..context };
            self.write(context, &selection, prepared, &mut file)?;
            file.next += 1;
            (self.progress)(selection.rows());
            let next = file.next;
            turn = file.ready.remove(&next);
            if let Some((_, prepared)) = &turn {
                self.left_bytes
                    .fetch_sub(prepared.bytes(), Ordering::Relaxed);
            }
        }
        if file.next == input.groups() {
            self.finish(job, turns, file, &input)?;
        }
        turns.turn.notify_all();
        Ok(())
    }

    /// Whether a row group whose turn has not come may be left to another thread: half of the memory
    /// is for such.
    fn leave(&self, prepared: &Prepared) -> bool {
        if matches!(prepared, Prepared::Straight) {
            return false;
        }
        let bytes = prepared.bytes();
        let left = self.left_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let fits = left <= self.options.memory_bytes / 2;
        if !fits {
            self.left_bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
        fits
    }

    /// The job's input, opened by the first thread that needs it.
    fn input(&self, job: &Job<'_>, turns: &Turns) -> Result<Arc<Input>, Error> {
        let mut shared = lock(&turns.input);
        if let Some(input) = &*shared {
            return Ok(Arc::clone(input));
        }
        let input = Arc::new(Input::open(
            job.source,
            self.options,
            MetadataNeeds::Everything,
        )?);
        *shared = Some(Arc::clone(&input));
        Ok(input)
    }

    fn prepare(
        &self,
        context: Context<'_>,
        job: &Job<'_>,
        selection: &Selection,
    ) -> Result<Prepared, Error> {
        if selection.is_whole() {
            let mut sink = TrackedWrite::new(Vec::new());
            let added = annotate(context, job.decisions, &mut sink)?;
            return Ok(Prepared::Copy(self.bytes(context, sink)?, added));
        }
        if selection.kept() == 0 {
            return Ok(Prepared::Nothing);
        }
        if self.is_large(context, selection)? {
            return Ok(Prepared::Straight);
        }
        let mut sink = TrackedWrite::new(Vec::new());
        let mut closes = Vec::new();
        for leaf in &context.input.output.leaves {
            closes.push(encode(context, *leaf, selection, &mut sink)?);
        }
        Ok(Prepared::Encoded(self.bytes(context, sink)?, closes))
    }

    fn bytes(&self, context: Context<'_>, sink: TrackedWrite<Vec<u8>>) -> Result<Vec<u8>, Error> {
        let place = format!("row group {}", context.group);
        sink.into_inner()
            .map_err(|error| Error::parquet(&context.input.path, &place, error))
    }

    /// Whether the encoded row group would take more than a thread's share of the memory. The share
    /// is that of the half of the memory which is not for row groups left to others, halved, since an unknown level may have packed the input better and vectors grow by doubling.
    fn is_large(&self, context: Context<'_>, selection: &Selection) -> Result<bool, Error> {
        let group = context.input.group(context.group)?;
        let bytes = u64::try_from(group.compressed_size()).unwrap_or_default();
        let left = u128::from(bytes) * u128::from(selection.kept());
        let left = left / u128::from(selection.rows().max(1));
        let share = self.options.memory_bytes / self.options.threads.max(1) as u64 / 4;
        Ok(left > u128::from(share))
    }

    /// Waits until all row groups before `group` are written.
    fn wait<'t>(
        &self,
        turns: &'t Turns,
        mut file: MutexGuard<'t, FileState>,
        group: usize,
    ) -> Result<MutexGuard<'t, FileState>, Error> {
        while file.next != group {
            if (self.cancelled)() {
                return Err(Error::Cancelled);
            }
            let waited = turns.turn.wait_timeout(file, LOOK);
            file = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(file)
    }

    fn write(
        &self,
        context: Context<'_>,
        selection: &Selection,
        prepared: Prepared,
        file: &mut FileState,
    ) -> Result<(), Error> {
        let Context { input, group, .. } = context;
        let outcome = &mut file.outcome;
        outcome.rows_in += selection.rows();
        outcome.rows_out += selection.kept();
        let Some(output) = &mut file.output else {
            return Ok(());
        };
        match prepared {
            Prepared::Nothing => return Ok(()),
            Prepared::Copy(bytes, added) => {
                for leaf in &input.output.leaves {
                    let chunk = copy::chunk(input, group, *leaf)?;
                    output.copy(input, chunk, self.cancelled)?;
                }
                output.write(&bytes, added)?;
                outcome.row_groups_copied += 1;
            }
            Prepared::Encoded(bytes, closes) => {
                output.write(&bytes, closes)?;
                outcome.row_groups_rewritten += 1;
            }
            Prepared::Straight => {
                for leaf in &input.output.leaves {
                    output.encode(|sink| encode(context, *leaf, selection, sink))?;
                }
                outcome.row_groups_rewritten += 1;
            }
        }
        output.end_group(input, group, selection.kept())
    }

    /// Ends the output and closes both files.
    fn finish(
        &self,
        job: &Job<'_>,
        turns: &Turns,
        mut file: MutexGuard<'_, FileState>,
        input: &Input,
    ) -> Result<(), Error> {
        let output = match file.output.take() {
            Some(output) => output,
            None => Output::create(&job.output)?,
        };
        *lock(&turns.input) = None;
        let (bytes, checksum) = output.finish(input)?;
        file.outcome.bytes = bytes;
        file.outcome.checksum = checksum;
        Ok(())
    }
}
