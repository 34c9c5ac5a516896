//! Column chunks and what belongs to them, taken over as they are.

use parquet::basic::{ColumnOrder, LogicalType, Type as PhysicalType};
use parquet::bloom_filter::Sbbf;
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::page_index::offset_index::OffsetIndexMetaData;
use parquet::file::statistics::{Statistics, ValueStatistics};

use super::input::Input;
use crate::Error;
use crate::open::{chunk_range, guard};

/// A chunk of the input to be copied: where its bytes are and what describes them.
pub(super) struct Copied {
    /// The first byte in the input.
    pub(super) start: u64,
    /// How many bytes.
    pub(super) bytes: u64,
    /// Its description, with the input's positions.
    pub(super) close: ColumnCloseResult,
}

/// The chunk of a column, checked to lie where a chunk can.
pub(super) fn chunk(input: &Input, group: usize, leaf: usize) -> Result<Copied, Error> {
    let place = input.place(group, leaf);
    let chunk = input.chunk(group, leaf)?;
    let (start, bytes) = chunk_range(&input.file, &input.path, &place, chunk)?;
    let data = u64::try_from(chunk.data_page_offset()).unwrap_or(u64::MAX);
    let inside = data >= start && data - start < bytes.max(1);
    // The magic stands before any chunk; a chunk without values has no data page to point to.
    if (bytes > 0 && start < 4) || (chunk.num_values() != 0 && !inside) {
        return Err(input.damaged(place, "its pages do not lie in the column chunk"));
    }
    let rows = input.rows(group);
    let (column_index, offset_index) = index(input, group, leaf);
    let close = ColumnCloseResult {
        bytes_written: bytes,
        rows_written: rows.end - rows.start,
        metadata: chunk.clone(),
        bloom_filter: bloom(input, &place, chunk)?,
        column_index: column_index.cloned(),
        offset_index: offset_index.cloned(),
    };
    Ok(Copied {
        start,
        bytes,
        close,
    })
}

/// The page indexes of a column chunk.
pub(super) fn index(
    input: &Input,
    group: usize,
    leaf: usize,
) -> (Option<&ColumnIndexMetaData>, Option<&OffsetIndexMetaData>) {
    let Some(index) = input.metadata.page_index() else {
        return (None, None);
    };
    (
        index.column_index(group, leaf),
        index.offset_index(group, leaf),
    )
}

/// The Bloom filter of a column chunk.
pub(super) fn bloom(
    input: &Input,
    place: &str,
    chunk: &ColumnChunkMetaData,
) -> Result<Option<Sbbf>, Error> {
    guard(&input.path, place, || {
        let length = chunk.bloom_filter_length();
        let fits = length.is_none_or(|bytes| bytes >= 0);
        if !fits {
            return Err(input.damaged(place.to_owned(), "its Bloom filter has a negative length"));
        }
        Sbbf::read_from_column_chunk(chunk, &input.file)
            .map_err(|error| Error::parquet(&input.path, place, error))
    })
}

/// The description of a chunk whose bytes moved by `shift`.
///
/// Built anew, as the crate's own copying does, since it cannot unset what lies elsewhere in the
/// input: the obsolete `file_offset`, indexes and Bloom filter.
pub(super) fn moved(
    chunk: &ColumnChunkMetaData,
    shift: i64,
) -> Result<ColumnChunkMetaData, ParquetError> {
    let dictionary = chunk.dictionary_page_offset().map(|offset| offset + shift);
    let data = match (chunk.num_values(), chunk.data_page_offset()) {
        (0, 0) => 0,
        (_, offset) => offset + shift,
    };
    let mut builder = ColumnChunkMetaData::builder(chunk.column_descr_ptr())
        .set_compression_codec(chunk.compression_codec())
        .set_encodings_mask(*chunk.encodings_mask())
        .set_total_compressed_size(chunk.compressed_size())
        .set_total_uncompressed_size(chunk.uncompressed_size())
        .set_num_values(chunk.num_values())
        .set_data_page_offset(data)
        .set_dictionary_page_offset(dictionary)
        .set_unencoded_byte_array_data_bytes(chunk.unencoded_byte_array_data_bytes())
        .set_repetition_level_histogram(chunk.repetition_level_histogram().cloned())
        .set_definition_level_histogram(chunk.definition_level_histogram().cloned());
    if let Some(statistics) = chunk.statistics() {
        builder = builder.set_statistics(statistics.clone());
    }
    if let Some(statistics) = chunk.geo_statistics() {
        builder = builder.set_geo_statistics(Box::new(statistics.clone()));
    }
    if let Some(stats) = chunk.page_encoding_stats() {
        builder = builder.set_page_encoding_stats(stats.clone());
    }
    builder.build()
}

