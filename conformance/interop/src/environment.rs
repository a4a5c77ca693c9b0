//! Environments of Python and Node with other programs, and the hierarchies that they write.
//!
//! Environments and data are cached below the target directory. Their names contain a hash of everything they
//! are made from, and a lock ensures that only one test makes each of them.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, io};

pub use azurite::{Azurite, azurite};

use python::run;

mod azurite;
mod python;

/// The packages of an environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Packages {
    /// zarr-python 2.18.
    Zarr2,
    /// zarr-python 3, numcodecs, tensorstore.
    Zarr3,
    /// moto, which serves S3 from one process, and zarr-python 3 with the packages to access it.
    ObjectStores,
    /// xarray, zarr-python 3 and numcodecs.
    Xarray,
    /// kerchunk, virtualizarr and h5py.
    References,
    /// zarr-python 2.18 with LMDB.
    Databases,
    /// Packages that provide codecs, data types and stores.
    Known,
    /// The packages of a file in `python/wild`.
    Wild(&'static str),
}

impl Packages {
    fn name(self) -> &'static str {
        match self {
            Self::Zarr2 => "zarr2",
            Self::Zarr3 => "zarr3",
            Self::ObjectStores => "object-stores",
            Self::Xarray => "xarray",
            Self::References => "references",
            Self::Databases => "databases",
            Self::Known => "known",
            Self::Wild(name) => name,
        }
    }

    /// Returns the file that lists the packages, relative to the folder of the scripts.
    fn requirements(self) -> String {
        match self {
            Self::Zarr2 | Self::Zarr3 => format!("requirements-{}.txt", self.name()),
            Self::ObjectStores => "object_stores/requirements.txt".to_owned(),
            Self::Xarray => "copies/requirements.txt".to_owned(),
            Self::References => "references/requirements.txt".to_owned(),
            Self::Databases => "databases/requirements.txt".to_owned(),
            Self::Known => "known_identifiers.txt".to_owned(),
            Self::Wild(name) => format!("wild/{name}.txt"),
        }
    }

    /// Returns options of the installer.
    fn options(self) -> &'static [&'static str] {
        // The file lists all packages, some of which do not accept each other's versions.
        if self == Self::Known { &["--no-deps"] } else { &[] }
    }

    /// Returns the suitable interpreters, newest first. With 3.11, pip silently installs an old zarr-python
    /// 3; zarr-python 2.18 has no wheels for 3.14.
    fn pythons(self) -> &'static [&'static str] {
        match self {
            Self::Zarr2 | Self::Databases | Self::Known | Self::Wild(_) => &["python3.13", "python3.12"],
            Self::Zarr3 | Self::ObjectStores | Self::Xarray | Self::References => {
                &["python3.14", "python3.13", "python3.12"]
            }
        }
    }
}

/// The package of zarrita.js, and its version.
pub const ZARRITA: &str = "zarrita@0.7.5";

/// A program that writes hierarchies for us to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Writer {
    /// zarr-python 3: v2 and v3.
    Zarr3,
    /// zarr-python 2.18: v2.
    Zarr2,
    /// zarr-python 2.18 with its experimental flag: the draft before codec lists.
    Zarr2Draft,
    /// tensorstore: v2 and v3.
    Tensorstore,
    /// numcodecs and plain JSON: v2.
    Numcodecs,
    /// zarr-python 3 and numcodecs: v2 and v3, numeric codecs.
    Numeric,
    /// zarr-python 3 and imagecodecs: v2 and v3, images.
    Images,
    /// The output of [`Writer::Zarr2Draft`], relabelled as the draft with codec lists.
    Relabelled,
    /// GDAL 3.6: its dialect of the draft before codec lists.
    Gdal,
}

impl Writer {
    fn name(self) -> &'static str {
        match self {
            Self::Zarr3 => "zarr3",
            Self::Zarr2 => "zarr2",
            Self::Zarr2Draft => "zarr2-draft",
            Self::Tensorstore => "tensorstore",
            Self::Numcodecs => "numcodecs",
            Self::Numeric => "numeric",
            Self::Images => "images",
            Self::Relabelled => "relabelled",
            Self::Gdal => "gdal",
        }
    }
}

/// Reports that a test cannot run on this machine.
///
/// # Panics
///
/// If the environment variable `CI` is `true`, or the skip cannot be recorded.
pub fn skip(reason: &str) {
    println!("SKIPPED: {reason}");
    if let Some(file) = env::var_os("ZARR_SKIPS") {
        let appended = File::options().append(true).create(true).open(&file);
        let appended = appended.and_then(|mut file| writeln!(file, "SKIPPED: {reason}"));
        assert!(appended.is_ok(), "cannot record the skip in {}: {appended:?}", file.display());
    }
    assert!(
        env::var("CI").as_deref() != Ok("true"),
        "SKIPPED: {reason}; tests must not be skipped when CI=true"
    );
}

/// Returns the folder of the scripts.
#[must_use]
pub fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("python")
}

/// Returns the folder that caches environments and data.
#[must_use]
pub fn kept() -> PathBuf {
    // TensorStore does not accept a path that contains `..`.
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("."));
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    workspace.join(target).join("interop")
}

