//! Arguments that the binaries share, and the settings that they come to.

use std::path::PathBuf;

use clap::Args;
use manifest::Override;
use records::Pipeline;

use crate::{Code, Problem};

/// The manifest and what overrides it.
#[derive(Args, Clone, Debug)]
pub struct PipelineArgs {
    /// The manifest
    #[arg(default_value = "pipeline.toml", value_name = "PIPELINE.TOML")]
    pub manifest: PathBuf,
    /// Override a setting, such as `join.threshold=0.85`; the value is TOML, a bare word a string
    #[arg(long = "set", value_name = "TABLE.KEY=VALUE")]
    pub set: Vec<String>,
    /// Override run.memory, such as `2GiB`
    #[arg(long, value_name = "BYTES")]
    pub memory: Option<String>,
    /// Override run.threads; 0 is one a core
    #[arg(long, value_name = "N")]
    pub threads: Option<u32>,
    /// Run a stage though its receipt says that its outputs are up to date
    #[arg(long)]
    pub force: bool,
    /// Print errors only
    #[arg(long, short)]
    pub quiet: bool,
}

/// The arguments of a stage's binary.
#[derive(Args, Clone, Debug)]
pub struct StageArgs {
    /// The manifest and what overrides it.
    #[command(flatten)]
    pub pipeline: PipelineArgs,
    /// The parent process, which holds the lock and has looked at the receipts
    #[arg(long, hide = true, value_name = "PID")]
    pub child: Option<u32>,
}

/// Reads the manifest and applies the overrides, the later over the earlier.
///
/// # Errors
/// Everything that `manifest` refuses (exit 2).
pub fn load(args: &PipelineArgs) -> Result<Pipeline, Problem> {
    let mut overrides = args
        .set
        .iter()
        .map(|argument| Override::parse(argument))
        .collect::<Result<Vec<_>, _>>()?;
    let mut run = |key: &str, value: String, source: String| {
        overrides.push(Override {
            table: "run".to_owned(),
            key: key.to_owned(),
            value,
            source,
        });
    };
    if let Some(memory) = &args.memory {
        run("memory", memory.clone(), format!("--memory {memory}"));
    }
    if let Some(threads) = args.threads {
        run(
            "threads",
            threads.to_string(),
            format!("--threads {threads}"),
        );
    }
    let cwd = std::env::current_dir()
        .map_err(|error| Problem::new(Code::Failed, format!("no current folder: {error}")))?;
    let env = |name: &str| std::env::var(name).ok();
    Ok(manifest::load(&args.manifest, &overrides, &env, &cwd)?)
}
