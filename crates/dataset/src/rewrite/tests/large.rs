//! Long values, large pages, dictionaries that were given up, and what they take in memory.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use records::settings::Mode;

use super::fixture::{metadata, records};
use super::{Dice, Picks, options, run, source};
use crate::Error;
use crate::rewrite::lost::{PageForm, page_form};
use crate::rewrite::{Job, Options, expected_bytes, rewrite};

const MIB: u64 = 1 << 20;

/// How a file is written.
struct Form {
    codec: Compression,
    dictionary_bytes: Option<usize>,
    page_bytes: usize,
    groups: usize,
}

impl Form {
    fn plain() -> Self {
        Self {
            codec: Compression::ZSTD(ZstdLevel::try_new(1).unwrap()),
            dictionary_bytes: None,
            page_bytes: MIB as usize,
            groups: 1,
        }
    }

    /// Writes `texts`, of which every 7th is null, and their beginnings as lists of three, as many times as there are groups.
    fn write(&self, path: &Path, texts: &[Vec<u8>]) {
        let message = "message m { optional binary text (STRING); repeated binary list; }";
        let root = Arc::new(parse_message_type(message).unwrap());
        let properties = WriterProperties::builder()
            .set_compression(self.codec)
            .set_dictionary_enabled(self.dictionary_bytes.is_some())
            .set_dictionary_page_size_limit(self.dictionary_bytes.unwrap_or(1))
            .set_data_page_size_limit(self.page_bytes)
            .set_encoding(Encoding::PLAIN);
        let file = File::create(path).unwrap();
        let mut writer =
            SerializedFileWriter::new(file, root, Arc::new(properties.build())).unwrap();
        let is_null = |row: usize| row % 7 == 3;
        for _ in 0..self.groups {
            let mut group = writer.next_row_group().unwrap();
            for list in [false, true] {
                let mut column = group.next_column().unwrap().unwrap();
                let ColumnWriter::ByteArrayColumnWriter(writer) = column.untyped() else {
                    unreachable!()
                };
                let rows = texts.iter().enumerate();
                let present = rows.filter(|(row, _)| list || !is_null(*row));
                let values: Vec<_> = present
                    .map(|(_, text)| match list {
                        true => ByteArray::from(text[..text.len().min(60)].to_vec()),
                        false => ByteArray::from(text.clone()),
                    })
                    .collect();
                let levels = |of: fn(usize) -> i16| (0..texts.len()).map(of).collect::<Vec<_>>();
                let (definitions, repetitions) = match list {
                    false => (levels(|row| i16::from(row % 7 != 3)), None),
                    true => (levels(|_| 1), Some(levels(|row| i16::from(row % 3 != 0)))),
                };
                // The list column has a third of the rows: its others are empty.
                let (mut definitions, mut repetitions) = (definitions, repetitions);
                if let Some(repetitions) = &mut repetitions {
                    let rows = texts.len().div_ceil(3);
                    repetitions.extend(vec![0; texts.len() - rows]);
                    definitions.extend(vec![0; texts.len() - rows]);
                }
                writer
                    .write_batch(&values, Some(&definitions), repetitions.as_deref())
                    .unwrap();
                column.close().unwrap();
            }
            group.close().unwrap();
        }
        writer.close().unwrap();
    }
}

fn text(dice: &mut Dice, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|_| b'a' + dice.below(26) as u8).collect()
}

fn assert_kept(input: &Path, output: &Path, picks: &Picks) {
    let (before, after) = (records(input), records(output));
    for (leaf, column) in before.into_iter().enumerate() {
        let kept = column.into_iter().enumerate();
        let kept: Vec<_> = kept
            .filter(|(row, _)| picks.keeps(*row as u64))
            .map(|(_, record)| record)
            .collect();
        assert!(kept == after[leaf], "leaf {leaf} of {}", input.display());
    }
}

#[test]
fn a_long_value_is_refused_with_row_and_a_number_that_does() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.parquet");
    let mut dice = Dice(3);
    let mut texts: Vec<_> = (0..900).map(|_| text(&mut dice, 40)).collect();
    texts[701] = text(&mut dice, 6 << 20);
    let form = Form {
        page_bytes: 4096,
        ..Form::plain()
    };
    form.write(&input, &texts);
    let picks = Picks::dropping(900, |row| row % 2 == 0);
    let with = |memory_bytes| Options {
        memory_bytes,
        ..options(Mode::Drop)
    };
    let error = run(&input, folder.path(), &picks, &with(16 * MIB)).unwrap_err();
    assert!(error.refused());
    let Error::TooLarge {
        row,
        page_bytes,
        needed_bytes,
        ref place,
        ..
    } = error
    else {
        panic!("{error}");
    };
    assert_eq!(place, "row group 0, column `text`");
    assert!(row.is_some_and(|row| (600..=701).contains(&row)), "{error}");
    assert!(page_bytes >= 6 * MIB, "{error}");
    let text = error.to_string();
    assert!(
        text.contains(&format!("row {} of the file", row.unwrap())),
        "{text}"
    );
    // Three times the value, and what is the same for all.
    assert!(
        (18 * MIB..30 * MIB).contains(&needed_bytes),
        "{needed_bytes}"
    );
    let (output, _) = run(&input, folder.path(), &picks, &with(needed_bytes)).unwrap();
    assert_kept(&input, &output, &picks);
    let less = run(&input, folder.path(), &picks, &with(needed_bytes - 1)).unwrap_err();
    assert!(matches!(less, Error::TooLarge { .. }), "{less}");
}

