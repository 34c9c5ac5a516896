//! TOML with places: (table, key) to value, overrides applied, names checked.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::Override;
use crate::keys::{self, LATER};
use crate::place::{Place, Problems, Reported};
use crate::suggest::{clip, listed, nearest};

/// A TOML value, read as far as a setting can use it.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// A string, variables not yet expanded.
    String(String),
    /// An integer; beyond `i128` the nearest one, which no setting takes either.
    Integer(i128),
    /// A float.
    Float(f64),
    /// A boolean.
    Boolean(bool),
    /// A date or a time.
    Datetime,
    /// An array.
    Array(Vec<Item>),
    /// A table.
    Table,
}

/// A value with where it stands and how it is written there.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) value: Value,
    pub(crate) place: Place,
    /// The text of a scalar as given, quotes included; of other values empty.
    pub(crate) written: String,
}

impl Item {
    /// The item of an override or a default: a TOML value, or else a string as it stands.
    fn of_text(text: &str, place: Place) -> Self {
        match DeValue::parse(text) {
            Ok(value) => Self::of_toml(&value, text, place, &|_| place),
            Err(_) => Self {
                value: Value::String(text.to_owned()),
                place,
                written: text.to_owned(),
            },
        }
    }

    /// The item of a key's default.
    pub(crate) fn of_default(text: &str) -> Self {
        Self::of_text(text, Place::Default)
    }

    /// The item of a parsed value in `text`. The depth is bounded by the TOML parser's.
    fn of_toml(
        toml: &Spanned<DeValue<'_>>,
        text: &str,
        place: Place,
        place_at: &dyn Fn(usize) -> Place,
    ) -> Self {
        let mut written = text.get(toml.span()).unwrap_or_default();
        let value = match toml.get_ref() {
            DeValue::String(string) => Value::String(string.to_string()),
            DeValue::Integer(integer) => {
                let (digits, radix) = (integer.as_str(), integer.radix());
                let beyond = if digits.starts_with('-') {
                    i128::MIN
                } else {
                    i128::MAX
                };
                Value::Integer(i128::from_str_radix(digits, radix).unwrap_or(beyond))
            }
            // What the parser let through is a float to Rust too; NaN is refused by its range.
            DeValue::Float(float) => Value::Float(float.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(boolean) => Value::Boolean(*boolean),
            DeValue::Datetime(_) => Value::Datetime,
            DeValue::Array(array) => {
                written = "";
                let item = |element: &Spanned<DeValue<'_>>| {
                    Self::of_toml(element, text, place_at(element.span().start), place_at)
                };
                Value::Array(array.iter().map(item).collect())
            }
            DeValue::Table(_) => {
                written = "";
                Value::Table
            }
        };
        Self {
            value,
            place,
            written: written.to_owned(),
        }
    }

    /// The type of the value, with its article.
    pub(crate) fn type_name(&self) -> &'static str {
        match self.value {
            Value::String(_) => "a string",
            Value::Integer(_) => "an integer",
            Value::Float(_) => "a float",
            Value::Boolean(_) => "a boolean",
            Value::Datetime => "a date or time",
            Value::Array(_) => "an array",
            Value::Table => "a table",
        }
    }
}

/// The values given, by table and key; all of them known to [`keys`].
#[derive(Debug, Default)]
pub(crate) struct Tree {
    tables: BTreeMap<String, Place>,
    items: BTreeMap<(String, String), Item>,
    /// Whether some table or key was left out since there is none of that name.
    pub(crate) has_unknown_names: bool,
}

impl Tree {
    /// The value given for the key, if any.
    pub(crate) fn get(&self, table: &str, key: &str) -> Option<&Item> {
        self.items.get(&(table.to_owned(), key.to_owned()))
    }

    /// Where the table stands, or else the start of the manifest.
    pub(crate) fn table_place(&self, table: &str) -> Place {
        self.tables
            .get(table)
            .copied()
            .unwrap_or(Place::Manifest(0))
    }
}

/// Reads the manifest `text` and puts the overrides over it.
///
/// Unknown names are recorded and left out. A text that is not TOML is the only error.
pub(crate) fn build(
    text: &str,
    overrides: &[Override],
    problems: &mut Problems<'_>,
) -> Result<Tree, Reported> {
    let root = DeTable::parse(text).map_err(|error| not_toml(text, &error, problems))?;
    let mut tree = Tree::default();
    for (name, value) in root.get_ref() {
        let place = Place::Manifest(name.span().start);
        if known_table(name.get_ref(), place, problems).is_err() {
            tree.has_unknown_names = true;
            continue;
        }
        let DeValue::Table(table) = value.get_ref() else {
            let found = Item::of_toml(value, text, place, &Place::Manifest).type_name();
            problems.push(place, format!("expected a table `[{name}]`, found {found}"));
            continue;
        };
        tree.tables.insert(name.to_string(), place);
        for (key, value) in table {
            let place = Place::Manifest(key.span().start);
            if known_key(name.get_ref(), key.get_ref(), place, problems).is_err() {
                tree.has_unknown_names = true;
            } else {
                let place = Place::Manifest(value.span().start);
                let item = Item::of_toml(value, text, place, &Place::Manifest);
                tree.items.insert((name.to_string(), key.to_string()), item);
            }
        }
    }
    for (index, given) in overrides.iter().enumerate() {
        let place = Place::Override(index);
        let Override {
            table, key, value, ..
        } = given;
        let known = known_table(table, place, problems)
            .and_then(|()| known_key(table, key, place, problems));
        if known.is_err() {
            tree.has_unknown_names = true;
        } else if not_broken(value, place, problems).is_ok() {
            let item = Item::of_text(value, place);
            tree.items.insert((table.clone(), key.clone()), item);
        }
    }
    Ok(tree)
}

