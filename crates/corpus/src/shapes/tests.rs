//! What the shapes promise, measured on their texts.

use std::collections::{HashMap, HashSet};

use arrow_array::cast::AsArray;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::*;
use crate::jaccard;

/// The number of row groups of a file, and its rows.
fn ids_and_texts(path: &Path) -> (usize, Vec<(String, String)>) {
    let builder = ParquetRecordBatchReaderBuilder::try_new(fs::File::open(path).unwrap()).unwrap();
    let groups = builder.metadata().num_row_groups();
    let mut rows = Vec::new();
    for batch in builder.build().unwrap() {
        let batch = batch.unwrap();
        let column = |name| batch[name].as_string::<i32>();
        for (id, text) in column("id").iter().zip(column("text")) {
            rows.push((id.unwrap().to_owned(), text.unwrap().to_owned()));
        }
    }
    (groups, rows)
}

fn texts(shape: &Shape, rows: impl IntoIterator<Item = u64>) -> Vec<String> {
    let maker = Texts::new(shape, 7);
    let make = |row| {
        let mut text = String::new();
        maker.make(row, &mut text);
        text
    };
    rows.into_iter().map(make).collect()
}

fn words(text: &str) -> usize {
    text.split(' ').count()
}

#[test]
fn lines_have_the_shares_and_likeness_they_state() {
    let shape = Shape::Lines(Lines {
        rows: 20_000,
        same_rate: 0.3,
        template_rate: 0.1,
    });
    let all = texts(&shape, 0..20_000);
    assert!(all.iter().all(|text| (8..=20).contains(&words(text))));
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for text in &all {
        *counts.entry(text).or_default() += 1;
    }
    let same = counts.values().copied().max().unwrap();
    assert!((5_700..6_300).contains(&same), "{same}");
    // All but the one line are there once.
    assert_eq!(counts.len(), 20_000 - same + 1);

    let is_number = |word: &str| word.starts_with("no") && word[2..].parse::<u64>().is_ok();
    let templates: Vec<&String> = all
        .iter()
        .filter(|text| text.split(' ').any(is_number))
        .collect();
    let (at_end, in_middle): (Vec<&String>, Vec<&String>) = templates
        .into_iter()
        .partition(|text| is_number(text.rsplit(' ').next().unwrap()));
    for (name, found) in [("end", &at_end), ("middle", &in_middle)] {
        assert!(
            (900..1_100).contains(&found.len()),
            "{name} {}",
            found.len()
        );
    }
    assert_eq!(jaccard(at_end[0], at_end[1]), 15.0 / 17.0);
    assert_eq!(jaccard(in_middle[0], in_middle[1]), 11.0 / 21.0);
    assert_eq!(jaccard(at_end[0], in_middle[0]), 0.0);
    assert_eq!(
        shape.describe(),
        "30.0 % one line, 5.0 % a template that changes at its end (J 0.882 among them), 5.0 % one that changes in \
         its middle (J 0.524)"
    );
}

#[test]
fn neighbours_in_a_chain_are_alike_and_its_ends_are_not() {
    let chain = Chain {
        rows: 500,
        words: 42,
        step: 2,
        scattered: false,
    };
    let all = texts(&Shape::Chain(chain.clone()), 0..500);
    for pair in all.windows(2) {
        assert_eq!(jaccard(&pair[0], &pair[1]), 0.9);
    }
    assert_eq!(jaccard(&all[0], &all[19]), 0.0);
    assert!(jaccard(&all[0], &all[18]) > 0.0);
    assert_eq!(
        Shape::Chain(chain.clone()).describe(),
        "one chain: J 0.900 to the next, 0.810 to the one after, 0 after 19 steps"
    );
    for rows in [1, 2, 3, 4, 10, 499, 500] {
        let scattered = Chain {
            rows,
            scattered: true,
            ..chain.clone()
        };
        let links: HashSet<u64> = (0..rows).map(|row| scattered.link(row)).collect();
        assert_eq!(links.len() as u64, rows);
        assert!(links.iter().all(|&link| link < rows));
    }
    let scattered = Chain {
        scattered: true,
        ..chain
    };
    let texts: HashSet<String> = texts(&Shape::Chain(scattered), 0..500)
        .into_iter()
        .collect();
    assert_eq!(texts, all.into_iter().collect());
}

#[test]
fn leaves_are_like_the_hub_and_unlike_each_other() {
    let star = Star {
        leaves: 200,
        words: 400,
        changes: 6,
        hub_row: 100,
    };
    let all = texts(&Shape::Star(star.clone()), 0..201);
    let (mut pairs, mut alike) = (0, 0);
    for (row, leaf) in all.iter().enumerate().filter(|(row, _)| *row != 100) {
        assert_eq!(jaccard(leaf, &all[100]), star.jaccard_to_hub(), "{row}");
        for other in all.iter().take(row).skip(101) {
            let found = jaccard(leaf, other);
            // Whatever two leaves replace both: one of the values of the arithmetic.
            assert!(
                (0..=6).any(|shared| found == star.jaccard_of_leaves(shared)),
                "{found}"
            );
            pairs += 1;
            alike += usize::from(found >= 0.8);
        }
    }
    assert!(pairs > 4_000 && alike < 10, "{alike} of {pairs}");
    assert_eq!(star.jaccard_to_hub(), 366.0 / 426.0);
    assert_eq!(star.jaccard_of_leaves(0), 336.0 / 456.0);
    // C(6,4) C(72,2) / C(78,6) and two more of the tail, over the ways in all.
    let share = star.alike_leaves(0.8);
    assert!((1.4e-4..1.6e-4).contains(&share), "{share}");
    assert!((star.alike_leaves(0.0) - 1.0).abs() < 1e-9);
    let longer = Star {
        words: 1_600,
        changes: 24,
        ..star
    };
    assert!(longer.alike_leaves(0.8) < 1e-8);
}

