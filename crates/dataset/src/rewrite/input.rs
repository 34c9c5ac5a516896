//! An input file while it is written again: open, its footer read, its output planned.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use parquet::basic::{BrotliLevel, Compression, CompressionCodec, GzipLevel, ZstdLevel};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use records::settings::Mode;

use super::schema::OutputSchema;
use super::{Options, lost};
use crate::open::{MetadataNeeds, SharedFile, footer_bytes, guard, metadata, open};
use crate::{Error, Source};

/// Levels of codecs where the options name none: about what the engines that write lakes use.
const ZSTD_LEVEL: i32 = 3;
const GZIP_LEVEL: u32 = 6;
const BROTLI_LEVEL: u32 = 5;

/// An open input.
pub(super) struct Input {
    pub(super) path: PathBuf,
    pub(super) file: SharedFile,
    pub(super) metadata: Arc<ParquetMetaData>,
    pub(super) output: OutputSchema,
    /// The first row of each row group, and the number of all rows at the end.
    first_rows: Vec<u64>,
}

impl Input {
    /// Opens `source` and plans its output; refuses what cannot be written again faithfully.
    pub(super) fn open(
        source: &Source,
        options: &Options,
        needs: MetadataNeeds,
    ) -> Result<Self, Error> {
        let path = source.listed.path.clone();
        let file = open(&path)?;
        let metadata = metadata(&file, &path, needs)?;
        if let Some(what) = lost::find(&footer_bytes(&file, &path)?) {
            return Err(Error::Unfaithful { path, what });
        }
        let output = guard(&path, "footer", || {
            OutputSchema::plan(&path, options, metadata.file_metadata())
        })?;
        let mut first_rows = vec![0];
        let mut rows = 0_u64;
        for group in metadata.row_groups() {
            rows = rows.saturating_add(u64::try_from(group.num_rows()).unwrap_or(u64::MAX));
            first_rows.push(rows);
        }
        let input = Self {
            path,
            file,
            metadata,
            output,
            first_rows,
        };
        if rows != source.rows || input.groups() != source.row_groups.len() {
            return Err(Error::Changed {
                path: input.path,
                found: format!(
                    "it has {rows} rows in {} row groups, and had {} in {}",
                    input.first_rows.len() - 1,
                    source.rows,
                    source.row_groups.len()
                ),
            });
        }
        input.check_chunks(options)?;
        Ok(input)
    }

    /// Row groups.
    pub(super) fn groups(&self) -> usize {
        self.metadata.num_row_groups()
    }

    /// The rows of a row group in the file.
    pub(super) fn rows(&self, group: usize) -> Range<u64> {
        let at = |index: usize| self.first_rows.get(index).copied().unwrap_or_default();
        at(group)..at(group + 1)
    }

    /// A row group's metadata.
    pub(super) fn group(&self, group: usize) -> Result<&RowGroupMetaData, Error> {
        let found = self.metadata.row_groups().get(group);
        found.ok_or_else(|| self.damaged(format!("row group {group}"), "it is not there"))
    }

    /// A column chunk's metadata.
    pub(super) fn chunk(&self, group: usize, leaf: usize) -> Result<&ColumnChunkMetaData, Error> {
        let found = self.group(group)?.columns().get(leaf);
        found.ok_or_else(|| self.damaged(self.place(group, leaf), "the column chunk is not there"))
    }

    /// How errors name a column chunk.
    pub(super) fn place(&self, group: usize, leaf: usize) -> String {
        let columns = self.metadata.file_metadata().schema_descr().columns();
        let name = columns.get(leaf).map(|column| column.path().string());
        format!(
            "row group {group}, column `{}`",
            name.unwrap_or_else(|| format!("number {leaf}"))
        )
    }

    /// An error of this file's bytes.
    pub(super) fn damaged(&self, place: String, message: &str) -> Error {
        Error::Parquet {
            path: self.path.clone(),
            place,
            message: message.to_owned(),
        }
    }

    fn check_chunks(&self, options: &Options) -> Result<(), Error> {
        for (index, group) in self.metadata.row_groups().iter().enumerate() {
            for (leaf, chunk) in group.columns().iter().enumerate() {
                if chunk.file_path().is_some() {
                    return Err(self.unfaithful(format!(
                        "{} is stored in another file",
                        self.place(index, leaf)
                    )));
                }
                if options.mode == Mode::Drop {
                    let codec = codec(chunk.compression_codec(), options.compression_level);
                    codec.map_err(|why| {
                        self.unfaithful(format!("{}: {why}", self.place(index, leaf)))
                    })?;
                }
            }
        }
        Ok(())
    }

    fn unfaithful(&self, what: String) -> Error {
        Error::Unfaithful {
            path: self.path.clone(),
            what,
        }
    }
}

/// The codec with its level. The error says why not.
pub(super) fn codec(codec: CompressionCodec, level: Option<i32>) -> Result<Compression, String> {
    let unsigned = |default| level.map_or(Ok(default), u32::try_from);
    let invalid = || {
        let level = level.unwrap_or_default();
        format!("filter.compression_level = {level} is not a level of {codec:?}")
    };
    Ok(match codec {
        CompressionCodec::UNCOMPRESSED => Compression::UNCOMPRESSED,
        CompressionCodec::SNAPPY => Compression::SNAPPY,
        CompressionCodec::LZ4 => Compression::LZ4,
        CompressionCodec::LZ4_RAW => Compression::LZ4_RAW,
        CompressionCodec::LZO => return Err("LZO cannot be decompressed".to_owned()),
        CompressionCodec::GZIP => {
            let level = unsigned(GZIP_LEVEL).map_err(|_| invalid())?;
            Compression::GZIP(GzipLevel::try_new(level).map_err(|_| invalid())?)
        }
        CompressionCodec::BROTLI => {
            let level = unsigned(BROTLI_LEVEL).map_err(|_| invalid())?;
            Compression::BROTLI(BrotliLevel::try_new(level).map_err(|_| invalid())?)
        }
        CompressionCodec::ZSTD => {
            let level = ZstdLevel::try_new(level.unwrap_or(ZSTD_LEVEL));
            Compression::ZSTD(level.map_err(|_| invalid())?)
        }
    })
}
