//! Single columns that stages label and rank documents by, in the rows' order.

mod decimal;
mod label;
pub(crate) mod leaf;
mod rank;

use records::Pipeline;
use records::settings::Keep;
use std::path::Path;

use parquet::basic::Type as Physical;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    FloatType, Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::file::metadata::ParquetMetaData;
use parquet::schema::types::SchemaDescriptor;

pub use label::LabelReader;
pub use rank::{RankKind, RankReader};

use crate::error::Error;
use crate::source::kind::{Kind, kind_of};
use crate::source::{Source, find, reopen};
use leaf::{Chunk, Leaf, Pace};

/// Bytes that a batch of labels or keys is made of.
const BATCH_BYTES: u64 = 4 << 20;
/// What a label column may be.
const LABEL_TYPES: &str = "a column of single values (not a list, map or struct)";

/// A value as the file holds it.
enum Value {
    Bool(bool),
    Int32(i32),
    Int64(i64),
    Int96(Int96),
    Float(f32),
    Double(f64),
    Bytes(bytes::Bytes),
}

/// Checks before a run, from the footer alone, that [`LabelReader`] can read a column.
///
/// # Errors
///
/// A column that is missing, ambiguous, or not of single values; a file that changed or cannot be
/// read.
pub fn check_label_column(source: &Source, column: &str) -> Result<(), Error> {
    let path = &source.listed.path;
    let (_, metadata) = reopen(source)?;
    crate::open::guard(path, "footer", || {
        find::find_leaf(schema(&metadata), path, column, LABEL_TYPES).map(|_| ())
    })
}

/// Checks before a run that the columns which clusters are kept and named by (`cluster.column`,
/// `input.id`) are in every input file and can do what they are named for.
///
/// # Errors
///
/// As [`check_rank_columns`] and [`check_label_column`], and where the input cannot be listed.
pub fn check_columns(pipeline: &Pipeline) -> Result<(), Error> {
    if pipeline.cluster.column.is_none() && pipeline.input.id.is_none() {
        return Ok(());
    }
    let listing = crate::list(&pipeline.input.paths)?;
    let sources: Result<Vec<Source>, _> = listing
        .files
        .iter()
        .map(|listed| crate::inspect(listed, &pipeline.input.text))
        .collect();
    check_columns_of(pipeline, &sources?)
}

/// [`check_columns`] for files that are inspected already.
///
/// # Errors
///
/// As there.
pub fn check_columns_of(pipeline: &Pipeline, sources: &[Source]) -> Result<(), Error> {
    let kind = match pipeline.cluster.keep {
        Keep::Longest => None,
        Keep::Earliest => Some(RankKind::Earliest),
        Keep::Best => Some(RankKind::Best),
    };
    if let (Some(column), Some(kind)) = (&pipeline.cluster.column, kind) {
        check_rank_columns(sources, column, kind)?;
    }
    if let Some(column) = &pipeline.input.id {
        for source in sources {
            check_label_column(source, column)?;
        }
    }
    Ok(())
}

/// [`rank_class`] for all files of an input, whose keys have to compare with each other.
///
/// # Errors
///
/// As [`rank_class`], and [`Error::MixedRanks`] where two files hold what cannot be compared.
pub fn check_rank_columns(sources: &[Source], column: &str, kind: RankKind) -> Result<(), Error> {
    let mut first: Option<(&Source, &'static str)> = None;
    for source in sources {
        let class = rank_class(source, column, kind)?;
        match first {
            Some((other, other_class)) if other_class != class => {
                return Err(Error::MixedRanks {
                    column: column.to_owned(),
                    path: other.listed.path.clone(),
                    class: other_class,
                    other: source.listed.path.clone(),
                    other_class: class,
                });
            }
            _ => first = Some((source, class)),
        }
    }
    Ok(())
}

/// What a rank column holds: `integer` or `timestamp` for [`RankKind::Earliest`], `number` for
/// [`RankKind::Best`]. The keys of files whose classes differ do not compare.
///
/// # Errors
///
/// A column that is missing, ambiguous, or of a type without such an order; a file that changed or
/// cannot be read.
pub fn rank_class(source: &Source, column: &str, kind: RankKind) -> Result<&'static str, Error> {
    let path = &source.listed.path;
    let (_, metadata) = reopen(source)?;
    crate::open::guard(path, "footer", || {
        let (_, class) = rank::find_rank(schema(&metadata), path, column, kind)?;
        Ok(class)
    })
}

fn schema(metadata: &ParquetMetaData) -> &SchemaDescriptor {
    metadata.file_metadata().schema_descr()
}

/// The kind of a leaf column.
fn leaf_kind(schema: &SchemaDescriptor, index: usize) -> Option<(Kind, Physical)> {
    let leaf = schema.columns().get(index)?;
    Some((kind_of(leaf.self_type()), leaf.physical_type()))
}

/// A chunk of any physical type.
enum AnyChunk {
    Bool(Chunk<BoolType>),
    Int32(Chunk<Int32Type>),
    Int64(Chunk<Int64Type>),
    Int96(Chunk<Int96Type>),
    Float(Chunk<FloatType>),
    Double(Chunk<DoubleType>),
    Bytes(Chunk<ByteArrayType>),
    Fixed(Chunk<FixedLenByteArrayType>),
}

