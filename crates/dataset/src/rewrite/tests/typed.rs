//! `drop` on typed fixtures.

use std::ops::Range;
use std::path::Path;

use parquet::basic::{Encoding, PageType};
use parquet::bloom_filter::Sbbf;
use parquet::file::metadata::ParquetMetaData;
use records::settings::Mode;

use super::fixture::{RICH, Style, chunk_bytes, metadata, records, write};
use super::{Dice, Picks, options, run, source};
use crate::rewrite::{BoxError, Decisions, Job, Options, RowDecision, check, rewrite};
use crate::{Error, Source};

const GROUPS: [usize; 4] = [300, 1, 120, 77];
const ROWS: u64 = 498;

/// The output holds the kept rows in order, in every leaf.
fn assert_kept(input: &Path, output: &Path, picks: &Picks, leaves: usize) {
    let (before, after) = (records(input), records(output));
    for leaf in 0..leaves {
        let kept = before[leaf].iter().enumerate();
        let kept: Vec<_> = kept
            .filter(|(row, _)| picks.keeps(*row as u64))
            .map(|(_, record)| record.clone())
            .collect();
        assert!(kept == after[leaf], "leaf {leaf} of {}", input.display());
    }
}

/// The file-level metadata and what each column has are the same.
fn assert_alike(before: &ParquetMetaData, after: &ParquetMetaData) {
    let (from, to) = (before.file_metadata(), after.file_metadata());
    assert_eq!(from.schema(), to.schema());
    assert_eq!(from.version(), to.version());
    assert_eq!(from.created_by(), to.created_by());
    assert_eq!(from.key_value_metadata(), to.key_value_metadata());
    assert_eq!(from.column_orders(), to.column_orders());
    for group in after.row_groups() {
        assert_eq!(
            group.sorting_columns(),
            before.row_group(0).sorting_columns()
        );
        for (leaf, chunk) in group.columns().iter().enumerate() {
            let like = before.row_group(0).column(leaf);
            assert_eq!(chunk.compression_codec(), like.compression_codec());
            assert_eq!(chunk.statistics().is_some(), like.statistics().is_some());
            let bloom = |c: &parquet::file::metadata::ColumnChunkMetaData| {
                c.bloom_filter_offset().is_some()
            };
            assert_eq!(bloom(chunk), bloom(like));
            let offsets = |c: &parquet::file::metadata::ColumnChunkMetaData| {
                c.offset_index_offset().is_some()
            };
            assert_eq!(offsets(chunk), offsets(like));
        }
    }
}

#[test]
fn kept_rows_are_equal_in_every_style_and_density() {
    let folder = tempfile::tempdir().unwrap();
    for (index, style) in Style::all().into_iter().enumerate() {
        let input = folder.path().join(format!("in{index}.parquet"));
        write(&input, RICH, style, &GROUPS, 7 + index as u64);
        let before = metadata(&input);
        for drop_in_16 in [1, 8, 15] {
            let mut dice = Dice(99 + drop_in_16);
            let dropped: Vec<bool> = (0..ROWS).map(|_| dice.below(16) < drop_in_16).collect();
            let picks = Picks::dropping(ROWS, |row| dropped[row as usize]);
            let (output, outcome) =
                run(&input, folder.path(), &picks, &options(Mode::Drop)).unwrap();
            assert_eq!(outcome.rows_in, ROWS);
            assert_eq!(outcome.rows_out, ROWS - picks.0.len() as u64);
            assert_kept(&input, &output, &picks, 18);
            assert_alike(&before, &metadata(&output));
        }
    }
}

#[test]
fn encodings_and_page_versions_are_those_of_the_input() {
    let folder = tempfile::tempdir().unwrap();
    for (index, style) in Style::all().into_iter().enumerate() {
        let input = folder.path().join(format!("in{index}.parquet"));
        write(&input, RICH, style, &[400], 3);
        let picks = Picks::dropping(400, |row| row % 5 == 2);
        let (output, _) = run(&input, folder.path(), &picks, &options(Mode::Drop)).unwrap();
        let forms = |path: &Path| -> Vec<Vec<(PageType, Encoding)>> {
            let metadata = metadata(path);
            let chunks = metadata.row_group(0).columns().iter();
            chunks
                .map(|c| {
                    let stats = c.page_encoding_stats().unwrap().iter();
                    stats.map(|s| (s.page_type, s.encoding)).collect()
                })
                .collect()
        };
        assert_eq!(forms(&input), forms(&output), "style {index}");
        let indexes = |path: &Path| -> Vec<bool> {
            let metadata = metadata(path);
            let columns = metadata.row_group(0).columns().iter();
            columns.map(|c| c.column_index_offset().is_some()).collect()
        };
        assert_eq!(indexes(&input), indexes(&output), "style {index}");
    }
}

