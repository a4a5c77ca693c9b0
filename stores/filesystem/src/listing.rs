//! Which keys the files below a folder are.

use std::fs::{self, DirEntry};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use zarr_spec::store::{Directory, StoreError};
use zarr_spec::{Key, Prefix};

use crate::place::{Base, TEMPORARY, failed, parent};
use crate::reading::is_absent;

/// Every key below `prefix`, sorted.
///
/// # Errors
///
/// [`StoreError::Io`].
pub(crate) fn keys_below(base: &Base, prefix: &Prefix) -> Result<Vec<Key>, StoreError> {
    let mut keys = Vec::new();
    walk(base, prefix, &mut |key| {
        keys.push(key);
        ControlFlow::Continue(())
    })?;
    keys.sort_unstable();
    Ok(keys)
}

/// Whether any key lies below `prefix`.
///
/// # Errors
///
/// [`StoreError::Io`].
pub(crate) fn has_keys(base: &Base, prefix: &Prefix) -> Result<bool, StoreError> {
    let mut has_keys = false;
    walk(base, prefix, &mut |_| {
        has_keys = true;
        ControlFlow::Break(())
    })?;
    Ok(has_keys)
}

/// What lies directly below `prefix`, sorted. A folder is listed without a look into it, whether it is empty or not.
///
/// # Errors
///
/// [`StoreError::Io`].
pub(crate) fn directory(base: &Base, prefix: &Prefix) -> Result<Directory, StoreError> {
    let mut directory = Directory::default();
    base.folder(prefix)?;
    read_folder(base, prefix.as_str(), &mut |found| {
        match found {
            Found::Value(key) => directory.keys.push(key),
            Found::Folder(folder) => directory.prefixes.extend(Prefix::new(folder)),
        }
        ControlFlow::Continue(())
    })?;
    directory.keys.sort_unstable();
    directory.prefixes.sort_unstable();
    Ok(directory)
}

/// Visits every key below `prefix`, in no order, until told to stop. No folder stays open meanwhile.
fn walk(
    base: &Base,
    prefix: &Prefix,
    visit: &mut dyn FnMut(Key) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    base.folder(prefix)?;
    let mut folders = vec![prefix.to_string()];
    while let Some(folder) = folders.pop() {
        let mut flow = ControlFlow::Continue(());
        read_folder(base, &folder, &mut |found| {
            match found {
                Found::Value(key) => flow = visit(key),
                Found::Folder(folder) => folders.push(folder),
            }
            flow
        })?;
        if flow.is_break() {
            break;
        }
    }
    Ok(())
}

/// What an entry of a folder is to the store.
enum Found {
    Value(Key),
    /// A prefix.
    Folder(String),
}

/// Visits what is in `folder`, a prefix, until told to stop. Nothing is in one that is not there.
fn read_folder(
    base: &Base,
    folder: &str,
    visit: &mut dyn FnMut(Found) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    let path = base.below(folder);
    let listing = |error| failed("listing", &path, error);
    let entries = match fs::read_dir(&path) {
        Ok(entries) => entries,
        Err(error) if is_absent(&error) => return Ok(()),
        Err(error) => return Err(listing(error)),
    };
    for entry in entries {
        let found = match entry.and_then(|entry| look_at(base, folder, &entry)) {
            Ok(Some(found)) => found,
            Ok(None) => continue,
            // Others removed it meanwhile.
            Err(error) if is_absent(&error) => continue,
            Err(error) => return Err(listing(error)),
        };
        if visit(found).is_break() {
            break;
        }
    }
    Ok(())
}

/// Nothing for what the store does not show: temporary files, names that are no keys, links to nothing or in a circle.
/// Pipes, sockets and devices are shown, so that whoever copies what is listed is told that they cannot be read.
fn look_at(base: &Base, folder: &str, entry: &DirEntry) -> io::Result<Option<Found>> {
    let name = entry.file_name();
    let Some(name) = name.to_str().filter(|name| !name.starts_with(TEMPORARY)) else { return Ok(None) };
    let Ok(key) = Key::new(format!("{folder}{name}")) else { return Ok(None) };
    let mut kind = entry.file_type()?;
    if kind.is_symlink() {
        let path = entry.path();
        kind = fs::metadata(&path)?.file_type();
        if kind.is_dir() && leads_back(base, folder, &path)? {
            return Ok(None);
        }
    }
    Ok(Some(if kind.is_dir() { Found::Folder(format!("{key}/")) } else { Found::Value(key) }))
}

/// Whether a link in `folder` leads to one of the folders that it lies in.
fn leads_back(base: &Base, folder: &str, link: &Path) -> io::Result<bool> {
    let target: PathBuf = link.canonicalize()?;
    let mut above = Some(folder);
    while let Some(folder) = above {
        if base.below(folder).canonicalize()? == target {
            return Ok(true);
        }
        above = parent(folder);
    }
    Ok(false)
}
