//! Files that somebody damaged, by accident or on purpose, through the real binary: it ends well or refuses the file by
//! its name, within its budget, and the output of before stays. And the readers of our own formats, in this process.
//!
//! In the environment, for the long form (`scripts/fuzz.sh`): `NEARDUP_FUZZ_CASES` files through the binary (default 60),
//! `NEARDUP_FUZZ_SECONDS` after which no more is begun, `NEARDUP_FUZZ_SEED` (default 1), `NEARDUP_FUZZ_ONE` for one case
//! alone. Files that were found are kept below `target/fuzz`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails"
)]

#[path = "fuzz/file.rs"]
mod file;
#[path = "fuzz/mutate.rs"]
mod mutate;
#[path = "fuzz/readers.rs"]
mod readers;
#[path = "fuzz/seeds.rs"]
mod seeds;
#[path = "fuzz/thrift.rs"]
mod thrift;
#[path = "fuzz/watch.rs"]
mod watch;

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mutate::Mutator;
use seeds::Seed;
use tests::{Project, Random, files_below, repository};

/// What a process of a run may take.
const MEMORY_BYTES: u64 = 64 << 20;
/// A run that takes longer does not end.
const LIMIT: Duration = Duration::from_secs(20);
/// The mutated file.
const CASE: &str = "case.parquet";

fn setting(name: &str, default: u64) -> u64 {
    let value = std::env::var(format!("NEARDUP_FUZZ_{name}"));
    value.map_or(default, |value| value.parse().expect("a number"))
}

fn hard() -> Option<PathBuf> {
    let folder = repository().join("../shared/hard");
    folder.is_dir().then_some(folder)
}

/// When to begin no more.
struct Clock(Instant, Duration);

impl Clock {
    fn new() -> Self {
        Self(
            Instant::now(),
            Duration::from_secs(setting("SECONDS", 3600)),
        )
    }

    fn is_over(&self) -> bool {
        self.0.elapsed() > self.1
    }
}

/// What is tried, and what is found.
struct Fuzz {
    project: Project,
    seeds: Vec<Seed>,
    mutator: Mutator,
    /// Runs by their exit code.
    ended: BTreeMap<String, u64>,
    peak_bytes: u64,
    found: Vec<String>,
}

impl Fuzz {
    fn new() -> Self {
        let project = Project::new(&[]);
        let texts: Vec<Option<String>> = (0..16).map(seeds::text).collect();
        let texts: Vec<Option<&str>> = texts.iter().map(Option::as_deref).collect();
        project.texts("data/whole.parquet", &texts);
        project.run(&[]).succeeded();
        Self {
            project,
            seeds: seeds::seeds(hard().as_deref()),
            mutator: Mutator::default(),
            ended: BTreeMap::new(),
            peak_bytes: 0,
            found: Vec::new(),
        }
    }

