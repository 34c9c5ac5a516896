//! The rules of listing.

use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;

use super::*;

fn touch(root: &Path, names: &[&str]) {
    for name in names {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, name).unwrap();
    }
}

fn tree(names: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    touch(&root, names);
    (dir, root)
}

fn relatives(listing: &Listing) -> Vec<(usize, &str)> {
    let files = listing.files.iter();
    files
        .map(|file| (file.paths_index, file.relative.as_str()))
        .collect()
}

fn refusal(paths: &[PathBuf]) -> String {
    let error = list(paths).unwrap_err();
    assert!(error.refused(), "{error}");
    error.to_string()
}

#[test]
fn a_folder_is_searched_at_every_depth_and_side_files_are_skipped() {
    let (_dir, root) = tree(&[
        "date=2/lang=en/part-0.parquet",
        "date=1/lang=__HIVE_DEFAULT_PARTITION__/part-0.parquet",
        "date=1/lang=en/part-0.parquet",
        "date=1/lang=en/.part-0.parquet.crc",
        "date=1.parquet",
        "a b/ünï.PARQUET",
        "README.md",
        "parquet",
        "_SUCCESS",
        "_metadata",
        "_temporary/0/part-9.parquet",
        ".hidden.parquet",
    ]);
    let listing = list(std::slice::from_ref(&root)).unwrap();
    // By bytes: '.' comes before '/'.
    let expected = [
        (0, "a b/ünï.PARQUET"),
        (0, "date=1.parquet"),
        (0, "date=1/lang=__HIVE_DEFAULT_PARTITION__/part-0.parquet"),
        (0, "date=1/lang=en/part-0.parquet"),
        (0, "date=2/lang=en/part-0.parquet"),
    ];
    assert_eq!(relatives(&listing), expected);
    assert_eq!(listing.skipped, 5);
    assert_eq!(listing.warnings, Vec::<String>::new());
    let file = &listing.files[1];
    assert_eq!(file.path, root.join("date=1.parquet"));
    assert_eq!(file.bytes, "date=1.parquet".len() as u64);
    assert_eq!(
        file.modified_ns,
        modified_ns(&fs::metadata(&file.path).unwrap())
    );
}

#[test]
fn a_file_is_taken_whatever_its_name_and_a_root_may_be_hidden() {
    let (_dir, root) = tree(&["_x/.a.data", "_x/y.parquet/part.parquet", "[a]*.parquet"]);
    let paths = [
        root.join("_x/.a.data"),
        root.join("_x"),
        root.join("[a]*.parquet"),
    ];
    let listing = list(&paths).unwrap();
    let expected = [
        (0, ".a.data"),
        (1, "y.parquet/part.parquet"),
        (2, "[a]*.parquet"),
    ];
    assert_eq!(relatives(&listing), expected);
}

#[test]
fn globs_match_files_below_their_literal_prefix() {
    let (_dir, root) = tree(&[
        "in put/a/1.parquet",
        "in put/a/2.pq",
        "in put/b/1.parquet",
        "in put/b/c/3.parquet",
        "in put/_b/1.parquet",
        "in put/ä.parquet",
    ]);
    let glob = |pattern: &str| list(&[root.join(pattern)]);
    let names = |pattern: &str| {
        let listing = glob(pattern).unwrap();
        let files = listing.files.into_iter();
        files.map(|file| file.relative).collect::<Vec<_>>()
    };
    assert_eq!(names("in put/*/*.parquet"), ["a/1.parquet", "b/1.parquet"]);
    assert_eq!(names("in put/a/*"), ["1.parquet", "2.pq"]);
    assert_eq!(
        names("in put/{a,b}/[1-3].p*"),
        ["a/1.parquet", "a/2.pq", "b/1.parquet"]
    );
    assert_eq!(names("in put/*ä.par?uet"), ["ä.parquet"]);
    assert_eq!(names("in put/b/**/*.parquet"), ["1.parquet", "c/3.parquet"]);
    assert_eq!(glob("in put/*/*.parquet").unwrap().skipped, 1);
    // Nothing but `**` crosses a slash.
    assert!(glob("in put/a[!x]1.parquet").is_err());
    assert!(glob("in put/a?1.parquet").is_err());
    assert!(glob("in put/a*1.parquet").is_err());

    let shown = |pattern: &str| root.join(pattern).display().to_string();
    assert_eq!(
        refusal(&[root.join("in put/b/*.pq")]),
        format!(
            "no Parquet files match `{}`; correct input.paths",
            shown("in put/b/*.pq")
        )
    );
    assert_eq!(
        refusal(&[root.join("in put/[ab]")]),
        format!(
            "no Parquet files match `{}` (2 folders match it: end it in /**/*.parquet to search \
             them); correct input.paths",
            shown("in put/[ab]")
        )
    );
    assert_eq!(
        refusal(&[root.join("out/*.parquet")]),
        format!(
            "no Parquet files match `{}` (`{}` is no folder); correct input.paths",
            shown("out/*.parquet"),
            shown("out")
        )
    );
    let text = refusal(&[root.join("in put/[a.parquet")]);
    assert!(
        text.contains("is not a valid glob: unclosed character class"),
        "{text}"
    );
}

#[test]
fn paths_without_files_are_refused() {
    let (_dir, root) = tree(&["empty.parquet/_SUCCESS", "none/readme.txt"]);
    assert_eq!(
        refusal(&[]),
        "input.paths names no file, folder or glob; name at least one"
    );
    let gone = root.join("gone");
    assert_eq!(
        refusal(std::slice::from_ref(&gone)),
        format!("`{}` does not exist; correct input.paths", gone.display())
    );
    let none = root.join("none");
    assert_eq!(
        refusal(std::slice::from_ref(&none)),
        format!(
            "no Parquet files below `{}`; correct input.paths",
            none.display()
        )
    );
    let folder = root.join("empty.parquet");
    assert_eq!(
        refusal(std::slice::from_ref(&folder)),
        format!(
            "no Parquet files below `{}` (1 names that begin with a dot or an underscore were \
             skipped); correct input.paths",
            folder.display()
        )
    );
}

