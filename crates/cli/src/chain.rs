//! The chain of receipts: which stages have to run, and why.

use std::collections::{HashMap, HashSet};

use dataset::Listed;
use records::{Pipeline, Settings, Stage};
use tables::inputs::InputFile;
use workdir::{Definition, Expected, INPUTS, Receipt, State, WorkDir};

use crate::{Code, Problem};

/// So many changed files are named in a message.
const NAMED_AT_MOST: usize = 3;

/// A stage with what its receipt has to say and whether it does.
#[derive(Clone, Debug)]
pub struct Link {
    /// What its receipt has to say.
    pub expected: Expected,
    /// Whether it does.
    pub state: State,
    /// The input files that are not as they were, where nothing else makes the stage stale.
    pub changes: Vec<Change>,
}

impl Link {
    /// Why the stage is stale, with at most three changed input files named in full; none where it
    /// is not.
    pub fn why(&self) -> Option<String> {
        match &self.state {
            State::Done(_) => None,
            State::Stale(why) if self.changes.is_empty() => Some(why.clone()),
            State::Stale(_) => {
                let show = |change: &Change| format!("{} {}", change.path, change.what);
                Some(changed(&self.changes, NAMED_AT_MOST, show))
            }
        }
    }
}

fn changed(changes: &[Change], most: usize, show: impl Fn(&Change) -> String) -> String {
    format!("the input files changed: {}", named(changes, most, show))
}

fn link(
    definition: &Definition,
    pipeline: &Pipeline,
    work: &WorkDir,
    before: Option<&Expected>,
) -> Result<Expected, Problem> {
    let mut settings = before
        .map(|before| before.settings.clone())
        .unwrap_or_default();
    settings.extend(pipeline.of_stage(definition.stage));
    settings.extend((definition.identity)(pipeline, work)?);
    Ok(Expected {
        stage: definition.stage,
        settings,
        upstream: before.map(Expected::id),
    })
}

fn state(
    definition: &Definition,
    pipeline: &Pipeline,
    work: &WorkDir,
    expected: &Expected,
) -> State {
    match expected.state(work) {
        State::Done(receipt) => match (definition.outdated)(pipeline, &receipt) {
            Some(why) => State::Stale(why),
            None => State::Done(receipt),
        },
        stale => stale,
    }
}

/// The links of all stages, in order: what would have to run for the output to be up to date.
///
/// # Errors
/// What `sign` refuses of the input.
pub fn links(
    definitions: &[&Definition],
    pipeline: &Pipeline,
    work: &WorkDir,
) -> Result<Vec<Link>, Problem> {
    let mut links: Vec<Link> = Vec::with_capacity(definitions.len());
    let mut changes_now: Option<Vec<Change>> = None;
    for definition in definitions {
        let before = links.last().map(|link| &link.expected);
        let expected = link(definition, pipeline, work, before)?;
        // A stage before it that runs again for other settings has another identity, and this
        // one is stale by that; one that only makes again what was lost leaves it as it is.
        let mut state = state(definition, pipeline, work, &expected);
        let mut changes = Vec::new();
        if let State::Stale(why) = &mut state
            && for_inputs_alone(&expected, work)
        {
            // A list that cannot be read names no files; `sign` makes it again.
            let now = changes_now.get_or_insert_with(|| {
                let sign = Receipt::load(work, Stage::Sign);
                let changes = sign.map(|sign| self::changes(pipeline, work, &sign));
                changes.and_then(Result::ok).unwrap_or_default()
            });
            changes.clone_from(now);
            if !changes.is_empty() {
                let show = |change: &Change| format!("{} {}", change.relative, change.what);
                *why = changed(&changes, 1, show);
            }
        }
        links.push(Link {
            expected,
            state,
            changes,
        });
    }
    Ok(links)
}

/// Whether a stage's receipt was made with the same settings, of other input files.
fn for_inputs_alone(expected: &Expected, work: &WorkDir) -> bool {
    let Some(receipt) = Receipt::load(work, expected.stage) else {
        return false;
    };
    let before = receipt.settings.get(INPUTS);
    let mut settings = expected.settings.clone();
    let now = settings.remove(INPUTS);
    let differ = now.as_ref() != before;
    settings.extend(before.map(|before| (INPUTS.to_owned(), before.clone())));
    differ && settings == receipt.settings
}

