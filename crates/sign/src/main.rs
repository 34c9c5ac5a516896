//! The `sign` binary: stage 1 alone.

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::stage_main(&sign::STAGE)
}
