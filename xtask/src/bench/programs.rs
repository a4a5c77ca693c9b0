//! The programs of the comparison and their commands.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::far_store::{Network, REQUESTS};
use super::group::Group;
use super::{machine, python};

/// The Python interpreters, newest first. zarr-python 3.4 needs Python 3.12: with an older Python, pip silently installs an
/// older zarr-python.
const PYTHONS: [&str; 3] = ["python3.14", "python3.13", "python3.12"];

/// A program of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Program {
    ZarrKit,
    Zarrs,
    Tensorstore,
    ZarrPython,
    ZarrPythonFused,
    ZarrPythonZarrs,
    /// The Python package of this workspace.
    ZarrKitPython,
    /// zarr-python with the codec pipeline of the Python package.
    ZarrPythonZarrKit,
    Zarrista,
    /// xarray with its own engine, which reads with zarr-python. It opens data sets and reads elements.
    Xarray,
    /// xarray with its own engine and the fused pipeline of zarr-python.
    XarrayFused,
    /// xarray with its own engine and the zarrs pipeline of zarr-python.
    XarrayZarrs,
    /// xarray with the engine of the Python package.
    XarrayZarrKit,
    /// Cubed with its local executor. Like Dask, it only gives arrays other chunks here.
    Cubed,
    /// Arrays of Dask.
    Dask,
    /// This engine, built from another commit.
    Baseline,
    /// Not a peer: creates the data and measures the limits of the machine.
    Floor,
    /// Not a peer: the remote store.
    FarStore,
}

impl Program {
    /// The programs in the order of the tables. The floors are always included.
    pub(crate) const ALL: [Self; 6] = [
        Self::ZarrKit,
        Self::Zarrs,
        Self::Tensorstore,
        Self::ZarrPython,
        Self::ZarrPythonFused,
        Self::ZarrPythonZarrs,
    ];

    /// The programs that `--python` adds.
    pub(crate) const PYTHON: [Self; 7] = [
        Self::ZarrKitPython,
        Self::ZarrPythonZarrKit,
        Self::Zarrista,
        Self::Xarray,
        Self::XarrayFused,
        Self::XarrayZarrs,
        Self::XarrayZarrKit,
    ];

    /// The programs that give arrays other chunks, which are compared with `zarrctl copy`.
    pub(crate) const COPYING: [Self; 2] = [Self::Cubed, Self::Dask];

    /// Returns the name on the command line and in files.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::ZarrKit => "zarr-kit",
            Self::Zarrs => "zarrs",
            Self::Tensorstore => "tensorstore",
            Self::ZarrPython => "zarr-python",
            Self::ZarrPythonFused => "zarr-python-fused",
            Self::ZarrPythonZarrs => "zarr-python-zarrs",
            Self::ZarrKitPython => "zarr-kit-python",
            Self::ZarrPythonZarrKit => "zarr-python-zarr-kit",
            Self::Zarrista => "zarrista",
            Self::Xarray => "xarray",
            Self::XarrayFused => "xarray-fused",
            Self::XarrayZarrs => "xarray-zarrs",
            Self::XarrayZarrKit => "xarray-zarr-kit",
            Self::Cubed => "cubed",
            Self::Dask => "dask",
            Self::Baseline => "baseline",
            Self::Floor => "floor",
            Self::FarStore => "far",
        }
    }

    pub(crate) fn named(name: &str) -> Result<Self, String> {
        let name = if name == "ours" { Self::ZarrKit.key() } else { name };
        let programs = || Self::ALL.into_iter().chain(Self::PYTHON).chain(Self::COPYING);
        let found = programs().find(|program| program.key() == name);
        let names = || programs().map(Self::key).collect::<Vec<_>>().join(", ");
        found.ok_or_else(|| format!("unknown peer (expected one of {})", names()))
    }

    /// Returns whether the program uses the Python package of this workspace.
    pub(crate) fn uses_package(self) -> bool {
        matches!(self, Self::ZarrKitPython | Self::ZarrPythonZarrKit | Self::XarrayZarrKit)
    }

    /// Returns whether each run is a new process.
    pub(crate) fn is_whole(self) -> bool {
        Self::COPYING.contains(&self)
    }

    pub(crate) fn is_python(self) -> bool {
        !matches!(self, Self::ZarrKit | Self::Zarrs | Self::Baseline | Self::Floor | Self::FarStore)
    }
}

