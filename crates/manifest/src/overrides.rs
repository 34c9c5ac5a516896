//! `--set table.key=value`.

use crate::Error;

/// A setting given on the command line; it replaces the manifest's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The manifest table, such as `join`.
    pub table: String,
    /// The key in it, such as `threshold`.
    pub key: String,
    /// The value as TOML text. What is not TOML is a string as it stands (a bare word), and so is
    /// any unquoted scalar where the key takes a string (`filter.output=2026-01-31`).
    pub value: String,
    /// The argument as given, option included, such as `--set join.threshold=0.85`: messages
    /// begin with it.
    pub source: String,
}

impl Override {
    /// Splits the argument of a `--set`, such as `join.threshold=0.85`, at its first `=`. Blanks
    /// around key and value are dropped. Whether there is such a key is for [`crate::parse`].
    ///
    /// # Errors
    /// [`Error::NotAnOverride`] if it is not of the form `table.key=value`.
    pub fn parse(argument: &str) -> Result<Self, Error> {
        let fail = |found| Error::NotAnOverride {
            argument: argument.to_owned(),
            found,
        };
        let (name, value) = argument.split_once('=').ok_or_else(|| fail("no `=`"))?;
        let (table, key) = name
            .split_once('.')
            .ok_or_else(|| fail("no `.` before the `=`"))?;
        let (table, key) = (table.trim(), key.trim());
        if table.is_empty() {
            return Err(fail("no table before the `.`"));
        }
        if key.is_empty() {
            return Err(fail("no key between `.` and `=`"));
        }
        Ok(Self {
            table: table.to_owned(),
            key: key.to_owned(),
            value: value.trim().to_owned(),
            source: format!("--set {argument}"),
        })
    }
}
