//! The header of a page, before the Parquet crate acts on it: what reading the page takes.
//!
//! `PageHeader`: <https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>, in the Thrift
//! compact protocol. The walk is stricter than the crate's (types of fields, order of fields, lengths), so that the
//! crate cannot read other sizes than those found here.

use std::io::Read;

use parquet::errors::ParquetError;

/// Levels of nesting; a page header has three.
const MAX_DEPTH: usize = 32;
/// An integer field.
const I32: u8 = 5;
/// A structure field.
const STRUCT: u8 = 12;

/// What a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageKind {
    /// Values.
    Data,
    /// The dictionary of the chunk.
    Dictionary,
    /// Nothing that a reader needs.
    Other,
}

/// What the header of a page says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageHeader {
    pub(crate) kind: PageKind,
    /// Bytes of the header itself.
    pub(crate) header_bytes: u64,
    /// Bytes of the page in the file.
    pub(crate) compressed: u64,
    /// Bytes of the page in memory.
    pub(crate) uncompressed: u64,
    /// Values, nulls included.
    pub(crate) values: u64,
    /// The number of the encoding of the values.
    pub(crate) encoding: i32,
}

impl PageHeader {
    /// Reads a header of at most `at_most` bytes. Holds none of it in memory, however large its statistics are.
    pub(crate) fn read(input: impl Read, at_most: u64) -> Result<Self, ParquetError> {
        let mut walk = Walk {
            input: input.take(at_most),
            read: 0,
        };
        let mut fields = Fields::default();
        walk.page_header(&mut fields)?;
        let size = |field: Option<i32>| field.and_then(|size| u64::try_from(size).ok());
        let (Some(kind), Some(uncompressed), Some(compressed)) = (
            fields.kind,
            size(fields.uncompressed),
            size(fields.compressed),
        ) else {
            return Err(malformed());
        };
        let kind = match kind {
            0 | 3 => PageKind::Data,
            2 => PageKind::Dictionary,
            _ => PageKind::Other,
        };
        let values = match kind {
            PageKind::Other => Some(0),
            _ => size(fields.values),
        };
        Ok(Self {
            kind,
            header_bytes: walk.read,
            compressed,
            uncompressed,
            values: values.ok_or_else(malformed)?,
            encoding: fields.encoding.unwrap_or(-1),
        })
    }

    /// Whether the values are numbers of entries of the dictionary.
    pub(crate) fn needs_dictionary(&self) -> bool {
        matches!(self.encoding, 2 | 8)
    }

    /// Whether lengths are decoded ahead: `DELTA_LENGTH_BYTE_ARRAY` and `DELTA_BYTE_ARRAY`.
    pub(crate) fn has_lengths_ahead(&self) -> bool {
        matches!(self.encoding, 6 | 7)
    }

    /// Whether each value is put together in memory of its own: `DELTA_BYTE_ARRAY`.
    pub(crate) fn copies_values(&self) -> bool {
        self.encoding == 7
    }
}

fn malformed() -> ParquetError {
    ParquetError::General("the header of a page is malformed".to_owned())
}

#[derive(Default)]
struct Fields {
    kind: Option<i32>,
    uncompressed: Option<i32>,
    compressed: Option<i32>,
    values: Option<i32>,
    encoding: Option<i32>,
}

struct Walk<R> {
    input: std::io::Take<R>,
    read: u64,
}

impl<R: Read> Walk<R> {
    fn page_header(&mut self, fields: &mut Fields) -> Result<(), ParquetError> {
        let mut id = 0;
        while let Some(kind) = self.field(&mut id)? {
            match (id, kind) {
                (1, I32) => fields.kind = Some(self.i32()?),
                (2, I32) => fields.uncompressed = Some(self.i32()?),
                (3, I32) => fields.compressed = Some(self.i32()?),
                (4, I32) => self.i32().map(|_| ())?,
                // Data page, dictionary page, data page of version 2: where their encoding stands, the number of
                // integers, and whether a boolean follows.
                (5, STRUCT) => self.page(fields, 2, 4, None)?,
                (7, STRUCT) => self.page(fields, 2, 2, Some(3))?,
                (8, STRUCT) => self.page(fields, 4, 6, Some(7))?,
                (1..=5 | 7 | 8, _) => return Err(malformed()),
                _ => self.value(kind, 1)?,
            }
        }
        Ok(())
    }

    /// The header of a kind of page: integers first, of which the first is the number of values.
    fn page(
        &mut self,
        fields: &mut Fields,
        encoding: i64,
        integers: i64,
        boolean: Option<i64>,
    ) -> Result<(), ParquetError> {
        let mut id = 0;
        while let Some(kind) = self.field(&mut id)? {
            if id <= integers {
                if kind != I32 {
                    return Err(malformed());
                }
                let value = self.i32()?;
                if id == 1 {
                    fields.values = Some(value);
                } else if id == encoding {
                    fields.encoding = Some(value);
                }
            } else if matches!(kind, 1 | 2) {
                if boolean != Some(id) {
                    return Err(malformed());
                }
            } else if boolean == Some(id) {
                return Err(malformed());
            } else {
                self.value(kind, 2)?;
            }
        }
        Ok(())
    }

    /// The type of the next field, none at the end of the structure. Ids only grow.
    fn field(&mut self, id: &mut i64) -> Result<Option<u8>, ParquetError> {
        let head = self.byte()?;
        if head & 0x0f == 0 {
            return Ok(None);
        }
        let next = match i64::from(head >> 4) {
            0 => self.zigzag()?,
            delta => *id + delta,
        };
        if next <= *id || next > i64::from(i16::MAX) {
            return Err(malformed());
        }
        *id = next;
        Ok(Some(head & 0x0f))
    }

