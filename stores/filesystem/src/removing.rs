//! Removing values, and the folders that they leave empty.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::thread;

use zarr_spec::store::StoreError;
use zarr_spec::{Key, Prefix};

use crate::FilesystemStore;
use crate::place::{TEMPORARY, failed, parent};
use crate::reading::is_absent;
use crate::writing::sync_folder;

/// How often others may write to a folder while it is removed.
const ATTEMPTS: usize = 100;

impl FilesystemStore {
    pub(crate) fn remove(&self, key: &Key) -> Result<(), StoreError> {
        let path = self.base.value(key)?;
        let folder = parent(key.as_str()).unwrap_or_default();
        if !self.folders.find(&self.base, key.as_str(), folder)? {
            return Ok(());
        }
        let removed = match is_value(&path) {
            Ok(true) => fs::remove_file(&path),
            Ok(false) => return Ok(()),
            Err(error) => Err(error),
        };
        match removed {
            Ok(()) => self.keep_removed(self.prune(folder)),
            Err(error) if is_absent(&error) => Ok(()),
            Err(error) => Err(error),
        }
        .map_err(|error| failed("erasing", &path, error))
    }

    pub(crate) fn remove_below(&self, prefix: &Prefix) -> Result<(), StoreError> {
        let path = self.base.folder(prefix)?;
        let erasing = |error| failed("erasing", &path, error);
        self.folders.forget_all();
        let Some(above) = parent(prefix.as_str()) else {
            return clear(&path).and_then(|()| self.keep_removed("")).map_err(erasing);
        };
        if !self.folders.find(&self.base, prefix.as_str(), above)? {
            return Ok(());
        }
        remove_folder(&path).and_then(|()| self.keep_removed(self.prune(above))).map_err(erasing)
    }

    /// Writes to the disk what was removed in `folder`, if the store is durable.
    fn keep_removed(&self, folder: &str) -> io::Result<()> {
        if !self.durable {
            return Ok(());
        }
        match sync_folder(&self.base.below(folder)) {
            // Others removed it meanwhile, or it was never there.
            Err(error) if is_absent(&error) => Ok(()),
            done => done,
        }
    }

    /// Removes `folder`, a prefix, and those above it up to the root, as far as they are empty. The root stays. Returns the
    /// first of them that stays.
    fn prune<'f>(&self, mut folder: &'f str) -> &'f str {
        while let Some(above) = parent(folder) {
            let path = self.base.below(folder);
            // Elsewhere than on Unix this would remove a link to a folder, empty or not.
            if cfg!(not(unix)) && fs::symlink_metadata(&path).is_ok_and(|there| there.is_symlink()) {
                break;
            }
            // That a folder stays is no failure: it is not empty, or others removed it.
            if fs::remove_dir(&path).is_err() {
                break;
            }
            self.folders.forget(folder);
            folder = above;
        }
        folder
    }
}

/// Whether a file, or a link to what is no folder, is there to be removed.
fn is_value(path: &Path) -> io::Result<bool> {
    Ok(!is_folder(path, fs::symlink_metadata(path)?))
}

/// Removes everything in the root.
fn clear(root: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if is_absent(&error) => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let path = entry?.path();
        remove_folder(&path)?;
        match fs::remove_file(&path) {
            // What others wrote meanwhile may stay, also if it is a folder by now.
            Err(error) if !is_absent(&error) && !path.is_dir() => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Removes a folder with all that is in it; of a link to one, the link. A file stays.
fn remove_folder(path: &Path) -> io::Result<()> {
    for _ in 1..ATTEMPTS {
        match remove_folder_once(path) {
            // Written to by others, or partly removed by them.
            Err(error) if is_absent(&error) || error.kind() == ErrorKind::DirectoryNotEmpty => {
                thread::yield_now()
            }
            done => return done,
        }
    }
    remove_folder_once(path)
}

fn remove_folder_once(path: &Path) -> io::Result<()> {
    let there = match fs::symlink_metadata(path) {
        Ok(there) => there,
        Err(error) if is_absent(&error) => return Ok(()),
        Err(error) => return Err(error),
    };
    // It does not follow links, neither this one nor those inside.
    if is_folder(path, there) { fs::remove_dir_all(path) } else { Ok(()) }
}

/// Whether it is a folder or leads to one; `there` is what a link itself is.
fn is_folder(path: &Path, there: Metadata) -> bool {
    there.is_dir() || (there.is_symlink() && path.is_dir())
}

/// Removes a folder and those in it, if there is nothing else but files that a crash left behind.
///
/// Should one of them be written just now, its writer finds the folder gone and begins again.
pub(crate) fn remove_empty(path: &Path) -> io::Result<()> {
    let entries: Vec<_> = fs::read_dir(path)?.collect::<Result<_, _>>()?;
    for entry in entries {
        if entry.file_type()?.is_dir() {
            remove_empty(&entry.path())?;
        } else if entry.file_name().as_encoded_bytes().starts_with(TEMPORARY.as_bytes()) {
            fs::remove_file(entry.path())?;
        }
    }
    fs::remove_dir(path)
}
