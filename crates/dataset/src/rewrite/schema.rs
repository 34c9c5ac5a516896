//! The schema and the file metadata of an output.

use std::path::Path;
use std::sync::Arc;

use parquet::basic::{ColumnOrder, LogicalType, SortOrder};
use parquet::errors::ParquetError;
use parquet::file::metadata::{FileMetaData, KeyValue, SortingColumn};
use parquet::schema::types::{SchemaDescPtr, SchemaDescriptor, Type, TypePtr};
use records::settings::Mode;

use super::annotation::Annotation;
use super::{Options, key_values};
use crate::Error;

/// What an output's footer says beside its row groups.
pub(super) struct OutputSchema {
    /// The schema.
    pub(super) descr: SchemaDescPtr,
    /// For each leaf that is taken from the input, its index there, ascending.
    pub(super) leaves: Vec<usize>,
    /// The columns that are added after those.
    pub(super) annotation: Option<Annotation>,
    /// All key-value metadata.
    pub(super) key_values: Option<Vec<KeyValue>>,
    /// The order of each leaf's statistics; none where the input says none.
    pub(super) orders: Option<Vec<ColumnOrder>>,
}

impl OutputSchema {
    /// The schema of the output of a file with this footer.
    pub(super) fn plan(
        path: &Path,
        options: &Options,
        input: &FileMetaData,
    ) -> Result<Self, Error> {
        refuse_unknown(path, input.schema())?;
        refuse_unknown_orders(path, input)?;
        let mut schema = Self {
            descr: input.schema_descr_ptr(),
            leaves: (0..input.schema_descr().num_columns()).collect(),
            annotation: None,
            key_values: input.key_value_metadata().cloned(),
            orders: input.column_orders().cloned(),
        };
        if options.mode == Mode::Annotate {
            schema.annotate(path, options, input)?;
        }
        Ok(schema)
    }

    fn annotate(
        &mut self,
        path: &Path,
        options: &Options,
        input: &FileMetaData,
    ) -> Result<(), Error> {
        let entries = input.key_value_metadata().map_or(&[][..], Vec::as_slice);
        let annotation = Annotation::plan(path, options, input.schema(), entries)?;
        let edited = key_values::annotate(entries, &annotation);
        self.key_values = Some(edited.map_err(|(key, message)| Error::KeyValue {
            path: path.to_owned(),
            key,
            message,
        })?);
        let root = input.schema_descr();
        self.leaves
            .retain(|leaf| !is_replaced(&annotation, root, *leaf));
        self.descr = annotated(input.schema(), &annotation)
            .map(|root| Arc::new(SchemaDescriptor::new(root)))
            .map_err(|error| Error::parquet(path, "schema", error))?;
        if let Some(orders) = &mut self.orders {
            let kept = self.leaves.iter().filter_map(|leaf| orders.get(*leaf));
            let mut kept: Vec<ColumnOrder> = kept.copied().collect();
            kept.push(ColumnOrder::TYPE_DEFINED_ORDER(SortOrder::SIGNED));
            kept.push(ColumnOrder::TYPE_DEFINED_ORDER(SortOrder::UNSIGNED));
            *orders = kept;
        }
        self.annotation = Some(annotation);
        Ok(())
    }

    /// The sorting columns of a row group with leaves numbered as in the output. What sorts after a
    /// column that goes is no longer true by itself.
    pub(super) fn sorting(&self, input: Option<&Vec<SortingColumn>>) -> Option<Vec<SortingColumn>> {
        let input = input?;
        let mut sorting = Vec::with_capacity(input.len());
        for column in input {
            let leaf = usize::try_from(column.column_idx).ok();
            let moved = leaf.and_then(|leaf| self.leaves.binary_search(&leaf).ok());
            let Some(index) = moved.and_then(|index| i32::try_from(index).ok()) else {
                break;
            };
            let mut column = column.clone();
            column.column_idx = index;
            sorting.push(column);
        }
        (!sorting.is_empty() || input.is_empty()).then_some(sorting)
    }
}

/// Whether the leaf belongs to a top-level column that is replaced.
fn is_replaced(annotation: &Annotation, schema: &SchemaDescriptor, leaf: usize) -> bool {
    let top = schema.get_column_root(leaf).name();
    annotation.replaces && annotation.has(top)
}

/// The root with the two fields at its end.
fn annotated(root: &Type, annotation: &Annotation) -> Result<TypePtr, ParquetError> {
    let mut fields: Vec<TypePtr> = root.get_fields().to_vec();
    fields.retain(|field| !(annotation.replaces && annotation.has(field.name())));
    fields.extend(annotation.fields()?.map(Arc::new));
    let info = root.get_basic_info();
    let mut builder = Type::group_type_builder(root.name())
        .with_fields(fields)
        .with_converted_type(info.converted_type())
        .with_logical_type(info.logical_type_ref().cloned())
        .with_id(info.has_id().then(|| info.id()));
    if info.has_repetition() {
        builder = builder.with_repetition(info.repetition());
    }
    builder.build().map(Arc::new)
}

/// Refuses a logical type that this version does not know, and so could not write again.
fn refuse_unknown(path: &Path, field: &Type) -> Result<(), Error> {
    if let Some(LogicalType::_Unknown { field_id }) = field.get_basic_info().logical_type_ref() {
        return Err(Error::Unfaithful {
            path: path.to_owned(),
            what: format!(
                "column `{}` has a logical type ({field_id}) that this version does not know",
                field.name()
            ),
        });
    }
    if field.is_group() {
        for child in field.get_fields() {
            refuse_unknown(path, child)?;
        }
    }
    Ok(())
}

/// Refuses statistics in an order that this version does not know.
fn refuse_unknown_orders(path: &Path, input: &FileMetaData) -> Result<(), Error> {
    let Some(orders) = input.column_orders() else {
        return Ok(());
    };
    for (order, column) in orders.iter().zip(input.schema_descr().columns()) {
        if matches!(order, ColumnOrder::UNKNOWN | ColumnOrder::UNDEFINED) {
            return Err(Error::Unfaithful {
                path: path.to_owned(),
                what: format!(
                    "the statistics of column `{}` are in an order that this version does not know",
                    column.path().string()
                ),
            });
        }
    }
    Ok(())
}