/// What the TOML parser says of a word without quotes, and of nothing where a value should be.
const UNQUOTED: &str = "string values must be quoted, expected literal string";

/// Records what the TOML parser says, in our form.
fn not_toml(text: &str, error: &toml::de::Error, problems: &mut Problems<'_>) -> Reported {
    let span = error.span().unwrap_or(0..0);
    let found = text.get(span.clone()).unwrap_or_default();
    let message = match error.message() {
        "duplicate key" => format!(
            "duplicate key `{}`; give each table and each key once",
            clip(found)
        ),
        UNQUOTED if found.is_empty() => "not TOML: a value is missing here".to_owned(),
        UNQUOTED => format!(
            "not TOML: `{}` is no value; put a string in quotes",
            clip(found)
        ),
        other => format!("not TOML: {}", one_line(other)),
    };
    problems.push(Place::Manifest(span.start), message)
}

/// The parser's message on one line.
fn one_line(message: &str) -> String {
    let words: Vec<&str> = message.split_whitespace().collect();
    let line = words.join(" ");
    line.strip_suffix(", expected nothing")
        .unwrap_or(&line)
        .to_owned()
}

/// Records a table that there is not.
fn known_table(table: &str, place: Place, problems: &mut Problems<'_>) -> Result<(), Reported> {
    let tables = keys::tables();
    if tables.contains(&table) {
        return Ok(());
    }
    if let Some(later) = LATER
        .iter()
        .find(|later| later.table.is_empty() && later.key == table)
    {
        return Err(problems.push(place, later.message()));
    }
    let mut homes = keys::all()
        .filter(|(_, key)| *key == table)
        .map(|(home, _)| home);
    let message = match (homes.next(), nearest(table, tables.iter().copied())) {
        (Some(home), _) => format!("`{table}` stands in no table; it is a key of [{home}]"),
        (None, Some(name)) => {
            format!("unknown table `{}`, did you mean `{name}`?", clip(table))
        }
        (None, None) => format!(
            "unknown table `{}`; the tables are {}",
            clip(table),
            listed(&tables, '`', "and")
        ),
    };
    Err(problems.push(place, message))
}

/// Records a key that the table has not.
fn known_key(
    table: &str,
    key: &str,
    place: Place,
    problems: &mut Problems<'_>,
) -> Result<(), Reported> {
    let own: Vec<&str> = keys::all()
        .filter(|(home, _)| *home == table)
        .map(|(_, key)| key)
        .collect();
    if own.contains(&key) {
        return Ok(());
    }
    if let Some(later) = LATER
        .iter()
        .find(|later| later.table == table && later.key == key)
    {
        return Err(problems.push(place, later.message()));
    }
    let elsewhere = keys::all().find(|(_, other)| *other == key);
    let message = match (elsewhere, nearest(key, own.iter().copied())) {
        (Some((home, _)), _) => {
            format!("unknown key `{key}` in [{table}]; it is a key of [{home}]")
        }
        (None, Some(name)) => format!("unknown key `{}`, did you mean `{name}`?", clip(key)),
        (None, None) => format!(
            "unknown key `{}`; the keys of [{table}] are {}",
            clip(key),
            listed(&own, '`', "and")
        ),
    };
    Err(problems.push(place, message))
}

/// Records an override that is plainly meant as a TOML string or array but is none, such as one
/// whose quotes the shell took: as a bare word it would name a file that nobody means.
fn not_broken(value: &str, place: Place, problems: &mut Problems<'_>) -> Result<(), Reported> {
    let string = value.starts_with(['"', '\'']);
    let array = value.starts_with('[') && value.ends_with(']');
    match DeValue::parse(value) {
        Err(error) if string || array => {
            let kind = if string { "string" } else { "array" };
            let reason = one_line(error.message());
            let message = format!(
                "the value is not a TOML {kind}: {reason}; quote the whole argument for the shell, such as --set 'input.paths=[\"a\", \"b\"]'"
            );
            Err(problems.push(place, message))
        }
        _ => Ok(()),
    }
}
