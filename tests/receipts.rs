//! What runs again, and what does not: settings, inputs, lost outputs, single stages, locks.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::PathBuf;
use std::time::SystemTime;

use tests::{Done, Project, STAGES, files_below};

/// Three files of texts with exact and near copies among them.
fn small(settings: &[(&str, &str)]) -> Project {
    let project = Project::new(settings);
    let words = |from: usize| {
        let words: Vec<String> = (from..from + 40).map(|i| format!("word{i}")).collect();
        words.join(" ")
    };
    let near = format!("{} and more", words(0));
    let (one, two, three) = (words(0), words(100), words(200));
    project.texts("data/a.parquet", &[Some(&one), Some(&two), None]);
    project.texts("data/b.parquet", &[Some(&near), Some(&two), Some("")]);
    project.texts("data/day=1/c.parquet", &[Some(&three), Some(&three)]);
    project
}

/// When each file below the project's folder was written.
fn times(project: &Project) -> BTreeMap<PathBuf, SystemTime> {
    let names = files_below(project.root()).into_keys();
    names
        .map(|name| {
            let path = project.path(&name);
            let time = fs::metadata(&path).unwrap().modified().unwrap();
            (path, time)
        })
        .collect()
}

/// The stages from `first` on.
fn from(first: &str) -> Vec<&'static str> {
    let stages = STAGES.into_iter();
    stages.skip_while(|stage| *stage != first).collect()
}

#[track_caller]
fn nothing_to_do(done: Done) {
    let done = done.ok();
    assert_eq!(done.started(), Vec::<&str>::new());
    assert!(done.stderr.contains("nothing to do"), "{}", done.stderr);
}

#[test]
fn a_second_run_does_nothing_and_says_so() {
    let project = small(&[]);
    let first = project.run(&[]).ok();
    assert_eq!(first.started(), STAGES);
    let before = times(&project);
    nothing_to_do(project.run(&[]));
    assert_eq!(times(&project), before);
    let quiet = project.run(&["--quiet"]).ok();
    assert_eq!(quiet.stderr, "");
    project.assert_tidy();
}

/// A setting, the others that it takes to matter, another value, and the first stage that then
/// runs again; none where nothing does.
type Case = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static str,
    Option<&'static str>,
);