#[test]
fn documents_of_a_bucket_share_the_boilerplate_and_no_more() {
    let bucket = Bucket {
        rows: 50,
        shared: 24,
        own: 20,
    };
    let all = texts(&Shape::Bucket(bucket.clone()), 0..50);
    for pair in all.windows(2) {
        assert_eq!(jaccard(&pair[0], &pair[1]), bucket.jaccard());
    }
    assert_eq!(bucket.jaccard(), 20.0 / 60.0);
}

#[test]
fn a_shape_is_written_as_laid_out_and_always_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let shape = Shape::Chain(Chain {
        rows: 1_000,
        words: 23,
        step: 1,
        scattered: true,
    });
    let layout = Layout {
        files: 3,
        rows_per_row_group: 100,
    };
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    let written = write_shape(&one, &shape, layout, 7).unwrap();
    assert_eq!(written, write_shape(&two, &shape, layout, 7).unwrap());
    let expected = texts(&shape, 0..1_000);
    assert_eq!(
        written.text_bytes,
        expected.iter().map(|text| text.len() as u64).sum::<u64>()
    );
    let (mut rows, mut bytes) = (Vec::new(), 0);
    for (file, expected_rows) in [333, 333, 334].into_iter().enumerate() {
        let name = format!("data/part-{file:05}.parquet");
        let path = one.join(&name);
        assert_eq!(fs::read(&path).unwrap(), fs::read(two.join(&name)).unwrap());
        bytes += fs::metadata(&path).unwrap().len();
        let (groups, found) = ids_and_texts(&path);
        assert_eq!((groups, found.len()), (4, expected_rows));
        rows.extend(found);
    }
    assert_eq!(
        (written.rows, written.files, written.file_bytes),
        (1_000, 3, bytes)
    );
    for (row, (id, text)) in rows.iter().enumerate() {
        assert_eq!((id, text), (&format!("d{row}"), &expected[row]));
    }
    let error = write_shape(&one, &shape, layout, 7).unwrap_err();
    assert!(error.to_string().contains("is not empty"), "{error}");
    crate::clear(&one).unwrap();
    write_shape(&one, &shape, layout, 8).unwrap();
}

#[test]
fn shapes_that_cannot_be_are_refused() {
    let lines = |same_rate, template_rate| {
        Shape::Lines(Lines {
            rows: 1,
            same_rate,
            template_rate,
        })
    };
    let chain = |words, step| {
        Shape::Chain(Chain {
            rows: 1,
            words,
            step,
            scattered: false,
        })
    };
    let star = |changes, hub_row| {
        Shape::Star(Star {
            leaves: 9,
            words: 400,
            changes,
            hub_row,
        })
    };
    let bucket = |shared, own| {
        Shape::Bucket(Bucket {
            rows: 1,
            shared,
            own,
        })
    };
    for (shape, expected) in [
        (lines(1.5, 0.0), "the same rate 1.5 is not a share"),
        (lines(0.0, -0.1), "the template rate -0.1 is not a share"),
        (lines(0.75, 0.5), "add up to 1.25, over 1"),
        (chain(4, 1), "take 1 <= step <= words - 5"),
        (chain(42, 0), "take 1 <= step <= words - 5"),
        (chain(42, 38), "take 1 <= step <= words - 5"),
        (star(0, 0), "take 1 to that many"),
        (star(79, 0), "have 78 places"),
        (star(6, 10), "the rows are 0 to 9"),
        (bucket(4, 1), "at least 5 and 1"),
        (bucket(5, 0), "at least 5 and 1"),
    ] {
        let error = shape.check().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    for shape in [lines(0.5, 0.5), chain(42, 37), star(78, 9), bucket(5, 1)] {
        shape.check().unwrap();
    }
}

#[test]
fn layouts_that_cannot_be_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let star = |leaves| {
        Shape::Star(Star {
            leaves,
            words: 400,
            changes: 6,
            hub_row: 0,
        })
    };
    let layout = |files, rows_per_row_group| Layout {
        files,
        rows_per_row_group,
    };
    for wrong in [layout(0, 1), layout(1, 0)] {
        let error = write_shape(folder.path(), &star(9), wrong, 1).unwrap_err();
        assert!(
            error.to_string().contains("must both be at least 1"),
            "{error}"
        );
    }
    let error = write_shape(folder.path(), &star(40_000), layout(1, 1), 1).unwrap_err();
    assert!(
        error.to_string().contains("would have 40001 row groups"),
        "{error}"
    );
}
