//! The `corpus` binary: a corpus from the command line.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser};
use corpus::{Language, Plan};

/// Makes a Parquet corpus with known duplicates: FOLDER/data/part-*.parquet, and FOLDER/planted.parquet with every
/// planted copy, its original and their Jaccard similarity.
///
/// All text is invented. The same options always make the same bytes. Rates are shares of all documents; what
/// they leave are originals, unlike all others.
#[derive(Parser)]
#[command(name = "corpus", version)]
struct Command {
    /// Where to make it: a folder that is empty or does not exist yet
    folder: PathBuf,
    /// Remove an earlier corpus from FOLDER first; refused when anything else lies there
    #[arg(long)]
    force: bool,
    /// Make the sample of the repository (tests/data/sample); takes no other options
    #[arg(long, conflicts_with = "Shape")]
    sample: bool,
    #[command(flatten)]
    shape: Shape,
}

#[derive(Args)]
struct Shape {
    /// Documents in all
    #[arg(long, value_name = "N", default_value_t = Plan::default().documents)]
    documents: u64,
    /// Files that share the documents evenly
    #[arg(long, value_name = "N", default_value_t = Plan::default().files)]
    files: u32,
    /// Documents in a row group (a row group is what is held in memory, compressed)
    #[arg(long, value_name = "N", default_value_t = Plan::default().rows_per_row_group)]
    rows_per_row_group: u32,
    /// Decides everything that is random
    #[arg(long, value_name = "N", default_value_t = Plan::default().seed)]
    seed: u64,
    /// Least words in an original
    #[arg(long, value_name = "N", default_value_t = Plan::default().words_min)]
    words_min: u32,
    /// Most words in an original; short ones are more frequent
    #[arg(long, value_name = "N", default_value_t = Plan::default().words_max)]
    words_max: u32,
    /// Share of copies that are byte-identical
    #[arg(long, value_name = "RATE", default_value_t = Plan::default().exact_rate)]
    exact: f64,
    /// Share of copies that are equal after lower-casing and collapsing whitespace
    #[arg(long, value_name = "RATE", default_value_t = Plan::default().normalised_rate)]
    normalised: f64,
    /// Share of copies with some words replaced, inserted or deleted
    #[arg(long, value_name = "RATE", default_value_t = Plan::default().near_rate)]
    near: f64,
    /// Shares of words that near copies change, each for as many copies as the next
    #[arg(long, value_name = "RATE,...", value_delimiter = ',', default_values_t = Plan::default().edit_rates)]
    edit_rates: Vec<f64>,
    /// Share of null texts
    #[arg(long, value_name = "RATE", default_value_t = Plan::default().null_rate)]
    null: f64,
    /// Share of empty texts
    #[arg(long, value_name = "RATE", default_value_t = Plan::default().empty_rate)]
    empty: f64,
    /// Share of texts that are whitespace only
    #[arg(long, value_name = "RATE", default_value_t = Plan::default().blank_rate)]
    blank: f64,
    /// Languages and their weights, of latin, accented, cyrillic, han, thai
    #[arg(long, value_name = "LANGUAGE=WEIGHT,...", value_delimiter = ',', value_parser = weight,
          default_values_t = default_mix())]
    mix: Vec<Weight>,
    /// Zstandard level, 1 to 22
    #[arg(long, value_name = "N", default_value_t = Plan::default().zstd_level)]
    zstd_level: i32,
}

/// `LANGUAGE=WEIGHT`.
#[derive(Clone)]
struct Weight(Language, f64);

impl std::fmt::Display for Weight {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.0.name(), self.1)
    }
}

fn default_mix() -> Vec<Weight> {
    Plan::default()
        .mix
        .into_iter()
        .map(|(language, weight)| Weight(language, weight))
        .collect()
}

fn weight(text: &str) -> Result<Weight, String> {
    let (language, weight) = text
        .split_once('=')
        .ok_or("it must be LANGUAGE=WEIGHT, as in latin=70")?;
    let language = language
        .parse::<Language>()
        .map_err(|error| error.to_string())?;
    let weight = weight
        .parse()
        .map_err(|_| format!("`{weight}` is not a number, as in latin=70"))?;
    Ok(Weight(language, weight))
}

impl Shape {
    fn plan(self) -> Plan {
        Plan {
            documents: self.documents,
            files: self.files,
            rows_per_row_group: self.rows_per_row_group,
            seed: self.seed,
            words_min: self.words_min,
            words_max: self.words_max,
            exact_rate: self.exact,
            normalised_rate: self.normalised,
            near_rate: self.near,
            edit_rates: self.edit_rates,
            null_rate: self.null,
            empty_rate: self.empty,
            blank_rate: self.blank,
            mix: self
                .mix
                .into_iter()
                .map(|Weight(language, weight)| (language, weight))
                .collect(),
            zstd_level: self.zstd_level,
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    let plan = if command.sample {
        Plan::sample()
    } else {
        command.shape.plan()
    };
    // Before anything is removed.
    plan.check()?;
    if command.force {
        corpus::clear(&command.folder)?;
    }
    let summary = corpus::generate(&command.folder, &plan)?;
    writeln!(std::io::stdout(), "{}: {summary}", command.folder.display())?;
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
