//! What the values of a leaf column mean, whether its annotation is of the old kind
//! (`ConvertedType`) or the new (`LogicalType`).

use std::fmt;

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use parquet::schema::types::Type;

/// The unit of a time or timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Milli,
    Micro,
    Nano,
}

impl Unit {
    /// How many nanoseconds it has.
    pub(crate) fn nanoseconds(self) -> i128 {
        match self {
            Self::Milli => 1_000_000,
            Self::Micro => 1_000,
            Self::Nano => 1,
        }
    }
}

/// What the values of a leaf column mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Int { bits: u8, signed: bool },
    Int96,
    Half,
    Float,
    Double,
    Text(&'static str),
    Binary,
    Fixed(i32),
    Uuid,
    Decimal { precision: i32, scale: i32 },
    Date,
    Time(Unit),
    Timestamp { unit: Unit, utc: bool },
    Other(String),
}

/// The kind of a primitive type.
pub(crate) fn kind_of(leaf: &Type) -> Kind {
    let physical = leaf.get_physical_type();
    let info = leaf.get_basic_info();
    let annotated = match info.logical_type_ref() {
        Some(logical) => from_logical(logical, physical),
        None => from_converted(info.converted_type(), leaf),
    };
    annotated.unwrap_or_else(|| match physical {
        Physical::BOOLEAN => Kind::Bool,
        Physical::INT32 => Kind::Int {
            bits: 32,
            signed: true,
        },
        Physical::INT64 => Kind::Int {
            bits: 64,
            signed: true,
        },
        Physical::INT96 => Kind::Int96,
        Physical::FLOAT => Kind::Float,
        Physical::DOUBLE => Kind::Double,
        Physical::BYTE_ARRAY => Kind::Binary,
        Physical::FIXED_LEN_BYTE_ARRAY => Kind::Fixed(fixed_length(leaf)),
    })
}

fn fixed_length(leaf: &Type) -> i32 {
    match leaf {
        Type::PrimitiveType { type_length, .. } => *type_length,
        Type::GroupType { .. } => 0,
    }
}

fn from_logical(logical: &LogicalType, physical: Physical) -> Option<Kind> {
    let whole = matches!(physical, Physical::INT32 | Physical::INT64);
    let long = physical == Physical::INT64;
    let bytes = physical == Physical::BYTE_ARRAY;
    let kind = match logical {
        LogicalType::String if bytes => Kind::Text("string"),
        LogicalType::Enum if bytes => Kind::Text("enum"),
        LogicalType::Json if bytes => Kind::Text("json"),
        LogicalType::Uuid => Kind::Uuid,
        LogicalType::Float16 => Kind::Half,
        LogicalType::Date if physical == Physical::INT32 => Kind::Date,
        LogicalType::Decimal(decimal) => Kind::Decimal {
            precision: decimal.precision,
            scale: decimal.scale,
        },
        LogicalType::Integer(integer) if whole => Kind::Int {
            bits: integer.bit_width.unsigned_abs(),
            signed: integer.is_signed,
        },
        LogicalType::Time(time) if whole => Kind::Time(unit(&time.unit)),
        LogicalType::Timestamp(stamp) if long => Kind::Timestamp {
            unit: unit(&stamp.unit),
            utc: stamp.is_adjusted_to_u_t_c,
        },
        // The null type of Arrow: no value is there.
        LogicalType::Unknown => return None,
        other => Kind::Other(format!("{other:?}")),
    };
    Some(kind)
}

fn unit(unit: &TimeUnit) -> Unit {
    match unit {
        TimeUnit::MILLIS => Unit::Milli,
        TimeUnit::MICROS => Unit::Micro,
        TimeUnit::NANOS => Unit::Nano,
    }
}

fn from_converted(converted: ConvertedType, leaf: &Type) -> Option<Kind> {
    let int = |bits, signed| Kind::Int { bits, signed };
    let stamp = |unit| Kind::Timestamp { unit, utc: true };
    let kind = match (converted, leaf.get_physical_type()) {
        (ConvertedType::NONE, _) => return None,
        (ConvertedType::UTF8, Physical::BYTE_ARRAY) => Kind::Text("string"),
        (ConvertedType::ENUM, Physical::BYTE_ARRAY) => Kind::Text("enum"),
        (ConvertedType::JSON, Physical::BYTE_ARRAY) => Kind::Text("json"),
        (ConvertedType::DECIMAL, _) => Kind::Decimal {
            precision: leaf.get_precision(),
            scale: leaf.get_scale(),
        },
        (ConvertedType::DATE, Physical::INT32) => Kind::Date,
        (ConvertedType::TIME_MILLIS, Physical::INT32) => Kind::Time(Unit::Milli),
        (ConvertedType::TIME_MICROS, Physical::INT64) => Kind::Time(Unit::Micro),
        (ConvertedType::TIMESTAMP_MILLIS, Physical::INT64) => stamp(Unit::Milli),
        (ConvertedType::TIMESTAMP_MICROS, Physical::INT64) => stamp(Unit::Micro),
        (ConvertedType::UINT_8, Physical::INT32) => int(8, false),
        (ConvertedType::UINT_16, Physical::INT32) => int(16, false),
        (ConvertedType::UINT_32, Physical::INT32) => int(32, false),
        (ConvertedType::UINT_64, Physical::INT64) => int(64, false),
        (ConvertedType::INT_8, Physical::INT32) => int(8, true),
        (ConvertedType::INT_16, Physical::INT32) => int(16, true),
        (ConvertedType::INT_32, Physical::INT32) => int(32, true),
        (ConvertedType::INT_64, Physical::INT64) => int(64, true),
        (other, _) => Kind::Other(other.to_string()),
    };
    Some(kind)
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Milli => "ms",
            Self::Micro => "us",
            Self::Nano => "ns",
        })
    }
}

/// By Arrow's names, which most users know.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool => f.write_str("bool"),
            Self::Int { bits, signed } => {
                write!(f, "{}int{bits}", if *signed { "" } else { "u" })
            }
            Self::Int96 => f.write_str("timestamp[ns]"),
            Self::Half => f.write_str("halffloat"),
            Self::Float => f.write_str("float"),
            Self::Double => f.write_str("double"),
            Self::Text(name) => f.write_str(name),
            Self::Binary => f.write_str("binary"),
            Self::Fixed(length) => write!(f, "fixed_size_binary[{length}]"),
            Self::Uuid => f.write_str("uuid"),
            Self::Decimal { precision, scale } => write!(f, "decimal({precision}, {scale})"),
            Self::Date => f.write_str("date"),
            Self::Time(unit) => write!(f, "time[{unit}]"),
            Self::Timestamp { unit, utc: true } => write!(f, "timestamp[{unit}, UTC]"),
            Self::Timestamp { unit, utc: false } => write!(f, "timestamp[{unit}]"),
            Self::Other(name) => f.write_str(name),
        }
    }
}
