//! `plugins.lock`: the libraries that a user trusts, and those that failed a probe.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use zarr_spec::{printable, printable_path};

use super::files::{read_at_most, writable_by_others};
use super::needs::Needed;
use super::refusal::toml_problem;
use crate::ffi::system::variable;

/// The longest lock file, in bytes.
const MAX_LOCK: u64 = 4 << 20;

/// The contents of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Lock {
    /// Trusted libraries.
    #[serde(default, rename = "plugin", skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<Pin>,
    /// Libraries that are not loaded under any policy.
    #[serde(default, rename = "quarantined", skip_serializing_if = "Vec::is_empty")]
    pub quarantined: Vec<Quarantined>,
}

/// A trusted library: one for each plugin, version and target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// The name of the plugin.
    pub name: String,
    /// The version of the plugin.
    pub version: String,
    /// The platform of the library in manifests: `linux_amd64`, `wasm32`.
    pub target: String,
    /// The path of the library.
    pub path: PathBuf,
    /// SHA-256 of the library.
    pub sha256: String,
    /// The date when the library was trusted: `2026-11-22`.
    pub date: String,
    /// The libraries that the library needs, which are trusted together with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Needed>,
}

/// A library that crashed or hung in a probe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quarantined {
    /// The name of the plugin.
    pub name: String,
    /// SHA-256 of the library.
    pub sha256: String,
    /// A description of the failure.
    pub reason: String,
}

/// Why the lock file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// The system failed.
    #[error("{}: {source}", printable_path(.path))]
    Io {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The file is invalid.
    #[error("{}: {}", printable_path(.path), printable(.message))]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The reason.
        message: String,
    },
    /// Other users can write the lock file or its folder, and could trust any library.
    #[error("{} is writable by users other than you and root; `chmod go-w` fixes it", printable_path(.path))]
    WritableByOthers {
        /// The file or folder.
        path: PathBuf,
    },
}

/// The two files of a user. Only `zarrctl plugins trust` writes trusted libraries, and only `zarrctl plugins
/// probe` writes failed ones, so they are in separate files.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockFiles {
    /// `plugins.lock`
    pub lock: PathBuf,
    /// `plugins.quarantine`, a lock file without pins.
    pub quarantine: PathBuf,
}

impl LockFiles {
    /// Returns the files in the configuration folder of the user, if the environment defines it. Returns `None` for a
    /// program with more rights than the user who started it, such as a set-uid program.
    #[must_use]
    pub fn from_environment() -> Option<Self> {
        Self::from_variables(variable)
    }

    /// Returns the files like [`LockFiles::from_environment`]. `variable` returns the values of environment variables.
    #[must_use]
    pub fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = || Some(absolute("HOME")?.join(".config"));
        let folder = absolute("XDG_CONFIG_HOME").or_else(home)?.join("zarr");
        Some(Self { lock: folder.join("plugins.lock"), quarantine: folder.join("plugins.quarantine") })
    }

    /// Reads both files.
    ///
    /// # Errors
    ///
    /// [`LockError`].
    pub fn read(&self) -> Result<Lock, LockError> {
        let mut lock = Lock::read(&self.lock)?;
        Lock::read(&self.quarantine)?.quarantined.into_iter().for_each(|found| lock.quarantine(found));
        Ok(lock)
    }
}

impl Lock {
    /// Reads the file. A missing file trusts nothing.
    ///
    /// # Errors
    ///
    /// [`LockError`].
    pub fn read(path: &Path) -> Result<Self, LockError> {
        let bytes = match read_at_most(path, MAX_LOCK) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(LockError::Io { path: path.to_owned(), source }),
        };
        if let Some(path) = writable_by_others(path) {
            return Err(LockError::WritableByOthers { path });
        }
        toml::from_slice(&bytes).map_err(|error| {
            let message = toml_problem(&String::from_utf8_lossy(&bytes), &error);
            LockError::Invalid { path: path.to_owned(), message }
        })
    }

    /// Changes the file. Only one process at a time changes the file, so that no change is lost.
    ///
    /// # Errors
    ///
    /// [`LockError`].
    pub fn update<T>(path: &Path, change: impl FnOnce(&mut Self) -> T) -> Result<T, LockError> {
        // The lock is released when the file is closed.
        let _exclusive = exclusive(path).map_err(|source| LockError::Io { path: path.to_owned(), source })?;
        let mut lock = Self::read(path)?;
        let outcome = change(&mut lock);
        lock.write(path)?;
        Ok(outcome)
    }

    /// Trusts a library. Replaces the pin of the same plugin, version and target. Does not end a quarantine.
    pub fn trust(&mut self, pin: Pin) {
        self.pins.retain(|other| !other.is_for(&pin.name, &pin.version, &pin.target));
        self.pins.push(pin);
    }

    /// Adds a library to the quarantine: it is not loaded.
    pub fn quarantine(&mut self, quarantined: Quarantined) {
        self.quarantined.retain(|other| other.sha256 != quarantined.sha256);
        self.quarantined.push(quarantined);
    }

    /// Removes a library from the quarantine. Returns whether the library was in the quarantine.
    pub fn release(&mut self, sha256: &str) -> bool {
        let before = self.quarantined.len();
        self.quarantined.retain(|found| found.sha256 != sha256);
        self.quarantined.len() < before
    }

    /// Returns the pin of the plugin `name` in version `version` for the platform `target`.
    #[must_use]
    pub fn pin(&self, name: &str, version: &str, target: &str) -> Option<&Pin> {
        self.pins.iter().find(|pin| pin.is_for(name, version, target))
    }

    /// Writes the file atomically, and creates the folder. Only the owner can read the file and a new folder.
    ///
    /// # Errors
    ///
    /// [`LockError::Io`].
    pub fn write(&self, path: &Path) -> Result<(), LockError> {
        let io = |source| LockError::Io { path: path.to_owned(), source };
        let text = toml::to_string(self)
            .map_err(|error| LockError::Invalid { path: path.to_owned(), message: error.to_string() })?;
        create_folder(path).map_err(io)?;
        let temporary = path.with_extension(format!("new-{}", std::process::id()));
        let mut file =
            fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary).map_err(io)?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        let renamed = written.and_then(|()| fs::rename(&temporary, path));
        renamed.map_err(|source| {
            // The error of the removal is ignored: the error of writing is reported.
            let _removed = fs::remove_file(&temporary);
            io(source)
        })
    }
}

impl Pin {
    fn is_for(&self, name: &str, version: &str, target: &str) -> bool {
        self.name == name && self.version == version && self.target == target
    }
}

fn create_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| fs::DirBuilder::new().recursive(true).mode(0o700).create(folder))
}

/// Waits until no other process changes the lock file at `path`. A separate file is locked, because writing
/// replaces the lock file.
fn exclusive(path: &Path) -> io::Result<File> {
    create_folder(path)?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".flock");
    let mut options = File::options();
    options.write(true).create(true).truncate(false).mode(0o600);
    let file = options.custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path.with_file_name(name))?;
    file.lock()?;
    Ok(file)
}
