//! What writing a row group again takes in memory, found in footers and page headers before memory is taken.
//!
//! One column chunk is decoded and encoded at a time. It takes the dictionary, decoded and as the writer builds it up; the
//! pages that the reader, the statistics of the writer and a batch of values point into; the page that is made, three
//! times (its values, with levels before them, compressed); and, while the chunk has a dictionary, all of its finished
//! pages, since the dictionary comes before them.

use std::ops::ControlFlow;

use parquet::basic::{Compression, Type as PhysicalType};
use parquet::file::metadata::ColumnChunkMetaData;

use super::column::{
    BATCH_BYTES, BATCH_ROWS, COPIED_BYTES, Context, Filling, LARGE_BYTES, Longest, longest,
};
use super::copy;
use super::form::Form;
use super::input::{Input, codec};
use super::memory::compressor_bytes;
use super::output::BLOCK;
use super::selection::Selection;
use crate::Error;
use crate::open::header::{PageHeader, PageKind};
use crate::open::{chunk_range, guard, read_range};

/// A page header is read from so many bytes, unless it is longer.
const HEADER_BYTES: u64 = 512;
/// The size at which the writer ends a page.
const PAGE_BYTES: u64 = 1 << 20;
/// Bytes that are read ahead in a chunk.
const AHEAD_BYTES: u64 = 1 << 20;
/// A page of a chunk with a dictionary: so many rows of 4 bytes at the most, and their numbers of 8 bytes.
const INDEX_PAGE_BYTES: u64 = 20_000 * 12;
/// The same for a column of lists, whose rows have any number of values.
const INDEX_PAGE_LISTS_BYTES: u64 = 9 << 20;
/// Where nothing is known of texts, the longest are taken to be so many times their mean.
const MEAN_FACTOR: u64 = 8;
/// What the window of Brotli may take.
const BROTLI_WINDOW_BYTES: u64 = 16 << 20;
/// A value that is text or bytes, beside what it points to.
const SLICE_BYTES: u64 = 32;
/// What the writer has beside an entry of its dictionary: a slice of it, its hash, and what growing them takes.
const ENTRY_BYTES: u64 = 64;
/// What a value takes that was copied out of its page, beside its bytes.
const COPY_BYTES: u64 = 64;
/// What copying chunks takes: a block that was read, and one that is written.
pub(super) const COPY_CHUNK_BYTES: u64 = 3 * BLOCK as u64;
/// What a thread needs whatever it works on: decisions, descriptions of chunks, its stack.
pub(super) const FIXED_BYTES: u64 = 256 << 10;
/// What the added columns take while they are encoded: a dictionary until it is given up, and pages of 1 MiB.
const ANNOTATE_BYTES: u64 = 12 << 20;

/// The page that takes most.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Need {
    /// Memory in bytes.
    pub(super) bytes: u64,
    /// The column.
    pub(super) leaf: usize,
    /// The first row of the page in the file, where it is known.
    pub(super) row: Option<u64>,
    /// The size of the page without compression.
    pub(super) page_bytes: u64,
}

/// What encoding a row group again takes beside the encoded bytes: that of its most demanding column. Where what headers
/// tell is more than `enough`, texts are read to find how long they are; but not where even short texts would take more
/// than the `limit`, as then their pages do, which reading would have in memory.
pub(super) fn row_group(
    context: Context<'_>,
    selection: &Selection,
    enough: u64,
    limit: u64,
) -> Result<Need, Error> {
    let Context { input, group, .. } = context;
    let mut most = Need::default();
    let mut blooms = 0_u64;
    for leaf in &input.output.leaves {
        let length = input.chunk(group, *leaf)?.bloom_filter_length();
        // Read twice over, and made anew twice over until the row group ends.
        blooms += 4 * u64::try_from(length.unwrap_or_default()).unwrap_or_default();
        let mut need = chunk(context, *leaf, selection, Lengths::Any)?;
        let is_text = input.chunk(group, *leaf)?.column_type() == PhysicalType::BYTE_ARRAY;
        let readable = || {
            let short = chunk(
                context,
                *leaf,
                selection,
                Lengths::Known(Longest::default()),
            )?;
            Ok(short.bytes.saturating_add(FIXED_BYTES) <= limit)
        };
        if need.bytes > enough && is_text && readable()? {
            let longest = longest(context, *leaf, selection)?;
            need = chunk(context, *leaf, selection, Lengths::Known(longest))?;
        }
        if need.bytes >= most.bytes {
            most = need;
        }
    }
    let fixed = FIXED_BYTES + selection.rows() / 8 + blooms + 2 * BLOCK as u64;
    most.bytes = most.bytes.saturating_add(fixed);
    Ok(most)
}

