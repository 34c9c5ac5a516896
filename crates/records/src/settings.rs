//! The settings of a pipeline, one struct a manifest table, as the stages take them.
//!
//! `manifest` makes them from `pipeline.toml`; nothing here knows TOML. [`Pipeline::of_stage`]
//! names the settings that decide what a stage writes, and so when it has to run again.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::Stage;

/// Declares a setting's closed set of values with their manifest names.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $text)] $variant),+
        }
        impl $name {
            /// Every value that this version has, by its manifest name.
            pub const NAMES: &'static [&'static str] = &[$($text),+];
            /// The name in the manifest.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
            /// The value of that manifest name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$variant),)+ _ => None }
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

choice! {
    /// `input.on_bad_text`: what to do with text that is not UTF-8.
    OnBadText {
        /// Stop, naming file, row and byte.
        Refuse = "refuse",
        /// Hash it with replacement characters; the output keeps the original bytes.
        Replace = "replace",
    }
}
choice! {
    /// `sign.scheme`: how shingle hashes become a signature.
    Scheme {
        /// Fast similarity sketching.
        Fss = "fss",
        /// k universal hashes.
        Universal = "universal",
    }
}
choice! {
    /// `sign.unit`: what a shingle is made of.
    Unit {
        /// n-grams of tokens.
        Word = "word",
        /// n-grams of characters.
        Char = "char",
        /// `word`, but `char` for documents with fewer than n tokens.
        Auto = "auto",
    }
}
choice! {
    /// `join.verify`: how a candidate becomes an edge.
    Verify {
        /// By the share of equal slots.
        Estimate = "estimate",
        /// Every candidate is an edge.
        None = "none",
    }
}
choice! {
    /// `cluster.method`: what a cluster is.
    Method {
        /// A connected component of the verified edges.
        Components = "components",
    }
}
choice! {
    /// `cluster.keep`: which document of a cluster stays.
    Keep {
        /// The one with most bytes of raw text.
        Longest = "longest",
        /// The first by `column`, or by document id.
        Earliest = "earliest",
        /// The highest value of `column`.
        Best = "best",
    }
}
choice! {
    /// `filter.mode`: what the output holds.
    Mode {
        /// The kept rows.
        Drop = "drop",
        /// Every row, with its cluster and whether it is kept.
        Annotate = "annotate",
    }
}
choice! {
    /// `filter.existing`: what to do where an annotation column's name is taken.
    Existing {
        /// Stop with the remedy.
        Refuse = "refuse",
        /// Replace the columns of an earlier annotation.
        Replace = "replace",
    }
}

/// `[input]`: where the documents are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// Files, folders or globs, absolute.
    pub paths: Vec<PathBuf>,
    /// The text column: a name, or a dotted path into structs.
    pub text: String,
    /// The column whose value identifies a document to people.
    pub id: Option<String>,
    /// What to do with text that is not UTF-8.
    pub on_bad_text: OnBadText,
}

/// `[run]`: where and with what resources; never decides a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The work folder, absolute.
    pub work: PathBuf,
    /// The budget of a stage's resident memory; none: half of what the machine has.
    pub memory_bytes: Option<u64>,
    /// Worker threads; 0: one a core.
    pub threads: u32,
}

/// `[sign]`: shingles and signatures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sign {
    /// The signature scheme.
    pub scheme: Scheme,
    /// Slots in a signature.
    pub k: u32,
    /// The seed of the scheme's hashes.
    pub seed: u64,
    /// What a shingle is made of.
    pub unit: Unit,
    /// Shingle length in units.
    pub n: u32,
    /// Shingle length of the documents that `auto` takes by characters.
    pub char_n: u32,
    /// Whether punctuation is removed before shingling.
    pub strip_punctuation: bool,
}

/// `[band]`: the bands of a signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Band {
    /// Bands.
    pub bands: u32,
    /// Slots in a band.
    pub rows: u32,
}

/// `[join]`: candidates and their verification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Join {
    /// How a candidate is verified.
    pub verify: Verify,
    /// The least Jaccard similarity of an edge, in (0, 1].
    pub threshold: f64,
    /// Bits of each slot that verification compares.
    pub bits: u32,
    /// Documents at the head of a bucket that all others are compared with.
    pub anchors: u32,
}

/// `[cluster]`: clusters and keepers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    /// What a cluster is.
    pub method: Method,
    /// Which document stays.
    pub keep: Keep,
    /// The column that `earliest` or `best` ranks by.
    pub column: Option<String>,
}

/// `[filter]`: the output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// The output folder, absolute.
    pub output: PathBuf,
    /// What the output holds.
    pub mode: Mode,
    /// The prefix of the annotation columns.
    pub prefix: String,
    /// What to do where such a name is taken.
    pub existing: Existing,
    /// The codec level of row groups that are encoded again; none: the codec's default.
    pub compression_level: Option<i32>,
}

/// All settings of a pipeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pipeline {
    /// `[input]`
    pub input: Input,
    /// `[run]`
    pub run: Run,
    /// `[sign]`
    pub sign: Sign,
    /// `[band]`
    pub band: Band,
    /// `[join]`
    pub join: Join,
    /// `[cluster]`
    pub cluster: Cluster,
    /// `[filter]`
    pub filter: Filter,
}

impl Pipeline {
    /// The settings that decide what `stage` writes, by `table.key`, beside those of the stages
    /// before it. Where things lie (`run.work`, `filter.output`) decides no content, and a setting that
    /// has no effect under the others (such as `char_n` outside of
    /// `auto`) is left out, so that changing it runs nothing again.
    pub fn of_stage(&self, stage: Stage) -> BTreeMap<String, String> {
        let mut map = BTreeMap::new();
        let mut put = |key: &str, value: String| {
            map.insert(key.to_owned(), value);
        };
        match stage {
            Stage::Sign => {
                put("input.text", self.input.text.clone());
                put("input.on_bad_text", self.input.on_bad_text.to_string());
                put("sign.scheme", self.sign.scheme.to_string());
                put("sign.k", self.sign.k.to_string());
                put("sign.seed", self.sign.seed.to_string());
                put("sign.unit", self.sign.unit.to_string());
                put("sign.n", self.sign.n.to_string());
                if self.sign.unit == Unit::Auto {
                    put("sign.char_n", self.sign.char_n.to_string());
                }
                let strip = self.sign.strip_punctuation.to_string();
                put("sign.strip_punctuation", strip);
            }
            Stage::Band => {
                put("band.bands", self.band.bands.to_string());
                put("band.rows", self.band.rows.to_string());
            }
            Stage::Join => {
                put("join.verify", self.join.verify.to_string());
                put("join.anchors", self.join.anchors.to_string());
                if self.join.verify == Verify::Estimate {
                    put("join.threshold", self.join.threshold.to_string());
                    put("join.bits", self.join.bits.to_string());
                }
            }
            Stage::Cluster => {
                put("cluster.method", self.cluster.method.to_string());
                put("cluster.keep", self.cluster.keep.to_string());
                if let Some(column) = &self.cluster.column {
                    put("cluster.column", column.clone());
                }
                if let Some(id) = &self.input.id {
                    put("input.id", id.clone());
                }
            }
            Stage::Filter => {
                put("filter.mode", self.filter.mode.to_string());
                if self.filter.mode == Mode::Annotate {
                    put("filter.prefix", self.filter.prefix.clone());
                    put("filter.existing", self.filter.existing.to_string());
                }
                if let (Mode::Drop, Some(level)) = (self.filter.mode, self.filter.compression_level)
                {
                    put("filter.compression_level", level.to_string());
                }
            }
        }
        map
    }
}