    fn byte(&mut self) -> Result<u8, ParquetError> {
        let mut byte = [0];
        self.fill(&mut byte)?;
        Ok(byte[0])
    }

    fn fill(&mut self, target: &mut [u8]) -> Result<(), ParquetError> {
        match self.input.read_exact(target) {
            Ok(()) => {
                self.read += target.len() as u64;
                Ok(())
            }
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Err(malformed()),
            Err(error) => Err(error.into()),
        }
    }

    fn skip(&mut self, bytes: u64) -> Result<(), ParquetError> {
        if bytes > self.input.limit() {
            return Err(malformed());
        }
        let mut left = bytes;
        let mut buffer = [0; 4096];
        while left > 0 {
            let step = buffer
                .len()
                .min(usize::try_from(left).unwrap_or(usize::MAX));
            self.fill(buffer.get_mut(..step).unwrap_or_default())?;
            left -= step as u64;
        }
        Ok(())
    }

    fn varint(&mut self) -> Result<u64, ParquetError> {
        let mut value = 0_u64;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(malformed())
    }

    fn zigzag(&mut self) -> Result<i64, ParquetError> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn i32(&mut self) -> Result<i32, ParquetError> {
        i32::try_from(self.zigzag()?).map_err(|_| malformed())
    }

    /// Skips a value; a boolean field has none.
    fn value(&mut self, kind: u8, depth: usize) -> Result<(), ParquetError> {
        if depth > MAX_DEPTH {
            return Err(malformed());
        }
        match kind {
            1 | 2 => Ok(()),
            3 => self.skip(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.skip(8),
            8 => {
                let length = self.varint()?;
                self.skip(length)
            }
            STRUCT => {
                let mut id = 0;
                while let Some(kind) = self.field(&mut id)? {
                    self.value(kind, depth + 1)?;
                }
                Ok(())
            }
            // Parquet's page headers have neither lists nor maps.
            _ => Err(malformed()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Type, uncompressed and compressed size, checksum, and the header of a data page with statistics.
    const DATA: &[u8] = b"\x15\x00\x15\xa0\x1f\x15\xd0\x0f\x15\x02\x1c\
        \x15\x06\x15\x0e\x15\x06\x15\x06\x1c\x18\x03max\x18\x03min\x16\x00\x11\x12\x00\x00\x00";

    #[test]
    fn sizes_values_and_encoding_are_read() {
        let header = PageHeader::read(DATA, 1000).unwrap();
        let expected = PageHeader {
            kind: PageKind::Data,
            header_bytes: DATA.len() as u64,
            compressed: 1000,
            uncompressed: 2000,
            values: 3,
            encoding: 7,
        };
        assert_eq!(header, expected);
        assert!(header.copies_values() && header.has_lengths_ahead());
        assert!(!header.needs_dictionary());
        // What follows belongs to the page.
        let followed = [DATA, b"\x15\x00"].concat();
        assert_eq!(PageHeader::read(&followed[..], 1000).unwrap(), expected);
    }

    #[test]
    fn dictionary_pages_version_2_and_index_pages_are_told_apart() {
        let dictionary = b"\x15\x04\x15\x08\x15\x06\x4c\x15\x02\x15\x00\x12\x00\x00";
        let header = PageHeader::read(&dictionary[..], 100).unwrap();
        assert_eq!((header.kind, header.values), (PageKind::Dictionary, 1));
        let second = b"\x15\x06\x15\x08\x15\x06\x5c\x15\x14\x15\x02\x15\x14\x15\x10\x15\x00\x15\x00\x11\x00\x00";
        let header = PageHeader::read(&second[..], 100).unwrap();
        assert_eq!((header.kind, header.values), (PageKind::Data, 10));
        assert!(header.needs_dictionary());
        let index = b"\x15\x02\x15\x08\x15\x06\x3c\x00\x00";
        let header = PageHeader::read(&index[..], 100).unwrap();
        assert_eq!((header.kind, header.values), (PageKind::Other, 0));
    }

    #[test]
    fn what_the_crate_could_read_differently_is_malformed() {
        let refused = |bytes: &[u8], at_most: u64| {
            let error = PageHeader::read(bytes, at_most).unwrap_err().to_string();
            assert!(
                error.contains("the header of a page is malformed"),
                "{error}"
            );
        };
        for cut in 0..DATA.len() {
            refused(&DATA[..cut], 1000);
            refused(DATA, cut as u64);
        }
        // A negative size; a size of 64 bits; a size as another type; a field twice; a list.
        refused(b"\x15\x00\x15\x01\x15\x06\x1c\x15\x02\x15\x00\x00\x00", 100);
        refused(b"\x15\x00\x15\xff\xff\xff\xff\xff\x01\x15\x06\x00", 100);
        refused(b"\x15\x00\x16\x08\x15\x06\x2c\x15\x02\x15\x00\x00\x00", 100);
        refused(b"\x15\x00\x15\x08\x15\x06\x05\x04\x08\x00", 100);
        refused(b"\x15\x00\x15\x08\x15\x06\x69\x15\x00\x00", 100);
        // A number of values as a double.
        refused(
            b"\x15\x00\x15\x08\x15\x06\x2c\x17\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
            100,
        );
    }
}
