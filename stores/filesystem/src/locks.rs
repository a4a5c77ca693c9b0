//! Locks between processes. They make comparing and replacing a value one step.
//!
//! A write first makes its temporary file complete. Only then it takes a lock, for the time of a comparison and a
//! rename. An unconditional write shares the lock with others, because each of them is a single rename. A conditional
//! write excludes all others.
//!
//! | locking | file system | lock |
//! |---|---|---|
//! | `os` | local, see [`is_local`] | the open folder of the value, which needs no additional file |
//! | `os` | other | the file [`FOLDER_LOCK`] in the folder of the value |
//! | `lockfile` | any | a file per value, which exists while the lock is held |
//!
//! The system releases the locks of `os` when a process ends. A folder may be removed while its lock is held. Therefore
//! all steps use the open folder, in which nothing can be created once it is removed; the write then starts again.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use zarr_spec::printable_path;
use zarr_spec::store::{IoKind, StoreError, StoreLock, StoreResult};

use crate::FilesystemStore;
use crate::handles::Handle;
use crate::place::{TEMPORARY, failed};

/// How processes that write to one folder exclude each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Locking {
    /// Locks of the operating system, which releases them when a process ends.
    #[default]
    Os,
    /// Files that exist while a lock is held, for file systems whose locks do not reach other machines. If a process is
    /// killed, its lock file stays and must be removed manually.
    Lockfile,
    /// No locks. The store does not have conditional writes.
    None,
}

/// The lock of a folder on a file system that is not local.
const FOLDER_LOCK: &str = ".zarr-tmp-lock";

/// The prefix of the names of lock files of single values.
const VALUE_LOCK: &str = ".zarr-tmp-lock-";

/// The prefix of the names of lock files that [`zarr_spec::store::Store::lock`] uses.
const CHANGE_LOCK: &str = ".zarr-tmp-change-";

/// A lock for a change of several values may be held for this multiple of the patience for one value, because such a
/// change may write many chunks.
const LONGER_CHANGES: u32 = 20;

/// The time after which a writer gives up if a lock file stays the same.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Whether a write is a single step, or compares first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Shared,
    Exclusive,
}

/// A held lock. Dropping it releases the lock.
pub(crate) enum Held<'h> {
    Nothing,
    Folder(&'h Handle),
    /// Closing the file releases the lock.
    File(#[expect(dead_code, reason = "the open file holds the lock")] File),
    LockFile(#[expect(dead_code, reason = "the lock is held until this is dropped")] LockFile),
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Self::Folder(handle) = self {
            handle.unlock();
        }
    }
}

impl FilesystemStore {
    /// Returns whether a value is locked by locking its open folder.
    pub(crate) fn locks_folders(&self) -> bool {
        self.locking == Locking::Os && self.is_local()
    }

    /// Takes the lock of the value at `path`. `handle` is its open folder, if the store locks folders.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    pub(crate) fn hold<'h>(
        &self,
        handle: Option<&'h Handle>,
        path: &Path,
        access: Access,
    ) -> StoreResult<Held<'h>> {
        let folder = path.parent().unwrap_or(path);
        match (self.locking, handle) {
            (Locking::None, _) => Ok(Held::Nothing),
            (Locking::Os, Some(handle)) if self.is_local() => match handle.lock(access) {
                Ok(()) => Ok(Held::Folder(handle)),
                Err(error) => Err(cannot_lock(folder, error)),
            },
            (Locking::Os, _) => {
                let lock = folder.join(FOLDER_LOCK);
                hold_file(&lock, access).map(Held::File).map_err(|error| cannot_lock(&lock, error))
            }
            (Locking::Lockfile, _) => {
                let lock = lock_of(path, VALUE_LOCK);
                LockFile::create(lock, self.lock_patience).map(Held::LockFile)
            }
        }
    }

    /// Takes the lock of the value at `path` for a change of several values.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    pub(crate) fn hold_change(&self, path: &Path) -> StoreResult<Option<StoreLock>> {
        let lock = lock_of(path, CHANGE_LOCK);
        match self.locking {
            Locking::None => Ok(None),
            Locking::Os => {
                let file = hold_file(&lock, Access::Exclusive).map_err(|error| cannot_lock(&lock, error))?;
                Ok(Some(Box::new(ChangeLock { path: lock, _file: file })))
            }
            Locking::Lockfile => {
                Ok(Some(Box::new(LockFile::create(lock, self.lock_patience * LONGER_CHANGES)?)))
            }
        }
    }

    /// Removes a folder that contains only its lock file. Returns whether the folder was removed.
    pub(crate) fn remove_with_lock(folder: &Path) -> bool {
        let Ok(mut entries) = fs::read_dir(folder) else { return false };
        let is_lock =
            |entry: io::Result<fs::DirEntry>| entry.is_ok_and(|entry| entry.file_name() == FOLDER_LOCK);
        if !entries.next().is_some_and(is_lock) || entries.next().is_some() {
            return false;
        }
        let path = folder.join(FOLDER_LOCK);
        // A waiting process finds that the locked file is not at its path, and starts again.
        let Ok(_held) = hold_file(&path, Access::Exclusive) else { return false };
        fs::remove_file(&path).is_ok() && fs::remove_dir(folder).is_ok()
    }
}

