//! Folders that are kept open while values are written to them one after another: what is written by such a handle needs
//! no walk along the path, which takes longer than to write a small file.
//!
//! A handle leads to its folder wherever others move it. So one is used for a moment only, much like the folder of a
//! write that is under way when somebody moves it.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::folders::Known;

/// Folders that each thread keeps open at most.
const MOST: usize = 2;

/// How long ago a folder may have been moved without that being noticed.
const MOMENT: Duration = Duration::from_millis(50);

/// The folders that one thread has written to last: no thread waits for another to ask for its own.
#[derive(Debug, Default)]
pub(crate) struct Handles(Vec<Kept>);

#[derive(Debug)]
struct Kept {
    folder: String,
    since: Instant,
    known: Known,
    /// None for a folder that one value was written to: it may well get no second one.
    handle: Option<Handle>,
}

impl Handles {
    /// The handle of `folder`, a prefix, if values are written to it one after another, and how it came to be known.
    pub(crate) fn of(&self, folder: &str) -> Option<(&Handle, Known)> {
        let kept = self.0.iter().find(|kept| kept.folder == folder)?;
        let handle = kept.handle.as_ref().filter(|_| kept.since.elapsed() <= MOMENT)?;
        Some((handle, kept.known))
    }

    /// Opens `folder`, which lies at `path` and came to be known like that, from the second value on.
    pub(crate) fn open(&mut self, folder: &str, known: Known, path: &Path) -> Option<&Handle> {
        let since = Instant::now();
        let Some(place) = self.0.iter().position(|kept| kept.folder == folder) else {
            // The memory of the folder that was added before all others serves for this one.
            let mut kept = match self.0.len() == MOST {
                true => self.0.remove(0),
                false => Kept { folder: String::new(), since, known, handle: None },
            };
            kept.folder.clear();
            kept.folder.push_str(folder);
            self.0.push(Kept { since, known, handle: None, ..kept });
            return None;
        };
        let kept = self.0.get_mut(place)?;
        // Without a handle the path has to do, and says what is wrong.
        (kept.since, kept.known, kept.handle) = (since, known, Handle::open(path).ok());
        kept.handle.as_ref()
    }

    pub(crate) fn forget_all(&mut self) {
        self.0.clear();
    }
}

/// An open folder.
#[cfg(unix)]
#[derive(Debug)]
pub(crate) struct Handle(rustix::fd::OwnedFd);

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
        Ok(Self(folder))
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
#[derive(Debug)]
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
        let mut handles = Handles::default();
        assert!(handles.of("a/").is_none());
        assert!(handles.open("a/", Known::Made, &path("a")).is_none());
        assert!(handles.of("a/").is_none());
        assert!(handles.open("a/", Known::Made, &path("a")).is_some());
        let (handle, known) = handles.of("a/").unwrap();
        assert_eq!(known, Known::Made);
        handle.create_new("t".as_ref()).unwrap();
        assert_eq!(handle.create_new("t".as_ref()).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        handle.rename("t".as_ref(), "v".as_ref()).unwrap();
        assert!(path("a/v").is_file() && !path("a/t").exists());

        std::fs::rename(path("a"), path("b")).unwrap();
        std::thread::sleep(MOMENT + Duration::from_millis(1));
        assert!(handles.of("a/").is_none());
        assert!(handles.open("a/", Known::Found, &path("a")).is_none());
        std::fs::create_dir(path("a")).unwrap();
        handles.open("a/", Known::Found, &path("a")).unwrap().create_new("t".as_ref()).unwrap();
        assert!(path("a/t").is_file());
        for other in 0..100 {
            handles.open(&other.to_string(), Known::Found, root.path());
        }
        assert!(handles.0.len() <= MOST);
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
