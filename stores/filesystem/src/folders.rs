//! Creating and finding the folders that contain values.

use std::collections::HashMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use zarr_spec::printable_path;
use zarr_spec::store::{StoreError, StoreResult};

use crate::place::{Base, failed, parent, refused};
use crate::reading::is_absent;
use crate::steps::{Step, note};

/// Maximum number of remembered folders.
const MAX_FOLDERS: usize = 10_000;

/// Remembers folders that existed inside of the root when they were last checked.
///
/// Folders are given as prefixes: empty, or ending in `/`.
#[derive(Debug, Default)]
pub(crate) struct Folders(RwLock<HashMap<Box<str>, Known>>);

/// Where the knowledge about a folder comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// The folder existed, so its contents are unknown.
    Found,
    /// The store created the folder, so everything in it came through the store.
    Created,
}

impl Folders {
    /// Creates `folder` and its parents, if they do not exist, to write `key` to it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Key`] if a value or a link blocks the path. [`StoreError::Io`] for other failures,
    /// including folders that another process removed in the meantime.
    pub(crate) fn make(&self, base: &Base, key: &str, folder: &str) -> StoreResult<Known> {
        if let Some(known) = self.known(folder) {
            return Ok(known);
        }
        let mut missing = Vec::new();
        let mut above = folder;
        loop {
            let prefix = parent(above);
            // Below a known folder, creating a folder also shows whether it exists.
            let is_below_known = prefix.is_some_and(|prefix| self.known(prefix).is_some());
            if !is_below_known && is_there(base, key, above)? {
                self.remember(above, Known::Found);
                break;
            }
            missing.push(above);
            let Some(prefix) = prefix.filter(|_| !is_below_known) else { break };
            above = prefix;
        }
        let mut known = Known::Found;
        for folder in missing.into_iter().rev() {
            let path = base.below(folder);
            known = match make_folder(&path, folder.is_empty()) {
                // The parent was checked, so a new folder in it is inside of the root.
                Ok(()) if folder.is_empty() => Known::Found,
                Ok(()) => Known::Created,
                Err(error) => {
                    // The folder existed, possibly in a read-only parent, or another process created it, or it
                    // is a dangling link.
                    if !is_there(base, key, folder)? {
                        let is_link = error.kind() == ErrorKind::AlreadyExists;
                        let error = if is_link { ErrorKind::NotFound.into() } else { error };
                        return Err(failed("writing", &path, error));
                    }
                    Known::Found
                }
            };
            self.remember(folder, known);
        }
        Ok(known)
    }

    /// Returns whether `folder` exists, to erase `key` in it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Key`] if a link leads to a folder outside of the root.
    pub(crate) fn find(&self, base: &Base, key: &str, folder: &str) -> StoreResult<bool> {
        if self.known(folder).is_some() {
            return Ok(true);
        }
        // Below a known folder only the last name can lead out of the root. Resolving every name of each folder would
        // take time in proportion to the square of the depth.
        let is_below_known = parent(folder).is_some_and(|above| self.known(above).is_some());
        if is_below_known && fs::symlink_metadata(base.below(folder)).is_ok_and(|metadata| metadata.is_dir())
        {
            self.remember(folder, Known::Found);
            return Ok(true);
        }
        match look(base, folder)? {
            Look::Folder => {
                self.remember(folder, Known::Found);
                Ok(true)
            }
            Look::Nothing | Look::NoFolder => Ok(false),
            Look::Outside(real) => Err(outside(base, key, folder, &real)),
        }
    }

    pub(crate) fn forget(&self, folder: &str) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(folder);
    }

    pub(crate) fn forget_all(&self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn known(&self, folder: &str) -> Option<Known> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(folder).copied()
    }

    fn remember(&self, folder: &str, how: Known) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_FOLDERS {
            known.clear();
        }
        known.insert(folder.into(), how);
    }
}

/// Returns whether `folder` exists, to write `key` to it.
fn is_there(base: &Base, key: &str, folder: &str) -> StoreResult<bool> {
    match look(base, folder)? {
        Look::Folder => Ok(true),
        Look::Nothing => Ok(false),
        Look::NoFolder => Err(refused(
            key,
            format!(
                "`{}` is a file, not a folder: a path cannot be both a value and a prefix of other keys",
                printable_path(&base.below(folder))
            ),
        )),
        Look::Outside(real) => Err(outside(base, key, folder, &real)),
    }
}

fn outside(base: &Base, key: &str, folder: &str, real: &Path) -> StoreError {
    let folder = base.below(folder);
    refused(
        key,
        format!(
            "`{}` is a link to `{}`, which is outside of the store",
            printable_path(&folder),
            printable_path(real)
        ),
    )
}

/// The result of checking a path for a folder.
enum Look {
    Folder,
    Nothing,
    /// A file, or a path below a file.
    NoFolder,
    /// A folder outside of the root, with its real path.
    Outside(PathBuf),
}

fn look(base: &Base, folder: &str) -> StoreResult<Look> {
    let path = base.below(folder);
    match look_at(base, &path) {
        Ok(look) => Ok(look),
        // The folder never existed, or another process removed it.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Look::Nothing),
        Err(error) if is_absent(&error) => Ok(Look::NoFolder),
        Err(error) => Err(failed("looking for", &path, error)),
    }
}

fn look_at(base: &Base, path: &Path) -> io::Result<Look> {
    let real = path.canonicalize()?;
    Ok(if !fs::metadata(&real)?.is_dir() {
        Look::NoFolder
    } else if path == base.root() || real.starts_with(base.root().canonicalize()?) {
        Look::Folder
    } else {
        Look::Outside(real)
    })
}

fn make_folder(path: &Path, is_root: bool) -> io::Result<()> {
    if !is_root {
        fs::create_dir(path)?;
        note(Step::CreateFolder(path));
        return Ok(());
    }
    let missing: Vec<_> = path.ancestors().take_while(|folder| !folder.exists()).collect();
    fs::create_dir_all(path)?;
    missing.into_iter().rev().for_each(|folder| note(Step::CreateFolder(folder)));
    Ok(())
}