#[test]
fn a_file_found_twice_counts_once() {
    let (_dir, root) = tree(&["t/day=1/x.parquet", "t/day=2/x.parquet"]);
    // `current` sorts before `day=2`, but a real folder is preferred to a link.
    symlink(root.join("t/day=2"), root.join("t/current")).unwrap();
    let paths = [
        root.join("t/day=2/x.parquet"),
        root.join("t"),
        root.join("t/./day=1"),
    ];
    let listing = list(&paths).unwrap();
    assert_eq!(
        relatives(&listing),
        [(0, "x.parquet"), (1, "day=1/x.parquet")]
    );
    let listing = list(&[root.join("t")]).unwrap();
    assert_eq!(
        relatives(&listing),
        [(0, "day=1/x.parquet"), (0, "day=2/x.parquet")]
    );
}

#[test]
fn loops_of_symbolic_links_end_and_links_to_files_are_followed() {
    let (_dir, root) = tree(&["t/a/x.parquet", "t/b/y.parquet", "far/z.parquet"]);
    symlink(root.join("t"), root.join("t/a/up")).unwrap();
    symlink(root.join("t/b"), root.join("t/a/side")).unwrap();
    symlink(root.join("t/a"), root.join("t/b/side")).unwrap();
    symlink(root.join("far/z.parquet"), root.join("t/z.parquet")).unwrap();
    symlink(root.join("nowhere"), root.join("t/dangling")).unwrap();
    let listing = list(&[root.join("t")]).unwrap();
    let expected = [(0, "a/x.parquet"), (0, "b/y.parquet"), (0, "z.parquet")];
    assert_eq!(relatives(&listing), expected);
    assert_eq!(listing.files[2].path, root.join("far/z.parquet"));

    symlink(root.join("nowhere"), root.join("t/w.parquet")).unwrap();
    let text = refusal(&[root.join("t")]);
    assert!(
        text.contains("t/w.parquet`: it is a symbolic link to nothing"),
        "{text}"
    );
}

#[test]
fn many_links_between_folders_do_not_multiply_the_walk() {
    let (_dir, root) = tree(&["d0/x.parquet"]);
    // Every folder links to every other: the paths without repetition are 14! many.
    for from in 0..14 {
        fs::create_dir_all(root.join(format!("d{from}"))).unwrap();
        for to in (0..14).filter(|to| *to != from) {
            symlink(
                root.join(format!("d{to}")),
                root.join(format!("d{from}/l{to}")),
            )
            .unwrap();
        }
    }
    let listing = list(std::slice::from_ref(&root)).unwrap();
    assert_eq!(relatives(&listing), [(0, "d0/x.parquet")]);
}

#[test]
fn inputs_that_would_meet_in_the_output_are_refused() {
    let (_dir, root) = tree(&["a/x.parquet", "b/x.parquet", "c/x.parquet/part.parquet"]);
    let shown = |name: &str| root.join(name).display().to_string();
    assert_eq!(
        refusal(&[root.join("a"), root.join("b")]),
        format!(
            "`{}` and `{}` meet at `x.parquet` in the output; give the folder above both in \
             input.paths, or rename one",
            shown("a/x.parquet"),
            shown("b/x.parquet")
        )
    );
    // A file and a folder of one name.
    let text = refusal(&[root.join("a"), root.join("c")]);
    let expected = format!(
        "`{}` and `{}` meet at `x.parquet` in the output",
        shown("a/x.parquet"),
        shown("c/x.parquet/part.parquet")
    );
    assert!(text.starts_with(&expected), "{text}");
    assert!(list(&[root]).is_ok());
}

#[test]
fn paths_that_are_not_utf8_and_pipes_are_refused() {
    let (_dir, root) = tree(&["u/x.parquet"]);
    let name = std::ffi::OsString::from_vec(b"\xff.parquet".to_vec());
    fs::write(root.join("u").join(name), "").unwrap();
    let text = refusal(&[root.join("u")]);
    assert!(
        text.ends_with("is not UTF-8; rename it, or leave it out of input.paths"),
        "{text}"
    );

    let null = PathBuf::from("/dev/null");
    assert_eq!(
        refusal(&[null]),
        "`/dev/null` is not a regular file; leave it out of input.paths"
    );
}

#[test]
fn tables_with_a_list_of_their_own_draw_a_warning() {
    let (_dir, root) = tree(&[
        "delta/part-0.parquet",
        "delta/_delta_log/0.json",
        "iceberg/data/a.parquet",
        "iceberg/metadata/v1.metadata.json",
        "hudi/x.parquet",
        "hudi/.hoodie/hoodie.properties",
        "plain/metadata/y.parquet",
    ]);
    let listing = list(std::slice::from_ref(&root)).unwrap();
    assert_eq!(listing.files.len(), 4);
    let warnings: Vec<&str> = listing
        .warnings
        .iter()
        .map(|warning| warning.split(", which").next().unwrap())
        .collect();
    let expected = [
        ("delta", "Delta Lake"),
        ("hudi", "Hudi"),
        ("iceberg", "Iceberg"),
    ]
    .map(|(name, format)| format!("`{}` is a table of {format}", root.join(name).display()));
    assert_eq!(warnings, expected);
}
