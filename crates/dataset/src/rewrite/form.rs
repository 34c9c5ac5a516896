//! How a column chunk is encoded, so that what is left of it is encoded alike.

use std::collections::VecDeque;
use std::sync::Arc;

use parquet::basic::{ColumnOrder, Compression, Encoding, Type as PhysicalType};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::Result;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::{
    DEFAULT_STATISTICS_TRUNCATE_LENGTH, EnabledStatistics, WriterProperties, WriterPropertiesPtr,
    WriterVersion,
};

/// What the first pages of a chunk say.
#[derive(Debug)]
pub(super) struct Form {
    /// Bytes of the dictionary page, of a chunk that has one.
    dictionary: Option<usize>,
    /// The encoding of the first data page.
    encoding: Encoding,
    /// Whether data pages are of version 2.
    version_2: bool,
    /// Whether page headers carry statistics.
    page_statistics: bool,
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
    /// Reads the pages up to the first data page; the reader that comes back yields them again.
    pub(super) fn probe(mut pages: Box<dyn PageReader>) -> Result<(Self, Box<dyn PageReader>)> {
        let mut form = Self {
            dictionary: None,
            encoding: Encoding::PLAIN,
            version_2: false,
            page_statistics: false,
        };
        let mut first = VecDeque::new();
        while let Some(page) = pages.get_next_page()? {
            let is_data = page.is_data_page();
            match &page {
                Page::DictionaryPage { buf, .. } => form.dictionary = Some(buf.len()),
                Page::DataPage { .. } | Page::DataPageV2 { .. } => {
                    form.encoding = page.encoding();
                    form.version_2 = matches!(page, Page::DataPageV2 { .. });
                    form.page_statistics = page.statistics().is_some();
                }
            }
            first.push_back(page);
            if is_data {
                break;
            }
        }
        let again = Replay { first, rest: pages };
        Ok((form, Box::new(again)))
    }

    /// Properties that encode values as `chunk` does.
    pub(super) fn properties(
        &self,
        chunk: &ColumnChunkMetaData,
        indexed: Indexed,
        order: Option<ColumnOrder>,
        codec: Compression,
    ) -> WriterPropertiesPtr {
        // Headers cannot be mended afterwards, and INT96 has bounds in an order of its own only.
        let ordered = chunk.column_type() != PhysicalType::INT96
            || order == Some(ColumnOrder::INT96_TIMESTAMP_ORDER);
        let in_headers = self.page_statistics && ordered;
        let version = match self.version_2 {
            true => WriterVersion::PARQUET_2_0,
            false => WriterVersion::PARQUET_1_0,
        };
        let statistics = match (chunk.statistics(), indexed.columns || in_headers) {
            (_, true) => EnabledStatistics::Page,
            (Some(_), false) => EnabledStatistics::Chunk,
            (None, false) => EnabledStatistics::None,
        };
        let fell_back = fallback(chunk);
        // What is left of a dictionary is no larger than all of it was, so that a limit beyond it
        // keeps the dictionary; one that was given up was given up at about its size.
        let dictionary = self.dictionary.filter(|_| is_dictionary(self.encoding));
        let limit = match (dictionary, fell_back) {
            (Some(bytes), Some(_)) => bytes.max(1),
            (Some(bytes), None) => bytes.saturating_add(1),
            (None, _) => 1,
        };
        let encoding = match dictionary {
            Some(_) => fell_back.unwrap_or(Encoding::PLAIN),
            None => supported(self.encoding, chunk.column_type()),
        };
        let properties = WriterProperties::builder()
            .set_writer_version(version)
            .set_compression(codec)
            .set_dictionary_enabled(dictionary.is_some())
            .set_dictionary_page_size_limit(limit)
            .set_encoding(encoding)
            .set_statistics_enabled(statistics)
            .set_write_page_header_statistics(in_headers)
            .set_statistics_truncate_length(truncation(chunk))
            .set_offset_index_disabled(!indexed.offsets);
        Arc::new(properties.build())
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

/// A page reader that yields pages that were read from it once more.
struct Replay {
    first: VecDeque<Page>,
    rest: Box<dyn PageReader>,
}

impl Iterator for Replay {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Replay {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        match self.first.pop_front() {
            Some(page) => Ok(Some(page)),
            None => self.rest.get_next_page(),
        }
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        let Some(page) = self.first.front() else {
            return self.rest.peek_next_page();
        };
        let num_rows = match page {
            Page::DataPageV2 { num_rows, .. } => Some(*num_rows as usize),
            Page::DataPage { .. } | Page::DictionaryPage { .. } => None,
        };
        Ok(Some(PageMetadata {
            num_rows,
            num_levels: page.is_data_page().then_some(page.num_values() as usize),
            is_dict: page.is_dictionary_page(),
        }))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        match self.first.pop_front() {
            Some(_) => Ok(()),
            None => self.rest.skip_next_page(),
        }
    }
}
