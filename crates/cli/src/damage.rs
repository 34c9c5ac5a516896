//! What to do when a stage failed because what a stage before it left is damaged.

use std::path::PathBuf;

use records::Stage;
use workdir::{Damaged, Receipt, WorkDir};

use crate::machine::threads;
use crate::{Code, Problem, lines};

/// Reads what the stages before `stage` left, where `wanted` picks it by its name in the work
/// folder, and removes what is not what their receipts say. The stages that make it then make it
/// again, and nothing else.
///
/// # Errors
/// When something cannot be removed.
pub fn remove_damaged(
    work: &WorkDir,
    stage: Stage,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Damaged>, Problem> {
    let mut found = Vec::new();
    for before in Stage::ALL.into_iter().take_while(|before| *before < stage) {
        if let Some(receipt) = Receipt::load(work, before) {
            found.extend(receipt.damaged(work, threads(0), &wanted));
        }
    }
    for damaged in &found {
        damaged.remove()?;
    }
    Ok(found)
}

/// Says that a run makes again what was damaged.
pub fn say_repairs(stage: Stage, damaged: &[Damaged]) {
    lines::say(&format!(
        "the stage `{stage}` found damage; what is damaged is made again, and the run goes on"
    ));
    for Damaged { path, what, .. } in damaged {
        let path = path.display();
        lines::say(&format!(
            "warning: {path} is damaged ({what}); it is made again"
        ));
    }
}

/// What went wrong in a stage that runs alone: `problem`, and what it is due to where that is
/// damage.
pub(crate) fn explain(
    problem: Problem,
    work: &WorkDir,
    stage: Stage,
    wanted: impl Fn(&str) -> bool,
) -> Problem {
    let damaged = match remove_damaged(work, stage, wanted) {
        Ok(damaged) => damaged,
        // Two problems; the first is the one that counts.
        Err(_) => return problem,
    };
    if damaged.is_empty() {
        return problem;
    }
    let mut message = problem.message;
    for Damaged { stage, path, what } in damaged {
        let path: PathBuf = path;
        message.push_str(&format!(
            "\n{} was damaged ({what}) and is removed; `neardup {stage}`, or `neardup run`, makes \
             it again and nothing else",
            path.display()
        ));
    }
    Problem::new(Code::Refused, message)
}
