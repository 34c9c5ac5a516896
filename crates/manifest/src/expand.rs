//! `${NAME}` in a string value.

use crate::suggest::clip;

/// The text with every `${NAME}` replaced by the environment variable and every `$${` by `${`.
/// A value that was put in is not expanded again.
///
/// # Errors
/// The message for a variable that is not set, is empty, or is no name, or a `${` that nothing
/// closes. Empty is refused since a folder such as `lake/${NIGHT}` would mean the whole lake.
pub(crate) fn expand(text: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        // `$${`: the dollar before is an escape. What it escapes is literal.
        if let Some(literal) = before.strip_suffix('$') {
            expanded.push_str(literal);
            expanded.push_str("${");
            rest = after;
            continue;
        }
        expanded.push_str(before);
        let (name, after) = after.split_once('}').ok_or(
            "`${` without its `}`; close the variable's name, or write `$${` for a literal `${`",
        )?;
        expanded.push_str(&variable(name, env)?);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// The value of the environment variable.
fn variable(name: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(word)
    {
        return Err(format!(
            "`${{{}}}` names no environment variable; use letters, digits and `_`, or write `$${{` for a literal `${{`",
            clip(name)
        ));
    }
    match env(name) {
        Some(value) if !value.is_empty() => Ok(value),
        Some(_) => Err(format!("environment variable `{}` is empty", clip(name))),
        None => Err(format!("environment variable `{}` is not set", clip(name))),
    }
}

#[cfg(test)]
mod tests {
    use super::expand;
    use proptest::prelude::*;

    fn env(name: &str) -> Option<String> {
        match name {
            "NIGHT" => Some("2026-01-31".to_owned()),
            "NESTED" => Some("${NIGHT}".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        }
    }

    #[test]
    fn variables_and_escapes() {
        let table = [
            ("plain", "plain"),
            ("", ""),
            ("lake/${NIGHT}/x", "lake/2026-01-31/x"),
            ("${NIGHT}${NIGHT}", "2026-01-312026-01-31"),
            ("${NESTED}", "${NIGHT}"),
            ("$${NIGHT}", "${NIGHT}"),
            ("$$${NIGHT}", "$${NIGHT}"),
            ("cost $5 $NIGHT $", "cost $5 $NIGHT $"),
        ];
        for (text, expected) in table {
            assert_eq!(expand(text, &env).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn refusals() {
        let table = [
            ("${DAY}", "environment variable `DAY` is not set"),
            ("${EMPTY}", "environment variable `EMPTY` is empty"),
            (
                "a${NIGHT",
                "`${` without its `}`; close the variable's name, or write `$${` for a literal `${`",
            ),
            (
                "${}",
                "`${}` names no environment variable; use letters, digits and `_`, or write `$${` for a literal `${`",
            ),
            (
                "${NIGHT:-x}",
                "`${NIGHT:-x}` names no environment variable; use letters, digits and `_`, or write `$${` for a literal `${`",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(expand(text, &env), Err(expected.to_owned()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn an_escaped_text_expands_to_itself(text in "[a${}]{0,20}") {
            let escaped = text.replace("${", "$${");
            prop_assert_eq!(expand(&escaped, &|_| None), Ok(text));
        }
    }
}
