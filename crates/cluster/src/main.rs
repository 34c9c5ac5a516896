//! The `cluster` binary: stage 4 alone.

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::stage_main(&cluster::STAGE)
}
