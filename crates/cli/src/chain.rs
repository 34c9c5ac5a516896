//! The chain of receipts: which stages have to run, and why.

use records::{Pipeline, Settings, Stage};
use tables::inputs::InputFile;
use workdir::{Definition, Expected, INPUTS, Receipt, State, WorkDir};

use crate::{Code, Problem};

/// A stage with what its receipt has to say and whether it does.
#[derive(Clone, Debug)]
pub struct Link {
    /// What its receipt has to say.
    pub expected: Expected,
    /// Whether it does.
    pub state: State,
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
    for definition in definitions {
        let before = links.last().map(|link| &link.expected);
        let expected = link(definition, pipeline, work, before)?;
        // A stage before it that runs again for other settings has another identity, and this
        // one is stale by that; one that only makes again what was lost leaves it as it is.
        let state = state(definition, pipeline, work, &expected);
        links.push(Link { expected, state });
    }
    Ok(links)
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
    Ok(Link { expected, state })
}

fn difference(wanted: &Settings, found: &Settings) -> Option<String> {
    let ours = records::Provenance::new("", 1, wanted.clone());
    let theirs = records::Provenance::new("", 1, found.clone());
    ours.check(&theirs)
        .err()
        .map(|mismatch| mismatch.to_string())
}

/// How the input files differ from those that `sign` read, in words; none where they do not.
///
/// # Errors
/// When the input or the list of the last run cannot be read.
pub fn inputs_changed(
    pipeline: &Pipeline,
    work: &WorkDir,
    sign: &Receipt,
) -> Result<Option<String>, Problem> {
    let listing = dataset::list(&pipeline.input.paths)?;
    sign.verify(work, 1, |name| name == work.name_of(&work.inputs()))?;
    let expected = sign.provenance(tables::inputs::KIND, tables::inputs::FORMAT);
    let known = tables::inputs::read(&work.inputs(), &expected, &work.receipt(Stage::Sign))
        .map_err(|error| Problem::new(Code::Refused, error))?;
    let mut now = listing.files.iter();
    for file in &known {
        let Some(listed) = now.next() else {
            return Ok(Some(format!("{} is gone since it ran", file.path)));
        };
        if listed.relative != file.relative {
            return Ok(Some(moved(file, listed, &known)));
        }
        let fingerprint = u128::from_str_radix(&file.fingerprint, 16).unwrap_or(0);
        let text = &pipeline.input.text;
        let same = dataset::unchanged(listed, file.bytes, file.modified_ns, fingerprint, text)?;
        if !same {
            return Ok(Some(format!("{} changed since it ran", file.path)));
        }
    }
    Ok(now
        .next()
        .map(|added| format!("{} was added since it ran", added.path.display())))
}

/// What happened where another file stands in the place of `file`.
fn moved(file: &InputFile, listed: &dataset::Listed, known: &[InputFile]) -> String {
    let old = known.iter().any(|known| known.relative == listed.relative);
    if old {
        format!("{} is gone since it ran", file.path)
    } else {
        format!("{} was added since it ran", listed.path.display())
    }
}
