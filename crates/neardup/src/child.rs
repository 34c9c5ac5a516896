//! Running a stage as a child process.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;

use cli::{Code, PipelineArgs, Problem, Signals};
use records::Stage;
use workdir::Lock;

/// Why a child did not end well.
pub(crate) enum Failed {
    /// It has said what went wrong, and ends with this code.
    Told(Code),
    /// It could say nothing.
    Silent(Problem),
    /// This process was asked to end by a signal, and the child has ended.
    Stopped(i32),
}

/// Runs `stage` as a child of this process, which holds `lock`, and waits for it.
pub(crate) fn run(
    stage: Stage,
    args: &PipelineArgs,
    force: bool,
    signals: &Signals,
    lock: &Lock,
) -> Result<(), Failed> {
    let failed = |what: String| {
        let message = format!("the stage `{stage}` {what}; run again, and it starts from there");
        Failed::Silent(Problem::new(Code::Failed, message))
    };
    let program = cli::own_program()
        .map_err(|error| failed(format!("could not be started (no own path: {error})")))?;
    let mut command = Command::new(&program);
    command.arg0("neardup").envs(cli::allocator_settings());
    command.arg(stage.name()).arg(&args.manifest);
    command.arg("--child").arg(std::process::id().to_string());
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
    if force {
        command.arg("--force");
    }
    let status = signals
        .run_child(&mut command, |pid| lock.note_child(pid))
        .map_err(|error| {
            failed(format!(
                "could not be started ({}: {error})",
                program.display()
            ))
        })?;
    if let Some(signal) = cli::ended_by(status) {
        if let Some(signal) = signals.stopped_soon() {
            return Err(Failed::Stopped(signal));
        }
        return Err(failed(killed(signal)));
    }
    // It may have ended by itself just then.
    if let Some(signal) = signals.stopped() {
        return Err(Failed::Stopped(signal));
    }
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(()),
        (Some(2), _) => Err(Failed::Told(Code::Usage)),
        (Some(3), _) => Err(Failed::Told(Code::Refused)),
        (Some(1), _) => Err(Failed::Told(Code::Failed)),
        (_, Some(signal)) => Err(failed(killed(signal))),
        (code, None) => {
            let code = code.unwrap_or(-1);
            Err(failed(format!("ended with code {code}")))
        }
    }
}

fn killed(signal: i32) -> String {
    let memory = match signal {
        9 => ", perhaps because the machine ran out of memory",
        _ => "",
    };
    match cli::signal_name(signal) {
        Some(name) => format!("was killed by signal {signal} ({name}{memory})"),
        None => format!("was killed by signal {signal}"),
    }
}
