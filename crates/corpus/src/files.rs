//! Parquet files as all of this crate's are written.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};

/// zstd, and row groups by rows alone, so that the same rows always make the same bytes.
pub(crate) fn properties(
    row_group_rows: usize,
    zstd_level: i32,
) -> Result<WriterPropertiesBuilder> {
    let level = ZstdLevel::try_new(zstd_level)?;
    Ok(WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_max_row_group_row_count(Some(row_group_rows.max(1)))
        .set_max_row_group_bytes(None))
}

/// Begins a new file; one that exists is never overwritten.
pub(crate) fn create(
    path: &Path,
    schema: &SchemaRef,
    properties: WriterProperties,
) -> Result<ArrowWriter<File>> {
    let file =
        File::create_new(path).with_context(|| format!("cannot create `{}`", path.display()))?;
    ArrowWriter::try_new(file, SchemaRef::clone(schema), Some(properties))
        .with_context(|| format!("cannot begin the Parquet file `{}`", path.display()))
}

/// Ends a file and gives its bytes.
pub(crate) fn close(mut writer: ArrowWriter<File>) -> Result<u64> {
    writer.finish().context("cannot end a Parquet file")?;
    Ok(writer.bytes_written() as u64)
}
