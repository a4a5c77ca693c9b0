//! Files that interrupted writes left behind.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use zarr_spec::store::StoreError;

use crate::FilesystemStore;
use crate::place::{TEMPORARY, failed};
use crate::reading::is_absent;

/// A file with a name that values have while they are written. Nobody else reads it, and no key has such a name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leftover {
    /// Where it is.
    pub path: PathBuf,
    /// Bytes that were written to it.
    pub size: u64,
    /// How long ago that was; nothing if it is in the future.
    pub age: Duration,
}

impl Leftover {
    /// Removes it. One that is gone is no failure.
    ///
    /// A program that is writing to it writes the value once more; one of some age belongs to none.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    pub fn remove(&self) -> Result<(), StoreError> {
        match fs::remove_file(&self.path) {
            Err(error) if !is_absent(&error) => Err(failed("removing", &self.path, error)),
            _ => Ok(()),
        }
    }
}

impl FilesystemStore {
    /// The files of all writes that came to nothing, such as those of programs that were ended, and of those that are
    /// under way: these are as old as the last byte that was written. Sorted by path. Folders that links lead to are
    /// not looked into.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    pub fn leftovers(&self) -> Result<Vec<Leftover>, StoreError> {
        let mut leftovers = Vec::new();
        let now = SystemTime::now();
        let mut folders = vec![self.path().to_owned()];
        while let Some(folder) = folders.pop() {
            match look_into(&folder, now, &mut leftovers, &mut folders) {
                Err(error) if !is_absent(&error) => return Err(failed("listing", &folder, error)),
                _ => {}
            }
        }
        leftovers.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        Ok(leftovers)
    }
}

fn look_into(
    folder: &Path,
    now: SystemTime,
    leftovers: &mut Vec<Leftover>,
    folders: &mut Vec<PathBuf>,
) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            folders.push(entry.path());
        } else if kind.is_file() && entry.file_name().as_encoded_bytes().starts_with(TEMPORARY.as_bytes()) {
            let there = match entry.metadata() {
                // Written to the end meanwhile, and renamed.
                Err(error) if is_absent(&error) => continue,
                there => there?,
            };
            let age = now.duration_since(there.modified()?).unwrap_or_default();
            leftovers.push(Leftover { path: entry.path(), size: there.len(), age });
        }
    }
    Ok(())
}
