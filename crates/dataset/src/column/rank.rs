//! Keys that order keepers by a column.

use std::path::Path;

use parquet::schema::types::SchemaDescriptor;

use super::decimal::{Decimal, power_of_two, split_double};
use super::{Value, Values, half, int96_nanoseconds, leaf_kind};
use crate::error::Error;
use crate::source::Source;
use crate::source::find::{describe, find_leaf};
use crate::source::kind::Kind;

/// How a column ranks documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankKind {
    /// The earliest timestamp or date, in UTC, or the smallest integer, is best.
    Earliest,
    /// The greatest number is best.
    Best,
}

impl RankKind {
    fn expected(self) -> &'static str {
        match self {
            Self::Earliest => "a timestamp, date or integer column",
            Self::Best => "an integer, float or decimal column",
        }
    }
}

/// The key of a null or a NaN: it ranks last.
const LAST: [u64; 2] = [u64::MAX, u64::MAX];

/// Reads a column as keys: the smaller key belongs to the better keeper, equal keys to equal
/// values, and `[u64::MAX, u64::MAX]` to null and NaN.
///
/// * [`RankKind::Earliest`]: the nanoseconds since 1970 of a timestamp of any unit (one without a
///   zone counts as UTC), a date (its midnight) or INT96, or the value of an integer, as an `i128`
///   in two order-preserving words. [`crate::rank_class`] says which of the two it is.
/// * [`RankKind::Best`]: the order of the nearest double, reversed, then that of what it lacks to
///   the exact value, in units of its last place. So integers of all widths, floats and decimals
///   compare right with each other across files: exactly up to 32 significant digits, and always
///   exactly for integers and floats. -0.0 equals 0.0.
///
/// A decimal takes about a microsecond, anything else some nanoseconds.
pub struct RankReader {
    values: Values,
    kind: RankKind,
}

impl RankReader {
    /// Opens a column of a file; all its row groups will be read.
    ///
    /// # Errors
    ///
    /// As [`crate::rank_class`].
    pub fn open(source: &Source, column: &str, kind: RankKind) -> Result<Self, Error> {
        let values = Values::open(source, column, |schema, path| {
            find_rank(schema, path, column, kind).map(|(index, _)| index)
        })?;
        Ok(Self { values, kind })
    }

    /// The keys of the next rows, one a row; none after the last row.
    ///
    /// # Errors
    ///
    /// A damaged page, a chunk with more or fewer rows than its row group, I/O.
    pub fn next_batch(&mut self) -> Result<Option<Vec<[u64; 2]>>, Error> {
        let mut keys = Vec::new();
        let (kind, meaning) = (self.kind, self.values.kind.clone());
        let (path, column) = (
            self.values.leaf.path.clone(),
            self.values.leaf.column.clone(),
        );
        let more = self.values.next_rows(|value| {
            keys.push(match &value {
                None => LAST,
                Some(value) => key(kind, &meaning, value).ok_or_else(|| {
                    let message = format!("a value is no {meaning}");
                    Values::bad_value(&path, &column, message)
                })?,
            });
            Ok(())
        })?;
        Ok(more.then_some(keys))
    }
}

/// Finds a rank column and its class.
pub(super) fn find_rank(
    schema: &SchemaDescriptor,
    path: &Path,
    column: &str,
    kind: RankKind,
) -> Result<(usize, &'static str), Error> {
    let index = find_leaf(schema, path, column, kind.expected())?;
    let class = match (kind, leaf_kind(schema, index).map(|(kind, _)| kind)) {
        (RankKind::Earliest, Some(Kind::Int { .. })) => Some("integer"),
        (RankKind::Earliest, Some(Kind::Timestamp { .. } | Kind::Date | Kind::Int96)) => {
            Some("timestamp")
        }
        (
            RankKind::Best,
            Some(Kind::Int { .. } | Kind::Half | Kind::Float | Kind::Double | Kind::Decimal { .. }),
        ) => Some("number"),
        _ => None,
    };
    class.map(|class| (index, class)).ok_or_else(|| {
        let found = schema.columns().get(index);
        Error::ColumnType {
            path: path.to_path_buf(),
            column: column.to_owned(),
            found: found.map_or_else(String::new, |leaf| describe(leaf.self_type())),
            expected: kind.expected(),
        }
    })
}

