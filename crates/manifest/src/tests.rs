//! Tests of the whole crate: what is taken, what is refused with which words, and that nothing
//! panics.

mod accepted;
mod problems;
mod refused;
mod robust;

use std::path::Path;

use records::Pipeline;

use crate::{Error, Override, parse};

/// The least manifest; four lines long.
const LEAST: &str = "[input]\npaths = \"data\"\n[filter]\noutput = \"out\"\n";

/// The environment of the tests.
fn env(name: &str) -> Option<String> {
    match name {
        "NIGHT" => Some("2026-01-31".to_owned()),
        "HOME" => Some("/home/ada".to_owned()),
        "EMPTY" => Some(String::new()),
        "MEMORY" => Some("plenty".to_owned()),
        _ => None,
    }
}

/// Parses `text` as `jobs/pipeline.toml`, with `/cwd` as the current folder.
fn parsed(text: &str, overrides: &[&str]) -> Result<Pipeline, Error> {
    let overrides = overrides
        .iter()
        .map(|argument| Override::parse(argument))
        .collect::<Result<Vec<_>, _>>()?;
    parse(
        text,
        Path::new("jobs/pipeline.toml"),
        &overrides,
        &env,
        Path::new("/cwd"),
    )
}

/// The settings of [`LEAST`] with more lines after it.
#[track_caller]
fn accept(more: &str, overrides: &[&str]) -> Pipeline {
    match parsed(&format!("{LEAST}{more}"), overrides) {
        Ok(pipeline) => pipeline,
        Err(error) => panic!("refused {more:?} with {overrides:?}: {error}"),
    }
}

/// Asserts the whole text of the error for a manifest.
#[track_caller]
fn check(text: &str, overrides: &[&str], expected: &str) {
    match parsed(text, overrides) {
        Ok(_) => panic!("accepted {text:?} with {overrides:?}"),
        Err(error) => assert_eq!(error.to_string(), expected, "{text:?} with {overrides:?}"),
    }
}

/// Asserts the error for [`LEAST`] with more lines from line 5 on; `expected` is without the name
/// of the manifest.
#[track_caller]
fn check_more(more: &str, expected: &str) {
    let expected = format!("jobs/pipeline.toml:{expected}");
    check(&format!("{LEAST}{more}"), &[], &expected);
}

/// Asserts the error for [`LEAST`] with one override; `expected` is without the argument.
#[track_caller]
fn check_set(argument: &str, expected: &str) {
    check(LEAST, &[argument], &format!("--set {argument}: {expected}"));
}
