//! The program `zarrctl`.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

/// Builds the program with all features, if needed, and returns its path. A process builds it once.
///
/// The tests of `zarrctl` run the program at the same path and may be built with all features too. With `--workspace`,
/// dependencies have the features that they have in the tests, so that compiled crates are used again.
///
/// # Panics
///
/// If the build fails.
#[must_use]
pub fn zarrctl() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(build).clone()
}

#[expect(clippy::unwrap_used, reason = "a panic must fail the test")]
fn build() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--workspace", "--exclude", "zarr-peers-zarrs"]);
    command.args(["--all-features", "--bin", "zarrctl"]);
    command.args(["--message-format", "json-render-diagnostics"]);
    // Removes the variables that Cargo sets for the tested package: when they change, dependencies are rebuilt.
    for (name, _) in std::env::vars_os() {
        if ["CARGO_PKG_", "CARGO_MANIFEST_", "OUT_DIR"]
            .iter()
            .any(|prefix| name.to_string_lossy().starts_with(prefix))
        {
            command.env_remove(name);
        }
    }
    let built = command.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let messages = String::from_utf8(built.stdout).unwrap();
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut executables = messages.filter(|message| message["target"]["name"] == "zarrctl");
    let executable = executables.find_map(|message| Some(PathBuf::from(message["executable"].as_str()?)));
    executable.unwrap()
}
