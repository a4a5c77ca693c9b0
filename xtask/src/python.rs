//! `cargo xtask python`: builds the wheel of the Python package and runs its tests.
//!
//! The wheel has the same profile as all other tests, so that shared dependencies are compiled only once. The comparison
//! with peers builds it with the profile of releases.

mod wheel;

use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::bench::environment;
use crate::workspace::Workspace;

pub(crate) use wheel::run as build_wheel;

/// The options of `cargo xtask python`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Build the wheel of a release instead, for all Linux systems with glibc 2.28 or newer, and run the tests with it
    #[arg(long)]
    pub(crate) wheel: bool,
}

/// The folder of the package in the workspace.
const FOLDER: &str = "python";

/// With this feature, the wheel uses the crates that are compiled for the tests of the workspace.
const FEATURES: &str = "shared-features";

/// The workflows of the repository, from `FOLDER`.
const WORKFLOWS: [&str; 2] = ["../.github/workflows/test.yml", "../.github/workflows/release.yml"];

/// The Cargo profile for the tests.
const PROFILE: &str = "dev";

/// The Python package, with an interpreter in an environment that has its requirements.
#[derive(Debug)]
pub(crate) struct Package {
    interpreter: PathBuf,
    root: PathBuf,
    wheels: PathBuf,
    profile: &'static str,
}

impl Package {
    /// Finds a Python interpreter, and creates the environment below `target` if necessary.
    ///
    /// # Errors
    ///
    /// If this machine lacks a program; the text describes what is missing.
    pub(crate) fn find(workspace: &Workspace, target: &Path) -> Result<Self, String> {
        let interpreter = environment(target, &workspace.root.join(FOLDER).join("tests/requirements.txt"))?;
        Ok(Self::in_environment(workspace, interpreter, target, PROFILE))
    }

    /// Returns the package for an environment that exists. Wheels are built with `profile` below `target`.
    pub(crate) fn in_environment(
        workspace: &Workspace,
        interpreter: PathBuf,
        target: &Path,
        profile: &'static str,
    ) -> Self {
        Self { interpreter, root: workspace.root.join(FOLDER), wheels: target.join("wheels"), profile }
    }

    /// Returns the command that builds the wheel.
    pub(crate) fn build(&self) -> Result<Command, String> {
        if self.wheels.exists() {
            fs::remove_dir_all(&self.wheels).map_err(|error| self.broken(&error))?;
        }
        let mut command = self.module("maturin");
        command.args(["build", "--quiet", "--locked", "--profile", self.profile, "--out"]).arg(&self.wheels);
        if self.profile == PROFILE {
            command.args(["--features", FEATURES]);
        }
        // The default interpreter of the machine may be too old.
        command.arg("--interpreter").arg(&self.interpreter);
        Ok(command)
    }

    /// Returns the command that installs the wheel and replaces an older one. A wheel that is too large is an error.
    pub(crate) fn install(&self) -> Result<Command, String> {
        let mut entries = fs::read_dir(&self.wheels).map_err(|error| self.broken(&error))?;
        let wheel = entries.next().and_then(Result::ok).ok_or("maturin built no wheel")?;
        wheel::check_size(&wheel.path())?;
        let mut command = self.module("pip");
        command.args(["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--force-reinstall"]);
        command.arg(wheel.path());
        Ok(command)
    }

    /// Returns the commands that check the format and lints of the Python code, and the workflows of the repository.
    pub(crate) fn lints(&self) -> [Command; 3] {
        let ruff = |arguments: [&str; 3]| {
            let mut command = self.module("ruff");
            command.args(arguments).env("RUFF_NO_CACHE", "true");
            command
        };
        let mut workflows = self.module("check_jsonschema");
        workflows.args(["--quiet", "--builtin-schema", "vendor.github-workflows"]).args(WORKFLOWS);
        [ruff(["format", "--check", "."]), ruff(["check", "--quiet", "."]), workflows]
    }

    /// Returns the command that runs the tests.
    pub(crate) fn tests(&self) -> Command {
        let mut command = self.module("pytest");
        // Many tests compute on one processor or wait for a server, so several run at the same time.
        let workers = std::thread::available_parallelism().map_or(1, NonZero::get).to_string();
        command.args(["--numprocesses", &workers, "--dist", "worksteal"]);
        // Without `PYTHONSAFEPATH`, the sources would hide the installed package.
        command.args(["-q", "-p", "no:cacheprovider", "tests"]).env("PYTHONSAFEPATH", "1");
        command
    }

    fn module(&self, name: &str) -> Command {
        let mut command = Command::new(&self.interpreter);
        command.args(["-m", name]).current_dir(&self.root).stdin(Stdio::null());
        // Compiled modules are stored in this folder instead of next to the sources, and later processes reuse them.
        command.env("PYTHONPYCACHEPREFIX", self.wheels.with_file_name("bytecode"));
        command.env("PYTHONDONTWRITEBYTECODE", "");
        command
    }

    fn broken(&self, error: &std::io::Error) -> String {
        format!("{}: {error}", self.wheels.display())
    }
}
