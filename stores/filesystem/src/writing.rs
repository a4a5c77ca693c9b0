//! Writing a value to a temporary file and renaming it.

use std::collections::hash_map::RandomState;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
#[cfg(unix)]
use std::time::{SystemTime, UNIX_EPOCH};

#[cfg(target_os = "linux")]
use rustix::fs::CWD;
use zarr_spec::store::{Condition, ConditionalWrite, StoreError, StoreLock, StoreResult, Version};
use zarr_spec::{Key, Prefix};

use crate::folders::Known;
#[cfg(target_os = "linux")]
use crate::handles::rename_to_new;
use crate::handles::{Handle, Opening};
use crate::locks::Access;
use crate::place::{TEMPORARY, failed, parent, refused};
use crate::state::State;
use crate::steps::{self, Step, note};
use crate::unnamed::Created;
use crate::{Durability, FilesystemStore, Writer, listing, removing};

/// How often to retry after another process removed the folder.
const ATTEMPTS: usize = 100;

impl FilesystemStore {
    /// Writes a value if `condition` holds; without a condition, always. Tries again if another process removes the
    /// folder of the value.
    pub(crate) fn write(
        &self,
        key: &Key,
        value: &[u8],
        condition: Option<&Condition>,
        writer: &mut Writer,
    ) -> StoreResult<ConditionalWrite> {
        self.base.put_value(key, &mut writer.value)?;
        self.retried(|is_retry| {
            if is_retry {
                writer.handles.forget_all();
            }
            self.write_once(key, value, condition, writer)
        })
    }

    /// Takes the lock of the value of `key` for a change of several values. Creates the folder of the value.
    pub(crate) fn lock_change(&self, key: &Key) -> StoreResult<Option<StoreLock>> {
        let path = self.base.value(key)?;
        self.retried(|_is_retry| {
            self.folders.make(&self.base, key.as_str(), parent(key.as_str()).unwrap_or_default())?;
            self.hold_change(&path)
        })
    }

    /// Calls `attempt` again while it fails because another process removed the folder. The argument of `attempt` is
    /// whether this is a retry.
    fn retried<T>(&self, mut attempt: impl FnMut(bool) -> StoreResult<T>) -> StoreResult<T> {
        let mut result = attempt(false);
        for _ in 1..ATTEMPTS {
            if !result.as_ref().is_err_and(is_gone) {
                break;
            }
            self.folders.forget_all();
            thread::yield_now();
            result = attempt(true);
        }
        result
    }

    /// Writes the value to the path in `writer`.
    fn write_once(
        &self,
        key: &Key,
        value: &[u8],
        condition: Option<&Condition>,
        writer: &mut Writer,
    ) -> StoreResult<ConditionalWrite> {
        let Writer { value: path, temporary, handles, names, replaces } = writer;
        if self.durability == Durability::Full {
            self.existing_ancestor.get_or_init(|| self.closest_folder());
        }
        let path = Path::new(path);
        let folder = parent(key.as_str()).unwrap_or_default();
        let (handle, known) = match handles.of(folder) {
            Some((handle, known)) => (Some(handle), known),
            None => {
                let known = self.folders.make(&self.base, key.as_str(), folder)?;
                let opening = match self.locks_folders() {
                    true if condition == Some(&Condition::Missing) => Opening::LaterAsLock,
                    true => Opening::NowAsLock,
                    false => Opening::Later,
                };
                (path.parent().and_then(|path| handles.open(folder, known, path, opening)), known)
            }
        };
        // In a folder that the store created, nothing needs to be refused: it does not contain links, and renaming a
        // file to an existing folder fails.
        if known == Known::Found {
            self.clear_path(key, path)?;
        }
        let is_new = self.is_probably_new(condition, known);
        let predicts_new = is_new && (condition.is_some() || !*replaces);
        let created = match predicts_new {
            true => self.write_unnamed(handle, path, value, condition.is_some()),
            false => None,
        };
        let version = if let Some(Created { version }) = created {
            version
        } else {
            let place = |path: &mut OsString| {
                self.base.put_below(folder, path);
                names.put_unused(path);
            };
            let writing = |error| failed("writing", path, error);
            let mut temporary = Temporary::create(temporary, place, handle).map_err(writing)?;
            let version = temporary.write(value, self, condition.is_some()).map_err(writing)?;
            let is_renamed = is_new && temporary.rename_to_new(path).unwrap_or(false);
            *replaces = is_new && !is_renamed;
            if !is_renamed && !self.rename_if(&mut temporary, key, path, condition)? {
                return Ok(ConditionalWrite::Conflict);
            }
            version
        };
        if self.durability == Durability::Full {
            self.sync_names(folder).map_err(|error| failed("writing", path, error))?;
        }
        Ok(ConditionalWrite::Done(version))
    }

