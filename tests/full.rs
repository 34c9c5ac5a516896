//! A work folder and an output on a small file system that fills up in each stage in turn. Needs a tmpfs, which only
//! root may mount; elsewhere `tests/faults.rs` has the failing writer alone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails"
)]

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use tests::{Project, STAGES};

/// A mounted tmpfs, until it is dropped.
struct Tmpfs(PathBuf);

impl Tmpfs {
    fn mount(folder: &Path, mib: u32) -> Option<Self> {
        fs::create_dir(folder).unwrap();
        let size = format!("size={mib}m");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(folder)
            .output();
        let mounted = mounted.is_ok_and(|output| output.status.success());
        mounted.then(|| Self(folder.to_owned()))
    }

    fn ballast(&self) -> PathBuf {
        self.0.join("ballast")
    }

    /// Fills all but so many bytes.
    fn fill_but(&self, left: u64) {
        let mut ballast = File::create(self.ballast()).unwrap();
        let block = [7; 4096];
        while ballast.write_all(&block).is_ok() {}
        let filled = ballast.metadata().unwrap().len();
        ballast.set_len(filled.saturating_sub(left)).unwrap();
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

#[test]
fn a_full_disk_is_named_and_the_run_goes_on_when_there_is_space() {
    let project = Project::of_sample(&[
        ("run.work", r#""small/work""#),
        ("filter.output", r#""small/deeper/out""#),
    ]);
    let Some(small) = Tmpfs::mount(&project.path("small"), 16) else {
        eprintln!("SKIPPED: no tmpfs can be mounted here");
        return;
    };
    let whole = Project::of_sample(&[]);
    whole.run(&[]).succeeded();
    for left in [0, 48 << 10] {
        for stage in STAGES {
            small.fill_but(left);
            let done = project.neardup(&[stage, "--force"]);
            // `join` and `cluster` write less than that of the sample.
            if left == 0 || ["sign", "band", "filter"].contains(&stage) {
                let text = done.failed(
                    1,
                    &["No space left on device", "small/", "run again, it resumes"],
                );
                assert!(text.contains(" free; the stage needs about "), "{text}");
            }
            fs::remove_file(small.ballast()).unwrap();
            project.neardup(&[stage]).succeeded();
        }
        let output = tests::files_below(&project.path("small/deeper/out"));
        assert!(output == whole.output());
    }
    assert!(!project.path("small/work/scratch").exists());
    assert!(!project.path("small/work/parts").exists());
}