/// Returns variables that make Python store compiled modules in one folder: none are written next to the scripts, and
/// later processes reuse them.
#[must_use]
pub fn bytecode() -> [(&'static str, OsString); 2] {
    [("PYTHONDONTWRITEBYTECODE", OsString::new()), ("PYTHONPYCACHEPREFIX", kept().join("bytecode").into())]
}

/// Returns the interpreter of an environment with `packages`, which is created if needed. Returns `None`
/// after a visible skip if the machine has no recent enough Python or cannot install the packages.
#[must_use]
pub fn python(packages: Packages) -> Option<PathBuf> {
    match environment(packages) {
        Ok(python) => Some(python),
        Err(reason) => {
            skip(&format!("{}: {reason}", packages.name()));
            None
        }
    }
}

fn environment(packages: Packages) -> Result<PathBuf, String> {
    let (base, version) = python::find(packages.pythons())?;
    let requirements = scripts().join(packages.requirements());
    let listed =
        fs::read_to_string(&requirements).map_err(|error| format!("{}: {error}", requirements.display()))?;
    let directory = kept().join(format!("{}-{:016x}", packages.name(), hash(&(listed, &version))));
    let python = directory.join("bin/python");
    let options = packages.options();
    once(&directory, |partial| python::install(&base, partial, &requirements, options))?;
    Ok(python)
}

/// Returns the folder with the output of `writer` and its `cases.json`; `None` after a visible skip if the
/// writer is not available.
///
/// # Panics
///
/// If the writer is available but fails.
#[must_use]
pub fn written(writer: Writer) -> Option<PathBuf> {
    match write(writer) {
        Ok(directory) => Some(directory),
        Err(reason) => {
            skip(&format!("written by {}: {reason}", writer.name()));
            None
        }
    }
}

fn write(writer: Writer) -> Result<PathBuf, String> {
    let (python, arguments): (PathBuf, Vec<PathBuf>) = match writer {
        Writer::Zarr2 | Writer::Zarr2Draft => {
            (environment(Packages::Zarr2)?, vec![scripts().join("write_cases.py")])
        }
        Writer::Zarr3 | Writer::Tensorstore | Writer::Numcodecs | Writer::Numeric | Writer::Images => {
            (environment(Packages::Zarr3)?, vec![scripts().join("write_cases.py")])
        }
        Writer::Relabelled => (
            environment(Packages::Zarr3)?,
            vec![scripts().join("relabel_draft.py"), write(Writer::Zarr2Draft)?],
        ),
        Writer::Gdal => (gdal()?.0, vec![scripts().join("gdal_write.py")]),
    };
    let directory = kept().join(format!("data-{:016x}", hash_of_scripts(&python)?)).join(writer.name());
    once(&directory, |partial| {
        let mut command = Command::new(&python);
        command.args(&arguments).arg(partial).envs(bytecode());
        match writer {
            Writer::Relabelled | Writer::Gdal => {}
            Writer::Zarr2Draft => {
                command.args(["--sharding", "--writer", writer.name()]);
            }
            _ => {
                command.args(["--writer", writer.name()]);
            }
        }
        // The program is installed, so a failure is not a reason to skip.
        let written = run(&mut command);
        assert!(written.is_ok(), "{}: {written:?}", writer.name());
        Ok(())
    })?;
    Ok(directory)
}

/// Returns the interpreter of the system with the bindings of GDAL, and the version of GDAL.
///
/// # Errors
///
/// If they are not installed.
pub fn gdal() -> Result<(PathBuf, String), String> {
    let python = PathBuf::from("/usr/bin/python3");
    let program = "import numpy; from osgeo import gdal; print(gdal.__version__)";
    let version = run(Command::new(&python).args(["-c", program]))
        .map_err(|_| "no GDAL for /usr/bin/python3 (Debian: python3-gdal)".to_owned())?;
    Ok((python, version.trim().to_owned()))
}

/// Returns a folder whose `node_modules` has a package of npm, for example `azurite@3.35.0`.
///
/// # Errors
///
/// If the machine does not have Node and npm, or cannot install the package.
pub fn node_package(package: &str) -> Result<PathBuf, String> {
    let folder = kept().join(package.replace('@', "-"));
    once(&folder, |partial| {
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]);
        run(npm.arg(partial).arg(package)).map(drop)
    })?;
    Ok(folder)
}

/// Runs one of the scripts; returns its output and whether it succeeded.
///
/// # Panics
///
/// If the script cannot be started.
#[must_use]
pub fn run_script(python: &Path, script: &str, arguments: &[&OsStr]) -> (String, bool) {
    let mut command = Command::new(python);
    command.arg(scripts().join(script)).args(arguments).envs(bytecode());
    match command.output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout);
            let complained = String::from_utf8_lossy(&output.stderr);
            (format!("{said}{complained}"), output.status.success())
        }
        Err(error) => panic!("{command:?} cannot be started: {error}"),
    }
}

/// Makes `directory` with `make`, unless it is complete. The marker file is written last.
fn once(directory: &Path, make: impl FnOnce(&Path) -> Result<(), String>) -> Result<(), String> {
    let failed = |error: io::Error| format!("{}: {error}", directory.display());
    let marker = directory.with_extension("finished");
    if let Some(parent) = directory.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    let lock = File::create(directory.with_extension("lock")).map_err(failed)?;
    lock.lock().map_err(failed)?;
    if marker.exists() && directory.exists() {
        return Ok(());
    }
    if directory.exists() {
        fs::remove_dir_all(directory).map_err(failed)?;
    }
    make(directory)?;
    fs::write(&marker, "").map_err(failed)
}

fn hash_of_scripts(python: &Path) -> Result<u64, String> {
    let mut files = Vec::new();
    for folder in [scripts(), scripts().join("writers")] {
        let listed = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        files.extend(listed.filter_map(|file| Some(file.ok()?.path())).filter(|file| {
            file.extension().is_some_and(|extension| extension == "py" || extension == "txt")
        }));
    }
    files.sort();
    let contents: Result<Vec<_>, _> = files.iter().map(fs::read).collect();
    let contents = contents.map_err(|error| format!("scripts: {error}"))?;
    Ok(hash(&(files, contents, python)))
}

fn hash(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}
