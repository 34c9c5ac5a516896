//! `annotate`: nothing but the two columns and what describes them is added.

use std::path::Path;

use parquet::file::metadata::KeyValue;
use records::settings::{Existing, Mode};
use serde_json::Value;

use super::fixture::{RICH, Style, chunk_bytes, metadata, records, write};
use super::{Picks, options, run, source};
use crate::rewrite::{Options, check};

const ROWS: u64 = 210;

fn annotated(existing: Existing, prefix: &str) -> Options {
    Options {
        existing,
        prefix: prefix.to_owned(),
        ..options(Mode::Annotate)
    }
}

fn picks() -> Picks {
    Picks(
        [
            (0, (0, true)),
            (3, (0, false)),
            (209, (17, false)),
            (100, (17, true)),
        ]
        .into(),
    )
}

/// Clusters and keeps of a file whose last two leaves they are.
fn added(path: &Path, leaf: usize) -> Vec<(Option<i64>, bool)> {
    let all = records(path);
    let cluster = |values: &[Vec<u8>]| {
        let value = values.first()?;
        Some(i64::from_le_bytes(value.as_slice().try_into().unwrap()))
    };
    let rows = all[leaf].iter().zip(&all[leaf + 1]);
    rows.map(|(c, k)| (cluster(&c.1), k.1[0] == [1])).collect()
}

fn expected(picks: &Picks) -> Vec<(Option<i64>, bool)> {
    let of = |row| {
        picks
            .0
            .get(&row)
            .map_or((None, true), |(c, k)| (Some(*c), *k))
    };
    (0..ROWS).map(of).collect()
}

fn value<'a>(entries: &'a [KeyValue], key: &str) -> Option<&'a str> {
    let entry = entries.iter().find(|entry| entry.key == key)?;
    entry.value.as_deref()
}

#[test]
fn all_but_the_added_columns_equals_the_input() {
    let folder = tempfile::tempdir().unwrap();
    for (index, style) in Style::all().into_iter().enumerate() {
        let input = folder.path().join(format!("in{index}.parquet"));
        write(&input, RICH, style, &[120, 90], 5);
        let (output, outcome) =
            run(&input, folder.path(), &picks(), &options(Mode::Annotate)).unwrap();
        assert_eq!((outcome.rows_in, outcome.rows_out), (ROWS, ROWS));
        assert_eq!(
            (outcome.row_groups_copied, outcome.row_groups_rewritten),
            (2, 0)
        );
        assert_eq!(added(&output, 18), expected(&picks()));
        let (before, after) = (metadata(&input), metadata(&output));
        for group in 0..2 {
            for leaf in 0..18 {
                let bytes = |path| chunk_bytes(path, group, leaf);
                assert_eq!(bytes(&input), bytes(&output));
            }
            let index = |leaf: usize| after.row_group(group).column(leaf).offset_index_offset();
            assert_eq!(index(0).is_some(), index(19).is_some());
        }
        let (old, new) = (before.file_metadata(), after.file_metadata());
        let fields = old.schema().get_fields();
        assert_eq!(fields, &new.schema().get_fields()[..fields.len()]);
        assert_eq!(old.schema().name(), new.schema().name());
        let entries = new.key_value_metadata().unwrap();
        assert_eq!(&entries[..2], old.key_value_metadata().unwrap().as_slice());
        let mark: Value =
            serde_json::from_str(value(entries, "neardup.annotation").unwrap()).unwrap();
        assert_eq!(mark["product"], "neardup");
        assert_eq!(
            mark["columns"],
            serde_json::json!(["dedup_cluster", "dedup_keep"])
        );
        let orders = new.column_orders().unwrap();
        assert_eq!(&orders[..18], old.column_orders().unwrap().as_slice());
    }
}

#[test]
fn taken_names_are_refused_and_replaced_only_where_neardup_wrote_them() {
    let folder = tempfile::tempdir().unwrap();
    let style = Style::all()[6];
    let plain = folder.path().join("plain");
    write(&plain, "message m { required int64 a; }", style, &[210], 5);
    let (once, _) = run(&plain, folder.path(), &picks(), &options(Mode::Annotate)).unwrap();

    let refused = check(&source(&once), &options(Mode::Annotate)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!(
            "`{}` has a column `dedup_cluster` already; set filter.prefix to another prefix, or \
             filter.existing = \"replace\" for a table that neardup annotated before",
            once.display()
        )
    );
    assert!(refused.refused());

    let others = Picks([(5, (5, true)), (6, (5, false))].into());
    let replace = annotated(Existing::Replace, "dedup_");
    let (twice, _) = run(&once, folder.path(), &others, &replace).unwrap();
    assert_eq!(added(&twice, 1), expected(&others));
    assert_eq!(records(&plain)[0], records(&twice)[0]);

    // With another prefix both stay, and both can be replaced later.
    let (both, _) = run(
        &once,
        folder.path(),
        &others,
        &annotated(Existing::Refuse, "b_"),
    )
    .unwrap();
    assert_eq!(added(&both, 1), expected(&picks()));
    assert_eq!(added(&both, 3), expected(&others));
    let (back, _) = run(&both, folder.path(), &others, &replace).unwrap();
    assert_eq!(added(&back, 1), expected(&others));
    assert_eq!(added(&back, 3), expected(&others));
    // In `drop` mode they are columns like any other.
    let (dropped, _) = run(&once, folder.path(), &picks(), &options(Mode::Drop)).unwrap();
    let kept = expected(&picks()).into_iter().filter(|(_, keep)| *keep);
    assert_eq!(added(&dropped, 1), kept.collect::<Vec<_>>());
}

#[test]
fn columns_that_are_not_ours_are_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    for (index, (message, reason)) in [
        ("optional int64 dedup_cluster;", "it has no column `dedup_keep` beside it"),
        (
            "required int64 dedup_cluster; required boolean dedup_keep;",
            "its column `dedup_cluster` is not OPTIONAL INT64",
        ),
        (
            "optional int64 dedup_cluster; required boolean dedup_keep; required boolean dedup_keep;",
            "it has more than one column `dedup_keep`",
        ),
        (
            "optional int64 dedup_cluster; required boolean dedup_keep;",
            "its metadata (`neardup.annotation`) does not say that neardup added `dedup_cluster`",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let input = folder.path().join(index.to_string());
        write(&input, &format!("message m {{ {message} }}"), Style::all()[0], &[3], 5);
        let error = check(&source(&input), &annotated(Existing::Replace, "dedup_")).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "the column `dedup_cluster` of `{}` is not replaced: {reason}; set filter.prefix to \
                 another prefix",
                input.display()
            )
        );
    }
}
