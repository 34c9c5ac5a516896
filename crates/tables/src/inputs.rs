//! `inputs.parquet`: the input files in document order.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder, StringBuilder};
use arrow_array::{Array, Int64Array, ListArray, StringArray, cast::AsArray, types::Int64Type};
use arrow_schema::{DataType, Field, Schema};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use records::{Provenance, SignedFile, Stage};
use workdir::{Output, Receipt, WorkDir};

use crate::Error;
use crate::io::{TableReader, TableWriter, column, loaded, stored};

/// The kind in the provenance.
pub const KIND: &str = "inputs";
/// The format version.
pub const FORMAT: u32 = 2;

/// An input file as `sign` found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFile {
    /// The canonical path.
    pub path: String,
    /// The path relative to its root, and so that of its output.
    pub relative: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its time of modification in nanoseconds since 1970.
    pub modified_ns: i64,
    /// Its rows.
    pub rows: u64,
    /// The id of its first document: the number of rows before it.
    pub first_doc: u64,
    /// Uncompressed bytes of its text column.
    pub text_bytes: u64,
    /// Its largest row group as it is stored, in bytes.
    pub largest_stored_group_bytes: u64,
    /// Uncompressed bytes of text of its largest row group.
    pub largest_text_group_bytes: u64,
    /// Its Parquet schema, as text.
    pub schema: String,
    /// The fingerprint of footer and sampled text blocks, 32 hexadecimal digits.
    pub fingerprint: String,
    /// Its signature shards, in row order, as names in the work folder.
    pub shards: Vec<String>,
    /// The rows of each shard.
    pub shard_rows: Vec<u64>,
}

impl InputFile {
    /// Whether a file that was listed with this relative path, size and time of modification is
    /// taken to be this one without a look into it.
    pub fn looks_like(&self, relative: &str, bytes: u64, modified_ns: i64) -> bool {
        self.relative == relative && self.bytes == bytes && self.modified_ns == modified_ns
    }

    /// What identifies the file.
    pub fn identity(&self) -> SignedFile<'_> {
        SignedFile {
            path: &self.path,
            relative: &self.relative,
            rows: self.rows,
            fingerprint: &self.fingerprint,
        }
    }
}

fn schema() -> Schema {
    let list = |name: &str, item: DataType| {
        let item = Field::new("item", item, false);
        Field::new(name, DataType::List(Arc::new(item)), false)
    };
    Schema::new(vec![
        Field::new("path", DataType::Utf8, false),
        Field::new("relative", DataType::Utf8, false),
        Field::new("bytes", DataType::Int64, false),
        Field::new("modified_ns", DataType::Int64, false),
        Field::new("rows", DataType::Int64, false),
        Field::new("first_doc", DataType::Int64, false),
        Field::new("text_bytes", DataType::Int64, false),
        Field::new("largest_stored_group_bytes", DataType::Int64, false),
        Field::new("largest_text_group_bytes", DataType::Int64, false),
        Field::new("schema", DataType::Utf8, false),
        Field::new("fingerprint", DataType::Utf8, false),
        list("shards", DataType::Utf8),
        list("shard_rows", DataType::Int64),
    ])
}

/// Writes the table.
///
/// # Errors
/// When it cannot be written.
pub fn write(
    work: &WorkDir,
    provenance: &Provenance,
    files: &[InputFile],
) -> Result<Output, Error> {
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let properties = WriterProperties::builder().set_compression(zstd);
    let mut writer = TableWriter::create(&work.inputs(), schema(), properties, provenance, &[])?;
    for files in files.chunks(1024) {
        let text = |get: fn(&InputFile) -> &str| {
            Arc::new(StringArray::from_iter_values(files.iter().map(get)))
        };
        let number = |get: fn(&InputFile) -> i64| {
            Arc::new(Int64Array::from_iter_values(files.iter().map(get)))
        };
        let item = |data_type| Field::new("item", data_type, false);
        let mut shards = ListBuilder::new(StringBuilder::new()).with_field(item(DataType::Utf8));
        let mut rows = ListBuilder::new(Int64Builder::new()).with_field(item(DataType::Int64));
        for file in files {
            shards.append_value(file.shards.iter().map(Some));
            rows.append_value(file.shard_rows.iter().map(|&rows| Some(stored(rows))));
        }
        writer.write(vec![
            text(|file| &file.path),
            text(|file| &file.relative),
            number(|file| stored(file.bytes)),
            number(|file| file.modified_ns),
            number(|file| stored(file.rows)),
            number(|file| stored(file.first_doc)),
            number(|file| stored(file.text_bytes)),
            number(|file| stored(file.largest_stored_group_bytes)),
            number(|file| stored(file.largest_text_group_bytes)),
            text(|file| &file.schema),
            text(|file| &file.fingerprint),
            Arc::new(shards.finish()),
            Arc::new(rows.finish()),
        ])?;
    }
    writer.finish(work)
}

