//! Every readable file of the shared collection of edge cases.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{PageType, Type};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::ReaderProperties;
use parquet::file::reader::SerializedFileReader;
use parquet::file::serialized_reader::SerializedPageReader;
use records::settings::Mode;

use super::arrow::read;
use super::fixture::{chunk_bytes, metadata, records};
use super::{Picks, options, run};

const HARD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/hard");

/// The Parquet files below a folder that can be opened, but for those of `bad`.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("bad") {
            files(&path, found);
        } else if path.is_file() {
            let file = std::fs::File::open(&path).unwrap();
            if SerializedFileReader::new(file).is_ok() {
                found.push(path);
            }
        }
    }
}

/// What a chunk of the first row group has.
struct ChunkForm {
    /// A column index, an offset index, statistics; the kind and encoding of the first data page.
    form: (bool, bool, bool, PageType, String),
    /// Whether the first data page's header has bounds.
    bounds: bool,
    int96: bool,
}

fn forms(path: &Path, metadata: &ParquetMetaData) -> Vec<ChunkForm> {
    let Some(group) = metadata.row_groups().first().filter(|g| g.num_rows() > 0) else {
        return Vec::new();
    };
    let file = Arc::new(std::fs::File::open(path).unwrap());
    let chunks = group.columns().iter().map(|chunk| {
        let reading = ReaderProperties::builder().set_read_page_statistics(true);
        let pages = SerializedPageReader::new_with_properties(
            file.clone(),
            chunk,
            group.num_rows() as usize,
            None,
            Arc::new(reading.build()),
        );
        let mut pages = pages.unwrap().map(Result::unwrap);
        let page = pages.find(|page| page.is_data_page()).unwrap();
        // The two names of one encoding.
        let encoding = page
            .encoding()
            .to_string()
            .replace("PLAIN_DICT", "RLE_DICT");
        ChunkForm {
            form: (
                chunk.column_index_offset().is_some(),
                chunk.offset_index_offset().is_some(),
                chunk.statistics().is_some(),
                page.page_type(),
                encoding,
            ),
            bounds: page
                .statistics()
                .is_some_and(|s| s.min_bytes_opt().is_some()),
            int96: chunk.column_type() == Type::INT96,
        }
    });
    chunks.collect()
}

/// Chunks that were encoded again are like those that they come from.
fn assert_same_forms(from: (&Path, &ParquetMetaData), to: (&Path, &ParquetMetaData)) {
    for (old, new) in forms(from.0, from.1).iter().zip(forms(to.0, to.1)) {
        assert_eq!(old.form, new.form, "{}", from.0.display());
        // Where the input's writer left out long bounds, there are shortened ones.
        assert!(old.bounds <= new.bounds, "{}", from.0.display());
        assert!(!(old.int96 && new.bounds), "{}", from.0.display());
    }
}

/// The file says the same of who wrote it, and in which version.
fn assert_same_origin(before: &ParquetMetaData, after: &ParquetMetaData) {
    assert_eq!(
        before.file_metadata().created_by(),
        after.file_metadata().created_by()
    );
    assert_eq!(
        before.file_metadata().version(),
        after.file_metadata().version()
    );
}

/// The footer has the same schema, key-values and column orders.
fn assert_same_schema(before: &ParquetMetaData, after: &ParquetMetaData) {
    assert_eq!(
        before.file_metadata().schema(),
        after.file_metadata().schema()
    );
    assert_eq!(
        before.file_metadata().key_value_metadata(),
        after.file_metadata().key_value_metadata()
    );
    assert_eq!(
        before.file_metadata().column_orders(),
        after.file_metadata().column_orders()
    );
}

#[test]
fn hard_files_pass_through() {
    if !Path::new(HARD).exists() {
        eprintln!("skipped: {HARD} is absent");
        return;
    }
    let mut inputs = Vec::new();
    files(Path::new(HARD), &mut inputs);
    assert!(inputs.len() >= 40, "only {} files", inputs.len());
    for input in inputs {
        let folder = tempfile::tempdir().unwrap();
        let before = metadata(&input);
        let rows = before.file_metadata().num_rows() as u64;
        let leaves = before.file_metadata().schema_descr().num_columns();
        let old = records(&input);
        for (mode, picks) in [
            (Mode::Drop, Picks::default()),
            (Mode::Annotate, Picks::dropping(rows, |row| row % 3 == 1)),
            (Mode::Drop, Picks::dropping(rows, |row| row % 3 == 1)),
        ] {
            let (output, _) = run(&input, folder.path(), &picks, &options(mode)).unwrap();
            let new = records(&output);
            for leaf in 0..leaves {
                let keeps = |row: usize| mode == Mode::Annotate || picks.keeps(row as u64);
                let kept = old[leaf].iter().enumerate().filter(|(row, _)| keeps(*row));
                assert!(
                    kept.map(|(_, record)| record).eq(new[leaf].iter()),
                    "{mode} leaf {leaf} of {}",
                    input.display()
                );
            }
            let after = metadata(&output);
            assert_same_origin(&before, &after);
            if mode == Mode::Annotate {
                let after = read(&output);
                let width = after.num_columns() - 2;
                let old = after.project(&(0..width).collect::<Vec<_>>()).unwrap();
                let like = read(&input);
                assert_eq!(like.schema().fields(), old.schema().fields());
                assert!(like.columns() == old.columns(), "{}", input.display());
                continue;
            }
            assert_same_schema(&before, &after);
            assert_same_forms((&input, &before), (&output, &after));
            if picks.0.is_empty() && rows < 10_000 {
                for group in 0..before.num_row_groups().min(3) {
                    for leaf in 0..leaves {
                        let bytes = |path| chunk_bytes(path, group, leaf);
                        assert_eq!(bytes(&input), bytes(&output), "{}", input.display());
                    }
                }
            }
        }
    }
}
