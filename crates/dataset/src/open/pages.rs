//! The pages of a column chunk, whose headers are looked at before memory is taken for a page.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use parquet::basic::{Compression, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::ChunkReader;
use parquet::file::serialized_reader::SerializedPageReader;

use super::header::{PageHeader, PageKind};
use super::{SharedFile, inflate};

/// Bytes that a decoded entry of a dictionary takes beside its text.
const ENTRY_BYTES: u64 = 40;
/// Bytes that the lengths of a value take where they are decoded ahead: two, in vectors of 4 bytes each.
const LENGTHS_BYTES: u64 = 8;
/// What the window of Brotli may take.
const BROTLI_WINDOW_BYTES: u64 = 16 << 20;

/// From this size on a page is given back before the next one is read.
const LARGE_PAGE_BYTES: u64 = 256 << 10;

/// What comes next in a chunk: a page of values, perhaps after the dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Upcoming {
    dictionary: Option<PageHeader>,
    pub(crate) data: PageHeader,
}

impl Upcoming {
    /// The size of the page and of a dictionary before it, in bytes, without compression.
    pub(crate) fn page_bytes(&self) -> u64 {
        let dictionary = self.dictionary.map_or(0, |header| header.uncompressed);
        self.data.uncompressed.saturating_add(dictionary)
    }
}

/// The pages of one column chunk, in order. The column reader that decodes them and who asks what comes next share it.
#[derive(Clone)]
pub(crate) struct Pages(Arc<Mutex<State>>);

struct State {
    file: Arc<SharedFile>,
    meta: ColumnChunkMetaData,
    rows: usize,
    inner: SerializedPageReader<SharedFile>,
    /// Where the next page's header begins, and where the chunk ends.
    position: u64,
    end: u64,
    /// What stands at `position`, once it was looked at.
    upcoming: Option<Upcoming>,
    /// The header of the dictionary that was passed, and whether the column reader has it.
    dictionary: Option<PageHeader>,
    dictionary_given: bool,
    /// Values of the pages that were given.
    given: u64,
    /// The page that was given last.
    current: Option<PageHeader>,
}

impl Pages {
    /// The pages of a chunk of so many rows; the file is one for this chunk.
    pub(crate) fn new(
        file: SharedFile,
        meta: &ColumnChunkMetaData,
        rows: usize,
    ) -> Result<Self, ParquetError> {
        let file = Arc::new(file);
        let (position, bytes) = meta.byte_range();
        Ok(Self(Arc::new(Mutex::new(State {
            inner: stored_pages(&file, meta, rows)?,
            file,
            meta: meta.clone(),
            rows,
            position,
            end: position.saturating_add(bytes),
            upcoming: None,
            dictionary: None,
            dictionary_given: false,
            given: 0,
            current: None,
        }))))
    }

    /// The page of values that comes next, none at the end. Reads headers only.
    pub(crate) fn upcoming(&self) -> Result<Option<Upcoming>, ParquetError> {
        self.lock().look()
    }

    /// Values, nulls included, of the pages that were given so far.
    pub(crate) fn given(&self) -> u64 {
        self.lock().given
    }

    /// The page that was given last.
    pub(crate) fn current(&self) -> Option<PageHeader> {
        self.lock().current
    }

    /// What the column reader holds beside the page: the dictionary, in bytes.
    pub(crate) fn dictionary_bytes(&self) -> u64 {
        let state = self.lock();
        match &state.dictionary {
            Some(header) if state.dictionary_given => decoded_dictionary(header),
            _ => 0,
        }
    }

    /// What is taken at the most until `upcoming` is decoded, in bytes: the page as it lies in the file, as it is in
    /// memory and what its decoder holds, and the dictionary where it is needed; or to read the dictionary, if that
    /// takes more.
    pub(crate) fn bytes_to_read(&self, upcoming: &Upcoming) -> u64 {
        let state = self.lock();
        let codec = state.meta.compression();
        let dictionary = match (upcoming.dictionary, &state.dictionary) {
            (Some(header), _) => Some(header),
            (None, Some(header)) if upcoming.data.needs_dictionary() => Some(*header),
            // It stays with the column reader, unless it is large: see `gives_back`.
            (None, Some(header)) if state.dictionary_given && !is_large(header) => Some(*header),
            _ => None,
        };
        let resident = dictionary.as_ref().map_or(0, decoded_dictionary);
        let first = dictionary.map_or(0, |header| reading(&header, codec));
        let data = &upcoming.data;
        let lengths = match data.has_lengths_ahead() {
            true => LENGTHS_BYTES.saturating_mul(data.values),
            false => 0,
        };
        let page = reading(data, codec).saturating_add(lengths);
        resident.saturating_add(page.max(first.saturating_sub(resident)))
    }

    /// Whether the column reader holds something large that it does not need for the page that comes: the page before,
    /// which it only gives up when it has the next, or a dictionary.
    pub(crate) fn gives_back(&self, upcoming: &Upcoming) -> bool {
        let state = self.lock();
        let dictionary = state.dictionary.filter(|_| state.dictionary_given);
        state.current.as_ref().is_some_and(is_large)
            || (dictionary.as_ref().is_some_and(is_large) && !upcoming.data.needs_dictionary())
    }

