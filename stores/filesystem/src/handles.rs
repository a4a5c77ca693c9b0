//! Folder handles that stay open while a thread writes several values to the same folder.
//!
//! Resolving a path takes longer than writing a small file; a handle avoids it. A handle follows its folder
//! when another process moves it, so it is used only for a short time. The effect is the same as if the
//! folder moved during a write.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::folders::Known;
use crate::locks::Access;

/// Maximum number of open folders per thread.
const MAX_FOLDERS: usize = 2;

/// The maximum age of a handle. A folder that is moved within this time still receives values.
const MAX_AGE: Duration = Duration::from_millis(50);

/// The folders that one thread wrote to last. Each thread has its own handles, so threads do not wait for
/// each other.
#[derive(Debug, Default)]
pub(crate) struct Handles(Vec<Folder>);

#[derive(Debug)]
struct Folder {
    folder: String,
    since: Instant,
    known: Known,
    /// `None` after the first value: most folders do not receive a second one.
    handle: Option<Handle>,
}

/// When to open a folder, and whether it can serve as a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening {
    /// When a second value is written to the folder.
    Later,
    /// When a second value is written to the folder, so that the folder can be locked.
    LaterAsLock,
    /// When the first value is written to the folder, so that the folder can be locked.
    NowAsLock,
}

impl Handles {
    /// Returns the handle of `folder`, a prefix, if it is open and recent.
    pub(crate) fn of(&self, folder: &str) -> Option<(&Handle, Known)> {
        let entry = self.0.iter().find(|entry| entry.folder == folder)?;
        let handle = entry.handle.as_ref().filter(|_| entry.since.elapsed() <= MAX_AGE)?;
        Some((handle, entry.known))
    }

    /// Records that a value is written to `folder` at `path`. Opens the folder now or for its next value, as `opening`
    /// requires.
    pub(crate) fn open(
        &mut self,
        folder: &str,
        known: Known,
        path: &Path,
        opening: Opening,
    ) -> Option<&Handle> {
        let since = Instant::now();
        let is_lock = opening != Opening::Later;
        let Some(place) = self.0.iter().position(|entry| entry.folder == folder) else {
            // Reuses the memory of the oldest entry.
            let mut entry = match self.0.len() == MAX_FOLDERS {
                true => self.0.remove(0),
                false => Folder { folder: String::new(), since, known, handle: None },
            };
            entry.folder.clear();
            entry.folder.push_str(folder);
            let handle = (opening == Opening::NowAsLock).then(|| Handle::open(path, true).ok()).flatten();
            self.0.push(Folder { since, known, handle, ..entry });
            return self.0.last()?.handle.as_ref();
        };
        let entry = self.0.get_mut(place)?;
        // Without a handle the caller uses the path, which also produces the error message.
        (entry.since, entry.known, entry.handle) = (since, known, Handle::open(path, is_lock).ok());
        entry.handle.as_ref()
    }

    pub(crate) fn forget_all(&mut self) {
        self.0.clear();
    }
}

/// Renames a file in one step, unless a file with the new name exists.
///
/// # Errors
///
/// If the new name exists, or the file system does not support this.
#[cfg(target_os = "linux")]
pub(crate) fn rename_to_new(
    from_folder: impl rustix::fd::AsFd,
    from: &Path,
    to_folder: impl rustix::fd::AsFd,
    to: &Path,
) -> io::Result<()> {
    let flags = rustix::fs::RenameFlags::NOREPLACE;
    Ok(rustix::fs::renameat_with(from_folder, from, to_folder, to, flags)?)
}

/// An open folder.
#[cfg(unix)]
#[derive(Debug)]
pub(crate) struct Handle(rustix::fd::OwnedFd);

#[cfg(target_os = "linux")]
impl rustix::fd::AsFd for Handle {
    fn as_fd(&self) -> rustix::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(unix)]
impl Handle {
    /// Opens a folder. A folder that serves as a lock must be readable.
    pub(crate) fn open(path: &Path, is_lock: bool) -> io::Result<Self> {
        use rustix::fs::{Mode, OFlags};

        // Linux can open a folder that is writable but not readable.
        #[cfg(target_os = "linux")]
        let access = if is_lock { OFlags::RDONLY } else { OFlags::PATH };
        #[cfg(not(target_os = "linux"))]
        let access = {
            let _it_is_always_readable = is_lock;
            OFlags::RDONLY
        };
        let folder = rustix::fs::open(path, access | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self(folder))
    }

