//! Writing a new value to a file without a name. The file gets its name in one step when it is complete.
//!
//! This takes less time than creating a temporary name and changing it, and an interrupted write leaves nothing. An
//! existing file cannot be replaced in this way.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use zarr_spec::store::Version;

use crate::FilesystemStore;
use crate::handles::Handle;
use crate::steps::{Step, note};

/// A value that was created.
pub(crate) struct Created {
    /// The version, if it was requested.
    pub(crate) version: Option<Version>,
}

/// Whether the file system refused a file without a name.
#[derive(Debug, Default)]
pub(crate) struct UnnamedFiles {
    are_refused: AtomicBool,
}

impl FilesystemStore {
    /// Creates the value at `path` if it does not exist. `handle` is the folder, if it is open.
    ///
    /// Returns `None` if this fails for any reason, and then nothing has changed. The caller writes a file with a name
    /// instead, which also finds the reason.
    pub(crate) fn write_unnamed(
        &self,
        handle: Option<&Handle>,
        path: &Path,
        value: &[u8],
        needs_version: bool,
    ) -> Option<Created> {
        if self.unnamed_files.are_refused.load(Ordering::Relaxed) {
            return None;
        }
        let mut is_synced = false;
        let created = create(handle, path).and_then(|mut file| {
            self.write_contents(&mut file, value, || is_synced = true)?;
            let version = needs_version.then(|| self.version_of_new(&file, value)).transpose()?;
            give_name(&file, handle, path)?;
            Ok(Created { version })
        });
        match created {
            Ok(created) => {
                note(Step::CreateComplete(path, value, is_synced));
                Some(created)
            }
            Err(error) => {
                if is_refusal(&error) {
                    self.unnamed_files.are_refused.store(true, Ordering::Relaxed);
                }
                None
            }
        }
    }
}

/// Returns whether the file system does not have files without a name, so that it will refuse the next one, too:
/// `EOPNOTSUPP`, or `EISDIR` and `EINVAL` of older systems.
fn is_refusal(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::IsADirectory | ErrorKind::InvalidInput)
}

/// Creates a file without a name in the folder of `path`.
#[cfg(target_os = "linux")]
fn create(handle: Option<&Handle>, path: &Path) -> io::Result<File> {
    use rustix::fs::{CWD, Mode, OFlags, openat};

    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o666);
    let file = match handle {
        Some(handle) => openat(handle, ".", flags, mode)?,
        None => openat(CWD, path.parent().unwrap_or(path), flags, mode)?,
    };
    Ok(file.into())
}

/// Gives the name of `path` to a file without a name, unless `path` exists.
#[cfg(target_os = "linux")]
fn give_name(file: &File, handle: Option<&Handle>, path: &Path) -> io::Result<()> {
    use std::os::fd::{AsFd, AsRawFd};

    use rustix::fs::{AtFlags, CWD, linkat};

    let (folder, name) = match (handle, path.file_name()) {
        (Some(handle), Some(name)) => (handle.as_fd(), Path::new(name)),
        _ => (CWD, path),
    };
    match linkat(file, "", folder, name, AtFlags::EMPTY_PATH) {
        // Before Linux 6.10, this is the error for processes without a privilege, which name the file by `/proc`
        // instead. The error may also mean that the folder was removed; then the other call fails, too.
        Err(rustix::io::Errno::NOENT) => {}
        linked => return Ok(linked?),
    }
    let descriptor = format!("/proc/self/fd/{}", file.as_raw_fd());
    match linkat(CWD, &descriptor, folder, name, AtFlags::SYMLINK_FOLLOW) {
        Err(rustix::io::Errno::NOENT) if !Path::new(&descriptor).exists() => {
            Err(ErrorKind::Unsupported.into())
        }
        linked => Ok(linked?),
    }
}

#[cfg(not(target_os = "linux"))]
fn create(_handle: Option<&Handle>, _path: &Path) -> io::Result<File> {
    Err(ErrorKind::Unsupported.into())
}

#[cfg(not(target_os = "linux"))]
fn give_name(_file: &File, _handle: Option<&Handle>, _path: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;

    use zarr_spec::Key;
    use zarr_spec::store::{Condition, Store};

    use super::*;

    #[test]
    fn a_new_value_is_complete_and_an_existing_one_stays() {
        let folder = tempfile::tempdir().unwrap();
        let store = FilesystemStore::open(folder.path()).unwrap();
        let path = folder.path().join("k");
        let handle = Handle::open(folder.path(), true).unwrap();
        for handle in [None, Some(&handle)] {
            assert!(store.write_unnamed(handle, &path, b"new", true).unwrap().version.is_some());
            assert!(store.write_unnamed(handle, &path, b"newer", false).is_none());
            assert_eq!(fs::read(&path).unwrap(), b"new");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
            fs::remove_file(&path).unwrap();
        }
        assert!(!store.unnamed_files.are_refused.load(Ordering::Relaxed));
    }

    #[test]
    fn a_missing_folder_is_not_a_refusal_of_the_file_system() {
        let folder = tempfile::tempdir().unwrap();
        let store = FilesystemStore::open(folder.path()).unwrap();
        let below = folder.path().join("a");
        assert!(store.write_unnamed(None, &below.join("k"), b"v", false).is_none());
        fs::create_dir(&below).unwrap();
        let handle = Handle::open(&below, true).unwrap();
        fs::remove_dir(&below).unwrap();
        assert!(store.write_unnamed(Some(&handle), &below.join("k"), b"v", false).is_none());
        assert!(!store.unnamed_files.are_refused.load(Ordering::Relaxed));
    }

    #[test]
    fn a_file_system_that_refused_is_not_asked_again() {
        use rustix::io::Errno;

        for errno in [Errno::OPNOTSUPP, Errno::ISDIR, Errno::INVAL] {
            assert!(is_refusal(&errno.into()), "{errno}");
        }
        for errno in [Errno::EXIST, Errno::NOENT, Errno::NOSPC, Errno::MFILE, Errno::ACCESS] {
            assert!(!is_refusal(&errno.into()), "{errno}");
        }
        let folder = tempfile::tempdir().unwrap();
        let store = FilesystemStore::open(folder.path()).unwrap();
        store.unnamed_files.are_refused.store(true, Ordering::Relaxed);
        assert!(store.write_unnamed(None, &folder.path().join("k"), b"v", false).is_none());
        let key = Key::new("k").unwrap();
        let created = store.set_if(&key, b"v".as_slice().into(), &Condition::Missing).unwrap();
        assert!(!created.is_conflict());
        assert_eq!(fs::read(folder.path().join("k")).unwrap(), b"v");
    }
}
