//! The folders that values are written to.

use std::collections::HashMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use zarr_spec::printable_path;
use zarr_spec::store::StoreError;

use crate::place::{Base, failed, parent, refused};
use crate::reading::is_absent;

/// Folders to remember at most.
const MOST: usize = 10_000;

/// Remembers which folders were there and inside of the root when last looked at.
///
/// Folders are prefixes here: empty, or ending in `/`.
#[derive(Debug, Default)]
pub(crate) struct Folders(RwLock<HashMap<Box<str>, Known>>);

/// How a folder came to be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// It was there: anything may be in it.
    Found,
    /// It was made here, so what is in it came through the store.
    Made,
}

impl Folders {
    /// Sees to it that `folder` is there, to write `key` to, and says how it came to be known.
    ///
    /// # Errors
    ///
    /// [`StoreError::Key`] where a value or a link is in the way; [`StoreError::Io`], also when others removed a
    /// folder meanwhile.
    pub(crate) fn make(&self, base: &Base, key: &str, folder: &str) -> Result<Known, StoreError> {
        if let Some(known) = self.known(folder) {
            return Ok(known);
        }
        let mut missing = Vec::new();
        let mut above = folder;
        loop {
            let prefix = parent(above);
            // In a folder that is known, making one tells as much as looking for it.
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
                // A new folder in one that was looked at cannot lie elsewhere.
                Ok(()) if folder.is_empty() => Known::Found,
                Ok(()) => Known::Made,
                Err(error) => {
                    // There before, also where nobody may make folders; made by others just now; or a link to nothing.
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

    /// Whether `folder` is there, to erase `key` in it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Key`] when it is there through a link that leads out of the root.
    pub(crate) fn find(&self, base: &Base, key: &str, folder: &str) -> Result<bool, StoreError> {
        if self.known(folder).is_some() {
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
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(folder.into(), how);
    }
}

/// Whether `folder` is there, to write `key` to.
fn is_there(base: &Base, key: &str, folder: &str) -> Result<bool, StoreError> {
    match look(base, folder)? {
        Look::Folder => Ok(true),
        Look::Nothing => Ok(false),
        Look::NoFolder => Err(refused(
            key,
            format!(
                "`{}` is no folder: a file cannot be both a value and a folder of others",
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
        format!("`{}` lies outside of the store, at `{}`", printable_path(&folder), printable_path(real)),
    )
}

/// What there is where a folder may be.
enum Look {
    Folder,
    Nothing,
    /// A file, or one above.
    NoFolder,
    /// A folder outside of the root, and where.
    Outside(PathBuf),
}

fn look(base: &Base, folder: &str) -> Result<Look, StoreError> {
    let path = base.below(folder);
    match look_at(base, &path) {
        Ok(look) => Ok(look),
        // Never there, or removed by others between two looks.
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
    if is_root { fs::create_dir_all(path) } else { fs::create_dir(path) }
}
