//! Builds the plugin for Icechunk repositories, which is a separate workspace.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use zarr_kit::loaded::Loader;
use zarr_kit::{Context, Registry};

use crate::environment::{kept, skip};

/// Returns the command `cargo` in the workspace of the plugin. If Clippy is installed, it checks everything that is
/// compiled.
#[must_use]
pub fn cargo() -> Command {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../stores/icechunk");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.arg("--quiet").current_dir(folder).env("CARGO_TARGET_DIR", target());
    // The variables of the tested package would rebuild dependencies whenever they change.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if ["CARGO_PKG_", "CARGO_MANIFEST_", "OUT_DIR"].iter().any(|prefix| name.starts_with(prefix)) {
            cargo.env_remove(name);
        }
    }
    if Command::new("clippy-driver").arg("--version").output().is_ok_and(|output| output.status.success()) {
        cargo.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver");
    }
    cargo
}

/// Returns the target folder that all builds outside of the workspace share.
fn target() -> PathBuf {
    kept().with_file_name("tmp").join("plugins")
}

/// Returns why Cargo did not build the plugin, if that is not a fault of the plugin: its dependencies cannot be
/// downloaded, or the compiler is too old.
#[must_use]
pub fn is_unavailable(output: &Output) -> Option<String> {
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    let reasons = ["failed to download", "--offline", "requires rustc", "is not supported by the following"];
    let is_known = !output.status.success() && reasons.iter().any(|reason| complaint.contains(reason));
    is_known.then_some(complaint)
}

/// Returns the library of the plugin; `None` after a visible skip if it cannot be built on this machine.
///
/// # Panics
///
/// If the plugin does not compile, or the compiler warns.
#[must_use]
#[expect(clippy::unwrap_used, reason = "a panic must fail the test")]
pub fn icechunk() -> Option<&'static Path> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let output =
            cargo().args(["build", "--locked", "-p", "zarr-store-icechunk-plugin"]).output().unwrap();
        if let Some(reason) = is_unavailable(&output) {
            return Err(reason);
        }
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !complaint.contains("warning"), "{complaint}");
        Ok(target().join("debug/libzarr_store_icechunk_plugin.so"))
    });
    built.as_deref().inspect_err(|reason| skip(&format!("the plugin for Icechunk: {reason}"))).ok()
}

/// Returns a context with the linked plugins and the one for Icechunk; `None` after a visible skip.
///
/// # Panics
///
/// If the library cannot be loaded.
#[must_use]
#[expect(clippy::unwrap_used, reason = "a panic must fail the test")]
pub fn with_icechunk() -> Option<Context> {
    let mut registry = Registry::linked().unwrap();
    assert_eq!(Loader::of_one(icechunk()?).unwrap().register(&mut registry), []);
    Some(Context::new(registry))
}