/// Runs an expression with `$chunk` bound to the typed chunk and `$make` to the making of a
/// [`Value`].
macro_rules! with_chunk {
    ($any:expr, $chunk:ident, $make:ident => $body:expr) => {
        match $any {
            AnyChunk::Bool($chunk) => {
                let $make = Value::Bool;
                $body
            }
            AnyChunk::Int32($chunk) => {
                let $make = Value::Int32;
                $body
            }
            AnyChunk::Int64($chunk) => {
                let $make = Value::Int64;
                $body
            }
            AnyChunk::Int96($chunk) => {
                let $make = Value::Int96;
                $body
            }
            AnyChunk::Float($chunk) => {
                let $make = Value::Float;
                $body
            }
            AnyChunk::Double($chunk) => {
                let $make = Value::Double;
                $body
            }
            AnyChunk::Bytes($chunk) => {
                let $make = |value: ByteArray| Value::Bytes(bytes::Bytes::from_owner(value));
                $body
            }
            AnyChunk::Fixed($chunk) => {
                let $make =
                    |value: FixedLenByteArray| Value::Bytes(bytes::Bytes::from_owner(value));
                $body
            }
        }
    };
}

/// Reads the values of a leaf column of any type, all row groups in their order.
struct Values {
    leaf: Leaf,
    kind: Kind,
    physical: Physical,
    chunk: Option<AnyChunk>,
    next_row_group: usize,
    pace: Pace,
}

impl Values {
    fn open(
        source: &Source,
        column: &str,
        find: impl FnOnce(&SchemaDescriptor, &Path) -> Result<usize, Error>,
    ) -> Result<Self, Error> {
        let path = source.listed.path.as_path();
        let leaf = Leaf::open(source, column, |metadata| find(schema(metadata), path))?;
        let kind = leaf_kind(schema(&leaf.metadata), leaf.index);
        let Some((kind, physical)) = kind else {
            return Err(Error::NoColumn {
                path: path.to_path_buf(),
                column: column.to_owned(),
                columns: "others".to_owned(),
            });
        };
        Ok(Self {
            leaf,
            kind,
            physical,
            chunk: None,
            next_row_group: 0,
            pace: Pace::new(BATCH_BYTES, 0),
        })
    }

    fn begin(&self, row_group: usize) -> Result<AnyChunk, Error> {
        let leaf = &self.leaf;
        Ok(match self.physical {
            Physical::BOOLEAN => AnyChunk::Bool(leaf.chunk(row_group)?),
            Physical::INT32 => AnyChunk::Int32(leaf.chunk(row_group)?),
            Physical::INT64 => AnyChunk::Int64(leaf.chunk(row_group)?),
            Physical::INT96 => AnyChunk::Int96(leaf.chunk(row_group)?),
            Physical::FLOAT => AnyChunk::Float(leaf.chunk(row_group)?),
            Physical::DOUBLE => AnyChunk::Double(leaf.chunk(row_group)?),
            Physical::BYTE_ARRAY => AnyChunk::Bytes(leaf.chunk(row_group)?),
            Physical::FIXED_LEN_BYTE_ARRAY => AnyChunk::Fixed(leaf.chunk(row_group)?),
        })
    }

    /// Gives the values of the next rows to `use_row`; false after the last row.
    fn next_rows(
        &mut self,
        mut use_row: impl FnMut(Option<Value>) -> Result<(), Error>,
    ) -> Result<bool, Error> {
        loop {
            let left = match &self.chunk {
                Some(any) => with_chunk!(any, chunk, _make => chunk.left),
                None => 0,
            };
            if left > 0 {
                break;
            }
            if self.next_row_group >= self.leaf.metadata.num_row_groups() {
                return Ok(false);
            }
            self.chunk = Some(self.begin(self.next_row_group)?);
            self.next_row_group += 1;
        }
        let Some(any) = &mut self.chunk else {
            return Ok(false);
        };
        self.pace.begin();
        while let Some(step) = self.pace.next() {
            let (mut rows, mut bytes) = (0, 0);
            let mut counted = |value: Option<Value>| {
                rows += 1;
                bytes += match &value {
                    Some(Value::Bytes(bytes)) => bytes.len() as u64,
                    _ => 8,
                };
                use_row(value)
            };
            let left = with_chunk!(&mut *any, chunk, make => {
                self.leaf.read(chunk, step, |value| counted(value.map(make)))?;
                chunk.left
            });
            if left == 0 {
                break;
            }
            self.pace.learn(rows, bytes);
        }
        Ok(true)
    }

    /// The error of a value that its type does not allow.
    fn bad_value(leaf_path: &Path, column: &str, message: String) -> Error {
        Error::Parquet {
            path: leaf_path.to_path_buf(),
            place: format!("column `{column}`"),
            message,
        }
    }
}

/// An INT96 timestamp in nanoseconds since 1970: a Julian day and the nanoseconds in it.
fn int96_nanoseconds(value: &Int96) -> i128 {
    const JULIAN_1970: i128 = 2_440_588;
    const DAY: i128 = 86_400_000_000_000;
    let word = |index: usize| value.data().get(index).copied().unwrap_or(0);
    let day = i128::from(word(2).cast_signed()) - JULIAN_1970;
    let nanoseconds = (u64::from(word(1)) << 32 | u64::from(word(0))).cast_signed();
    day * DAY + i128::from(nanoseconds)
}

/// A half-precision float (IEEE 754 binary16, little-endian), exactly.
fn half(bytes: [u8; 2]) -> f64 {
    let bits = u16::from_le_bytes(bytes);
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let exponent = i32::from(bits >> 10 & 0x1f);
    let fraction = f64::from(bits & 0x3ff);
    let power = |exponent: i32| f64::from_bits(((exponent + 1023) as u64) << 52);
    sign * match exponent {
        0 => fraction * power(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (fraction + 1024.0) * power(exponent - 25),
    }
}

#[cfg(test)]
mod tests;
