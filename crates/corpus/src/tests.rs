//! The crate as a whole: what a plan promises, read back from the files.

use std::collections::HashMap;
use std::fs;
use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::ParquetMetaData;

use crate::maker::{Document, Maker, Role};
use crate::measure::shingles;
use crate::{Language, Plan, generate, jaccard};

mod folders;

/// Every file below `folder` by its relative path.
fn tree(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push((
                    path.strip_prefix(folder).unwrap().to_path_buf(),
                    fs::read(&path).unwrap(),
                ));
            }
        }
    }
    files.sort();
    files
}

fn read(path: &Path) -> (ParquetMetaData, Vec<RecordBatch>) {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let metadata = builder.metadata().as_ref().clone();
    (
        metadata,
        builder.build().unwrap().map(Result::unwrap).collect(),
    )
}

/// The batches of all data files, in order, and how many rows each row group has by file.
fn read_corpus(folder: &Path) -> (Vec<RecordBatch>, Vec<Vec<i64>>) {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder.join("data"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    paths.sort();
    let (mut batches, mut groups) = (Vec::new(), Vec::new());
    for path in paths {
        let (metadata, mut read) = read(&path);
        groups.push(
            metadata
                .row_groups()
                .iter()
                .map(|group| group.num_rows())
                .collect(),
        );
        batches.append(&mut read);
    }
    (batches, groups)
}

fn texts(batches: &[RecordBatch]) -> Vec<Option<String>> {
    let column = |batch: &RecordBatch| -> Vec<Option<String>> {
        batch["text"]
            .as_string::<i32>()
            .iter()
            .map(|text| text.map(str::to_owned))
            .collect()
    };
    batches.iter().flat_map(column).collect()
}

fn collapsed(text: &str) -> String {
    text.to_lowercase()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

fn small() -> Plan {
    Plan {
        documents: 1_500,
        files: 4,
        rows_per_row_group: 100,
        words_min: 40,
        words_max: 200,
        ..Plan::default()
    }
}

#[test]
fn the_committed_sample_is_made_again_byte_by_byte() {
    let committed = tree(Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/data/sample"
    )));
    let folder = tempfile::tempdir().unwrap();
    let summary = generate(folder.path(), &Plan::sample()).unwrap();
    let made = tree(folder.path());
    let names = |tree: &[(PathBuf, Vec<u8>)]| {
        tree.iter()
            .map(|(path, _)| path.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&made), names(&committed));
    for ((path, made), (_, committed)) in made.iter().zip(&committed) {
        assert!(
            made == committed,
            "{} differs: run `corpus tests/data/sample --sample --force`",
            path.display()
        );
    }
    let bytes: usize = committed.iter().map(|(_, bytes)| bytes.len()).sum();
    assert_eq!(bytes as u64, summary.file_bytes);
    assert!(bytes <= 1_500_000, "{bytes}");
    assert_eq!((summary.rows, summary.files), (2_000, 3));
    let (_, groups) = read_corpus(folder.path());
    assert!(groups.iter().all(|rows| rows.len() >= 2), "{groups:?}");
    let share = |n: u64| n as f64 / 2_000.0;
    assert!(
        (0.10..0.14).contains(&share(summary.exact + summary.normalised)),
        "{summary}"
    );
    assert!((0.16..0.20).contains(&share(summary.near)), "{summary}");
    assert!(
        summary.nulls > 5 && summary.empties > 2 && summary.blanks > 2,
        "{summary}"
    );
}

#[test]
fn equal_plans_make_equal_bytes_and_other_seeds_others() {
    let make = |seed| {
        let folder = tempfile::tempdir().unwrap();
        generate(
            folder.path(),
            &Plan {
                documents: 200,
                seed,
                ..small()
            },
        )
        .unwrap();
        tree(folder.path())
    };
    let first = make(1);
    assert!(first == make(1));
    let other = make(2);
    for ((path, a), (_, b)) in first.iter().zip(&other) {
        assert!(a != b, "{} does not depend on the seed", path.display());
    }
}

#[test]
fn documents_do_not_depend_on_the_layout_or_the_size_of_the_corpus() {
    let make = |plan: &Plan| {
        let folder = tempfile::tempdir().unwrap();
        generate(folder.path(), plan).unwrap();
        texts(&read_corpus(folder.path()).0)
    };
    let whole = make(&Plan {
        documents: 300,
        files: 1,
        rows_per_row_group: 7,
        ..small()
    });
    let part = make(&Plan {
        documents: 200,
        files: 9,
        rows_per_row_group: 50,
        ..small()
    });
    assert_eq!(whole[..200], part[..]);
}

