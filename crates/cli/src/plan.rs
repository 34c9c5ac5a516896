//! What a run will do and need, said before it starts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use records::{Pipeline, Stage};
use workdir::{Definition, Facts, Span, StagePlan, State, WorkDir};

use crate::chain::Link;
use crate::lines::{bytes, count};
use crate::machine::{default_memory_bytes, threads};
use crate::space::{existing, free_bytes};
use crate::{Code, Problem};

/// So many rows of one file are rare enough to be named where they do not fit.
const MANY_ROWS: u64 = 1 << 29;

/// What is known of the input, by its footers and the receipts that stand.
#[derive(Clone, Debug)]
pub struct Survey {
    /// For the stages' plans.
    pub facts: Facts,
    /// Hidden and side files that were passed over.
    pub skipped: u64,
    /// What the listing warned of.
    pub warnings: Vec<String>,
    /// The file with the most rows, and how many.
    largest: Option<(PathBuf, u64)>,
}

impl Survey {
    /// Names the file that most of very many rows are in: it may be damaged, and not be so large.
    fn rows_of_one_file(&self) -> String {
        match &self.largest {
            Some((path, rows)) if *rows >= MANY_ROWS && *rows > self.facts.documents / 2 => {
                format!(
                    "; the footer of `{}` says {} rows: if it has fewer, it is damaged, write it again",
                    path.display(),
                    count(*rows)
                )
            }
            _ => String::new(),
        }
    }
}

/// What a footer tells of an input file.
struct Sizes {
    rows: u64,
    text_bytes: u64,
    largest_stored_group_bytes: u64,
    largest_text_group_bytes: u64,
}

/// Takes what the last run of `sign` knows of the input files, reads the footers of the others, and
/// takes the counters of the stages that are up to date.
///
/// # Errors
/// What `sign` would refuse of the input.
pub fn survey(pipeline: &Pipeline, work: &WorkDir, links: &[Link]) -> Result<Survey, Problem> {
    let listing = dataset::list(&pipeline.input.paths)?;
    let mut facts = Facts {
        files: listing.files.len() as u64,
        ..Facts::default()
    };
    let mut largest_file: Option<(PathBuf, u64)> = None;
    let before = tables::inputs::last_run(work, &pipeline.input.text);
    for listed in &listing.files {
        let file = listed.path.to_str().and_then(|path| before.get(path));
        let same =
            file.filter(|file| file.looks_like(&listed.relative, listed.bytes, listed.modified_ns));
        let sizes = match same {
            Some(file) => Sizes {
                rows: file.rows,
                text_bytes: file.text_bytes,
                largest_stored_group_bytes: file.largest_stored_group_bytes,
                largest_text_group_bytes: file.largest_text_group_bytes,
            },
            None => {
                let source = dataset::inspect(listed, &pipeline.input.text)?;
                Sizes {
                    rows: source.rows,
                    text_bytes: source.text_bytes(),
                    largest_stored_group_bytes: source.largest_stored_group_bytes(),
                    largest_text_group_bytes: source.largest_text_group_bytes(),
                }
            }
        };
        if largest_file
            .as_ref()
            .is_none_or(|(_, rows)| *rows < sizes.rows)
        {
            largest_file = Some((listed.path.clone(), sizes.rows));
        }
        let add = |sum: &mut u64, bytes: u64| *sum = sum.saturating_add(bytes);
        add(&mut facts.documents, sizes.rows);
        add(&mut facts.input_bytes, listed.bytes);
        add(&mut facts.text_bytes, sizes.text_bytes);
        let largest = |largest: &mut u64, bytes: u64| *largest = bytes.max(*largest);
        largest(
            &mut facts.largest_stored_group_bytes,
            sizes.largest_stored_group_bytes,
        );
        largest(
            &mut facts.largest_text_group_bytes,
            sizes.largest_text_group_bytes,
        );
    }
    for link in links {
        if let State::Done(receipt) = &link.state {
            facts
                .counters
                .extend(counters(receipt.stage, &receipt.counters));
        }
    }
    Ok(Survey {
        facts,
        skipped: listing.skipped,
        warnings: listing.warnings,
        largest: largest_file,
    })
}

