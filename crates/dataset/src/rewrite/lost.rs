//! What a footer holds that the Parquet crate does not take over, and so would be lost.
//!
//! The crate skips fields that it does not know, and key-values of a single column chunk. This walk
//! over the Thrift (compact protocol) finds them. Structures and their fields:
//! <https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>.

/// The field in which the format lets writers hide extensions; readers skip it and rewriting drops
/// it, since it may hold positions in the file that it stands in.
const EXTENSION: i64 = 32767;

/// A structure of the footer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Node {
    File,
    SchemaElement,
    RowGroup,
    ColumnChunk,
    ColumnMetaData,
    Other,
}

impl Node {
    /// Its name in the format, and the last field that this version takes over.
    fn known(self) -> Option<(&'static str, i64)> {
        Some(match self {
            Self::File => ("FileMetaData", 9),
            Self::SchemaElement => ("SchemaElement", 10),
            Self::RowGroup => ("RowGroup", 7),
            Self::ColumnChunk => ("ColumnChunk", 9),
            Self::ColumnMetaData => ("ColumnMetaData", 17),
            Self::Other => return None,
        })
    }

    /// The structure that is, or is listed, in one of its fields.
    fn child(self, field: i64) -> Self {
        match (self, field) {
            (Self::File, 2) => Self::SchemaElement,
            (Self::File, 4) => Self::RowGroup,
            (Self::RowGroup, 1) => Self::ColumnChunk,
            (Self::ColumnChunk, 3) => Self::ColumnMetaData,
            _ => Self::Other,
        }
    }
}

/// What of `footer` would be lost, if anything. The footer has been parsed before, so that its
/// depth is bounded.
pub(super) fn find(footer: &[u8]) -> Option<String> {
    let mut walk = Walk {
        rest: footer,
        lost: None,
    };
    let read = walk.structure(Node::File);
    match (walk.lost, read) {
        (Some(lost), _) => Some(lost),
        (None, Some(())) => None,
        (None, None) => Some("its footer cannot be read to its end".to_owned()),
    }
}

/// What the header of a data page says of its form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PageForm {
    /// Whether the page is of version 2.
    pub(super) version_2: bool,
    /// Whether the header carries statistics.
    pub(super) has_statistics: bool,
}

/// The form of a data page, from its header; none where that is malformed.
pub(super) fn page_form(header: &[u8]) -> Option<PageForm> {
    let mut walk = Walk {
        rest: header,
        lost: None,
    };
    let mut form = PageForm::default();
    walk.fields(|walk, field, kind| {
        // `DataPageHeader` and `DataPageHeaderV2`, and the field of the statistics in each.
        let statistics = match (field, kind) {
            (5, 12) => 5,
            (8, 12) => 8,
            _ => return walk.field(kind, Node::Other),
        };
        form.version_2 = field == 8;
        walk.fields(|walk, inner, kind| {
            form.has_statistics |= inner == statistics;
            walk.field(kind, Node::Other)
        })
    })?;
    Some(form)
}

/// A walk over compact Thrift. `None` from a method: malformed.
struct Walk<'a> {
    rest: &'a [u8],
    lost: Option<String>,
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
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn structure(&mut self, node: Node) -> Option<()> {
        self.fields(|walk, field, kind| {
            walk.note(node, field);
            walk.field(kind, node.child(field))
        })
    }

    /// Gives the number and the type of every field of a structure to `see`, which is to pass its value.
    fn fields(&mut self, mut see: impl FnMut(&mut Self, i64, u8) -> Option<()>) -> Option<()> {
        let mut field = 0_i64;
        loop {
            let head = self.byte()?;
            let kind = head & 0x0F;
            if kind == 0 {
                return Some(());
            }
            field = match i64::from(head >> 4) {
                0 => {
                    let zigzag = self.varint()?;
                    (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64)
                }
                step => field.checked_add(step)?,
            };
            see(self, field, kind)?;
        }
    }

    /// Passes the value of a field. A boolean's is in its type.
    fn field(&mut self, kind: u8, node: Node) -> Option<()> {
        match kind {
            1 | 2 => Some(()),
            _ => self.value(kind, node),
        }
    }

    fn note(&mut self, node: Node, field: i64) {
        let lost = match (node, node.known()) {
            (Node::ColumnMetaData, _) if field == 8 => {
                "a column chunk has key-value metadata of its own".to_owned()
            }
            (_, Some((name, last))) if field != EXTENSION && !(1..=last).contains(&field) => {
                format!("its footer has a field {field} of {name} that this version does not know")
            }
            _ => return,
        };
        self.lost.get_or_insert(lost);
    }

    fn value(&mut self, kind: u8, node: Node) -> Option<()> {
        match kind {
            1..=3 => self.skip(1),
            4..=6 => self.varint().map(drop),
            7 => self.skip(8),
            8 => {
                let length = self.varint()?;
                self.skip(length)
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = match head >> 4 {
                    15 => self.varint()?,
                    count => u64::from(count),
                };
                (0..count).try_for_each(|_| self.value(head & 0x0F, node))
            }
            11 => {
                let count = self.varint()?;
                let kinds = if count == 0 { 0 } else { self.byte()? };
                (0..count).try_for_each(|_| {
                    self.value(kinds >> 4, Node::Other)?;
                    self.value(kinds & 0x0F, Node::Other)
                })
            }
            12 => self.structure(node),
            13 => self.skip(16),
            _ => None,
        }
    }
}
