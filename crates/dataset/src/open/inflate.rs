//! Inflating a page into the memory that its header says, and not a byte more.
//!
//! For three codecs the Parquet crate inflates a page to its end and compares the sizes afterwards, so that a small page
//! could take any memory. These are inflated here. For the others the crate itself has a limit.

use std::io::{self, Read};

use brotli::Decompressor;
use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use lz4_flex::block::decompress_into;
use lz4_flex::frame::FrameDecoder;
use parquet::basic::Compression;
use parquet::column::page::Page;
use parquet::errors::ParquetError;

/// Bytes of input that Brotli's decoder takes at a time.
const INPUT_BYTES: usize = 4096;
/// The sizes before each block of Hadoop's LZ4 format: inflated and as stored, of 4 bytes each.
const HADOOP_SIZES: usize = 8;

/// Whether pages of this codec are to be inflated here.
pub(super) fn is_unbounded(codec: Compression) -> bool {
    matches!(
        codec,
        Compression::GZIP(_) | Compression::BROTLI(_) | Compression::LZ4
    )
}

/// Inflates a page as it was stored; its header says that it has `bytes` then.
pub(super) fn page(page: Page, codec: Compression, bytes: u64) -> Result<Page, ParquetError> {
    if !is_unbounded(codec) {
        return Ok(page);
    }
    let bytes = usize::try_from(bytes)?;
    let mut page = page;
    match &mut page {
        Page::DictionaryPage { buf, .. } | Page::DataPage { buf, .. } => {
            *buf = inflate(codec, buf, 0, bytes)?;
        }
        Page::DataPageV2 {
            buf,
            def_levels_byte_len,
            rep_levels_byte_len,
            is_compressed: true,
            ..
        } => {
            let levels = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
            *buf = inflate(codec, buf, usize::try_from(levels)?, bytes)?;
        }
        Page::DataPageV2 { .. } => {}
    }
    Ok(page)
}

/// Inflates what follows the levels, which are not compressed, to `bytes` in all.
fn inflate(
    codec: Compression,
    stored: &[u8],
    levels: usize,
    bytes: usize,
) -> Result<Bytes, ParquetError> {
    let (Some((levels, rest)), Some(wanted)) =
        (stored.split_at_checked(levels), bytes.checked_sub(levels))
    else {
        return Err(ParquetError::General(
            "the levels of a page are said to be longer than the page".to_owned(),
        ));
    };
    let mut page = Vec::with_capacity(bytes);
    page.extend_from_slice(levels);
    // A page of nulls alone has levels only, and nothing behind them.
    if wanted > 0 {
        match codec {
            Compression::GZIP(_) => drain(MultiGzDecoder::new(rest), &mut page, wanted)?,
            Compression::BROTLI(_) => {
                drain(Decompressor::new(rest, INPUT_BYTES), &mut page, wanted)?;
            }
            _ => lz4(rest, &mut page, wanted)?,
        }
    }
    Ok(page.into())
}

fn other_size(bytes: usize) -> ParquetError {
    ParquetError::General(format!(
        "a page does not inflate to the {bytes} bytes that its header says"
    ))
}

/// Reads exactly `wanted` bytes to the end of `page`, which has room for them, and then the end of the stream, where its
/// checksum may be.
fn drain(mut decoder: impl Read, page: &mut Vec<u8>, wanted: usize) -> Result<(), ParquetError> {
    let read = decoder
        .by_ref()
        .take(wanted as u64)
        .read_to_end(page)
        .map_err(damaged)?;
    if read < wanted || decoder.read(&mut [0]).map_err(damaged)? > 0 {
        return Err(other_size(wanted));
    }
    Ok(())
}

fn damaged(error: io::Error) -> ParquetError {
    ParquetError::General(format!("a page does not inflate: {error}"))
}

/// LZ4 in any of the forms that were written under this name: Hadoop's blocks, frames, a bare block.
fn lz4(stored: &[u8], page: &mut Vec<u8>, wanted: usize) -> Result<(), ParquetError> {
    let begin = page.len();
    page.resize(begin + wanted, 0);
    let target = page.get_mut(begin..).unwrap_or_default();
    if hadoop(stored, target).is_some() {
        return Ok(());
    }
    page.truncate(begin);
    if drain(FrameDecoder::new(stored), page, wanted).is_ok() {
        return Ok(());
    }
    page.truncate(begin);
    page.resize(begin + wanted, 0);
    let target = page.get_mut(begin..).unwrap_or_default();
    match decompress_into(stored, target) {
        Ok(inflated) if inflated == wanted => Ok(()),
        _ => Err(other_size(wanted)),
    }
}

/// Blocks with their sizes before them, which fill `target`; none where it is not that.
fn hadoop(mut stored: &[u8], mut target: &mut [u8]) -> Option<()> {
    while !stored.is_empty() {
        let (sizes, rest) = stored.split_at_checked(HADOOP_SIZES)?;
        let size = |bytes: &[u8]| {
            let size = bytes
                .iter()
                .fold(0, |size, byte| size << 8 | u64::from(*byte));
            usize::try_from(size).ok()
        };
        let (inflated, deflated) = sizes.split_at_checked(HADOOP_SIZES / 2)?;
        let (block, rest) = rest.split_at_checked(size(deflated)?)?;
        let (filled, left) = target.split_at_mut_checked(size(inflated)?)?;
        if decompress_into(block, filled).ok()? != filled.len() {
            return None;
        }
        (stored, target) = (rest, left);
    }
    target.is_empty().then_some(())
}

#[cfg(test)]
mod tests;
