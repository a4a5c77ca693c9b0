//! Removing values and the folders that become empty.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::thread;

use zarr_spec::store::{ConditionalWrite, StoreResult, Version};
use zarr_spec::{Key, Prefix};

use crate::handles::Handle;
use crate::locks::Access;
use crate::place::{TEMPORARY, failed, parent};
use crate::reading::is_absent;
use crate::steps::{Step, note};
use crate::writing::{is_gone, sync_folder};
use crate::{Durability, FilesystemStore};

/// How often to retry removing a folder that other processes write to.
const ATTEMPTS: usize = 100;

impl FilesystemStore {
    /// Removes a value if it has `version`; without a version, always.
    pub(crate) fn remove(&self, key: &Key, version: Option<&Version>) -> StoreResult<ConditionalWrite> {
        let missing = match version {
            Some(_) => ConditionalWrite::Conflict,
            None => ConditionalWrite::Done(None),
        };
        let path = self.base.value(key)?;
        let erasing = |error| failed("erasing", &path, error);
        let folder = parent(key.as_str()).unwrap_or_default();
        if !self.folders.find(&self.base, key.as_str(), folder)? {
            return Ok(missing);
        }
        match is_value(&path) {
            Ok(true) => {}
            Ok(false) => return Ok(missing),
            Err(error) if is_absent(&error) => return Ok(missing),
            Err(error) => return Err(erasing(error)),
        }
        let handle = match self.locks_folders().then(|| Handle::open(&self.base.below(folder), true)) {
            Some(Err(error)) if is_absent(&error) => return Ok(missing),
            handle => handle.transpose().map_err(erasing)?,
        };
        {
            let access = if version.is_some() { Access::Exclusive } else { Access::Shared };
            let _held = match self.hold(handle.as_ref(), &path, access) {
                // Another process removed the folder that contains the lock and the value.
                Err(error) if is_gone(&error) => return Ok(missing),
                held => held?,
            };
            if version.is_some() && self.current_version(&path)?.as_ref() != version {
                return Ok(ConditionalWrite::Conflict);
            }
            let removed = match (&handle, path.file_name()) {
                (Some(handle), Some(name)) => handle.remove(name),
                _ => fs::remove_file(&path),
            };
            match removed {
                Err(error) if is_absent(&error) => return Ok(missing),
                removed => removed.map_err(erasing)?,
            }
            note(Step::Remove(&path));
        }
        drop(handle);
        self.sync_removed(self.prune(folder)).map_err(erasing)?;
        Ok(ConditionalWrite::Done(None))
    }

    pub(crate) fn remove_below(&self, prefix: &Prefix) -> StoreResult<()> {
        let path = self.base.folder(prefix)?;
        let erasing = |error| failed("erasing", &path, error);
        self.folders.forget_all();
        let Some(above) = parent(prefix.as_str()) else {
            return clear(&path).and_then(|()| self.sync_removed("")).map_err(erasing);
        };
        if !self.folders.find(&self.base, prefix.as_str(), above)? {
            return Ok(());
        }
        remove_folder(&path).and_then(|()| self.sync_removed(self.prune(above))).map_err(erasing)
    }

    /// Syncs the removals in `folder` to disk, if the store is durable.
    fn sync_removed(&self, folder: &str) -> io::Result<()> {
        if self.durability != Durability::Full {
            return Ok(());
        }
        match sync_folder(&self.base.below(folder)) {
            // Another process removed the folder, or it never existed.
            Err(error) if is_absent(&error) => Ok(()),
            done => done,
        }
    }

    /// Removes `folder`, a prefix, and its parents as long as they are empty, but never the root. Returns the
    /// first folder that remains.
    fn prune<'f>(&self, mut folder: &'f str) -> &'f str {
        while let Some(above) = parent(folder) {
            let path = self.base.below(folder);
            // On systems other than Unix, `remove_dir` would remove a link to a folder, even to a folder that is not
            // empty.
            if cfg!(not(unix)) && fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_symlink()) {
                break;
            }
            // This is not a failure: the folder is not empty, or another process removed it.
            if fs::remove_dir(&path).is_err() && !Self::remove_with_lock(&path) {
                break;
            }
            note(Step::Remove(&path));
            self.folders.forget(folder);
            folder = above;
        }
        folder
    }
}

/// Returns whether the path is a file, or a link to something other than a folder.
fn is_value(path: &Path) -> io::Result<bool> {
    Ok(!is_folder(path, fs::symlink_metadata(path)?))
}

/// Removes everything in the root folder.
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
            // Entries that another process created in the meantime may stay, even if they are folders now.
            Err(error) if !is_absent(&error) && !path.is_dir() => return Err(error),
            Ok(()) => note(Step::Remove(&path)),
            Err(_) => {}
        }
    }
    Ok(())
}

/// Removes a folder and its contents. Removes only the link if it is a link to a folder. Does not remove a file.
fn remove_folder(path: &Path) -> io::Result<()> {
    for _ in 1..ATTEMPTS {
        match remove_folder_once(path) {
            // Another process writes to the folder, or has removed a part of it.
            Err(error) if is_absent(&error) || error.kind() == ErrorKind::DirectoryNotEmpty => {
                thread::yield_now()
            }
            done => return done,
        }
    }
    remove_folder_once(path)
}

fn remove_folder_once(path: &Path) -> io::Result<()> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if is_absent(&error) => return Ok(()),
        Err(error) => return Err(error),
    };
    // `remove_dir_all` does not follow links.
    if is_folder(path, metadata) {
        fs::remove_dir_all(path)?;
        note(Step::Remove(path));
    }
    Ok(())
}

/// Returns whether the path is a folder or a link to one; `metadata` describes the path without following links.
fn is_folder(path: &Path, metadata: Metadata) -> bool {
    metadata.is_dir() || (metadata.is_symlink() && path.is_dir())
}

/// Removes a folder tree that contains only folders and temporary files.
///
/// If one of the files is being written, its writer finds that the folder does not exist, and starts again.
pub(crate) fn remove_empty(path: &Path) -> io::Result<()> {
    let entries: Vec<_> = fs::read_dir(path)?.collect::<Result<_, _>>()?;
    for entry in entries {
        if entry.file_type()?.is_dir() {
            remove_empty(&entry.path())?;
        } else if entry.file_name().as_encoded_bytes().starts_with(TEMPORARY.as_bytes()) {
            fs::remove_file(entry.path())?;
            note(Step::Remove(&entry.path()));
        }
    }
    fs::remove_dir(path)?;
    note(Step::Remove(path));
    Ok(())
}
