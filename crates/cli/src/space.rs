//! Free space: how much there is, and what to say when it ran out.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use records::{Pipeline, Stage};
use workdir::{Definition, Expected, Receipt, WorkDir};

use crate::lines::bytes;
use crate::machine::threads;
use crate::plan;

/// The nearest folder above that exists.
pub(crate) fn existing(path: &Path) -> PathBuf {
    let found = path.ancestors().find(|path| path.exists());
    found.unwrap_or(Path::new("/")).to_owned()
}

pub(crate) fn free_bytes(path: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(path).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Whether an error comes from a disk, or a quota, that is full.
pub(crate) fn is_full(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
        if matches!(
            kind,
            Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
        ) {
            return true;
        }
        next = error.source();
    }
    false
}

/// What a stage that ran out of space needs: the second line of its error.
pub(crate) fn advice(
    definition: &Definition,
    pipeline: &Pipeline,
    work: &WorkDir,
    expected: &Expected,
) -> Option<String> {
    let output = existing(&pipeline.filter.output);
    let folder = match definition.stage {
        Stage::Filter => output.as_path(),
        _ => work.root(),
    };
    let free = bytes(free_bytes(folder)?);
    let folder = folder.display();
    let start = format!("the file system of {folder} has {free} free");
    let end = "free some and run again, it resumes";
    Some(match needed(definition, pipeline, work, expected) {
        Some(needed) => format!(
            "{start}; the stage needs about {} there in all: {end}",
            bytes(needed)
        ),
        None => format!("{start}: {end}"),
    })
}

/// The most that the stage has on disk at once, as far as footers and receipts tell.
fn needed(
    definition: &Definition,
    pipeline: &Pipeline,
    work: &WorkDir,
    expected: &Expected,
) -> Option<u64> {
    let mut facts = plan::survey(pipeline, work, &[]).ok()?.facts;
    for receipt in Receipt::chain(work, expected).ok()?.receipts() {
        let counters = plan::counters(receipt.stage, &receipt.counters);
        facts.counters.extend(counters);
    }
    let memory_bytes = plan::budget(pipeline);
    let threads = threads(pipeline.run.threads);
    let plan = (definition.plan)(pipeline, &facts, memory_bytes, threads).ok()?;
    let needed = match definition.stage {
        Stage::Filter => plan.output.high,
        _ => plan.work_peak.high,
    };
    (needed > 0).then_some(needed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot sort")]
    struct Sort(#[source] workdir::Error);

    #[test]
    fn a_full_disk_is_seen_behind_other_errors() {
        let wrapped = |kind: ErrorKind| {
            Sort(workdir::Error::io("write", Path::new("/x"))(
                io::Error::from(kind),
            ))
        };
        assert!(is_full(&wrapped(ErrorKind::StorageFull)));
        assert!(is_full(&wrapped(ErrorKind::QuotaExceeded)));
        assert!(!is_full(&wrapped(ErrorKind::PermissionDenied)));
        assert!(is_full(&io::Error::from_raw_os_error(28)));
    }
}
