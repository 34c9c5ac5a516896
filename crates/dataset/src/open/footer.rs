//! The footer before it is trusted: its place in the file, and a walk over its Thrift (compact
//! protocol) that bounds what parsing it can cost.
//!
//! Thrift compact protocol:
//! <https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>;
//! `FileMetaData`: <https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>.

use std::path::Path;

use super::{SharedFile, read_range};
use crate::error::Error;

/// The magic at both ends of a file.
const MAGIC: &[u8; 4] = b"PAR1";
/// The magic of a file whose footer is encrypted.
const MAGIC_ENCRYPTED: &[u8; 4] = b"PARE";
/// The length of the footer, and the magic.
const TAIL_BYTES: u64 = 8;
/// The smallest file: magic, an empty footer, tail.
const LEAST_BYTES: u64 = 12;
/// Levels of nesting that a schema may have. The Parquet crate recurses; a 2 MiB stack survived
/// 200 levels.
const MAX_SCHEMA_DEPTH: usize = 100;
/// Levels of nesting of the Thrift structure; Parquet's own needs fewer than ten.
const MAX_THRIFT_DEPTH: usize = 32;

/// Where the footer lies: its first byte and its length.
pub(super) fn range(file: &SharedFile, path: &Path) -> Result<(u64, usize), Error> {
    let refuse = |found: String| Error::NotParquet {
        path: path.to_path_buf(),
        found,
    };
    if file.length == 0 {
        return Err(refuse("it has 0 bytes".to_owned()));
    }
    if file.length < LEAST_BYTES {
        return Err(refuse(format!("it has only {} bytes", file.length)));
    }
    let head = read_range(file, path, 0, MAGIC.len())?;
    let tail = read_range(file, path, file.length - TAIL_BYTES, TAIL_BYTES as usize)?;
    let (length, magic) = tail.split_at(4);
    if head.as_ref() == MAGIC_ENCRYPTED || magic == MAGIC_ENCRYPTED {
        return Err(Error::Encrypted {
            path: path.to_path_buf(),
        });
    }
    match (head.as_ref() == MAGIC, magic == MAGIC) {
        (true, true) => {}
        (false, false) => return Err(refuse("it does not begin with PAR1".to_owned())),
        (false, true) => {
            return Err(refuse("it ends with PAR1 but does not begin so".to_owned()));
        }
        (true, false) => {
            return Err(refuse(
                "it begins with PAR1 but does not end so; it was cut short".to_owned(),
            ));
        }
    }
    let length = length
        .iter()
        .rev()
        .fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
    let start = (file.length - TAIL_BYTES)
        .checked_sub(length)
        .filter(|start| *start >= MAGIC.len() as u64);
    match (start, usize::try_from(length)) {
        (Some(start), Ok(length)) => Ok((start, length)),
        _ => Err(refuse(format!(
            "its footer is said to take {length} bytes, but the file has {}",
            file.length
        ))),
    }
}

/// Walks the footer: well-formed Thrift, a schema that is a tree of bounded depth, not encrypted.
pub(super) fn check(bytes: &[u8], path: &Path) -> Result<(), Error> {
    let mut walk = Walk {
        rest: bytes,
        children: Vec::new(),
        encrypted: false,
    };
    let refuse = |message: String| Error::Parquet {
        path: path.to_path_buf(),
        place: "footer".to_owned(),
        message,
    };
    walk.structure(Within::File, 0)
        .ok_or_else(|| refuse("its Thrift structure is malformed".to_owned()))?;
    if walk.encrypted {
        return Err(Error::Encrypted {
            path: path.to_path_buf(),
        });
    }
    check_tree(&walk.children).map_err(refuse)
}

