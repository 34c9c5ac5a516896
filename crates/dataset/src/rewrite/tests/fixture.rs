//! Files of every physical type, nesting, encoding, codec and page version, and their decoding.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, Repetition};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use parquet::data_type::{AsBytes, ByteArray, DataType, FixedLenByteArray, Int96};
use parquet::file::metadata::{
    KeyValue, PageIndexPolicy, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader,
    SortingColumn,
};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor, ColumnPath, SchemaDescriptor, Type};

use super::Dice;

/// Every physical type, and every way to nest.
pub(super) const RICH: &str = "message rich {
    required int64 id;
    optional boolean flag;
    optional int32 small (INTEGER(8,false));
    optional int96 old;
    optional float ratio;
    optional double score;
    optional binary text (STRING);
    required fixed_len_byte_array(5) price (DECIMAL(11,2));
    optional fixed_len_byte_array(2) half (FLOAT16);
    optional group spans (LIST) { repeated group list { optional group element {
        optional int32 from; required binary label (ENUM); } } }
    optional group tags (MAP) { repeated group key_value {
        required binary key (STRING); optional int64 value; } }
    repeated int32 bare;
    optional group outer { optional group inner { required int64 z; optional binary w; } }
    optional group lists (LIST) { repeated group list {
        optional group element (LIST) { repeated group list { optional double element; } } } }
    required binary odd;
}";

/// What the column `odd` of a message is called, since the parser takes no such name.
const ODD: &str = "a.b c`\"";

/// The schema of a message.
fn parse(message: &str) -> Type {
    let root = parse_message_type(message).unwrap();
    let mut fields = root.get_fields().to_vec();
    for field in fields.iter_mut().filter(|field| field.name() == "odd") {
        let odd = Type::primitive_type_builder(ODD, field.get_physical_type())
            .with_repetition(field.get_basic_info().repetition())
            .with_id(Some(7));
        *field = Arc::new(odd.build().unwrap());
    }
    let root = Type::group_type_builder(root.name()).with_fields(fields);
    root.build().unwrap()
}

/// How a fixture is written.
#[derive(Clone, Copy)]
pub(super) struct Style {
    pub(super) version: WriterVersion,
    pub(super) codec: Compression,
    pub(super) dictionary: bool,
    pub(super) delta: bool,
    pub(super) statistics: EnabledStatistics,
    pub(super) bloom: bool,
    pub(super) offsets: bool,
}

impl Style {
    pub(super) fn all() -> Vec<Self> {
        use WriterVersion::{PARQUET_1_0 as V1, PARQUET_2_0 as V2};
        let codecs = [
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::GZIP(Default::default()),
            Compression::BROTLI(Default::default()),
            Compression::LZ4,
            Compression::LZ4_RAW,
            Compression::ZSTD(Default::default()),
        ];
        let levels = [
            EnabledStatistics::None,
            EnabledStatistics::Chunk,
            EnabledStatistics::Page,
        ];
        let style = |(index, codec): (usize, &Compression)| Self {
            version: if index % 2 == 0 { V1 } else { V2 },
            codec: *codec,
            dictionary: index % 3 == 0,
            delta: index % 3 == 1,
            statistics: levels[index % 3],
            bloom: index % 2 == 0,
            offsets: index % 3 != 0,
        };
        codecs.iter().enumerate().map(style).collect()
    }

