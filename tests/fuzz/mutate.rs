//! How a file is changed: blindly, and by its parts.

use std::collections::HashMap;

use tests::Random;

use crate::file::{CODEC, Parts, ROW_GROUPS, column};
use crate::seeds;
use crate::thrift::{self, Fields, Value, field, field_mut};

/// What a bomb inflates to: beyond the budget of the runs.
const BOMB_BYTES: usize = 80 << 20;

/// Changes files, and says how.
#[derive(Default)]
pub(crate) struct Mutator {
    /// Pages that inflate beyond the budget, by the number of their codec.
    bombs: HashMap<i64, (Vec<u8>, i64)>,
}

impl Mutator {
    /// A changed file, and how it was changed.
    pub(crate) fn mutate(&mut self, seed: &[u8], random: &mut Random) -> (Vec<u8>, String) {
        let (mut bytes, mut how) = (seed.to_vec(), Vec::new());
        if !random.one_in(4) {
            for _ in 0..1 + random.below(3) / 2 {
                if let Some(parts) = Parts::of(&bytes) {
                    let (changed, by) = self.by_parts(parts, random);
                    bytes = changed;
                    how.push(by);
                }
            }
        }
        if how.is_empty() || random.one_in(8) {
            how.push(blindly(&mut bytes, random));
        }
        (bytes, how.join("; "))
    }

    fn by_parts(&mut self, mut parts: Parts, random: &mut Random) -> (Vec<u8>, String) {
        let file = parts.bytes().len() as i64;
        let moves = !random.one_in(6);
        let how = match random.below(13) {
            0..=2 => footer(&mut parts.footer, file, random),
            3..=5 => page_header(&mut parts, random),
            6 => page_body(&mut parts, random),
            7 | 8 => self.bomb(&mut parts, random),
            9 => rows(&mut parts, random),
            10 => nest(&mut parts.footer, random),
            11 => level_lengths(&mut parts, random),
            _ => retype(&mut parts.footer, random),
        };
        let how = how.unwrap_or_else(|| "as it was".to_owned());
        (parts.file(moves), how)
    }

    /// Puts a page that inflates to much more in the place of another.
    fn bomb(&mut self, parts: &mut Parts, random: &mut Random) -> Option<String> {
        let page = parts
            .pages
            .get(random.below(parts.pages.len().max(1)))?
            .clone();
        let number = parts.codec(&page)?;
        let codec = *seeds::codecs().get(match number {
            number @ 1..=2 => number as usize,
            4..=7 => number as usize - 1,
            _ => 0,
        })?;
        let bomb = self.bombs.entry(number);
        let (body, size) = bomb.or_insert_with(|| seeds::bomb(codec, BOMB_BYTES));
        let (body, size) = (body.clone(), *size);
        let mut header = parts.header(&page)?;
        set(&mut header, 3, body.len() as i64);
        let said = match random.below(4) {
            0 => size,
            1 => 1 + random.below(1000) as i64,
            2 => size - 1 - random.below(BOMB_BYTES / 2) as i64,
            _ => field(&header, 2)?.int()?,
        };
        set(&mut header, 2, said);
        header.retain(|(id, _)| *id != 4);
        parts.replace(page.header, thrift::write(&header));
        parts.replace(page.body, body);
        Some(format!(
            "a page that inflates to {size} bytes and says {said}"
        ))
    }
}

fn set(fields: &mut Fields, id: i16, to: i64) {
    if let Some(Value::Int(_, value)) = field_mut(fields, id) {
        *value = to;
    }
}

/// A number that is likely to be wrong.
fn number(value: i64, file: i64, random: &mut Random) -> i64 {
    match random.below(22) {
        0 => 0,
        1 => 1,
        2 => -1,
        3 => i64::from(i32::MAX),
        4 => i64::from(i32::MIN),
        5 => i64::MAX,
        6 => i64::MIN,
        7 => 1 << random.below(63),
        8 => (1 << 31) - 1 - random.below(64) as i64,
        9 => 1 << 32,
        10 => value.wrapping_add(1),
        11 => value.wrapping_sub(1),
        12 => value.wrapping_mul(2),
        13 => value / 2,
        14 => value.wrapping_neg(),
        15 => value ^ 1 << random.below(16),
        16 => file,
        17 => file - value,
        18 => random.below(256) as i64,
        19 => 40 << 20,
        20 => 200 << 20,
        _ => random.bits() as i64,
    }
}