#[test]
fn what_loses_nothing_is_copied_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    for (index, style) in Style::all().into_iter().enumerate() {
        let input = folder.path().join(format!("in{index}.parquet"));
        write(&input, RICH, style, &GROUPS, 5);
        let picks = Picks::dropping(ROWS, |row| row == 300);
        let (output, outcome) = run(&input, folder.path(), &picks, &options(Mode::Drop)).unwrap();
        assert_eq!(
            (outcome.row_groups_copied, outcome.row_groups_rewritten),
            (3, 0)
        );
        let (before, after) = (metadata(&input), metadata(&output));
        assert_eq!(after.num_row_groups(), 3);
        for (from, to) in [(0, 0), (2, 1), (3, 2)] {
            for leaf in 0..18 {
                let (old, new) = (
                    before.row_group(from).column(leaf),
                    after.row_group(to).column(leaf),
                );
                assert_eq!(
                    chunk_bytes(&input, from, leaf),
                    chunk_bytes(&output, to, leaf)
                );
                assert_eq!(old.statistics(), new.statistics());
                assert_eq!(old.page_encoding_stats(), new.page_encoding_stats());
                assert_eq!(old.num_values(), new.num_values());
                assert_eq!(old.uncompressed_size(), new.uncompressed_size());
                assert_eq!(
                    old.definition_level_histogram(),
                    new.definition_level_histogram()
                );
                let index = |m: &ParquetMetaData, group| {
                    let index = m.page_index().cloned();
                    index.and_then(|i| i.column_index(group, leaf).cloned())
                };
                assert_eq!(index(&before, from), index(&after, to));
                let bloom = |path: &Path, chunk| {
                    let file = std::fs::File::open(path).unwrap();
                    Sbbf::read_from_column_chunk(chunk, &file)
                        .unwrap()
                        .map(|filter| {
                            let mut bytes = Vec::new();
                            filter.write(&mut bytes).unwrap();
                            bytes
                        })
                };
                assert_eq!(bloom(&input, old), bloom(&output, new));
            }
        }
    }
}

#[test]
fn bloom_filters_hold_the_values_that_stay() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.parquet");
    let style = Style {
        bloom: true,
        ..Style::all()[0]
    };
    write(&input, RICH, style, &[200], 11);
    let picks = Picks::dropping(200, |row| row >= 2);
    let (output, _) = run(&input, folder.path(), &picks, &options(Mode::Drop)).unwrap();
    let metadata = metadata(&output);
    let file = std::fs::File::open(&output).unwrap();
    let chunk = metadata.row_group(0).column(0);
    let filter = Sbbf::read_from_column_chunk(chunk, &file).unwrap().unwrap();
    let before = records(&input);
    let held = before[0].iter().map(|(_, values)| {
        filter.check(&i64::from_le_bytes(
            values[0].as_slice().try_into().unwrap(),
        ))
    });
    let held: Vec<bool> = held.collect();
    assert!(held[0] && held[1]);
    assert!(held.iter().filter(|held| **held).count() < 10);
}

