//! Pages in each form of each codec, and pages that inflate to another size than they say.

use std::io::Write;

use flate2::write::GzEncoder;
use lz4_flex::block::compress;
use lz4_flex::frame::FrameEncoder;
use parquet::basic::{BrotliLevel, Encoding, GzipLevel};

use super::*;

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn brotli(content: &[u8]) -> Vec<u8> {
    let mut stored = Vec::new();
    let mut encoder = brotli::CompressorWriter::new(&mut stored, 4096, 5, 22);
    encoder.write_all(content).unwrap();
    drop(encoder);
    stored
}

fn frame(content: &[u8]) -> Vec<u8> {
    let mut encoder = FrameEncoder::new(Vec::new());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// Blocks of `size` bytes in Hadoop's format.
fn blocks(content: &[u8], size: usize) -> Vec<u8> {
    let mut stored = Vec::new();
    for part in content.chunks(size) {
        let block = compress(part);
        stored.extend_from_slice(&(part.len() as u32).to_be_bytes());
        stored.extend_from_slice(&(block.len() as u32).to_be_bytes());
        stored.extend_from_slice(&block);
    }
    stored
}

/// Each codec with the content in each of its forms.
fn forms(content: &[u8]) -> Vec<(Compression, Vec<u8>)> {
    let gzip_codec = Compression::GZIP(GzipLevel::default());
    let half = content.len().div_ceil(2);
    vec![
        (gzip_codec, gzip(content)),
        (gzip_codec, content.chunks(half).flat_map(gzip).collect()),
        (Compression::BROTLI(BrotliLevel::default()), brotli(content)),
        (Compression::LZ4, blocks(content, content.len())),
        (Compression::LZ4, blocks(content, half)),
        (Compression::LZ4, frame(content)),
        (Compression::LZ4, compress(content)),
    ]
}

fn content(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i / 7 * i % 11) as u8).collect()
}

#[test]
fn every_form_inflates_to_what_was_written() {
    for bytes in [1, 100, 300_000] {
        let content = content(bytes);
        for (codec, stored) in forms(&content) {
            let inflated = inflate(codec, &stored, 0, bytes).unwrap();
            assert!(inflated == content, "{codec} {bytes}");
        }
    }
}

#[test]
fn another_size_than_the_header_says_is_an_error_and_takes_no_memory() {
    let content = vec![7; 4 << 20];
    for (codec, stored) in forms(&content) {
        for said in [1, 1000, content.len() - 1, content.len() + 1] {
            let error = inflate(codec, &stored, 0, said).unwrap_err().to_string();
            let expected = format!("a page does not inflate to the {said} bytes");
            assert!(error.contains(&expected), "{codec} {said}: {error}");
        }
        let mut page = Vec::with_capacity(1000);
        let capacity = page.capacity();
        let result = match codec {
            Compression::GZIP(_) => drain(MultiGzDecoder::new(&stored[..]), &mut page, 1000),
            Compression::BROTLI(_) => {
                drain(Decompressor::new(&stored[..], INPUT_BYTES), &mut page, 1000)
            }
            _ => lz4(&stored, &mut page, 1000),
        };
        assert!(result.is_err(), "{codec}");
        assert_eq!(page.capacity(), capacity, "{codec}");
    }
}

#[test]
fn damage_is_an_error() {
    let content = content(5000);
    for (codec, stored) in forms(&content) {
        for cut in 0..stored.len() {
            // The mark at the end of a frame may be missing; all of the content is there then.
            if let Ok(page) = inflate(codec, &stored[..cut], 0, 5000) {
                assert!(page == content && cut + 4 >= stored.len(), "{codec} {cut}");
            }
        }
        assert!(inflate(codec, b"\xff\xff\xff\xffno page at all", 0, 5000).is_err());
    }
}

#[test]
fn levels_of_version_2_are_not_inflated() {
    let (codec, stored) = (Compression::GZIP(GzipLevel::default()), gzip(b"values"));
    let of = |stored: Vec<u8>, levels: u32, is_compressed: bool, bytes: u64| {
        let version_2 = Page::DataPageV2 {
            buf: stored.into(),
            num_values: 3,
            encoding: Encoding::PLAIN,
            num_nulls: 0,
            num_rows: 3,
            def_levels_byte_len: levels,
            rep_levels_byte_len: 0,
            is_compressed,
            statistics: None,
        };
        page(version_2, codec, bytes).map(|page| page.buffer().to_vec())
    };
    let with_levels = [b"lev".to_vec(), stored].concat();
    assert_eq!(of(with_levels.clone(), 3, true, 9).unwrap(), b"levvalues");
    assert_eq!(of(with_levels.clone(), 3, false, 9).unwrap(), with_levels);
    // Nulls alone.
    assert_eq!(of(b"lev".to_vec(), 3, true, 3).unwrap(), b"lev");
    for (levels, bytes) in [(1000, 9), (10, 9), (u32::MAX, u64::from(u32::MAX))] {
        let error = of(with_levels.clone(), levels, true, bytes).unwrap_err();
        assert!(
            error.to_string().contains("longer than the page"),
            "{error}"
        );
    }
    assert!(of(with_levels, 3, true, 10).is_err());
}
