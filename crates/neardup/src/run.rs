//! `neardup run`.

use clap::Args;
use cli::{Code, Link, PipelineArgs, Problem, Signals};
use records::{Pipeline, Stage};
use workdir::{Lock, Receipt, State, WorkDir};

use crate::{DEFINITIONS, child};

/// The arguments of `neardup run`.
#[derive(Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pipeline: PipelineArgs,
    /// The first stage to run; those before it have to be up to date
    #[arg(long, value_name = "STAGE", value_parser = stage)]
    from: Option<Stage>,
    /// The last stage to run
    #[arg(long, value_name = "STAGE", value_parser = stage)]
    to: Option<Stage>,
}

fn stage(name: &str) -> Result<Stage, String> {
    Stage::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Stage::ALL.iter().map(|stage| stage.name()).collect();
        format!("the stages are {}", names.join(", "))
    })
}

/// A run looks for damage so many times before it gives up.
const REPAIRS: u32 = 3;

/// Runs the stages from `--from` to `--to` whose receipts do not fit, each as a child process.
pub(crate) fn run(args: &RunArgs) -> Result<(), Problem> {
    if let Some(signal) = cli::stopped_by() {
        cli::end_stopped(signal, &args.pipeline, None);
    }
    let first = args.from.unwrap_or(Stage::Sign);
    let last = args.to.unwrap_or(Stage::Filter);
    if first > last {
        let what =
            format!("--from {first} comes after --to {last}; name them in the order of the flow");
        return Err(Problem::new(Code::Usage, what));
    }
    cli::arm_faults("neardup");
    let signals = Signals::watch()?;
    let pipeline = cli::load(&args.pipeline)?;
    cli::check_folders(&pipeline)?;
    let work = WorkDir::create(&pipeline.run.work)?;
    let lock = Lock::take(&work.lock(), work.root())?;
    // Also where no stage runs: a run may have been killed while it wrote its report.
    work.sweep()?;
    let mut run = Run {
        args: &args.pipeline,
        pipeline: &pipeline,
        work: &work,
        lock: &lock,
        signals: &signals,
        first,
        last,
        ran: Vec::new(),
        repairs: 0,
    };
    loop {
        let links = cli::links(&DEFINITIONS, &pipeline, &work)?;
        if run.repairs == 0 {
            check_before(&links, first)?;
        }
        for link in &links {
            if let State::Done(receipt) = &link.state {
                // A run that was killed behind its receipt leaves them.
                work.remove_parts(receipt.stage)?;
            }
        }
        match run.stages(&links)? {
            Ended::Nothing => return run.nothing_to_do(&links),
            Ended::Whole(receipts) => return run.finish(&receipts),
            Ended::Repaired => run.repairs += 1,
        }
    }
}

/// A run that is going on.
struct Run<'a> {
    args: &'a PipelineArgs,
    pipeline: &'a Pipeline,
    work: &'a WorkDir,
    lock: &'a Lock,
    signals: &'a Signals,
    first: Stage,
    last: Stage,
    /// The stages that ended well.
    ran: Vec<Stage>,
    /// How often damage was found and removed.
    repairs: u32,
}

/// How an attempt at the stages ended.
enum Ended {
    /// No stage had to run.
    Nothing,
    /// All are up to date, and these are their receipts.
    Whole(Vec<Receipt>),
    /// Damage was found, and removed: what is missing now is to be made again.
    Repaired,
}

