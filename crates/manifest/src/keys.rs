//! Every key of the manifest, once: name, kind, default and meaning. Parsing, suggestions and the
//! reference in the README all come from here.

use records::settings::{Existing, Keep, Method, Mode, OnBadText, Scheme, Unit, Verify};

use crate::kinds::{
    Bytes, Choice, Integer, Kind, Listed, OnePath, Paths, Similarity, Switch, Text,
};

/// The most slots of a signature.
pub(crate) const MAX_K: i64 = 4096;

/// What a key means where it is not given.
pub(crate) enum Fallback {
    /// It has to be given; the text says how.
    Required(&'static str),
    /// Nothing; the stage knows what to do.
    Nothing,
    /// This value, as TOML text.
    Toml(&'static str),
}

/// A key of the manifest.
pub(crate) struct Key<K> {
    pub(crate) table: &'static str,
    pub(crate) key: &'static str,
    pub(crate) kind: K,
    pub(crate) fallback: Fallback,
    pub(crate) doc: &'static str,
}

/// A key without the type of its kind.
trait Described: Sync {
    /// Table and key.
    fn name(&self) -> (&'static str, &'static str);
    /// Its line in the reference.
    fn describe(&self) -> KeyDoc;
}

impl<K: Kind + Sync> Described for Key<K> {
    fn name(&self) -> (&'static str, &'static str) {
        (self.table, self.key)
    }
    fn describe(&self) -> KeyDoc {
        KeyDoc {
            table: self.table,
            key: self.key,
            kind: self.kind.describe(),
            default: match self.fallback {
                Fallback::Toml(text) => Some(text),
                Fallback::Required(_) | Fallback::Nothing => None,
            },
            required: matches!(self.fallback, Fallback::Required(_)),
            doc: self.doc,
        }
    }
}

/// A key of the manifest, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyDoc {
    /// The table, such as `join`.
    pub table: &'static str,
    /// The key, such as `threshold`.
    pub key: &'static str,
    /// What values it takes, in words or as the list of them.
    pub kind: String,
    /// The default as TOML text; none if the key is required or its default is no value (`doc`
    /// then says what holds).
    pub default: Option<&'static str>,
    /// Whether the key has to be given.
    pub required: bool,
    /// What it means, in one sentence or two without the final full stop.
    pub doc: &'static str,
}

/// Every key of the manifest in the order of the flow: the tables `input`, `run`, `sign`, `band`,
/// `join`, `cluster` and `filter`, each in one piece.
pub fn reference() -> Vec<KeyDoc> {
    ALL.iter().map(|key| key.describe()).collect()
}

/// Table and key of every key.
pub(crate) fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    ALL.iter().map(|key| key.name())
}

/// Every table, once, in the order of the flow.
pub(crate) fn tables() -> Vec<&'static str> {
    let mut tables: Vec<&str> = all().map(|(table, _)| table).collect();
    tables.dedup();
    tables
}

/// A key that a later version will have.
pub(crate) struct Later {
    /// The table; empty for a key or table at the top.
    pub(crate) table: &'static str,
    pub(crate) key: &'static str,
    remedy: &'static str,
}

impl Later {
    /// The message for a manifest that has it.
    pub(crate) fn message(&self) -> String {
        let Self { table, key, remedy } = self;
        let dot = if table.is_empty() { "" } else { "." };
        format!("{table}{dot}{key} is not in this version of neardup; {remedy}")
    }
}

/// The keys that later versions will have.
pub(crate) static LATER: &[Later] = &[
    later("", "preset", "set the keys of [sign], [band] and [join]"),
    later("input", "source", "remove it"),
    later("sign", "strip_comments", "remove it"),
    later("join", "levels", "set one join.threshold"),
    later(
        "cluster",
        "prefer",
        "rank by cluster.keep and cluster.column",
    ),
    later("cluster", "scope", "remove it"),
    later(
        "filter",
        "removed",
        "use filter.mode = \"annotate\" to see what is dropped",
    ),
];

const fn later(table: &'static str, key: &'static str, remedy: &'static str) -> Later {
    Later { table, key, remedy }
}

/// Declares the keys, and `ALL` in their order.
macro_rules! keys {
    ($($name:ident: $kind:ty = $table:literal $key:literal, $value:expr, $fallback:expr, $doc:literal;)+) => {
        $(
            #[doc = $doc]
            pub(crate) static $name: Key<$kind> = Key {
                table: $table,
                key: $key,
                kind: $value,
                fallback: $fallback,
                doc: $doc,
            };
        )+
        static ALL: &[&dyn Described] = &[$(&$name),+];
    };
}

