//! `cargo xtask scores`: runs the format suite with this engine and its peers, and writes the page with the results.

use std::process::Command;

use crate::Failure;
use crate::workspace::Workspace;

/// Runs the test that compares the page with a run, in the mode that writes the page instead.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Failure> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["test", "--package", "zarr-interop", "--test", "it", "formats::"])
        .current_dir(&workspace.root);
    // The page needs the results of all peers. With `CI=true`, a missing peer is a failure.
    command.envs([("ZARR_WRITE_SCORES", "1"), ("CI", "true")]);
    let status = command.status().map_err(|error| format!("cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err(Failure::Checks) }
}
