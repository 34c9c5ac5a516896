//! Column orders in a footer that is already encoded.
//!
//! The Parquet crate writes the column orders that it would use itself, whatever the input said.
//! Statistics that are copied would then claim another order than they were made with. So the last
//! field of `FileMetaData` (7, `column_orders`, a list of unions of empty structs, three bytes each
//! in Thrift's compact protocol) is put right before the footer goes to the disk.

use parquet::basic::ColumnOrder;

/// The footer's length and the magic after it.
const TAIL: usize = 8;
/// `FileMetaData`'s end of fields.
const STOP: u8 = 0;

/// Sets the column orders in `bytes`, the end of a Parquet file with its whole footer, or takes them
/// out when `orders` is none. The error says what stands there instead.
pub(super) fn set_column_orders(
    bytes: &mut Vec<u8>,
    leaves: usize,
    orders: Option<&[ColumnOrder]>,
) -> Result<(), String> {
    let unexpected = || "the written footer does not end in its column orders".to_owned();
    let end = bytes.len().checked_sub(TAIL + 1).ok_or_else(unexpected)?;
    let list = leaves.checked_mul(3).and_then(|len| end.checked_sub(len));
    let list = list.ok_or_else(unexpected)?;
    let header = list_header(leaves);
    let field = list.checked_sub(header.len() + 1).ok_or_else(unexpected)?;

    let elements = bytes.get(list..end).ok_or_else(unexpected)?;
    let well_formed = elements
        .chunks(3)
        .all(|e| matches!(e, [0x1C | 0x2C | 0x3C, 0, 0]));
    // A field header holds the step from the field before it (6, 5 or 4) and the type, 9 for a list.
    let field_header = bytes.get(field).copied();
    let is_field = matches!(field_header, Some(0x19 | 0x29 | 0x39));
    let has_header = bytes.get(field + 1..list) == Some(header.as_slice());
    if !well_formed || !is_field || !has_header || bytes.get(end) != Some(&STOP) {
        return Err(unexpected());
    }

    let removed = match orders {
        Some(orders) if orders.len() == leaves => {
            let coded: Vec<u8> = encode(orders).ok_or("an order that this version cannot write")?;
            bytes.splice(list..end, coded);
            0
        }
        Some(_) => return Err("there are not as many column orders as columns".to_owned()),
        None => {
            bytes.drain(field..end);
            end - field
        }
    };
    shorten(bytes, removed).ok_or_else(unexpected)
}

/// Thrift's header of a list of `len` structs.
fn list_header(len: usize) -> Vec<u8> {
    const STRUCT: u8 = 0x0C;
    match u8::try_from(len) {
        Ok(short) if short < 15 => vec![(short << 4) | STRUCT],
        _ => {
            let mut header = vec![0xF0 | STRUCT];
            let mut rest = len;
            while rest > 0x7F {
                header.push((rest & 0x7F) as u8 | 0x80);
                rest >>= 7;
            }
            header.push((rest & 0x7F) as u8);
            header
        }
    }
}

fn encode(orders: &[ColumnOrder]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(orders.len() * 3);
    for order in orders {
        let field = match order {
            ColumnOrder::TYPE_DEFINED_ORDER(_) => 0x1C,
            ColumnOrder::IEEE_754_TOTAL_ORDER => 0x2C,
            ColumnOrder::INT96_TIMESTAMP_ORDER => 0x3C,
            ColumnOrder::UNDEFINED | ColumnOrder::UNKNOWN => return None,
        };
        bytes.extend([field, 0, 0]);
    }
    Some(bytes)
}

/// Takes `removed` off the footer's length.
fn shorten(bytes: &mut [u8], removed: usize) -> Option<()> {
    let at = bytes.len().checked_sub(TAIL)?;
    let field = bytes.get_mut(at..at + 4)?;
    let length = u32::from_le_bytes(<[u8; 4]>::try_from(&*field).ok()?);
    let length = length.checked_sub(u32::try_from(removed).ok()?)?;
    field.copy_from_slice(&length.to_le_bytes());
    Some(())
}
