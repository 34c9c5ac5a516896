//! Every byte that neardup stores between stages: fixed-width records, the files that hold
//! them, the settings that made them, and the checks that a later stage makes before it trusts
//! them.
//!
//! Pure: nothing here opens a file. Writers and readers work on any [`std::io::Write`] and
//! [`std::io::Read`]; `workdir` gives them files.
//!
//! * [`settings`]: the typed settings of a pipeline, one struct a manifest table.
//! * [`Stage`]: the five stages in their order.
//! * [`Provenance`]: the settings that an intermediate was made with, and how two differ.
//! * [`pods`]: the records, plain old data.
//! * [`DocSet`]: a set of documents at one bit each.
//! * [`file`]: a file of records: header, checksummed blocks, footer.

mod docset;
pub mod file;
pub mod pods;
mod provenance;
pub mod settings;
mod signed_file;
mod stage;

pub use docset::DocSet;
pub use provenance::{Mismatch, Provenance};
pub use settings::Pipeline;
pub use signed_file::SignedFile;
pub use stage::Stage;

/// Settings and algorithm versions by name, such as `sign.k`.
pub type Settings = std::collections::BTreeMap<String, String>;

/// The version of neardup, as it stands in every header, receipt and report.
pub const PRODUCT_VERSION: &str = env!("CARGO_PKG_VERSION");
