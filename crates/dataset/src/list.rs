//! Which files the input is, in the order that gives every document its id.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use walkdir::{DirEntry, WalkDir};

use crate::error::Error;
use crate::open::modified_ns;

/// An input file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The canonical path.
    pub path: PathBuf,
    /// The path below its root, with `/` between folders: where its output goes.
    pub relative: String,
    /// Which of the paths yielded it.
    pub paths_index: usize,
    /// Its size in bytes.
    pub bytes: u64,
    /// When it was modified, in nanoseconds since 1970.
    pub modified_ns: i64,
}

/// The input files, and what was passed over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Ordered by (index in the paths, bytes of the relative path); no two have one relative path.
    pub files: Vec<Listed>,
    /// Hidden and side files and folders (their names begin with `.` or `_`), not looked into.
    pub skipped: u64,
    /// What the user should know, as sentences.
    pub warnings: Vec<String>,
}

/// A file that was found, before it is known whether it was found twice.
struct Found {
    listed: Listed,
    /// Whether a symbolic link led to it.
    by_link: bool,
}

/// Resolves files, folders and globs to the files to read.
///
/// A path that exists is taken literally, whatever characters it has. A file is taken whatever its
/// name. A folder is searched at every depth for files whose names end in `.parquet` (in any case).
/// Any other path with one of `* ? [ { \` is a glob ([`globset`]'s syntax, `*` not crossing `/`,
/// `**` crossing it, `?` and a class being one byte of a UTF-8 path) that matches files below its literal prefix. Names that begin with `.` or `_`
/// below a root are skipped and counted. The root of a file is its parent, of a folder the folder,
/// of a glob its literal prefix.
///
/// Files are canonicalised; of one file that is found several times the first index wins, then the
/// path without symbolic links, then the smaller relative path. Loops of symbolic links end. Takes
/// a few system calls a file, and memory for the list alone.
///
/// # Errors
///
/// A path that does not exist, a malformed glob, a folder or glob without files, a path that is not
/// UTF-8, a device or pipe, two files that would be written to one output path (or one below the
/// other), a folder that cannot be read.
pub fn list(paths: &[PathBuf]) -> Result<Listing, Error> {
    if paths.is_empty() {
        return Err(Error::NoPaths);
    }
    let mut listing = Listing::default();
    let mut found = Vec::new();
    for (paths_index, path) in paths.iter().enumerate() {
        let mut search = Search {
            paths_index,
            found: &mut found,
            listing: &mut listing,
        };
        search.path(path)?;
    }
    found.sort_by(|a, b| sort_key(a).cmp(&sort_key(b)));
    let mut seen = HashSet::new();
    found.retain(|file| seen.insert(file.listed.path.clone()));
    listing.files = found.into_iter().map(|file| file.listed).collect();
    listing
        .files
        .sort_by(|a, b| (a.paths_index, &a.relative).cmp(&(b.paths_index, &b.relative)));
    refuse_meeting(&listing.files)?;
    Ok(listing)
}

fn sort_key(file: &Found) -> (usize, bool, &str) {
    (file.listed.paths_index, file.by_link, &file.listed.relative)
}

/// Refuses two files that have one relative path, or of which one would have to be a folder in the
/// output that holds the other.
fn refuse_meeting(files: &[Listed]) -> Result<(), Error> {
    let mut by_relative: HashMap<&str, &Listed> = HashMap::with_capacity(files.len());
    let meet = |first: &Listed, second: &Listed, relative: &str| Error::SameRelative {
        first: first.path.clone(),
        second: second.path.clone(),
        relative: relative.to_owned(),
    };
    for file in files {
        if let Some(first) = by_relative.insert(&file.relative, file) {
            return Err(meet(first, file, &file.relative));
        }
    }
    for file in files {
        for (end, _) in file.relative.match_indices('/') {
            let folder = file.relative.get(..end).unwrap_or_default();
            if let Some(first) = by_relative.get(folder) {
                return Err(meet(first, file, folder));
            }
        }
    }
    Ok(())
}

/// The search for the files of one path.
struct Search<'a> {
    paths_index: usize,
    found: &'a mut Vec<Found>,
    listing: &'a mut Listing,
}

