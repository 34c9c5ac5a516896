//! Files of two columns, `id` and `text`.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;

use crate::files;

/// A batch is written once its texts have this many bytes.
const BATCH_BYTES: usize = 4 << 20;

/// Writes the Parquet file `path` with the columns `id` (string, `d0`, `d1` and so on) and `text` (string), one
/// row for each of `texts` (`None` is null), in one row group (none for no texts). Parent folders are created.
///
/// # Errors
/// The file exists already or cannot be written.
pub fn write_texts(path: &Path, texts: &[Option<&str>]) -> Result<()> {
    write_texts_with(path, texts, texts.len().max(1))
}

/// As [`write_texts`], with a row group for each `rows_per_row_group` texts.
///
/// # Errors
/// `rows_per_row_group` is 0, or the file exists already or cannot be written.
pub fn write_texts_with(
    path: &Path,
    texts: &[Option<&str>],
    rows_per_row_group: usize,
) -> Result<()> {
    ensure!(
        rows_per_row_group > 0,
        "rows per row group = 0 holds no text; it must be at least 1"
    );
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)
            .with_context(|| format!("cannot create the folder `{}`", parent.display()))?;
    }
    write(path, texts, rows_per_row_group)
        .with_context(|| format!("cannot write the texts to `{}`", path.display()))
}

fn write(path: &Path, texts: &[Option<&str>], rows_per_row_group: usize) -> Result<()> {
    let mut file = TextFile::create(path, rows_per_row_group)?;
    for (number, &text) in (0..).zip(texts) {
        file.push(number, text)?;
    }
    file.close()?;
    Ok(())
}

/// A file of ids and texts that is written as they come. Holds a batch of texts and, compressed, a row group.
pub(crate) struct TextFile {
    schema: SchemaRef,
    writer: ArrowWriter<File>,
    ids: StringBuilder,
    texts: StringBuilder,
    bytes: usize,
}

impl TextFile {
    /// Begins a new file.
    pub(crate) fn create(path: &Path, rows_per_row_group: usize) -> Result<Self> {
        let schema: SchemaRef = Arc::new(Schema::new(vec![
            Field::new("id", DataType::Utf8, false),
            Field::new("text", DataType::Utf8, true),
        ]));
        let properties = files::properties(rows_per_row_group, 1)?.build();
        Ok(Self {
            writer: files::create(path, &schema, properties)?,
            schema,
            ids: StringBuilder::new(),
            texts: StringBuilder::new(),
            bytes: 0,
        })
    }

    /// Appends a row with the id `d<number>`.
    pub(crate) fn push(&mut self, number: u64, text: Option<&str>) -> Result<()> {
        self.ids.append_value(format!("d{number}"));
        self.texts.append_option(text);
        self.bytes += text.map_or(0, str::len);
        if self.bytes >= BATCH_BYTES {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn flush(&mut self) -> Result<()> {
        let columns: Vec<ArrayRef> =
            vec![Arc::new(self.ids.finish()), Arc::new(self.texts.finish())];
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
        self.bytes = 0;
        if batch.num_rows() > 0 {
            self.writer.write(&batch)?;
        }
        Ok(())
    }

    /// Ends the file and gives its bytes.
    pub(crate) fn close(mut self) -> Result<u64> {
        self.flush()?;
        files::close(self.writer)
    }
}