#[test]
fn rows_files_and_row_groups_are_as_planned() {
    let folder = tempfile::tempdir().unwrap();
    let plan = Plan {
        documents: 1_002,
        files: 4,
        rows_per_row_group: 100,
        ..small()
    };
    let summary = generate(folder.path(), &plan).unwrap();
    let (batches, groups) = read_corpus(folder.path());
    assert_eq!(
        groups,
        [
            [100, 100, 50].as_slice(),
            &[100, 100, 51],
            &[100, 100, 50],
            &[100, 100, 51]
        ]
    );
    let ids: Vec<String> = batches
        .iter()
        .flat_map(|batch| {
            batch["id"]
                .as_string::<i32>()
                .iter()
                .map(|id| id.unwrap().to_owned())
                .collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(
        ids,
        (0..1_002)
            .map(|row| format!("doc-{row:09}"))
            .collect::<Vec<_>>()
    );
    let texts = texts(&batches);
    let bytes: usize = texts.iter().flatten().map(String::len).sum();
    assert_eq!(
        (summary.rows, summary.files, summary.text_bytes),
        (1_002, 4, bytes as u64)
    );
    let on_disk: usize = tree(folder.path())
        .iter()
        .map(|(_, bytes)| bytes.len())
        .sum();
    assert_eq!(summary.file_bytes, on_disk as u64);
    assert_eq!(
        summary.nulls,
        texts.iter().filter(|text| text.is_none()).count() as u64
    );
    let is_blank = |text: &&String| !text.is_empty() && text.trim().is_empty();
    assert_eq!(
        summary.empties,
        texts
            .iter()
            .flatten()
            .filter(|text| text.is_empty())
            .count() as u64
    );
    assert_eq!(
        summary.blanks,
        texts.iter().flatten().filter(is_blank).count() as u64
    );
}

#[test]
fn more_files_than_documents_and_no_documents_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let summary = generate(
        folder.path(),
        &Plan {
            documents: 2,
            files: 5,
            ..small()
        },
    )
    .unwrap();
    assert_eq!((summary.rows, summary.files), (2, 5));
    let (_, groups) = read_corpus(folder.path());
    assert_eq!(groups.iter().flatten().sum::<i64>(), 2);
    assert!(
        groups.iter().filter(|group| group.is_empty()).count() == 3,
        "{groups:?}"
    );
    let folder = tempfile::tempdir().unwrap();
    let summary = generate(
        folder.path(),
        &Plan {
            documents: 0,
            files: 1,
            ..small()
        },
    )
    .unwrap();
    assert_eq!((summary.rows, summary.files), (0, 1));
}

#[test]
fn rates_come_out_as_planned() {
    let plan = Plan {
        exact_rate: 0.2,
        normalised_rate: 0.1,
        near_rate: 0.3,
        null_rate: 0.04,
        empty_rate: 0.03,
        blank_rate: 0.02,
        ..Plan::default()
    };
    let maker = Maker::new(&plan);
    let n = 20_000;
    let mut counts: HashMap<&str, f64> = HashMap::new();
    let mut edit_rates: HashMap<u64, f64> = HashMap::new();
    for number in 0..n {
        let role = maker.role(number);
        let name = match role {
            Role::Original => "original",
            Role::Null => "null",
            Role::Empty => "empty",
            Role::Blank => "blank",
            Role::Copy { kind, original } => {
                assert!(
                    original < number && maker.role(original) == Role::Original,
                    "{original} < {number}"
                );
                if kind.name() == "near" {
                    *edit_rates.entry(kind.edit_rate().to_bits()).or_default() += 1.0;
                }
                kind.name()
            }
        };
        *counts.entry(name).or_default() += 1.0;
    }
    let expected = [
        ("original", 0.31),
        ("exact", 0.2),
        ("normalised", 0.1),
        ("near", 0.3),
        ("null", 0.04),
        ("empty", 0.03),
        ("blank", 0.02),
    ];
    for (name, rate) in expected {
        let (n, found) = (n as f64, counts[name]);
        assert!(
            (found - rate * n).abs() < 4.0 * (rate * (1.0 - rate) * n).sqrt(),
            "{name}: {found} of {n}"
        );
    }
    assert_eq!(edit_rates.len(), 4);
    for count in edit_rates.values() {
        assert!((count - 1_500.0).abs() < 200.0, "{edit_rates:?}");
    }
}

#[test]
fn a_corpus_of_copies_alone_has_one_original() {
    let plan = Plan {
        exact_rate: 1.0,
        normalised_rate: 0.0,
        near_rate: 0.0,
        null_rate: 0.0,
        empty_rate: 0.0,
        blank_rate: 0.0,
        ..small()
    };
    let maker = Maker::new(&plan);
    assert_eq!(maker.role(0), Role::Original);
    for number in 1..20 {
        assert!(matches!(maker.role(number), Role::Copy { original: 0, .. }));
    }
}

#[test]
fn the_planted_table_tells_the_truth() {
    let folder = tempfile::tempdir().unwrap();
    let plan = small();
    let summary = generate(folder.path(), &plan).unwrap();
    let texts = texts(&read_corpus(folder.path()).0);
    let (_, planted) = read(&folder.path().join("planted.parquet"));
    let mut counts: HashMap<String, u64> = HashMap::new();
    let mut means: HashMap<u64, (f64, f64)> = HashMap::new();
    let mut last = -1;
    for batch in planted {
        let (row, original) = (
            batch["row"].as_primitive::<Int64Type>(),
            batch["original"].as_primitive::<Int64Type>(),
        );
        let (file, kind) = (
            batch["file"].as_string::<i32>(),
            batch["kind"].as_string::<i32>(),
        );
        let rates = batch["edit_rate"].as_primitive::<Float64Type>();
        let likeness = batch["jaccard"].as_primitive::<Float64Type>();
        for at in 0..batch.num_rows() {
            let (row, original) = (row.value(at), original.value(at));
            assert!(original < row && last < row, "{last} {original} {row}");
            last = row;
            // 1,500 rows in 4 files of 375.
            assert_eq!(file.value(at), format!("part-{:05}.parquet", row / 375));
            let copy = texts[row as usize].as_deref().unwrap();
            let source = texts[original as usize].as_deref().unwrap();
            let (rate, likeness) = (rates.value(at), likeness.value(at));
            assert_eq!(likeness, jaccard(copy, source));
            match kind.value(at) {
                "exact" => assert_eq!(copy, source),
                "normalised" => assert!(
                    copy != source && collapsed(copy) == collapsed(source) && likeness == 1.0
                ),
                _ => {
                    assert!(
                        collapsed(copy) != collapsed(source)
                            && likeness < 1.0
                            && plan.edit_rates.contains(&rate)
                    );
                    let mean = means.entry(rate.to_bits()).or_default();
                    *mean = (mean.0 + likeness, mean.1 + 1.0);
                }
            }
            assert_eq!(rate > 0.0, kind.value(at) == "near");
            *counts.entry(kind.value(at).to_owned()).or_default() += 1;
        }
    }
    assert_eq!(
        (counts["exact"], counts["normalised"], counts["near"]),
        (summary.exact, summary.normalised, summary.near)
    );
    // An edit of rate e leaves a shingle whole with (1 - e)^5, and what it takes from one side it adds to the other.
    for (rate, (sum, n)) in means
        .into_iter()
        .map(|(bits, mean)| (f64::from_bits(bits), mean))
    {
        let kept = (1.0 - rate).powi(5);
        let expected = kept / (2.0 - kept);
        assert!(
            (sum / n - expected).abs() < 0.04,
            "at {rate}: {} where about {expected} is due",
            sum / n
        );
    }
}

#[test]
fn originals_are_unlike() {
    for language in Language::ALL {
        let plan = Plan {
            words_max: 600,
            mix: vec![(language, 1.0)],
            ..small()
        };
        let maker = Maker::new(&plan);
        let mut document = Document::default();
        let mut holders: HashMap<u64, Vec<usize>> = HashMap::new();
        let mut sizes = Vec::new();
        for number in (0..)
            .filter(|&number| maker.role(number) == Role::Original)
            .take(150)
        {
            assert_eq!(
                maker.make(number, &mut document),
                (Role::Original, language)
            );
            let set = shingles(&document.text);
            for &shingle in &set {
                holders.entry(shingle).or_default().push(sizes.len());
            }
            sizes.push(set.len());
        }
        let mut shared: HashMap<(usize, usize), usize> = HashMap::new();
        for documents in holders.values() {
            for (at, &a) in documents.iter().enumerate() {
                for &b in &documents[at + 1..] {
                    *shared.entry((a, b)).or_default() += 1;
                }
            }
        }
        for ((a, b), both) in shared {
            let likeness = both as f64 / (sizes[a] + sizes[b] - both) as f64;
            assert!(likeness < 0.05, "{language:?}: {likeness}");
        }
    }
}

#[test]
fn texts_look_like_their_language() {
    let maker = Maker::new(&small());
    let mut document = Document::default();
    let mut seen: HashMap<Language, u32> = HashMap::new();
    for number in (0..600).filter(|&number| maker.role(number) == Role::Original) {
        let (_, language) = maker.make(number, &mut document);
        let text = &document.text;
        *seen.entry(language).or_default() += 1;
        assert_eq!(text.trim(), text);
        let has = |range: std::ops::RangeInclusive<char>| text.chars().any(|c| range.contains(&c));
        assert_eq!(language == Language::Latin, text.is_ascii());
        assert_eq!(language == Language::Cyrillic, has('а'..='я'));
        assert_eq!(language == Language::Han, has('\u{4E00}'..='\u{9FFF}'));
        assert_eq!(language == Language::Thai, has('\u{0E01}'..='\u{0E5B}'));
        assert_eq!(language == Language::Accented, has('\u{C0}'..='\u{17F}'));
        assert!(language != Language::Han || !text.contains(' '));
    }
    assert_eq!(seen.len(), 5, "{seen:?}");
    assert!(seen[&Language::Latin] > 250, "{seen:?}");
}

const COLUMNS: [&str; 9] = [
    "id",
    "text",
    "url",
    "source",
    "date",
    "quality",
    "token_count",
    "headings",
    "meta",
];

fn column_names(batch: &RecordBatch) -> Vec<String> {
    let schema = batch.schema();
    schema
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect()
}

#[test]
fn other_columns_have_every_kind_of_value() {
    let folder = tempfile::tempdir().unwrap();
    generate(folder.path(), &small()).unwrap();
    let (batches, _) = read_corpus(folder.path());
    assert_eq!(column_names(&batches[0]), COLUMNS);
    let (mut nulls, mut nans, mut headings, mut null_metas) = ([0; 3], 0, 0, 0);
    for batch in &batches {
        let quality = batch["quality"].as_primitive::<Float64Type>();
        nans += quality
            .iter()
            .flatten()
            .filter(|quality| quality.is_nan())
            .count();
        assert!(
            quality
                .iter()
                .flatten()
                .all(|quality| quality.is_nan() || (0.0..=1.0).contains(&quality))
        );
        for (count, name) in nulls.iter_mut().zip(["quality", "date", "headings"]) {
            *count += batch[name].null_count();
        }
        assert_eq!(
            batch["date"]
                .as_primitive::<TimestampMicrosecondType>()
                .timezone(),
            Some("UTC")
        );
        headings += batch["headings"].as_list::<i32>().values().len();
        let (meta, text) = (batch["meta"].as_struct(), batch["text"].as_string::<i32>());
        null_metas += meta.null_count();
        let words = meta
            .column_by_name("words")
            .unwrap()
            .as_primitive::<Int32Type>();
        let tokens = batch["token_count"].as_primitive::<Int32Type>();
        for row in 0..batch.num_rows() {
            assert_eq!(text.is_null(row), tokens.is_null(row));
            if meta.is_valid(row) && text.is_valid(row) {
                assert_eq!(
                    words.value(row) as usize,
                    text.value(row).split_whitespace().count()
                );
                assert!(tokens.value(row) >= words.value(row));
            }
        }
    }
    assert!(nulls.iter().all(|&count| count > 10), "{nulls:?}");
    assert!(
        nans > 5 && headings > 1_000 && null_metas > 5,
        "{nans} {headings} {null_metas}"
    );
}

#[test]
fn memory_follows_the_row_group_and_not_the_corpus() {
    let peak = |documents, rows_per_row_group| {
        let folder = tempfile::tempdir().unwrap();
        let plan = Plan {
            documents,
            files: 1,
            rows_per_row_group,
            ..small()
        };
        generate(folder.path(), &plan).unwrap().peak_buffer_bytes as f64
    };
    let (small, large) = (peak(2_100, 2_000), peak(8_400, 2_000));
    assert!(large < 1.2 * small, "{small} {large}");
    // What it follows is there to be seen.
    assert!(peak(8_400, 8_400) > 1.5 * large);
}
