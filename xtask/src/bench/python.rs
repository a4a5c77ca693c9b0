//! The Python environment of the peers that are in Python.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Newest first. zarr-python 3.4 needs 3.12: with an older one, pip silently takes an older zarr-python.
const PYTHONS: [&str; 3] = ["python3.14", "python3.13", "python3.12"];

/// The interpreter of an environment below `folder` with what `requirements` lists, which is made if need be.
pub(crate) fn environment(folder: &Path, requirements: &Path) -> Result<PathBuf, String> {
    let (base, version) = find()?;
    let listed = read(requirements)?;
    let environment = folder.join("python");
    let interpreter = environment.join("bin/python");
    // Written last: an environment without it, or with another content, is made anew.
    let (made, wanted) = (environment.join("made-from.txt"), format!("{version}\n{listed}"));
    if read(&made).is_ok_and(|made| made == wanted) {
        return Ok(interpreter);
    }
    if environment.exists() {
        fs::remove_dir_all(&environment).map_err(|error| format!("{}: {error}", environment.display()))?;
    }
    println!("making a Python environment in {}", environment.display());
    run(Command::new(&base).args(["-m", "venv"]).arg(&environment))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
    run(Command::new(&interpreter).args(pip).arg(requirements))?;
    fs::write(&made, wanted).map_err(|error| format!("{}: {error}", made.display()))?;
    Ok(interpreter)
}

/// The newest Python that can make environments, and its version: on the path or among those of pyenv.
fn find() -> Result<(PathBuf, String), String> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let versions = env::var_os("HOME").map(|home| Path::new(&home).join(".pyenv/versions"));
    if let Some(versions) = versions.and_then(|versions| fs::read_dir(versions).ok()) {
        folders.extend(versions.filter_map(|version| Some(version.ok()?.path().join("bin"))));
    }
    for name in PYTHONS {
        for folder in &folders {
            let python = folder.join(name);
            let question = "import ensurepip, sys, venv; print(sys.version)";
            let Ok(answer) = Command::new(&python).args(["-c", question]).output() else { continue };
            if answer.status.success() {
                return Ok((python, String::from_utf8_lossy(&answer.stdout).trim().to_owned()));
            }
        }
    }
    Err(format!("none of {} is here", PYTHONS.join(", ")))
}

fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let end: Vec<&str> = complaint.lines().rev().take(8).collect();
    Err(format!("{command:?}: {}", end.into_iter().rev().collect::<Vec<_>>().join(" | ")))
}