#[test]
fn threads_and_memory_do_not_alter_a_byte() {
    let folder = tempfile::tempdir().unwrap();
    let style = Style::all()[6];
    let inputs: Vec<_> = (0..3)
        .map(|n| folder.path().join(format!("in{n}.parquet")))
        .collect();
    for (seed, input) in inputs.iter().enumerate() {
        write(input, RICH, style, &GROUPS, 20 + seed as u64);
    }
    let sources: Vec<_> = inputs.iter().map(|input| source(input)).collect();
    let picks = Picks::dropping(ROWS, |row| row % 3 == 1 && row != 300);
    for mode in [Mode::Drop, Mode::Annotate] {
        let mut seen = Vec::new();
        // What a single row group takes is named by the refusal of less.
        let least = needed(&sources, &picks, mode);
        for (threads, memory_bytes) in [(1, 1 << 30), (3, 1 << 30), (3, least), (1, least)] {
            let to = tempfile::tempdir().unwrap();
            let jobs = sources.iter().enumerate().map(|(n, source)| Job {
                source,
                output: to.path().join(n.to_string()),
                decisions: &picks,
            });
            let jobs: Vec<_> = jobs.collect();
            let options = Options {
                threads,
                memory_bytes,
                ..options(mode)
            };
            let done = std::sync::atomic::AtomicU64::new(0);
            let count = |rows| {
                done.fetch_add(rows, std::sync::atomic::Ordering::Relaxed);
            };
            rewrite(&jobs, &options, &count, &|| false).unwrap();
            assert_eq!(done.into_inner(), 3 * ROWS);
            seen.push(
                jobs.iter()
                    .map(|job| std::fs::read(&job.output).unwrap())
                    .collect::<Vec<_>>(),
            );
        }
        assert!(seen.iter().all(|bytes| *bytes == seen[0]), "{mode}");
    }
}

/// The memory that the refusal of none at all names; it takes no byte less.
fn needed(sources: &[Source], picks: &Picks, mode: Mode) -> u64 {
    let refused = |memory_bytes| {
        let to = tempfile::tempdir().unwrap();
        let jobs = sources.iter().enumerate().map(|(n, source)| Job {
            source,
            output: to.path().join(n.to_string()),
            decisions: picks,
        });
        let options = Options {
            memory_bytes,
            ..options(mode)
        };
        let error = rewrite(&jobs.collect::<Vec<_>>(), &options, &|_| {}, &|| false).unwrap_err();
        assert!(error.refused());
        let Error::TooLarge { needed_bytes, .. } = &error else {
            panic!("{error}");
        };
        let text = error.to_string();
        let ends = format!(
            "takes {needed_bytes} bytes of memory to be written again, and there are \
             {memory_bytes}; give it more memory"
        );
        assert!(
            text.contains(".parquet`: row group ") && text.ends_with(&ends),
            "{text}"
        );
        *needed_bytes
    };
    let needed = refused(0);
    assert_eq!(refused(needed - 1), needed);
    needed
}

#[test]
fn a_file_that_loses_all_rows_or_has_none_is_still_written() {
    let folder = tempfile::tempdir().unwrap();
    let style = Style::all()[1];
    for (name, groups) in [
        ("full", &[30, 40][..]),
        ("zero_rows", &[0]),
        ("no_groups", &[]),
    ] {
        let input = folder.path().join(name);
        write(&input, RICH, style, groups, 1);
        let rows = groups.iter().sum::<usize>() as u64;
        let picks = Picks::dropping(rows, |_| true);
        for mode in [Mode::Drop, Mode::Annotate] {
            let (output, outcome) = run(&input, folder.path(), &picks, &options(mode)).unwrap();
            let kept = if mode == Mode::Drop { 0 } else { rows };
            assert_eq!((outcome.rows_in, outcome.rows_out), (rows, kept));
            let after = metadata(&output);
            let groups = if mode == Mode::Drop && rows > 0 {
                0
            } else {
                groups.len()
            };
            assert_eq!(after.num_row_groups(), groups, "{name} {mode}");
            if mode == Mode::Drop {
                assert_alike(&metadata(&input), &after);
            }
        }
    }
}

#[test]
fn duplicate_names_and_repeated_roots_survive() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.parquet");
    let message = "message twice { optional int64 a; optional int64 a; required binary `` ; }";
    write(&input, message, Style::all()[0], &[90, 10], 4);
    let picks = Picks::dropping(100, |row| row % 2 == 0);
    let (output, _) = run(&input, folder.path(), &picks, &options(Mode::Drop)).unwrap();
    assert_kept(&input, &output, &picks, 3);
    let (output, _) = run(&input, folder.path(), &picks, &options(Mode::Annotate)).unwrap();
    assert_kept(&input, &output, &Picks::default(), 3);
}