impl Run<'_> {
    fn forced(&self, stage: Stage) -> bool {
        self.args.force && (self.first..=self.last).contains(&stage) && !self.ran.contains(&stage)
    }

    /// Whether a stage has to run. What damage takes from a stage before the first is made again too.
    fn must_run(&self, link: &Link) -> bool {
        let stage = link.expected.stage;
        let chosen = stage <= self.last && (stage >= self.first || self.repairs > 0);
        chosen && (self.forced(stage) || matches!(link.state, State::Stale(_)))
    }

    fn stages(&mut self, links: &[Link]) -> Result<Ended, Problem> {
        if !links.iter().any(|link| self.must_run(link)) && self.repairs == 0 {
            return Ok(Ended::Nothing);
        }
        for (definition, link) in DEFINITIONS.into_iter().zip(links) {
            if self.must_run(link) {
                (definition.preflight)(self.pipeline, self.work)?;
            }
        }
        let survey = cli::survey(self.pipeline, self.work, links)?;
        let must_run = |link: &Link| self.must_run(link);
        let steps = cli::steps(&DEFINITIONS, links, must_run, self.pipeline, &survey)?;
        cli::check_disk(&cli::disk(&steps), self.pipeline, self.work)?;
        let mut receipts = Vec::new();
        for link in links {
            let stage = link.expected.stage;
            if stage > self.last {
                break;
            }
            if !self.must_run(link) {
                if let State::Done(receipt) = &link.state {
                    receipts.push((**receipt).clone());
                }
                continue;
            }
            announce(link, self.args.quiet);
            if !self.stage(stage)? {
                return Ok(Ended::Repaired);
            }
            let receipt = Receipt::load(self.work, stage)
                .filter(|receipt| receipt.id == link.expected.id())
                .ok_or_else(|| changed_while_running(stage))?;
            if !self.args.quiet {
                cli::say(&cli::stage_done(&receipt));
            }
            self.ran.retain(|ran| *ran != stage);
            self.ran.push(stage);
            receipts.push(receipt);
        }
        Ok(Ended::Whole(receipts))
    }

    /// Runs a stage to its end; false where it failed, and damage was found and removed.
    fn stage(&self, stage: Stage) -> Result<bool, Problem> {
        let forced = self.forced(stage);
        let ended = child::run(stage, self.args, forced, self.signals, self.lock);
        let code = match ended {
            Ok(()) => return Ok(true),
            Err(child::Failed::Stopped(signal)) => cli::end_stopped(signal, self.args, None),
            Err(child::Failed::Silent(problem)) => return Err(problem),
            Err(child::Failed::Told(code)) => code,
        };
        if code != Code::Usage && self.repairs < REPAIRS {
            let damaged = cli::remove_damaged(self.work, stage, |_| true)?;
            if !damaged.is_empty() {
                cli::say_repairs(stage, &damaged);
                return Ok(false);
            }
        }
        Err(Problem::new(code, ""))
    }

    fn nothing_to_do(&self, links: &[Link]) -> Result<(), Problem> {
        let receipts: Vec<Receipt> = links
            .iter()
            .filter(|link| link.expected.stage <= self.last)
            .filter_map(|link| match &link.state {
                State::Done(receipt) => Some((**receipt).clone()),
                State::Stale(_) => None,
            })
            .collect();
        if !cli::report_is_of(&receipts, self.work) {
            cli::write_report(&receipts, &[], self.pipeline, self.work)?;
        }
        if self.args.quiet {
            return Ok(());
        }
        cli::say("nothing to do: every stage is up to date (--force runs them all the same)");
        for line in cli::summary(&receipts, self.pipeline, self.work) {
            cli::say(&line);
        }
        Ok(())
    }

    fn finish(&self, receipts: &[Receipt]) -> Result<(), Problem> {
        cli::write_report(receipts, &self.ran, self.pipeline, self.work)?;
        if self.args.quiet {
            return Ok(());
        }
        cli::say("");
        for line in cli::summary(receipts, self.pipeline, self.work) {
            cli::say(&line);
        }
        let warnings: Vec<&String> = receipts
            .iter()
            .flat_map(|receipt| &receipt.warnings)
            .collect();
        for warning in warnings.iter().take(3) {
            cli::say(&format!("warning: {warning}"));
        }
        if warnings.len() > 3 {
            cli::say(&format!(
                "warning: {} more are in the report",
                warnings.len() - 3
            ));
        }
        Ok(())
    }
}

/// Refuses to start in the middle where the stages before are not up to date.
fn check_before(links: &[Link], first: Stage) -> Result<(), Problem> {
    for link in links {
        let stage = link.expected.stage;
        if stage >= first {
            break;
        }
        if let Some(why) = link.why() {
            return Err(Problem::new(
                Code::Refused,
                format!(
                    "--from {first} needs the outputs of `{stage}`, but {why}; run `neardup run` \
                     or `neardup run --from {stage}`"
                ),
            ));
        }
    }
    Ok(())
}

fn changed_while_running(stage: Stage) -> Problem {
    Problem::new(
        Code::Refused,
        format!(
            "the input files changed while `{stage}` ran; wait until the export is complete and \
             run again"
        ),
    )
}

fn announce(link: &Link, quiet: bool) {
    if quiet {
        return;
    }
    let why = match &link.state {
        State::Stale(why) => why.as_str(),
        State::Done(_) => "--force",
    };
    cli::stamped(&format!("{:<8}starts ({why})", link.expected.stage));
}

/// Says what a run would do and need, and does nothing.
pub(crate) fn plan(args: &PipelineArgs) -> Result<(), Problem> {
    let pipeline = cli::load(args)?;
    cli::check_folders(&pipeline)?;
    let work = WorkDir::at(&pipeline.run.work);
    let links = cli::links(&DEFINITIONS, &pipeline, &work)?;
    let must_run = |link: &Link| args.force || matches!(link.state, State::Stale(_));
    for (definition, link) in DEFINITIONS.into_iter().zip(&links) {
        if must_run(link) {
            (definition.preflight)(&pipeline, &work)?;
        }
    }
    let survey = cli::survey(&pipeline, &work, &links)?;
    let steps = cli::steps(&DEFINITIONS, &links, must_run, &pipeline, &survey)?;
    for line in cli::plan_lines(&survey, &steps, &pipeline, &work) {
        println!("{line}");
    }
    cli::check_disk(&cli::disk(&steps), &pipeline, &work)
}
