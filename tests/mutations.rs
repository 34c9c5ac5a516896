//! Every intermediate, receipt and journal, damaged in every way: noticed and made again, or without
//! effect; never a panic, never another result.
//!
//! `NEARDUP_MUTATIONS` is how many are tried (default 120, of which each is one run of the binary or two).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tests::{Project, Random, STAGES, files_below};

type Files = BTreeMap<String, Vec<u8>>;

/// Four files with exact and near copies among them.
fn project(settings: &[(&str, &str)]) -> Project {
    let project = Project::new(settings);
    let text = |from: usize, last: &str| {
        let words: Vec<String> = (from..from + 30).map(|i| format!("word{i}")).collect();
        format!("{} {last}", words.join(" "))
    };
    for file in 0..4 {
        let texts: Vec<String> = (0..12)
            .map(|i| match i {
                0..4 => text(100 * i, "same"),
                4..8 => text(100 * i, &format!("end{file}")),
                _ => text(10_000 * file + 100 * i, "alone"),
            })
            .collect();
        let texts: Vec<Option<&str>> = texts.iter().map(|text| Some(text.as_str())).collect();
        project.texts(&format!("data/part-{file}.parquet"), &texts);
    }
    project
}

/// The kind of a file of the work folder: its folder, or its name.
fn kind(name: &str) -> &str {
    name.split_once('/').map_or(name, |(folder, _)| folder)
}

/// Damages a file, and says how.
fn mutate(
    path: &Path,
    good: &[u8],
    others: &[&Vec<u8>],
    older: Option<&Vec<u8>>,
    random: &mut Random,
) -> String {
    let length = good.len();
    let flip = |at: usize, bit: usize| {
        let mut bad = good.to_vec();
        if let Some(byte) = bad.get_mut(at) {
            *byte ^= 1 << bit;
        }
        bad
    };
    let bit = random.below(8);
    let (how, bad) = match random.below(11) {
        0 => (
            "one byte less".to_owned(),
            good[..length.saturating_sub(1)].to_vec(),
        ),
        1 => (
            "one record less".to_owned(),
            good[..length.saturating_sub(16)].to_vec(),
        ),
        2 => ("half".to_owned(), good[..length / 2].to_vec()),
        3 => ("empty".to_owned(), Vec::new()),
        4 => (
            "a bit of its head".to_owned(),
            flip(random.below(64.min(length.max(1))), bit),
        ),
        5 => (
            "a bit of its end".to_owned(),
            flip(length.saturating_sub(1 + random.below(32)), bit),
        ),
        6 if !others.is_empty() => (
            "another of its kind".to_owned(),
            others[random.below(others.len())].clone(),
        ),
        7 if older.is_some() => ("of an older setting".to_owned(), older.unwrap().clone()),
        8 => ("bytes behind it".to_owned(), [good, b"tail"].concat()),
        9 => {
            let at = random.below(length.max(1));
            let mut bad = good.to_vec();
            let end = (at + 16).min(length);
            bad[at..end].fill(0);
            (format!("zeros at {at}"), bad)
        }
        _ => {
            let at = random.below(length.max(1));
            (format!("bit {bit} of byte {at}"), flip(at, bit))
        }
    };
    fs::write(path, bad).unwrap();
    how
}

struct Case<'a> {
    project: &'a Project,
    good: &'a Files,
    older: &'a Files,
    output: &'a Files,
}

impl Case<'_> {
    /// Damages one file of a whole work folder, runs on, and compares.
    fn check(&self, seed: u64) {
        let random = &mut Random::new(seed);
        let work = self.project.path("work");
        fs::remove_dir_all(&work).unwrap();
        for (name, bytes) in self.good {
            let path = work.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        // Each kind as often as the others.
        let mut kinds: Vec<&str> = self.good.keys().map(|name| kind(name)).collect();
        kinds.dedup();
        let chosen = kinds[random.below(kinds.len())];
        let names: Vec<&String> = self
            .good
            .keys()
            .filter(|name| kind(name) == chosen)
            .collect();
        let name = names[random.below(names.len())];
        let others: Vec<&Vec<u8>> = names
            .iter()
            .filter(|other| **other != name)
            .map(|other| &self.good[*other])
            .collect();
        let older = self.older.get(name);
        let how = mutate(&work.join(name), &self.good[name], &others, older, random);

        let stage = STAGES[random.below(STAGES.len())];
        let args: &[&str] = match random.below(3) {
            0 => &[],
            1 => &["--force"],
            _ => &["--force", "--from", stage],
        };
        let context = format!("seed {seed}: {name}: {how}; run {args:?}");
        let mut done = self.project.run(args);
        assert!(
            !done.stderr.contains("panicked"),
            "{context}\n{}",
            done.stderr
        );
        // Where a stage before `--from` was damaged in its length, that is refused and named.
        if done.code == Some(3) && args.contains(&"--from") {
            assert!(done.stderr.contains("--from"), "{context}\n{}", done.stderr);
            done = self.project.run(&[]);
        }
        assert_eq!(done.code, Some(0), "{context}\n{}", done.stderr);
        assert!(
            self.project.output() == *self.output,
            "{context}: another output"
        );
        // The table that users read is not read by a run that has nothing to do.
        let clusters = fs::read(work.join("clusters.parquet")).unwrap();
        if name != "clusters.parquet" {
            assert!(
                clusters == self.good["clusters.parquet"],
                "{context}: other clusters"
            );
        }
        // And from there, everything is as it was.
        self.project.run(&[]).succeeded();
        assert!(
            self.project.output() == *self.output,
            "{context}: another output later"
        );
    }
}

#[test]
fn damage_is_noticed_and_made_again_or_harmless() {
    let count = std::env::var("NEARDUP_MUTATIONS").map_or(120, |count| count.parse().unwrap());
    let small = [("band.bands", "6"), ("band.rows", "4"), ("sign.k", "24")];
    let old = project(&[&small[..], &[("sign.seed", "7")]].concat());
    old.run(&[]).succeeded();
    let older = files_below(&old.path("work"));
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (small, older) = (&small, &older);
            scope.spawn(move || {
                let project = project(small);
                project.run(&[]).succeeded();
                let (good, output) = (files_below(&project.path("work")), project.output());
                assert!(good.contains_key("receipts/sign.journal"));
                let case = Case {
                    project: &project,
                    good: &good,
                    older,
                    output: &output,
                };
                (0..count)
                    .filter(|seed| seed % 2 == thread)
                    .for_each(|seed| case.check(seed));
            });
        }
    });
}