/// Makes the statistics of an encoded chunk true in `order`, the order that its file declares.
///
/// The crate computes bounds of floats in IEEE 754 total order, leaving NaN out unless all values
/// are NaN, and bounds of INT96 by time. In the type's own order NaN must not be a bound
/// and INT96 has no bounds.
pub(super) fn put_in_order(
    mut close: ColumnCloseResult,
    order: Option<ColumnOrder>,
) -> Result<ColumnCloseResult, ParquetError> {
    let descr = close.metadata.column_descr_ptr();
    let computed = ColumnOrder::column_order_for_type(
        descr.logical_type_ref(),
        descr.converted_type(),
        descr.physical_type(),
    );
    let differs = matches!(
        computed,
        ColumnOrder::IEEE_754_TOTAL_ORDER | ColumnOrder::INT96_TIMESTAMP_ORDER
    ) && order != Some(computed);
    if !differs {
        return Ok(close);
    }
    let is_half = descr.logical_type_ref() == Some(&LogicalType::Float16);
    let no_bounds = computed == ColumnOrder::INT96_TIMESTAMP_ORDER;
    let wrong = |statistics: &&Statistics| no_bounds || bounds_are_nan(statistics, is_half);
    if let Some(statistics) = close.metadata.statistics().filter(wrong) {
        let statistics = without_bounds(statistics);
        let chunk = close.metadata.into_builder().set_statistics(statistics);
        close.metadata = chunk.build()?;
    }
    let drop_index = |index: &ColumnIndexMetaData| no_bounds || page_bounds_are_nan(index, is_half);
    close.column_index = close.column_index.filter(|index| !drop_index(index));
    Ok(close)
}

fn is_nan(bytes: &[u8], physical: PhysicalType, is_half: bool) -> bool {
    match physical {
        PhysicalType::FLOAT => bytes
            .try_into()
            .is_ok_and(|b| f32::from_le_bytes(b).is_nan()),
        PhysicalType::DOUBLE => bytes
            .try_into()
            .is_ok_and(|b| f64::from_le_bytes(b).is_nan()),
        // The exponent of a NaN is all ones, and its fraction is not zero.
        _ if is_half => bytes
            .try_into()
            .is_ok_and(|b| u16::from_le_bytes(b) & 0x7FFF > 0x7C00),
        _ => false,
    }
}

fn bounds_are_nan(statistics: &Statistics, is_half: bool) -> bool {
    let physical = statistics.physical_type();
    let bounds = [statistics.min_bytes_opt(), statistics.max_bytes_opt()];
    let mut bounds = bounds.into_iter().flatten();
    bounds.any(|bound| is_nan(bound, physical, is_half))
}

fn page_bounds_are_nan(index: &ColumnIndexMetaData, is_half: bool) -> bool {
    match index {
        ColumnIndexMetaData::FLOAT(index) => index
            .min_values_iter()
            .flatten()
            .any(|bound| bound.is_nan()),
        ColumnIndexMetaData::DOUBLE(index) => index
            .min_values_iter()
            .flatten()
            .any(|bound| bound.is_nan()),
        ColumnIndexMetaData::FIXED_LEN_BYTE_ARRAY(index) => index
            .min_values_iter()
            .flatten()
            .any(|bound| is_nan(bound, PhysicalType::FIXED_LEN_BYTE_ARRAY, is_half)),
        _ => false,
    }
}

/// The counts alone.
fn without_bounds(statistics: &Statistics) -> Statistics {
    let (distinct, nulls) = (statistics.distinct_count_opt(), statistics.null_count_opt());
    match statistics {
        Statistics::Float(_) => Statistics::Float(counts(distinct, nulls)),
        Statistics::Double(_) => Statistics::Double(counts(distinct, nulls)),
        Statistics::Int96(_) => Statistics::Int96(counts(distinct, nulls)),
        Statistics::FixedLenByteArray(_) => Statistics::FixedLenByteArray(counts(distinct, nulls)),
        other => other.clone(),
    }
}

fn counts<T>(distinct: Option<u64>, nulls: Option<u64>) -> ValueStatistics<T> {
    ValueStatistics::new(None, None, distinct, nulls, false)
}