/// Changes one integer, length, count, byte string, or the fields of one structure.
fn change(tree: &mut Value, file: i64, random: &mut Random) -> String {
    let mut count = 0;
    tree.visit(&mut |_| count += 1);
    let wanted = random.below(count);
    let (mut at, mut how) = (0, String::new());
    // The first from the chosen one on that the drawn change fits.
    let structures = random.one_in(5);
    tree.visit(&mut |value| {
        at += 1;
        if at <= wanted || !how.is_empty() {
            return;
        }
        match value {
            Value::Int(_, value) if !structures => {
                let to = number(*value, file, random);
                how = format!("{value} to {to}");
                *value = to;
            }
            Value::Binary(length, bytes) if !structures => {
                if bytes.is_empty() || random.one_in(2) {
                    *length = number(*length as i64, file, random).cast_unsigned();
                    how = format!("a length to {length}");
                } else {
                    let at = random.below(bytes.len());
                    bytes[at] ^= 1 << random.below(8);
                    how = "a byte of a name or value".to_owned();
                }
            }
            Value::Struct(fields) if structures && !fields.is_empty() => {
                how = change_fields(fields, random);
            }
            Value::List(_, kind, said, items) if structures || random.one_in(8) => {
                how = change_list(kind, said, items, file, random);
            }
            _ => {}
        }
    });
    how
}

fn change_fields(fields: &mut Fields, random: &mut Random) -> String {
    let at = random.below(fields.len());
    let (id, value) = fields[at].clone();
    match random.below(5) {
        0 | 1 => {
            fields.remove(at);
            format!("without field {id}")
        }
        2 => {
            fields.insert(at, (id, value));
            format!("field {id} twice")
        }
        3 => {
            fields[at].0 = random.below(20) as i16;
            format!("field {id} as {}", fields[at].0)
        }
        _ => {
            fields[at].1 = match random.below(4) {
                0 => Value::Bool(true),
                1 => Value::Int(4 + random.below(3) as u8, random.bits() as i64),
                2 => Value::Struct(Vec::new()),
                _ => Value::List(9, 12, 0, Vec::new()),
            };
            format!("field {id} of another type")
        }
    }
}

fn change_list(
    kind: &mut u8,
    said: &mut u64,
    items: &mut Vec<Value>,
    file: i64,
    random: &mut Random,
) -> String {
    match random.below(4) {
        0 => *said = number(*said as i64, file, random).cast_unsigned(),
        1 => *kind = random.below(16) as u8,
        2 if !items.is_empty() => {
            items.remove(random.below(items.len()));
            *said = items.len() as u64;
        }
        _ if !items.is_empty() => {
            let item = items[random.below(items.len())].clone();
            let copies = [1, 2, 300][random.below(3)];
            items.extend(std::iter::repeat_n(item, copies));
            *said = items.len() as u64;
        }
        _ => *said += 1,
    }
    format!("a list of {} items that says {said}", items.len())
}

/// Changes one thing of the footer, or lets two integers change places.
fn footer(footer: &mut Fields, file: i64, random: &mut Random) -> Option<String> {
    let mut tree = Value::Struct(std::mem::take(footer));
    let how = match random.one_in(5) {
        true => swap(&mut tree, random),
        false => change(&mut tree, file, random),
    };
    *footer = tree.fields()?.clone();
    Some(format!("footer: {how}"))
}

fn swap(tree: &mut Value, random: &mut Random) -> String {
    let mut values = Vec::new();
    tree.visit(&mut |value| values.extend(value.int()));
    if values.is_empty() {
        return "no integers".to_owned();
    }
    let first = random.below(values.len());
    let second = (first + 1 + random.below(6)) % values.len();
    values.swap(first, second);
    let mut values = values.into_iter();
    tree.visit(&mut |value| {
        if let Value::Int(_, value) = value {
            *value = values.next().unwrap_or_default();
        }
    });
    format!("integers {first} and {second} change places")
}