    /// Returns whether to try to create the value first, as if it did not exist.
    ///
    /// Creating a name is one step, so it needs no lock. If it fails, the value exists, and the steps with a lock
    /// follow.
    fn is_probably_new(&self, condition: Option<&Condition>, known: Known) -> bool {
        let is_probable = match condition {
            Some(condition) => *condition == Condition::Missing,
            // A folder that the store created usually does not contain a value with this name yet.
            None => known == Known::Created,
        };
        is_probable && self.locks_folders()
    }

    /// Renames a temporary file to the path of a value if `condition` holds; without a condition, always. Returns
    /// whether the file was renamed.
    fn rename_if(
        &self,
        temporary: &mut Temporary<'_>,
        key: &Key,
        path: &Path,
        condition: Option<&Condition>,
    ) -> StoreResult<bool> {
        let opened;
        let handle = match temporary.handle {
            None if self.locks_folders() => {
                let folder = path.parent().unwrap_or(path);
                opened = Handle::open(folder, true).map_err(|error| failed("locking", folder, error))?;
                Some(&opened)
            }
            handle => handle,
        };
        let access = if condition.is_some() { Access::Exclusive } else { Access::Shared };
        let _held = self.hold(handle, path, access)?;
        if let Some(condition) = condition
            && !condition.holds(self.current_version(path)?.as_ref())
        {
            return Ok(false);
        }
        steps::after_comparison();
        if condition == Some(&Condition::Missing) && self.locks_folders() {
            return self.rename_to_missing(temporary, key, path);
        }
        self.rename(temporary, key, path)?;
        Ok(true)
    }

    /// Renames a temporary file to the path of a missing value. Returns false if the value exists: a writer that creates
    /// a value takes no lock, so it may have created this one after the comparison.
    fn rename_to_missing(&self, temporary: &mut Temporary<'_>, key: &Key, path: &Path) -> StoreResult<bool> {
        let mut named = temporary.name_new(path);
        if matches!(named, Ok(false)) && path.is_dir() {
            self.clear_path(key, path)?;
            named = temporary.name_new(path);
        }
        match named {
            // Without such a step in the file system, each writer took the lock.
            Err(error) if is_unsupported(&error) => self.rename(temporary, key, path).map(|()| true),
            named => named.map_err(|error| failed("writing", path, error)),
        }
    }

    /// Renames a temporary file to the path of a value. Removes an empty folder there.
    fn rename(&self, temporary: &mut Temporary<'_>, key: &Key, path: &Path) -> StoreResult<()> {
        let Err(error) = temporary.rename(path) else { return Ok(()) };
        if !path.is_dir() {
            return Err(failed("writing", path, error));
        }
        self.clear_path(key, path)?;
        temporary.rename(path).map_err(|error| match path.is_dir() {
            true => there_are_keys_below(key),
            false => failed("writing", path, error),
        })
    }

    /// Writes the bytes of a new file. If the store is durable, waits for the disk, and calls `synced` directly after
    /// that.
    pub(crate) fn write_contents(
        &self,
        file: &mut File,
        value: &[u8],
        synced: impl FnOnce(),
    ) -> io::Result<()> {
        file.write_all(value)?;
        if self.locks_folders() {
            set_time(file)?;
        }
        if self.durability != Durability::None {
            // `sync_data` would not sync the time, which is a part of the version.
            file.sync_all()?;
            synced();
        }
        Ok(())
    }

    /// Returns the version of a file that was just written.
    pub(crate) fn version_of_new(&self, file: &File, value: &[u8]) -> io::Result<Version> {
        self.version_of(file, &State::of(file)?, Some(value))
    }