    /// Makes a file and runs it in both modes.
    fn case(&mut self, number: u64) {
        let random = &mut Random::new(setting("SEED", 1).wrapping_mul(1 << 32) + number);
        let seed = &self.seeds[random.below(self.seeds.len())];
        let (bytes, how) = self.mutator.mutate(&seed.bytes, random);
        let path = self.project.path("data").join(CASE);
        fs::write(&path, &bytes).unwrap();
        // The file beside it has a text at the top only.
        let whole = self.project.path("data/whole.parquet");
        let alone = seed.text != "text" || (seed.ours && random.one_in(2));
        let paths = if alone {
            vec![&path]
        } else {
            vec![&path, &whole]
        };
        let paths = format!("{paths:?}");
        let mut settings = vec![
            ("input.paths", paths.as_str()),
            ("input.on_bad_text", r#""replace""#),
            ("filter.existing", r#""replace""#),
            ("run.memory", r#""64MiB""#),
            ("run.threads", ["1", "2"][random.below(2)]),
        ];
        let text = format!("{:?}", seed.text);
        settings.push(("input.text", &text));
        if seed.ours && alone {
            settings.push((
                "input.id",
                random.pick(&[r#""id""#, r#""hash""#, r#""payload.n""#]),
            ));
            let (keep, column) = [
                (r#""best""#, r#""score""#),
                (r#""earliest""#, r#""at""#),
                (r#""longest""#, ""),
            ][random.below(3)];
            settings.push(("cluster.keep", keep));
            if !column.is_empty() {
                settings.push(("cluster.column", column));
            }
        }
        self.project.set(&settings);
        let context = format!("case {number}, {}: {how}", seed.name);
        for mode in ["drop", "annotate"] {
            let found = self.run(mode, alone);
            if !found.is_empty() {
                self.keep(number, &bytes, &format!("{context}; {mode}: {found}"));
            }
        }
    }

    /// A run, and what is wrong with it.
    fn run(&mut self, mode: &str, alone: bool) -> String {
        let before = files_below(&self.project.path("out"));
        let mode_set = format!("filter.mode={mode}");
        let ended = watch::run(&self.project, &["run", "--set", &mode_set], LIMIT);
        let code = ended
            .code
            .map_or("signal".to_owned(), |code| code.to_string());
        *self.ended.entry(code).or_default() += 1;
        self.peak_bytes = self.peak_bytes.max(ended.peak_bytes);
        let mut wrong = Vec::new();
        let mut expect = |holds: bool, what: &str| {
            if !holds {
                wrong.push(what.to_owned());
            }
        };
        expect(!ended.endless, "it does not end");
        expect(
            matches!(ended.code, Some(0 | 3)),
            "it ends with neither 0 nor 3",
        );
        expect(!ended.stderr.contains("panicked at"), "it panicked");
        expect(
            ended.peak_bytes <= MEMORY_BYTES,
            &format!("a process had {} KiB", ended.peak_bytes >> 10),
        );
        if ended.code == Some(3) {
            expect(ended.stderr.contains(CASE), "it does not name the file");
            let after = files_below(&self.project.path("out"));
            expect(before == after, "the output of before is another");
        }
        if ended.code == Some(0) {
            expect(self.is_complete(mode, alone), "the output is not complete");
        }
        let tidy = |name: &String| !name.contains(".neardup-") && !name.contains("scratch/");
        let files = files_below(self.project.root());
        expect(files.keys().all(tidy), "something temporary is left");
        match wrong.is_empty() {
            true => String::new(),
            false => format!("{}\n{}", wrong.join(", "), ended.stderr),
        }
    }

    /// Whether the files of the output are Parquet of as many rows as the report says.
    fn is_complete(&self, mode: &str, alone: bool) -> bool {
        use parquet::file::reader::{FileReader, SerializedFileReader};
        let names = match alone {
            true => vec![CASE],
            false => vec![CASE, "whole.parquet"],
        };
        let rows = names.iter().map(|name| {
            let file = fs::File::open(self.project.path("out").join(name)).ok()?;
            let read = catch_unwind(AssertUnwindSafe(|| SerializedFileReader::new(file)));
            let rows = read.ok()?.ok()?.metadata().file_metadata().num_rows();
            u64::try_from(rows).ok()
        });
        let expected = match mode {
            "drop" => "kept",
            _ => "in",
        };
        rows.sum::<Option<u64>>() == Some(self.project.rows(expected))
    }

    fn keep(&mut self, number: u64, bytes: &[u8], what: &str) {
        let folder = repository().join("target/fuzz");
        fs::create_dir_all(&folder).unwrap();
        let name = format!("{}-{number}", setting("SEED", 1));
        fs::write(folder.join(format!("{name}.parquet")), bytes).unwrap();
        let manifest = fs::read(self.project.path("pipeline.toml")).unwrap();
        fs::write(folder.join(format!("{name}.toml")), manifest).unwrap();
        fs::write(folder.join(format!("{name}.txt")), what).unwrap();
        println!("found {name}: {what}");
        self.found.push(format!("{name}: {what}"));
    }
}

#[test]
fn mutated_files_are_read_or_refused_within_the_budget() {
    let clock = Clock::new();
    let mut fuzz = Fuzz::new();
    for seed in &fuzz.seeds {
        let whole = file::Parts::of(&seed.bytes).map(|parts| parts.file(true));
        assert!(
            !seed.ours || whole.as_ref() == Some(&seed.bytes),
            "{}",
            seed.name
        );
    }
    let mut cases = 0;
    match setting("ONE", u64::MAX) {
        u64::MAX => {
            for number in 0..setting("CASES", 60) {
                if clock.is_over() {
                    break;
                }
                fuzz.case(number);
                cases += 1;
            }
        }
        one => fuzz.case(one),
    }
    println!(
        "{cases} mutated files of {} seeds through the binary; runs by exit code: {:?}; largest resident set {} KiB; found {}",
        fuzz.seeds.len(),
        fuzz.ended,
        fuzz.peak_bytes >> 10,
        fuzz.found.len()
    );
    assert!(fuzz.found.is_empty(), "{}", fuzz.found.join("\n\n"));
}

#[test]
fn mutated_files_never_make_the_reader_panic() {
    let clock = Clock::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(CASE);
    let seeds = seeds::seeds(hard().as_deref());
    let mut mutator = Mutator::default();
    let (mut cases, mut read, mut found) = (0, 0, Vec::new());
    for number in 0..setting("CASES", 60).saturating_mul(10) {
        if clock.is_over() {
            break;
        }
        let random = &mut Random::new(setting("SEED", 1).wrapping_mul(1 << 33) + number);
        let seed = &seeds[random.below(seeds.len())];
        let (bytes, how) = mutator.mutate(&seed.bytes, random);
        fs::write(&path, &bytes).unwrap();
        cases += 1;
        match catch_unwind(AssertUnwindSafe(|| readers::input_file(&path, seed.text))) {
            Ok(Ok(_)) => read += 1,
            Ok(Err(error)) if error.refused() && error.to_string().contains(CASE) => {}
            other => {
                let what = format!("reader case {number}, {}: {how}: {other:?}", seed.name);
                let kept = repository().join("target/fuzz");
                fs::create_dir_all(&kept).unwrap();
                fs::write(kept.join(format!("reader-{number}.parquet")), &bytes).unwrap();
                println!("found {what}");
                found.push(what);
            }
        }
    }
    println!(
        "{cases} mutated files through the reader, of which {read} were read; found {}",
        found.len()
    );
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn damaged_files_of_our_own_never_make_their_readers_panic() {
    let cases = usize::try_from(setting("CASES", 60))
        .unwrap()
        .saturating_mul(50)
        .min(400_000);
    let random = &mut Random::new(setting("SEED", 1));
    readers::record_files(cases, random);
    let project = Project::of(&[Some("a text"), Some("a text")], &[]);
    project.run(&[]).succeeded();
    readers::receipts(cases / 10, &project.path("work"), random);
    readers::manifests(cases / 2, Path::new(project.root()), random);
    println!(
        "{cases} record files, {} receipts and journals, {} manifests",
        cases / 10,
        cases / 2
    );
}