fn page_header(parts: &mut Parts, random: &mut Random) -> Option<String> {
    let page = parts
        .pages
        .get(random.below(parts.pages.len().max(1)))?
        .clone();
    let mut tree = Value::Struct(parts.header(&page)?);
    let how = change(&mut tree, parts.bytes().len() as i64, random);
    parts.replace(page.header.clone(), thrift::write(tree.fields()?));
    Some(format!("page at {}: {how}", page.header.start))
}

/// Damages the bytes of a page, at its beginning as a rule: there are the levels, and the sizes of what follows.
fn page_body(parts: &mut Parts, random: &mut Random) -> Option<String> {
    let page = parts
        .pages
        .get(random.below(parts.pages.len().max(1)))?
        .clone();
    let mut body = parts.bytes().get(page.body.clone())?.to_vec();
    if body.is_empty() {
        return None;
    }
    let reach = [8, 32, body.len()][random.below(3)].min(body.len());
    for _ in 0..1 + random.below(4) {
        let at = random.below(reach);
        body[at] = match random.below(4) {
            0 => 0,
            1 => 0xff,
            2 => body[at] ^ 1 << random.below(8),
            _ => random.bits() as u8,
        };
    }
    let start = page.body.start;
    parts.replace(page.body, body);
    Some(format!("bytes of the page at {start}"))
}

/// Lets footer, row group and chunks, and perhaps the pages, agree on another number of rows.
fn rows(parts: &mut Parts, random: &mut Random) -> Option<String> {
    let to = match random.below(4) {
        0 => 1 << random.below(62),
        1 => i64::from(u32::MAX),
        2 => i64::from(i32::MAX),
        _ => random.below(1000) as i64,
    };
    let groups = field_mut(&mut parts.footer, ROW_GROUPS)?.items_mut()?;
    let chosen = random.below(groups.len().max(1));
    let mut rows = 0_i64;
    for (number, group) in groups.iter_mut().enumerate() {
        let group = group.fields_mut()?;
        if number == chosen {
            set(group, 3, to);
            for chunk in field_mut(group, 1)?.items_mut()? {
                let meta = field_mut(chunk.fields_mut()?, 3)?.fields_mut()?;
                set(meta, 5, to);
            }
        }
        rows = rows.saturating_add(field(group, 3)?.int()?);
    }
    set(&mut parts.footer, 3, rows);
    if random.one_in(2) {
        let of_group = |page: &&crate::file::PageAt| page.row_group == chosen;
        let pages: Vec<_> = parts.pages.iter().filter(of_group).cloned().collect();
        for page in pages {
            let mut header = parts.header(&page)?;
            for id in [5, 8] {
                if let Some(inner) = field_mut(&mut header, id).and_then(Value::fields_mut) {
                    set(inner, 1, to);
                }
            }
            parts.replace(page.header, thrift::write(&header));
        }
    }
    Some(format!("row group {chosen} has {to} rows"))
}

/// Puts a leaf of the schema into structures within structures.
fn nest(footer: &mut Fields, random: &mut Random) -> Option<String> {
    let schema = field_mut(footer, 2)?;
    let Value::List(_, _, said, elements) = schema else {
        return None;
    };
    let at = 1 + random.below(elements.len().saturating_sub(1).max(1));
    let depth = [1, 5, 50, 95, 101, 500, 20_000][random.below(7)];
    // Field 3: required, optional, repeated.
    let repetition = random.below(3) as i64;
    let element = Value::Struct(vec![
        (3, Value::Int(5, repetition)),
        (4, Value::Binary(1, b"x".to_vec())),
        (5, Value::Int(5, 1)),
    ]);
    elements.splice(
        at.min(elements.len())..at.min(elements.len()),
        vec![element; depth],
    );
    *said = elements.len() as u64;
    Some(format!(
        "{depth} structures (repetition {repetition}) around leaf {at}"
    ))
}

