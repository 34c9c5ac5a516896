//! Running one stage in this process.

use std::process::ExitCode;

use clap::{Args, Command, FromArgMatches};
use records::{Pipeline, Stage};
use workdir::{
    Context, Definition, Expected, Facts, Failure, Journal, Lock, Outcome, Progress, Receipt,
    State, WorkDir,
};

use crate::machine::{Meter, default_memory_bytes, open_files, settle_allocator, threads};
use crate::progress::watch;
use crate::signals::{self, Signals};
use crate::{
    PipelineArgs, Problem, StageArgs, chain, damage, faults, lines, load, overlap, plan, report,
    space,
};

/// The whole of a stage's binary: parses the arguments, runs the stage where it has to, and
/// gives the exit code.
pub fn stage_main(definition: &Definition) -> ExitCode {
    let name = definition.stage.name();
    let command = Command::new(name)
        .about(format!("neardup's stage `{name}` alone"))
        .version(records::PRODUCT_VERSION);
    let matches = StageArgs::augment_args(command).get_matches();
    let result = StageArgs::from_arg_matches(&matches)
        .map_err(|error| Problem::new(crate::Code::Usage, error))
        .and_then(|args| run_here(definition, &args));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => problem.report(),
    }
}

/// Runs a stage in this process, unless its receipt says that there is nothing to do.
///
/// # Errors
/// When the manifest is wrong, a stage before it has to run first, or the stage does not end
/// well.
pub fn run_here(definition: &Definition, args: &StageArgs) -> Result<(), Problem> {
    if let Some(signal) = signals::stopped_by() {
        signals::end_stopped(signal, &args.pipeline, args.child);
    }
    if args.child.is_none() {
        settle_allocator();
    }
    let meter = Meter::start();
    faults::arm(definition.stage.name());
    die_with_parent(args.child);
    let _signals = Signals::watch()?;
    let pipeline = load(&args.pipeline)?;
    overlap::check_folders(&pipeline)?;
    let work = WorkDir::create(&pipeline.run.work)?;
    if args.child.is_some() {
        // A child runs under the lock of its parent, which looks for damage where it fails.
        let link = chain::upstream(definition, &pipeline, &work)?;
        let run = Run {
            definition,
            pipeline: &pipeline,
            work: &work,
            expected: &link.expected,
            args: &args.pipeline,
            meter: &meter,
        };
        return run.execute().map(drop).map_err(|failed| failed.problem);
    }
    let _lock = Lock::take(&work.lock(), work.root())?;
    run_alone(definition, args, &pipeline, &work, &meter)
}

/// Runs a stage that no `neardup run` is behind.
fn run_alone(
    definition: &Definition,
    args: &StageArgs,
    pipeline: &Pipeline,
    work: &WorkDir,
    meter: &Meter,
) -> Result<(), Problem> {
    let stage = definition.stage;
    let list = work.name_of(&work.inputs());
    let link = chain::upstream(definition, pipeline, work)
        // Of what the stages before left, only this list has been read by now.
        .map_err(|problem| damage::explain(problem, work, stage, |name| name == list))?;
    let quiet = args.pipeline.quiet;
    if let State::Done(receipt) = &link.state
        && !args.pipeline.force
    {
        // A run that was killed behind its receipt leaves them.
        work.remove_parts(stage)?;
        if !quiet {
            let done = lines::stage_figures(receipt);
            lines::say(&format!("{stage}: up to date, nothing to do ({done})"));
        }
        return Ok(());
    }
    (definition.preflight)(pipeline, work)?;
    let run = Run {
        definition,
        pipeline,
        work,
        expected: &link.expected,
        args: &args.pipeline,
        meter,
    };
    let receipt = run.execute().map_err(|failed| match failed.full {
        true => failed.problem,
        false => damage::explain(failed.problem, work, stage, |_| true),
    })?;
    if !quiet {
        lines::say(&lines::stage_done(&receipt));
        for warning in &receipt.warnings {
            lines::say(&format!("warning: {warning}"));
        }
    }
    let standing = standing(work, &receipt);
    report::write(&standing, &[stage], pipeline, work)
}

/// A stage that runs.
struct Run<'a> {
    definition: &'a Definition,
    pipeline: &'a Pipeline,
    work: &'a WorkDir,
    expected: &'a Expected,
    args: &'a PipelineArgs,
    meter: &'a Meter,
}

/// Why it did not end well.
struct Failed {
    problem: Problem,
    /// Whether a disk was full.
    full: bool,
}

impl<T: Into<Problem>> From<T> for Failed {
    fn from(problem: T) -> Self {
        Self {
            problem: problem.into(),
            full: false,
        }
    }
}

