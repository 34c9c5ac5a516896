//! The command `neardup`: the stages in order, each a child process of this one.
//!
//! A child process a stage gives all memory back between stages, and lets the operating system
//! say what each has used. `neardup STAGE` runs one stage in this process, as the stage's own
//! binary does.

mod child;
mod run;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use cli::StageArgs;
use records::Stage;
use workdir::Definition;

/// The stages in order.
const DEFINITIONS: [&Definition; 5] = [
    &sign::STAGE,
    &band::STAGE,
    &join::STAGE,
    &cluster::STAGE,
    &filter::STAGE,
];

/// Finds and removes near-duplicate documents in Parquet corpora larger than RAM
#[derive(Parser)]
#[command(
    version,
    after_help = "Exit codes: 0 done; 1 failed, a rerun resumes; 2 usage or manifest; 3 refused."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the stages whose outputs are not up to date
    Run(run::RunArgs),
    /// Say what a run would do, why, and the memory and disk that it needs
    Plan(cli::PipelineArgs),
    /// Stage 1: read the text and write a signature for every document
    Sign(StageArgs),
    /// Stage 2: group identical texts and sort the band keys
    Band(StageArgs),
    /// Stage 3: verify the pairs that share a bucket
    Join(StageArgs),
    /// Stage 4: find the clusters and choose who stays
    Cluster(StageArgs),
    /// Stage 5: write the input again without its duplicates
    Filter(StageArgs),
}

fn main() -> ExitCode {
    let (stage, args) = match Cli::parse().command {
        Command::Run(args) => {
            return match run::run(&args) {
                Ok(()) => ExitCode::SUCCESS,
                Err(problem) => problem.report(),
            };
        }
        Command::Plan(args) => {
            return match run::plan(&args) {
                Ok(()) => ExitCode::SUCCESS,
                Err(problem) => problem.report(),
            };
        }
        Command::Sign(args) => (Stage::Sign, args),
        Command::Band(args) => (Stage::Band, args),
        Command::Join(args) => (Stage::Join, args),
        Command::Cluster(args) => (Stage::Cluster, args),
        Command::Filter(args) => (Stage::Filter, args),
    };
    let definition = DEFINITIONS
        .into_iter()
        .find(|definition| definition.stage == stage);
    match definition.map(|definition| cli::run_here(definition, &args)) {
        Some(Err(problem)) => problem.report(),
        _ => ExitCode::SUCCESS,
    }
}
