//! The command `neardup`: the stages in order, each a child process of this one.
//!
//! A child process a stage gives all memory back between stages, and lets the operating system
//! say what each has used. `neardup STAGE` runs one stage in this process, as the stage's own
//! binary does.

mod child;
mod clean;
mod run;
mod status;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use cli::{Problem, StageArgs};
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
    after_help = "Exit codes: 0 done; 1 failed, a rerun resumes (`status`: not up to date); 2 usage or manifest; \
                  3 refused; 130 and 143 stopped by SIGINT and SIGTERM, a rerun resumes."
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
    /// Say which stages are up to date, how far the others are, and why; exits 1 unless all are
    Status(cli::PipelineArgs),
    /// Remove what killed runs left half-made, and the band runs, which `band` makes again
    Clean(clean::CleanArgs),
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
        Command::Run(args) => return code(run::run(&args)),
        Command::Plan(args) => return code(run::plan(&args)),
        Command::Clean(args) => return code(clean::clean(&args)),
        Command::Status(args) => {
            return match status::status(&args) {
                Ok(true) => ExitCode::SUCCESS,
                Ok(false) => ExitCode::from(status::STALE),
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
    let ran = definition.map(|definition| cli::run_here(definition, &args));
    code(ran.unwrap_or(Ok(())))
}

fn code(result: Result<(), Problem>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => problem.report(),
    }
}
