//! `edges/`: the verified pairs, `a` < `b`, sorted, each once.
//!
//! `a` and `b` are document ids (int64), `matches` (int32) the number of slots whose low `bits` are equal, null where
//! nothing was compared (`verify = "none"`). The file's metadata has k, bits, threshold and the
//! least number of matches of an edge.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{ArrayBuilder, Int32Builder, Int64Builder};
use arrow_array::{Array, Int32Array, Int64Array};
use arrow_schema::{DataType, Field, Schema};
use records::Provenance;
use records::pods::Edge;
use workdir::{Output, WorkDir};

use crate::Error;
use crate::io::{TableReader, TableWriter, column, loaded, properties, stored};

/// The kind in the provenance.
pub const KIND: &str = "edges";
/// The format version.
pub const FORMAT: u32 = 1;

const BATCH_ROWS: usize = 8192;
const ROW_GROUP_ROWS: usize = 1 << 16;

fn schema() -> Schema {
    Schema::new(vec![
        Field::new("a", DataType::Int64, false),
        Field::new("b", DataType::Int64, false),
        Field::new("matches", DataType::Int32, true),
    ])
}

/// The file in the folder of edges.
pub fn path(work: &WorkDir) -> PathBuf {
    work.edges().join("part-00000.parquet")
}

/// Writes edges in the order given.
pub struct EdgeWriter {
    table: TableWriter,
    a: Int64Builder,
    b: Int64Builder,
    matches: Int32Builder,
    rows: u64,
}

impl EdgeWriter {
    /// Begins the table; `metadata` are keys for people who read it without neardup.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(
        work: &WorkDir,
        provenance: &Provenance,
        metadata: &[(&str, String)],
    ) -> Result<Self, Error> {
        let properties = properties(&["a", "b"], ROW_GROUP_ROWS);
        let table = TableWriter::create(&path(work), schema(), properties, provenance, metadata)?;
        Ok(Self {
            table,
            a: Int64Builder::new(),
            b: Int64Builder::new(),
            matches: Int32Builder::new(),
            rows: 0,
        })
    }

    /// Appends an edge.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn push(&mut self, edge: &Edge) -> Result<(), Error> {
        self.a.append_value(stored(edge.a));
        self.b.append_value(stored(edge.b));
        // At most k, which fits; what was not compared is null.
        let matches = i32::try_from(edge.matches).ok();
        self.matches.append_option(matches);
        self.rows += 1;
        if self.a.len() == BATCH_ROWS {
            self.write_batch()?;
        }
        Ok(())
    }

    fn write_batch(&mut self) -> Result<(), Error> {
        self.table.write(vec![
            Arc::new(self.a.finish()),
            Arc::new(self.b.finish()),
            Arc::new(self.matches.finish()),
        ])
    }

    /// Ends the table; with the number of edges.
    ///
    /// # Errors
    /// When the file cannot be written, synced or renamed.
    pub fn finish(mut self, work: &WorkDir) -> Result<(Output, u64), Error> {
        self.write_batch()?;
        Ok((self.table.finish(work)?, self.rows))
    }
}

/// Reads edges in file order.
pub struct EdgeReader {
    path: PathBuf,
    table: TableReader,
    batch: Option<(Int64Array, Int64Array, Int32Array)>,
    position: usize,
}

impl EdgeReader {
    /// Opens the table; its settings have to be `expected`, as the receipt `against` says.
    ///
    /// # Errors
    /// When it cannot be read, was made with other settings, or is not such a table.
    pub fn open(work: &WorkDir, expected: &Provenance, against: &Path) -> Result<Self, Error> {
        let path = path(work);
        Ok(Self {
            table: TableReader::open(&path, expected, against, &[0, 1, 2], BATCH_ROWS)?,
            path,
            batch: None,
            position: 0,
        })
    }

    /// The next edge, none at the end.
    ///
    /// # Errors
    /// When the file cannot be read or holds an impossible id.
    pub fn next_edge(&mut self) -> Result<Option<Edge>, Error> {
        loop {
            if let Some((a, b, matches)) = &self.batch
                && self.position < a.len()
            {
                let i = self.position;
                self.position += 1;
                let matches = if matches.is_null(i) {
                    Edge::NOT_COMPARED
                } else {
                    loaded(&self.path, matches.value(i).into())?
                };
                return Ok(Some(Edge {
                    a: loaded(&self.path, a.value(i))?,
                    b: loaded(&self.path, b.value(i))?,
                    matches,
                }));
            }
            let Some(batch) = self.table.next()? else {
                return Ok(None);
            };
            self.batch = Some((
                column(&self.path, &batch, "a")?,
                column(&self.path, &batch, "b")?,
                column(&self.path, &batch, "matches")?,
            ));
            self.position = 0;
        }
    }
}
