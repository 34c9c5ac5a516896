//! The five stages and their order.

use serde::{Deserialize, Serialize};

/// A stage of the pipeline, in the order of the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Text to signatures.
    Sign,
    /// Signatures to sorted (band, key) -> document.
    Band,
    /// Buckets to verified edges.
    Join,
    /// Edges to clusters with one keeper each.
    Cluster,
    /// The input without its duplicates.
    Filter,
}

impl Stage {
    /// All stages in the order in which they run.
    pub const ALL: [Stage; 5] = [
        Stage::Sign,
        Stage::Band,
        Stage::Join,
        Stage::Cluster,
        Stage::Filter,
    ];

    /// The name on the command line, in file names and in the report.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Sign => "sign",
            Stage::Band => "band",
            Stage::Join => "join",
            Stage::Cluster => "cluster",
            Stage::Filter => "filter",
        }
    }

    /// The stage before this one, none before `sign`.
    pub fn previous(self) -> Option<Stage> {
        Stage::ALL.into_iter().rev().find(|&stage| stage < self)
    }

    /// The stage of that name.
    pub fn from_name(name: &str) -> Option<Stage> {
        Stage::ALL.into_iter().find(|stage| stage.name() == name)
    }
}

impl std::fmt::Display for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_order_agree() {
        assert_eq!(Stage::Sign.previous(), None);
        assert_eq!(Stage::Filter.previous(), Some(Stage::Cluster));
        for stage in Stage::ALL {
            assert_eq!(Stage::from_name(stage.name()), Some(stage));
        }
        assert_eq!(Stage::from_name("minhash"), None);
    }
}
