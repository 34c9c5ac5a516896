//! Threads over the row groups of all files.
//!
//! Row groups are handed out in order, and begun in order when there is memory for what they take. If it is a row
//! group's turn in its file, it is encoded straight into it. If not, it is encoded into memory, where a thread's
//! share holds it, and left to the thread that writes the one before; and else its thread waits for its turn.
//! Neither waits for what begins later, so that no thread waits for ever.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use parquet::column::writer::ColumnCloseResult;
use parquet::file::writer::TrackedWrite;
use records::settings::Mode;

use super::added::annotate;
use super::column::{Context, encode};
use super::input::Input;
use super::memory::{Held, LOOK, Pool};
use super::need::{self, Need};
use super::output::Output;
use super::selection::Selection;
use super::{Job, Options, Outcome, copy};
use crate::Error;
use crate::open::MetadataNeeds;

/// A row group takes at most so much and so many times its size.
const NEED_BYTES: u64 = 32 << 20;
const NEED_SHARE: u64 = 16;

/// Does every job. See [`super::rewrite`].
pub(super) fn run(
    jobs: &[Job<'_>],
    options: &Options,
    progress: &(dyn Fn(u64) + Sync),
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<Outcome>, Error> {
    let stopped = AtomicBool::new(false);
    let cancelled = || stopped.load(Ordering::Relaxed) || cancelled();
    let pool = Pool::new(options.memory_bytes);
    let work = Work {
        jobs,
        options,
        progress,
        cancelled: &cancelled,
        next: Mutex::new(Next::default()),
        pool: &pool,
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
    next: Mutex<Next>,
    pool: &'a Pool,
    files: Vec<Turns<'a>>,
}

/// What is handed out next.
#[derive(Clone, Copy, Default)]
struct Next {
    job: usize,
    group: usize,
    /// How many were handed out before.
    ticket: u64,
}

/// One job's file, and whose turn it is to write.
#[derive(Default)]
struct Turns<'p> {
    /// Open from its first row group's start to its last one's end.
    input: Mutex<Option<Arc<Input>>>,
    file: Mutex<FileState<'p>>,
    turn: Condvar,
}

#[derive(Default)]
struct FileState<'p> {
    /// With the thread whose turn it is, while that writes.
    output: Option<Output>,
    /// The row group that is to be written next.
    next: usize,
    /// Row groups that are ready before their turn.
    ready: BTreeMap<usize, Ready<'p>>,
    outcome: Outcome,
}

/// A row group ready to be written.
struct Ready<'p> {
    selection: Selection,
    prepared: Prepared,
    /// What it takes until it is written.
    held: Held<'p>,
}

enum Prepared {
    /// No row stays.
    Nothing,
    /// Every row stays. The chunks are copied, and these follow: bytes and descriptions.
    Copy(Vec<u8>, Vec<ColumnCloseResult>),
    /// Encoded.
    Encoded(Vec<u8>, Vec<ColumnCloseResult>),
    /// To be copied and encoded into the file.
    Straight,
}

/// Memory for an encoded row group: at most so many bytes.
struct Buffer {
    bytes: Vec<u8>,
    most: usize,
    is_full: bool,
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.most - self.bytes.len() < bytes.len() {
            self.is_full = true;
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> Work<'a> {
    /// Works on row groups until none is left.
    fn take_part(&self) -> Result<(), Error> {
        while let Some(next) = self.take() {
            if (self.cancelled)() {
                return Err(Error::Cancelled);
            }
            self.row_group(next)?;
        }
        Ok(())
    }

    /// The next row group. A file without any has one turn all the same, in which it is made.
    fn take(&self) -> Option<Next> {
        let mut next = lock(&self.next);
        let taken = *next;
        let groups = self.jobs.get(taken.job)?.source.row_groups.len();
        (next.job, next.group) = match taken.group + 1 < groups {
            true => (taken.job, taken.group + 1),
            false => (taken.job + 1, 0),
        };
        next.ticket += 1;
        Some(taken)
    }

    fn row_group(&self, next: Next) -> Result<(), Error> {
        let (Some(job), Some(turns)) = (self.jobs.get(next.job), self.files.get(next.job)) else {
            return Ok(());
        };
        let group = next.group;
        let input = self.input(job, turns)?;
        if input.groups() == 0 {
            let _held = self.hold(next.ticket, 0)?;
            return self.finish(job, turns, lock(&turns.file), &input);
        }
        let context = Context {
            input: &input,
            group,
            options: self.options,
            cancelled: self.cancelled,
        };
        let selection = self.selection(job, context)?;
        let is_turn = lock(&turns.file).next == group;
        let ready = self.prepare(context, job, selection, next.ticket, is_turn)?;

        let mut file = lock(&turns.file);
        if file.next != group {
            if !matches!(ready.prepared, Prepared::Straight) {
                file.ready.insert(group, ready);
                return Ok(());
            }
            file = self.wait(turns, file, group)?;
        }
        self.write_turns(context, job, turns, file, ready)
    }

    /// Writes a row group whose turn it is, and those after it that are ready.
    fn write_turns<'t>(
        &self,
        context: Context<'_>,
        job: &Job<'_>,
        turns: &'t Turns<'a>,
        mut file: MutexGuard<'t, FileState<'a>>,
        ready: Ready<'_>,
    ) -> Result<(), Error> {
        let mut output = match file.output.take() {
            Some(output) => output,
            None => Output::create(&job.output)?,
        };
        let mut group = file.next;
        drop(file);
        let mut turn = Some(ready);
        loop {
            let Some(ready) = turn.take() else {
                return Ok(());
            };
            let context = Context { group, ..context };
            let rows = ready.selection.rows();
            let written =
                self.write(context, job, &ready.selection, ready.prepared, &mut output)?;
            drop(ready.held);
            (self.progress)(rows);
            let mut file = lock(&turns.file);
            file.outcome.add(written);
            file.next += 1;
            group = file.next;
            turn = file.ready.remove(&group);
            if turn.is_none() {
                file.output = Some(output);
                if group == context.input.groups() {
                    self.finish(job, turns, file, context.input)?;
                }
                turns.turn.notify_all();
                return Ok(());
            }
        }
    }

