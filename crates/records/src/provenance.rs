//! The settings that an intermediate was made with, carried in its header.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::PRODUCT_VERSION;

/// What an intermediate says of itself: kind, format version, and every setting that decided
/// its content. It stands as JSON in the header of a record file and in the key-value metadata
/// of a Parquet table (key [`Provenance::KEY`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// What the file holds, such as `signatures`.
    pub kind: String,
    /// The version of that kind's format.
    pub format: u32,
    /// The version of neardup that wrote it; informs, and is not compared.
    pub product: String,
    /// Settings and algorithm versions by name.
    pub settings: BTreeMap<String, String>,
}

/// The first way in which a provenance is not the expected one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// The file holds something else.
    #[error("it holds {found}, not {expected}")]
    Kind {
        /// The kind wanted.
        expected: String,
        /// The kind found.
        found: String,
    },
    /// The file has another format version.
    #[error("its format version is {found}, this version of neardup reads {expected}")]
    Format {
        /// The version that this program reads.
        expected: u32,
        /// The version found.
        found: u32,
    },
    /// A setting differs.
    #[error("it was made with {setting} = {found}, not {expected}")]
    Setting {
        /// The setting, as `table.key`.
        setting: String,
        /// The value wanted, or `(unset)`.
        expected: String,
        /// The value found, or `(unset)`.
        found: String,
    },
}

impl Provenance {
    /// The key of the JSON form in a Parquet table's key-value metadata.
    pub const KEY: &'static str = "neardup";

    /// The provenance of a file that this program writes.
    pub fn new(kind: &str, format: u32, settings: BTreeMap<String, String>) -> Self {
        Self {
            kind: kind.to_owned(),
            format,
            product: PRODUCT_VERSION.to_owned(),
            settings,
        }
    }

    /// Whether `found` may be used where `self` is expected.
    ///
    /// # Errors
    /// The first difference: kind, then format, then settings in the order of their names.
    pub fn check(&self, found: &Provenance) -> Result<(), Mismatch> {
        if self.kind != found.kind {
            return Err(Mismatch::Kind {
                expected: self.kind.clone(),
                found: found.kind.clone(),
            });
        }
        if self.format != found.format {
            return Err(Mismatch::Format {
                expected: self.format,
                found: found.format,
            });
        }
        match difference(&self.settings, &found.settings) {
            None => Ok(()),
            Some((setting, expected, found)) => Err(Mismatch::Setting {
                setting,
                expected,
                found,
            }),
        }
    }
}

/// The first name (in order) whose value differs, with both values.
pub(crate) fn difference(
    expected: &BTreeMap<String, String>,
    found: &BTreeMap<String, String>,
) -> Option<(String, String, String)> {
    let mut names: Vec<&String> = expected.keys().chain(found.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let show = |value: Option<&String>| value.map_or("(unset)".to_owned(), Clone::clone);
    names
        .into_iter()
        .find(|name| expected.get(*name) != found.get(*name))
        .map(|name| {
            (
                name.clone(),
                show(expected.get(name)),
                show(found.get(name)),
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(k: &str) -> Provenance {
        let settings = BTreeMap::from([("sign.k".to_owned(), k.to_owned())]);
        Provenance::new("signatures", 1, settings)
    }

    #[test]
    fn equal_settings_pass_whatever_the_product_version() {
        let mut other = made("128");
        other.product = "9.9.9".to_owned();
        assert_eq!(made("128").check(&other), Ok(()));
    }

    #[test]
    fn the_setting_that_differs_is_named_with_both_values() {
        let error = made("128").check(&made("64")).unwrap_err();
        assert_eq!(error.to_string(), "it was made with sign.k = 64, not 128");
        let mut other = made("128");
        other.settings.clear();
        let error = made("128").check(&other).unwrap_err();
        assert_eq!(
            error.to_string(),
            "it was made with sign.k = (unset), not 128"
        );
    }

    #[test]
    fn kind_and_format_come_first() {
        let mut other = made("64");
        other.format = 2;
        let error = made("128").check(&other).unwrap_err();
        assert_eq!(
            error.to_string(),
            "its format version is 2, this version of neardup reads 1"
        );
        other.kind = "edges".to_owned();
        let error = made("128").check(&other).unwrap_err();
        assert_eq!(error.to_string(), "it holds edges, not signatures");
    }
}