/// The paths of the programs.
#[derive(Debug)]
pub(crate) struct Places {
    /// The folder of the programs that cargo has built.
    pub(crate) binaries: PathBuf,
    /// The runner `peer-zarr-kit` built from another commit.
    pub(crate) baseline: Option<PathBuf>,
    /// The folder of the Python runners.
    pub(crate) scripts: PathBuf,
    /// The interpreter of the environment with the packages of the Python runners.
    pub(crate) interpreter: Option<PathBuf>,
    /// The interpreter of the environment of the programs that give arrays other chunks.
    pub(crate) copying: Option<PathBuf>,
    /// The plugin for Icechunk, which the runner of this engine loads.
    pub(crate) icechunk: Option<PathBuf>,
    /// The folder of the logs of the runners.
    pub(crate) logs: PathBuf,
    pub(crate) group: Group,
    pub(crate) network: Network,
}

impl Places {
    /// Returns the version of a program that gives arrays other chunks.
    pub(crate) fn version_of(&self, program: Program) -> Result<String, String> {
        let interpreter = self.copying.as_ref().ok_or("Python is not available")?;
        let mut command = Command::new(interpreter);
        command.arg(self.scripts.join("copying.py")).arg(program.key()).env("PYTHONDONTWRITEBYTECODE", "1");
        let output = command.output().map_err(|error| format!("{}: {error}", program.key()))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
            false => Err(format!("{}: {}", program.key(), String::from_utf8_lossy(&output.stderr).trim())),
        }
    }

    /// Returns the command of a runner with `threads` threads. If `taskset` is installed, the runner may only use the same
    /// number of processors.
    pub(crate) fn command(&self, program: Program, threads: usize) -> Result<Command, String> {
        let mut words = Vec::new();
        if let Some(processors) = machine::processors(threads) {
            words.extend(["taskset".into(), "--cpu-list".into(), processors.into()]);
        }
        if program.is_python() {
            let interpreter = self.interpreter.as_ref().ok_or("Python is not available")?;
            words.push(interpreter.clone().into_os_string());
            words.push(self.scripts.join("runner.py").into_os_string());
            words.push(program.key().into());
        } else if program == Program::Baseline {
            let baseline = self.baseline.as_ref().ok_or("no baseline was given")?;
            words.push(baseline.clone().into_os_string());
        } else {
            let name = format!("peer-{}", if program == Program::Floor { "floors" } else { program.key() });
            words.push(self.binaries.join(name).into_os_string());
        }
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg(threads.to_string());
        // The threads of the `zarrs` crate wait for a remote store, so there are more of them on the same processors.
        let is_waiting = self.group == Group::Far
            && matches!(
                program,
                Program::Zarrs | Program::ZarrPythonZarrs | Program::Zarrista | Program::XarrayZarrs
            );
        command.env("RAYON_NUM_THREADS", if is_waiting { REQUESTS } else { threads }.to_string());
        command.env("OMP_NUM_THREADS", threads.to_string());
        command.env("ZARR_KIT_THREADS", threads.to_string());
        command.env("PYTHONPYCACHEPREFIX", self.logs.join("bytecode")).env("PYTHONDONTWRITEBYTECODE", "");
        command.envs(self.network.environment(&self.logs));
        command.envs(self.icechunk.iter().map(|plugin| ("ZARR_PEERS_ICECHUNK", plugin)));
        Ok(command)
    }
}

/// Returns the interpreter of an environment below `folder` with the packages in the file `requirements`. Creates the
/// environment if necessary.
pub(crate) fn environment(folder: &Path, requirements: &Path) -> Result<PathBuf, String> {
    let failed = |error: std::io::Error| format!("the Python environment: {error}");
    let (base, version) = python::find(&PYTHONS)?;
    let environment = folder.join("python");
    // This file is written last. An environment is created again if the file is missing or has other contents.
    let made = environment.join("made-from.txt");
    let wanted = format!("{version}\n{}", fs::read_to_string(requirements).map_err(failed)?);
    if !fs::read_to_string(&made).is_ok_and(|made| made == wanted) {
        println!("creating a Python environment in {}", environment.display());
        if environment.exists() {
            fs::remove_dir_all(&environment).map_err(failed)?;
        }
        python::install(&base, &environment, requirements, &[])?;
        fs::write(&made, wanted).map_err(failed)?;
    }
    Ok(environment.join("bin/python"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_is_an_alias_of_this_engine() {
        assert_eq!(Program::named("ours"), Ok(Program::ZarrKit));
        assert_eq!(Program::named("zarr-python-fused"), Ok(Program::ZarrPythonFused));
        assert!(Program::named("floor").is_err());
    }
}