    fn properties(self, root: &Type) -> WriterProperties {
        let mut builder = WriterProperties::builder()
            .set_writer_version(self.version)
            .set_compression(self.codec)
            .set_dictionary_enabled(self.dictionary)
            .set_encoding(Encoding::PLAIN)
            .set_statistics_enabled(self.statistics)
            .set_write_page_header_statistics(self.statistics == EnabledStatistics::Page)
            .set_bloom_filter_enabled(self.bloom)
            .set_offset_index_disabled(!self.offsets)
            .set_data_page_row_count_limit(50)
            .set_write_batch_size(16)
            .set_created_by("a writer version 1.2.3 (build 4)".to_owned())
            .set_sorting_columns(Some(vec![SortingColumn {
                column_idx: 0,
                descending: true,
                nulls_first: false,
            }]))
            .set_key_value_metadata(Some(vec![
                KeyValue::new("k".to_owned(), "v".to_owned()),
                KeyValue::new("k".to_owned(), None),
            ]));
        if self.delta && root.name() == "rich" {
            for (name, encoding) in [
                ("id", Encoding::DELTA_BINARY_PACKED),
                ("small", Encoding::DELTA_BINARY_PACKED),
                ("text", Encoding::DELTA_BYTE_ARRAY),
                ("price", Encoding::BYTE_STREAM_SPLIT),
                ("score", Encoding::BYTE_STREAM_SPLIT),
                ("half", Encoding::DELTA_BYTE_ARRAY),
                (ODD, Encoding::DELTA_LENGTH_BYTE_ARRAY),
                ("flag", Encoding::RLE),
            ] {
                builder =
                    builder.set_column_encoding(ColumnPath::new(vec![name.to_owned()]), encoding);
            }
        }
        builder.build()
    }
}

/// Writes random rows of `message`, one row group for each of `groups`.
pub(super) fn write(path: &Path, message: &str, style: Style, groups: &[usize], seed: u64) {
    let root = Arc::new(parse(message));
    let properties = Arc::new(style.properties(&root));
    let file = File::create_new(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, root.clone(), properties).unwrap();
    let mut dice = Dice(seed);
    for rows in groups {
        let mut group = writer.next_row_group().unwrap();
        let mut leaf = 0;
        while let Some(mut column) = group.next_column().unwrap() {
            let descr = column_descr(&root, leaf);
            let way = way(&root, descr.path().parts());
            fill(&descr, &way, column.untyped(), *rows, &mut dice);
            column.close().unwrap();
            leaf += 1;
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
}

fn column_descr(root: &Arc<Type>, leaf: usize) -> ColumnDescPtr {
    SchemaDescriptor::new(root.clone()).column(leaf)
}

/// The repetitions on the way from the root to a leaf.
fn way(root: &Type, path: &[String]) -> Vec<Repetition> {
    let Some((name, rest)) = path.split_first() else {
        return Vec::new();
    };
    let field = root.get_fields().iter().find(|f| f.name() == name).unwrap();
    let mut way = vec![field.get_basic_info().repetition()];
    if field.is_group() {
        way.extend(self::way(field, rest));
    }
    way
}

/// Random levels of one row.
fn levels(way: &[Repetition], def: i16, rep: i16, deep: i16, dice: &mut Dice) -> Vec<(i16, i16)> {
    let Some((first, rest)) = way.split_first() else {
        return vec![(def, rep)];
    };
    match first {
        Repetition::REQUIRED => levels(rest, def, rep, deep, dice),
        Repetition::OPTIONAL if dice.below(4) == 0 => vec![(def, rep)],
        Repetition::OPTIONAL => levels(rest, def + 1, rep, deep, dice),
        Repetition::REPEATED => {
            let mut all = Vec::new();
            for at in 0..dice.below(4) {
                let rep = if at == 0 { rep } else { deep + 1 };
                all.extend(levels(rest, def + 1, rep, deep + 1, dice));
            }
            if all.is_empty() {
                all.push((def, rep));
            }
            all
        }
    }
}

fn fill(
    descr: &ColumnDescriptor,
    way: &[Repetition],
    writer: &mut ColumnWriter<'_>,
    rows: usize,
    dice: &mut Dice,
) {
    let levels: Vec<(i16, i16)> = (0..rows).flat_map(|_| levels(way, 0, 0, 0, dice)).collect();
    let width = descr.type_length().max(0) as usize;
    let text = |dice: &mut Dice| {
        let length = dice.below(40) as usize;
        format!("value {}", "é".repeat(length))
    };
    match writer {
        ColumnWriter::BoolColumnWriter(w) => put(w, &levels, descr, || dice.below(2) == 0),
        ColumnWriter::Int32ColumnWriter(w) => put(w, &levels, descr, || dice.below(200) as i32),
        ColumnWriter::Int64ColumnWriter(w) => put(w, &levels, descr, || dice.below(1 << 40) as i64),
        ColumnWriter::Int96ColumnWriter(w) => put(w, &levels, descr, || {
            let mut value = Int96::new();
            value.set_data(dice.below(1 << 32) as u32, dice.below(9) as u32, u32::MAX);
            value
        }),
        ColumnWriter::FloatColumnWriter(w) => put(w, &levels, descr, || match dice.below(3) {
            0 => f32::NAN,
            _ => dice.below(7) as f32 - 3.0,
        }),
        ColumnWriter::DoubleColumnWriter(w) => put(w, &levels, descr, || dice.below(90) as f64),
        ColumnWriter::ByteArrayColumnWriter(w) => {
            put(w, &levels, descr, || {
                ByteArray::from(text(dice).into_bytes())
            });
        }
        ColumnWriter::FixedLenByteArrayColumnWriter(w) => put(w, &levels, descr, || {
            let bytes: Vec<u8> = (0..width).map(|_| dice.below(256) as u8).collect();
            FixedLenByteArray::from(bytes)
        }),
    }
}

fn put<T: DataType>(
    writer: &mut ColumnWriterImpl<'_, T>,
    levels: &[(i16, i16)],
    descr: &ColumnDescriptor,
    mut value: impl FnMut() -> T::T,
) {
    let max = descr.max_def_level();
    let values: Vec<T::T> = levels
        .iter()
        .filter(|l| l.0 == max)
        .map(|_| value())
        .collect();
    let defs: Vec<i16> = levels.iter().map(|l| l.0).collect();
    let reps: Vec<i16> = levels.iter().map(|l| l.1).collect();
    writer
        .write_batch(&values, Some(&defs), Some(&reps))
        .unwrap();
}

/// One row of one leaf: levels and the bytes of values.
pub(super) type Record = (Vec<(i16, i16)>, Vec<Vec<u8>>);

/// All rows of all leaves, decoded one row at a time.
pub(super) fn records(path: &Path) -> Vec<Vec<Record>> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let leaves = reader
        .metadata()
        .file_metadata()
        .schema_descr()
        .num_columns();
    let mut all = vec![Vec::new(); leaves];
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).unwrap();
        let rows = group.metadata().num_rows() as usize;
        for (leaf, records) in all.iter_mut().enumerate() {
            match group.get_column_reader(leaf).unwrap() {
                ColumnReader::BoolColumnReader(r) => take(r, rows, records),
                ColumnReader::Int32ColumnReader(r) => take(r, rows, records),
                ColumnReader::Int64ColumnReader(r) => take(r, rows, records),
                ColumnReader::Int96ColumnReader(r) => take(r, rows, records),
                ColumnReader::FloatColumnReader(r) => take(r, rows, records),
                ColumnReader::DoubleColumnReader(r) => take(r, rows, records),
                ColumnReader::ByteArrayColumnReader(r) => take(r, rows, records),
                ColumnReader::FixedLenByteArrayColumnReader(r) => take(r, rows, records),
            }
        }
    }
    all
}