/// What the receipt of `definition`'s stage has to say, given the receipts of the stages before
/// it, which have to fit the manifest, each other and the input files.
///
/// # Errors
/// A refusal that names the stage that has to run first, and why.
pub fn upstream(
    definition: &Definition,
    pipeline: &Pipeline,
    work: &WorkDir,
) -> Result<Link, Problem> {
    let mut before: Option<Expected> = None;
    let mut wanted = Settings::new();
    for stage in Stage::ALL
        .into_iter()
        .take_while(|stage| *stage < definition.stage)
    {
        wanted.extend(pipeline.of_stage(stage));
        let refuse = |why: String| {
            Problem::new(
                Code::Refused,
                format!(
                    "`{}` needs the outputs of `{stage}`, but {why}; run `neardup {stage}` first, \
                     or `neardup run`",
                    definition.stage
                ),
            )
        };
        let Some(receipt) = Receipt::load(work, stage) else {
            return Err(refuse("it has not run yet".to_owned()));
        };
        let of_manifest: Settings = receipt
            .settings
            .iter()
            .filter(|(name, _)| !name.starts_with("algorithm.") && *name != INPUTS)
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        if let Some(why) = difference(&wanted, &of_manifest) {
            return Err(refuse(why));
        }
        if receipt.upstream != before.as_ref().map(Expected::id) {
            return Err(refuse("a stage before it ran again".to_owned()));
        }
        if let Some(why) = receipt.missing_output(work) {
            return Err(refuse(why));
        }
        if stage == Stage::Sign
            && let Some(why) = inputs_changed(pipeline, work, &receipt)?
        {
            return Err(refuse(why));
        }
        before = Some(Expected {
            stage,
            settings: receipt.settings,
            upstream: receipt.upstream,
        });
    }
    let expected = link(definition, pipeline, work, before.as_ref())?;
    let state = state(definition, pipeline, work, &expected);
    Ok(Link {
        expected,
        state,
        changes: Vec::new(),
    })
}

fn difference(wanted: &Settings, found: &Settings) -> Option<String> {
    let ours = records::Provenance::new("", 1, wanted.clone());
    let theirs = records::Provenance::new("", 1, found.clone());
    ours.check(&theirs)
        .err()
        .map(|mismatch| mismatch.to_string())
}

/// An input file that is not as `sign` read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The file.
    pub path: String,
    /// Its path relative to its root.
    pub relative: String,
    /// What happened to it, such as `is gone`.
    pub what: &'static str,
}

/// How the input files differ from those that `sign` read: those changed and gone in their old
/// order, then those that were added.
///
/// # Errors
/// When the input or the list of the last run cannot be read.
pub fn changes(
    pipeline: &Pipeline,
    work: &WorkDir,
    sign: &Receipt,
) -> Result<Vec<Change>, Problem> {
    let listing = dataset::list(&pipeline.input.paths)?;
    sign.verify(work, 1, |name| name == work.name_of(&work.inputs()))?;
    let expected = sign.provenance(tables::inputs::KIND, tables::inputs::FORMAT);
    let known = tables::inputs::read(&work.inputs(), &expected, &work.receipt(Stage::Sign))
        .map_err(|error| Problem::new(Code::Refused, error))?;
    let now: HashMap<&str, &Listed> = listing
        .files
        .iter()
        .map(|listed| (listed.relative.as_str(), listed))
        .collect();
    let mut found = Vec::new();
    for file in &known {
        let what = match now.get(file.relative.as_str()) {
            None => "is gone",
            Some(listed) if same(file, listed, &pipeline.input.text)? => continue,
            Some(_) => "changed",
        };
        found.push(Change {
            path: file.path.clone(),
            relative: file.relative.clone(),
            what,
        });
    }
    let before: HashSet<&str> = known.iter().map(|file| file.relative.as_str()).collect();
    let added = listing.files.iter();
    let added = added.filter(|listed| !before.contains(listed.relative.as_str()));
    found.extend(added.map(|listed| change(listed, "was added")));
    if found.is_empty() {
        // The same files: another order of `paths` numbers the documents anew.
        let mut pairs = known.iter().zip(&listing.files);
        let moved = pairs.find(|(file, listed)| file.relative != listed.relative);
        found.extend(moved.map(|(_, listed)| change(listed, "has another place")));
    }
    Ok(found)
}

fn same(file: &InputFile, listed: &Listed, text: &str) -> Result<bool, Problem> {
    let fingerprint = u128::from_str_radix(&file.fingerprint, 16).unwrap_or(0);
    let (bytes, modified_ns) = (file.bytes, file.modified_ns);
    let same = dataset::unchanged(listed, bytes, modified_ns, fingerprint, text)?;
    Ok(same)
}

fn change(listed: &Listed, what: &'static str) -> Change {
    Change {
        path: listed.path.display().to_string(),
        relative: listed.relative.clone(),
        what,
    }
}

/// At most `most` changes in words, and how many more there are.
pub fn named(changes: &[Change], most: usize, show: impl Fn(&Change) -> String) -> String {
    let mut text = changes
        .iter()
        .take(most)
        .map(show)
        .collect::<Vec<_>>()
        .join(", ");
    if changes.len() > most {
        text.push_str(&format!(" and {} more", changes.len() - most));
    }
    text
}

/// How the input files differ from those that `sign` read, in words; none where they do not.
fn inputs_changed(
    pipeline: &Pipeline,
    work: &WorkDir,
    sign: &Receipt,
) -> Result<Option<String>, Problem> {
    let changes = changes(pipeline, work, sign)?;
    let show = |change: &Change| format!("{} {} since it ran", change.path, change.what);
    Ok((!changes.is_empty()).then(|| named(&changes, NAMED_AT_MOST, show)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_changes_are_named_and_the_others_counted() {
        let change = |name: &str| Change {
            path: format!("/a/{name}"),
            relative: name.to_owned(),
            what: "is gone",
        };
        let changes = ["x", "y", "z"].map(change);
        let show = |change: &Change| format!("{} {}", change.relative, change.what);
        assert_eq!(named(&changes, 1, show), "x is gone and 2 more");
        assert_eq!(named(&changes, 3, show), "x is gone, y is gone, z is gone");
    }
}