    /// Removes empty folders at the path of a value. Refuses a link to a folder, which a rename would replace
    /// like a file.
    fn clear_path(&self, key: &Key, path: &Path) -> StoreResult<()> {
        match fs::symlink_metadata(path) {
            Ok(there) if there.is_symlink() && path.is_dir() => Err(there_are_keys_below(key)),
            Ok(there) if there.is_dir() => {
                let below = Prefix::new(format!("{key}/"))?;
                if listing::has_keys(&self.base, &below)? {
                    return Err(there_are_keys_below(key));
                }
                self.folders.forget_all();
                removing::remove_empty(path).map_err(|error| failed("writing", path, error))
            }
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(failed("writing", path, error)),
        }
    }

    /// Syncs the names in `folder` and its parents to disk.
    fn sync_names(&self, folder: &str) -> io::Result<()> {
        let mut above = Some(folder);
        while let Some(folder) = above {
            sync_folder(&self.base.below(folder))?;
            above = parent(folder);
        }
        // The write also created the root and the folders above it.
        let Some(before) = self.existing_ancestor.get() else { return Ok(()) };
        let mut made_in = self.path().ancestors().skip(1).take_while(|folder| folder.starts_with(before));
        made_in.try_for_each(sync_folder)
    }

    /// Returns the closest existing folder at or above the root.
    pub(crate) fn closest_folder(&self) -> PathBuf {
        self.path().ancestors().find(|folder| folder.is_dir()).unwrap_or(self.path()).to_owned()
    }
}

fn there_are_keys_below(key: &Key) -> StoreError {
    refused(
        key.as_str(),
        format!("`{key}/` is a folder: a path cannot be both a value and a prefix of other keys"),
    )
}

/// Returns whether an operation failed because another process removed the folder or the file.
pub(crate) fn is_gone(error: &StoreError) -> bool {
    let StoreError::Io { source, .. } = error else { return false };
    source.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::NotFound)
}

/// Returns whether a file system cannot rename or link a file only if the new name is free: `EINVAL`, `ENOSYS` and
/// `EOPNOTSUPP`, or `EPERM` for links.
fn is_unsupported(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::InvalidInput | ErrorKind::PermissionDenied)
}

/// A temporary file, removed on drop unless it was renamed.
struct Temporary<'p> {
    path: &'p Path,
    /// The handle of its folder, if open.
    handle: Option<&'p Handle>,
    file: Option<File>,
    is_renamed: bool,
}

