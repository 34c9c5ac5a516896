//! Finding a column by the name that a setting gives, and naming its type in an error.

use std::path::Path;

use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::schema::types::{SchemaDescriptor, Type};

use super::kind::{Kind, kind_of};
use crate::error::Error;

/// Leaf columns that an error lists at most.
const MAX_LISTED: usize = 20;
/// Levels and fields of a nested type that an error spells out.
const MAX_DESCRIBED: usize = 4;

/// The index of the leaf column that `column` names: a top-level name, dots included, or else a
/// dotted path into structs. `expected` is for the error that names the type.
pub(crate) fn find_leaf(
    schema: &SchemaDescriptor,
    path: &Path,
    column: &str,
    expected: &'static str,
) -> Result<usize, Error> {
    let refuse = |found: String| Error::ColumnType {
        path: path.to_path_buf(),
        column: column.to_owned(),
        found,
        expected,
    };
    let top: Vec<usize> = matching(schema.root_schema().get_fields(), |f| f.name() == column);
    let leaves = if top.is_empty() {
        matching(schema.columns(), |leaf| leaf.path().string() == column)
    } else {
        let roots = 0..schema.num_columns();
        let below = roots.filter(|leaf| Some(&schema.get_column_root_idx(*leaf)) == top.first());
        below.collect()
    };
    if top.len() > 1 || (top.is_empty() && leaves.len() > 1) {
        return Err(Error::AmbiguousColumn {
            path: path.to_path_buf(),
            column: column.to_owned(),
            count: top.len().max(leaves.len()),
        });
    }
    if let Some(field) = top.first() {
        let field = schema.root_schema().get_fields().get(*field);
        if let Some(group) = field.filter(|field| field.is_group()) {
            return Err(refuse(describe(group)));
        }
    } else if leaves.is_empty() {
        return Err(match find_group(schema.root_schema(), column) {
            Some(group) => refuse(describe(group)),
            None => Error::NoColumn {
                path: path.to_path_buf(),
                column: column.to_owned(),
                columns: list_columns(schema),
            },
        });
    }
    let leaf = leaves.first().copied().and_then(|index| {
        let leaf = schema.columns().get(index)?;
        Some((index, leaf))
    });
    let Some((index, leaf)) = leaf else {
        return Err(refuse("a group without columns".to_owned()));
    };
    if leaf.max_rep_level() == 0 {
        return Ok(index);
    }
    Err(refuse(if top.is_empty() {
        format!("{} inside of a list or map", describe(leaf.self_type()))
    } else {
        describe(leaf.self_type())
    }))
}

/// The index of the text column.
pub(crate) fn find_text(
    schema: &SchemaDescriptor,
    path: &Path,
    column: &str,
) -> Result<usize, Error> {
    let expected = "a string or binary column";
    let index = find_leaf(schema, path, column, expected)?;
    let leaf = schema.column(index);
    match kind_of(leaf.self_type()) {
        Kind::Text(_) | Kind::Binary => Ok(index),
        _ => Err(Error::ColumnType {
            path: path.to_path_buf(),
            column: column.to_owned(),
            found: describe(leaf.self_type()),
            expected,
        }),
    }
}

fn matching<T>(items: &[T], wanted: impl Fn(&T) -> bool) -> Vec<usize> {
    let items = items.iter().enumerate();
    items
        .filter_map(|(i, item)| wanted(item).then_some(i))
        .collect()
}

/// The group at a dotted path; names may have dots themselves.
fn find_group<'a>(group: &'a Type, path: &str) -> Option<&'a Type> {
    if !group.is_group() {
        return None;
    }
    group.get_fields().iter().find_map(|field| {
        let rest = path.strip_prefix(field.name())?;
        if rest.is_empty() {
            Some(field.as_ref())
        } else {
            find_group(field, rest.strip_prefix('.')?)
        }
    })
}

fn list_columns(schema: &SchemaDescriptor) -> String {
    let names: Vec<String> = schema
        .columns()
        .iter()
        .take(MAX_LISTED)
        .map(|leaf| format!("`{}`", leaf.path().string()))
        .collect();
    match schema.num_columns() {
        0 => "none at all".to_owned(),
        count if count > MAX_LISTED => {
            format!("{} and {} more", names.join(", "), count - MAX_LISTED)
        }
        _ => names.join(", "),
    }
}

/// A type as users know it, with the Parquet type in brackets.
pub(crate) fn describe(column: &Type) -> String {
    let parquet = if column.is_primitive() {
        match column.get_physical_type() {
            // Its length is in the name already, or follows from it.
            Physical::FIXED_LEN_BYTE_ARRAY => "FIXED_LEN_BYTE_ARRAY".to_owned(),
            other => other.to_string(),
        }
    } else {
        match column.get_basic_info().converted_type() {
            ConvertedType::NONE => "group".to_owned(),
            other => format!("group, {other}"),
        }
    };
    format!("{} ({parquet})", short(column, 0))
}

/// A type by Arrow's names, abridged where it is deep or wide.
fn short(column: &Type, depth: usize) -> String {
    if is_repeated(column) {
        return format!("list<{}>", short_element(column, depth));
    }
    short_element(column, depth)
}

fn short_element(column: &Type, depth: usize) -> String {
    if column.is_primitive() {
        return kind_of(column).to_string();
    }
    if depth >= MAX_DESCRIBED {
        return "...".to_owned();
    }
    let info = column.get_basic_info();
    let logical = info.logical_type_ref();
    let fields = column.get_fields();
    let only = fields.first().filter(|_| fields.len() == 1);
    let converted = info.converted_type();
    if logical == Some(&LogicalType::List) || converted == ConvertedType::LIST {
        return match only {
            // The usual three levels: list, repeated group, element.
            Some(middle) if middle.is_group() && middle.get_fields().len() == 1 => {
                let element = middle.get_fields().first();
                let element = element.map_or_else(String::new, |e| short(e, depth + 1));
                format!("list<{element}>")
            }
            Some(element) => format!("list<{}>", short_element(element, depth + 1)),
            None => "list".to_owned(),
        };
    }
    let entries = |fields: &[std::sync::Arc<Type>], named: bool| {
        let mut parts: Vec<String> = fields
            .iter()
            .take(MAX_DESCRIBED)
            .map(|field| match named {
                true => format!("{}: {}", field.name(), short(field, depth + 1)),
                false => short(field, depth + 1),
            })
            .collect();
        if fields.len() > MAX_DESCRIBED {
            parts.push("...".to_owned());
        }
        parts.join(", ")
    };
    let is_map = logical == Some(&LogicalType::Map)
        || matches!(converted, ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE);
    match only {
        Some(pair) if is_map && pair.is_group() => {
            format!("map<{}>", entries(pair.get_fields(), false))
        }
        _ => format!("struct<{}>", entries(fields, true)),
    }
}

fn is_repeated(column: &Type) -> bool {
    let info = column.get_basic_info();
    info.has_repetition() && info.repetition() == Repetition::REPEATED
}
