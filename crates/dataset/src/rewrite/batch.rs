//! Some rows of a column: values and levels.

use std::ops::Range;

use parquet::column::reader::ColumnReaderImpl;
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{ByteArray, DataType, FixedLenByteArray, Int96};
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescPtr;

use super::selection::Selection;

/// A value that may point into the page that it came in.
pub(super) trait Detach {
    /// Gives it memory of its own.
    fn detach(&mut self) {}

    /// The bytes that it points to.
    fn pointed_bytes(&self) -> u64 {
        0
    }
}

impl Detach for bool {}
impl Detach for i32 {}
impl Detach for i64 {}
impl Detach for Int96 {}
impl Detach for f32 {}
impl Detach for f64 {}

impl Detach for ByteArray {
    fn detach(&mut self) {
        *self = Self::from(self.data().to_vec());
    }

    fn pointed_bytes(&self) -> u64 {
        self.len() as u64
    }
}

impl Detach for FixedLenByteArray {
    fn detach(&mut self) {
        *self = ByteArray::from(self.data().to_vec()).into();
    }

    fn pointed_bytes(&self) -> u64 {
        self.len() as u64
    }
}

/// Some rows of a column.
pub(super) struct Batch<T: DataType> {
    pub(super) values: Vec<T::T>,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
    max_definition: i16,
    max_repetition: i16,
}

impl<T: DataType> Batch<T> {
    pub(super) fn new(descr: &ColumnDescPtr) -> Self {
        Self {
            values: Vec::new(),
            definitions: Vec::new(),
            repetitions: Vec::new(),
            max_definition: descr.max_def_level(),
            max_repetition: descr.max_rep_level(),
        }
    }

    /// Reads up to `rows` more whole rows, and says how many.
    pub(super) fn read(
        &mut self,
        reader: &mut ColumnReaderImpl<T>,
        rows: u64,
    ) -> Result<u64, ParquetError> {
        let (records, ..) = reader.read_records(
            usize::try_from(rows).unwrap_or(usize::MAX),
            Some(&mut self.definitions),
            Some(&mut self.repetitions),
            &mut self.values,
        )?;
        Ok(records as u64)
    }

    /// Gives up the rows.
    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.definitions.clear();
        self.repetitions.clear();
    }

    /// The bytes that the longest value points to.
    pub(super) fn longest(&self) -> u64
    where
        T::T: Detach,
    {
        let lengths = self.values.iter().map(Detach::pointed_bytes);
        lengths.max().unwrap_or_default()
    }

    /// Values and nulls.
    pub(super) fn levels(&self) -> usize {
        match self.max_definition {
            0 => self.values.len(),
            _ => self.definitions.len(),
        }
    }

    /// Keeps the rows of the selection; the batch holds `rows` of the row group. The error says how
    /// the batch contradicts itself.
    pub(super) fn select(&mut self, selection: &Selection, rows: Range<u64>) -> Result<(), String> {
        self.check(rows.end - rows.start)?;
        if rows.clone().all(|row| selection.keeps(row)) {
            return Ok(());
        }
        let mut row = rows.start;
        let (mut level_to, mut value_to, mut value) = (0, 0, 0);
        let mut keep = false;
        for level in 0..self.levels() {
            if self.repetitions.get(level).is_none_or(|r| *r == 0) {
                keep = selection.keeps(row);
                row += 1;
            }
            let definition = self.definitions.get(level).copied();
            let is_value = definition.is_none_or(|d| d == self.max_definition);
            if keep {
                move_to(&mut self.definitions, level, level_to);
                move_to(&mut self.repetitions, level, level_to);
                level_to += 1;
                if is_value {
                    move_to(&mut self.values, value, value_to);
                    value_to += 1;
                }
            }
            value += usize::from(is_value);
        }
        self.definitions.truncate(level_to);
        self.repetitions.truncate(level_to);
        self.values.truncate(value_to);
        Ok(())
    }

    /// Whether rows, levels and values are as many as each other say.
    fn check(&self, rows: u64) -> Result<(), String> {
        let values = match self.max_definition {
            0 => self.values.len(),
            max => self.definitions.iter().filter(|d| **d == max).count(),
        };
        let found = match self.max_repetition {
            0 => self.levels(),
            _ => self.repetitions.iter().filter(|r| **r == 0).count(),
        };
        let levels_agree = self.max_repetition == 0
            || (self.repetitions.len() == self.definitions.len()
                && self.repetitions.first().is_none_or(|r| *r == 0));
        if values == self.values.len() && found as u64 == rows && levels_agree {
            return Ok(());
        }
        Err(format!(
            "{rows} rows were read as {found} rows of {} levels and {values} values, but {} values \
             came",
            self.levels(),
            self.values.len()
        ))
    }

    /// Writes the rows.
    pub(super) fn write(&self, writer: &mut ColumnWriterImpl<'_, T>) -> Result<(), ParquetError> {
        self.write_part(writer, 0..self.levels(), 0..self.values.len())
    }

    /// Writes the rows, and copies values out of their pages first: of some rows at a time, until these are `bytes` bytes
    /// or more.
    pub(super) fn write_copies(
        &mut self,
        writer: &mut ColumnWriterImpl<'_, T>,
        bytes: u64,
    ) -> Result<(), ParquetError>
    where
        T::T: Detach,
    {
        let (mut level, mut value) = (0, 0);
        while level < self.levels() {
            let (first_level, first_value) = (level, value);
            let mut copied = 0;
            while level < self.levels() {
                let is_row = self.repetitions.get(level).is_none_or(|r| *r == 0);
                if is_row && copied >= bytes {
                    break;
                }
                let definition = self.definitions.get(level);
                if definition.is_none_or(|d| *d == self.max_definition)
                    && let Some(next) = self.values.get_mut(value)
                {
                    next.detach();
                    copied += next.pointed_bytes();
                    value += 1;
                }
                level += 1;
            }
            self.write_part(writer, first_level..level, first_value..value)?;
            let written = self.values.get_mut(first_value..value);
            written.unwrap_or_default().fill(T::T::default());
        }
        Ok(())
    }

    fn write_part(
        &self,
        writer: &mut ColumnWriterImpl<'_, T>,
        levels: Range<usize>,
        values: Range<usize>,
    ) -> Result<(), ParquetError> {
        if levels.is_empty() {
            return Ok(());
        }
        let definitions = self.definitions.get(levels.clone());
        let repetitions = self.repetitions.get(levels);
        let values = self.values.get(values).unwrap_or_default();
        let written = writer.write_batch(
            values,
            definitions.filter(|_| self.max_definition > 0),
            repetitions.filter(|_| self.max_repetition > 0),
        )?;
        if written == values.len() {
            return Ok(());
        }
        Err(ParquetError::General(format!(
            "{written} of {} values were written",
            values.len()
        )))
    }
}

/// Moves an item towards the front; a list that is not in use is empty and stays so.
fn move_to<T>(list: &mut [T], from: usize, to: usize) {
    if from < list.len() && to < from {
        list.swap(from, to);
    }
}
