//! `neardup status`: what is up to date, what is not, and why. Changes nothing.

use cli::{Code, Link, PipelineArgs, Problem};
use workdir::{Extent, Journal, Lock, Receipt, State, WorkDir};

use crate::DEFINITIONS;

/// Prints a line a stage; whether all are up to date.
pub(crate) fn status(args: &PipelineArgs) -> Result<bool, Problem> {
    let pipeline = cli::load(args)?;
    cli::check_folders(&pipeline)?;
    let work = WorkDir::at(&pipeline.run.work);
    // Before the receipts are looked at: a run that ends in between has done what they say.
    let holder = Lock::holder(&work.lock())?;
    let links = cli::links(&DEFINITIONS, &pipeline, &work)?;
    let done = |link: &Link| matches!(link.state, State::Done(_));
    if !args.quiet {
        if let Some(holder) = holder {
            let (root, pid) = (work.root().display(), holder.pid_shown());
            let since = holder.since;
            println!("{root} is in use by process {pid} since {since}; what stands there changes");
        }
        for link in &links {
            println!("{}", line(link, &work));
        }
    }
    Ok(links.iter().all(done))
}

fn line(link: &Link, work: &WorkDir) -> String {
    let stage = link.expected.stage;
    let why = match &link.state {
        State::Done(receipt) => {
            let ended = ended(receipt, work);
            let figures = cli::stage_figures(receipt);
            return format!("{stage:<8}done     {figures}{ended}");
        }
        State::Stale(why) => link.why().unwrap_or_else(|| why.clone()),
    };
    if work.receipt(stage).exists() {
        return format!("{stage:<8}stale    {why}");
    }
    match Journal::extent(work, stage, &link.expected.journal_id()) {
        Some(Extent { done, of }) if of > 0 => {
            format!("{stage:<8}partly   {done} of {of} units; a run goes on from there")
        }
        _ => format!("{stage:<8}not run yet"),
    }
}

/// When a stage ended, as the time of its receipt has it.
fn ended(receipt: &Receipt, work: &WorkDir) -> String {
    let found = work.receipt(receipt.stage).metadata();
    match found.and_then(|found| found.modified()) {
        Ok(time) => format!("; {}", cli::time(time)),
        Err(_) => String::new(),
    }
}

/// The code that tells a script that something is not up to date.
pub(crate) const STALE: u8 = Code::Failed as u8;