#[test]
fn large_pages_of_short_values_take_less_than_their_size_tells() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.parquet");
    let mut dice = Dice(5);
    let texts: Vec<_> = (0..6000).map(|_| text(&mut dice, 900)).collect();
    let form = Form {
        page_bytes: 1 << 30,
        ..Form::plain()
    };
    form.write(&input, &texts);
    let picks = Picks::dropping(6000, |row| row % 2 == 0);
    let expected = expected_bytes(&source(&input), 0, 3000, &options(Mode::Drop)).unwrap();
    // A page, and what is made of it: not a page for each bound and copy.
    assert!((6 * MIB..24 * MIB).contains(&expected), "{expected}");
    let with = |memory_bytes| Options {
        memory_bytes,
        ..options(Mode::Drop)
    };
    let (output, _) = run(&input, folder.path(), &picks, &with(24 * MIB)).unwrap();
    assert_kept(&input, &output, &picks);
}

#[test]
fn dictionaries_that_were_given_up_are_again() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.parquet");
    let mut dice = Dice(7);
    let common: Vec<_> = (0..50).map(|_| text(&mut dice, 300)).collect();
    let texts: Vec<_> = (0..9000)
        .map(|row| match dice.below(3) {
            0 => common[row % 50].clone(),
            _ => text(&mut dice, 200),
        })
        .collect();
    let form = Form {
        dictionary_bytes: Some(300_000),
        ..Form::plain()
    };
    form.write(&input, &texts);
    let picks = Picks::dropping(9000, |row| row % 5 < 2);
    let (output, _) = run(&input, folder.path(), &picks, &options(Mode::Drop)).unwrap();
    assert_kept(&input, &output, &picks);
    let encodings: Vec<_> = metadata(&output)
        .row_group(0)
        .column(0)
        .encodings()
        .collect();
    assert!(
        encodings.contains(&Encoding::RLE_DICTIONARY) && encodings.contains(&Encoding::PLAIN),
        "{encodings:?}"
    );
}

#[test]
fn a_row_group_that_outgrows_its_memory_is_encoded_into_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.parquet");
    let mut dice = Dice(11);
    let texts: Vec<_> = (0..3000).map(|_| text(&mut dice, 500)).collect();
    // The row that stays is nearly all of what is stored.
    let mut texts = texts;
    for text in &mut texts {
        text.fill(b'x');
    }
    texts[1] = text(&mut dice, 1 << 20);
    let form = Form {
        groups: 4,
        ..Form::plain()
    };
    form.write(&input, &texts);
    let rows = 4 * 3000;
    let picks = Picks::dropping(rows, |row| row % 3000 != 1);
    let source = source(&input);
    let written = |threads: usize| {
        let output = folder.path().join(threads.to_string());
        let job = Job {
            source: &source,
            output: output.clone(),
            decisions: &picks,
        };
        let options = Options {
            threads,
            ..options(Mode::Drop)
        };
        rewrite(&[job], &options, &|_| {}, &|| false).unwrap();
        std::fs::read(output).unwrap()
    };
    let alone = written(1);
    assert!(alone.len() as u64 > 2 * MIB);
    for threads in [2, 3, 4] {
        assert!(written(threads) == alone, "{threads} threads");
    }
}

#[test]
fn the_form_of_a_page_is_in_its_header() {
    let form = |version_2, has_statistics| {
        Some(PageForm {
            version_2,
            has_statistics,
        })
    };
    // Type, sizes, and `DataPageHeader` with or without statistics.
    let start = b"\x15\x00\x15\xa0\x1f\x15\xd0\x0f";
    let page = |header: &[u8]| page_form(&[&start[..], header].concat());
    let bare = b"\x2c\x15\x06\x15\x00\x15\x06\x15\x06\x00\x00";
    assert_eq!(page(bare), form(false, false));
    let statistics = b"\x2c\x15\x06\x15\x00\x15\x06\x15\x06\x1c\x16\x00\x00\x00\x00";
    assert_eq!(page(statistics), form(false, true));
    let second =
        b"\x5c\x15\x14\x15\x02\x15\x14\x15\x10\x15\x00\x15\x00\x11\x1c\x16\x00\x00\x00\x00";
    assert_eq!(page(second), form(true, true));
    assert_eq!(page(&second[..9]), None);
}
