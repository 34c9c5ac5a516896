//! Running a stage as a child process.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;

use cli::{Code, PipelineArgs, Problem};
use records::Stage;

/// Runs `stage` as a child of this process and waits for it. It prints its own errors.
///
/// # Errors
/// With the child's exit code; the message is empty where the child has said what went wrong.
pub(crate) fn run(stage: Stage, args: &PipelineArgs) -> Result<(), Problem> {
    let failed = |what: String| {
        let message = format!("the stage `{stage}` {what}; run again, and it starts from there");
        Problem::new(Code::Failed, message)
    };
    let program = cli::own_program()
        .map_err(|error| failed(format!("could not be started (no own path: {error})")))?;
    let mut command = Command::new(&program);
    command.arg0("neardup").envs(cli::allocator_settings());
    command.arg(stage.name()).arg(&args.manifest).arg("--child");
    for setting in &args.set {
        command.arg("--set").arg(setting);
    }
    if let Some(memory) = &args.memory {
        command.arg("--memory").arg(memory);
    }
    if let Some(threads) = args.threads {
        command.arg("--threads").arg(threads.to_string());
    }
    if args.quiet {
        command.arg("--quiet");
    }
    if args.force {
        command.arg("--force");
    }
    let status = command.status().map_err(|error| {
        failed(format!(
            "could not be started ({}: {error})",
            program.display()
        ))
    })?;
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(()),
        (Some(2), _) => Err(Problem::new(Code::Usage, "")),
        (Some(3), _) => Err(Problem::new(Code::Refused, "")),
        (Some(1), _) => Err(Problem::new(Code::Failed, "")),
        (_, Some(signal)) => Err(failed(killed(signal))),
        (code, None) => {
            let code = code.unwrap_or(-1);
            Err(failed(format!("ended with code {code}")))
        }
    }
}

fn killed(signal: i32) -> String {
    let name = match signal {
        2 => "SIGINT",
        6 => "SIGABRT",
        7 => "SIGBUS",
        9 => "SIGKILL, perhaps because the machine ran out of memory",
        11 => "SIGSEGV",
        15 => "SIGTERM",
        _ => return format!("was killed by signal {signal}"),
    };
    format!("was killed by signal {signal} ({name})")
}