    /// Notes that another column reader reads on, which has no dictionary yet.
    pub(crate) fn reader_changed(&self) {
        let mut state = self.lock();
        state.dictionary_given = false;
        state.current = None;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_large(header: &PageHeader) -> bool {
    header.uncompressed >= LARGE_PAGE_BYTES
}

/// The dictionary in memory.
fn decoded_dictionary(header: &PageHeader) -> u64 {
    let entries = ENTRY_BYTES.saturating_mul(header.values);
    header.uncompressed.saturating_add(entries)
}

/// What is taken while a page is read, in bytes.
fn reading(header: &PageHeader, codec: Compression) -> u64 {
    let (stored, page) = (header.compressed, header.uncompressed);
    match codec {
        Compression::UNCOMPRESSED => stored.max(page),
        // Its decoder has an input buffer of the page's size.
        Compression::BROTLI(_) => stored + 2 * page + page.min(BROTLI_WINDOW_BYTES),
        _ => stored + page,
    }
}

/// The crate's reader of the pages; those that it would inflate without a limit come as they are stored.
fn stored_pages(
    file: &Arc<SharedFile>,
    meta: &ColumnChunkMetaData,
    rows: usize,
) -> Result<SerializedPageReader<SharedFile>, ParquetError> {
    let file = Arc::clone(file);
    if !inflate::is_unbounded(meta.compression()) {
        return SerializedPageReader::new(file, meta, rows, None);
    }
    let builder = meta.clone().into_builder();
    let stored = builder.set_compression(Compression::UNCOMPRESSED).build()?;
    SerializedPageReader::new(file, &stored, rows, None)
}

impl State {
    /// Reads the headers up to the next page with values.
    fn look(&mut self) -> Result<Option<Upcoming>, ParquetError> {
        if self.upcoming.is_some() {
            return Ok(self.upcoming);
        }
        let mut dictionary = None;
        let mut position = self.position;
        while position < self.end {
            let header = PageHeader::read(self.file.get_read(position)?, self.end - position)?;
            let begin = position;
            position += header.header_bytes + header.compressed;
            if position > self.end {
                return Err(ParquetError::General(format!(
                    "a page is said to take {} bytes, but only {} of the chunk are left",
                    header.compressed,
                    self.end - begin - header.header_bytes
                )));
            }
            match header.kind {
                PageKind::Dictionary => {
                    self.check_dictionary(&header, dictionary.is_some())?;
                    dictionary = Some(header);
                }
                PageKind::Data if header.values > 0 => {
                    let data = header;
                    self.upcoming = Some(Upcoming { dictionary, data });
                    return Ok(self.upcoming);
                }
                _ if dictionary.is_none() => {
                    // The crate takes a page without values for the end of the chunk.
                    self.inner.skip_next_page()?;
                    self.position = position;
                }
                _ => {
                    return Err(ParquetError::General(
                        "a page without values follows the dictionary".to_owned(),
                    ));
                }
            }
        }
        Ok(None)
    }

    /// Refuses what the crate would take memory for without a look at the page.
    fn check_dictionary(&self, header: &PageHeader, second: bool) -> Result<(), ParquetError> {
        if second || self.dictionary.is_some() {
            return Err(ParquetError::General(
                "the chunk has a second dictionary".to_owned(),
            ));
        }
        let most = match self.meta.column_type() {
            // The length of each text takes 4 bytes.
            Type::BYTE_ARRAY => header.uncompressed / 4,
            _ => header.uncompressed.saturating_mul(8),
        };
        if header.values > most {
            return Err(ParquetError::General(format!(
                "the dictionary is said to have {} values in {} bytes",
                header.values, header.uncompressed
            )));
        }
        Ok(())
    }

    fn next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        let Some(upcoming) = self.look()? else {
            return Ok(None);
        };
        if self.dictionary.is_some() && !self.dictionary_given && upcoming.data.needs_dictionary() {
            self.dictionary_given = true;
            return self.dictionary_again().map(Some);
        }
        let page = self.inner.get_next_page()?;
        let header = upcoming.dictionary.unwrap_or(upcoming.data);
        let codec = self.meta.compression();
        let page = page
            .map(|page| inflate::page(page, codec, header.uncompressed))
            .transpose()?;
        self.position += header.header_bytes + header.compressed;
        if header.kind == PageKind::Dictionary {
            self.dictionary = Some(header);
            self.dictionary_given = true;
            self.upcoming = Some(Upcoming {
                dictionary: None,
                ..upcoming
            });
        } else {
            self.given += header.values;
            self.current = Some(header);
            self.upcoming = None;
        }
        Ok(page)
    }

    /// Reads the dictionary once more, from the chunk's beginning.
    fn dictionary_again(&self) -> Result<Page, ParquetError> {
        let mut pages = stored_pages(&self.file, &self.meta, self.rows)?;
        match (pages.get_next_page()?, &self.dictionary) {
            (Some(page), Some(header)) if page.is_dictionary_page() => {
                inflate::page(page, self.meta.compression(), header.uncompressed)
            }
            _ => Err(ParquetError::General(
                "the dictionary is not the first page of the chunk".to_owned(),
            )),
        }
    }
}

impl Iterator for Pages {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        self.lock().next_page()
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        Ok(self.lock().look()?.map(|upcoming| PageMetadata {
            num_rows: None,
            num_levels: usize::try_from(upcoming.data.values).ok(),
            is_dict: upcoming.dictionary.is_some(),
        }))
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        Err(ParquetError::NYI("pages are never skipped".to_owned()))
    }
}
