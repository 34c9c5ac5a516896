//! A Parquet file in its parts, to be put together again with some of them changed.

use std::ops::Range;

use crate::thrift::{self, Fields, Value, field, field_mut};

/// Where a page lies.
#[derive(Clone, Debug)]
pub(crate) struct PageAt {
    pub(crate) header: Range<usize>,
    pub(crate) body: Range<usize>,
    pub(crate) row_group: usize,
    pub(crate) column: usize,
}

/// A file whose parts are known.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    bytes: Vec<u8>,
    pub(crate) footer: Fields,
    pub(crate) pages: Vec<PageAt>,
    /// What stands in for some bytes, in their order.
    edits: Vec<(Range<usize>, Vec<u8>)>,
}

const TAIL: usize = 8;

/// The numbers of the codecs, and of the fields of a column's metadata.
pub(crate) const CODEC: i16 = 4;
pub(crate) const SIZE: i16 = 7;
pub(crate) const ROW_GROUPS: i16 = 4;

/// The metadata of a column chunk.
pub(crate) fn column(footer: &Fields, row_group: usize, column: usize) -> Option<&Fields> {
    let group = field(footer, ROW_GROUPS)?.items().get(row_group)?;
    let chunk = field(group.fields()?, 1)?.items().get(column)?;
    field(chunk.fields()?, 3)?.fields()
}

impl Parts {
    /// Takes a file apart; none where it is not one.
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        let end = bytes.len().checked_sub(TAIL)?;
        let length = u32::from_le_bytes(bytes.get(end..end + 4)?.try_into().ok()?) as usize;
        let (footer, _) = thrift::read(bytes.get(end.checked_sub(length)?..end)?)?;
        let mut parts = Self {
            bytes: bytes.get(..end - length)?.to_vec(),
            footer,
            pages: Vec::new(),
            edits: Vec::new(),
        };
        let groups = field(&parts.footer, ROW_GROUPS)?.items().len();
        for group in 0..groups {
            let mut number = 0;
            while let Some(chunk) = column(&parts.footer, group, number) {
                let pages = parts.pages_of(chunk, group, number)?;
                parts.pages.extend(pages);
                number += 1;
            }
        }
        Some(parts)
    }

    fn pages_of(&self, chunk: &Fields, row_group: usize, column: usize) -> Option<Vec<PageAt>> {
        let number = |id| field(chunk, id).and_then(Value::int);
        let first = number(11).unwrap_or(i64::MAX).min(number(9)?);
        let mut at = usize::try_from(first).ok()?;
        let end = at + usize::try_from(number(SIZE)?).ok()?;
        let mut pages = Vec::new();
        while at < end {
            let (header, bytes) = thrift::read(self.bytes.get(at..)?)?;
            let body = at + bytes;
            let next = body + usize::try_from(field(&header, 3)?.int()?).ok()?;
            pages.push(PageAt {
                header: at..body,
                body: body..next,
                row_group,
                column,
            });
            at = next;
        }
        Some(pages)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The header of a page.
    pub(crate) fn header(&self, page: &PageAt) -> Option<Fields> {
        Some(thrift::read(self.bytes.get(page.header.clone())?)?.0)
    }

    /// The codec of a page, as its number.
    pub(crate) fn codec(&self, page: &PageAt) -> Option<i64> {
        field(column(&self.footer, page.row_group, page.column)?, CODEC)?.int()
    }

    /// Puts other bytes in place of some; each is replaced once, in any order.
    pub(crate) fn replace(&mut self, range: Range<usize>, bytes: Vec<u8>) {
        if self
            .edits
            .iter()
            .all(|(other, _)| other.end <= range.start || range.end <= other.start)
        {
            self.edits.push((range, bytes));
            self.edits.sort_by_key(|(range, _)| range.start);
        }
    }

    /// The file. Where `moves`, the footer's offsets and the sizes of the chunks follow what was replaced.
    pub(crate) fn file(mut self, moves: bool) -> Vec<u8> {
        if moves {
            self.follow();
        }
        let mut file = Vec::new();
        let mut at = 0;
        for (range, with) in &self.edits {
            file.extend_from_slice(&self.bytes[at..range.start]);
            file.extend_from_slice(with);
            at = range.end;
        }
        file.extend_from_slice(&self.bytes[at..]);
        let footer = thrift::write(&self.footer);
        file.extend_from_slice(&footer);
        file.extend_from_slice(&(footer.len() as u32).to_le_bytes());
        file.extend_from_slice(b"PAR1");
        file
    }

    /// By how much the edits before a place lengthen the file.
    fn shift(&self, place: i64) -> i64 {
        let before = self
            .edits
            .iter()
            .filter(|(range, _)| range.end as i64 <= place);
        before
            .map(|(range, with)| with.len() as i64 - range.len() as i64)
            .sum()
    }

    fn follow(&mut self) {
        let mut footer = std::mem::take(&mut self.footer);
        let groups = field_mut(&mut footer, ROW_GROUPS).and_then(Value::items_mut);
        for group in groups.into_iter().flatten().filter_map(Value::fields_mut) {
            self.follow_at(group, &[5]);
            let chunks = field_mut(group, 1).and_then(Value::items_mut);
            for chunk in chunks.into_iter().flatten().filter_map(Value::fields_mut) {
                self.follow_at(chunk, &[2, 4, 6]);
                if let Some(meta) = field_mut(chunk, 3).and_then(Value::fields_mut) {
                    self.follow_size(meta);
                    self.follow_at(meta, &[9, 10, 11, 14]);
                }
            }
        }
        self.footer = footer;
    }

    fn follow_at(&self, fields: &mut Fields, ids: &[i16]) {
        for id in ids {
            if let Some(Value::Int(_, place)) = field_mut(fields, *id) {
                *place = place.saturating_add(self.shift(*place));
            }
        }
    }

    fn follow_size(&self, meta: &mut Fields) {
        let place = |id| {
            field(meta, id)
                .and_then(Value::int)
                .filter(|place| *place > 0)
        };
        let Some(first) = place(11).into_iter().chain(place(9)).min() else {
            return;
        };
        if let Some(Value::Int(_, size)) = field_mut(meta, SIZE) {
            let end = first.saturating_add(*size);
            *size = size.saturating_add(self.shift(end) - self.shift(first));
        }
    }
}
