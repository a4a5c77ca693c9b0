//! The files next to a local archive while it is changed: its next state, and a lock.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process;

use zarr_spec::BoxError;

/// The prefix of the names of temporary files.
pub(crate) const TEMPORARY: &str = ".zarr-tmp-";

/// The suffix of the name of the file that is locked while a temporary file exists.
const LOCK: &str = ".lock";

/// A temporary file next to an archive, which excludes changes by other programs. It is removed when this value is
/// dropped.
#[derive(Debug)]
pub(crate) struct Temporary {
    path: PathBuf,
    lock: Lock,
    /// The process that created the file. A forked child does not own it.
    process: u32,
}

impl Temporary {
    /// Takes the lock of the archive at the path `archive`.
    ///
    /// # Errors
    ///
    /// If another program changes the archive.
    pub(crate) fn take(archive: &Path) -> Result<Self, BoxError> {
        let lock = Lock::take(temporary(archive, LOCK))?;
        Ok(Self { path: temporary(archive, ""), lock, process: process::id() })
    }

    /// Creates the file with the first `size` bytes of the archive. Returns it twice, to write and to read.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub(crate) fn create(&self, archive: &Path, size: u64) -> Result<(File, File), BoxError> {
        // The lock excludes other processes, so an existing file of this name was left by one that was killed.
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&self.path)?;
        if size > 0 {
            let copied = io::copy(&mut File::open(archive)?.take(size), &mut &file)?;
            if copied < size {
                return Err("the archive is truncated".into());
            }
        }
        let reader = File::open(&self.path)?;
        Ok((file, reader))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the completed file the name and the permissions of the archive.
    ///
    /// # Errors
    ///
    /// If the file cannot be renamed.
    pub(crate) fn replace(&self, archive: &Path) -> io::Result<()> {
        match fs::metadata(archive) {
            Ok(old) => fs::set_permissions(&self.path, old.permissions())?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        fs::rename(&self.path, archive)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if self.process == process::id() {
            // After a commit, there is no file. The next session overwrites one that cannot be removed.
            let _removed = fs::remove_file(&self.path);
            self.lock.release();
        }
    }
}

/// The lock file of an archive. It is locked, and removed at the end of the session. A process that is killed leaves
/// the file, unlocked.
#[derive(Debug)]
struct Lock {
    path: PathBuf,
    file: File,
}

impl Lock {
    /// Takes the lock. Another process may remove the file before it is locked; then a new one is created.
    fn take(path: PathBuf) -> Result<Self, BoxError> {
        loop {
            let file = File::options().read(true).write(true).create(true).truncate(false).open(&path)?;
            match file.try_lock() {
                Ok(()) if is_at(&file, &path) => return Ok(Self { path, file }),
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err("another program is changing the archive; try again when it has ended".into());
                }
                Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Interrupted => {}
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
        }
    }

    fn release(&self) {
        // If this fails, the file stays, unlocked.
        let _removed = fs::remove_file(&self.path);
        let _unlocked_when_it_is_closed = self.file.unlock();
    }
}

/// Returns whether an open file is still at its path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(there)) => identity(open) == identity(there),
        _ => false,
    }
}

/// Returns true: other systems do not remove a file that is open.
#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> bool {
    true
}

/// Returns the path of a temporary file of the archive.
fn temporary(archive: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(TEMPORARY);
    name.push(archive.file_name().unwrap_or_default());
    name.push(suffix);
    archive.with_file_name(name)
}
