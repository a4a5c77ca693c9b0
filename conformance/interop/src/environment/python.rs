//! Pythons that are here, and environments with packages. `cargo xtask bench` takes this file in as well: it depends on
//! no crate of the workspace, and this needs none.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The first of these Pythons that can make environments, and its version: on the path or among those of pyenv.
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
    Err(format!("none of {} is here", names.join(", ")))
}

/// Makes an environment in `directory` with what `requirements` lists.
pub(crate) fn install(python: &Path, directory: &Path, requirements: &Path) -> Result<(), String> {
    run(Command::new(python).args(["-m", "venv"]).arg(directory))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
    // The scripts of an environment know their own place; nothing here runs them, only its interpreter.
    run(Command::new(directory.join("bin/python")).args(pip).arg(requirements))?;
    Ok(())
}

/// What the command printed, or how it failed.
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
