//! The `filter` binary: stage 5 alone.

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::stage_main(&filter::STAGE)
}
