//! The work folder: atomic outputs, receipts, locks, and the answer to "is this already done?".
//!
//! * [`WorkDir`] names everything that a run leaves there.
//! * [`AtomicFile`] writes a file that is either whole, synced and in place, or absent.
//! * [`Receipt`] says what a stage did and with what settings; [`Expected`] compares.
//! * [`Journal`] says which units of a stage's work are finished, so that a stopped run goes on.
//! * [`Lock`] lets one run at a time into a folder.
//! * [`Context`] is what a stage is given beside its settings; [`Definition`] is what the shell
//!   has to know of one.

mod atomic;
mod context;
mod damage;
mod error;
pub mod fault;
mod journal;
mod layout;
mod lock;
mod plan;
mod receipt;
mod stage;

pub use atomic::{AtomicFile, Output, ScratchFile, sync_folder, verify};
pub use context::{Context, Outcome, Progress};
pub use damage::Damaged;
pub use error::Error;
pub use journal::{Extent, Journal, Unit, UsageMeter};
pub use layout::{WorkDir, output_lock, output_old, output_partial};
pub use lock::{Holder, Lock};
pub use plan::{
    BASE_BYTES, BITS_A_DOCUMENT, Facts, Span, StagePlan, common_parts, divide, spilled,
};
pub use receipt::{Chain, Expected, INPUTS, Receipt, State, Usage, part_settings};
pub use stage::{Definition, Failure};
