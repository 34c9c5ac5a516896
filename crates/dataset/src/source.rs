//! What the footer of an input file says, and whether the file is still the one that it was.

pub(crate) mod find;
pub(crate) mod kind;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::reader::Length;
use parquet::schema::printer::print_schema;
use records::SignedFile;
use records::settings::Input;
use xxhash_rust::xxh3::Xxh3Default;

use crate::error::Error;
use crate::list::Listed;
use crate::open::{self, MetadataNeeds, SharedFile};

/// Column chunks that the fingerprint looks into at most.
const MAX_SAMPLED_CHUNKS: usize = 64;
/// Bytes of a sampled block.
const SAMPLE_BYTES: u64 = 4 << 10;

/// A row group that is said to have more rows is damaged.
const MAX_GROUP_ROWS: u64 = 1 << 40;

/// What the footer says of one row group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowGroup {
    /// Its rows.
    pub rows: u64,
    /// The uncompressed size in bytes of its chunk of the text column.
    pub text_bytes: u64,
    /// The uncompressed size in bytes of all its column chunks.
    pub total_bytes: u64,
    /// The size in bytes of all its column chunks as they are stored.
    pub stored_bytes: u64,
}

/// What the footer of an input file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file.
    pub listed: Listed,
    /// Its rows.
    pub rows: u64,
    /// Its row groups, in their order.
    pub row_groups: Vec<RowGroup>,
    /// Its schema as the text of a Parquet message type.
    pub schema: String,
    /// A hash of its length, its footer and samples of its text: see [`unchanged`].
    pub fingerprint: u128,
}

impl Source {
    /// Uncompressed bytes of the text column.
    pub fn text_bytes(&self) -> u64 {
        let bytes = self.row_groups.iter().map(|group| group.text_bytes);
        bytes.fold(0, u64::saturating_add)
    }

    /// The largest row group as it is stored, in bytes.
    pub fn largest_stored_group_bytes(&self) -> u64 {
        let bytes = self.row_groups.iter().map(|group| group.stored_bytes);
        bytes.max().unwrap_or_default()
    }

    /// Uncompressed bytes of text of the largest row group.
    pub fn largest_text_group_bytes(&self) -> u64 {
        let bytes = self.row_groups.iter().map(|group| group.text_bytes);
        bytes.max().unwrap_or_default()
    }

    /// The row group of a row of the file; the number of row groups if it has no such row.
    pub(crate) fn row_group_of(&self, row: u64) -> usize {
        let ends = self.row_groups.iter().scan(0_u64, |end, group| {
            *end = end.saturating_add(group.rows);
            Some(*end)
        });
        ends.take_while(|end| *end <= row).count()
    }
}

/// Reads the footer of a file, finds and checks the text column, and takes the fingerprint. `text`
/// is a top-level name (dots included) or else a dotted path into structs; the column holds strings
/// or binary, not lists of them.
///
/// Takes the footer's size in memory, and at most 768 KiB of reads beside it.
///
/// # Errors
///
/// A file that is not Parquet, cut short, damaged or encrypted; a text column that is missing,
/// ambiguous or of another type; I/O.
pub fn inspect(listed: &Listed, text: &str) -> Result<Source, Error> {
    let path = listed.path.as_path();
    let file = open::open(path)?;
    check_stamp(&file, listed)?;
    let metadata = open::metadata(&file, path, MetadataNeeds::Footer)?;
    open::guard(path, "footer", || {
        let schema = metadata.file_metadata().schema_descr();
        let leaf = find::find_text(schema, path, text)?;
        let row_groups = row_groups(&metadata, path, leaf)?;
        let mut message = Vec::new();
        print_schema(&mut message, schema.root_schema());
        Ok(Source {
            listed: listed.clone(),
            rows: total_rows(&metadata, path, &row_groups)?,
            row_groups,
            schema: String::from_utf8_lossy(&message).into_owned(),
            fingerprint: fingerprint(&file, path, &metadata, leaf)?,
        })
    })
}

/// Lists and inspects the input anew, and refuses it where it is not the files of `known`, in their
/// order.
///
/// # Errors
///
/// [`Error::SinceSigned`] with the first file that changed, went or came; as [`crate::list`] and
/// [`inspect`].
pub fn signed_sources<'a>(
    input: &Input,
    known: impl IntoIterator<Item = SignedFile<'a>>,
) -> Result<Vec<Source>, Error> {
    let mut listed = crate::list(&input.paths)?.files.into_iter();
    let mut sources = Vec::new();
    for known in known {
        let Some(listed) = listed.next() else {
            let path = PathBuf::from(known.path);
            return Err(Error::SinceSigned { path });
        };
        let source = inspect(&listed, &input.text)?;
        let same = listed.relative == known.relative
            && source.rows == known.rows
            && format!("{:032x}", source.fingerprint) == known.fingerprint;
        if !same {
            let path = listed.path;
            return Err(Error::SinceSigned { path });
        }
        sources.push(source);
    }
    match listed.next() {
        Some(added) => Err(Error::SinceSigned { path: added.path }),
        None => Ok(sources),
    }
}

