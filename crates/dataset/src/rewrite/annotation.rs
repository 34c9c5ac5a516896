//! The two columns that `annotate` adds, and the mark by which a later run knows them.

use std::path::Path;

use parquet::basic::{ConvertedType, Repetition, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::schema::types::Type;
use records::settings::Existing;
use serde_json::{Value, json};

use super::Options;
use crate::Error;

/// The key of the mark in a file's key-value metadata: JSON with `product`, `version` and the names
/// of the columns that neardup added.
pub(super) const MARK: &str = "neardup.annotation";

/// The added columns of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Annotation {
    /// `<prefix>cluster`: INT64, null outside clusters.
    pub(super) cluster: String,
    /// `<prefix>keep`: BOOLEAN, never null.
    pub(super) keep: String,
    /// Whether columns of these names are there, and go.
    pub(super) replaces: bool,
}

impl Annotation {
    /// The columns of `options` for a file with these top-level fields and key-values; refused when
    /// a name is taken and may not be replaced.
    pub(super) fn plan(
        path: &Path,
        options: &Options,
        root: &Type,
        key_values: &[KeyValue],
    ) -> Result<Self, Error> {
        let mut annotation = Self {
            cluster: format!("{}cluster", options.prefix),
            keep: format!("{}keep", options.prefix),
            replaces: false,
        };
        let taken = root
            .get_fields()
            .iter()
            .find(|field| annotation.has(field.name()));
        let Some(taken) = taken else {
            return Ok(annotation);
        };
        if options.existing == Existing::Refuse {
            return Err(Error::NameTaken {
                path: path.to_owned(),
                column: taken.name().to_owned(),
            });
        }
        if let Err(reason) = annotation.replaceable(root, key_values) {
            return Err(Error::NotReplaceable {
                path: path.to_owned(),
                column: taken.name().to_owned(),
                reason,
            });
        }
        annotation.replaces = true;
        Ok(annotation)
    }

    /// Whether `name` is one of the two.
    pub(super) fn has(&self, name: &str) -> bool {
        name == self.cluster || name == self.keep
    }

    /// The two top-level fields.
    pub(super) fn fields(&self) -> Result<[Type; 2], ParquetError> {
        let cluster = Type::primitive_type_builder(&self.cluster, PhysicalType::INT64)
            .with_repetition(Repetition::OPTIONAL);
        let keep = Type::primitive_type_builder(&self.keep, PhysicalType::BOOLEAN)
            .with_repetition(Repetition::REQUIRED);
        Ok([cluster.build()?, keep.build()?])
    }

    fn replaceable(&self, root: &Type, key_values: &[KeyValue]) -> Result<(), String> {
        let is_ours = |field: &Type, physical, repetition| {
            field.is_primitive()
                && field.get_physical_type() == physical
                && field.get_basic_info().has_repetition()
                && field.get_basic_info().repetition() == repetition
                && field.get_basic_info().converted_type() == ConvertedType::NONE
                && field.get_basic_info().logical_type_ref().is_none()
        };
        let expected = [
            (&self.cluster, PhysicalType::INT64, Repetition::OPTIONAL),
            (&self.keep, PhysicalType::BOOLEAN, Repetition::REQUIRED),
        ];
        for (name, physical, repetition) in expected {
            let mut found = root.get_fields().iter().filter(|f| f.name() == name);
            match (found.next(), found.next()) {
                (None, _) => return Err(format!("it has no column `{name}` beside it")),
                (_, Some(_)) => return Err(format!("it has more than one column `{name}`")),
                (Some(field), None) if !is_ours(field, physical, repetition) => {
                    return Err(format!(
                        "its column `{name}` is not {repetition} {physical}"
                    ));
                }
                (Some(_), None) => {}
            }
        }
        let marked = marked_names(key_values);
        match expected.iter().find(|(name, ..)| !marked.contains(name)) {
            Some((name, ..)) => Err(format!(
                "its metadata (`{MARK}`) does not say that neardup added `{name}`"
            )),
            None => Ok(()),
        }
    }

    /// The mark of the output, which also names the columns of earlier annotations that stay.
    pub(super) fn mark(&self, key_values: &[KeyValue]) -> KeyValue {
        let mut columns = marked_names(key_values);
        columns.retain(|name| !self.has(name));
        columns.extend([self.cluster.clone(), self.keep.clone()]);
        let mark = json!({
            "product": "neardup",
            "version": env!("CARGO_PKG_VERSION"),
            "columns": columns,
        });
        KeyValue::new(MARK.to_owned(), mark.to_string())
    }
}

/// The columns that the mark in `key_values` names; none without a readable mark.
fn marked_names(key_values: &[KeyValue]) -> Vec<String> {
    let mark = key_values.iter().find(|entry| entry.key == MARK);
    let text = mark.and_then(|entry| entry.value.as_deref());
    let json: Option<Value> = text.and_then(|text| serde_json::from_str(text).ok());
    let names = json.as_ref().and_then(|json| json["columns"].as_array());
    names
        .into_iter()
        .flatten()
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect()
}