/// Bytes that the encoded row group takes, about a quarter more than its chunks took for as many rows.
pub(super) fn encoded_bytes(context: Context<'_>, selection: &Selection) -> Result<u64, Error> {
    let group = context.input.group(context.group)?;
    let stored = u64::try_from(group.compressed_size()).unwrap_or_default();
    let columns = group.num_columns() as u64;
    Ok(selection.share(stored) / 4 * 5 + (columns << 10) + (16 << 10))
}

/// What writing the added columns of so many rows takes: a dictionary until it is given up, pages, and a bit a row.
pub(super) fn annotation(rows: u64) -> u64 {
    ANNOTATE_BYTES.min((64 << 10) + 200 * rows) + rows / 8
}

/// Bytes that the added columns of so many rows take: a number and a bit a row, and levels.
pub(super) fn annotated_bytes(rows: u64) -> u64 {
    10 * rows + (8 << 10)
}

/// What encoding a row group again takes, about: texts of a page are taken to be not much longer than their mean.
pub(super) fn expected(context: Context<'_>, selection: &Selection) -> Result<u64, Error> {
    let mut most = 0;
    for leaf in &context.input.output.leaves {
        let means = Lengths::Mean(least_mean(context, *leaf)?);
        most = chunk(context, *leaf, selection, means)?.bytes.max(most);
    }
    Ok(most + FIXED_BYTES)
}

/// What is known of the lengths of values.
#[derive(Clone, Copy, Debug)]
enum Lengths {
    /// Nothing: one may be as long as its page.
    Any,
    /// They are about what the size of a page and the number of its values tell, unless a page of the chunk has values of
    /// a mean that is so much smaller that one long value must be what made this one large.
    Mean(u64),
    /// What was found.
    Known(Longest),
}

impl Lengths {
    fn of(self, header: &PageHeader, in_memory: u64) -> Longest {
        let page = header.uncompressed;
        let of = |value: u64| Longest {
            value,
            held: if 2 * value < page { value } else { in_memory },
            copied: value.min(page / 2),
        };
        match self {
            Self::Any => Longest {
                held: in_memory,
                ..of(page)
            },
            Self::Mean(least) => {
                let usual = MEAN_FACTOR.saturating_mul(least.max(1));
                let is_usual = usual.saturating_mul(header.values) > page / 2;
                let mean = page / header.values.max(1);
                of(match is_usual || page < LARGE_BYTES {
                    true => page.min(MEAN_FACTOR.saturating_mul(mean)),
                    false => page,
                })
            }
            Self::Known(longest) => Longest {
                value: longest.value.min(page),
                held: longest.held.min(in_memory),
                copied: longest.copied.min(page / 2),
            },
        }
    }
}

/// The least mean of the values of a page, in bytes, of those of a chunk that are not numbers of entries.
fn least_mean(context: Context<'_>, leaf: usize) -> Result<u64, Error> {
    let Context { input, group, .. } = context;
    let chunk = input.chunk(group, leaf)?;
    let mut least = u64::MAX;
    pages(input, &input.place(group, leaf), chunk, |_, header| {
        if header.kind == PageKind::Data && !header.needs_dictionary() && header.values > 0 {
            least = least.min(header.uncompressed / header.values);
        }
        ControlFlow::Continue(())
    })?;
    Ok(least)
}

/// What encoding one chunk again takes.
fn chunk(
    context: Context<'_>,
    leaf: usize,
    selection: &Selection,
    lengths: Lengths,
) -> Result<Need, Error> {
    let Context { input, group, .. } = context;
    let place = input.place(group, leaf);
    let chunk = input.chunk(group, leaf)?;
    let codec = codec(chunk.compression_codec(), context.options.compression_level)
        .map_err(|why| input.damaged(place.clone(), &why))?;
    let indexed = copy::index(input, group, leaf).0.is_some();
    let form = Form::probe(input, &place, chunk)?;
    let mut tally = Tally {
        leaf,
        first_row: input.rows(group).start,
        filling: form.filling(selection),
        has_page_statistics: indexed || form.has_page_statistics(),
        codec,
        compression: chunk.compression(),
        stored_bytes: size(chunk.compressed_size()),
        plain_bytes: size(chunk.uncompressed_size()),
        rows: selection.rows(),
        kept: selection.kept(),
        all_values: size(chunk.num_values()),
        width: width(chunk),
        is_bytes: is_bytes(chunk),
        is_list: chunk.column_descr().max_rep_level() > 0,
        has_statistics: chunk.statistics().is_some() || indexed || form.has_page_statistics(),
        lengths,
        values: 0,
        entries_bytes: 0,
        entries: 0,
        decoded: 0,
        built: 0,
        made: 0,
        before: 0,
        largest: [0; 2],
        latest: [0; 2],
        need: Need::default(),
    };
    pages(input, &place, chunk, |_, header| {
        tally.page(header);
        ControlFlow::Continue(())
    })?;
    Ok(tally.need)
}

