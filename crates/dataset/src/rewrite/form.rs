//! How a column chunk is encoded, so that what is left of it is encoded alike.

use std::ops::ControlFlow;
use std::sync::Arc;

use parquet::basic::{ColumnOrder, Compression, Encoding, Type as PhysicalType};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::{
    DEFAULT_STATISTICS_TRUNCATE_LENGTH, EnabledStatistics, WriterProperties, WriterPropertiesPtr,
    WriterVersion,
};

use super::column::Filling;
use super::input::Input;
use super::lost::{PageForm, page_form};
use super::need::pages;
use super::selection::Selection;
use crate::Error;
use crate::open::header::PageKind;
use crate::open::read_range;

/// A dictionary that was given up is given up at this size at the latest.
const GIVEN_UP_BYTES: u64 = 1 << 20;

/// What the first pages of a chunk say.
#[derive(Debug)]
pub(super) struct Form {
    /// Bytes of the dictionary page, of a chunk that has one.
    dictionary: Option<usize>,
    /// The encoding of the first data page.
    encoding: Encoding,
    /// The encoding after the dictionary was given up, if it was.
    fallback: Option<Encoding>,
    /// Version and statistics of data pages.
    pages: PageForm,
}

/// What of the page index a chunk has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Indexed {
    /// A column index.
    pub(super) columns: bool,
    /// An offset index.
    pub(super) offsets: bool,
}

impl Form {
    /// Reads the headers of pages up to the first data page.
    pub(super) fn probe(
        input: &Input,
        place: &str,
        chunk: &ColumnChunkMetaData,
    ) -> Result<Self, Error> {
        let mut form = Self {
            dictionary: None,
            encoding: Encoding::PLAIN,
            fallback: fallback(chunk),
            pages: PageForm::default(),
        };
        let mut first = None;
        pages(input, place, chunk, |at, header| match header.kind {
            PageKind::Dictionary => {
                form.dictionary = usize::try_from(header.uncompressed).ok();
                ControlFlow::Continue(())
            }
            PageKind::Other => ControlFlow::Continue(()),
            PageKind::Data => {
                first = Some((at, *header));
                ControlFlow::Break(())
            }
        })?;
        if let Some((at, header)) = first {
            form.encoding = encoding(header.encoding);
            let length = usize::try_from(header.header_bytes).unwrap_or(usize::MAX);
            let bytes = read_range(&input.file, &input.path, at, length)?;
            form.pages = page_form(&bytes).ok_or_else(|| {
                input.damaged(place.to_owned(), "the header of a page is malformed")
            })?;
        }
        form.dictionary = form.dictionary.filter(|_| is_dictionary(form.encoding));
        Ok(form)
    }

    /// Whether page headers carry statistics.
    pub(super) fn has_page_statistics(&self) -> bool {
        self.pages.has_statistics
    }

    /// What the dictionary of the rows of `selection` takes up.
    ///
    /// What is left of a dictionary is no larger than all of it was. One that was given up is so at about the same row,
    /// and not later than most writers would, some of which look at its size so rarely that a few long values make
    /// it any size.
    pub(super) fn filling(&self, selection: &Selection) -> Filling {
        match (self.dictionary, self.fallback) {
            (Some(bytes), Some(_)) => {
                Filling::UpTo(selection.share(bytes as u64).clamp(1, GIVEN_UP_BYTES))
            }
            // A limit beyond it keeps it.
            (Some(bytes), None) => Filling::All(bytes as u64 + 1),
            (None, _) => Filling::Nothing,
        }
    }

