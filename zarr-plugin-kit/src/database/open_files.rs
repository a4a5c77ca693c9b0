//! Handles of files that a process opens once.

use std::collections::BTreeMap;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The handles of the files that are open in this process, as a `static` of a crate.
///
/// A handle is dropped under the lock of the table, so that a file is never opened while it is being closed.
#[derive(Debug)]
pub struct OpenFiles<T: 'static>(Mutex<BTreeMap<PathBuf, Shared<T>>>);

#[derive(Debug)]
struct Shared<T> {
    handle: Arc<T>,
    /// The number of [`OpenFile`]s.
    users: usize,
    /// The process that created the handle.
    process: u32,
}

impl<T> OpenFiles<T> {
    /// Creates an empty table.
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Returns the handle of a file. If no other user has a handle, `create` makes one for the full path. The file does
    /// not need to exist, but its folder does.
    ///
    /// # Errors
    ///
    /// If the folder does not exist or cannot be opened, and if a parent process opened the file before it forked this
    /// one.
    pub fn get(&'static self, path: &Path, create: impl FnOnce(&Path) -> T) -> io::Result<OpenFile<T>> {
        let path = full_path(path)?;
        let mut files = self.lock();
        let shared = files.entry(path.clone()).or_insert_with(|| Shared {
            handle: Arc::new(create(&path)),
            users: 0,
            process: process::id(),
        });
        if shared.process != process::id() {
            return Err(io::Error::other(
                "it was opened before this process was forked; open it after the fork",
            ));
        }
        shared.users += 1;
        Ok(OpenFile { files: self, path, handle: Some(Arc::clone(&shared.handle)) })
    }

    // Every change is a single step, so a panic leaves the table consistent.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Shared<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Default for OpenFiles<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the path without links. The last part does not need to exist.
fn full_path(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        other => return other,
    }
    let path = std::path::absolute(path)?;
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok(parent.canonicalize()?.join(name)),
        _ => Ok(path),
    }
}

/// A user of a shared handle. The last one closes the file.
#[derive(Debug)]
pub struct OpenFile<T: 'static> {
    files: &'static OpenFiles<T>,
    path: PathBuf,
    /// Is `None` only while this value is dropped.
    handle: Option<Arc<T>>,
}

impl<T> OpenFile<T> {
    /// Returns the full path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl<T> Deref for OpenFile<T> {
    type Target = T;

    #[expect(clippy::expect_used, reason = "the handle exists until the drop")]
    fn deref(&self) -> &T {
        self.handle.as_deref().expect("the handle is removed only by the drop")
    }
}

impl<T> Drop for OpenFile<T> {
    fn drop(&mut self) {
        let mut files = self.files.lock();
        self.handle = None;
        if let Some(shared) = files.get_mut(&self.path) {
            shared.users -= 1;
            if shared.users == 0 {
                files.remove(&self.path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static FILES: OpenFiles<u8> = OpenFiles::new();

    #[test]
    fn users_of_a_file_share_its_handle_until_the_last_one_drops_it() {
        let folder = std::env::temp_dir();
        let path = folder.join("zarr-open-files-test");
        let first = FILES.get(&path, |_| 1).unwrap();
        let again = FILES.get(&folder.join(".").join("zarr-open-files-test"), |_| 2).unwrap();
        assert_eq!((*first, *again), (1, 1));
        drop(first);
        assert_eq!(*FILES.get(&path, |_| 3).unwrap(), 1);
        drop(again);
        assert_eq!(*FILES.get(&path, |_| 4).unwrap(), 4);
        let missing = FILES.get(&folder.join("zarr-no-such-folder/a"), |_| 5);
        assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
