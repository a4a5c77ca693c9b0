//! `cargo xtask python`: builds the wheel of the Python package, and runs its tests.
//!
//! The wheel has the profile of all other tests, so that their dependencies are compiled once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::bench::environment;
use crate::workspace::Workspace;

/// Where the package lies in the workspace.
const FOLDER: &str = "python";

/// The profile of Cargo that the wheel is built with.
const PROFILE: &str = "dev";

/// The commands that check the package in an environment that has it, in order. The last one runs the tests.
#[derive(Debug)]
pub(crate) struct Package {
    interpreter: PathBuf,
    root: PathBuf,
    wheels: PathBuf,
}

impl Package {
    /// Finds a Python, and makes the environment below `target` if need be.
    ///
    /// # Errors
    ///
    /// A sentence about what the machine lacks.
    pub(crate) fn find(workspace: &Workspace, target: &Path) -> Result<Self, String> {
        let root = workspace.root.join(FOLDER);
        let interpreter = environment(target, &root.join("tests/requirements.txt"))?;
        Ok(Self { interpreter, root, wheels: target.join("wheels") })
    }

    /// The command that builds the wheel.
    pub(crate) fn build(&self) -> Result<Command, String> {
        if self.wheels.exists() {
            fs::remove_dir_all(&self.wheels).map_err(|error| self.broken(&error))?;
        }
        let mut command = self.module("maturin");
        command.args(["build", "--quiet", "--locked", "--profile", PROFILE, "--out"]).arg(&self.wheels);
        // An interpreter is named because the default one of the machine may be too old.
        command.arg("--interpreter").arg(&self.interpreter);
        Ok(command)
    }

    /// The command that installs the wheel in place of an older one.
    pub(crate) fn install(&self) -> Result<Command, String> {
        let mut entries = fs::read_dir(&self.wheels).map_err(|error| self.broken(&error))?;
        let wheel = entries.next().and_then(Result::ok).ok_or("maturin built no wheel")?;
        let mut command = self.module("pip");
        command.args(["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--force-reinstall"]);
        command.arg(wheel.path());
        Ok(command)
    }

    /// The commands that check the form of the Python code.
    pub(crate) fn lints(&self) -> [Command; 2] {
        [["format", "--check", "."], ["check", "--quiet", "."]].map(|arguments| {
            let mut command = self.module("ruff");
            command.args(arguments).env("RUFF_NO_CACHE", "true");
            command
        })
    }

    /// The command that runs the tests.
    pub(crate) fn tests(&self) -> Command {
        let mut command = self.module("pytest");
        // Without `-P`, the sources would hide the package that is installed.
        command.args(["-q", "-p", "no:cacheprovider", "tests"]).env("PYTHONSAFEPATH", "1");
        command
    }

    fn module(&self, name: &str) -> Command {
        let mut command = Command::new(&self.interpreter);
        command.args(["-m", name]).current_dir(&self.root).stdin(Stdio::null());
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    fn broken(&self, error: &std::io::Error) -> String {
        format!("{}: {error}", self.wheels.display())
    }
}
