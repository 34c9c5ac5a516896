//! What the six binaries share: arguments, the chain of receipts, progress lines, exit codes.
//!
//! [`stage_main`] is the whole of a stage's binary; `neardup` builds on the same parts.

mod args;
mod chain;
mod damage;
mod exit;
mod faults;
mod lines;
mod machine;
mod overlap;
mod plan;
mod progress;
mod report;
mod signals;
mod space;
mod stage;

pub use args::{PipelineArgs, StageArgs, load};
pub use chain::{Change, Link, changes, links, named, upstream};
pub use damage::{remove_damaged, say_repairs};
pub use exit::{Code, Problem};
pub use faults::arm as arm_faults;
pub use lines::{bytes, count, say, seconds, stage_done, stage_figures, stamped, summary, time};
pub use machine::{allocator_settings, default_memory_bytes, own_program, threads};
pub use overlap::check_folders;
pub use plan::{Disk, Step, Survey, budget, check_disk, disk, plan_lines, steps, survey};
pub use report::{is_of as report_is_of, write as write_report};
pub use signals::{Signals, end_stopped, ended_by, signal_name, stopped_by};
pub use stage::{run_here, stage_main};
