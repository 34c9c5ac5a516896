//! What the six binaries share: arguments, the chain of receipts, progress lines, exit codes.
//!
//! [`stage_main`] is the whole of a stage's binary; `neardup` builds on the same parts.

mod args;
mod chain;
mod exit;
mod lines;
mod machine;
mod overlap;
mod plan;
mod progress;
mod report;
mod stage;

pub use args::{PipelineArgs, StageArgs, load};
pub use chain::{Link, inputs_changed, links, upstream};
pub use exit::{Code, Problem};
pub use lines::{bytes, count, say, seconds, stage_done, stamped, summary};
pub use machine::{allocator_settings, default_memory_bytes, own_program, threads};
pub use overlap::check_folders;
pub use plan::{Disk, Step, Survey, budget, check_disk, disk, plan_lines, steps, survey};
pub use report::write as write_report;
pub use stage::{run_here, stage_main};