keys! {
    PATHS: Paths = "input" "paths", Paths,
        Fallback::Required("name the files, folders or globs to read, such as paths = [\"data/*.parquet\"] in [input]"),
        "Parquet files, folders or globs";
    TEXT: Text = "input" "text", Text, Fallback::Toml(r#""text""#),
        "The text column, or a dotted path to a field of a struct";
    ID: Text = "input" "id", Text, Fallback::Nothing,
        "A column whose value names a document in what a run leaves; without it a document has its number only";
    ON_BAD_FILE: Choice<()> = "input" "on_bad_file",
        Choice { now: &["refuse"], later: &["skip"], of: |name| (name == "refuse").then_some(()) },
        Fallback::Toml(r#""refuse""#),
        "What to do with a file that cannot be read";
    ON_BAD_TEXT: Choice<OnBadText> = "input" "on_bad_text",
        Choice { now: OnBadText::NAMES, later: &[], of: OnBadText::from_name },
        Fallback::Toml(r#""refuse""#),
        "What to do with text that is not UTF-8: stop, or hash it with replacement characters and keep its bytes";

    WORK: OnePath = "run" "work", OnePath, Fallback::Toml(r#"".neardup""#),
        "The folder of intermediates, relative to the manifest";
    MEMORY: Bytes = "run" "memory", Bytes, Fallback::Nothing,
        "The most memory that a stage may hold; without it half of the machine's or the cgroup's";
    THREADS: Integer<u32> = "run" "threads", Integer::new(0, 1024), Fallback::Toml("0"),
        "Worker threads; 0 is one a core";

    SCHEME: Choice<Scheme> = "sign" "scheme",
        Choice { now: Scheme::NAMES, later: &["simhash", "bottomk", "fracminhash"], of: Scheme::from_name },
        Fallback::Toml(r#""fss""#),
        "How shingles become a signature: fast similarity sketching, or k universal hashes";
    K: Integer<u32> = "sign" "k", Integer::new(1, MAX_K), Fallback::Toml("128"),
        "Slots in a signature";
    SEED: Integer<u64> = "sign" "seed", Integer::new(0, i64::MAX), Fallback::Toml("42"),
        "The seed of the scheme's hashes";
    UNIT: Choice<Unit> = "sign" "unit",
        Choice { now: Unit::NAMES, later: &["code", "dna"], of: Unit::from_name },
        Fallback::Toml(r#""word""#),
        "What a shingle is made of: tokens, characters, or (auto) tokens except in documents of fewer than n of them";
    N: Integer<u32> = "sign" "n", Integer::new(1, 1024), Fallback::Toml("5"),
        "Shingle length in units";
    CHAR_N: Integer<u32> = "sign" "char_n", Integer::new(1, 1024), Fallback::Toml("5"),
        "Shingle length in characters of the documents that auto takes by characters";
    STRIP_PUNCTUATION: Switch = "sign" "strip_punctuation", Switch, Fallback::Toml("false"),
        "Whether punctuation is removed before shingling";

    BANDS: Integer<u32> = "band" "bands", Integer::new(1, MAX_K), Fallback::Toml("20"),
        "Bands; bands * rows is at most sign.k";
    ROWS: Integer<u32> = "band" "rows", Integer::new(1, MAX_K), Fallback::Toml("6"),
        "Slots in a band";

    VERIFY: Choice<Verify> = "join" "verify",
        Choice { now: Verify::NAMES, later: &["exact"], of: Verify::from_name },
        Fallback::Toml(r#""estimate""#),
        "How a candidate becomes an edge: by the share of equal slots, or always";
    THRESHOLD: Similarity = "join" "threshold", Similarity, Fallback::Toml("0.8"),
        "The least Jaccard similarity of an edge";
    BITS: Listed = "join" "bits", Listed { now: &[8, 16, 32], later: &[1, 2, 4] }, Fallback::Toml("8"),
        "Bits of each slot that verification compares";
    ANCHORS: Integer<u32> = "join" "anchors", Integer::new(1, 65_536), Fallback::Toml("256"),
        "Documents at the head of a bucket that all others in it are compared with";

    METHOD: Choice<Method> = "cluster" "method",
        Choice { now: Method::NAMES, later: &["representative"], of: Method::from_name },
        Fallback::Toml(r#""components""#),
        "What a cluster is: a connected component of the edges";
    KEEP: Choice<Keep> = "cluster" "keep",
        Choice { now: Keep::NAMES, later: &[], of: Keep::from_name },
        Fallback::Toml(r#""longest""#),
        "Which document of a cluster stays: most bytes of text, first by number or column, or highest column";
    COLUMN: Text = "cluster" "column", Text, Fallback::Nothing,
        "The column that earliest (a time) or best (a quality) ranks by; best requires it";

    OUTPUT: OnePath = "filter" "output", OnePath,
        Fallback::Required("name the folder to write, such as output = \"deduplicated\" in [filter]"),
        "The output folder";
    MODE: Choice<Mode> = "filter" "mode",
        Choice { now: Mode::NAMES, later: &[], of: Mode::from_name },
        Fallback::Toml(r#""drop""#),
        "What the output holds: the kept rows, or every row with columns that tell its cluster and whether it is kept";
    PREFIX: Text = "filter" "prefix", Text, Fallback::Toml(r#""dedup_""#),
        "The prefix of the columns that annotate adds";
    EXISTING: Choice<Existing> = "filter" "existing",
        Choice { now: Existing::NAMES, later: &[], of: Existing::from_name },
        Fallback::Toml(r#""refuse""#),
        "What annotate does where such a column is there already: stop, or replace those of an earlier annotation";
    COMPRESSION_LEVEL: Integer<i32> = "filter" "compression_level", Integer::new(-7, 22), Fallback::Nothing,
        "The codec's level for row groups that are encoded again; without it the codec's default";
}