/// A stage's counters that are numbers, as [`Facts`] names them.
pub(crate) fn counters<'a>(
    stage: Stage,
    counters: &'a BTreeMap<String, serde_json::Value>,
) -> impl Iterator<Item = (String, u64)> + 'a {
    counters
        .iter()
        .filter_map(move |(name, value)| Some((format!("{stage}.{name}"), value.as_u64()?)))
}

/// A stage that will run, why, and what it will need.
#[derive(Clone, Debug)]
pub struct Step {
    /// Which stage.
    pub stage: Stage,
    /// Why it runs; none where it is up to date.
    pub why: Option<String>,
    /// What it will need.
    pub plan: StagePlan,
}

/// The steps of a run of `links`; `must_run` says which.
///
/// # Errors
/// Where the budget is too small for a stage that runs, with the budget that would do for all.
pub fn steps(
    definitions: &[&Definition],
    links: &[Link],
    must_run: impl Fn(&Link) -> bool,
    pipeline: &Pipeline,
    survey: &Survey,
) -> Result<Vec<Step>, Problem> {
    let memory_bytes = budget(pipeline);
    let threads = threads(pipeline.run.threads);
    let mut steps = Vec::new();
    for (definition, link) in definitions.iter().zip(links) {
        let runs = must_run(link);
        let plan = match (definition.plan)(pipeline, &survey.facts, memory_bytes, threads) {
            Ok(plan) => plan,
            Err(_) if !runs => StagePlan::default(),
            Err(failure) => {
                let mut problem = Problem::from(failure);
                problem.message.push_str(&survey.rows_of_one_file());
                return Err(problem);
            }
        };
        let why = runs.then(|| match &link.state {
            State::Stale(why) => why.clone(),
            State::Done(_) => "--force".to_owned(),
        });
        steps.push(Step {
            stage: definition.stage,
            why,
            plan,
        });
    }
    Ok(steps)
}

/// The memory budget of a stage.
pub fn budget(pipeline: &Pipeline) -> u64 {
    pipeline
        .run
        .memory_bytes
        .unwrap_or_else(default_memory_bytes)
}

/// What the steps that run will put on each file system at their peak, beside what is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    /// In the work folder.
    pub work: Span,
    /// Beside the output folder.
    pub output: Span,
}

/// Adds the steps up: a stage's peak comes on top of what the stages before it leave.
pub fn disk(steps: &[Step]) -> Disk {
    let mut kept = Span::default();
    let mut disk = Disk::default();
    for step in steps.iter().filter(|step| step.why.is_some()) {
        let now = kept + step.plan.work_peak;
        disk.work = Span {
            low: disk.work.low.max(now.low),
            high: disk.work.high.max(now.high),
        };
        kept = kept + step.plan.work_kept;
        disk.output = step.plan.output;
    }
    disk
}

/// Refuses a run that the free space cannot hold even if all goes well.
///
/// # Errors
/// With the path, the bytes needed and the bytes free.
pub fn check_disk(disk: &Disk, pipeline: &Pipeline, work: &WorkDir) -> Result<(), Problem> {
    let output = existing(&pipeline.filter.output);
    let same = device(work.root()) == device(&output);
    let mut wanted = vec![(work.root().to_owned(), disk.work.low, "the work folder")];
    match same {
        true => wanted[0].1 += disk.output.low,
        false => wanted.push((output, disk.output.low, "the output")),
    }
    for (path, needed, what) in wanted {
        let Some(free) = free_bytes(&path) else {
            continue;
        };
        if needed > free {
            let and = if same {
                " and the output beside it"
            } else {
                ""
            };
            return Err(Problem::new(
                Code::Refused,
                format!(
                    "{what}{and} will need at least {} on the file system of {}, where {} are \
                     free; free {} or name a folder elsewhere",
                    bytes(needed),
                    path.display(),
                    bytes(free),
                    bytes(needed - free)
                ),
            ));
        }
    }
    Ok(())
}

fn device(path: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    path.metadata().ok().map(|found| found.dev())
}