/// What a walk came across besides the files that it took.
#[derive(Default)]
struct Passed {
    taken: u64,
    skipped: u64,
    folders_matched: u64,
}

impl Search<'_> {
    fn path(&mut self, path: &Path) -> Result<(), Error> {
        let (root, matcher) = match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => (path.to_path_buf(), None),
            Ok(_) => {
                let relative = path.file_name().unwrap_or_default();
                return self.take(path, Path::new(relative), false);
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let Some((root, matcher)) = split_glob(path)? else {
                    return Err(Error::Missing {
                        path: path.to_path_buf(),
                    });
                };
                if !root.is_dir() {
                    return Err(Error::NoFiles {
                        relation: "match",
                        path: path.to_path_buf(),
                        found: format!(" (`{}` is no folder)", root.display()),
                    });
                }
                (root, Some(matcher))
            }
            Err(error) => return Err(Error::io("cannot read", path, error)),
        };
        let passed = self.walk(&root, matcher.as_ref())?;
        self.listing.skipped += passed.skipped;
        if passed.taken > 0 {
            return Ok(());
        }
        Err(Error::NoFiles {
            relation: if matcher.is_some() { "match" } else { "below" },
            path: path.to_path_buf(),
            found: match (passed.folders_matched, passed.skipped) {
                (1.., _) => format!(
                    " ({} folders match it: end it in /**/*.parquet to search them)",
                    passed.folders_matched
                ),
                (0, 0) => String::new(),
                (0, skipped) => format!(
                    " ({skipped} names that begin with a dot or an underscore were skipped)"
                ),
            },
        })
    }

    /// Walks a folder for Parquet files, or for what a glob matches.
    fn walk(&mut self, root: &Path, glob: Option<&GlobMatcher>) -> Result<Passed, Error> {
        let mut passed = Passed::default();
        let mut folders = HashSet::new();
        let mut entries = WalkDir::new(root)
            .follow_links(true)
            .sort_by_file_name()
            .into_iter();
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) if is_harmless(&error) => continue,
                Err(error) => return Err(walk_error(root, error)),
            };
            let is_dir = entry.file_type().is_dir();
            if entry.depth() > 0 {
                self.warn_of_table_format(&entry);
                if is_hidden(entry.file_name()) {
                    passed.skipped += 1;
                    if is_dir {
                        entries.skip_current_dir();
                    }
                    continue;
                }
            }
            let relative = entry.path().strip_prefix(root).unwrap_or(entry.path());
            if is_dir {
                let matched = glob.is_some_and(|glob| glob.is_match(relative));
                passed.folders_matched += u64::from(matched && entry.depth() > 0);
                if !first_visit(&entry, &mut folders)? {
                    entries.skip_current_dir();
                }
                continue;
            }
            let wanted = match glob {
                Some(glob) => glob.is_match(relative),
                None => is_parquet_name(entry.file_name()),
            };
            if wanted {
                let by_link = entry.path_is_symlink() || through_link(&entry, root);
                self.take(entry.path(), relative, by_link)?;
                passed.taken += 1;
            }
        }
        Ok(passed)
    }

    fn take(&mut self, path: &Path, relative: &Path, by_link: bool) -> Result<(), Error> {
        let canonical = path
            .canonicalize()
            .map_err(|error| Error::io("cannot read", path, error))?;
        let metadata =
            std::fs::metadata(&canonical).map_err(|error| Error::io("cannot read", path, error))?;
        if !metadata.is_file() {
            return Err(Error::NotAFile {
                path: path.to_path_buf(),
            });
        }
        let (Some(relative), Some(_)) = (relative.to_str(), canonical.to_str()) else {
            return Err(Error::PathNotUtf8 {
                path: path.to_path_buf(),
            });
        };
        self.found.push(Found {
            by_link,
            listed: Listed {
                relative: relative.to_owned(),
                paths_index: self.paths_index,
                bytes: metadata.len(),
                modified_ns: modified_ns(&metadata),
                path: canonical,
            },
        });
        Ok(())
    }

    /// Warns where a table format keeps its own list of the files that are current.
    fn warn_of_table_format(&mut self, entry: &DirEntry) {
        if !entry.file_type().is_dir() {
            return;
        }
        let format = match entry.file_name().as_bytes() {
            b"_delta_log" => "Delta Lake",
            b".hoodie" => "Hudi",
            b"metadata" if holds_iceberg_metadata(entry.path()) => "Iceberg",
            _ => return,
        };
        let table = entry.path().parent().unwrap_or(entry.path());
        let warning = format!(
            "`{}` is a table of {format}, which lists the current files elsewhere: files that it \
             no longer counts may be read; export the table, or give the current files in \
             input.paths",
            table.display()
        );
        if !self.listing.warnings.contains(&warning) {
            self.listing.warnings.push(warning);
        }
    }
}