    /// Properties that encode values as `chunk` does.
    pub(super) fn properties(
        &self,
        chunk: &ColumnChunkMetaData,
        indexed: Indexed,
        order: Option<ColumnOrder>,
        codec: Compression,
        selection: &Selection,
    ) -> WriterPropertiesPtr {
        // Headers cannot be mended afterwards, and INT96 has bounds in an order of its own only.
        let ordered = chunk.column_type() != PhysicalType::INT96
            || order == Some(ColumnOrder::INT96_TIMESTAMP_ORDER);
        let in_headers = self.pages.has_statistics && ordered;
        let version = match self.pages.version_2 {
            true => WriterVersion::PARQUET_2_0,
            false => WriterVersion::PARQUET_1_0,
        };
        let statistics = match (chunk.statistics(), indexed.columns || in_headers) {
            (_, true) => EnabledStatistics::Page,
            (Some(_), false) => EnabledStatistics::Chunk,
            (None, false) => EnabledStatistics::None,
        };
        let dictionary = self.dictionary;
        let limit = self.filling(selection).limit().max(1);
        let encoding = match dictionary {
            Some(_) => self.fallback.unwrap_or(Encoding::PLAIN),
            None => supported(self.encoding, chunk.column_type()),
        };
        let properties = WriterProperties::builder()
            .set_writer_version(version)
            .set_compression(codec)
            .set_dictionary_enabled(dictionary.is_some())
            .set_dictionary_page_size_limit(usize::try_from(limit).unwrap_or(usize::MAX))
            .set_encoding(encoding)
            .set_statistics_enabled(statistics)
            .set_write_page_header_statistics(in_headers)
            .set_statistics_truncate_length(truncation(chunk))
            .set_offset_index_disabled(!indexed.offsets);
        Arc::new(properties.build())
    }
}

/// The encoding of this number in the format; PLAIN for those that cannot be written.
fn encoding(number: i32) -> Encoding {
    match number {
        2 => Encoding::PLAIN_DICTIONARY,
        3 => Encoding::RLE,
        5 => Encoding::DELTA_BINARY_PACKED,
        6 => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        7 => Encoding::DELTA_BYTE_ARRAY,
        8 => Encoding::RLE_DICTIONARY,
        9 => Encoding::BYTE_STREAM_SPLIT,
        _ => Encoding::PLAIN,
    }
}

fn is_dictionary(encoding: Encoding) -> bool {
    // Version 1 pages name their dictionary in the old way.
    matches!(
        encoding,
        Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY
    )
}

/// The encoding of the data pages after a dictionary was given up, if it was.
fn fallback(chunk: &ColumnChunkMetaData) -> Option<Encoding> {
    let other = |encoding: &Encoding| !is_dictionary(*encoding);
    if let Some(stats) = chunk.page_encoding_stats() {
        use parquet::basic::PageType;
        let data = stats
            .iter()
            .filter(|s| matches!(s.page_type, PageType::DATA_PAGE | PageType::DATA_PAGE_V2));
        let encoding = data.map(|s| s.encoding).find(|e| other(e));
        return encoding.map(|e| supported(e, chunk.column_type()));
    }
    // Without counts by page only an encoding that neither levels nor dictionaries use tells.
    let mut encodings = chunk.encodings();
    encodings.find(|e| {
        matches!(
            e,
            Encoding::DELTA_BINARY_PACKED
                | Encoding::DELTA_BYTE_ARRAY
                | Encoding::DELTA_LENGTH_BYTE_ARRAY
                | Encoding::BYTE_STREAM_SPLIT
        )
    })
}

/// `encoding` where values of this type can be written so, else PLAIN.
fn supported(encoding: Encoding, physical: PhysicalType) -> Encoding {
    use PhysicalType::{BOOLEAN, BYTE_ARRAY, DOUBLE, FIXED_LEN_BYTE_ARRAY, FLOAT, INT32, INT64};
    let fits = match encoding {
        Encoding::RLE => physical == BOOLEAN,
        Encoding::DELTA_BINARY_PACKED => matches!(physical, INT32 | INT64),
        Encoding::DELTA_LENGTH_BYTE_ARRAY => physical == BYTE_ARRAY,
        Encoding::DELTA_BYTE_ARRAY => matches!(physical, BYTE_ARRAY | FIXED_LEN_BYTE_ARRAY),
        Encoding::BYTE_STREAM_SPLIT => {
            matches!(
                physical,
                INT32 | INT64 | FLOAT | DOUBLE | FIXED_LEN_BYTE_ARRAY
            )
        }
        _ => false,
    };
    if fits { encoding } else { Encoding::PLAIN }
}

/// The length that statistics are cut at: the crate's own, unless the chunk has longer ones.
fn truncation(chunk: &ColumnChunkMetaData) -> Option<usize> {
    let statistics = chunk.statistics()?;
    let length = |bytes: Option<&[u8]>| bytes.map_or(0, <[u8]>::len);
    let longest = length(statistics.min_bytes_opt()).max(length(statistics.max_bytes_opt()));
    match DEFAULT_STATISTICS_TRUNCATE_LENGTH {
        Some(default) if longest <= default => Some(default),
        _ if statistics.min_is_exact() && statistics.max_is_exact() => None,
        _ => Some(longest),
    }
}
