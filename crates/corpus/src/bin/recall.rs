//! The `recall` binary: what became of the planted copies, in one line. Not part of the product.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use corpus::{Scheme, recall};

/// Compares the planted copies of a corpus with the clusters found in it, and prints one line. Exits 1 where fewer
/// were found than expected, or unlike documents are in one cluster.
#[derive(Parser)]
#[command(name = "recall", version)]
struct Command {
    /// The table of planted copies that `corpus` wrote
    planted: PathBuf,
    /// The table of clusters
    clusters: PathBuf,
    /// Slots of a signature
    #[arg(long, default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..))]
    k: u32,
    /// Bands
    #[arg(long, default_value_t = 20)]
    bands: u32,
    /// Slots of a band
    #[arg(long, default_value_t = 6)]
    rows: u32,
    /// The least Jaccard similarity of a pair
    #[arg(long, default_value_t = 0.8)]
    threshold: f64,
}

fn run(command: &Command) -> anyhow::Result<bool> {
    let scheme = Scheme {
        k: command.k,
        bands: command.bands,
        rows: command.rows,
        threshold: command.threshold,
    };
    let recall = recall(&command.planted, &command.clusters, scheme)?;
    let planned = recall.is_as_planned();
    let verdict = if planned {
        "as planned"
    } else {
        "NOT as planned"
    };
    writeln!(std::io::stdout(), "{verdict}: {recall}")?;
    Ok(planned)
}

fn main() -> ExitCode {
    match run(&Command::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
