//! The `band` binary: stage 2 alone.

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::stage_main(&band::STAGE)
}
