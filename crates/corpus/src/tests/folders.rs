//! Folders that are in the way, and files of given texts.

use std::fs;

use super::{read, small, texts, tree};
use crate::{Plan, clear, generate, write_texts, write_texts_with};
use arrow_array::cast::AsArray;

#[test]
fn a_folder_with_anything_in_it_is_refused_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("corpus");
    let plan = Plan {
        documents: 20,
        ..small()
    };
    generate(&target, &plan).unwrap();
    let before = tree(&target);
    let error = generate(&target, &plan).unwrap_err().to_string();
    let expected = format!(
        "the folder `{}` is not empty (it holds `data`); name another, or clear it of an earlier corpus with --force",
        target.display()
    );
    assert_eq!(error, expected);
    assert!(tree(&target) == before);
    clear(&target).unwrap();
    assert!(tree(&target).is_empty());
    generate(&target, &plan).unwrap();
    assert!(tree(&target) == before);
    clear(&folder.path().join("absent")).unwrap();
}

#[test]
fn clear_touches_nothing_where_anything_is_foreign() {
    for foreign in [
        "notes.txt",
        "data/part-1.parquet",
        "data/other/part-00000.parquet",
    ] {
        let folder = tempfile::tempdir().unwrap();
        generate(
            folder.path(),
            &Plan {
                documents: 20,
                ..small()
            },
        )
        .unwrap();
        let path = folder.path().join(foreign);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "mine").unwrap();
        let before = tree(folder.path());
        let error = clear(folder.path()).unwrap_err().to_string();
        assert!(
            error.contains("is not part of a corpus, so nothing was removed; move it away"),
            "{error}"
        );
        assert!(tree(folder.path()) == before);
    }
}

#[test]
fn a_file_in_the_way_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "").unwrap();
    let error = generate(&path, &small()).unwrap_err().to_string();
    assert_eq!(
        error,
        format!("cannot read the folder `{}`", path.display())
    );
}

#[test]
fn given_texts_are_written_as_given() {
    let folder = tempfile::tempdir().unwrap();
    let given = [Some("one"), None, Some(""), Some("天\n"), Some("one")];
    let owned: Vec<Option<String>> = given.iter().map(|text| text.map(str::to_owned)).collect();
    let path = folder.path().join("a/b.parquet");
    write_texts(&path, &given).unwrap();
    let (metadata, batches) = read(&path);
    assert_eq!(metadata.num_row_groups(), 1);
    assert_eq!(texts(&batches), owned);
    let ids: Vec<&str> = batches[0]["id"]
        .as_string::<i32>()
        .iter()
        .flatten()
        .collect();
    assert_eq!(ids, ["d0", "d1", "d2", "d3", "d4"]);

    let path = folder.path().join("groups.parquet");
    write_texts_with(&path, &given, 2).unwrap();
    let (metadata, batches) = read(&path);
    let rows: Vec<i64> = metadata
        .row_groups()
        .iter()
        .map(|group| group.num_rows())
        .collect();
    assert_eq!(rows, [2, 2, 1]);
    assert_eq!(texts(&batches), owned);

    let path = folder.path().join("none.parquet");
    write_texts(&path, &[]).unwrap();
    let (metadata, batches) = read(&path);
    assert_eq!((metadata.num_row_groups(), batches.len()), (0, 0));

    let error = write_texts(&path, &[]).unwrap_err().to_string();
    assert_eq!(
        error,
        format!("cannot write the texts to `{}`", path.display())
    );
    let error = write_texts_with(&folder.path().join("zero.parquet"), &given, 0)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "rows per row group = 0 holds no text; it must be at least 1"
    );
}