impl<'p> Temporary<'p> {
    /// Creates a new file. If a path is taken, `place` is called again, which replaces `path` with another path.
    fn create(
        path: &'p mut OsString,
        mut place: impl FnMut(&mut OsString),
        handle: Option<&'p Handle>,
    ) -> io::Result<Self> {
        loop {
            place(path);
            let file = match (handle, Path::new(path).file_name()) {
                (Some(handle), Some(name)) => handle.create_new(name),
                _ => File::create_new(&*path),
            };
            match file {
                Ok(file) => {
                    note(Step::Create(Path::new(path)));
                    return Ok(Self { path: Path::new(path), handle, file: Some(file), is_renamed: false });
                }
                // A crashed program with the same random number left this file.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Writes the value and closes the file, since some systems cannot rename or remove an open file. Returns the
    /// version if it is requested.
    fn write(
        &mut self,
        value: &[u8],
        store: &FilesystemStore,
        needs_version: bool,
    ) -> io::Result<Option<Version>> {
        let Some(mut file) = self.file.take() else { return Ok(None) };
        note(Step::Write(self.path, value));
        store.write_contents(&mut file, value, || note(Step::SyncFile(self.path)))?;
        match needs_version {
            true => store.version_of_new(&file, value).map(Some),
            false => Ok(None),
        }
    }

    /// Renames the file to `path`, in the same folder.
    fn rename(&mut self, path: &Path) -> io::Result<()> {
        match (self.handle, self.path.file_name(), path.file_name()) {
            (Some(handle), Some(from), Some(to)) => handle.rename(from, to)?,
            _ => fs::rename(self.path, path)?,
        }
        note(Step::Rename(self.path, path));
        self.is_renamed = true;
        Ok(())
    }

    /// Gives the file the name `path`, in the same folder, in one step. Returns false if `path` exists. The error is
    /// [`is_unsupported`] if the file system has no such step.
    fn name_new(&mut self, path: &Path) -> io::Result<bool> {
        match self.rename_to_new(path) {
            Err(error) if is_unsupported(&error) => self.link_to_new(path),
            renamed => renamed,
        }
    }

    /// Renames the file to `path`, in the same folder. Returns false if `path` exists.
    #[cfg(target_os = "linux")]
    fn rename_to_new(&mut self, path: &Path) -> io::Result<bool> {
        let renamed = match (self.handle, self.path.file_name(), path.file_name()) {
            (Some(handle), Some(from), Some(to)) => handle.rename_to_new(from, to),
            _ => rename_to_new(CWD, self.path, CWD, path),
        };
        self.named(path, renamed)
    }

    /// Like [`Temporary::rename_to_new`], with a second name for the file, from which the first one is then removed.
    #[cfg(target_os = "linux")]
    fn link_to_new(&mut self, path: &Path) -> io::Result<bool> {
        let linked = match (self.handle, self.path.file_name(), path.file_name()) {
            (Some(handle), Some(from), Some(to)) => handle.link_to_new(from, to),
            _ => fs::hard_link(self.path, path),
        };
        if linked.is_ok() {
            // The file is complete. If this fails, a hidden file remains.
            let _removed = fs::remove_file(self.path);
        }
        self.named(path, linked)
    }

    /// Returns whether the file has its new name; false if the name exists.
    #[cfg(target_os = "linux")]
    fn named(&mut self, path: &Path, named: io::Result<()>) -> io::Result<bool> {
        match named {
            Ok(()) => {
                note(Step::Rename(self.path, path));
                self.is_renamed = true;
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Fails: on other systems, lock files protect values.
    #[cfg(not(target_os = "linux"))]
    fn rename_to_new(&mut self, _path: &Path) -> io::Result<bool> {
        Err(ErrorKind::Unsupported.into())
    }

    #[cfg(not(target_os = "linux"))]
    fn link_to_new(&mut self, _path: &Path) -> io::Result<bool> {
        Err(ErrorKind::Unsupported.into())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        self.file = None;
        if !self.is_renamed {
            // The original failure is more important, and a remaining file is hidden.
            if fs::remove_file(self.path).is_ok() {
                note(Step::Remove(self.path));
            }
        }
    }
}

/// Generates the names of one thread's temporary files.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// The text after [`TEMPORARY`](crate::place::TEMPORARY): a random number of this process, and the number
    /// of this generator.
    begin: String,
    count: u64,
}

impl Names {
    /// Appends a new hidden name.
    fn put_unused(&mut self, path: &mut OsString) {
        static PROCESS: OnceLock<u64> = OnceLock::new();
        static COUNT: AtomicU64 = AtomicU64::new(0);
        if self.begin.is_empty() {
            let process = PROCESS.get_or_init(|| RandomState::new().build_hasher().finish());
            self.begin = format!("{process:016x}-{:x}", COUNT.fetch_add(1, Ordering::Relaxed));
        }
        self.count += 1;
        let _always_succeeds = write!(path, "{TEMPORARY}{}-{:x}", self.begin, self.count);
    }
}

/// Sets the time of the last change from a clock of nanoseconds: see [`crate::versions`].
#[cfg(unix)]
fn set_time(file: &File) -> io::Result<()> {
    use rustix::fs::{Timespec, Timestamps, UTIME_OMIT, futimens};

    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let last_access = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let last_modification = Timespec { tv_sec: seconds, tv_nsec: now.subsec_nanos().into() };
    Ok(futimens(file, &Timestamps { last_access, last_modification })?)
}

/// Does nothing: the version is a hash on other systems.
#[cfg(not(unix))]
fn set_time(_file: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()?;
    note(Step::SyncFolder(path));
    Ok(())
}

/// Does nothing: other systems do not open folders, and their file systems journal names.
#[cfg(not(unix))]
pub(crate) fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use zarr_spec::store::Store;

    use super::*;

    #[test]
    fn a_failure_does_not_leave_a_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let is_empty = || fs::read_dir(folder.path()).unwrap().next().is_none();
        let mut path = OsString::new();
        let mut other = OsString::new();
        let place = |path: &mut OsString| *path = folder.path().join("temporary").into();
        let mut temporary = Temporary::create(&mut path, place, None).unwrap();
        let store = FilesystemStore::open(folder.path()).unwrap();
        temporary.write(b"v", &store, false).unwrap();
        assert!(!is_empty());
        // A file cannot replace a folder.
        assert!(temporary.rename(folder.path()).is_err());
        drop(temporary);
        assert!(is_empty());

        let mut temporary = Temporary::create(&mut other, place, None).unwrap();
        let version = temporary.write(b"v", &store.durable(Durability::Full), true).unwrap();
        assert!(version.is_some());
        temporary.rename(&folder.path().join("k")).unwrap();
        drop(temporary);
        assert_eq!(fs::read(folder.path().join("k")).unwrap(), b"v");
    }

    #[test]
    fn an_existing_file_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let taken = folder.path().join("taken");
        fs::write(&taken, b"by others").unwrap();
        let asked = std::cell::Cell::new(0);
        let mut path = OsString::new();
        let place = |path: &mut OsString| {
            asked.set(asked.get() + 1);
            *path = if asked.get() < 3 { taken.clone().into() } else { folder.path().join("free").into() };
        };
        let temporary = Temporary::create(&mut path, place, None);
        assert_eq!(temporary.unwrap().path, folder.path().join("free"));
        assert_eq!((asked.get(), fs::read(&taken).unwrap()), (3, b"by others".to_vec()));
    }

    /// A writer that creates a value takes no lock, so another one may create the value between the comparison and the
    /// rename of this one.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_value_that_appears_after_the_comparison_is_a_conflict() {
        let folder = tempfile::tempdir().unwrap();
        let store = FilesystemStore::open(folder.path()).unwrap();
        let key = Key::new("a/k").unwrap();
        let path = folder.path().join("a/k");
        fs::create_dir(folder.path().join("a")).unwrap();
        let mut name = OsString::new();
        let place = |name: &mut OsString| *name = folder.path().join("a/.zarr-tmp-1").into();
        let mut temporary = Temporary::create(&mut name, place, None).unwrap();
        temporary.write(b"second", &store, false).unwrap();
        let other = FilesystemStore::open(folder.path()).unwrap();
        let other_key = key.clone();
        steps::set_other_writer(move || {
            let created = other.set_if(&other_key, b"first".into(), &Condition::Missing);
            assert!(!created.unwrap().is_conflict());
        });
        assert!(!store.rename_if(&mut temporary, &key, &path, Some(&Condition::Missing)).unwrap());
        drop(temporary);
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert_eq!(fs::read_dir(folder.path().join("a")).unwrap().count(), 1);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_gets_a_new_name_by_a_rename_or_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let handle = Handle::open(folder.path(), true).unwrap();
        let store = FilesystemStore::open(folder.path()).unwrap();
        let free = folder.path().join("free");
        let taken = folder.path().join("taken");
        fs::write(&taken, b"by others").unwrap();
        let steps: [fn(&mut Temporary<'_>, &Path) -> io::Result<bool>; 2] =
            [|file, path| file.rename_to_new(path), |file, path| file.link_to_new(path)];
        for (step, handle) in steps.into_iter().flat_map(|step| [(step, None), (step, Some(&handle))]) {
            let mut name = OsString::new();
            let place = |name: &mut OsString| *name = folder.path().join(".zarr-tmp-1").into();
            let mut temporary = Temporary::create(&mut name, place, handle).unwrap();
            temporary.write(b"v", &store, false).unwrap();
            assert!(!step(&mut temporary, &taken).unwrap());
            assert!(step(&mut temporary, &free).unwrap());
            drop(temporary);
            assert_eq!(fs::read(&taken).unwrap(), b"by others");
            assert_eq!(fs::read(&free).unwrap(), b"v");
            fs::remove_file(&free).unwrap();
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }
}
