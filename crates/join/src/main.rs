//! The `join` binary: stage 3 alone.

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::stage_main(&join::STAGE)
}