/// The plan as lines of text.
pub fn plan_lines(
    survey: &Survey,
    steps: &[Step],
    pipeline: &Pipeline,
    work: &WorkDir,
) -> Vec<String> {
    let facts = &survey.facts;
    let mut lines = vec![
        format!(
            "{} rows in {} files, {} ({} of text); {} hidden and side files skipped",
            count(facts.documents),
            count(facts.files),
            bytes(facts.input_bytes),
            bytes(facts.text_bytes),
            count(survey.skipped)
        ),
        format!(
            "budget {} and {} threads a stage; at most {} bits a document cannot be spilled",
            bytes(budget(pipeline)),
            threads(pipeline.run.threads),
            workdir::BITS_A_DOCUMENT
        ),
        format!(
            "{:<8} {:>22} {:>22} {:>22} {:>7}  why it runs",
            "stage", "memory", "work folder, peak", "output", "threads"
        ),
    ];
    for step in steps {
        let plan = &step.plan;
        lines.push(match &step.why {
            None => format!("{:<8} is up to date", step.stage),
            Some(why) => format!(
                "{:<8} {:>22} {:>22} {:>22} {:>7}  {why}",
                step.stage,
                span(plan.memory_bytes()),
                span(plan.work_peak),
                span(plan.output),
                plan.threads
            ),
        });
    }
    let disk = disk(steps);
    let on = |name: &str, span_: Span, path: &Path| {
        let free = free_bytes(path).map_or("unknown".to_owned(), bytes);
        format!(
            "{name}: {} at the peak, {free} free on its file system",
            span(span_)
        )
    };
    if disk != Disk::default() {
        lines.push(on("work folder", disk.work, &existing(work.root())));
        lines.push(on(
            "output",
            disk.output,
            &existing(&pipeline.filter.output),
        ));
    }
    lines.extend(
        survey
            .warnings
            .iter()
            .map(|warning| format!("warning: {warning}")),
    );
    lines
}

/// A span, such as `1.0 to 2.5 MiB`.
fn span(span: Span) -> String {
    if span.low == span.high {
        return match span.high {
            0 => "-".to_owned(),
            known => bytes(known),
        };
    }
    let (low, high) = (bytes(span.low), bytes(span.high));
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => {
            format!("{number} to {high}")
        }
        _ => format!("{low} to {high}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(stage: Stage, peak: (u64, u64), kept: u64, output: u64) -> Step {
        Step {
            stage,
            why: Some("it has not run yet".to_owned()),
            plan: StagePlan {
                work_peak: Span::between(peak.0, peak.1),
                work_kept: Span::exact(kept),
                output: Span::exact(output),
                ..StagePlan::default()
            },
        }
    }

    #[test]
    fn peaks_come_on_top_of_what_is_kept() {
        let mut steps = vec![
            step(Stage::Sign, (100, 100), 100, 0),
            step(Stage::Band, (300, 400), 10, 0),
            step(Stage::Join, (0, 50), 5, 0),
            step(Stage::Filter, (0, 0), 0, 70),
        ];
        let found = disk(&steps);
        assert_eq!(found.work, Span::between(400, 500));
        assert_eq!(found.output, Span::exact(70));
        steps[1].why = None;
        assert_eq!(disk(&steps).work, Span::between(105, 150));
    }

    #[test]
    fn spans_read_well() {
        assert_eq!(span(Span::exact(0)), "-");
        assert_eq!(span(Span::exact(2048)), "2.0 KiB");
        assert_eq!(span(Span::between(1024, 2560)), "1.0 to 2.5 KiB");
        assert_eq!(span(Span::between(1024, 3 << 20)), "1.0 KiB to 3.0 MiB");
    }

    #[test]
    fn too_little_free_space_is_refused_with_the_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let work = WorkDir::create(folder.path()).unwrap();
        let disk = Disk {
            work: Span::exact(1 << 60),
            output: Span::exact(0),
        };
        let text = format!(
            "[input]\npaths = \"x\"\n[filter]\noutput = \"{}\"\n",
            folder.path().join("out").display()
        );
        let origin = Path::new("/p.toml");
        let pipeline = manifest::parse(&text, origin, &[], &|_| None, Path::new("/")).unwrap();
        let problem = check_disk(&disk, &pipeline, &work).unwrap_err();
        assert_eq!(problem.code, Code::Refused);
        let wanted = "the work folder and the output beside it will need at least 1048576.0 TiB";
        assert!(problem.message.starts_with(wanted), "{}", problem.message);
        assert!(
            problem.message.contains("are free; free"),
            "{}",
            problem.message
        );
    }
}