/// The lock file of a change. It is removed at the end of the change. A process that is killed leaves the file,
/// unlocked.
struct ChangeLock {
    path: PathBuf,
    _file: File,
}

impl Drop for ChangeLock {
    fn drop(&mut self) {
        // The file is locked until it is closed. If removing it fails, it stays, unlocked.
        let _removed = fs::remove_file(&self.path);
    }
}

/// Opens and locks a lock file. Another process may remove it before it is locked; then a new one is created.
fn hold_file(path: &Path, access: Access) -> io::Result<File> {
    loop {
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        let locked = match access {
            Access::Shared => file.lock_shared(),
            Access::Exclusive => file.lock(),
        };
        match locked {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(()) if is_at(&file, path) => return Ok(file),
            Ok(()) => {}
        }
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

fn cannot_lock(path: &Path, error: io::Error) -> StoreError {
    if error.kind() != ErrorKind::Unsupported {
        return failed("locking", path, error);
    }
    let what = "the file system does not have locks; open the store with `\"locking\": \"lockfile\"`";
    StoreError::io("locking", printable_path(path).to_string(), what)
}

/// A lock that is held while its file exists.
pub(crate) struct LockFile(PathBuf);

impl LockFile {
    /// Creates the file. Waits while the lock is held, and fails if the lock file stays the same for longer than
    /// `patience`.
    fn create(path: PathBuf, patience: Duration) -> StoreResult<Self> {
        let mut holder = String::new();
        let mut since = Instant::now();
        let mut delay = Duration::from_millis(1);
        loop {
            match File::create_new(&path) {
                Ok(file) => {
                    let lock = Self(path);
                    let written = io::Write::write_all(&mut &file, this_process().as_bytes());
                    return match written {
                        Ok(()) => Ok(lock),
                        Err(error) => Err(failed("locking", &lock.0, error)),
                    };
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed("locking", &path, error)),
            }
            let now = fs::read_to_string(&path).unwrap_or_default();
            if now != holder {
                (holder, since) = (now, Instant::now());
            } else if since.elapsed() > patience {
                return Err(still_held(&path, &holder, since.elapsed()));
            }
            thread::sleep(delay);
            delay = (delay * 2).min(Duration::from_millis(16));
        }
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        // If this fails, the next writer reports the file.
        let _removed = fs::remove_file(&self.0);
    }
}

fn still_held(path: &Path, holder: &str, time: Duration) -> StoreError {
    let shown = printable_path(path);
    let holder = if holder.is_empty() { "another process" } else { holder.trim_end() };
    let what = format!(
        "{holder} has held this lock for {} s; if that process has ended, remove the lock: rm '{shown}'",
        time.as_secs()
    );
    StoreError::io("locking", shown.to_string(), what).with_kind(IoKind::TimedOut)
}

/// Returns the text of a lock file: the process, the host, and a number that distinguishes locks.
fn this_process() -> String {
    static COUNT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let host =
        fs::read_to_string("/proc/sys/kernel/hostname").or_else(|_| fs::read_to_string("/etc/hostname"));
    let host = host.ok().or_else(|| std::env::var("COMPUTERNAME").ok());
    let host = host.as_deref().map_or("an unknown host", str::trim);
    format!("process {} on {host} (lock {number})\n", std::process::id())
}

/// Returns the path of the lock file of the value at `path`.
fn lock_of(path: &Path, prefix: &str) -> PathBuf {
    debug_assert!(prefix.starts_with(TEMPORARY), "hidden");
    let name = path.file_name().unwrap_or_default();
    let mut lock = OsString::from(prefix);
    if name.len() <= 200 {
        lock.push(name);
    } else {
        // The FNV-1a hash of the name. Values with the same hash share a lock, which only makes writers wait.
        let hash = name.as_encoded_bytes().iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        lock.push(format!("{hash:016x}"));
    }
    path.with_file_name(lock)
}