/// Gives the position and the header of every page of a chunk to `see`, until that breaks.
pub(super) fn pages(
    input: &Input,
    place: &str,
    chunk: &ColumnChunkMetaData,
    mut see: impl FnMut(u64, &PageHeader) -> ControlFlow<()>,
) -> Result<(), Error> {
    let (mut at, bytes) = chunk_range(&input.file, &input.path, place, chunk)?;
    let end = at + bytes;
    while at < end {
        let header = header(input, place, at, end - at)?;
        let length = header.header_bytes.saturating_add(header.compressed);
        if length > end - at {
            let message = format!(
                "a page is said to take {length} bytes, but only {} of the chunk are left",
                end - at
            );
            return Err(input.damaged(place.to_owned(), &message));
        }
        if see(at, &header).is_break() {
            break;
        }
        at += length;
    }
    Ok(())
}

fn header(input: &Input, place: &str, at: u64, left: u64) -> Result<PageHeader, Error> {
    guard(&input.path, place, || {
        // Few bytes at first: statistics in a header are rare.
        let mut most = HEADER_BYTES.min(left);
        loop {
            let length = usize::try_from(most).unwrap_or(usize::MAX);
            let bytes = read_range(&input.file, &input.path, at, length)?;
            match PageHeader::read(&bytes[..], most) {
                Ok(header) => return Ok(header),
                Err(error) if most == left => {
                    return Err(Error::parquet(&input.path, place, error));
                }
                Err(_) => most = most.saturating_mul(16).min(left),
            }
        }
    })
}

fn size(bytes: i64) -> u64 {
    u64::try_from(bytes).unwrap_or_default()
}

fn is_bytes(chunk: &ColumnChunkMetaData) -> bool {
    matches!(
        chunk.column_type(),
        PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY
    )
}

/// Bytes of a decoded value, without what it points to.
fn width(chunk: &ColumnChunkMetaData) -> u64 {
    match chunk.column_type() {
        PhysicalType::BOOLEAN => 1,
        PhysicalType::INT32 | PhysicalType::FLOAT => 4,
        PhysicalType::INT64 | PhysicalType::DOUBLE => 8,
        PhysicalType::INT96 => 12,
        PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY => SLICE_BYTES,
    }
}

/// Goes over the pages of a chunk as they will be read and written.
struct Tally {
    leaf: usize,
    first_row: u64,
    filling: Filling,
    has_page_statistics: bool,
    codec: Compression,
    compression: Compression,
    stored_bytes: u64,
    plain_bytes: u64,
    rows: u64,
    kept: u64,
    /// Values and nulls.
    all_values: u64,
    width: u64,
    is_bytes: bool,
    is_list: bool,
    has_statistics: bool,
    lengths: Lengths,
    /// Values so far.
    values: u64,
    /// The entries of the dictionary as they are stored.
    entries_bytes: u64,
    entries: u64,
    /// The dictionary as the reader has it, and as the writer builds it.
    decoded: u64,
    built: u64,
    /// Finished pages that wait for the dictionary.
    made: u64,
    /// The page before.
    before: u64,
    /// Pages that bounds of the chunk, and of the page made last, may point into.
    largest: [u64; 2],
    latest: [u64; 2],
    need: Need,
}

impl Tally {
    fn page(&mut self, header: &PageHeader) {
        let in_memory = self.in_memory(header);
        let reading = match self.compression {
            Compression::UNCOMPRESSED => in_memory,
            // Its decoder has an input buffer of the page's size, and a window.
            Compression::BROTLI(_) => {
                header.compressed + 2 * in_memory + in_memory.min(BROTLI_WINDOW_BYTES)
            }
            _ => header.compressed.saturating_add(in_memory),
        };
        match header.kind {
            PageKind::Other => {}
            PageKind::Dictionary => {
                self.note(header, reading);
                let entries = match self.is_bytes {
                    true => header.values.min(header.uncompressed),
                    false => header.uncompressed / self.width.max(1),
                };
                self.dictionary(header, entries);
            }
            PageKind::Data => self.data_page(header, in_memory, reading),
        }
    }

