//! Listing the keys below a folder.

use std::fs::{self, DirEntry, ReadDir};
use std::io;
use std::path::{Path, PathBuf};

use zarr_spec::store::{Directory, StoreResult};
use zarr_spec::{Key, Prefix};

use crate::place::{Base, TEMPORARY, failed, parent};
use crate::reading::is_absent;

/// Iterates over every key below a prefix, in any order, with one open folder at a time.
pub(crate) struct KeysBelow<'s> {
    base: &'s Base,
    open: Option<OpenFolder>,
    /// Folders that have not been listed, as prefixes.
    folders: Vec<String>,
}

impl<'s> KeysBelow<'s> {
    /// Starts to list the keys below `prefix`.
    ///
    /// # Errors
    ///
    /// [`StoreError::Key`](zarr_spec::store::StoreError::Key) for a prefix that the store cannot hold.
    pub(crate) fn new(base: &'s Base, prefix: &Prefix) -> StoreResult<Self> {
        base.folder(prefix)?;
        Ok(Self { base, open: None, folders: vec![prefix.to_string()] })
    }

    /// Returns the next entry of the open folder, or of the next folder.
    fn next_entry(&mut self) -> StoreResult<Option<Found>> {
        loop {
            if let Some(open) = &mut self.open
                && let Some(found) = open.next(self.base)?
            {
                return Ok(Some(found));
            }
            let Some(folder) = self.folders.pop() else { return Ok(None) };
            self.open = OpenFolder::open(self.base, folder)?;
        }
    }
}

impl Iterator for KeysBelow<'_> {
    type Item = StoreResult<Key>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.next_entry() {
                Ok(Some(Found::Value(key))) => return Some(Ok(key)),
                Ok(Some(Found::Folder(folder))) => self.folders.push(folder),
                Ok(None) => return None,
                Err(error) => {
                    self.open = None;
                    self.folders.clear();
                    return Some(Err(error));
                }
            }
        }
    }
}

/// Returns whether any key lies below `prefix`.
///
/// # Errors
///
/// [`StoreError::Io`](zarr_spec::store::StoreError::Io).
pub(crate) fn has_keys(base: &Base, prefix: &Prefix) -> StoreResult<bool> {
    Ok(KeysBelow::new(base, prefix)?.next().transpose()?.is_some())
}

/// Returns the keys and prefixes directly below `prefix`. Folders are not opened, so empty ones are included.
///
/// # Errors
///
/// [`StoreError::Io`](zarr_spec::store::StoreError::Io).
pub(crate) fn directory(base: &Base, prefix: &Prefix) -> StoreResult<Directory> {
    base.folder(prefix)?;
    let mut keys = Vec::new();
    let mut prefixes = Vec::new();
    let mut open = OpenFolder::open(base, prefix.to_string())?;
    while let Some(open) = &mut open
        && let Some(found) = open.next(base)?
    {
        match found {
            Found::Value(key) => keys.push(key),
            Found::Folder(folder) => prefixes.extend(Prefix::new(folder)),
        }
    }
    Ok(Directory::new(keys, prefixes))
}

/// A visible entry of a folder.
enum Found {
    Value(Key),
    /// A prefix.
    Folder(String),
}

/// A folder that is being listed.
struct OpenFolder {
    /// The folder as a prefix.
    folder: String,
    path: PathBuf,
    entries: ReadDir,
}

impl OpenFolder {
    /// Opens a folder; `None` if it does not exist.
    fn open(base: &Base, folder: String) -> StoreResult<Option<Self>> {
        let path = base.below(&folder);
        match fs::read_dir(&path) {
            Ok(entries) => Ok(Some(Self { folder, path, entries })),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(failed("listing", &path, error)),
        }
    }

    /// Returns the next visible entry.
    fn next(&mut self, base: &Base) -> StoreResult<Option<Found>> {
        for entry in &mut self.entries {
            match entry.and_then(|entry| look_at(base, &self.folder, &entry)) {
                Ok(Some(found)) => return Ok(Some(found)),
                Ok(None) => {}
                // Another process removed the entry in the meantime.
                Err(error) if is_absent(&error) => {}
                Err(error) => return Err(failed("listing", &self.path, error)),
            }
        }
        Ok(None)
    }
}

/// Classifies an entry; `None` if the store hides it: temporary files, names that are not valid keys, dangling
/// or circular links. Pipes, sockets and devices are visible, so that a copy of the listed keys reports that
/// they cannot be read.
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

/// Returns whether a link in `folder` leads to one of the folders that contain it.
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
