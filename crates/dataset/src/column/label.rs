//! A column as text, by which people know documents.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Date32Array, Time32MillisecondArray, Time64MicrosecondArray, Time64NanosecondArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
};
use arrow_cast::display::{ArrayFormatter, FormatOptions};

use super::rank::{decimal, integer};
use super::{LABEL_TYPES, Value, Values, half, int96_nanoseconds};
use crate::error::Error;
use crate::source::Source;
use crate::source::find::find_leaf;
use crate::source::kind::{Kind, Unit};

/// Nanoseconds of a day.
const DAY: i128 = 86_400_000_000_000;

/// Reads a column of single values as text, a row at a time: strings and UTF-8 binary as they are,
/// other binary as lower-case hexadecimal digits, a UUID in its usual form, dates and times in ISO
/// 8601, numbers in decimal. Null is none.
pub struct LabelReader {
    values: Values,
}

impl LabelReader {
    /// Opens a column of a file; all its row groups will be read.
    ///
    /// # Errors
    ///
    /// As [`crate::check_label_column`].
    pub fn open(source: &Source, column: &str) -> Result<Self, Error> {
        let values = Values::open(source, column, |schema, path| {
            find_leaf(schema, path, column, LABEL_TYPES)
        })?;
        Ok(Self { values })
    }

    /// The labels of the next rows, one a row; none after the last row.
    ///
    /// # Errors
    ///
    /// A damaged page, a chunk with more or fewer rows than its row group, I/O.
    pub fn next_batch(&mut self) -> Result<Option<Vec<Option<String>>>, Error> {
        let mut labels = Vec::new();
        let kind = self.values.kind.clone();
        let more = self.values.next_rows(|value| {
            labels.push(value.map(|value| label(&kind, &value)));
            Ok(())
        })?;
        Ok(more.then_some(labels))
    }
}

fn label(kind: &Kind, value: &Value) -> String {
    if let Some(whole) = integer(kind, value) {
        return whole.to_string();
    }
    if let Some(decimal) = decimal(kind, value) {
        return decimal.to_string();
    }
    match (kind, value) {
        (Kind::Half, Value::Bytes(bytes)) => match bytes.as_ref().try_into() {
            Ok(bytes) => format!("{:?}", half(bytes) as f32),
            Err(_) => hex(bytes),
        },
        (Kind::Uuid, Value::Bytes(bytes)) => uuid(bytes),
        (Kind::Text(_) | Kind::Binary, Value::Bytes(bytes)) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => hex(bytes),
        },
        (_, Value::Bytes(bytes)) => hex(bytes),
        (_, Value::Bool(value)) => value.to_string(),
        (_, Value::Float(value)) => format!("{value:?}"),
        (_, Value::Double(value)) => format!("{value:?}"),
        (_, Value::Int96(value)) => nanoseconds(int96_nanoseconds(value)),
        (Kind::Date, Value::Int32(days)) => {
            format_one(Arc::new(Date32Array::from(vec![*days]))).unwrap_or_else(|| days.to_string())
        }
        (_, Value::Int32(value)) => time_array(kind, i64::from(*value))
            .and_then(format_one)
            .unwrap_or_else(|| value.to_string()),
        (_, Value::Int64(value)) => time_array(kind, *value)
            .and_then(format_one)
            .unwrap_or_else(|| value.to_string()),
    }
}

/// A timestamp of any range: the days by Arrow, as long as it can, and the time of day.
fn nanoseconds(value: i128) -> String {
    let day = i32::try_from(value.div_euclid(DAY)).ok();
    let time = i64::try_from(value.rem_euclid(DAY)).ok();
    let day = day.and_then(|day| format_one(Arc::new(Date32Array::from(vec![day]))));
    let time = time.and_then(|time| format_one(Arc::new(Time64NanosecondArray::from(vec![time]))));
    match (day, time) {
        (Some(day), Some(time)) => format!("{day}T{time}"),
        _ => value.to_string(),
    }
}

fn time_array(kind: &Kind, value: i64) -> Option<ArrayRef> {
    let one = vec![value];
    Some(match kind {
        Kind::Time(Unit::Milli) => Arc::new(Time32MillisecondArray::from(vec![
            i32::try_from(value).ok()?,
        ])),
        Kind::Time(Unit::Micro) => Arc::new(Time64MicrosecondArray::from(one)),
        Kind::Time(Unit::Nano) => Arc::new(Time64NanosecondArray::from(one)),
        Kind::Timestamp { unit, utc } => {
            let zone = utc.then(|| Arc::<str>::from("+00:00"));
            match unit {
                Unit::Milli => {
                    Arc::new(TimestampMillisecondArray::from(one).with_timezone_opt(zone))
                }
                Unit::Micro => {
                    Arc::new(TimestampMicrosecondArray::from(one).with_timezone_opt(zone))
                }
                Unit::Nano => Arc::new(TimestampNanosecondArray::from(one).with_timezone_opt(zone)),
            }
        }
        _ => return None,
    })
}

/// A value as Arrow writes it; none where it is out of the range of a calendar.
fn format_one(array: ArrayRef) -> Option<String> {
    let options = FormatOptions::new();
    let formatter = ArrayFormatter::try_new(array.as_ref(), &options).ok()?;
    formatter.value(0).try_to_string().ok()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn uuid(bytes: &[u8]) -> String {
    let digits = hex(bytes);
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    if digits.len() != 32 {
        return digits;
    }
    [
        part(0, 8),
        part(8, 12),
        part(12, 16),
        part(16, 20),
        part(20, 32),
    ]
    .join("-")
}
