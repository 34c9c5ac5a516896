//! Writing and reading a table of ours: Arrow batches, with the provenance in the metadata.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::ColumnPath;
use records::Provenance;
use workdir::{AtomicFile, Output, WorkDir};

use crate::Error;

/// Writes batches of one schema to an atomic file.
pub(crate) struct TableWriter {
    path: PathBuf,
    schema: SchemaRef,
    writer: ArrowWriter<AtomicFile>,
}

impl TableWriter {
    /// Begins a table. `extra` are further metadata keys.
    pub(crate) fn create(
        path: &Path,
        schema: Schema,
        properties: WriterPropertiesBuilder,
        provenance: &Provenance,
        extra: &[(&str, String)],
    ) -> Result<Self, Error> {
        let json = serde_json::to_string(provenance).map_err(Error::parquet("write", path))?;
        let mut metadata = vec![KeyValue::new(Provenance::KEY.to_owned(), json)];
        let extra = extra
            .iter()
            .map(|(key, value)| KeyValue::new((*key).to_owned(), value.clone()));
        metadata.extend(extra);
        let properties = properties.set_key_value_metadata(Some(metadata)).build();
        let schema = Arc::new(schema);
        let file = AtomicFile::create(path)?;
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties))
            .map_err(Error::parquet("write", path))?;
        Ok(Self {
            path: path.to_owned(),
            schema,
            writer,
        })
    }

    /// Appends a batch, columns in the order of the schema.
    pub(crate) fn write(&mut self, columns: Vec<ArrayRef>) -> Result<(), Error> {
        let batch = RecordBatch::try_new(self.schema.clone(), columns)
            .map_err(Error::parquet("write", &self.path))?;
        self.writer
            .write(&batch)
            .map_err(Error::parquet("write", &self.path))
    }

    /// Ends the table and gives it its name.
    pub(crate) fn finish(self, work: &WorkDir) -> Result<Output, Error> {
        let file = self
            .writer
            .into_inner()
            .map_err(Error::parquet("write", &self.path))?;
        Ok(file.commit(work)?)
    }
}

/// Reads the batches of a table.
pub(crate) struct TableReader {
    path: PathBuf,
    reader: ParquetRecordBatchReader,
}

impl TableReader {
    /// Opens a table whose provenance has to be `expected`; `against` is the file that says so.
    /// `columns` picks top-level columns by number.
    pub(crate) fn open(
        path: &Path,
        expected: &Provenance,
        against: &Path,
        columns: &[usize],
        batch_rows: usize,
    ) -> Result<Self, Error> {
        let file = File::open(path).map_err(workdir::Error::io("open", path))?;
        let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())
            .map_err(Error::parquet("read", path))?;
        let found = provenance(path, &metadata)?;
        expected.check(&found).map_err(|mismatch| Error::Mismatch {
            path: path.to_owned(),
            against: against.to_owned(),
            mismatch,
        })?;
        let mask = ProjectionMask::roots(metadata.parquet_schema(), columns.iter().copied());
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata)
            .with_projection(mask)
            .with_batch_size(batch_rows)
            .build()
            .map_err(Error::parquet("read", path))?;
        Ok(Self {
            path: path.to_owned(),
            reader,
        })
    }

    /// The next batch, none at the end.
    pub(crate) fn next(&mut self) -> Result<Option<RecordBatch>, Error> {
        self.reader
            .next()
            .transpose()
            .map_err(Error::parquet("read", &self.path))
    }
}

fn provenance(path: &Path, metadata: &ArrowReaderMetadata) -> Result<Provenance, Error> {
    let keys = metadata.metadata().file_metadata().key_value_metadata();
    let json = keys
        .and_then(|keys| keys.iter().find(|pair| pair.key == Provenance::KEY))
        .and_then(|pair| pair.value.as_ref())
        .ok_or_else(|| Error::shape(path, "the settings are not in its metadata"))?;
    serde_json::from_str(json)
        .map_err(|error| Error::shape(path, format!("its settings are not understood ({error})")))
}

/// Properties of a table whose `ids` are columns of INT64 that hardly repeat: these take no
/// dictionary, whose hash table would be the largest thing in memory, but differences.
pub(crate) fn properties(ids: &[&str], row_group_rows: usize) -> WriterPropertiesBuilder {
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let properties = WriterProperties::builder()
        .set_compression(zstd)
        .set_max_row_group_row_count(Some(row_group_rows));
    ids.iter().fold(properties, |properties, id| {
        let path = ColumnPath::from(*id);
        properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED)
    })
}

/// The column of that name as an array of type `A`.
pub(crate) fn column<A: Array + Clone + 'static>(
    path: &Path,
    batch: &RecordBatch,
    name: &str,
) -> Result<A, Error> {
    let array = batch
        .column_by_name(name)
        .ok_or_else(|| Error::shape(path, format!("it has no column `{name}`")))?;
    array.as_any().downcast_ref::<A>().cloned().ok_or_else(|| {
        let what = format!("its column `{name}` is {}", array.data_type());
        Error::shape(path, what)
    })
}

/// An id or count that is stored as INT64.
pub(crate) fn stored(value: u64) -> i64 {
    // Ids are dense row numbers, and a table of 2^63 rows does not exist.
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// An id or count read back; negative values are damage.
pub(crate) fn loaded(path: &Path, value: i64) -> Result<u64, Error> {
    u64::try_from(value).map_err(|_| Error::shape(path, format!("it holds the count {value}")))
}