const ANNOTATE: &[(&str, &str)] = &[("filter.mode", r#""annotate""#)];
const AUTO: &[(&str, &str)] = &[("sign.unit", r#""auto""#)];
const ALONE: &[(&str, &str)] = &[("join.verify", r#""none""#)];
const BY_ID: &[(&str, &str)] = &[("cluster.keep", r#""earliest""#)];

const CASES: &[Case] = &[
    ("input.paths", &[], r#"["data/a.parquet"]"#, Some("sign")),
    ("input.paths", &[], r#""data/**/*.parquet""#, None),
    ("input.text", &[], "id", Some("sign")),
    ("input.id", &[], "id", Some("cluster")),
    ("input.on_bad_text", &[], "replace", Some("sign")),
    ("run.work", &[], "other", Some("sign")),
    ("run.memory", &[], "100MiB", None),
    ("run.threads", &[], "3", None),
    ("sign.scheme", &[], "universal", Some("sign")),
    ("sign.k", &[], "256", Some("sign")),
    ("sign.seed", &[], "7", Some("sign")),
    ("sign.unit", &[], "char", Some("sign")),
    ("sign.n", &[], "4", Some("sign")),
    ("sign.char_n", AUTO, "4", Some("sign")),
    ("sign.char_n", &[], "4", None),
    ("sign.strip_punctuation", &[], "true", Some("sign")),
    ("band.bands", &[], "10", Some("band")),
    ("band.rows", &[], "5", Some("band")),
    ("join.verify", &[], "none", Some("join")),
    ("join.threshold", &[], "0.85", Some("join")),
    ("join.threshold", ALONE, "0.85", None),
    ("join.bits", &[], "16", Some("join")),
    ("join.bits", ALONE, "16", None),
    ("join.anchors", &[], "8", Some("join")),
    ("cluster.keep", &[], "earliest", Some("cluster")),
    ("cluster.column", BY_ID, "number", Some("cluster")),
    ("filter.output", &[], "elsewhere", Some("filter")),
    ("filter.mode", &[], "annotate", Some("filter")),
    ("filter.prefix", ANNOTATE, "mark_", Some("filter")),
    ("filter.prefix", &[], "mark_", None),
    ("filter.existing", ANNOTATE, "replace", Some("filter")),
    ("filter.existing", &[], "replace", None),
    ("filter.compression_level", &[], "5", Some("filter")),
    ("filter.compression_level", ANNOTATE, "5", None),
];

/// Keys that have one value in this version, so that nothing can change.
const ONE_VALUE: [&str; 2] = ["input.on_bad_file", "cluster.method"];

/// A project whose columns serve every case.
fn for_cases(settings: &[(&str, &str)]) -> Project {
    use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
    use std::sync::Arc;
    let project = Project::new(settings);
    for (name, numbers) in [("a", [3, 1]), ("b", [2, 2])] {
        let ids = StringArray::from(vec![format!("{name} x y"), format!("{name} z")]);
        let texts = StringArray::from(vec!["one two, three", "four five six"]);
        let numbers = Int64Array::from(numbers.to_vec());
        let times = numbers.reinterpret_cast::<arrow_array::types::TimestampSecondType>();
        let columns: [(&str, ArrayRef); 3] = [
            ("id", Arc::new(ids)),
            ("text", Arc::new(texts)),
            ("number", Arc::new(times)),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        tests::write_table(&project.path(&format!("data/{name}.parquet")), &batch, 9);
    }
    project
}

#[test]
fn a_changed_setting_reruns_what_depends_on_it() {
    let known: BTreeSet<String> = manifest::reference()
        .iter()
        .map(|key| format!("{}.{}", key.table, key.key))
        .collect();
    let tested = CASES.iter().map(|(name, ..)| *name).chain(ONE_VALUE);
    let tested: BTreeSet<String> = tested.map(str::to_owned).collect();
    assert_eq!(tested, known, "every key of the manifest");

    std::thread::scope(|scope| {
        for part in CASES.chunks(CASES.len().div_ceil(2)) {
            scope.spawn(|| part.iter().for_each(check_case));
        }
    });
}

fn check_case((name, others, value, first): &Case) {
    let project = for_cases(others);
    project.run(&[]).succeeded();
    let setting = format!("{name}={value}");
    let done = project.run(&["--set", &setting]).ok();
    let expected = first.map(from).unwrap_or_default();
    assert_eq!(done.started(), expected, "{setting}\n{}", done.stderr);
    // The report says the same, and the setting.
    if let Some(first) = first
        && *name != "run.work"
    {
        let report = project.report();
        for stage in STAGES {
            let ran = from(first).contains(&stage);
            assert_eq!(report["stages"][stage]["ran"], ran, "{setting}: {stage}");
        }
    }
    // And back again.
    let back = project.run(&[]).ok();
    let expected = match *name {
        // The other folder has left this one as it was.
        "run.work" | "filter.output" => vec![],
        _ => expected,
    };
    assert_eq!(back.started(), expected, "{setting}, and back");
}

#[test]
fn from_to_and_force_do_as_they_say() {
    let project = small(&[]);
    let error = project.run(&["--from", "join"]);
    error.failed(
        3,
        &[
            "--from join needs the outputs of `sign`",
            "it has not run yet",
            "run `neardup run`",
        ],
    );
    let error = project.run(&["--from", "join", "--to", "band"]);
    error.failed(2, &["--from join comes after --to band"]);
    assert_eq!(project.run(&["--from", "joins"]).code, Some(2));

    let done = project.run(&["--to", "band"]).ok();
    assert_eq!(done.started(), ["sign", "band"]);
    assert!(!project.path("out").exists());
    nothing_to_do(project.run(&["--to", "band"]));
    let done = project.run(&["--from", "join", "--to", "join"]).ok();
    assert_eq!(done.started(), ["join"]);
    let done = project.run(&[]).ok();
    assert_eq!(done.started(), ["cluster", "filter"]);

    let result = project.result();
    nothing_to_do(project.run(&["--from", "cluster"]));
    let done = project.run(&["--from", "cluster", "--force"]).ok();
    assert_eq!(done.started(), ["cluster", "filter"]);
    let done = project.run(&["--force", "--to", "band"]).ok();
    assert_eq!(done.started(), ["sign", "band"]);
    assert_eq!(project.run(&["--force"]).ok().started(), STAGES);
    nothing_to_do(project.run(&[]));
    assert!(project.result() == result);
}

#[test]
fn stage_binaries_run_their_stage_alone() {
    let whole = small(&[]);
    whole.run(&[]).succeeded();
    let project = small(&[]);
    let stage = |name: &str, args: &[&str]| -> Done {
        project.command(name, args).output().unwrap().into()
    };
    for (place, name) in STAGES.iter().enumerate() {
        if let Some(next) = STAGES.get(place + 1) {
            let needs = format!("`{next}` needs the outputs of `{name}`");
            let remedy = format!("run `neardup {name}` first, or `neardup run`");
            stage(next, &[]).failed(3, &[&needs, "it has not run yet", &remedy]);
        }
        stage(name, &[]).succeeded();
        let again = stage(name, &[]).ok();
        assert!(again.stderr.contains("up to date, nothing to do"));
        assert_eq!(project.report()["stages"][name]["ran"], true);
    }
    nothing_to_do(project.run(&[]));
    // But for the folders' own names, these are the same runs.
    assert_eq!(project.clusters(), whole.clusters());
    assert_eq!(project.rows_of("out"), whole.rows_of("out"));

    let set = ["--set", "sign.n=4"];
    let parts = ["`band` needs the outputs of `sign`", "sign.n", "4", "5"];
    stage("band", &set).failed(3, &parts);
    project
        .neardup(&["join", "--set", "sign.n=4"])
        .failed(3, &["sign.n"]);
    let result = project.result();
    stage("sign", &set).succeeded();
    let error = project.neardup(&["join", "--set", "sign.n=4"]);
    error.failed(
        3,
        &[
            "`join` needs the outputs of `band`",
            "run `neardup band` first",
        ],
    );
    assert!(project.result() == result, "a refusal touches nothing");
}

#[test]
fn a_lost_intermediate_is_made_again() {
    let project = small(&[]);
    project.run(&[]).succeeded();
    let result = project.result();
    let shard = files_below(&project.path("work/signatures"));
    let shard = format!("signatures/{}", shard.keys().next().unwrap());
    let lost = [
        ("inputs.parquet", "sign"),
        (&shard, "sign"),
        ("bands/band-0003.records", "band"),
        ("bands/exact.records", "band"),
        ("edges/part-00000.parquet", "join"),
        ("clusters.parquet", "cluster"),
        ("decisions.records", "cluster"),
        ("receipts/join.json", "join"),
    ];
    for (name, stage) in lost {
        for cut in [false, true] {
            let path = project.path("work").join(name);
            let bytes = fs::read(&path).unwrap();
            match cut {
                true => fs::write(&path, &bytes[..bytes.len() - 1]).unwrap(),
                false => fs::remove_file(&path).unwrap(),
            }
            let done = project.run(&[]).ok();
            assert_eq!(done.started().first(), Some(&stage), "{name}, cut: {cut}");
            let again = fs::read(&path).unwrap();
            assert!(name.starts_with("receipts") || again == bytes, "{name}");
            nothing_to_do(project.run(&[]));
            assert!(project.result() == result, "{name}");
        }
    }
    for name in ["out/a.parquet", "out/_SUCCESS"] {
        fs::remove_file(project.path(name)).unwrap();
        let done = project.run(&[]);
        if name == "out/_SUCCESS" {
            // Without it, nobody can say whose the files are.
            done.failed(3, &["out/a.parquet, which no run of neardup wrote"]);
        } else {
            assert_eq!(done.ok().started(), ["filter"]);
            assert!(project.result() == result, "{name}");
        }
    }
}

#[test]
fn a_changed_input_is_noticed_by_all() {
    let project = small(&[]);
    project.run(&[]).succeeded();
    let check = |what: &str| {
        for stage in ["band", "join", "cluster", "filter"] {
            let result = project.result();
            let parts = [
                "needs the outputs of `sign`, but ",
                what,
                "run `neardup sign` first",
            ];
            project.neardup(&[stage]).failed(3, &parts);
            project.neardup(&[stage, "--force"]).failed(3, &parts);
            assert!(project.result() == result, "{stage}");
        }
        let from = project.run(&["--from", "filter", "--force"]);
        from.failed(
            3,
            &[
                "--from filter needs the outputs of `sign`",
                "the input files changed",
            ],
        );
        let done = project.run(&[]).ok();
        assert_eq!(done.started(), STAGES, "{what}");
        let expected = project.rows_of("out");
        project.forget();
        project.run(&[]).succeeded();
        assert_eq!(project.rows_of("out"), expected, "as a fresh run, {what}");
    };
    let words = Some("entirely other words in a file of its own");
    fs::remove_file(project.path("data/b.parquet")).unwrap();
    project.texts("data/b.parquet", &[words, words, words]);
    check("b.parquet changed since it ran");
    project.texts("data/a2.parquet", &[Some("some words in one more file")]);
    check("a2.parquet was added since it ran");
    fs::remove_file(project.path("data/a2.parquet")).unwrap();
    check("a2.parquet is gone since it ran");
    fs::rename(
        project.path("data/a.parquet"),
        project.path("data/z.parquet"),
    )
    .unwrap();
    check("a.parquet is gone since it ran");
    let mut names: Vec<String> = files_below(&project.path("out")).into_keys().collect();
    names.retain(|name| name.ends_with(".parquet"));
    assert_eq!(names, ["b.parquet", "day=1/c.parquet", "z.parquet"]);
    let shards = files_below(&project.path("work/signatures")).len();
    assert_eq!(shards, 3, "shards that no input owns go");
}

#[test]
fn of_many_files_only_the_changed_one_is_read_again() {
    let project = Project::new(&[]);
    let text = |file: usize, row: usize| format!("text {row} of file {file} with a few words more");
    let write = |file: usize, first: usize| {
        let texts: Vec<String> = (first..first + 5).map(|row| text(file, row)).collect();
        let texts: Vec<Option<&str>> = texts.iter().map(|text| Some(text.as_str())).collect();
        project.texts(&format!("data/{file:02}.parquet"), &texts);
    };
    (0..40).for_each(|file| write(file, 0));
    project.run(&[]).succeeded();
    let shards = |project: &Project| files_below(&project.path("work/signatures"));
    let before = shards(&project);
    // Whatever reads another file than the changed one finds no Parquet there.
    for file in (0..40).filter(|&file| file != 17) {
        let path = project.path(&format!("data/{file:02}.parquet"));
        let found = fs::metadata(&path).unwrap();
        fs::write(&path, vec![0; found.len() as usize]).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(found.modified().unwrap()).unwrap();
    }
    fs::remove_file(project.path("data/17.parquet")).unwrap();
    write(17, 100);
    let done = project.run(&["--to", "band"]).ok();
    assert_eq!(done.started(), ["sign", "band"]);
    let after = shards(&project);
    let same = before.iter().filter(|shard| after.contains_key(shard.0));
    assert_eq!((same.count(), after.len()), (39, 40));
    // As a fresh run has it.
    fs::remove_dir_all(project.path("data")).unwrap();
    (0..40).for_each(|file| write(file, if file == 17 { 100 } else { 0 }));
    let fresh = Project::new(&[]);
    tests::copy_folder(&project.path("data"), &fresh.path("data"));
    fresh.run(&["--to", "band"]).succeeded();
    let bands = |project: &Project| files_below(&project.path("work/bands"));
    assert_eq!(shards(&project), shards(&fresh));
    assert_eq!(bands(&project), bands(&fresh));
}

#[test]
fn an_input_that_is_only_touched_is_the_same() {
    let project = small(&[]);
    project.run(&[]).succeeded();
    let path = project.path("data/a.parquet");
    let file = File::options().write(true).open(&path).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    nothing_to_do(project.run(&[]));
    project.neardup(&["band"]).succeeded();
}

#[test]
fn one_run_at_a_time() {
    let project = small(&[]);
    project.run(&[]).succeeded();
    let result = project.result();
    for (lock, folder) in [("work/lock", "work"), (".out.neardup-lock", "out")] {
        let file = File::create(project.path(lock)).unwrap();
        file.lock().unwrap();
        let in_use = format!("{} is in use by process", project.path(folder).display());
        let remedy = "wait for it to end, or stop it";
        project.run(&["--force"]).failed(3, &[&in_use, remedy]);
        project
            .neardup(&["filter", "--force"])
            .failed(3, &[&in_use, remedy]);
        assert!(project.result() == result);
        drop(file);
        project.run(&["--force"]).succeeded();
        project.assert_tidy();
    }
}