    fn dictionary(&mut self, header: &PageHeader, entries: u64) {
        let bytes = header.uncompressed;
        self.entries_bytes = bytes;
        self.entries = entries;
        self.decoded = bytes.saturating_add(self.width.saturating_mul(entries));
        self.built = match self.filling {
            Filling::Nothing => 0,
            Filling::All(_) => ENTRY_BYTES.saturating_mul(entries),
            Filling::UpTo(limit) => {
                let copies = limit / (bytes / entries.max(1)).max(1);
                limit.saturating_add((ENTRY_BYTES + COPY_BYTES).saturating_mul(copies))
            }
        };
    }

    /// Dictionary page in the making: entries, and compressed.
    fn made_dictionary(&self, value: u64) -> u64 {
        let bytes = match self.filling {
            Filling::Nothing => return 0,
            Filling::All(_) => self.entries_bytes,
            Filling::UpTo(limit) => limit.saturating_add(value),
        };
        let compressor = compressor_bytes(self.codec, bytes);
        bytes.saturating_mul(2).saturating_add(compressor)
    }

    /// The memory for a page of `bytes` bytes once it is compressed. Some codecs touch all that the worst case takes, others
    /// what they make: about as much as it was.
    fn compressed(&self, header: &PageHeader, bytes: u64) -> u64 {
        let made = u128::from(bytes) * u128::from(header.compressed);
        let made = (made / u128::from(header.uncompressed.max(1))) as u64;
        match self.codec {
            Compression::ZSTD(_) | Compression::GZIP(_) | Compression::BROTLI(_) => {
                (made / 4 * 5).min(bytes).saturating_add(4 << 10)
            }
            Compression::UNCOMPRESSED => 0,
            _ => bytes / 6 * 7,
        }
    }

    /// What a page takes once it is decompressed. One that is not compressed lies in a block that was read ahead.
    fn in_memory(&self, header: &PageHeader) -> u64 {
        match self.compression {
            Compression::UNCOMPRESSED => {
                header.uncompressed.max(AHEAD_BYTES.min(self.stored_bytes))
            }
            _ => header.uncompressed,
        }
    }

    fn data_page(&mut self, header: &PageHeader, in_memory: u64, reading: u64) {
        let coded = header.needs_dictionary();
        let longest = self.lengths.of(header, in_memory);
        let points = self.is_bytes && !coded;
        let pinned: u64 = match points && self.has_statistics {
            true => self.largest.iter().chain(&self.latest).sum(),
            false => 0,
        };
        let lengths = match header.has_lengths_ahead() {
            true => 8_u64.saturating_mul(header.values),
            false => 0,
        };
        let lasting = pinned.saturating_add(lengths);
        let before = match self.before >= LARGE_BYTES && !coded {
            true => 0,
            false => self.before,
        };
        let ahead = AHEAD_BYTES.min(self.stored_bytes);
        let reading = lasting.saturating_add(before).saturating_add(reading);
        self.note(header, reading.saturating_add(ahead));
        let writing = in_memory
            .saturating_add(self.batch(header, longest))
            .saturating_add(self.made_page(header, longest));
        self.note(header, lasting.saturating_add(writing));

        self.values = self.values.saturating_add(header.values);
        self.before = in_memory;
        if coded && self.filling != Filling::Nothing {
            let made = u128::from(header.compressed) * u128::from(self.kept);
            let made = (made / u128::from(self.rows.max(1))) as u64;
            self.made = self.made.saturating_add(made / 4 * 5 + 256);
        }
        if points {
            // What is small is not copied, and what is not compressed lies in a block that was read ahead.
            let held = match header.uncompressed < LARGE_BYTES {
                true => in_memory,
                false => longest.held,
            };
            let mut all = [self.largest[0], self.largest[1], held];
            all.sort_unstable();
            self.largest = [all[1], all[2]];
            // A page is made of a long value alone, and else at most of values of two pages.
            let is_one = header.values == 1 && header.uncompressed >= PAGE_BYTES;
            self.latest = match (self.has_page_statistics, is_one) {
                (false, _) => [0; 2],
                (true, true) => [0, held],
                (true, false) => [self.latest[1], held],
            };
        }
    }

