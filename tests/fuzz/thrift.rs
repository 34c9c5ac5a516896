//! Thrift's compact protocol as a tree, so that one number of a footer or a page header can be changed and all else stays.
//!
//! <https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>

/// A value with its type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Bool(bool),
    /// A byte, a double or a UUID, by its type's number.
    Fixed(u8, Vec<u8>),
    /// An integer of type 4, 5 or 6.
    Int(u8, i64),
    /// Its length as it is said, and its bytes.
    Binary(u64, Vec<u8>),
    /// List or set, the type of its items, how many there are said to be, and the items.
    List(u8, u8, u64, Vec<Value>),
    Struct(Fields),
}

/// Fields in the order in which they are written.
pub(crate) type Fields = Vec<(i16, Value)>;

const STRUCT: u8 = 12;

/// Reads a structure from the beginning of `bytes`, and says how many it takes.
pub(crate) fn read(bytes: &[u8]) -> Option<(Fields, usize)> {
    let mut rest = bytes;
    let fields = fields(&mut rest, 0)?;
    Some((fields, bytes.len() - rest.len()))
}

/// The bytes of a structure.
pub(crate) fn write(fields: &Fields) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_fields(&mut bytes, fields);
    bytes
}

/// The field of a structure.
pub(crate) fn field(fields: &Fields, id: i16) -> Option<&Value> {
    let mut found = fields.iter().filter(|(found, _)| *found == id);
    found.next().map(|(_, value)| value)
}

pub(crate) fn field_mut(fields: &mut Fields, id: i16) -> Option<&mut Value> {
    let mut found = fields.iter_mut().filter(|(found, _)| *found == id);
    found.next().map(|(_, value)| value)
}

impl Value {
    pub(crate) fn int(&self) -> Option<i64> {
        match self {
            Self::Int(_, value) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn items(&self) -> &[Value] {
        match self {
            Self::List(_, _, _, items) => items,
            _ => &[],
        }
    }

    pub(crate) fn items_mut(&mut self) -> Option<&mut Vec<Value>> {
        match self {
            Self::List(_, _, _, items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn fields(&self) -> Option<&Fields> {
        match self {
            Self::Struct(fields) => Some(fields),
            _ => None,
        }
    }

    pub(crate) fn fields_mut(&mut self) -> Option<&mut Fields> {
        match self {
            Self::Struct(fields) => Some(fields),
            _ => None,
        }
    }

    /// Visits this value and all within.
    pub(crate) fn visit(&mut self, see: &mut impl FnMut(&mut Value)) {
        see(self);
        match self {
            Self::List(_, _, _, items) => items.iter_mut().for_each(|item| item.visit(see)),
            Self::Struct(fields) => fields.iter_mut().for_each(|(_, value)| value.visit(see)),
            _ => {}
        }
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Bool(true) => 1,
            Self::Bool(false) => 2,
            Self::Fixed(kind, _) | Self::Int(kind, _) | Self::List(kind, ..) => *kind,
            Self::Binary(..) => 8,
            Self::Struct(_) => STRUCT,
        }
    }
}

fn byte(rest: &mut &[u8]) -> Option<u8> {
    let (first, behind) = rest.split_first()?;
    *rest = behind;
    Some(*first)
}

fn take(rest: &mut &[u8], bytes: u64) -> Option<Vec<u8>> {
    let (taken, behind) = rest.split_at_checked(usize::try_from(bytes).ok()?)?;
    *rest = behind;
    Some(taken.to_vec())
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = byte(rest)?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

fn zigzag(rest: &mut &[u8]) -> Option<i64> {
    let value = varint(rest)?;
    Some((value >> 1) as i64 ^ -((value & 1) as i64))
}

fn fields(rest: &mut &[u8], depth: usize) -> Option<Fields> {
    let mut fields = Vec::new();
    let mut id = 0_i16;
    loop {
        let head = byte(rest)?;
        let kind = head & 0x0f;
        if kind == 0 || depth > 40 {
            return Some(fields);
        }
        id = match head >> 4 {
            0 => i16::try_from(zigzag(rest)?).ok()?,
            delta => id.checked_add(i16::from(delta))?,
        };
        let value = match kind {
            1 | 2 => Value::Bool(kind == 1),
            _ => value(rest, kind, depth + 1)?,
        };
        fields.push((id, value));
    }
}

fn value(rest: &mut &[u8], kind: u8, depth: usize) -> Option<Value> {
    Some(match kind {
        1 | 2 => Value::Bool(byte(rest)? == 1),
        3 => Value::Fixed(kind, take(rest, 1)?),
        7 => Value::Fixed(kind, take(rest, 8)?),
        13 => Value::Fixed(kind, take(rest, 16)?),
        4..=6 => Value::Int(kind, zigzag(rest)?),
        8 => {
            let length = varint(rest)?;
            Value::Binary(length, take(rest, length)?)
        }
        9 | 10 => {
            let head = byte(rest)?;
            let count = match head >> 4 {
                15 => varint(rest)?,
                count => u64::from(count),
            };
            let items: Option<Vec<Value>> = (0..count)
                .map(|_| value(rest, head & 0x0f, depth + 1))
                .collect();
            Value::List(kind, head & 0x0f, count, items?)
        }
        STRUCT => Value::Struct(fields(rest, depth)?),
        // Parquet has no maps.
        _ => return None,
    })
}

fn write_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn write_zigzag(bytes: &mut Vec<u8>, value: i64) {
    write_varint(bytes, (value << 1 ^ value >> 63).cast_unsigned());
}

fn write_fields(bytes: &mut Vec<u8>, fields: &Fields) {
    let mut before = 0_i16;
    for (id, value) in fields {
        match id.checked_sub(before) {
            Some(delta @ 1..=15) => bytes.push((delta as u8) << 4 | value.kind()),
            _ => {
                bytes.push(value.kind());
                write_zigzag(bytes, i64::from(*id));
            }
        }
        before = *id;
        if !matches!(value, Value::Bool(_)) {
            write_value(bytes, value);
        }
    }
    bytes.push(0);
}

fn write_value(bytes: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Bool(value) => bytes.push(if *value { 1 } else { 2 }),
        Value::Fixed(_, value) => bytes.extend_from_slice(value),
        Value::Int(_, value) => write_zigzag(bytes, *value),
        Value::Binary(length, value) => {
            write_varint(bytes, *length);
            bytes.extend_from_slice(value);
        }
        Value::List(_, items, count, values) => {
            if *count < 15 {
                bytes.push((*count as u8) << 4 | items);
            } else {
                bytes.push(0xf0 | items);
                write_varint(bytes, *count);
            }
            values.iter().for_each(|value| write_value(bytes, value));
        }
        Value::Struct(fields) => write_fields(bytes, fields),
    }
}