/// Changes the lengths of the levels of a page of version 2, or the length before those of version 1.
fn level_lengths(parts: &mut Parts, random: &mut Random) -> Option<String> {
    let page = parts
        .pages
        .get(random.below(parts.pages.len().max(1)))?
        .clone();
    let mut header = parts.header(&page)?;
    let start = page.header.start;
    if let Some(inner) = field_mut(&mut header, 8).and_then(Value::fields_mut) {
        let id = [1, 2, 3, 5, 6][random.below(5)];
        let old = field(inner, id)?.int()?;
        let to = number(old, parts.bytes().len() as i64, random);
        set(inner, id, to);
        parts.replace(page.header, thrift::write(&header));
        return Some(format!("page at {start}: field {id} from {old} to {to}"));
    }
    let mut body = parts.bytes().get(page.body.clone())?.to_vec();
    let to = number(8, body.len() as i64, random);
    body.get_mut(..4)?
        .copy_from_slice(&(to as u32).to_le_bytes());
    parts.replace(page.body, body);
    Some(format!("page at {start}: its first length is {to}"))
}

/// Another type, repetition, annotation or codec.
fn retype(footer: &mut Fields, random: &mut Random) -> Option<String> {
    if random.one_in(3) {
        let group = field(footer, ROW_GROUPS)?.items().len();
        let group = random.below(group.max(1));
        let mut columns = 0;
        while column(footer, group, columns).is_some() {
            columns += 1;
        }
        let chosen = random.below(columns.max(1));
        let groups = field_mut(footer, ROW_GROUPS)?.items_mut()?;
        let chunks = field_mut(groups.get_mut(group)?.fields_mut()?, 1)?.items_mut()?;
        let meta = field_mut(chunks.get_mut(chosen)?.fields_mut()?, 3)?.fields_mut()?;
        let (id, to) = [(CODEC, random.below(9)), (1, random.below(9))][random.below(2)];
        set(meta, id, to as i64);
        return Some(format!(
            "row group {group}, column {chosen}: field {id} is {to}"
        ));
    }
    let elements = field_mut(footer, 2)?.items_mut()?;
    let at = random.below(elements.len().max(1));
    let element = elements.get_mut(at)?.fields_mut()?;
    let id = [1, 2, 3, 5, 6, 7, 8][random.below(7)];
    let to = random.below(24) as i64;
    match field_mut(element, id) {
        Some(Value::Int(_, value)) => *value = to,
        _ => {
            element.push((id, Value::Int(5, to)));
            element.sort_by_key(|(id, _)| *id);
        }
    }
    Some(format!("schema element {at}: field {id} is {to}"))
}

/// Changes bytes without a look at what they are.
fn blindly(bytes: &mut Vec<u8>, random: &mut Random) -> String {
    let length = bytes.len().max(1);
    // Half of the time behind the pages: the footer.
    let at = match random.one_in(2) {
        true => random.below(length),
        false => length - 1 - random.below(length.min(3000)),
    };
    match random.below(8) {
        0..=2 => {
            for _ in 0..1 + random.below(4) {
                let at = (at + random.below(40)).min(length - 1);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
            format!("bits near {at}")
        }
        3 | 4 => {
            let end = (at + 1 + random.below(64)).min(bytes.len());
            let with = [0, 0xff, random.bits() as u8][random.below(3)];
            bytes[at.min(end)..end].fill(with);
            format!("{with} from {at} to {end}")
        }
        5 => {
            bytes.truncate(at);
            format!("cut at {at}")
        }
        6 => {
            // The tail stays, the middle goes.
            let end = (at + 1 + random.below(200)).min(bytes.len().saturating_sub(8));
            bytes.drain(at.min(end)..end);
            format!("without {at} to {end}")
        }
        _ => {
            let at = bytes.len().saturating_sub(8);
            let to = number(1000, length as i64, random) as u32;
            if let Some(field) = bytes.get_mut(at..at + 4) {
                field.copy_from_slice(&to.to_le_bytes());
            }
            format!("a footer of {to} bytes")
        }
    }
}