#[test]
fn dictionaries_larger_than_the_writers_default_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.parquet");
    let style = Style {
        dictionary: true,
        ..Style::all()[6]
    };
    let message = "message one { required fixed_len_byte_array(1000) a; }";
    write(&input, message, style, &[1000], 4);
    let picks = Picks::dropping(1000, |row| row % 9 == 0);
    let (output, _) = run(&input, folder.path(), &picks, &options(Mode::Drop)).unwrap();
    assert_kept(&input, &output, &picks, 1);
    let pages = metadata(&output)
        .row_group(0)
        .column(0)
        .page_encoding_stats()
        .unwrap()
        .clone();
    assert!(pages.iter().all(
        |page| page.encoding != Encoding::PLAIN || page.page_type == PageType::DICTIONARY_PAGE
    ));
}

/// Decisions that begin at the file's start, whatever rows are asked for.
struct Wrong(Picks);

impl Decisions for Wrong {
    fn rows(
        &self,
        _: Range<u64>,
    ) -> Result<Box<dyn Iterator<Item = Result<RowDecision, BoxError>> + '_>, BoxError> {
        match self.0.0.is_empty() {
            true => Err("the store is gone".into()),
            false => self.0.rows(0..1000),
        }
    }
}

#[test]
fn decisions_and_outputs_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.parquet");
    write(&input, RICH, Style::all()[6], &[50], 4);
    let shown = input.display();
    let from = source(&input);
    let wrong = Wrong(Picks([(60, (1, false))].into()));
    let gone = Wrong(Picks::default());
    let fails = |output: &str, decisions: &dyn Decisions, cancelled: bool| {
        let output = folder.path().join(output);
        let source = &from;
        let job = Job {
            source,
            output,
            decisions,
        };
        rewrite(&[job], &options(Mode::Drop), &|_| {}, &|| cancelled).unwrap_err()
    };

    let error = fails("a", &wrong, false);
    assert_eq!(
        error.to_string(),
        format!(
            "the decisions on `{shown}` cannot be used: a decision for row 60 where one of rows 0 \
             to 50 was expected"
        )
    );
    assert!(!error.refused());
    assert_eq!(
        fails("a", &gone, false).to_string(),
        format!("the decisions on `{shown}` cannot be used: the store is gone")
    );
    assert!(matches!(
        fails("a", &Picks::default(), true),
        Error::Cancelled
    ));
    let error = fails("in.parquet", &Picks::default(), false);
    assert!(error.to_string().starts_with("cannot create `"), "{error}");
    assert!(!error.refused());
    assert_eq!(source(&input), from, "the input is untouched");
}

#[test]
fn what_cannot_be_written_again_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.parquet");
    write(&input, RICH, Style::all()[6], &[50], 4);
    let from = source(&input);
    let level = Options {
        compression_level: Some(40),
        ..options(Mode::Drop)
    };
    assert_eq!(
        check(&from, &level).unwrap_err().to_string(),
        format!(
            "`{}` cannot be written again as it is: row group 0, column `id`: \
             filter.compression_level = 40 is not a level of ZSTD; write it again with another \
             engine, or leave it out of input.paths",
            input.display()
        )
    );
    check(&from, &options(Mode::Annotate)).unwrap();
    let fewer = Source {
        rows: 49,
        ..from.clone()
    };
    let error = check(&fewer, &options(Mode::Drop)).unwrap_err().to_string();
    assert!(
        error.contains("it has 50 rows in 1 row groups, and had 49 in 1"),
        "{error}"
    );
}

#[test]
fn damaged_pages_name_row_group_and_column() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.parquet");
    write(&input, RICH, Style::all()[6], &[50, 50], 4);
    let (start, length) = metadata(&input).row_group(1).column(6).byte_range();
    let mut bytes = std::fs::read(&input).unwrap();
    bytes[start as usize..(start + length) as usize].fill(0xA5);
    std::fs::write(&input, bytes).unwrap();
    let picks = Picks::dropping(100, |row| row == 70);
    let error = run(&input, folder.path(), &picks, &options(Mode::Drop)).unwrap_err();
    let text = error.to_string();
    let place = format!("`{}`: row group 1, column `text`: ", input.display());
    assert!(text.starts_with(&place), "{text}");
    assert!(error.refused());
}
