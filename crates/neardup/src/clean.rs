//! `neardup clean`: removes what runs left, by its names, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use cli::{Code, PipelineArgs, Problem};
use records::Stage;
use workdir::{Lock, WorkDir, output_lock, output_old, output_partial};

/// The arguments of `neardup clean`.
#[derive(Args)]
pub(crate) struct CleanArgs {
    #[command(flatten)]
    pipeline: PipelineArgs,
    /// Remove all that runs left in the work folder, so that the next begins anew; the output stays
    #[arg(long)]
    all: bool,
}

/// Removes what killed runs left half-made and the band runs, or with `--all` everything of ours in
/// the work folder. Neither the input nor the output is touched, and no symbolic link followed.
pub(crate) fn clean(args: &CleanArgs) -> Result<(), Problem> {
    let pipeline = cli::load(&args.pipeline)?;
    cli::check_folders(&pipeline)?;
    let quiet = args.pipeline.quiet;
    let mut told = false;
    let mut tell = |what: &str, removed: &Removed, then: &str| {
        if !quiet && removed.files > 0 {
            let (files, bytes) = (cli::count(removed.files), cli::bytes(removed.bytes));
            cli::say(&format!("removed {what}: {files} files, {bytes}{then}"));
        }
        told |= removed.files > 0;
    };
    let unfinished = clean_output(&pipeline.filter.output)?;
    tell(
        "the unfinished output",
        &unfinished,
        "; the next run of `filter` begins it anew",
    );
    let mut foreign = Vec::new();
    if pipeline.run.work.is_dir() {
        let work = WorkDir::create(&pipeline.run.work)?;
        let lock = Lock::take(&work.lock(), work.root())?;
        let temporary = remove_all(&work.temporary())?;
        tell("what killed runs left half-made", &temporary, "");
        if args.all {
            let all = remove_all(&work.outputs())?;
            let then = format!(" in {}; the next run begins anew", work.root().display());
            tell("everything of earlier runs", &all, &then);
        } else {
            let bands = remove_all(&work.band_runs())?;
            let then = format!("; the next run does `{}` again", Stage::Band);
            tell("the band runs", &bands, &then);
        }
        for folder in work.folders() {
            // Those that hold anything stay.
            let _ = fs::remove_dir(folder);
        }
        drop(lock);
        if args.all {
            foreign = left(work.root());
            // A link to the folder would lead nowhere, and the next run could not make it.
            if !pipeline.run.work.is_symlink() {
                let _ = fs::remove_dir(work.root());
            }
        }
    }
    if !quiet {
        if !told {
            cli::say("nothing to remove");
        }
        for path in foreign {
            cli::say(&format!("left {}: no run made it", path.display()));
        }
    }
    Ok(())
}

/// What was removed.
#[derive(Default)]
struct Removed {
    files: u64,
    bytes: u64,
}

fn remove_all(paths: &[PathBuf]) -> Result<Removed, Problem> {
    let mut removed = Removed::default();
    for path in paths {
        remove(path, &mut removed)?;
    }
    Ok(removed)
}

/// Removes a file, or a folder with all that is in it; a symbolic link itself.
fn remove(path: &Path, removed: &mut Removed) -> Result<(), Problem> {
    let fail = |what: &str, path: &Path, error| {
        let message = format!("cannot {what} {}: {error}", path.display());
        Problem::new(Code::Failed, message)
    };
    let found = fs::symlink_metadata(path).map_err(|error| fail("look at", path, error))?;
    if found.is_dir() {
        for entry in fs::read_dir(path).map_err(|error| fail("list", path, error))? {
            let entry = entry.map_err(|error| fail("list", path, error))?;
            remove(&entry.path(), removed)?;
        }
        return fs::remove_dir(path).map_err(|error| fail("remove", path, error));
    }
    fs::remove_file(path).map_err(|error| fail("remove", path, error))?;
    removed.files += 1;
    removed.bytes += found.len();
    Ok(())
}

/// Removes what an unfinished run left beside the output folder, under that folder's lock.
fn clean_output(target: &Path) -> Result<Removed, Problem> {
    let there = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_dir());
    let (partial, old) = (output_partial(target), output_old(target));
    let lock = output_lock(target);
    if !there(&partial) && !there(&old) && !lock.exists() {
        return Ok(Removed::default());
    }
    let _lock = Lock::take(&lock, target)?;
    let mut removed = Removed::default();
    if there(&partial) {
        remove(&partial, &mut removed)?;
    }
    // Without the new output in its place, this is the one that there is: `filter` puts it back.
    if there(&old) && there(target) {
        remove(&old, &mut removed)?;
    }
    Ok(removed)
}

/// What still lies in the work folder: files, links, and folders that hold nothing.
fn left(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut empty = true;
        for entry in entries {
            empty = false;
            match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                true => folders.push(entry.path()),
                false => found.push(entry.path()),
            }
        }
        if empty && folder != root {
            found.push(folder);
        }
    }
    found.sort();
    found
}
