//! Input, work and output folders lie apart, symlinks resolved.

use std::fs;
use std::path::{Component, Path, PathBuf};

use records::Pipeline;

use crate::{Code, Problem};

/// Refuses a pipeline whose folders overlap, before anything is made.
///
/// A folder among the inputs may neither hold nor lie in the output or the work folder. A file, or
/// a file that a glob finds, may not lie in them.
///
/// # Errors
/// A refusal that names both folders.
pub fn check_folders(pipeline: &Pipeline) -> Result<(), Problem> {
    let output = resolve(&pipeline.filter.output);
    let work = resolve(&pipeline.run.work);
    apart(("the output folder", &output), ("the work folder", &work))?;
    let ours = [("the output folder", &output), ("the work folder", &work)];
    for path in &pipeline.input.paths {
        if path.is_dir() {
            let input = resolve(path);
            for (name, folder) in ours {
                apart((name, folder), ("the input folder", &input))?;
            }
        }
    }
    // What is wrong with the input itself is for `sign` to say.
    let files = dataset::list(&pipeline.input.paths).map(|listing| listing.files);
    for listed in files.unwrap_or_default() {
        for (name, folder) in ours {
            if listed.path.starts_with(folder) {
                return Err(overlap((name, folder), ("the input file", &listed.path)));
            }
        }
    }
    Ok(())
}

fn apart(first: (&str, &Path), second: (&str, &Path)) -> Result<(), Problem> {
    if first.1.starts_with(second.1) || second.1.starts_with(first.1) {
        return Err(overlap(first, second));
    }
    Ok(())
}

fn overlap(first: (&str, &Path), second: (&str, &Path)) -> Problem {
    let message = format!(
        "{} {} and {} {} overlap; name folders that lie apart, or the run would read or remove its \
         own files",
        first.0,
        first.1.display(),
        second.0,
        second.1.display()
    );
    Problem::new(Code::Refused, message)
}

/// The path with symlinks resolved as far as it exists, and `.` and `..` taken out of the rest.
fn resolve(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            // What comes before is resolved, so that its parent is the one that the system sees.
            Component::ParentDir => {
                resolved.pop();
            }
            component => {
                resolved.push(component);
                if let Ok(real) = fs::canonicalize(&resolved) {
                    resolved = real;
                }
            }
        }
    }
    resolved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_exist_is_resolved_as_far_as_it_does() {
        let folder = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir(real.join("data")).unwrap();
        std::os::unix::fs::symlink(real.join("data"), real.join("link")).unwrap();
        let data = real.join("data");
        for path in [
            "link/new/../out",
            "./data/out",
            "data/../link/out",
            "data/x/../out",
        ] {
            assert_eq!(resolve(&real.join(path)), data.join("out"), "{path}");
        }
    }

    #[test]
    fn folders_that_hold_each_other_are_refused_with_both_names() {
        let (input, output) = (Path::new("/a/data"), Path::new("/a/data/out"));
        let error = apart(("the output folder", output), ("the input folder", input)).unwrap_err();
        assert_eq!(
            error.message,
            "the output folder /a/data/out and the input folder /a/data overlap; name folders \
             that lie apart, or the run would read or remove its own files"
        );
        assert_eq!(error.code, Code::Refused);
        apart(("x", Path::new("/a/data")), ("y", Path::new("/a/data2"))).unwrap();
    }
}