/// The key of a value; none if the value is none of its type.
fn key(kind: RankKind, meaning: &Kind, value: &Value) -> Option<[u64; 2]> {
    match kind {
        RankKind::Earliest => instant(meaning, value).map(ascending),
        RankKind::Best => number(meaning, value),
    }
}

/// An integer, or the nanoseconds since 1970 of a timestamp or date.
fn instant(meaning: &Kind, value: &Value) -> Option<i128> {
    match (meaning, value) {
        (Kind::Date, Value::Int32(days)) => Some(i128::from(*days) * 86_400_000_000_000),
        (Kind::Timestamp { unit, .. }, Value::Int64(count)) => {
            Some(i128::from(*count) * unit.nanoseconds())
        }
        (Kind::Int96, Value::Int96(value)) => Some(int96_nanoseconds(value)),
        _ => integer(meaning, value),
    }
}

/// The value of an integer column, whose annotation says whether it is signed.
pub(super) fn integer(meaning: &Kind, value: &Value) -> Option<i128> {
    let Kind::Int { signed, .. } = meaning else {
        return None;
    };
    Some(match (value, signed) {
        (Value::Int32(value), true) => i128::from(*value),
        (Value::Int32(value), false) => i128::from(value.cast_unsigned()),
        (Value::Int64(value), true) => i128::from(*value),
        (Value::Int64(value), false) => i128::from(value.cast_unsigned()),
        _ => return None,
    })
}

fn number(meaning: &Kind, value: &Value) -> Option<[u64; 2]> {
    if let Some(whole) = integer(meaning, value) {
        let double = whole as f64;
        let (_, exponent) = split_double(double.abs());
        // Both fit: a 64-bit integer's double is at most 2^64.
        let missing = (whole - double as i128) as f64 / power_of_two(exponent);
        return Some(descending(double, missing));
    }
    let (double, missing) = match (meaning, value) {
        (Kind::Half, Value::Bytes(bytes)) => (half(bytes.as_ref().try_into().ok()?), 0.0),
        (Kind::Float, Value::Float(value)) => (f64::from(*value), 0.0),
        (Kind::Double, Value::Double(value)) => (*value, 0.0),
        (Kind::Decimal { .. }, _) => decimal(meaning, value)?.to_double(),
        _ => return None,
    };
    Some(descending(double, missing))
}

/// The value of a decimal column.
pub(super) fn decimal(meaning: &Kind, value: &Value) -> Option<Decimal> {
    let Kind::Decimal { scale, .. } = meaning else {
        return None;
    };
    match value {
        Value::Int32(value) => Some(Decimal::from_int(i64::from(*value), *scale)),
        Value::Int64(value) => Some(Decimal::from_int(*value, *scale)),
        Value::Bytes(bytes) => Decimal::from_bytes(bytes, *scale),
        _ => None,
    }
}

/// Two words in the order of an `i128`.
fn ascending(value: i128) -> [u64; 2] {
    let ordered = value.cast_unsigned() ^ 1 << 127;
    [(ordered >> 64) as u64, ordered as u64]
}

/// Two words against the order of (double, missing); the last for NaN.
fn descending(double: f64, missing: f64) -> [u64; 2] {
    if double.is_nan() {
        return LAST;
    }
    [!order(double), !order(missing)]
}

/// A word in the order of a double that is not NaN; -0.0 as 0.0.
fn order(value: f64) -> u64 {
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 1 {
        !bits
    } else {
        bits | 1 << 63
    }
}
