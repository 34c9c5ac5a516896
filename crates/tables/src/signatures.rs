//! `signatures/`: a row for every row of an input file, in order.
//!
//! | column | type | content |
//! |---|---|---|
//! | `row` | int64 | the row in the input file |
//! | `signature` | list of uint32 | k slots; null where there is nothing to compare |
//! | `text_hash` | 16 bytes | XXH3-128 of the normalised text, big-endian; null as above |
//! | `text_bytes` | int64 | bytes of the raw text; null where the text is null |
//! | `normalised_bytes` | int64 | bytes of the normalised text |
//! | `shingles` | int64 | shingles, repeats included |
//!
//! Shards carry no document id: they hold for the rows of their file whatever other files there
//! are. Pages are plain and not compressed, since hashes do not compress.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{FixedSizeBinaryBuilder, Int64Builder, ListBuilder, UInt32Builder};
use arrow_array::{Array, FixedSizeBinaryArray, Int64Array, ListArray, UInt32Array};
use arrow_schema::{DataType, Field, Schema};
use parquet::basic::Compression;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use records::Provenance;
use records::pods::TextIdentity;
use workdir::{Output, WorkDir};

use crate::Error;
use crate::io::{TableReader, TableWriter, column, loaded, stored};

/// The kind in the provenance.
pub const KIND: &str = "signatures";
/// The format version.
pub const FORMAT: u32 = 1;

/// Rows that pass at once.
const BATCH_ROWS: usize = 1024;
/// A row group holds about this many bytes of signatures, which its writer keeps in memory.
const ROW_GROUP_BYTES: usize = 4 << 20;

/// What `sign` knows of a document that has something to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature<'a> {
    /// The k slots.
    pub slots: &'a [u32],
    /// XXH3-128 of the normalised text.
    pub text_hash: u128,
    /// Bytes of the normalised text.
    pub normalised_bytes: u64,
    /// Shingles, repeats included.
    pub shingles: u64,
}

fn slot_item() -> Arc<Field> {
    Arc::new(Field::new("item", DataType::UInt32, false))
}

fn schema() -> Schema {
    Schema::new(vec![
        Field::new("row", DataType::Int64, false),
        Field::new("signature", DataType::List(slot_item()), true),
        Field::new("text_hash", DataType::FixedSizeBinary(16), true),
        Field::new("text_bytes", DataType::Int64, true),
        Field::new("normalised_bytes", DataType::Int64, false),
        Field::new("shingles", DataType::Int64, false),
    ])
}

/// Writes a shard, row by row.
pub struct SignatureWriter {
    table: TableWriter,
    first_row: u64,
    rows: u64,
    pending: usize,
    signature: ListBuilder<UInt32Builder>,
    text_hash: FixedSizeBinaryBuilder,
    text_bytes: Int64Builder,
    normalised_bytes: Int64Builder,
    shingles: Int64Builder,
}

impl SignatureWriter {
    /// Bytes that a writer holds at most, beside the row being pushed.
    pub fn memory_bytes(k: u32) -> u64 {
        // The row group being encoded, a batch being built, and the pages and buffers of both.
        let row = 4 * u64::from(k) + 64;
        2 * ROW_GROUP_BYTES as u64 + 3 * BATCH_ROWS as u64 * row + (1 << 20)
    }

    /// Begins the shard `path`, whose first row is `first_row` of its input file.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(
        path: &Path,
        provenance: &Provenance,
        k: u32,
        first_row: u64,
    ) -> Result<Self, Error> {
        let rows = (ROW_GROUP_BYTES / (4 * k as usize).max(1)).max(BATCH_ROWS);
        let properties = WriterProperties::builder()
            .set_compression(Compression::UNCOMPRESSED)
            .set_dictionary_enabled(false)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_offset_index_disabled(true)
            .set_max_row_group_row_count(Some(rows));
        Ok(Self {
            table: TableWriter::create(path, schema(), properties, provenance, &[])?,
            first_row,
            rows: 0,
            pending: 0,
            signature: ListBuilder::new(UInt32Builder::new()).with_field(slot_item()),
            text_hash: FixedSizeBinaryBuilder::new(16),
            text_bytes: Int64Builder::new(),
            normalised_bytes: Int64Builder::new(),
            shingles: Int64Builder::new(),
        })
    }

    /// Appends the next row. `text_bytes` is none for a null text, `signature` where there is
    /// nothing to compare.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn push(
        &mut self,
        text_bytes: Option<u64>,
        signature: Option<Signature<'_>>,
    ) -> Result<(), Error> {
        self.text_bytes.append_option(text_bytes.map(stored));
        match signature {
            Some(signature) => {
                self.signature.values().append_slice(signature.slots);
                self.signature.append(true);
                let hash = signature.text_hash.to_be_bytes();
                // Cannot fail: 16 bytes go into a builder of 16 bytes.
                self.text_hash
                    .append_value(hash)
                    .map_err(Error::parquet("write", Path::new("text_hash")))?;
                self.normalised_bytes
                    .append_value(stored(signature.normalised_bytes));
                self.shingles.append_value(stored(signature.shingles));
            }
            None => {
                self.signature.append(false);
                self.text_hash.append_null();
                self.normalised_bytes.append_value(0);
                self.shingles.append_value(0);
            }
        }
        self.rows += 1;
        self.pending += 1;
        if self.pending == BATCH_ROWS {
            self.write_batch()?;
        }
        Ok(())
    }

    fn write_batch(&mut self) -> Result<(), Error> {
        let end = self.first_row + self.rows;
        let begin = end - self.pending as u64;
        let rows = Int64Array::from_iter_values((begin..end).map(stored));
        self.pending = 0;
        self.table.write(vec![
            Arc::new(rows),
            Arc::new(self.signature.finish()),
            Arc::new(self.text_hash.finish()),
            Arc::new(self.text_bytes.finish()),
            Arc::new(self.normalised_bytes.finish()),
            Arc::new(self.shingles.finish()),
        ])
    }

    /// Ends the shard and gives it its name; with the number of its rows.
    ///
    /// # Errors
    /// When the file cannot be written, synced or renamed.
    pub fn finish(mut self, work: &WorkDir) -> Result<(Output, u64), Error> {
        if self.pending > 0 {
            self.write_batch()?;
        }
        Ok((self.table.finish(work)?, self.rows))
    }
}

