//! The `shapes` binary: corpora that are skewed on purpose, from the command line.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use corpus::{Bucket, Chain, Layout, Lines, Shape, Star, write_shape};

/// Makes a Parquet corpus in which something is extreme: FOLDER/data/part-*.parquet with the columns `id` and `text`.
///
/// The same options always make the same bytes. Prints what was written and which documents are alike.
#[derive(Parser)]
#[command(name = "shapes", version)]
struct Command {
    #[command(subcommand)]
    shape: Which,
}

#[derive(Subcommand)]
enum Which {
    /// Rows of 8 to 20 words: many are one line, many differ in one word
    Lines {
        #[command(flatten)]
        target: Target,
        /// Share of rows that are one and the same line
        #[arg(long, value_name = "RATE", default_value_t = 0.3)]
        same: f64,
        /// Share of rows from a template of which one word changes: the last in half of them, one in the middle in half
        #[arg(long, value_name = "RATE", default_value_t = 0.1)]
        template: f64,
    },
    /// Every document is like the next, and the ends share nothing
    Chain {
        #[command(flatten)]
        target: Target,
        /// Words of a document
        #[arg(long, value_name = "N", default_value_t = 42)]
        words: u32,
        /// Words by which a document lies further on than the one before
        #[arg(long, value_name = "N", default_value_t = 2)]
        step: u32,
        /// Mix up the order of the links
        #[arg(long)]
        scattered: bool,
    },
    /// One document is like all others, which are unlike each other
    Star {
        #[command(flatten)]
        target: Target,
        /// Words of a document
        #[arg(long, value_name = "N", default_value_t = 400)]
        words: u32,
        /// Words that each leaf replaces
        #[arg(long, value_name = "N", default_value_t = 6)]
        changes: u32,
        /// The row of the hub
        #[arg(long, value_name = "ROW", default_value_t = 0)]
        hub_row: u64,
    },
    /// Documents that meet in buckets of most of the corpus and are not alike
    Bucket {
        #[command(flatten)]
        target: Target,
        /// Words that all documents share
        #[arg(long, value_name = "N", default_value_t = 24)]
        shared: u32,
        /// Words of a document's own
        #[arg(long, value_name = "N", default_value_t = 20)]
        own: u32,
    },
}

#[derive(Args)]
struct Target {
    /// Where to make it: a folder that is empty or does not exist yet
    folder: PathBuf,
    /// Documents in all
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    rows: u64,
    /// Files that share the documents evenly
    #[arg(long, value_name = "N", default_value_t = 4)]
    files: u32,
    /// Documents in a row group (a row group is what is held in memory, compressed)
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    rows_per_row_group: u32,
    /// Decides everything that is random
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,
    /// Remove an earlier corpus from FOLDER first; refused when anything else lies there
    #[arg(long)]
    force: bool,
}

impl Which {
    fn shape(self) -> (Shape, Target) {
        match self {
            Self::Lines {
                target,
                same,
                template,
            } => {
                let lines = Lines {
                    rows: target.rows,
                    same_rate: same,
                    template_rate: template,
                };
                (Shape::Lines(lines), target)
            }
            Self::Chain {
                target,
                words,
                step,
                scattered,
            } => {
                let chain = Chain {
                    rows: target.rows,
                    words,
                    step,
                    scattered,
                };
                (Shape::Chain(chain), target)
            }
            Self::Star {
                target,
                words,
                changes,
                hub_row,
            } => {
                let star = Star {
                    leaves: target.rows.saturating_sub(1),
                    words,
                    changes,
                    hub_row,
                };
                (Shape::Star(star), target)
            }
            Self::Bucket {
                target,
                shared,
                own,
            } => {
                let bucket = Bucket {
                    rows: target.rows,
                    shared,
                    own,
                };
                (Shape::Bucket(bucket), target)
            }
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    let (shape, target) = command.shape.shape();
    // Before anything is removed.
    shape.check()?;
    if target.force {
        corpus::clear(&target.folder)?;
    }
    let layout = Layout {
        files: target.files,
        rows_per_row_group: target.rows_per_row_group,
    };
    let written = write_shape(&target.folder, &shape, layout, target.seed)?;
    writeln!(
        std::io::stdout(),
        "{}: {written}; {}",
        target.folder.display(),
        shape.describe()
    )?;
    Ok(())
}

fn main() -> ExitCode {
    match run(Command::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
