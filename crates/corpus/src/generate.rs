//! A plan turned into a folder of files.

use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use parquet::schema::types::ColumnPath;

use crate::files;
use crate::maker::{Document, Kind, Maker, Role};
use crate::measure::{shingles, similarity};
use crate::plan::Plan;
use crate::planted::Planted;
use crate::table::Batch;

pub(crate) const DATA: &str = "data";
const PLANTED: &str = "planted.parquet";

/// What a corpus turned out to be. Its `Display` is one line for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Documents written.
    pub rows: u64,
    /// Files with documents or without, the table of planted copies not counted.
    pub files: u32,
    /// Bytes of all texts.
    pub text_bytes: u64,
    /// Bytes of all files, the table of planted copies included.
    pub file_bytes: u64,
    /// Documents that are no copy and have a text.
    pub originals: u64,
    /// Byte-identical copies.
    pub exact: u64,
    /// Copies that are equal after lower-casing and collapsing whitespace.
    pub normalised: u64,
    /// Edited copies.
    pub near: u64,
    /// Null texts.
    pub nulls: u64,
    /// Empty texts.
    pub empties: u64,
    /// Texts of whitespace only.
    pub blanks: u64,
    /// The most that was held of texts in a batch and of a row group in the writer, in bytes: it follows from the
    /// size of a row group, not from that of the corpus.
    pub peak_buffer_bytes: u64,
}

impl Summary {
    fn count(&mut self, role: Role, text: &str) {
        self.rows += 1;
        self.text_bytes += text.len() as u64;
        let counter = match role {
            Role::Original => &mut self.originals,
            Role::Copy {
                kind: Kind::Exact, ..
            } => &mut self.exact,
            Role::Copy {
                kind: Kind::Normalised,
                ..
            } => &mut self.normalised,
            Role::Copy {
                kind: Kind::Near { .. },
                ..
            } => &mut self.near,
            Role::Null => &mut self.nulls,
            Role::Empty => &mut self.empties,
            Role::Blank => &mut self.blanks,
        };
        *counter += 1;
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} rows in {} files, {:.1} MB ({:.1} MB of text); planted: {} exact, {} normalised, {} near; \
             {} null, {} empty, {} blank",
            self.rows,
            self.files,
            self.file_bytes as f64 / 1e6,
            self.text_bytes as f64 / 1e6,
            self.exact,
            self.normalised,
            self.near,
            self.nulls,
            self.empties,
            self.blanks
        )
    }
}

/// Makes the corpus of `plan` in `folder`, which is created if need be: `data/part-00000.parquet` and so on, and
/// `planted.parquet`, a row for each planted copy in the order of rows:
///
/// | column | type | meaning |
/// |---|---|---|
/// | `row` | i64 | number of the copy among all rows, in the order of the files |
/// | `file` | string | name of its file below `data` |
/// | `original` | i64 | row of its original, always a smaller one that is itself no copy |
/// | `kind` | string | `exact`, `normalised` or `near` |
/// | `edit_rate` | f64 | share of tokens changed; 0 unless `near` |
/// | `jaccard` | f64 | [`jaccard`](crate::jaccard) of the two texts |
///
/// The columns of a corpus: `id` string (`doc-` and the row), `text` string, `url`, `source` string (five values),
/// `date` timestamp (microseconds, UTC), `quality` f64 (nulls and NaNs among them), `token_count` i32, `headings`
/// list of strings, `meta` struct of `lang` string and `words` i32. All but `id` may be null.
///
/// Streams: memory is bounded by a row group (compressed) and by the longest document. Costs about 17 s of one
/// core for 1 GB of text at zstd level 1. A call that fails leaves a part of a corpus behind, for [`clear`].
///
/// # Errors
/// The plan cannot be, the folder exists and holds anything, or a file cannot be written.
pub fn generate(folder: &Path, plan: &Plan) -> Result<Summary> {
    plan.check()?;
    refuse_unless_empty(folder)?;
    let data = folder.join(DATA);
    fs::create_dir_all(&data)
        .with_context(|| format!("cannot create the folder `{}`", data.display()))?;
    let maker = Maker::new(plan);
    let path = folder.join(PLANTED);
    let mut planted = Planted::create(&path, plan.zstd_level)?;
    let mut summary = Summary::default();
    for file in 0..plan.files {
        let name = format!("part-{file:05}.parquet");
        let path = data.join(&name);
        let bytes = write_file(&path, &name, file, plan, &maker, &mut planted, &mut summary)
            .with_context(|| format!("cannot write `{}`", path.display()))?;
        summary.file_bytes += bytes;
        summary.files += 1;
    }
    summary.file_bytes += planted
        .close()
        .with_context(|| format!("cannot write `{}`", path.display()))?;
    Ok(summary)
}

