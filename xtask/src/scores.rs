//! `cargo xtask scores`: the format suite with this framework and with its peers, and the page that says what came of it.

use std::process::Command;

use crate::Failure;
use crate::workspace::Workspace;

/// Runs the test that compares the page with a run, and has it write the page instead.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Failure> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["test", "--package", "zarr-interop", "--test", "it", "formats::"])
        .current_dir(&workspace.root);
    // Without the peers there is nothing to write.
    command.envs([("ZARR_WRITE_SCORES", "1"), ("CI", "true")]);
    let status = command.status().map_err(|error| format!("cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err(Failure::Checks) }
}
