//! Input, work and output folders lie apart, symlinks and mounts resolved.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
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
    let output = Place::of(&pipeline.filter.output);
    let work = Place::of(&pipeline.run.work);
    apart(("the output folder", &output), ("the work folder", &work))?;
    let ours = [("the output folder", &output), ("the work folder", &work)];
    for path in &pipeline.input.paths {
        if path.is_dir() {
            let input = Place::of(path);
            for (name, folder) in ours {
                apart((name, folder), ("the input folder", &input))?;
            }
        }
    }
    // What is wrong with the input itself is for `sign` to say.
    let files = dataset::list(&pipeline.input.paths).map(|listing| listing.files);
    let mut folders: HashMap<PathBuf, [bool; 2]> = HashMap::new();
    for listed in files.unwrap_or_default() {
        let parent = listed.path.parent().unwrap_or(Path::new("/"));
        let inside = *folders.entry(parent.to_owned()).or_insert_with(|| {
            let parent = Place::of(parent);
            [parent.lies_in(&output), parent.lies_in(&work)]
        });
        for ((name, folder), inside) in ours.into_iter().zip(inside) {
            if inside {
                return Err(overlap(
                    (name, &folder.path),
                    ("the input file", &listed.path),
                ));
            }
        }
    }
    Ok(())
}

/// Device and number of a folder: equal for two paths to one folder, also through a bind mount.
type Identity = (u64, u64);

/// Where a folder lies, which need not exist yet.
#[derive(Debug)]
struct Place {
    /// With symlinks resolved.
    path: PathBuf,
    /// The folders that exist, from the innermost outwards to the root.
    existing: Vec<Identity>,
    /// The part of the path that does not exist, below the innermost that does.
    rest: PathBuf,
}

impl Place {
    fn of(path: &Path) -> Self {
        let path = resolve(path);
        let mut existing = Vec::new();
        let mut rest = PathBuf::new();
        for folder in path.ancestors() {
            let Ok(found) = fs::metadata(folder) else {
                continue;
            };
            if existing.is_empty() {
                rest = path.strip_prefix(folder).unwrap_or(&path).to_owned();
            }
            existing.push((found.dev(), found.ino()));
        }
        Self {
            path,
            existing,
            rest,
        }
    }

    /// Whether this folder is `other` or lies in it: by its path, or because one of the folders
    /// around it is the same as `other` by device and number.
    fn lies_in(&self, other: &Place) -> bool {
        if self.path.starts_with(&other.path) {
            return true;
        }
        let (Some(mine), Some(outer)) = (self.existing.first(), other.existing.first()) else {
            return false;
        };
        match other.rest.as_os_str().is_empty() {
            true => self.existing.contains(outer),
            // The folder that holds both exists, and what is below it does not.
            false => mine == outer && self.rest.starts_with(&other.rest),
        }
    }
}

fn apart(first: (&str, &Place), second: (&str, &Place)) -> Result<(), Problem> {
    if first.1.lies_in(second.1) || second.1.lies_in(first.1) {
        return Err(overlap(
            (first.0, &first.1.path),
            (second.0, &second.1.path),
        ));
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

    fn place(path: &str, existing: &[u64], rest: &str) -> Place {
        Place {
            path: PathBuf::from(path),
            existing: existing.iter().map(|&number| (1, number)).collect(),
            rest: PathBuf::from(rest),
        }
    }

    #[test]
    fn folders_that_hold_each_other_are_refused_with_both_names() {
        let input = place("/a/data", &[], "");
        let output = place("/a/data/out", &[], "");
        let error =
            apart(("the output folder", &output), ("the input folder", &input)).unwrap_err();
        assert_eq!(
            error.message,
            "the output folder /a/data/out and the input folder /a/data overlap; name folders \
             that lie apart, or the run would read or remove its own files"
        );
        assert_eq!(error.code, Code::Refused);
        apart(("x", &input), ("y", &place("/a/data2", &[], ""))).unwrap();
    }

    #[test]
    fn folders_that_are_one_through_a_mount_overlap() {
        // /b is a mount of /a/data, which is folder 3.
        let data = place("/a/data", &[3, 2, 1], "");
        let lies_in = |inner: &Place, outer: &Place| inner.lies_in(outer);
        assert!(lies_in(&place("/b", &[3, 1], ""), &data));
        assert!(lies_in(&place("/b/deep/out", &[4, 3, 1], "out"), &data));
        assert!(!lies_in(&data, &place("/b/deep/out", &[4, 3, 1], "out")));
        assert!(!lies_in(&place("/c", &[5, 1], ""), &data));
        // Neither exists yet.
        let (one, two) = (
            place("/a/data/x/out", &[3, 2, 1], "x/out"),
            place("/b/x/out", &[3, 1], "x/out"),
        );
        assert!(lies_in(&one, &two) && lies_in(&two, &one));
        let deeper = place("/b/x/out/work", &[3, 1], "x/out/work");
        assert!(lies_in(&deeper, &one) && !lies_in(&one, &deeper));
        assert!(!lies_in(&place("/b/x/out2", &[3, 1], "x/out2"), &one));
    }

    #[test]
    fn a_place_is_known_as_far_as_it_exists() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        fs::create_dir(&data).unwrap();
        let place = Place::of(&data.join("x/y"));
        let found = fs::metadata(&data).unwrap();
        assert_eq!(place.existing[0], (found.dev(), found.ino()));
        assert_eq!(place.rest, Path::new("x/y"));
        assert_eq!(Place::of(&data).rest, Path::new(""));
        assert!(place.lies_in(&Place::of(folder.path())));
    }
}
