//! Running one stage in this process.

use std::process::ExitCode;

use clap::{Args, Command, FromArgMatches};
use records::{Pipeline, Stage};
use workdir::{
    Context, Definition, Expected, Facts, Journal, Lock, Outcome, Progress, Receipt, State, WorkDir,
};

use crate::machine::{Meter, default_memory_bytes, open_files, settle_allocator, threads};
use crate::progress::watch;
use crate::{PipelineArgs, Problem, StageArgs, chain, lines, load, overlap, plan, report};

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
    if !args.child {
        settle_allocator();
    }
    let meter = Meter::start();
    die_with_parent(args.child);
    let pipeline = load(&args.pipeline)?;
    overlap::check_folders(&pipeline)?;
    let work = WorkDir::create(&pipeline.run.work)?;
    // A child runs under the lock of its parent.
    let _lock = match args.child {
        true => None,
        false => Some(Lock::take(&work.lock(), work.root())?),
    };
    let link = chain::upstream(definition, &pipeline, &work)?;
    let quiet = args.pipeline.quiet;
    if !args.child {
        if let State::Done(receipt) = &link.state
            && !args.pipeline.force
        {
            if !quiet {
                lines::say(&format!(
                    "{}: up to date, nothing to do ({})",
                    definition.stage,
                    lines::stage_done(receipt)
                        .split(": ")
                        .last()
                        .unwrap_or_default()
                ));
            }
            return Ok(());
        }
        (definition.preflight)(&pipeline, &work)?;
    }
    let receipt = execute(
        definition,
        &pipeline,
        &work,
        &link.expected,
        &args.pipeline,
        &meter,
    )?;
    if !args.child {
        if !quiet {
            lines::say(&lines::stage_done(&receipt));
            for warning in &receipt.warnings {
                lines::say(&format!("warning: {warning}"));
            }
        }
        let standing = standing(&work, &receipt);
        report::write(&standing, &[definition.stage], &pipeline, &work)?;
    }
    Ok(())
}

fn execute(
    definition: &Definition,
    pipeline: &Pipeline,
    work: &WorkDir,
    expected: &Expected,
    args: &PipelineArgs,
    meter: &Meter,
) -> Result<Receipt, Problem> {
    let memory_bytes = pipeline
        .run
        .memory_bytes
        .unwrap_or_else(default_memory_bytes);
    let progress = Progress::default();
    let threads = threads(pipeline.run.threads);
    let used = || meter.usage(memory_bytes, threads);
    if args.force {
        Journal::remove(work, definition.stage)?;
    }
    let journal = Journal::open(work, definition.stage, expected.journal_id(), &used);
    let context = Context {
        work,
        memory_bytes,
        threads,
        open_files: open_files(),
        progress: &progress,
        expected,
        journal: &journal,
    };
    work.sweep()?;
    let outcome = watch(definition.stage, &progress, args.quiet, || {
        (definition.run)(pipeline, &context)
    });
    let mut outcome = match outcome {
        Ok(outcome) => outcome,
        Err(failure) => {
            // The failure is what counts; what cannot be removed goes with the next run.
            let _ = work.remove_scratch(definition.stage);
            return Err(failure.into());
        }
    };
    account(definition, pipeline, &context, &mut outcome);
    let receipt = Receipt::new(expected, outcome, journal.usage());
    receipt.save(work)?;
    journal.finish()?;
    Ok(receipt)
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
fn die_with_parent(child: bool) {
    #[cfg(target_os = "linux")]
    if child {
        use rustix::process::{Signal, set_parent_process_death_signal};
        // Where it is not to be had, the child ends by itself a little later.
        let _ = set_parent_process_death_signal(Some(Signal::TERM));
    }
    #[cfg(not(target_os = "linux"))]
    let _ = child;
}