fn write_file(
    path: &Path,
    name: &str,
    file: u32,
    plan: &Plan,
    maker: &Maker,
    planted: &mut Planted,
    summary: &mut Summary,
) -> Result<u64> {
    let mut batch = Batch::new();
    // Values that never repeat, or hardly: a dictionary would be built and thrown away.
    let plain = ["id", "text", "url"];
    let properties = plain.iter().fold(
        files::properties(plan.rows_per_row_group as usize, plan.zstd_level)?,
        |properties, column| {
            properties.set_column_dictionary_enabled(ColumnPath::from(*column), false)
        },
    );
    let mut writer = files::create(path, &batch.schema(), properties.build())?;
    let mut document = Document::default();
    for row in plan.first_of(file)..plan.first_of(file + 1) {
        let (role, language) = maker.make(row, &mut document);
        let text = (role != Role::Null).then_some(document.text.as_str());
        batch.push(maker, row, text, language);
        if let Role::Copy { kind, original } = role {
            planted.push(row, name, kind, original, likeness(&document))?;
        }
        summary.count(role, &document.text);
        if batch.is_full() || row + 1 == plan.first_of(file + 1) {
            let held = batch.text_bytes() + writer.memory_size();
            summary.peak_buffer_bytes = summary.peak_buffer_bytes.max(held as u64);
            writer.write(&batch.finish()?)?;
        }
    }
    files::close(writer)
}

/// The Jaccard similarity of a copy to its original; equal texts need no counting.
fn likeness(document: &Document) -> f64 {
    if document.text == document.original {
        return 1.0;
    }
    similarity(&shingles(&document.text), &shingles(&document.original))
}

pub(crate) fn refuse_unless_empty(folder: &Path) -> Result<()> {
    let Some(entry) = entries(folder)?.into_iter().next() else {
        return Ok(());
    };
    bail!(
        "the folder `{}` is not empty (it holds `{}`); name another, or clear it of an earlier corpus with --force",
        folder.display(),
        name_of(&entry)
    )
}

/// Removes the files of an earlier corpus from `folder`: `data/part-*.parquet` and `planted.parquet`. A folder that
/// does not exist is clear.
///
/// # Errors
/// The folder holds anything else, which is named, and then nothing at all is removed; or the folder cannot be
/// read, or a file not be removed.
pub fn clear(folder: &Path) -> Result<()> {
    let mut ours = Vec::new();
    let mut foreign = None;
    let mut data = None;
    for path in entries(folder)? {
        let kind = fs::symlink_metadata(&path)
            .with_context(|| format!("cannot look at `{}`", path.display()))?;
        match name_of(&path).as_str() {
            PLANTED if kind.is_file() => ours.push(path),
            DATA if kind.is_dir() => data = Some(path),
            _ => foreign = Some(path),
        }
    }
    for path in data
        .iter()
        .map(|data| entries(data))
        .collect::<Result<Vec<_>>>()?
        .into_iter()
        .flatten()
    {
        let kind = fs::symlink_metadata(&path)
            .with_context(|| format!("cannot look at `{}`", path.display()))?;
        let is_ours = kind.is_file() && is_part(&name_of(&path));
        if is_ours {
            ours.push(path)
        } else {
            foreign = Some(path)
        }
    }
    if let Some(path) = foreign {
        bail!(
            "`{}` is not part of a corpus, so nothing was removed; move it away or name another folder",
            path.display()
        );
    }
    for path in ours {
        fs::remove_file(&path).with_context(|| format!("cannot remove `{}`", path.display()))?;
    }
    if let Some(data) = data {
        fs::remove_dir(&data)
            .with_context(|| format!("cannot remove the folder `{}`", data.display()))?;
    }
    Ok(())
}

fn is_part(name: &str) -> bool {
    let number = name
        .strip_prefix("part-")
        .and_then(|rest| rest.strip_suffix(".parquet"));
    number
        .is_some_and(|digits| digits.len() >= 5 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// What a folder holds, by name; nothing when it does not exist.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let context = || format!("cannot read the folder `{}`", folder.display());
    let listing = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        listing => listing.with_context(context)?,
    };
    let paths: std::io::Result<Vec<PathBuf>> = listing.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths.with_context(context)?;
    paths.sort();
    Ok(paths)
}
