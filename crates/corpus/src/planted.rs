//! `planted.parquet`: every planted copy with its original.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;

use crate::files;
use crate::maker::Kind;

const BATCH_ROWS: usize = 8192;
const ROW_GROUP_ROWS: usize = 128 * 1024;

/// Writes the table as the copies come.
pub(crate) struct Planted {
    schema: SchemaRef,
    writer: ArrowWriter<File>,
    row: Int64Builder,
    file: StringBuilder,
    original: Int64Builder,
    kind: StringBuilder,
    edit_rate: Float64Builder,
    jaccard: Float64Builder,
    rows: usize,
}

impl Planted {
    pub(crate) fn create(path: &Path, zstd_level: i32) -> Result<Self> {
        let schema: SchemaRef = Arc::new(Schema::new(vec![
            Field::new("row", DataType::Int64, false),
            Field::new("file", DataType::Utf8, false),
            Field::new("original", DataType::Int64, false),
            Field::new("kind", DataType::Utf8, false),
            Field::new("edit_rate", DataType::Float64, false),
            Field::new("jaccard", DataType::Float64, false),
        ]));
        let properties = files::properties(ROW_GROUP_ROWS, zstd_level)?.build();
        Ok(Self {
            writer: files::create(path, &schema, properties)?,
            schema,
            row: Int64Builder::new(),
            file: StringBuilder::new(),
            original: Int64Builder::new(),
            kind: StringBuilder::new(),
            edit_rate: Float64Builder::new(),
            jaccard: Float64Builder::new(),
            rows: 0,
        })
    }

    pub(crate) fn push(
        &mut self,
        row: u64,
        file: &str,
        kind: Kind,
        original: u64,
        jaccard: f64,
    ) -> Result<()> {
        // The plan's check holds every row number within an i64.
        self.row.append_value(row as i64);
        self.file.append_value(file);
        self.original.append_value(original as i64);
        self.kind.append_value(kind.name());
        self.edit_rate.append_value(kind.edit_rate());
        self.jaccard.append_value(jaccard);
        self.rows += 1;
        if self.rows >= BATCH_ROWS {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn flush(&mut self) -> Result<()> {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.row.finish()),
            Arc::new(self.file.finish()),
            Arc::new(self.original.finish()),
            Arc::new(self.kind.finish()),
            Arc::new(self.edit_rate.finish()),
            Arc::new(self.jaccard.finish()),
        ];
        self.rows = 0;
        self.writer
            .write(&RecordBatch::try_new(Arc::clone(&self.schema), columns)?)?;
        Ok(())
    }

    /// Ends the file and gives its bytes.
    pub(crate) fn close(mut self) -> Result<u64> {
        self.flush()?;
        files::close(self.writer)
    }
}
