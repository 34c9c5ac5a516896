//! Words for messages: the nearest known name, lists of names, long texts cut short.

/// Names longer than this are no misspelling of a key of ours.
const LONGEST_TYPO: usize = 64;

/// The characters of a name or value that a message repeats.
const SHOWN: usize = 60;

/// The name nearest to `given` by edit distance (transpositions count one), if it is near enough
/// to be meant: at most a third of its letters differ, or one is the beginning of the other. Case
/// and `-` for `_` are no difference.
pub(crate) fn nearest<'a>(
    given: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    if given.len() > LONGEST_TYPO {
        return None;
    }
    let given = given.to_lowercase().replace('-', "_");
    let mut best: Option<(usize, &str)> = None;
    for name in names {
        let begins = given.len() >= 3 && name.starts_with(&given);
        let continues = name.len() >= 3 && given.starts_with(name);
        let distance = if begins || continues {
            1
        } else {
            strsim::damerau_levenshtein(&given, name)
        };
        let near = distance <= (name.len() / 3).max(1) && distance < name.len();
        if near && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, name));
        }
    }
    best.map(|(_, name)| name)
}

/// `a`, `b` or `c`, with `quote` on both sides of each name and `last` before the last one.
pub(crate) fn listed(names: &[&str], quote: char, last: &str) -> String {
    let quoted: Vec<String> = names.iter().map(|n| format!("{quote}{n}{quote}")).collect();
    match quoted.split_last() {
        Some((end, start)) if !start.is_empty() => format!("{} {last} {end}", start.join(", ")),
        _ => quoted.concat(),
    }
}

/// The text on one line and cut to what a message can hold.
pub(crate) fn clip(text: &str) -> String {
    let mut clipped: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(SHOWN)
        .collect();
    if text.chars().nth(SHOWN).is_some() {
        clipped.push_str("...");
    }
    clipped
}

/// The text in quotes, as a TOML string would stand, cut to what a message can hold.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", clip(text))
}
