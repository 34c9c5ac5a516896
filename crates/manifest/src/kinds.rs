//! What kinds of value the keys take: each reads an item to a typed value, or says what would be
//! right.

use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use crate::bytes;
use crate::expand::expand;
use crate::place::Place;
use crate::suggest::{clip, listed, nearest, quoted};
use crate::tree::{Item, Value};

/// What reading a value depends on beside the value.
pub(crate) struct Context<'a> {
    /// Environment variables.
    pub(crate) env: &'a dyn Fn(&str) -> Option<String>,
    /// The folder of paths in overrides.
    pub(crate) cwd: &'a Path,
    /// The folder of paths in the manifest.
    pub(crate) folder: &'a Path,
}

/// Why a value is refused: where it stands, and the message.
pub(crate) type Fault = (Place, String);

/// A kind of value.
pub(crate) trait Kind {
    /// What a value of this kind is to the stages.
    type Out;
    /// Reads the value of the key that messages call `name` (`table.key`).
    fn read(&self, name: &str, item: &Item, context: &Context<'_>) -> Result<Self::Out, Fault>;
    /// The kind in words, for the reference.
    fn describe(&self) -> String;
}

/// "`name`: expected ..., found ...".
fn wrong_type(name: &str, expected: &str, item: &Item, remedy: &str) -> Fault {
    let found = item.type_name();
    let message = format!("{name}: expected {expected}, found {found}{remedy}");
    (item.place, message)
}

/// The string, variables expanded. In an override an unquoted scalar is its own text.
fn string(name: &str, expected: &str, item: &Item, context: &Context<'_>) -> Result<String, Fault> {
    let scalar = !matches!(item.value, Value::Array(_) | Value::Table);
    let text = match (&item.value, item.place) {
        (Value::String(text), _) => text,
        (_, Place::Override(_)) if scalar => &item.written,
        _ if scalar => {
            let remedy = format!("; write {}", quoted(&item.written));
            return Err(wrong_type(name, expected, item, &remedy));
        }
        _ => return Err(wrong_type(name, expected, item, "")),
    };
    expand(text, context.env).map_err(|reason| (item.place, format!("{name}: {reason}")))
}

/// The integer, if it is one within the bounds.
fn integer(name: &str, item: &Item, min: i64, max: i64) -> Result<i64, Fault> {
    match &item.value {
        Value::Integer(value) => match i64::try_from(*value) {
            Ok(value) if (min..=max).contains(&value) => Ok(value),
            _ => Err((item.place, out_of_range(name, item, min, max))),
        },
        Value::String(text) => {
            let number = text.trim().parse::<i64>().is_ok();
            let remedy = if number {
                "; write it without quotes"
            } else {
                ""
            };
            Err(wrong_type(name, "an integer", item, remedy))
        }
        _ => Err(wrong_type(name, "an integer", item, "")),
    }
}

/// The message for an integer outside of its bounds.
fn out_of_range(name: &str, item: &Item, min: i64, max: i64) -> String {
    let written = clip(&item.written);
    format!("{name} = {written} is out of range; use an integer from {min} to {max}")
}

/// An integer from `min` to `max`, as a `T`.
pub(crate) struct Integer<T> {
    min: i64,
    max: i64,
    out: PhantomData<fn() -> T>,
}

impl<T> Integer<T> {
    /// Integers within these bounds, both included; `T` holds them all.
    pub(crate) const fn new(min: i64, max: i64) -> Self {
        Self {
            min,
            max,
            out: PhantomData,
        }
    }
}

impl<T: TryFrom<i64>> Kind for Integer<T> {
    type Out = T;
    fn read(&self, name: &str, item: &Item, _: &Context<'_>) -> Result<T, Fault> {
        let value = integer(name, item, self.min, self.max)?;
        T::try_from(value).map_err(|_| (item.place, out_of_range(name, item, self.min, self.max)))
    }
    fn describe(&self) -> String {
        format!("integer, {} to {}", self.min, self.max)
    }
}

/// One of a few integers, of which this version has some.
pub(crate) struct Listed {
    pub(crate) now: &'static [u32],
    pub(crate) later: &'static [u32],
}

impl Listed {
    fn names(&self) -> String {
        let names: Vec<String> = self.now.iter().map(u32::to_string).collect();
        names.join(", ")
    }
}

impl Kind for Listed {
    type Out = u32;
    fn read(&self, name: &str, item: &Item, _: &Context<'_>) -> Result<u32, Fault> {
        let value = integer(name, item, i64::MIN, i64::MAX)?;
        let has = |list: &[u32]| list.iter().copied().find(|&one| i64::from(one) == value);
        if let Some(value) = has(self.now) {
            return Ok(value);
        }
        let reason = match has(self.later) {
            Some(_) => "is not in this version of neardup",
            None => "is not a value of it",
        };
        Err((
            item.place,
            format!("{name} = {value} {reason}; use {}", self.names()),
        ))
    }
    fn describe(&self) -> String {
        self.names()
    }
}

/// A Jaccard similarity in (0, 1].
pub(crate) struct Similarity;

impl Kind for Similarity {
    type Out = f64;
    fn read(&self, name: &str, item: &Item, _: &Context<'_>) -> Result<f64, Fault> {
        let value = match &item.value {
            Value::Float(value) => Some(*value),
            // The one integer in the range.
            Value::Integer(value) => Some(if *value == 1 { 1.0 } else { f64::NAN }),
            Value::String(text) if text.trim().parse::<f64>().is_ok() => {
                return Err(wrong_type(
                    name,
                    "a number",
                    item,
                    "; write it without quotes",
                ));
            }
            _ => None,
        };
        match value {
            Some(value) if value > 0.0 && value <= 1.0 => Ok(value),
            Some(_) => {
                let written = clip(&item.written);
                let message =
                    format!("{name} = {written} is out of range; use a number above 0 and up to 1");
                Err((item.place, message))
            }
            None => Err(wrong_type(name, "a number", item, "")),
        }
    }
    fn describe(&self) -> String {
        "number, above 0 and up to 1".to_owned()
    }
}

/// `true` or `false`.
pub(crate) struct Switch;

impl Kind for Switch {
    type Out = bool;
    fn read(&self, name: &str, item: &Item, _: &Context<'_>) -> Result<bool, Fault> {
        match &item.value {
            Value::Boolean(value) => Ok(*value),
            _ => Err(wrong_type(name, "true or false", item, "")),
        }
    }
    fn describe(&self) -> String {
        "true or false".to_owned()
    }
}

/// One name of a closed set, of which this version has some.
pub(crate) struct Choice<T: 'static> {
    pub(crate) now: &'static [&'static str],
    pub(crate) later: &'static [&'static str],
    pub(crate) of: fn(&str) -> Option<T>,
}