fn take<T: DataType>(mut reader: ColumnReaderImpl<T>, rows: usize, records: &mut Vec<Record>) {
    for _ in 0..rows {
        let (mut defs, mut reps, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let read = reader
            .read_records(1, Some(&mut defs), Some(&mut reps), &mut values)
            .unwrap();
        assert_eq!(read.0, 1);
        reps.resize(defs.len(), 0);
        let levels = defs.into_iter().zip(reps).collect();
        let values = values.iter().map(|v| v.as_bytes().to_vec()).collect();
        records.push((levels, values));
    }
}

/// All metadata of a file, page indexes too.
pub(super) fn metadata(path: &Path) -> ParquetMetaData {
    let mut options = ParquetMetaDataOptions::new();
    options.set_encoding_stats_as_mask(false);
    ParquetMetaDataReader::new()
        .with_metadata_options(Some(options))
        .with_page_index_policy(PageIndexPolicy::Optional)
        .parse_and_finish(&File::open(path).unwrap())
        .unwrap()
}

/// The bytes of a column chunk.
pub(super) fn chunk_bytes(path: &Path, group: usize, leaf: usize) -> Vec<u8> {
    let (start, length) = metadata(path).row_group(group).column(leaf).byte_range();
    let bytes = std::fs::read(path).unwrap();
    bytes[start as usize..(start + length) as usize].to_vec()
}
