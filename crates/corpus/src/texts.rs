//! Small files with given texts, for tests.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

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
    let schema: SchemaRef = Arc::new(Schema::new(vec![
        Field::new("id", DataType::Utf8, false),
        Field::new("text", DataType::Utf8, true),
    ]));
    let properties = files::properties(rows_per_row_group, 1)?.build();
    let mut writer = files::create(path, &schema, properties)?;
    let (mut ids, mut values, mut bytes) = (StringBuilder::new(), StringBuilder::new(), 0);
    for (number, &text) in texts.iter().enumerate() {
        ids.append_value(format!("d{number}"));
        values.append_option(text);
        bytes += text.map_or(0, str::len);
        if bytes >= BATCH_BYTES || number + 1 == texts.len() {
            let columns: Vec<ArrayRef> = vec![Arc::new(ids.finish()), Arc::new(values.finish())];
            writer.write(&RecordBatch::try_new(Arc::clone(&schema), columns)?)?;
            bytes = 0;
        }
    }
    files::close(writer)?;
    Ok(())
}
