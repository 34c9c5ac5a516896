//! The two columns that `annotate` adds, written.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, CompressionCodec};
use parquet::column::writer::{
    ColumnCloseResult, ColumnWriter, ColumnWriterImpl, get_column_writer,
};
use parquet::data_type::{BoolType, Int64Type};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};

use super::column::{BATCH_ROWS, Context};
use super::form::Indexed;
use super::input::codec;
use super::selection::{Selection, checked};
use super::{Decisions, copy};
use crate::Error;
use crate::open::guard;

/// Writes the two added columns of a row group to `sink`, and returns them in their order.
pub(super) fn annotate<W: Write + Send>(
    context: Context<'_>,
    decisions: &dyn Decisions,
    sink: &mut TrackedWrite<W>,
) -> Result<Vec<ColumnCloseResult>, Error> {
    let Context { input, group, .. } = context;
    let columns = input.output.descr.columns();
    let added = columns.get(input.output.leaves.len()..).unwrap_or_default();
    let [cluster, keep] = added else {
        return Ok(Vec::new());
    };
    let place = format!("row group {group}, added columns");
    guard(&input.path, &place, || {
        let properties = Arc::new(added_properties(context)?);
        let mut closes = Vec::with_capacity(2);
        for column in [cluster, keep] {
            let pages = Box::new(SerializedPageWriter::new(sink));
            let writer = get_column_writer(column.clone(), Arc::clone(&properties), pages);
            closes.push(match writer {
                ColumnWriter::Int64ColumnWriter(writer) => {
                    write_clusters(context, decisions, writer, &place)?
                }
                ColumnWriter::BoolColumnWriter(writer) => {
                    write_keeps(context, decisions, writer, &place)?
                }
                _ => return Err(input.damaged(place.clone(), "an added column has another type")),
            });
        }
        Ok(closes)
    })
}

/// Whether any chunk of the row group has page indexes.
fn has_index(context: Context<'_>) -> Indexed {
    let Context { input, group, .. } = context;
    let mut any = Indexed {
        columns: false,
        offsets: false,
    };
    for leaf in &input.output.leaves {
        let (columns, offsets) = copy::index(input, group, *leaf);
        any.columns |= columns.is_some();
        any.offsets |= offsets.is_some();
    }
    any
}

/// The codec of the row group's first column, chunk statistics, and page indexes if it has any.
fn added_properties(context: Context<'_>) -> Result<WriterProperties, Error> {
    let Context { input, group, .. } = context;
    let first = input.group(group)?.columns().first();
    let named = first.map_or(CompressionCodec::UNCOMPRESSED, |chunk| {
        chunk.compression_codec()
    });
    let indexed = has_index(context);
    let statistics = match indexed.columns {
        true => EnabledStatistics::Page,
        false => EnabledStatistics::Chunk,
    };
    Ok(WriterProperties::builder()
        .set_compression(codec(named, None).unwrap_or(Compression::UNCOMPRESSED))
        .set_statistics_enabled(statistics)
        .set_offset_index_disabled(!indexed.offsets)
        .build())
}

fn write_clusters(
    context: Context<'_>,
    decisions: &dyn Decisions,
    mut writer: ColumnWriterImpl<'_, Int64Type>,
    place: &str,
) -> Result<ColumnCloseResult, Error> {
    let path = &context.input.path;
    let failed = |error| Error::parquet(path, place, error);
    let rows = context.input.rows(context.group);
    let count = rows.end - rows.start;
    let mut clustered = checked(path, decisions, rows)?.peekable();
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    for row in 0..count {
        let decision = clustered.next_if(|next| match next {
            Ok((at, _)) => *at == row,
            Err(_) => true,
        });
        levels.push(i16::from(decision.is_some()));
        if let Some(decision) = decision {
            values.push(decision?.1.cluster);
        }
        if levels.len() as u64 == BATCH_ROWS || row + 1 == count {
            writer
                .write_batch(&values, Some(&levels), None)
                .map_err(failed)?;
            values.clear();
            levels.clear();
            if (context.cancelled)() {
                return Err(Error::Cancelled);
            }
        }
    }
    writer.close().map_err(failed)
}

fn write_keeps(
    context: Context<'_>,
    decisions: &dyn Decisions,
    mut writer: ColumnWriterImpl<'_, BoolType>,
    place: &str,
) -> Result<ColumnCloseResult, Error> {
    let path = &context.input.path;
    let failed = |error| Error::parquet(path, place, error);
    let rows = context.input.rows(context.group);
    let selection = Selection::read(path, decisions, rows)?;
    let mut values = Vec::new();
    for row in 0..selection.rows() {
        values.push(selection.keeps(row));
        if values.len() as u64 == BATCH_ROWS || row + 1 == selection.rows() {
            writer.write_batch(&values, None, None).map_err(failed)?;
            values.clear();
        }
    }
    writer.close().map_err(failed)
}