/// Which columns a scan needs, beside the row itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// The slots.
    pub slots: bool,
    /// Hash and length of the normalised text.
    pub identity: bool,
    /// Length of the raw text.
    pub text_bytes: bool,
}

/// Reads a shard in batches.
pub struct SignatureReader {
    path: PathBuf,
    k: usize,
    columns: Columns,
    table: TableReader,
}

impl SignatureReader {
    /// Opens a shard whose settings have to be `expected`, as the receipt `against` says.
    ///
    /// # Errors
    /// When it cannot be read, was made with other settings, or is not such a table.
    pub fn open(
        path: &Path,
        expected: &Provenance,
        against: &Path,
        k: u32,
        columns: Columns,
    ) -> Result<Self, Error> {
        let wanted: Vec<usize> = [
            (columns.slots, vec![1]),
            (columns.identity, vec![2, 4]),
            (columns.text_bytes, vec![3]),
        ]
        .into_iter()
        .filter_map(|(wanted, columns)| wanted.then_some(columns))
        .flatten()
        .collect();
        Ok(Self {
            path: path.to_owned(),
            k: k as usize,
            columns,
            table: TableReader::open(path, expected, against, &wanted, BATCH_ROWS)?,
        })
    }

    /// The next batch, none at the end.
    ///
    /// # Errors
    /// When the file cannot be read or a signature has not k slots.
    pub fn next_batch(&mut self) -> Result<Option<SignatureBatch>, Error> {
        let Some(batch) = self.table.next()? else {
            return Ok(None);
        };
        let path = &self.path;
        let mut result = SignatureBatch {
            path: path.clone(),
            rows: batch.num_rows(),
            k: self.k,
            slots: None,
            identity: None,
            text_bytes: None,
        };
        if self.columns.slots {
            let lists: ListArray = column(path, &batch, "signature")?;
            let slots = lists
                .values()
                .as_any()
                .downcast_ref::<UInt32Array>()
                .ok_or_else(|| Error::shape(path, "its signatures are not uint32"))?
                .clone();
            result.slots = Some((lists, slots));
        }
        if self.columns.identity {
            let hash: FixedSizeBinaryArray = column(path, &batch, "text_hash")?;
            result.identity = Some((hash, column(path, &batch, "normalised_bytes")?));
        }
        if self.columns.text_bytes {
            result.text_bytes = Some(column(path, &batch, "text_bytes")?);
        }
        Ok(Some(result))
    }
}

/// Some rows of a shard. The columns that were not asked for read as absent.
pub struct SignatureBatch {
    path: PathBuf,
    rows: usize,
    k: usize,
    slots: Option<(ListArray, UInt32Array)>,
    identity: Option<(FixedSizeBinaryArray, Int64Array)>,
    text_bytes: Option<Int64Array>,
}

impl SignatureBatch {
    /// Rows in the batch.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The k slots of row `i`; none where there is nothing to compare.
    ///
    /// # Errors
    /// When the stored signature has not k slots.
    pub fn slots(&self, i: usize) -> Result<Option<&[u32]>, Error> {
        let Some((lists, slots)) = &self.slots else {
            return Ok(None);
        };
        if lists.is_null(i) {
            return Ok(None);
        }
        let offsets = lists.value_offsets();
        let (begin, end) = (offsets[i] as usize, offsets[i + 1] as usize);
        match slots.values().get(begin..end) {
            Some(slots) if slots.len() == self.k => Ok(Some(slots)),
            _ => Err(Error::shape(
                &self.path,
                format!("a signature has {} slots, not {}", end - begin, self.k),
            )),
        }
    }

    /// Hash and length of the normalised text of row `i`, which is document `doc`; none where
    /// there is nothing to compare.
    ///
    /// # Errors
    /// When the stored length is negative.
    pub fn identity(&self, i: usize, doc: u64) -> Result<Option<TextIdentity>, Error> {
        let Some((hashes, lengths)) = &self.identity else {
            return Ok(None);
        };
        if hashes.is_null(i) {
            return Ok(None);
        }
        let mut bytes = [0u8; 16];
        bytes.copy_from_slice(hashes.value(i));
        let hash = u128::from_be_bytes(bytes);
        Ok(Some(TextIdentity {
            hash_high: (hash >> 64) as u64,
            hash_low: hash as u64,
            normalised_bytes: loaded(&self.path, lengths.value(i))?,
            doc,
        }))
    }

    /// Bytes of the raw text of row `i`; none for a null text.
    ///
    /// # Errors
    /// When the stored length is negative.
    pub fn text_bytes(&self, i: usize) -> Result<Option<u64>, Error> {
        match &self.text_bytes {
            Some(lengths) if !lengths.is_null(i) => loaded(&self.path, lengths.value(i)).map(Some),
            _ => Ok(None),
        }
    }
}