/// Whether a file is the one that was recorded with `bytes`, `modified_ns` and `fingerprint`. Equal
/// size and time of modification suffice, without a read; with an equal size and another time the
/// fingerprint decides (a copy or a `touch` keeps it).
///
/// The fingerprint is XXH3-128 over the length, the footer, and the first, middle and last 4 KiB of
/// at most 64 evenly spaced chunks of the text column. Parquet's footer holds the offsets, sizes
/// and statistics of all chunks, so that a file that was written again hardly ever keeps it.
///
/// # Errors
///
/// As [`inspect`], where the file has to be read.
pub fn unchanged(
    listed: &Listed,
    bytes: u64,
    modified_ns: i64,
    fingerprint: u128,
    text: &str,
) -> Result<bool, Error> {
    if listed.bytes != bytes {
        return Ok(false);
    }
    if listed.modified_ns == modified_ns {
        return Ok(true);
    }
    Ok(inspect(listed, text)?.fingerprint == fingerprint)
}

/// Opens a file that was inspected, and checks that it is still the same.
pub(crate) fn reopen(source: &Source) -> Result<(SharedFile, Arc<ParquetMetaData>), Error> {
    let path = source.listed.path.as_path();
    let file = open::open(path)?;
    check_stamp(&file, &source.listed)?;
    let metadata = open::metadata(&file, path, MetadataNeeds::Footer)?;
    let same = metadata.num_row_groups() == source.row_groups.len()
        && metadata
            .row_groups()
            .iter()
            .zip(&source.row_groups)
            .all(|(now, then)| u64::try_from(now.num_rows()) == Ok(then.rows));
    if same {
        Ok((file, metadata))
    } else {
        Err(Error::Changed {
            path: path.to_path_buf(),
            found: "its row groups are others than before".to_owned(),
        })
    }
}

fn check_stamp(file: &SharedFile, listed: &Listed) -> Result<(), Error> {
    let (bytes, modified_ns) = open::stamp(file, &listed.path)?;
    let found = if bytes != listed.bytes {
        format!("it had {} bytes and has {bytes}", listed.bytes)
    } else if modified_ns != listed.modified_ns {
        "its time of modification is another".to_owned()
    } else {
        return Ok(());
    };
    Err(Error::Changed {
        path: listed.path.clone(),
        found,
    })
}

fn row_groups(
    metadata: &ParquetMetaData,
    path: &Path,
    leaf: usize,
) -> Result<Vec<RowGroup>, Error> {
    let groups = metadata.row_groups().iter().enumerate();
    groups
        .map(|(index, group)| {
            let chunk = group.columns().get(leaf);
            let refuse = |message: String| Error::Parquet {
                path: path.to_path_buf(),
                place: format!("row group {index}"),
                message,
            };
            // A text is not in a list, and nulls are counted. Rows that are not there would make a plan of them.
            if let Some(chunk) = chunk
                && chunk.num_values() != group.num_rows()
            {
                return Err(refuse(format!(
                    "it has {} rows, but column `{}` has {} values",
                    group.num_rows(),
                    chunk.column_path().string(),
                    chunk.num_values()
                )));
            }
            let sum = |size: fn(&ColumnChunkMetaData) -> i64| {
                group.columns().iter().try_fold(0_u64, |sum, chunk| {
                    sum.checked_add(u64::try_from(size(chunk)).ok()?)
                })
            };
            let sizes = (
                u64::try_from(group.num_rows()),
                chunk.map(|chunk| u64::try_from(chunk.uncompressed_size())),
                sum(ColumnChunkMetaData::uncompressed_size),
                sum(ColumnChunkMetaData::compressed_size),
            );
            match sizes {
                (Ok(rows), Some(Ok(text_bytes)), Some(total_bytes), Some(stored_bytes))
                    if rows <= MAX_GROUP_ROWS =>
                {
                    Ok(RowGroup {
                        rows,
                        text_bytes,
                        total_bytes,
                        stored_bytes,
                    })
                }
                _ => Err(refuse(
                    "its number of rows or the size of a column is impossible".to_owned(),
                )),
            }
        })
        .collect()
}

fn total_rows(
    metadata: &ParquetMetaData,
    path: &Path,
    row_groups: &[RowGroup],
) -> Result<u64, Error> {
    let said = metadata.file_metadata().num_rows();
    let sum = row_groups
        .iter()
        .try_fold(0_u64, |sum, group| sum.checked_add(group.rows))
        .filter(|sum| i64::try_from(*sum) == Ok(said));
    sum.ok_or_else(|| Error::Parquet {
        path: path.to_path_buf(),
        place: "footer".to_owned(),
        message: format!("it counts {said} rows, but its row groups have another number"),
    })
}

fn fingerprint(
    file: &SharedFile,
    path: &Path,
    metadata: &ParquetMetaData,
    leaf: usize,
) -> Result<u128, Error> {
    let mut hash = Xxh3Default::new();
    hash.update(&file.len().to_le_bytes());
    hash.update(&open::footer_bytes(file, path)?);
    let groups = metadata.row_groups();
    let sampled = groups.len().min(MAX_SAMPLED_CHUNKS);
    for sample in 0..sampled {
        // Evenly spaced, the first and the last among them.
        let index = sample * (groups.len() - 1) / (sampled - 1).max(1);
        let Some(chunk) = groups
            .get(index)
            .and_then(|group| group.columns().get(leaf))
        else {
            continue;
        };
        let place = format!(
            "row group {index}, column `{}`",
            chunk.column_path().string()
        );
        let (start, length) = open::chunk_range(file, path, &place, chunk)?;
        let block = length.min(SAMPLE_BYTES);
        let last = length - block;
        for offset in [0, last / 2, last] {
            // At most 4 KiB, so the length fits any usize.
            hash.update(&open::read_range(
                file,
                path,
                start + offset,
                block as usize,
            )?);
        }
    }
    Ok(hash.digest128())
}

#[cfg(test)]
mod tests;
