//! What the machine has, and what this process has used of it.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};
use workdir::Usage;

/// The worker threads for a setting; 0 is one a core.
pub fn threads(setting: u32) -> usize {
    match setting {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n as usize,
    }
}

/// How many files this process may have open.
pub(crate) fn open_files() -> u64 {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current.unwrap_or(u64::MAX)
}

/// Half of what the machine, or the control group that the process is in, has.
pub fn default_memory_bytes() -> u64 {
    let info = rustix::system::sysinfo();
    // The field's type differs by platform.
    #[expect(
        clippy::useless_conversion,
        reason = "u64 here, u32 on 32-bit platforms"
    )]
    let machine = u64::from(info.totalram).saturating_mul(info.mem_unit.into());
    cgroup_limit().map_or(machine, |limit| machine.min(limit)) / 2
}

/// The smallest memory limit of the control groups around this process (version 2, then 1).
fn cgroup_limit() -> Option<u64> {
    let root = Path::new("/sys/fs/cgroup");
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mut limits = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let (base, file) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            "memory" => (root.join("memory"), "memory.limit_in_bytes"),
            _ => continue,
        };
        let mut folder = base.join(path.trim_start_matches('/'));
        // A group's limit holds for the groups inside it.
        while folder.starts_with(&base) {
            let text = fs::read_to_string(folder.join(file)).unwrap_or_default();
            limits.extend(text.trim().parse::<u64>().ok());
            if !folder.pop() {
                break;
            }
        }
    }
    limits.into_iter().min()
}

/// Measures this process from now on.
pub(crate) struct Meter {
    start: Instant,
}

impl Meter {
    pub(crate) fn start() -> Self {
        Self {
            start: Instant::now(),
        }
    }

    /// What the process has used so far; figures that the system does not tell are 0.
    pub(crate) fn usage(&self, memory_bytes: u64, threads: usize) -> Usage {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        let field = |path: &str, name: &str| {
            let text = fs::read_to_string(path).unwrap_or_default();
            text.lines()
                .find_map(|line| {
                    line.strip_prefix(name)?
                        .split_whitespace()
                        .next()?
                        .parse()
                        .ok()
                })
                .unwrap_or(0u64)
        };
        Usage {
            wall_s: self.start.elapsed().as_secs_f64(),
            cpu_s: cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9,
            peak_rss_bytes: field("/proc/self/status", "VmHWM:") * 1024,
            bytes_read: field("/proc/self/io", "rchar:"),
            bytes_written: field("/proc/self/io", "wchar:"),
            memory_bytes,
            threads: u32::try_from(threads).unwrap_or(u32::MAX),
        }
    }
}

/// The program that this process runs, also where its file was replaced meanwhile.
///
/// # Errors
/// Where the system does not tell.
pub fn own_program() -> std::io::Result<PathBuf> {
    let running = Path::new("/proc/self/exe");
    match running.exists() {
        true => Ok(running.to_owned()),
        false => std::env::current_exe(),
    }
}

/// glibc's allocator keeps what is freed for as long as it thinks that more will be wanted, and
/// raises its thresholds as it goes, so that a process comes to hold twice what it uses. Fixed
/// thresholds make it give large blocks back at once. Measured on 900 texts of 100 B to 31 MB at
/// 128 MiB: a peak of 81 MiB instead of up to 135, at no measurable cost in time.
const ALLOCATOR: [(&str, &str); 2] = [
    ("MALLOC_MMAP_THRESHOLD_", "4194304"),
    ("MALLOC_TRIM_THRESHOLD_", "8388608"),
];

/// The environment that a stage's process is to start with, where the user has not set it.
pub fn allocator_settings() -> impl Iterator<Item = (&'static str, &'static str)> {
    ALLOCATOR
        .into_iter()
        .filter(|(name, _)| std::env::var_os(name).is_none())
}

/// Starts this process's program anew with [`allocator_settings`], which an allocator reads only
/// at its start. Comes back where nothing is to be set or it cannot be done: the settings save
/// memory and decide nothing.
pub(crate) fn settle_allocator() {
    let settings: Vec<_> = allocator_settings().collect();
    if settings.is_empty() || !cfg!(all(target_os = "linux", target_env = "gnu")) {
        return;
    }
    let Ok(program) = own_program() else { return };
    let mut args = std::env::args_os();
    let name = args.next().unwrap_or_else(|| "neardup".into());
    let mut command = Command::new(program);
    // On success this does not come back.
    let _ = command.arg0(name).args(args).envs(settings).exec();
}