/// The files that the last run of `sign` found, by path; none where it looked at another text
/// column, and where there is no such table or a damaged one: the stages that need it say so, and
/// whoever asks what is known already looks into the files themselves.
pub fn last_run(work: &WorkDir, text: &str) -> HashMap<String, InputFile> {
    let Some(receipt) = Receipt::load(work, Stage::Sign) else {
        return HashMap::new();
    };
    if receipt.settings.get("input.text").map(String::as_str) != Some(text) {
        return HashMap::new();
    }
    let list = work.name_of(&work.inputs());
    if receipt.verify(work, 1, |name| name == list).is_err() {
        return HashMap::new();
    }
    let expected = receipt.provenance(KIND, FORMAT);
    read(&work.inputs(), &expected, &work.receipt(Stage::Sign))
        .unwrap_or_default()
        .into_iter()
        .map(|file| (file.path.clone(), file))
        .collect()
}

/// Reads the table; its settings have to be `expected`, as the receipt `against` says.
///
/// # Errors
/// When it cannot be read, was made with other settings, or is not such a table.
pub fn read(path: &Path, expected: &Provenance, against: &Path) -> Result<Vec<InputFile>, Error> {
    let columns: Vec<usize> = (0..schema().fields().len()).collect();
    let mut reader = TableReader::open(path, expected, against, &columns, 1024)?;
    let mut files = Vec::new();
    while let Some(batch) = reader.next()? {
        let text = |name: &str| column::<StringArray>(path, &batch, name);
        let number = |name: &str| column::<Int64Array>(path, &batch, name);
        let list = |name: &str| column::<ListArray>(path, &batch, name);
        let (paths, relatives, schemas) = (text("path")?, text("relative")?, text("schema")?);
        let (bytes, modified) = (number("bytes")?, number("modified_ns")?);
        let (rows, first) = (number("rows")?, number("first_doc")?);
        let text_bytes = number("text_bytes")?;
        let largest_stored = number("largest_stored_group_bytes")?;
        let largest_text = number("largest_text_group_bytes")?;
        let (fingerprints, shards) = (text("fingerprint")?, list("shards")?);
        let shard_rows = list("shard_rows")?;
        for i in 0..batch.num_rows() {
            let names = shards.value(i);
            let names = names
                .as_string_opt::<i32>()
                .ok_or_else(|| Error::shape(path, "its shards have no names"))?;
            let counts = shard_rows.value(i);
            let counts = counts
                .as_primitive_opt::<Int64Type>()
                .ok_or_else(|| Error::shape(path, "its shards have no counts"))?;
            files.push(InputFile {
                path: paths.value(i).to_owned(),
                relative: relatives.value(i).to_owned(),
                bytes: loaded(path, bytes.value(i))?,
                modified_ns: modified.value(i),
                rows: loaded(path, rows.value(i))?,
                first_doc: loaded(path, first.value(i))?,
                text_bytes: loaded(path, text_bytes.value(i))?,
                largest_stored_group_bytes: loaded(path, largest_stored.value(i))?,
                largest_text_group_bytes: loaded(path, largest_text.value(i))?,
                schema: schemas.value(i).to_owned(),
                fingerprint: fingerprints.value(i).to_owned(),
                shards: (0..names.len())
                    .map(|j| names.value(j).to_owned())
                    .collect(),
                shard_rows: counts
                    .values()
                    .iter()
                    .map(|&rows| loaded(path, rows))
                    .collect::<Result<_, _>>()?,
            });
        }
    }
    Ok(files)
}
