//! The pipeline against the quadratic reference, on small random corpora and over all settings.
//!
//! `NEARDUP_ORACLE_CASES` sets how many (60), `NEARDUP_ORACLE_SEED` the first seed (0): a failure
//! names the seed of its case, and `NEARDUP_ORACLE_CASES=1` with that seed repeats it alone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails"
)]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use oracle::{Document, Rank, Truth};
use records::Pipeline;
use records::settings::{Keep, Mode};
use tests::{ClusterRow, Project, Random, Row, i64s, read_table, strings, write_table};

/// A row of a random corpus.
#[derive(Clone, Debug)]
struct Sample {
    text: Option<String>,
    quality: Option<f64>,
    votes: Option<i64>,
    time: Option<i64>,
}

/// A corpus in files, its manifest, and a project that holds both.
struct Case {
    project: Project,
    files: Vec<(String, Vec<Sample>)>,
    pipeline: Pipeline,
}

const WORDS: [&str; 12] = [
    "the",
    "cat",
    "sat",
    "on",
    "a",
    "mat",
    "Über",
    "naïve",
    "dog,",
    "ran.",
    "它是",
    "แมว",
];

fn text(random: &mut Random) -> String {
    let words = random.below(30);
    let words: Vec<&str> = (0..words).map(|_| random.pick(&WORDS)).collect();
    words.join(" ")
}

/// The text with a few words replaced, inserted or removed.
fn near(text: &str, random: &mut Random) -> String {
    let mut words: Vec<&str> = text.split(' ').collect();
    for _ in 0..random.between(1, 3) {
        let place = random.below(words.len());
        match random.below(3) {
            0 => words[place] = random.pick(&WORDS),
            1 => words.insert(place, random.pick(&WORDS)),
            _ if words.len() > 1 => drop(words.remove(place)),
            _ => {}
        }
    }
    words.join(" ")
}

/// The text in another case, with other blanks, with a mark that punctuation stripping removes, or
/// in another Unicode form.
fn alike(text: &str, random: &mut Random) -> String {
    match random.below(5) {
        0 => text.to_owned(),
        1 => text.to_uppercase(),
        2 => format!("\t{}\n", text.replace(' ', " \u{a0} ")),
        3 => format!("{text}!"),
        _ => text.replace('ï', "i\u{308}").replace('Ü', "U\u{308}"),
    }
}

fn sample(before: &[Sample], random: &mut Random) -> Sample {
    let earlier: Vec<&str> = before.iter().filter_map(|s| s.text.as_deref()).collect();
    let text = match random.below(12) {
        0 => None,
        1 => Some((*random.pick(&["", " ", "\t\n", "\u{3000}", "!"])).to_owned()),
        2..=4 if !earlier.is_empty() => Some(alike(random.pick(&earlier), random)),
        5..=8 if !earlier.is_empty() => Some(near(random.pick(&earlier), random)),
        _ => Some(text(random)),
    };
    let quality = match random.below(8) {
        0 => None,
        1 => Some(f64::NAN),
        2 => Some(*random.pick(&[&0.0, &-0.0, &f64::INFINITY, &f64::NEG_INFINITY])),
        _ => Some(random.below(4) as f64 / 4.0 - 0.5),
    };
    let time = 1_600_000_000_000_000 + random.below(5) as i64 - 2;
    Sample {
        text,
        quality,
        votes: (!random.one_in(5)).then(|| random.below(7) as i64 - 3),
        time: (!random.one_in(5)).then_some(time),
    }
}

fn corpus(random: &mut Random) -> Vec<(String, Vec<Sample>)> {
    let (files, documents) = (random.between(1, 4), random.between(20, 80));
    let mut all: Vec<Sample> = Vec::new();
    for _ in 0..documents {
        let next = sample(&all, random);
        all.push(next);
    }
    let mut named = Vec::new();
    for file in 0..files {
        let take = match file + 1 == files {
            true => all.len(),
            false => random.below(all.len() + 1),
        };
        let folder = if random.one_in(2) { "day=1/" } else { "" };
        let rows: Vec<Sample> = all.drain(..take).collect();
        named.push((format!("{folder}part-{file}.parquet"), rows));
    }
    named.sort_by(|one, other| one.0.cmp(&other.0));
    named
}

