//! Key-value metadata of an annotated file: the three descriptions of the schema that readers
//! trust more than the schema itself gain the added columns; everything else stays as it is.

use std::sync::Arc;

use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::root_as_message;
use arrow_schema::{DataType, Field, FieldRef, Schema};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use parquet::arrow::{ARROW_SCHEMA_META_KEY, encode_arrow_schema};
use parquet::file::metadata::KeyValue;
use serde_json::{Value, json};

use super::annotation::{Annotation, MARK};

/// pandas' description of its columns, as pyarrow writes it.
const PANDAS: &str = "pandas";
/// Spark's own schema, which Spark prefers to Parquet's.
const SPARK: &str = "org.apache.spark.sql.parquet.row.metadata";

/// The key-values of the annotated file. The error is the key that could not be edited, and why.
pub(super) fn annotate(
    entries: &[KeyValue],
    annotation: &Annotation,
) -> Result<Vec<KeyValue>, (String, String)> {
    let mut edited = Vec::with_capacity(entries.len() + 1);
    for entry in entries {
        let edit = match entry.key.as_str() {
            MARK => continue,
            ARROW_SCHEMA_META_KEY => arrow,
            PANDAS => pandas,
            SPARK => spark,
            _ => {
                edited.push(entry.clone());
                continue;
            }
        };
        let value = match &entry.value {
            Some(text) => Some(edit(text, annotation).map_err(|why| (entry.key.clone(), why))?),
            None => None,
        };
        edited.push(KeyValue {
            key: entry.key.clone(),
            value,
        });
    }
    edited.push(annotation.mark(entries));
    Ok(edited)
}

/// The Arrow schema, an IPC message in base64, with the two fields at its end. arrow-rs refuses a
/// file whose stored schema lacks a column, and pyarrow then ignores all of it.
fn arrow(text: &str, annotation: &Annotation) -> Result<String, String> {
    let bytes = BASE64_STANDARD.decode(text).map_err(|e| e.to_string())?;
    // The continuation mark and the length stand in front, but not in files of old writers.
    let message = match bytes.strip_prefix(&[0xFF; 4]) {
        Some(rest) => rest.get(4..).unwrap_or_default(),
        None => bytes.as_slice(),
    };
    let message = root_as_message(message).map_err(|e| e.to_string())?;
    let schema = message.header_as_schema().ok_or("it holds no schema")?;
    let schema = try_fb_to_schema(schema).map_err(|e| e.to_string())?;

    let mut fields: Vec<FieldRef> = schema.fields().iter().cloned().collect();
    fields.retain(|field| !(annotation.replaces && annotation.has(field.name())));
    fields.push(Arc::new(Field::new(
        &annotation.cluster,
        DataType::Int64,
        true,
    )));
    fields.push(Arc::new(Field::new(
        &annotation.keep,
        DataType::Boolean,
        false,
    )));
    let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
    Ok(encode_arrow_schema(&schema))
}

/// The columns as pandas types: its nullable `Int64`, since a float would round large ids.
fn pandas(text: &str, annotation: &Annotation) -> Result<String, String> {
    let column = |name: &str, pandas_type: &str, numpy_type: &str| {
        json!({
            "name": name, "field_name": name, "pandas_type": pandas_type,
            "numpy_type": numpy_type, "metadata": null,
        })
    };
    let added = [
        column(&annotation.cluster, "int64", "Int64"),
        column(&annotation.keep, "bool", "bool"),
    ];
    extend(text, "columns", annotation, added)
}

/// The columns as Spark types.
fn spark(text: &str, annotation: &Annotation) -> Result<String, String> {
    let added = [
        json!({"name": annotation.cluster, "type": "long", "nullable": true, "metadata": {}}),
        json!({"name": annotation.keep, "type": "boolean", "nullable": false, "metadata": {}}),
    ];
    extend(text, "fields", annotation, added)
}

/// Puts `added` at the end of the array `key` of a JSON object, in place of replaced columns.
fn extend(
    text: &str,
    key: &str,
    annotation: &Annotation,
    added: [Value; 2],
) -> Result<String, String> {
    let mut json: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let array = json.get_mut(key).and_then(Value::as_array_mut);
    let array = array.ok_or_else(|| format!("it has no array `{key}`"))?;
    array.retain(|column| {
        let name = column.get("name").and_then(Value::as_str);
        !(annotation.replaces && name.is_some_and(|name| annotation.has(name)))
    });
    array.extend(added);
    Ok(json.to_string())
}
