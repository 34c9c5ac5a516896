//! `neardup run`.

use clap::Args;
use cli::{Code, Link, PipelineArgs, Problem};
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

/// Runs the stages from `--from` to `--to` whose receipts do not fit, each as a child process.
pub(crate) fn run(args: &RunArgs) -> Result<(), Problem> {
    let first = args.from.unwrap_or(Stage::Sign);
    let last = args.to.unwrap_or(Stage::Filter);
    if first > last {
        let what =
            format!("--from {first} comes after --to {last}; name them in the order of the flow");
        return Err(Problem::new(Code::Usage, what));
    }
    let pipeline = cli::load(&args.pipeline)?;
    cli::check_folders(&pipeline)?;
    let work = WorkDir::create(&pipeline.run.work)?;
    let _lock = Lock::take(&work.lock(), work.root())?;
    // Also where no stage runs: a run may have been killed while it wrote its report.
    work.sweep()?;
    let links = cli::links(&DEFINITIONS, &pipeline, &work)?;
    check_before(&links, first)?;

    let chosen = |link: &Link| (first..=last).contains(&link.expected.stage);
    let must_run = |link: &Link| {
        chosen(link) && (args.pipeline.force || matches!(link.state, State::Stale(_)))
    };
    if !links.iter().any(must_run) {
        return nothing_to_do(&links, last, &pipeline, &work, args.pipeline.quiet);
    }
    for (definition, link) in DEFINITIONS.into_iter().zip(&links) {
        if must_run(link) {
            (definition.preflight)(&pipeline, &work)?;
        }
    }
    let survey = cli::survey(&pipeline, &links)?;
    let steps = cli::steps(&DEFINITIONS, &links, must_run, &pipeline, &survey.facts)?;
    cli::check_disk(&cli::disk(&steps), &pipeline, &work)?;
    let mut receipts = Vec::new();
    let mut ran = Vec::new();
    for link in links.iter().take_while(|link| link.expected.stage <= last) {
        let stage = link.expected.stage;
        if !must_run(link) {
            if let State::Done(receipt) = &link.state {
                receipts.push((**receipt).clone());
            }
            continue;
        }
        announce(link, args.pipeline.quiet);
        child::run(stage, &args.pipeline)?;
        let receipt = Receipt::load(&work, stage)
            .filter(|receipt| receipt.id == link.expected.id())
            .ok_or_else(|| changed_while_running(stage))?;
        if !args.pipeline.quiet {
            cli::say(&cli::stage_done(&receipt));
        }
        ran.push(stage);
        receipts.push(receipt);
    }
    finish(&receipts, &ran, &pipeline, &work, args.pipeline.quiet)
}

/// Refuses to start in the middle where the stages before are not up to date.
fn check_before(links: &[Link], first: Stage) -> Result<(), Problem> {
    for link in links {
        let stage = link.expected.stage;
        if stage >= first {
            break;
        }
        if let State::Stale(why) = &link.state {
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

fn nothing_to_do(
    links: &[Link],
    last: Stage,
    pipeline: &Pipeline,
    work: &WorkDir,
    quiet: bool,
) -> Result<(), Problem> {
    if quiet {
        return Ok(());
    }
    cli::say("nothing to do: every stage is up to date (--force runs them all the same)");
    let receipts: Vec<Receipt> = links
        .iter()
        .filter(|link| link.expected.stage <= last)
        .filter_map(|link| match &link.state {
            State::Done(receipt) => Some((**receipt).clone()),
            State::Stale(_) => None,
        })
        .collect();
    for line in cli::summary(&receipts, pipeline, work) {
        cli::say(&line);
    }
    Ok(())
}

fn finish(
    receipts: &[Receipt],
    ran: &[Stage],
    pipeline: &Pipeline,
    work: &WorkDir,
    quiet: bool,
) -> Result<(), Problem> {
    cli::write_report(receipts, ran, pipeline, work)?;
    if quiet {
        return Ok(());
    }
    cli::say("");
    for line in cli::summary(receipts, pipeline, work) {
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
    let survey = cli::survey(&pipeline, &links)?;
    let steps = cli::steps(&DEFINITIONS, &links, must_run, &pipeline, &survey.facts)?;
    for line in cli::plan_lines(&survey, &steps, &pipeline, &work) {
        println!("{line}");
    }
    cli::check_disk(&cli::disk(&steps), &pipeline, &work)
}
