//! Folders that are kept open while values are written to them one after another: what is written by such a handle needs
//! no walk along the path, which takes longer than to write a small file.
//!
//! A handle leads to its folder wherever others move it. So one is used for a moment only, much like the folder of a
//! write that is under way when somebody moves it.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;
#[cfg(unix)]
use std::sync::Arc;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Folders that are kept open at most.
const MOST: usize = 8;

/// How long ago a folder may have been moved without that being noticed.
const MOMENT: Duration = Duration::from_millis(50);

/// The folders that were written to last.
#[derive(Debug, Default)]
pub(crate) struct Handles(Mutex<Vec<Kept>>);

#[derive(Debug)]
struct Kept {
    folder: String,
    since: Instant,
    /// None for a folder that one value was written to: it may well get no second one.
    handle: Option<Handle>,
}

impl Handles {
    /// The handle of `folder`, a prefix that lies at `path`, if values are written to it one after another.
    pub(crate) fn of(&self, folder: &str, path: &Path) -> Option<Handle> {
        let now = Instant::now();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(kept) = all.iter_mut().find(|kept| kept.folder == folder) else {
            // The memory of the folder that was added before all others serves for this one.
            let mut kept = match all.len() == MOST {
                true => all.remove(0),
                false => Kept { folder: String::new(), since: now, handle: None },
            };
            kept.folder.clear();
            kept.folder.push_str(folder);
            (kept.since, kept.handle) = (now, None);
            all.push(kept);
            return None;
        };
        if kept.handle.is_none() || now.duration_since(kept.since) > MOMENT {
            // Without a handle the path has to do, and says what is wrong.
            (kept.since, kept.handle) = (now, Handle::open(path).ok());
        }
        kept.handle.clone()
    }

    pub(crate) fn forget_all(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// An open folder.
#[cfg(unix)]
#[derive(Debug, Clone)]
pub(crate) struct Handle(Arc<rustix::fd::OwnedFd>);

#[cfg(unix)]
impl Handle {
    fn open(path: &Path) -> io::Result<Self> {
        use rustix::fs::{Mode, OFlags};

        // Linux lets a folder be opened that may be written to and not read.
        #[cfg(target_os = "linux")]
        let access = OFlags::PATH;
        #[cfg(not(target_os = "linux"))]
        let access = OFlags::RDONLY;
        let folder = rustix::fs::open(path, access | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self(Arc::new(folder)))
    }

    /// As [`File::create_new`], in the folder.
    pub(crate) fn create_new(&self, name: &OsStr) -> io::Result<File> {
        use rustix::fs::{Mode, OFlags};

        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.0, name, flags, Mode::from_raw_mode(0o666))?.into())
    }

    /// As [`std::fs::rename`], inside of the folder.
    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.0, from, &self.0, to)?)
    }
}

/// Elsewhere there are none.
#[cfg(not(unix))]
#[derive(Debug, Clone)]
pub(crate) enum Handle {}

#[cfg(not(unix))]
impl Handle {
    fn open(_path: &Path) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
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
    fn a_folder_is_kept_open_from_its_second_value_on_and_for_a_moment() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        std::fs::create_dir(path("a")).unwrap();
        let handles = Handles::default();
        assert!(handles.of("a/", &path("a")).is_none());
        let handle = handles.of("a/", &path("a")).unwrap();
        handle.create_new("t".as_ref()).unwrap();
        assert_eq!(handle.create_new("t".as_ref()).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        handle.rename("t".as_ref(), "v".as_ref()).unwrap();
        assert!(path("a/v").is_file() && !path("a/t").exists());

        std::fs::rename(path("a"), path("b")).unwrap();
        std::thread::sleep(MOMENT + Duration::from_millis(1));
        assert!(handles.of("a/", &path("a")).is_none());
        std::fs::create_dir(path("a")).unwrap();
        handles.of("a/", &path("a")).unwrap().create_new("t".as_ref()).unwrap();
        assert!(path("a/t").is_file());
        for other in 0..100 {
            handles.of(&other.to_string(), root.path());
        }
        assert!(handles.0.lock().unwrap().len() <= MOST);
    }

    #[test]
    fn a_folder_that_was_removed_takes_no_more_values() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a");
        std::fs::create_dir(&path).unwrap();
        let handle = Handle::open(&path).unwrap();
        std::fs::remove_dir(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert_eq!(handle.create_new("t".as_ref()).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