fn batch(rows: &[Sample], first: usize) -> RecordBatch {
    let ids = (first..first + rows.len()).map(|doc| Some(format!("id-{doc}")));
    let times: TimestampMicrosecondArray = rows.iter().map(|row| row.time).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(ids.collect::<StringArray>())),
        (
            "text",
            Arc::new(rows.iter().map(|r| r.text.clone()).collect::<StringArray>()),
        ),
        (
            "quality",
            Arc::new(rows.iter().map(|r| r.quality).collect::<Float64Array>()),
        ),
        (
            "votes",
            Arc::new(rows.iter().map(|r| r.votes).collect::<Int64Array>()),
        ),
        ("time", Arc::new(times.with_timezone("UTC"))),
    ];
    RecordBatch::try_from_iter_with_nullable(
        columns
            .into_iter()
            .map(|(name, values)| (name, values, true)),
    )
    .unwrap()
}

fn number(random: &mut Random, from: usize, to: usize) -> String {
    random.between(from, to).to_string()
}

fn quoted(text: &str) -> String {
    format!("{text:?}")
}

/// Settings of all kinds; what they leave out has its default.
fn settings(random: &mut Random) -> Vec<(&'static str, String)> {
    let k = random.between(4, 128);
    let rows = random.between(1, k.min(8));
    let bands = random.between(1, (k / rows).min(24));
    let threshold = match random.below(4) {
        0 => "1.0".to_owned(),
        1 => "0.8".to_owned(),
        _ => format!("0.{:02}", random.between(1, 99)),
    };
    let anchors = match random.one_in(3) {
        true => "256".to_owned(),
        false => number(random, 1, 8),
    };
    let mut settings = vec![
        ("sign.scheme", quoted(random.pick(&["fss", "universal"]))),
        ("sign.k", k.to_string()),
        ("sign.seed", number(random, 0, 1 << 40)),
        ("sign.unit", quoted(random.pick(&["word", "char", "auto"]))),
        ("sign.n", number(random, 1, 7)),
        ("sign.char_n", number(random, 1, 7)),
        ("sign.strip_punctuation", random.one_in(2).to_string()),
        ("band.bands", bands.to_string()),
        ("band.rows", rows.to_string()),
        (
            "join.verify",
            quoted(random.pick(&["estimate", "estimate", "none"])),
        ),
        ("join.threshold", threshold),
        ("join.bits", random.pick(&["8", "16", "32"]).to_string()),
        ("join.anchors", anchors),
        ("filter.mode", quoted(random.pick(&["drop", "annotate"]))),
        ("run.threads", number(random, 1, 4)),
        ("run.memory", quoted(random.pick(&["48MiB", "1GiB"]))),
    ];
    if random.one_in(2) {
        settings.push(("input.id", quoted("id")));
    }
    let (keep, column) = *random.pick(&[
        &("longest", None),
        &("earliest", None),
        &("earliest", Some("time")),
        &("best", Some("quality")),
        &("best", Some("votes")),
    ]);
    settings.push(("cluster.keep", quoted(keep)));
    settings.extend(column.map(|column| ("cluster.column", quoted(column))));
    settings
}

impl Case {
    fn new(random: &mut Random) -> Self {
        let settings = settings(random);
        let settings: Vec<(&str, &str)> = settings.iter().map(|(k, v)| (*k, v.as_str())).collect();
        let project = Project::new(&settings);
        let files = corpus(random);
        let mut first = 0;
        for (name, rows) in &files {
            let path = project.path("data").join(name);
            let rows_per_row_group = random.between(1, 40);
            write_table(&path, &batch(rows, first), rows_per_row_group);
            first += rows.len();
        }
        let manifest = project.path("pipeline.toml");
        let env = |_: &str| None;
        let pipeline = manifest::load(&manifest, &[], &env, project.root()).unwrap();
        Self {
            project,
            files,
            pipeline,
        }
    }

    /// The rows with their ids.
    fn rows(&self) -> Vec<Row> {
        let rows = self.files.iter().flat_map(|(_, rows)| rows);
        let texts = rows.map(|row| row.text.clone());
        let numbered = texts.enumerate();
        numbered
            .map(|(doc, text)| (format!("id-{doc}"), text))
            .collect()
    }

