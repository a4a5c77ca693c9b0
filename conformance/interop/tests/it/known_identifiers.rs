//! The table of identifiers that other programs provide, `zarr-kit/src/known.tsv`.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use zarr_interop::environment::{Packages, python, run_script};

/// Runs only with `ZARR_LONG`: the packages take minutes to install.
#[test]
fn the_table_is_what_the_script_prints_from_the_packages() {
    if std::env::var_os("ZARR_LONG").is_none() {
        return;
    }
    let Some(python) = python(Packages::Known) else { return };
    let (printed, is_good) = run_script(&python, "known_identifiers.py", &[zarrs().as_os_str()]);
    assert!(is_good, "{printed}");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let stored = fs::read_to_string(root.join("zarr-kit/src/known.tsv")).unwrap();
    for (stored, printed) in stored.lines().zip(printed.lines()) {
        assert_eq!(stored, printed);
    }
    assert_eq!(stored, printed);
}

/// Returns the folder of the crate zarrs, which the workspace depends on.
fn zarrs() -> PathBuf {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--offline"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    let metadata: Value = serde_json::from_slice(&cargo.output().unwrap().stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let manifest = packages.iter().find(|package| package["name"] == "zarrs").unwrap();
    Path::new(manifest["manifest_path"].as_str().unwrap()).parent().unwrap().to_owned()
}
