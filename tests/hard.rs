//! Every file of `hard`, the odd and hostile Parquet files that lie beside the repository: what the pipeline finds in
//! each, that its output is the input less the dropped rows, and how it refuses what it cannot use. Where the folder
//! is absent the tests say so and pass.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot read its data has failed"
)]

#[path = "hard/output.rs"]
mod output;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use output::{Input, check_annotated, check_dropped, inputs};
use tests::{ClusterRow, Project, files_below, read_table, strings};

/// Keys of the manifest with their TOML values.
type Settings = &'static [(&'static str, &'static str)];

/// What most files hold: 300 texts, of which 200 is 10 over again and 201 is nearly 11.
const TWINS: &str = "10* 200e | 11* 201n";

/// A file or folder that is read, the settings it needs, and its clusters: document numbers, with `*` after the keeper,
/// `e` after an exact copy of it, and `n` after a near one.
const READ: &[(&str, Settings, &str)] = &[
    ("type_largestring.parquet", &[], TWINS),
    ("type_string_view.parquet", &[], TWINS),
    (
        "type_binary.parquet",
        &[("input.on_bad_text", r#""replace""#)],
        TWINS,
    ),
    ("nested_payload_text.parquet", PAYLOAD, TWINS),
    ("one_row_groups.parquet", &[], TWINS),
    ("page_v2_uncompressed.parquet", &[], TWINS),
    ("codec_snappy.parquet", &[], TWINS),
    ("codec_gzip.parquet", &[], TWINS),
    ("codec_brotli.parquet", &[], TWINS),
    ("codec_lz4.parquet", &[], TWINS),
    ("codec_zstd.parquet", &[], TWINS),
    ("delta_encodings.parquet", &[], TWINS),
    ("int96_timestamps.parquet", &[], TWINS),
    ("rich_types.parquet", &[], TWINS),
    ("duplicate_ids.parquet", &[("input.id", r#""id""#)], TWINS),
    ("crlf only", &[], TWINS),
    (
        "missing_text_column.parquet",
        &[("input.text", r#""body""#)],
        TWINS,
    ),
    // `text` holds the texts in the opposite order, so that it cannot be taken for `TEXT`.
    ("odd_column_names.parquet", &[], "98n 288* | 99* 289e"),
    (
        "odd_column_names.parquet",
        &[("input.text", r#""TEXT""#)],
        TWINS,
    ),
    (
        "odd_column_names.parquet",
        &[("input.text", r#""my text""#)],
        TWINS,
    ),
    (
        "odd_column_names.parquet",
        &[
            ("input.text", r#""page.text""#),
            ("input.id", r#""doc.id""#),
        ],
        TWINS,
    ),
    (
        "odd_column_names.parquet",
        &[("input.text", r#""テキスト""#)],
        TWINS,
    ),
    // 5 to 7: case and a blank at the end; 8 to 10: other blanks; 12 to 14: a blank at the end. 18 and 19 are half
    // alike. Nulls, empty and blank texts pair with nothing. The longest stays.
    (
        "empty_null_short.parquet",
        &[],
        "5e 6e 7* | 8e 9e 10* | 12e 13* 14e",
    ),
    ("nested_null_parents.parquet", PAYLOAD, "3* 4e"),
    ("one_20mb_document.parquet", &[], "1* 2n"),
    ("zero_rows.parquet", &[], ""),
    ("zero_row_groups.parquet", &[], ""),
    ("all_null_text.parquet", &[], ""),
    ("wide_row_group.parquet", &[], ""),
    // 0: NFC and NFD. 6, 20, 22, 32 are one text; 7 puts a BOM in front of it, 23 a NUL inside (both one token of
    // many), 33 has other blanks. 12: CRLF. 18: a final sigma. 26: Thai and 28: Chinese with a few characters changed.
    // All the other pairs differ: emoji, zero-width characters, marks of direction, points, dotted I, sharp s, full
    // width, simplified and traditional, mathematical letters.
    (
        "unicode_pairs.parquet",
        &[],
        "0e 1* | 6e 7n 20e 22e 23n 32e 33* | 12e 13* | 18* 19e | 26n 27* | 28* 29n",
    ),
];

const PAYLOAD: Settings = &[("input.text", r#""payload.text""#)];

/// A file or folder of which only groups of equal texts are known: the clusters are those, with the texts of
/// documents 11 and 201 of the first file in one where `twins`.
const BY_TEXT: &[(&str, bool)] = &[
    ("type_dictionary.parquet", true),
    ("mixed_schema", true),
    ("same_basename", true),
    ("hive", false),
    ("same_10000.parquet", false),
];

/// What is refused, and what the error says beside its name.
const REFUSED: &[(&str, &[&str])] = &[
    (
        "missing_text_column.parquet",
        &["column `text` not found", "`id`, `body`"],
    ),
    ("int_text_column.parquet", &["`text`", "int64", "expected"]),
    (
        "list_text_column.parquet",
        &["`text`", "list<string>", "expected"],
    ),
    (
        "type_binary.parquet",
        &[
            "row 300 ",
            "column `text`",
            "not UTF-8 at byte ",
            "input.on_bad_text = \"replace\"",
        ],
    ),
    (
        "bad/truncated.parquet",
        &["not a Parquet file", "cut short"],
    ),
    (
        "bad/truncated_footer.parquet",
        &["not a Parquet file", "cut short"],
    ),
    (
        "bad/corrupt_pages.parquet",
        &["row group 0", "column `text`"],
    ),
    ("bad/text_renamed.parquet", &["not a Parquet file", "PAR1"]),
    ("bad/empty_file.parquet", &["not a Parquet file", "0 bytes"]),
    (
        "bad/huge_footer_length.parquet",
        &["not a Parquet file", "2147483647 bytes"],
    ),
    // All of them at once: footers are read first, and the first that is bad is named.
    ("bad", &["empty_file.parquet", "0 bytes"]),
];

/// Proven by a test of their own.
const OTHERS: &[&str] = &["boilerplate.parquet", "chain_60.parquet"];

#[test]
fn every_entry_is_proven() {
    let Some(hard) = hard() else { return };
    let mut known: Vec<&str> = READ.iter().map(|(name, ..)| *name).collect();
    known.extend(BY_TEXT.iter().map(|(name, _)| name));
    known.extend(REFUSED.iter().map(|(name, _)| name));
    known.extend(OTHERS);
    for path in files_below(&hard)
        .keys()
        .filter(|path| *path != "README.md")
    {
        let folder = path.split('/').next().unwrap();
        let proven = known.contains(&path.as_str()) || (folder != "bad" && known.contains(&folder));
        assert!(proven, "{path} is in no table");
    }
}

#[test]
fn what_is_read() {
    let Some(hard) = hard() else { return };
    for (name, settings, expected) in READ {
        let run = Run::new(&hard.join(name), settings);
        assert_eq!(shown(&run.clusters), *expected, "{name} {settings:?}");
        run.check(name);
    }
}

#[test]
fn what_is_read_by_equal_texts() {
    let Some(hard) = hard() else { return };
    for (name, twins) in BY_TEXT {
        let run = Run::new(&hard.join(name), &[]);
        assert_eq!(grouped(&run.clusters), run.expected(*twins), "{name}");
        run.check(name);
        if *name == "hive" {
            let folder =
                |date, lang| format!("date=2024-01-0{date}/lang={lang}/part-00000.parquet");
            let langs = ["__HIVE_DEFAULT_PARTITION__", "de", "en"];
            let folders: Vec<String> = (1..=2)
                .flat_map(|date| langs.map(|lang| folder(date, lang)))
                .collect();
            let relative: Vec<&String> = run.inputs.iter().map(|input| &input.relative).collect();
            assert_eq!(relative, folders.iter().collect::<Vec<_>>());
            let clusters = grouped(&run.clusters);
            assert_eq!(clusters.len(), 100);
            assert!(clusters.iter().all(|cluster| cluster.len() == 6));
        }
    }
}

#[test]
fn boilerplate_makes_one_cluster_at_little_cost() {
    let Some(hard) = hard() else { return };
    let run = Run::new(&hard.join("boilerplate.parquet"), &[]);
    assert_eq!(grouped(&run.clusters), [(0..400).collect::<Vec<u64>>()]);
    run.check("boilerplate");
    // A bucket of 400 is compared by its first 256 at most, and once: far from 400 * 399 / 2 pairs a band.
    let compared = run.project.counter("join", "compared");
    assert!(compared < 20_000, "{compared}");
}

/// Neighbours are alike by 0.85: as candidates they are one chain; verified by estimate, of which each link is found
/// with a probability of about 0.93, the chain has a few gaps.
#[test]
fn a_chain_is_one_component_and_verification_parts_it_only_between_neighbours() {
    let Some(hard) = hard() else { return };
    let path = hard.join("chain_60.parquet");
    let run = Run::new(&path, &[("join.verify", r#""none""#)]);
    assert_eq!(grouped(&run.clusters), [(0..60).collect::<Vec<u64>>()]);
    run.check("chain_60, none");
    let run = Run::new(&path, &[]);
    for cluster in grouped(&run.clusters) {
        let (first, last) = (cluster[0], cluster[cluster.len() - 1]);
        assert_eq!(cluster, (first..=last).collect::<Vec<u64>>());
    }
    let kept = 60 - run.clusters.iter().filter(|row| !row.keep).count();
    assert!((1..=10).contains(&kept), "{kept}");
    // That a chain's ends are unlike the keeper is to be seen in `similarity`.
    let least = run
        .clusters
        .iter()
        .map(|row| row.similarity)
        .fold(1.0, f32::min);
    assert!(least < 0.5, "{least}");
    run.check("chain_60");
}

#[test]
fn what_is_refused() {
    let Some(hard) = hard() else { return };
    for (name, parts) in REFUSED {
        let path = hard.join(name);
        let project = Project::new(&[("input.paths", &quoted(&path))]);
        for mode in ["drop", "annotate"] {
            let done = project.run(&["--set", &format!("filter.mode={mode}")]);
            let error = done.failed(3, parts);
            assert!(error.contains(path.to_str().unwrap()), "{name}: {error}");
            assert!(!project.path("out").exists(), "{name}");
            project.assert_tidy();
        }
    }
}

/// `bad/folder.parquet`, which the folder's README lists, cannot be stored.
#[test]
fn an_empty_folder_named_like_a_file_is_refused() {
    let project = Project::new(&[]);
    let folder = project.path("data/folder.parquet");
    std::fs::create_dir_all(&folder).unwrap();
    for paths in ["data", "data/folder.parquet"] {
        project.set(&[("input.paths", &format!("{paths:?}"))]);
        let text = format!("no Parquet files below `{}`", project.path(paths).display());
        project.run(&[]).failed(3, &[&text, "correct input.paths"]);
        assert!(!project.path("out").exists());
    }
}

fn hard() -> Option<PathBuf> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/hard"));
    if folder.is_dir() {
        return Some(folder.canonicalize().unwrap());
    }
    eprintln!("skipped: {} is not there", folder.display());
    None
}

fn quoted(path: &Path) -> String {
    format!("{:?}", path.to_str().unwrap())
}

/// A file or folder after a run that drops.
struct Run {
    project: Project,
    inputs: Vec<Input>,
    clusters: Vec<ClusterRow>,
}

impl Run {
    fn new(path: &Path, settings: &[(&str, &str)]) -> Self {
        let paths = quoted(path);
        let settings: Vec<(&str, &str)> = [&[("input.paths", paths.as_str())], settings].concat();
        let project = Project::new(&settings);
        let done = project.run(&[]);
        assert_eq!(done.code, Some(0), "{}: {}", path.display(), done.stderr);
        Self {
            inputs: inputs(&project),
            clusters: project.clusters(),
            project,
        }
    }

    /// Checks the output of `drop`, then that of `annotate`.
    fn check(&self, name: &str) {
        let rows: u64 = self.inputs.iter().map(|input| input.rows).sum();
        let dropped = self.clusters.iter().filter(|row| !row.keep).count() as u64;
        let [read, kept, lost] = ["in", "kept", "dropped"].map(|name| self.project.rows(name));
        assert_eq!(
            (read, kept, lost),
            (rows, rows - dropped, dropped),
            "{name}"
        );
        check_dropped(&self.project, &self.inputs, &self.clusters, name);
        self.project
            .run(&["--set", "filter.mode=annotate"])
            .succeeded();
        assert_eq!(self.project.clusters(), self.clusters, "{name}");
        check_annotated(&self.project, &self.inputs, &self.clusters, name);
        self.project.assert_tidy();
    }

    /// The groups of two or more documents of equal text, with those of documents 11 and 201 in one where `twins`.
    fn expected(&self, twins: bool) -> Vec<Vec<u64>> {
        let texts: Vec<String> = self
            .inputs
            .iter()
            .flat_map(|input| strings(&read_table(&input.path), "text"))
            .map(Option::unwrap)
            .collect();
        // `type_dictionary` holds all texts of the others, and then again.
        let (near, original) = (&texts[201], &texts[11]);
        let mut groups: BTreeMap<&String, Vec<u64>> = BTreeMap::new();
        for (number, text) in (0..).zip(&texts) {
            let text = if twins && text == near {
                original
            } else {
                text
            };
            groups.entry(text).or_default().push(number);
        }
        let mut groups: Vec<Vec<u64>> = groups.into_values().filter(|g| g.len() > 1).collect();
        groups.sort();
        groups
    }
}

/// The documents of each cluster, in order.
fn grouped(clusters: &[ClusterRow]) -> Vec<Vec<u64>> {
    let mut groups: HashMap<u64, Vec<u64>> = HashMap::new();
    for row in clusters {
        groups.entry(row.cluster).or_default().push(row.doc);
    }
    let mut groups: Vec<Vec<u64>> = groups.into_values().collect();
    groups.iter_mut().for_each(|group| group.sort_unstable());
    groups.sort();
    groups
}

/// As in [`READ`].
fn shown(clusters: &[ClusterRow]) -> String {
    let mark: HashMap<u64, &str> = clusters
        .iter()
        .map(|row| match row.kind.as_str() {
            "keeper" => (row.doc, "*"),
            kind => (row.doc, &kind[..1]),
        })
        .collect();
    let cluster = |group: &Vec<u64>| {
        let documents = group.iter().map(|doc| format!("{doc}{}", mark[doc]));
        documents.collect::<Vec<_>>().join(" ")
    };
    let clusters = grouped(clusters);
    let clusters: Vec<String> = clusters.iter().map(cluster).collect();
    clusters.join(" | ")
}
