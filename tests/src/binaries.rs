//! Where the binaries are.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

/// Names a folder that holds binaries which are built already.
const OVERRIDE: &str = "NEARDUP_BIN_DIR";

/// The path of the binary `name`: one of the default members of the workspace. The first call in
/// a process builds them all, in the profile of the tests, unless `NEARDUP_BIN_DIR` names a folder.
///
/// Cargo builds the binaries of other packages for no test target, so the harness has to ask.
///
/// # Panics
/// Where they cannot be built.
#[must_use]
pub fn binary(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| match std::env::var_os(OVERRIDE) {
        Some(folder) => PathBuf::from(folder),
        None => build(),
    });
    folder.join(name)
}

fn build() -> PathBuf {
    let mut command = Command::new(env!("CARGO"));
    command
        .current_dir(crate::repository())
        .args(["build", "--quiet", "--message-format=json"]);
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    let output = command.output().expect("cargo runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo build failed:\n{errors}");
    let messages = String::from_utf8_lossy(&output.stdout);
    let executable = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == "neardup")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .expect("cargo build names the binary neardup");
    executable.parent().map(Path::to_owned).expect("a folder")
}
