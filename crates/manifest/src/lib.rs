//! `pipeline.toml` to typed settings: which values are right, and where the wrong ones stand.
//!
//! [`load`] reads a manifest, [`parse`] is its pure core. Both give [`records::Pipeline`] or every
//! problem that they found, each with `file:line:column` (or the command-line argument) and what
//! would be right. Nothing else in neardup knows TOML.
//!
//! * One static table, printed by [`reference()`], holds every key with its kind, default and
//!   meaning; parsing, suggestions and documentation all use it.
//! * `${NAME}` in a string value is the environment variable `NAME`, which has to be set and not
//!   empty; `$${` is a literal `${`; any other `$` stands for itself.
//! * An [`Override`] (`--set table.key=value`) replaces the manifest's value before anything is
//!   checked, so the replaced value is not even looked at.
//! * Paths become absolute by joining alone: those of the manifest onto its folder, those of an
//!   override onto the current one. Globs stay as they are and the disk is not touched.
//!
//! Every [`Error`] is a mistake in the manifest or in an argument: exit code 2.

mod bytes;
mod error;
mod expand;
mod keys;
mod kinds;
mod overrides;
mod place;
mod rules;
mod suggest;
#[cfg(test)]
mod tests;
mod tree;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use records::Pipeline;

pub use error::{Error, Problem};
pub use keys::{KeyDoc, reference};
pub use overrides::Override;

use kinds::Context;
use place::{Place, Problems};

/// The longest manifest that is read, in bytes; a longer file is some other file named by mistake.
pub const MAX_MANIFEST_BYTES: u64 = 4 << 20;

/// Reads the manifest at `path` and makes settings of it; see [`parse`].
///
/// # Errors
/// [`Error::Unreadable`] and [`Error::TooLong`] name the path, [`Error::Invalid`] what is wrong in
/// the text: not UTF-8, not TOML, or not a manifest.
pub fn load(
    path: &Path,
    overrides: &[Override],
    env: &dyn Fn(&str) -> Option<String>,
    cwd: &Path,
) -> Result<Pipeline, Error> {
    let unreadable = |cause| Error::Unreadable {
        path: path.to_owned(),
        cause,
    };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    let mut limited = file.take(MAX_MANIFEST_BYTES + 1);
    limited.read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_MANIFEST_BYTES {
        return Err(Error::TooLong {
            path: path.to_owned(),
        });
    }
    match std::str::from_utf8(&bytes) {
        Ok(text) => parse(text, path, overrides, env, cwd),
        Err(error) => Err(not_utf8(&bytes, error.valid_up_to(), path)),
    }
}

/// Makes settings of the manifest `text`.
///
/// `origin` is the manifest's path, as messages name it; relative to `cwd` (absolute) if it is
/// relative. `env` looks up an environment variable. Of two overrides of one key the later one
/// holds. Time and memory are linear in the text, and the disk is not touched.
///
/// # Errors
/// [`Error::Invalid`] with every problem found, in the order of the text, overrides last. A text
/// that is not TOML gives the first place where it is not.
pub fn parse(
    text: &str,
    origin: &Path,
    overrides: &[Override],
    env: &dyn Fn(&str) -> Option<String>,
    cwd: &Path,
) -> Result<Pipeline, Error> {
    // A byte order mark is no column: editors do not show it.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut problems = Problems::new(text, origin, overrides);
    let manifest = cwd.join(origin);
    let context = Context {
        env,
        cwd,
        folder: manifest.parent().unwrap_or(cwd),
    };
    let pipeline = tree::build(text, overrides, &mut problems)
        .and_then(|tree| rules::pipeline(&tree, &context, &mut problems));
    match pipeline {
        Ok(pipeline) if problems.reported().is_none() => Ok(pipeline),
        _ => Err(problems.into_error()),
    }
}

/// The error for a byte at offset `at` that no UTF-8 text has.
fn not_utf8(bytes: &[u8], at: usize, path: &Path) -> Error {
    let (head, tail) = bytes.split_at_checked(at).unwrap_or((bytes, &[]));
    let head = String::from_utf8_lossy(head);
    let byte = tail.first().copied().unwrap_or_default();
    let mut problems = Problems::new(&head, path, &[]);
    problems.push(
        Place::Manifest(at),
        format!("the byte 0x{byte:02X} is not UTF-8; save the manifest as UTF-8 text"),
    );
    problems.into_error()
}