impl<T> Kind for Choice<T> {
    type Out = T;
    fn read(&self, name: &str, item: &Item, context: &Context<'_>) -> Result<T, Fault> {
        let text = string(name, "a string", item, context)?;
        if let Some(value) = (self.of)(&text) {
            return Ok(value);
        }
        let use_these = listed(self.now, '"', "or");
        let given = quoted(&text);
        let message = if self.later.contains(&text.as_str()) {
            format!("{name} = {given} is not in this version of neardup; use {use_these}")
        } else if let Some(near) = nearest(&text, self.now.iter().copied()) {
            format!("{name} = {given} is not a value of it, did you mean \"{near}\"?")
        } else {
            format!("{name} = {given} is not a value of it; use {use_these}")
        };
        Err((item.place, message))
    }
    fn describe(&self) -> String {
        listed(self.now, '"', "or")
    }
}

/// A text that is not empty.
pub(crate) struct Text;

impl Kind for Text {
    type Out = String;
    fn read(&self, name: &str, item: &Item, context: &Context<'_>) -> Result<String, Fault> {
        let text = string(name, "a string", item, context)?;
        if text.is_empty() {
            return Err((
                item.place,
                format!("{name} is empty; give it at least one character"),
            ));
        }
        Ok(text)
    }
    fn describe(&self) -> String {
        "string".to_owned()
    }
}

/// A number of bytes above 0.
pub(crate) struct Bytes;

impl Kind for Bytes {
    type Out = u64;
    fn read(&self, name: &str, item: &Item, context: &Context<'_>) -> Result<u64, Fault> {
        let (given, bytes) = match &item.value {
            Value::Integer(value) => (clip(&item.written), u64::try_from(*value).ok()),
            Value::String(_) => {
                let text = string(name, "a string", item, context)?;
                (quoted(&text), bytes::parse(&text))
            }
            _ => {
                let expected = "a size such as \"8GiB\" or an integer of bytes";
                return Err(wrong_type(name, expected, item, ""));
            }
        };
        let reason = match bytes {
            Some(0) => "is nothing to work with",
            Some(bytes) => return Ok(bytes),
            None => "is not a size in bytes",
        };
        let remedy = "use a size such as \"8GiB\", \"512MiB\" or \"64MB\", or an integer of bytes";
        Err((item.place, format!("{name} = {given} {reason}; {remedy}")))
    }
    fn describe(&self) -> String {
        "size such as \"8GiB\", \"512MiB\" or \"64MB\", or an integer of bytes".to_owned()
    }
}

/// The path, absolute by joining it onto the folder that it was given relative to.
fn path(name: &str, expected: &str, item: &Item, context: &Context<'_>) -> Result<PathBuf, Fault> {
    let text = string(name, expected, item, context)?;
    let refuse = |reason: &str| Err((item.place, format!("{name} = {} {reason}", quoted(&text))));
    if text.trim().is_empty() {
        return refuse("names nothing; give a path");
    }
    if text == "~" || text.starts_with("~/") {
        return refuse("begins with `~`, which only a shell expands; write ${HOME} for it");
    }
    if text.contains("://") {
        return refuse("is an address; neardup reads and writes files, so give a path");
    }
    let folder = match item.place {
        Place::Override(_) => context.cwd,
        Place::Manifest(_) | Place::Default => context.folder,
    };
    Ok(folder.join(text))
}

/// One path.
pub(crate) struct OnePath;

impl Kind for OnePath {
    type Out = PathBuf;
    fn read(&self, name: &str, item: &Item, context: &Context<'_>) -> Result<PathBuf, Fault> {
        path(name, "a string", item, context)
    }
    fn describe(&self) -> String {
        "path".to_owned()
    }
}

/// One path or a list of at least one.
pub(crate) struct Paths;

impl Kind for Paths {
    type Out = Vec<PathBuf>;
    fn read(&self, name: &str, item: &Item, context: &Context<'_>) -> Result<Vec<PathBuf>, Fault> {
        const EXPECTED: &str = "a string or an array of strings";
        match &item.value {
            Value::Array(items) if items.is_empty() => {
                let message = format!("{name} is empty; name at least one file, folder or glob");
                Err((item.place, message))
            }
            Value::Array(items) => {
                let element = |item| path(name, EXPECTED, item, context);
                items.iter().map(element).collect()
            }
            _ => Ok(vec![path(name, EXPECTED, item, context)?]),
        }
    }
    fn describe(&self) -> String {
        "path or glob, or an array of them".to_owned()
    }
}