    /// Like [`File::create_new`], in this folder.
    pub(crate) fn create_new(&self, name: &OsStr) -> io::Result<File> {
        use rustix::fs::{Mode, OFlags};

        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.0, name, flags, Mode::from_raw_mode(0o666))?.into())
    }

    /// Like [`std::fs::rename`], inside of this folder.
    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.0, from, &self.0, to)?)
    }

    /// Like [`rename_to_new`], inside of this folder.
    #[cfg(target_os = "linux")]
    pub(crate) fn rename_to_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        rename_to_new(&self.0, Path::new(from), &self.0, Path::new(to))
    }

    /// Like [`std::fs::hard_link`], inside of this folder.
    #[cfg(target_os = "linux")]
    pub(crate) fn link_to_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::linkat(&self.0, from, &self.0, to, rustix::fs::AtFlags::empty())?)
    }

    /// Like [`std::fs::remove_file`], in this folder.
    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, rustix::fs::AtFlags::empty())?)
    }

    /// Waits for the lock of the folder. Each handle is a separate owner of the lock, even within one process.
    pub(crate) fn lock(&self, access: Access) -> io::Result<()> {
        use rustix::fs::FlockOperation::{LockExclusive, LockShared};

        let operation = if access == Access::Shared { LockShared } else { LockExclusive };
        Ok(rustix::io::retry_on_intr(|| rustix::fs::flock(&self.0, operation))?)
    }

    pub(crate) fn unlock(&self) {
        // If this fails, the lock is released when the folder is closed.
        let _unlocked = rustix::fs::flock(&self.0, rustix::fs::FlockOperation::Unlock);
    }
}

/// Other systems do not have folder handles.
#[cfg(not(unix))]
#[derive(Debug)]
pub(crate) enum Handle {}

#[cfg(not(unix))]
impl Handle {
    pub(crate) fn open(_path: &Path, _is_lock: bool) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn remove(&self, _name: &OsStr) -> io::Result<()> {
        match *self {}
    }

    pub(crate) fn lock(&self, _access: Access) -> io::Result<()> {
        match *self {}
    }

    pub(crate) fn unlock(&self) {
        match *self {}
    }

    pub(crate) fn create_new(&self, _name: &OsStr) -> io::Result<File> {
        match *self {}
    }

    pub(crate) fn rename(&self, _from: &OsStr, _to: &OsStr) -> io::Result<()> {
        match *self {}
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_folder_briefly_stays_open_after_its_second_value() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        std::fs::create_dir(path("a")).unwrap();
        let mut handles = Handles::default();
        assert!(handles.of("a/").is_none());
        assert!(handles.open("a/", Known::Created, &path("a"), Opening::Later).is_none());
        assert!(handles.of("a/").is_none());
        assert!(handles.open("a/", Known::Created, &path("a"), Opening::Later).is_some());
        let (handle, known) = handles.of("a/").unwrap();
        assert_eq!(known, Known::Created);
        handle.create_new("t".as_ref()).unwrap();
        assert_eq!(handle.create_new("t".as_ref()).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        handle.rename("t".as_ref(), "v".as_ref()).unwrap();
        assert!(path("a/v").is_file() && !path("a/t").exists());

        std::fs::rename(path("a"), path("b")).unwrap();
        std::thread::sleep(MAX_AGE + Duration::from_millis(1));
        assert!(handles.of("a/").is_none());
        assert!(handles.open("a/", Known::Found, &path("a"), Opening::Later).is_none());
        std::fs::create_dir(path("a")).unwrap();
        handles
            .open("a/", Known::Found, &path("a"), Opening::Later)
            .unwrap()
            .create_new("t".as_ref())
            .unwrap();
        assert!(path("a/t").is_file());
        for other in 0..100 {
            handles.open(&other.to_string(), Known::Found, root.path(), Opening::Later);
        }
        assert!(handles.0.len() <= MAX_FOLDERS);
    }

    #[test]
    fn a_removed_folder_does_not_accept_values() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a");
        std::fs::create_dir(&path).unwrap();
        let handle = Handle::open(&path, false).unwrap();
        std::fs::remove_dir(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert_eq!(handle.create_new("t".as_ref()).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
