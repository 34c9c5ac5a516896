//! Telling how far a stage is while it runs.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use records::Stage;
use workdir::Progress;

use crate::lines;

/// In a log, one line in so much time.
const LOG_INTERVAL: Duration = Duration::from_secs(30);
/// On a terminal, the line is drawn again.
const TERMINAL_INTERVAL: Duration = Duration::from_millis(250);

/// Runs `work` while a line says how far it is: drawn in place on a terminal, one each 30 s
/// elsewhere.
pub(crate) fn watch<T>(
    stage: Stage,
    progress: &Progress,
    quiet: bool,
    work: impl FnOnce() -> T,
) -> T {
    if quiet {
        return work();
    }
    let terminal = std::io::stderr().is_terminal();
    let interval = if terminal {
        TERMINAL_INTERVAL
    } else {
        LOG_INTERVAL
    };
    let start = Instant::now();
    let (done, wait) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while wait.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                let line = line(stage, progress, start.elapsed());
                if terminal {
                    eprint!("\r\x1b[K{line}");
                    let _ = std::io::stderr().flush();
                } else {
                    lines::stamped(&line);
                }
            }
            if terminal {
                eprint!("\r\x1b[K");
            }
        });
        let result = work();
        drop(done);
        result
    })
}

fn line(stage: Stage, progress: &Progress, elapsed: Duration) -> String {
    let elapsed_s = elapsed.as_secs_f64();
    let Some(share) = progress.share() else {
        return format!("{stage:<8}begins, {}", lines::seconds(elapsed_s));
    };
    // What is written after the last unit still takes time: never 100 % before the end.
    let percent = (share * 100.0).min(99.0);
    let left = match share {
        share if share >= 0.01 => {
            let left_s = elapsed_s * (1.0 - share) / share;
            format!(", about {} left", lines::seconds(left_s))
        }
        _ => String::new(),
    };
    format!(
        "{stage:<8}{percent:>3.0} %  {}{left}",
        lines::seconds(elapsed_s)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_share_and_time_left_and_never_all() {
        let progress = Progress::default();
        let after = Duration::from_secs(10);
        assert_eq!(
            line(Stage::Sign, &progress, after),
            "sign    begins, 10.0 s"
        );
        progress.start(200);
        progress.add(50);
        assert_eq!(
            line(Stage::Sign, &progress, after),
            "sign     25 %  10.0 s, about 30.0 s left"
        );
        progress.add(150);
        let line = line(Stage::Sign, &progress, after);
        assert!(line.starts_with("sign     99 %"), "{line}");
    }
}
