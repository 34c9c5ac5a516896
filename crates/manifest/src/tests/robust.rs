//! Whatever is given, the answer is settings or an error.

use proptest::prelude::*;

use super::*;
use crate::reference;

/// Every problem names a place and says something.
fn well_formed(error: &Error) -> bool {
    match error {
        Error::Invalid { problems, .. } => {
            !problems.is_empty()
                && problems.iter().all(|problem| {
                    let place = &problem.place;
                    let placed =
                        place.starts_with("jobs/pipeline.toml:") || place.starts_with("--set ");
                    placed && !problem.message.is_empty() && !problem.message.contains('\n')
                })
        }
        Error::NotAnOverride { .. } => true,
        Error::Unreadable { .. } | Error::TooLong { .. } => false,
    }
}

/// TOML values, right and wrong for one key or another.
fn value() -> impl Strategy<Value = String> {
    let words = [
        "0",
        "1",
        "-1",
        "5",
        "128",
        "4097",
        "99999999999999999999999999999999999999999999",
        "0.5",
        "1.0",
        "nan",
        "-inf",
        "1e999",
        "true",
        "\"\"",
        "\"fss\"",
        "\"exact\"",
        "'best'",
        "\"8GiB\"",
        "\"${HOME}\"",
        "\"${\"",
        "\"~/x\"",
        "[]",
        "[1]",
        "['a', 2]",
        "{}",
        "{a=1}",
        "1979-05-27",
        "07:32:00",
        "0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF",
        "\"\\u00e9\"",
        "[[[",
    ];
    prop_oneof![
        proptest::sample::select(words.to_vec()).prop_map(str::to_owned),
        "\\PC{0,12}",
    ]
}

/// A known `table.key`, or a near miss.
fn name() -> impl Strategy<Value = String> {
    let known: Vec<String> = reference()
        .iter()
        .map(|key| format!("{}.{}", key.table, key.key))
        .collect();
    prop_oneof![
        4 => proptest::sample::select(known),
        1 => "[a-z]{1,8}(\\.[a-z_]{1,9}){0,2}",
    ]
}

proptest! {
    #[test]
    fn any_text(text in "\\PC{0,80}|(\\PC|\n){0,80}|[\\[\\]{}=.\"'a\n,# ]{0,60}") {
        if let Err(error) = parsed(&text, &[]) {
            prop_assert!(well_formed(&error), "{error:?}");
        }
    }

    #[test]
    fn any_lines(lines in proptest::collection::vec((name(), value()), 0..8)) {
        let lines: Vec<String> = lines.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        if let Err(error) = parsed(&lines.join("\n"), &[]) {
            prop_assert!(well_formed(&error), "{error:?}");
        }
    }

    #[test]
    fn any_overrides(given in proptest::collection::vec((name(), value()), 0..5), odd in "\\PC{0,20}") {
        let mut given: Vec<String> = given.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let set: Vec<&str> = given.iter().map(String::as_str).collect();
        if let Err(error) = parsed(LEAST, &set) {
            prop_assert!(well_formed(&error), "{error:?}");
        }
        given.push(odd);
        let set: Vec<&str> = given.iter().map(String::as_str).collect();
        if let Err(error) = parsed(LEAST, &set) {
            prop_assert!(well_formed(&error), "{error:?}");
        }
    }

    #[test]
    fn slots_are_enough_or_refused(k in 1_u32..300, bands in 1_u32..30, rows in 1_u32..30) {
        let more = format!("[sign]\nk = {k}\n[band]\nbands = {bands}\nrows = {rows}\n");
        let accepted = parsed(&format!("{LEAST}{more}"), &[]).is_ok();
        prop_assert_eq!(accepted, bands * rows <= k);
    }
}

#[test]
fn deep_nesting_is_an_error() {
    let deep = 100_000;
    let texts = [
        format!("input.paths = {}", "[".repeat(deep)),
        format!("input.paths = {}{}", "[".repeat(deep), "]".repeat(deep)),
        format!("a = {}", "{a=".repeat(deep)),
        format!("{}a = 1", "a.".repeat(deep)),
        format!("[{}a]", "a.".repeat(deep)),
    ];
    for text in texts {
        let error = parsed(&text, &[]).unwrap_err();
        assert!(well_formed(&error), "{error:?}");
    }
    let value = format!("input.paths={}{}", "[".repeat(deep), "]".repeat(deep));
    assert!(well_formed(&parsed(LEAST, &[&value]).unwrap_err()));
}

#[test]
fn a_long_list_of_paths_is_fine() {
    let paths: Vec<String> = (0..20_000)
        .map(|i| format!("'part-{i:05}.parquet'"))
        .collect();
    let text = format!("input.paths = [{}]\nfilter.output = 'out'", paths.join(","));
    assert_eq!(parsed(&text, &[]).unwrap().input.paths.len(), 20_000);
}