    fn documents(&self) -> Vec<Document> {
        let int = |value: Option<i64>| value.map_or(Rank::Null, Rank::Int);
        let rank = |row: &Sample| match self.pipeline.cluster.column.as_deref()? {
            "time" => Some(int(row.time)),
            "votes" => Some(int(row.votes)),
            _ => Some(row.quality.map_or(Rank::Null, Rank::Float)),
        };
        let rows = self.files.iter().flat_map(|(_, rows)| rows);
        rows.map(|row| Document {
            text: row.text.clone(),
            rank: rank(row),
        })
        .collect()
    }

    /// `clusters.parquet` as the truth has it.
    fn cluster_rows(&self, truth: &Truth) -> Vec<ClusterRow> {
        let named = self.pipeline.input.id.is_some();
        let place = |doc: u64| {
            let mut row = doc as usize;
            for (file, rows) in &self.files {
                if row < rows.len() {
                    return (file.clone(), row as u64);
                }
                row -= rows.len();
            }
            panic!("document {doc} is in no file");
        };
        let mut rows: Vec<ClusterRow> = Vec::new();
        for cluster in &truth.clusters {
            rows.extend(cluster.members.iter().map(|member| ClusterRow {
                doc: member.doc,
                file: place(member.doc).0,
                row: place(member.doc).1,
                id: named.then(|| format!("id-{}", member.doc)),
                cluster: cluster.id,
                keeper: cluster.keeper,
                keep: member.doc == cluster.keeper,
                kind: member.kind.to_owned(),
                similarity: member.similarity,
            }));
        }
        rows.sort_by_key(|row| row.doc);
        rows
    }
}

fn check(case: &Case) {
    let documents = case.documents();
    let truth = oracle::run(&documents, &case.pipeline);
    case.project.run(&[]).succeeded();
    let clusters = case.project.clusters();
    assert_eq!(clusters, case.cluster_rows(&truth));
    one_keeper_a_cluster(&clusters);
    check_edges(case, &documents, &truth);
    check_output(case, &truth, &clusters);
    check_report(case, &documents, &clusters);
    case.project.assert_tidy();
}

fn one_keeper_a_cluster(clusters: &[ClusterRow]) {
    let ids: BTreeSet<u64> = clusters.iter().map(|row| row.cluster).collect();
    for id in ids {
        let members: Vec<&ClusterRow> = clusters.iter().filter(|row| row.cluster == id).collect();
        let kept = members.iter().filter(|row| row.keep).count();
        assert!(members.len() >= 2 && kept == 1, "{members:?}");
        assert_eq!(members[0].doc, id, "the smallest id names the cluster");
    }
}

/// The stored edges are verified candidates, and their components are the clusters.
fn check_edges(case: &Case, documents: &[Document], truth: &Truth) {
    let signed = oracle::sign(documents, &case.pipeline.sign);
    let allowed = oracle::edges(&signed, &case.pipeline);
    let edges = tests::edges(&case.project.path("work"));
    let mut links: Vec<(u64, u64)> = Vec::new();
    for (a, b, matches) in edges {
        assert!(allowed.contains(&(a, b)), "({a}, {b}) is no candidate");
        assert!(links.last().is_none_or(|last| *last < (a, b)), "not sorted");
        let (one, other) = (signed[a as usize].as_ref(), signed[b as usize].as_ref());
        let bits = case.pipeline.join.bits;
        let equal = i64::from(one.unwrap().low_matches(other.unwrap(), bits));
        let compared = case.pipeline.join.verify == records::settings::Verify::Estimate;
        assert_eq!(matches, compared.then_some(equal));
        links.push((a, b));
    }
    for (doc, representative) in (0..).zip(oracle::representatives(&signed)) {
        links.extend(representative.map(|representative| (representative, doc)));
    }
    let found = oracle::components(documents.len(), &links);
    for cluster in &truth.clusters {
        for member in &cluster.members {
            assert_eq!(found[member.doc as usize], cluster.id);
        }
    }
    let clustered: usize = truth.clusters.iter().map(|c| c.members.len() - 1).sum();
    let alone = (0..)
        .zip(&found)
        .filter(|(doc, least)| doc == *least)
        .count();
    assert_eq!(alone + clustered, documents.len());
}

