//! Python interpreters on this machine, and environments with packages. `cargo xtask bench` includes this
//! file too: `xtask` depends on no crate of the workspace, and this file needs none.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Finds the first of these Pythons that can make environments, on the path or among those of pyenv; returns
/// its path and version.
pub(crate) fn find(names: &[&str]) -> Result<(PathBuf, String), String> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let versions = env::var_os("HOME").map(|home| Path::new(&home).join(".pyenv/versions"));
    if let Some(versions) = versions.and_then(|versions| fs::read_dir(versions).ok()) {
        folders.extend(versions.filter_map(|version| Some(version.ok()?.path().join("bin"))));
    }
    for name in names {
        for folder in &folders {
            let python = folder.join(name);
            let question = "import ensurepip, sys, venv; print(sys.version)";
            let Ok(answer) = Command::new(&python).args(["-c", question]).output() else { continue };
            if answer.status.success() {
                return Ok((python, String::from_utf8_lossy(&answer.stdout).trim().to_owned()));
            }
        }
    }
    Err(format!("none of {} is installed", names.join(", ")))
}

/// Creates an environment in `directory` with the packages in `requirements`.
pub(crate) fn install(python: &Path, directory: &Path, requirements: &Path) -> Result<(), String> {
    run(Command::new(python).args(["-m", "venv"]).arg(directory))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
    // Only the interpreter of the environment is used. Its scripts contain absolute paths and would break if
    // it were moved.
    run(Command::new(directory.join("bin/python")).args(pip).arg(requirements))?;
    Ok(())
}

/// Returns the output of the command, or a description of its failure.
pub(crate) fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let end: Vec<&str> = complaint.lines().rev().take(8).collect();
    let end: Vec<&str> = end.into_iter().rev().collect();
    Err(format!("{command:?} ended with {}: {}", output.status, end.join(" | ")))
}
