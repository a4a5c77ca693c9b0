//! Python interpreters on this machine, and environments with packages. `cargo xtask bench` includes this
//! file too: `xtask` depends on no crate of the workspace, and this file needs none.

use std::env;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Finds the first Python of `names` that can make environments, on the path or among the Pythons of pyenv. Returns its
/// path and version.
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

/// The program that installs packages. It takes a tenth of the time of pip, because it does not compile all modules.
const INSTALLER: &str = "uv==0.13.9";

/// Creates an environment in `directory` with the packages in `requirements`. The installer is kept in the
/// parent folder, and has these options.
pub(crate) fn install(
    python: &Path,
    directory: &Path,
    requirements: &Path,
    options: &[&str],
) -> Result<(), String> {
    let installer = installer(python, directory.parent().unwrap_or(Path::new(".")))?;
    // Only the interpreter of the environment is used. Its scripts contain absolute paths and would break if
    // it were moved.
    run(Command::new(python).args(["-m", "venv", "--without-pip"]).arg(directory))?;
    let mut command = Command::new(installer);
    command.args(["pip", "install", "--quiet", "--python"]).arg(directory.join("bin/python"));
    command.args(options);
    // Packages that are built with Cargo must not take the settings of the tests for their own.
    for (name, _) in env::vars_os() {
        if name.to_string_lossy().starts_with("CARGO_") && name != "CARGO_HOME" {
            command.env_remove(name);
        }
    }
    run(command.arg("--requirements").arg(requirements)).map(drop)
}

/// Returns the path of `INSTALLER` below `folder`, where it is installed if needed.
fn installer(python: &Path, folder: &Path) -> Result<PathBuf, String> {
    let failed = |error: io::Error| format!("{}: {error}", folder.display());
    let directory = folder.join("installer");
    let marker = directory.join(INSTALLER);
    fs::create_dir_all(folder).map_err(failed)?;
    let lock = File::create(folder.join("installer.lock")).map_err(failed)?;
    lock.lock().map_err(failed)?;
    if !marker.exists() {
        run(Command::new(python).args(["-m", "venv", "--clear"]).arg(&directory))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", INSTALLER];
        run(Command::new(directory.join("bin/python")).args(pip))?;
        fs::write(&marker, "").map_err(failed)?;
    }
    Ok(directory.join("bin/uv"))
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