    /// Waits until a row group may begin that takes so many bytes.
    fn hold(&self, ticket: u64, bytes: u64) -> Result<Held<'a>, Error> {
        let held = self.pool.take(ticket, bytes, self.cancelled);
        held.ok_or(Error::Cancelled)
    }

    /// What one of the threads may take.
    fn share(&self) -> u64 {
        self.pool.total() / self.options.threads.max(1) as u64
    }

    fn prepare(
        &self,
        context: Context<'_>,
        job: &Job<'_>,
        selection: Selection,
        ticket: u64,
        is_turn: bool,
    ) -> Result<Ready<'a>, Error> {
        let (work, encoded) = self.needs(context, &selection, self.share())?;
        if work.bytes > self.pool.total() {
            return Err(self.too_large(context, work)?);
        }
        let straight = is_turn || work.bytes.saturating_add(encoded) > self.share();
        let (is_whole, is_drop) = (selection.is_whole(), self.options.mode == Mode::Drop);
        let at_once = match (is_whole, selection.kept()) {
            (true, _) if is_drop => Some(Prepared::Copy(Vec::new(), Vec::new())),
            (false, 0) => Some(Prepared::Nothing),
            _ => straight.then_some(Prepared::Straight),
        };
        if let Some(prepared) = at_once {
            let held = self.hold(ticket, work.bytes)?;
            return Ok(Ready {
                selection,
                prepared,
                held,
            });
        }
        let mut held = self.hold(ticket, work.bytes + encoded)?;
        let prepared = self.encode(context, job, &selection, encoded)?;
        held.keep(match &prepared {
            Prepared::Copy(bytes, _) | Prepared::Encoded(bytes, _) => {
                bytes.len() as u64 + need::COPY_CHUNK_BYTES
            }
            _ => work.bytes,
        });
        Ok(Ready {
            selection,
            prepared,
            held,
        })
    }

    /// What a row group takes while it is worked on, and what its encoded bytes take where they wait.
    fn needs(
        &self,
        context: Context<'_>,
        selection: &Selection,
        enough: u64,
    ) -> Result<(Need, u64), Error> {
        let of = |bytes| Need {
            bytes: bytes + need::FIXED_BYTES + need::COPY_CHUNK_BYTES,
            ..Need::default()
        };
        let rows = selection.rows();
        Ok(match self.options.mode {
            Mode::Annotate => (of(need::annotation(rows)), need::annotated_bytes(rows)),
            Mode::Drop if selection.is_whole() || selection.kept() == 0 => (of(0), 0),
            Mode::Drop => (
                need::row_group(context, selection, enough, self.pool.total())?,
                need::encoded_bytes(context, selection)?,
            ),
        })
    }

    /// The error of a row group that takes more than there is. It names what would do for all row groups.
    fn too_large(&self, context: Context<'_>, need: Need) -> Result<Error, Error> {
        Ok(Error::TooLarge {
            path: context.input.path.clone(),
            place: context.input.place(context.group, need.leaf),
            row: need.row,
            page_bytes: need.page_bytes,
            needed_bytes: self.largest_need(need.bytes)?,
            budget_bytes: self.pool.total(),
        })
    }

    /// The most that a row group takes, where it is more than `least`. Reads footers and page headers of row groups that
    /// are not too small for that.
    fn largest_need(&self, least: u64) -> Result<u64, Error> {
        let mut most = least;
        for job in self.jobs {
            let groups = job.source.row_groups.iter().enumerate();
            let large = groups.filter(|(_, group)| {
                least
                    < group
                        .total_bytes
                        .saturating_mul(NEED_SHARE)
                        .saturating_add(NEED_BYTES)
            });
            let mut opened = None;
            for (group, _) in large {
                if (self.cancelled)() {
                    return Err(Error::Cancelled);
                }
                let input = match opened.take() {
                    Some(input) => input,
                    None => Input::open(job.source, self.options, MetadataNeeds::Everything)?,
                };
                let input = opened.insert(input);
                let context = Context {
                    input,
                    group,
                    options: self.options,
                    cancelled: self.cancelled,
                };
                let selection = self.selection(job, context)?;
                most = most.max(self.needs(context, &selection, most)?.0.bytes);
            }
        }
        Ok(most)
    }

    /// The rows of a row group that are written.
    fn selection(&self, job: &Job<'_>, context: Context<'_>) -> Result<Selection, Error> {
        let rows = context.input.rows(context.group);
        match self.options.mode {
            Mode::Drop => Selection::read(&context.input.path, job.decisions, rows),
            Mode::Annotate => Ok(Selection::all(rows.end - rows.start)),
        }
    }

    /// The job's input, opened by the first thread that needs it.
    fn input(&self, job: &Job<'_>, turns: &Turns<'_>) -> Result<Arc<Input>, Error> {
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

    /// Encodes a row group into memory of at most `most` bytes; [`Prepared::Straight`] where it takes more.
    fn encode(
        &self,
        context: Context<'_>,
        job: &Job<'_>,
        selection: &Selection,
        most: u64,
    ) -> Result<Prepared, Error> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut sink = TrackedWrite::new(Buffer {
            bytes: Vec::with_capacity(most),
            most,
            is_full: false,
        });
        let closes = match self.options.mode {
            Mode::Annotate => annotate(context, job.decisions, &mut sink),
            Mode::Drop => {
                let leaves = context.input.output.leaves.iter();
                leaves
                    .map(|leaf| encode(context, *leaf, selection, &mut sink))
                    .collect()
            }
        };
        if sink.inner().is_full {
            return Ok(Prepared::Straight);
        }
        let closes = closes?;
        let flushed = sink.flush();
        if sink.inner().is_full {
            return Ok(Prepared::Straight);
        }
        let place = format!("row group {}", context.group);
        flushed.map_err(|error| Error::io("cannot encode", &context.input.path, error))?;
        let buffer = sink
            .into_inner()
            .map_err(|error| Error::parquet(&context.input.path, &place, error))?;
        let mut bytes = buffer.bytes;
        bytes.shrink_to_fit();
        Ok(match self.options.mode {
            Mode::Annotate => Prepared::Copy(bytes, closes),
            Mode::Drop => Prepared::Encoded(bytes, closes),
        })
    }

    /// Waits until all row groups before `group` are written.
    fn wait<'t>(
        &self,
        turns: &'t Turns<'a>,
        mut file: MutexGuard<'t, FileState<'a>>,
        group: usize,
    ) -> Result<MutexGuard<'t, FileState<'a>>, Error> {
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
        job: &Job<'_>,
        selection: &Selection,
        prepared: Prepared,
        output: &mut Output,
    ) -> Result<Outcome, Error> {
        let Context { input, group, .. } = context;
        let mut outcome = Outcome {
            rows_in: selection.rows(),
            rows_out: selection.kept(),
            ..Outcome::default()
        };
        match (prepared, selection.is_whole()) {
            (Prepared::Nothing, _) => return Ok(outcome),
            (Prepared::Copy(bytes, added), _) => {
                self.copy(context, output)?;
                output.write(&bytes, added)?;
                outcome.row_groups_copied += 1;
            }
            (Prepared::Straight, true) => {
                self.copy(context, output)?;
                output.encode(|sink| annotate(context, job.decisions, sink))?;
                outcome.row_groups_copied += 1;
            }
            (Prepared::Encoded(bytes, closes), _) => {
                output.write(&bytes, closes)?;
                outcome.row_groups_rewritten += 1;
            }
            (Prepared::Straight, false) => {
                for leaf in &input.output.leaves {
                    output.encode(|sink| Ok(vec![encode(context, *leaf, selection, sink)?]))?;
                }
                outcome.row_groups_rewritten += 1;
            }
        }
        output.end_group(input, group, selection.kept())?;
        Ok(outcome)
    }

    /// Copies the chunks of a row group.
    fn copy(&self, context: Context<'_>, output: &mut Output) -> Result<(), Error> {
        let Context { input, group, .. } = context;
        for leaf in &input.output.leaves {
            let chunk = copy::chunk(input, group, *leaf)?;
            output.copy(input, chunk, self.cancelled)?;
        }
        Ok(())
    }

    /// Ends the output and closes both files.
    fn finish(
        &self,
        job: &Job<'_>,
        turns: &Turns<'_>,
        mut file: MutexGuard<'_, FileState<'_>>,
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
