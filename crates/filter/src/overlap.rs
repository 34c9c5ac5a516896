//! Input, work and output folders lie apart, symlinks resolved.

use std::fs;
use std::path::{Component, Path, PathBuf};

use records::Pipeline;

use crate::Error;

/// Refuses a pipeline whose folders overlap.
///
/// A folder among the inputs may neither hold nor lie in the output or the work folder. A file or
/// the file that a glob finds may not lie in them.
pub(crate) fn check(pipeline: &Pipeline, files: &[dataset::Listed]) -> Result<(), Error> {
    let output = resolve(&pipeline.filter.output);
    let work = resolve(&pipeline.run.work);
    let ours = [("the output folder", &output), ("the work folder", &work)];
    apart(("the output folder", &output), ("the work folder", &work))?;
    for path in &pipeline.input.paths {
        if path.is_dir() {
            let input = resolve(path);
            for (name, folder) in ours {
                apart((name, folder), ("the input folder", &input))?;
            }
        }
    }
    for listed in files {
        for (name, folder) in ours {
            if listed.path.starts_with(folder) {
                return Err(overlap((name, folder), ("the input file", &listed.path)));
            }
        }
    }
    Ok(())
}

fn apart(first: (&'static str, &Path), second: (&'static str, &Path)) -> Result<(), Error> {
    if first.1.starts_with(second.1) || second.1.starts_with(first.1) {
        return Err(overlap(first, second));
    }
    Ok(())
}

fn overlap(first: (&'static str, &Path), second: (&'static str, &Path)) -> Error {
    Error::Overlap {
        first_name: first.0,
        first: first.1.to_owned(),
        second_name: second.0,
        second: second.1.to_owned(),
    }
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
            error.to_string(),
            "the output folder /a/data/out and the input folder /a/data overlap; name folders \
             that lie apart, or the run would read or remove its own files"
        );
        assert!(error.refused());
        apart(("x", Path::new("/a/data")), ("y", Path::new("/a/data2"))).unwrap();
    }
}
