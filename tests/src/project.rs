//! A pipeline in a folder of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::table::{self, ClusterRow, Row};
use crate::{Done, binary};

/// A temporary folder with `pipeline.toml`, the input under `data`, the work folder `work` and the
/// output folder `out`. It goes when the value is dropped.
#[derive(Debug)]
pub struct Project {
    _folder: TempDir,
    root: PathBuf,
}

impl Project {
    /// A project without input, with the settings of [`Project::set`].
    ///
    /// # Panics
    /// Where the folder cannot be made.
    #[must_use]
    pub fn new(settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let project = Self {
            _folder: folder,
            root,
        };
        project.set(settings);
        project
    }

    /// A project whose input is one file of these texts.
    #[must_use]
    pub fn of(texts: &[Option<&str>], settings: &[(&str, &str)]) -> Self {
        let project = Self::new(settings);
        project.texts("data/a.parquet", texts);
        project
    }

    /// A project whose input is a copy of the sample.
    #[must_use]
    pub fn of_sample(settings: &[(&str, &str)]) -> Self {
        let project = Self::new(settings);
        copy_folder(&crate::sample(), &project.path("data"));
        project
    }

    /// Writes the manifest: the three folders, and `settings` as (`table.key`, TOML value) over
    /// them.
    ///
    /// # Panics
    /// Where a key has no table.
    pub fn set(&self, settings: &[(&str, &str)]) {
        let mut values = BTreeMap::from([
            ("input.paths", r#""data""#),
            ("run.work", r#""work""#),
            ("filter.output", r#""out""#),
        ]);
        values.extend(settings.iter().copied());
        let mut text = String::new();
        let mut open = "";
        for (name, value) in values {
            let (table, key) = name.split_once('.').expect("table.key");
            if table != open {
                text.push_str(&format!("[{table}]\n"));
                open = table;
            }
            text.push_str(&format!("{key} = {value}\n"));
        }
        self.write_manifest(&text);
    }

    /// Writes the manifest as it is given.
    ///
    /// # Panics
    /// Where it cannot be written.
    pub fn write_manifest(&self, text: &str) {
        fs::write(self.path("pipeline.toml"), text).unwrap();
    }

    /// The project's folder, symlinks resolved.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path in the project's folder.
    #[must_use]
    pub fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// Adds an input file with the columns `id` and `text`.
    ///
    /// # Panics
    /// Where it exists already.
    pub fn texts(&self, relative: &str, texts: &[Option<&str>]) {
        corpus::write_texts(&self.path(relative), texts).unwrap();
    }

    /// A binary to be started in the project's folder.
    #[must_use]
    pub fn command(&self, name: &str, args: &[&str]) -> Command {
        let mut command = Command::new(binary(name));
        command.current_dir(&self.root).args(args);
        command
    }

    /// Runs `neardup` with these arguments.
    ///
    /// # Panics
    /// Where it cannot be started.
    #[must_use]
    pub fn neardup(&self, args: &[&str]) -> Done {
        self.command("neardup", args).output().unwrap().into()
    }

    /// Runs `neardup run` with these arguments.
    #[must_use]
    pub fn run(&self, args: &[&str]) -> Done {
        let args: Vec<&str> = [&["run"], args].concat();
        self.neardup(&args)
    }

    /// The rows of `clusters.parquet`.
    #[must_use]
    pub fn clusters(&self) -> Vec<ClusterRow> {
        table::clusters(&self.path("work/clusters.parquet"))
    }

    /// `report.json`.
    ///
    /// # Panics
    /// Where there is none.
    #[must_use]
    pub fn report(&self) -> Value {
        let bytes = fs::read(self.path("work/report.json")).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    /// A counter of a stage in the report.
    ///
    /// # Panics
    /// Where there is none.
    #[must_use]
    pub fn counter(&self, stage: &str, name: &str) -> u64 {
        let counter = &self.report()["stages"][stage]["counters"][name];
        let value = counter.as_u64();
        value.unwrap_or_else(|| panic!("{stage} has no count {name}: {counter}"))
    }

    /// A number of the report's `rows`.
    ///
    /// # Panics
    /// Where there is none.
    #[must_use]
    pub fn rows(&self, name: &str) -> u64 {
        self.report()["rows"][name].as_u64().expect("a number")
    }

    /// Id and text of every row of a folder's Parquet files, in the order of their paths.
    ///
    /// # Panics
    /// Where a file has no such columns.
    #[must_use]
    pub fn rows_of(&self, folder: &str) -> Vec<Row> {
        let root = self.path(folder);
        let mut rows = Vec::new();
        for name in files_below(&root).into_keys() {
            if name.ends_with(".parquet") {
                let batch = table::read_table(&root.join(name));
                let ids = table::strings(&batch, "id").into_iter();
                let texts = table::strings(&batch, "text");
                rows.extend(ids.map(Option::unwrap).zip(texts));
            }
        }
        rows
    }

    /// The ids of [`Project::rows_of`] the output.
    #[must_use]
    pub fn kept_ids(&self) -> Vec<String> {
        self.rows_of("out").into_iter().map(|(id, _)| id).collect()
    }

    /// Every file of the output, with its bytes.
    #[must_use]
    pub fn output(&self) -> BTreeMap<String, Vec<u8>> {
        files_below(&self.path("out"))
    }

    /// What a run comes to, to the byte: the output, and `clusters.parquet` under its name.
    ///
    /// # Panics
    /// Where there is none.
    #[must_use]
    pub fn result(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = self.output();
        let clusters = fs::read(self.path("work/clusters.parquet")).unwrap();
        files.insert("clusters.parquet".to_owned(), clusters);
        files
    }

    /// Removes the work folder and the output.
    ///
    /// # Panics
    /// Where one cannot be removed.
    pub fn forget(&self) {
        for folder in ["work", "out"] {
            if self.path(folder).exists() {
                fs::remove_dir_all(self.path(folder)).unwrap();
            }
        }
    }

    /// Asserts that nothing temporary is left, beside the output or in the work folder.
    ///
    /// # Panics
    /// Where something is.
    #[track_caller]
    pub fn assert_tidy(&self) {
        let temporary = |name: &&String| {
            name.contains(".neardup-") || name.contains("scratch") || name.ends_with("/lock")
        };
        let files = files_below(&self.root);
        let left: Vec<&String> = files.keys().filter(temporary).collect();
        assert!(left.is_empty(), "left: {left:?}");
        assert!(!self.path("work/scratch").exists());
        assert!(!self.path("work/parts").exists());
        assert!(!self.path(".out.neardup-partial").exists());
    }
}

/// Every file below a folder with its bytes, by path relative to it; none where there is no such
/// folder. Symbolic links are not followed.
///
/// # Panics
/// Where the folder cannot be read.
#[must_use]
pub fn files_below(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(open) = folders.pop() {
        let Ok(entries) = fs::read_dir(&open) else {
            continue;
        };
        for entry in entries.map(Result::unwrap) {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap();
                files.insert(name.to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// Copies the files below a folder.
///
/// # Panics
/// Where one cannot be written.
pub fn copy_folder(from: &Path, to: &Path) {
    for (name, bytes) in files_below(from) {
        let path = to.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}