    /// A batch of values and levels, and what it was put together from.
    fn batch(&self, header: &PageHeader, longest: Longest) -> u64 {
        let rows = match self.is_list {
            true => (BATCH_BYTES / (self.width + 4) + BATCH_ROWS).min(self.all_values),
            false => self.rows.min(BATCH_ROWS),
        };
        let slots = 2 * rows.saturating_mul(self.width + 4);
        let pages = match (self.is_list, self.is_bytes) {
            (true, true) => BATCH_BYTES + 2 * self.mean_row(),
            _ => 0,
        };
        slots
            .saturating_add(pages)
            .saturating_add(self.copied(header, longest))
    }

    /// What is copied of a page: values that are put together anew, or that must not hold on to it.
    fn copied(&self, header: &PageHeader, longest: Longest) -> u64 {
        let page = header.uncompressed;
        if header.copies_values() {
            return COPIED_BYTES.max(page);
        }
        if !self.is_bytes {
            return 0;
        }
        match (self.filling, header.needs_dictionary()) {
            (Filling::Nothing, false) if page < LARGE_BYTES => 0,
            (Filling::Nothing, false) => page.min(BATCH_BYTES.saturating_add(longest.copied)),
            (Filling::UpTo(limit), true) => BATCH_BYTES + limit.min(self.longest_entry()),
            (_, true) => 0,
            // Not those that are longer than the limit.
            (filling, false) => page.min(BATCH_BYTES + filling.limit().min(longest.value)),
        }
    }

    /// A page in the making, three times, and the state of its codec; or the dictionary.
    fn made_page(&self, header: &PageHeader, longest: Longest) -> u64 {
        let is_coded = header.needs_dictionary();
        let value = match (self.is_bytes, is_coded) {
            (false, _) => 0,
            (true, false) => longest.value,
            (true, true) => self.longest_entry(),
        };
        let list = match self.is_list {
            true => 2 * self.mean_row(),
            false => 0,
        };
        let value = value.saturating_add(list);
        let page = match (is_coded, self.filling) {
            (true, Filling::All(_)) => {
                let most = match self.is_list {
                    true => INDEX_PAGE_LISTS_BYTES,
                    false => INDEX_PAGE_BYTES,
                };
                most.min(self.all_values.saturating_mul(16).saturating_add(1024))
            }
            _ => {
                let all = self.all_values.saturating_mul(self.width);
                let all = self.plain_bytes.max(all).saturating_add(1024);
                PAGE_BYTES.saturating_add(value).min(all.max(value))
            }
        };
        let page = (2 * page)
            .saturating_add(self.compressed(header, page))
            .saturating_add(compressor_bytes(self.codec, page));
        page.max(self.made_dictionary(value))
    }

    /// The longest entry of the dictionary.
    fn longest_entry(&self) -> u64 {
        let bytes = self.entries_bytes;
        match self.lengths {
            Lengths::Any => bytes,
            Lengths::Mean(least) => {
                let usual = MEAN_FACTOR.saturating_mul(least.max(1));
                let mean = bytes / self.entries.max(1);
                match usual.saturating_mul(self.entries) > bytes / 2 {
                    true => bytes.min(MEAN_FACTOR.saturating_mul(mean)),
                    false => bytes,
                }
            }
            Lengths::Known(longest) => bytes.min(longest.value),
        }
    }

    fn mean_row(&self) -> u64 {
        self.plain_bytes / self.rows.max(1)
    }

    fn note(&mut self, header: &PageHeader, bytes: u64) {
        let ahead = AHEAD_BYTES.min(self.stored_bytes);
        // It is given back when it is large and not needed.
        let decoded = match header.kind == PageKind::Data && !header.needs_dictionary() {
            true if self.entries_bytes >= LARGE_BYTES => 0,
            _ => self.decoded,
        };
        let lasting = decoded
            .saturating_add(self.built)
            .saturating_add(self.made)
            .saturating_add(ahead);
        let bytes = bytes.saturating_add(lasting);
        if bytes > self.need.bytes {
            self.need = Need {
                bytes,
                leaf: self.leaf,
                row: (!self.is_list).then_some(self.first_row.saturating_add(self.values)),
                page_bytes: match header.needs_dictionary() {
                    true => header.uncompressed.max(self.entries_bytes),
                    false => header.uncompressed,
                },
            };
        }
    }
}