fn check_output(case: &Case, truth: &Truth, clusters: &[ClusterRow]) {
    let rows = case.rows();
    let annotated = case.pipeline.filter.mode == Mode::Annotate;
    let stays = |doc: usize| annotated || truth.kept[doc];
    let expected: Vec<Row> = (0..rows.len())
        .filter(|doc| stays(*doc))
        .map(|doc| rows[doc].clone())
        .collect();
    assert_eq!(case.project.rows_of("out"), expected);
    if !annotated {
        return;
    }
    let mut first = 0;
    for (name, rows) in &case.files {
        let batch = read_table(&case.project.path("out").join(name));
        let marks = strings(&batch, "dedup_keep");
        for (row, found) in i64s(&batch, "dedup_cluster").into_iter().enumerate() {
            let doc = (first + row) as u64;
            let cluster = clusters.iter().find(|row| row.doc == doc);
            assert_eq!(found, cluster.map(|row| row.cluster as i64));
            let kept = truth.kept[first + row].to_string();
            assert_eq!(marks[row], Some(kept));
        }
        first += rows.len();
    }
}

fn check_report(case: &Case, documents: &[Document], clusters: &[ClusterRow]) {
    let rows = |name| case.project.rows(name);
    let kind = |kind: &str| clusters.iter().filter(|row| row.kind == kind).count() as u64;
    let signed = oracle::sign(documents, &case.pipeline.sign);
    let nulls = documents.iter().filter(|one| one.text.is_none()).count() as u64;
    let unsigned = signed.iter().filter(|one| one.is_none()).count() as u64;
    assert_eq!(rows("in"), documents.len() as u64);
    assert_eq!(rows("in"), rows("kept") + rows("dropped"));
    assert_eq!((rows("exact"), rows("near")), (kind("exact"), kind("near")));
    assert_eq!(rows("dropped"), rows("exact") + rows("near"));
    assert_eq!((rows("null"), rows("empty")), (nulls, unsigned - nulls));

    let report = case.project.report();
    let list = |name: &str| report[name].as_array().unwrap().clone();
    for cluster in list("largest_clusters") {
        let keeper = cluster["keeper"].as_u64().unwrap();
        let found = clusters.iter().find(|row| row.doc == keeper).unwrap();
        assert_eq!(cluster["file"], found.file.as_str());
        assert_eq!(cluster["row"], found.row);
        let members = clusters.iter().filter(|row| row.cluster == found.cluster);
        assert_eq!(cluster["documents"], members.count() as u64);
    }
    for bucket in list("largest_buckets")
        .iter()
        .chain(&list("largest_cut_buckets"))
    {
        let doc = bucket["doc_id"]
            .as_u64()
            .expect("a bucket names a document");
        assert!(signed[doc as usize].is_some(), "{bucket}");
    }
}

fn variable(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |value| value.parse().expect(name))
}

#[test]
fn the_pipeline_agrees_with_the_oracle() {
    let first = variable("NEARDUP_ORACLE_SEED", 0);
    let end = first + variable("NEARDUP_ORACLE_CASES", 60);
    let next = AtomicU64::new(first);
    let ranked = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        break;
                    }
                    let case = Case::new(&mut Random::new(seed));
                    let keep = case.pipeline.cluster.keep;
                    let manifest = case.project.path("pipeline.toml");
                    let caught = std::panic::catch_unwind(|| check(&case));
                    if let Err(panic) = caught {
                        next.store(end, Ordering::Relaxed);
                        eprintln!("seed {seed}:\n{}", shown(&manifest));
                        std::panic::resume_unwind(panic);
                    }
                    ranked.fetch_add(u64::from(keep != Keep::Longest), Ordering::Relaxed);
                }
            });
        }
    });
    assert!(end - first < 20 || ranked.into_inner() > 0);
}

fn shown(manifest: &Path) -> String {
    std::fs::read_to_string(manifest).unwrap_or_default()
}