/// Checks the schema in its flattened form: for each element in depth-first order, how many
/// children it has.
fn check_tree(children: &[i64]) -> Result<(), String> {
    // The children that are still to come, by level.
    let mut open: Vec<usize> = Vec::new();
    for (index, count) in children.iter().enumerate() {
        if let Some(last) = open.last_mut() {
            *last -= 1;
        } else if index > 0 {
            return Err(format!("the schema has elements beyond its root ({index})"));
        }
        let after = children.len() - index - 1;
        match usize::try_from(*count) {
            Ok(count) if count <= after => open.push(count),
            _ => {
                return Err(format!(
                    "schema element {index} is said to have {count} children, but {after} \
                     elements follow"
                ));
            }
        }
        if open.len() > MAX_SCHEMA_DEPTH {
            return Err(format!(
                "the schema is nested more than {MAX_SCHEMA_DEPTH} levels deep"
            ));
        }
        while open.last() == Some(&0) {
            open.pop();
        }
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err("the schema lacks elements at its end".to_owned())
    }
}

/// What the structure is that the walk is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// `FileMetaData`.
    File,
    /// A `SchemaElement`.
    SchemaElement,
    /// A `ColumnChunk` or anything above it, below `row_groups`.
    RowGroup,
    /// A `ColumnChunk`.
    ColumnChunk,
    /// Anything else.
    Other,
}

/// A walk over compact Thrift. `None` from a method: malformed.
struct Walk<'a> {
    rest: &'a [u8],
    /// The number of children of each schema element.
    children: Vec<i64>,
    encrypted: bool,
}

impl Walk<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn skip(&mut self, bytes: u64) -> Option<()> {
        self.rest = self.rest.get(usize::try_from(bytes).ok()?..)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn zigzag(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn structure(&mut self, within: Within, depth: usize) -> Option<()> {
        if depth > MAX_THRIFT_DEPTH {
            return None;
        }
        if within == Within::SchemaElement {
            self.children.push(0);
        }
        let mut id = 0_i64;
        loop {
            let head = self.byte()?;
            let kind = head & 0x0f;
            if kind == 0 {
                return Some(());
            }
            id = match i64::from(head >> 4) {
                0 => self.zigzag()?,
                delta => id.checked_add(delta)?,
            };
            if (within == Within::File && id == 8)
                || (within == Within::ColumnChunk && matches!(id, 8 | 9))
            {
                self.encrypted = true;
            }
            if within == Within::SchemaElement && id == 5 && matches!(kind, 4..=6) {
                *self.children.last_mut()? = self.zigzag()?;
                continue;
            }
            let inner = match (within, id) {
                (Within::File, 2) => Within::SchemaElement,
                (Within::File, 4) => Within::RowGroup,
                (Within::RowGroup, 1) => Within::ColumnChunk,
                _ => Within::Other,
            };
            // A boolean field's value is in its type.
            if !matches!(kind, 1 | 2) {
                self.value(kind, inner, depth)?;
            }
        }
    }

    fn value(&mut self, kind: u8, inner: Within, depth: usize) -> Option<()> {
        match kind {
            1..=3 => self.skip(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.skip(8),
            8 => {
                let length = self.varint()?;
                self.skip(length)
            }
            9 | 10 => self.list(inner, depth + 1),
            11 => self.map(depth + 1),
            12 => self.structure(inner, depth + 1),
            13 => self.skip(16),
            _ => None,
        }
    }

    fn list(&mut self, inner: Within, depth: usize) -> Option<()> {
        if depth > MAX_THRIFT_DEPTH {
            return None;
        }
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.varint()?,
            count => u64::from(count),
        };
        // Every element takes at least a byte.
        if count > self.rest.len() as u64 {
            return None;
        }
        for _ in 0..count {
            self.value(head & 0x0f, inner, depth)?;
        }
        Some(())
    }

    fn map(&mut self, depth: usize) -> Option<()> {
        if depth > MAX_THRIFT_DEPTH {
            return None;
        }
        let count = self.varint()?;
        if count == 0 {
            return Some(());
        }
        let kinds = self.byte()?;
        if count > self.rest.len() as u64 {
            return None;
        }
        for _ in 0..count {
            self.value(kinds >> 4, Within::Other, depth)?;
            self.value(kinds & 0x0f, Within::Other, depth)?;
        }
        Some(())
    }
}