impl Run<'_> {
    fn failed(&self, failure: Failure) -> Failed {
        let full = space::is_full(&*failure.error);
        let mut problem = Problem::from(failure);
        if full {
            let advice = space::advice(self.definition, self.pipeline, self.work, self.expected);
            if let Some(line) = advice {
                problem.message.push('\n');
                problem.message.push_str(&line);
            }
        }
        Failed { problem, full }
    }

    fn execute(&self) -> Result<Receipt, Failed> {
        let (definition, pipeline, work) = (self.definition, self.pipeline, self.work);
        let memory_bytes = pipeline
            .run
            .memory_bytes
            .unwrap_or_else(default_memory_bytes);
        let progress = Progress::default();
        let threads = threads(pipeline.run.threads);
        let used = || self.meter.usage(memory_bytes, threads);
        let id = self.expected.journal_id();
        let mut journal = Journal::open(work, definition.stage, id, &used);
        if self.args.force {
            journal.forget();
        }
        let context = Context {
            work,
            memory_bytes,
            threads,
            open_files: open_files(),
            progress: &progress,
            expected: self.expected,
            journal: &journal,
        };
        work.sweep()?;
        let outcome = watch(definition.stage, &progress, self.args.quiet, || {
            (definition.run)(pipeline, &context)
        });
        let mut outcome = match outcome {
            Ok(outcome) => outcome,
            Err(failure) => {
                // The failure is what counts; what cannot be removed goes with the next run.
                let _ = work.remove_scratch(definition.stage);
                return Err(self.failed(failure));
            }
        };
        account(definition, pipeline, &context, &mut outcome);
        let receipt = Receipt::new(self.expected, outcome, journal.usage());
        let end = || {
            receipt.save(work)?;
            // What only a stopped run would have gone on from.
            work.remove_parts(definition.stage)?;
            journal.finish()
        };
        end().map_err(|error| self.failed(Failure::new(error.refused(), error)))?;
        Ok(receipt)
    }
}

/// Adds what the budget was divided into, beside what was used, unless the stage did so itself.
fn account(
    definition: &Definition,
    pipeline: &Pipeline,
    context: &Context<'_>,
    outcome: &mut Outcome,
) {
    let chain = Receipt::chain(context.work, context.expected).unwrap_or_default();
    let mut facts = Facts::default();
    for receipt in chain.receipts() {
        facts
            .counters
            .extend(plan::counters(receipt.stage, &receipt.counters));
    }
    let stage = definition.stage;
    facts
        .counters
        .extend(plan::counters(stage, &outcome.counters));
    facts.files = facts.counter("sign.files").unwrap_or(0);
    facts.documents = facts.counter("sign.documents").unwrap_or(0);
    facts.text_bytes = facts.counter("sign.text_bytes").unwrap_or(0);
    facts.input_bytes = facts.counter("sign.input_bytes").unwrap_or(0);
    let (memory_bytes, threads) = (context.memory_bytes, context.threads);
    let Ok(plan) = (definition.plan)(pipeline, &facts, memory_bytes, threads) else {
        return;
    };
    if outcome.counters.contains_key("memory_planned") {
        return;
    }
    outcome.count("memory_planned", plan.memory_json());
    outcome.count("threads_used", plan.threads);
    if plan.threads < threads {
        outcome.warnings.push(format!(
            "{stage} uses {} of {threads} threads: run.memory of {} MiB holds no more",
            plan.threads,
            memory_bytes >> 20
        ));
    }
}

/// The receipts of the stages up to this one, and of those after it that still fit.
fn standing(work: &WorkDir, receipt: &Receipt) -> Vec<Receipt> {
    let mut receipts: Vec<Receipt> = Stage::ALL
        .into_iter()
        .take_while(|stage| *stage < receipt.stage)
        .filter_map(|stage| Receipt::load(work, stage))
        .collect();
    receipts.push(receipt.clone());
    let mut last = receipt.id.clone();
    for stage in Stage::ALL
        .into_iter()
        .filter(|stage| *stage > receipt.stage)
    {
        match Receipt::load(work, stage) {
            Some(next) if next.upstream.as_ref() == Some(&last) => {
                last.clone_from(&next.id);
                receipts.push(next);
            }
            _ => break,
        }
    }
    receipts
}

/// Asks the system to end this child when its parent dies, however that dies.
fn die_with_parent(parent: Option<u32>) {
    if parent.is_none() {
        return;
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, set_parent_process_death_signal};
        // Where it is not to be had, the child ends by itself a little later.
        let _ = set_parent_process_death_signal(Some(Signal::TERM));
    }
    // It may have died before that.
    if signals::orphaned(parent) {
        std::process::exit(signals::code(signal_hook::consts::SIGTERM));
    }
}
