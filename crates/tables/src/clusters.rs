//! `clusters.parquet`: a row for each document in a cluster of two or more, by document id.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{
    BooleanBuilder, Float32Builder, Int64Builder, StringBuilder, StringDictionaryBuilder,
};
use arrow_array::types::Int32Type;
use arrow_schema::{DataType, Field, Schema};
use records::Provenance;
use workdir::{Output, WorkDir};

use crate::Error;
use crate::io::{TableWriter, properties, stored};

/// The kind in the provenance.
pub const KIND: &str = "clusters";
/// The format version.
pub const FORMAT: u32 = 1;

const BATCH_ROWS: usize = 8192;
const ROW_GROUP_ROWS: usize = 1 << 16;

/// How a document stands to its keeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is the keeper.
    Keeper,
    /// Its normalised text equals the keeper's.
    Exact,
    /// It is in the keeper's cluster by near-duplicates.
    Near,
}

impl Kind {
    /// The name in the column `kind`.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Keeper => "keeper",
            Kind::Exact => "exact",
            Kind::Near => "near",
        }
    }
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterRow<'a> {
    /// The document's id.
    pub doc: u64,
    /// The relative path of its input file.
    pub file: &'a str,
    /// Its row there.
    pub row: u64,
    /// The value of `input.id`, where one is named and it is not null.
    pub id: Option<&'a str>,
    /// The smallest document id of the cluster.
    pub cluster: u64,
    /// The document that stays.
    pub keeper: u64,
    /// How this one stands to it.
    pub kind: Kind,
    /// The estimated Jaccard similarity to the keeper, 1 for keeper and exact.
    pub similarity: f32,
}

fn schema(has_id: bool) -> Schema {
    let file = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let mut fields = vec![
        Field::new("doc_id", DataType::Int64, false),
        Field::new("file", file, false),
        Field::new("row", DataType::Int64, false),
    ];
    if has_id {
        fields.push(Field::new("id", DataType::Utf8, true));
    }
    fields.extend([
        Field::new("cluster_id", DataType::Int64, false),
        Field::new("keeper", DataType::Int64, false),
        Field::new("keep", DataType::Boolean, false),
        Field::new("kind", DataType::Utf8, false),
        Field::new("similarity", DataType::Float32, false),
    ]);
    Schema::new(fields)
}

/// Writes the table, row by row.
pub struct ClusterWriter {
    table: TableWriter,
    has_id: bool,
    pending: usize,
    doc: Int64Builder,
    file: StringDictionaryBuilder<Int32Type>,
    row: Int64Builder,
    id: StringBuilder,
    cluster: Int64Builder,
    keeper: Int64Builder,
    keep: BooleanBuilder,
    kind: StringBuilder,
    similarity: Float32Builder,
}

impl ClusterWriter {
    /// Begins the table, with the column `id` if `has_id`.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(work: &WorkDir, provenance: &Provenance, has_id: bool) -> Result<Self, Error> {
        let properties = properties(&["doc_id", "row", "cluster_id", "keeper"], ROW_GROUP_ROWS);
        let path = work.clusters();
        Ok(Self {
            table: TableWriter::create(&path, schema(has_id), properties, provenance, &[])?,
            has_id,
            pending: 0,
            doc: Int64Builder::new(),
            file: StringDictionaryBuilder::new(),
            row: Int64Builder::new(),
            id: StringBuilder::new(),
            cluster: Int64Builder::new(),
            keeper: Int64Builder::new(),
            keep: BooleanBuilder::new(),
            kind: StringBuilder::new(),
            similarity: Float32Builder::new(),
        })
    }

    /// Appends a row.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn push(&mut self, row: &ClusterRow<'_>) -> Result<(), Error> {
        self.doc.append_value(stored(row.doc));
        self.file.append_value(row.file);
        self.row.append_value(stored(row.row));
        self.id.append_option(row.id);
        self.cluster.append_value(stored(row.cluster));
        self.keeper.append_value(stored(row.keeper));
        self.keep.append_value(row.kind == Kind::Keeper);
        self.kind.append_value(row.kind.name());
        self.similarity.append_value(row.similarity);
        self.pending += 1;
        if self.pending == BATCH_ROWS {
            self.write_batch()?;
        }
        Ok(())
    }

    fn write_batch(&mut self) -> Result<(), Error> {
        self.pending = 0;
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(self.doc.finish()),
            Arc::new(self.file.finish()),
            Arc::new(self.row.finish()),
        ];
        let id = Arc::new(self.id.finish());
        if self.has_id {
            columns.push(id);
        }
        columns.extend([
            Arc::new(self.cluster.finish()) as ArrayRef,
            Arc::new(self.keeper.finish()),
            Arc::new(self.keep.finish()),
            Arc::new(self.kind.finish()),
            Arc::new(self.similarity.finish()),
        ]);
        self.table.write(columns)
    }

    /// Ends the table.
    ///
    /// # Errors
    /// When the file cannot be written, synced or renamed.
    pub fn finish(mut self, work: &WorkDir) -> Result<Output, Error> {
        self.write_batch()?;
        self.table.finish(work)
    }
}