/// Splits a glob into its literal prefix and the matcher of what follows; `None` if nothing in it
/// is special.
fn split_glob(path: &Path) -> Result<Option<(PathBuf, GlobMatcher)>, Error> {
    let special = |component: &Component<'_>| {
        let bytes = component.as_os_str().as_bytes();
        bytes.iter().any(|byte| b"*?[{\\".contains(byte))
    };
    let components: Vec<Component<'_>> = path.components().collect();
    let literal = components.iter().take_while(|c| !special(c)).count();
    if literal == components.len() {
        return Ok(None);
    }
    let root: PathBuf = components.iter().take(literal).collect();
    let pattern: PathBuf = components.iter().skip(literal).collect();
    let Some(pattern) = pattern.to_str() else {
        return Err(Error::PathNotUtf8 {
            path: path.to_path_buf(),
        });
    };
    let glob = GlobBuilder::new(pattern)
        .literal_separator(true)
        .build()
        .map_err(|error| Error::Glob {
            path: path.to_path_buf(),
            message: error.kind().to_string(),
        })?;
    let root = if root.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        root
    };
    Ok(Some((root, glob.compile_matcher())))
}

fn is_hidden(name: &OsStr) -> bool {
    matches!(name.as_bytes().first(), Some(b'.' | b'_'))
}

fn is_parquet_name(name: &OsStr) -> bool {
    let suffix = b".parquet";
    let name = name.as_bytes();
    name.len()
        .checked_sub(suffix.len())
        .and_then(|start| name.get(start..))
        .is_some_and(|end| end.eq_ignore_ascii_case(suffix))
}

fn holds_iceberg_metadata(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|entries| {
        entries
            .flatten()
            .any(|entry| entry.file_name().as_bytes().ends_with(b".metadata.json"))
    })
}

/// Whether one of the folders between the root and a file is a symbolic link.
fn through_link(entry: &DirEntry, root: &Path) -> bool {
    entry
        .path()
        .ancestors()
        .skip(1)
        .take_while(|ancestor| *ancestor != root)
        .any(Path::is_symlink)
}

/// Whether a folder has to be entered: not when a symbolic link leads to one that was entered
/// before, which could multiply the walk without end.
fn first_visit(entry: &DirEntry, seen: &mut HashSet<(u64, u64)>) -> Result<bool, Error> {
    let metadata = entry
        .metadata()
        .map_err(|error| walk_error(entry.path(), error))?;
    let new = seen.insert((metadata.dev(), metadata.ino()));
    Ok(new || !entry.path_is_symlink())
}

/// A loop of symbolic links, or a link to nothing that is not named as a Parquet file.
fn is_harmless(error: &walkdir::Error) -> bool {
    if error.loop_ancestor().is_some() {
        return true;
    }
    let missing = error.io_error().map(std::io::Error::kind) == Some(std::io::ErrorKind::NotFound);
    let name = error.path().and_then(Path::file_name);
    missing && name.is_none_or(|name| is_hidden(name) || !is_parquet_name(name))
}

fn walk_error(root: &Path, error: walkdir::Error) -> Error {
    let path = error.path().unwrap_or(root).to_path_buf();
    if error.io_error().map(std::io::Error::kind) == Some(std::io::ErrorKind::NotFound) {
        return Error::Other {
            path,
            message: "it is a symbolic link to nothing, or vanished while the folder was read; \
                      remove the link, or run again"
                .to_owned(),
        };
    }
    let source = error
        .into_io_error()
        .unwrap_or_else(|| std::io::Error::other("a loop of symbolic links"));
    Error::io("cannot read", &path, source)
}

#[cfg(test)]
mod tests;
