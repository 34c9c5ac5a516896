//! An input file as `sign` found it.

/// What identifies an input file among those that were signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignedFile<'a> {
    /// Where it was.
    pub path: &'a str,
    /// Its path relative to its root.
    pub relative: &'a str,
    /// Its rows.
    pub rows: u64,
    /// Its fingerprint as 32 hexadecimal digits.
    pub fingerprint: &'a str,
}
