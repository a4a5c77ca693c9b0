//! Temporary files of interrupted writes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use zarr_spec::store::StoreResult;

use crate::FilesystemStore;
use crate::place::{TEMPORARY, failed};
use crate::reading::is_absent;

/// A temporary file. No key has such a name, so readers never see it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leftover {
    /// The path of the file.
    pub path: PathBuf,
    /// The size in bytes.
    pub size: u64,
    /// The time since the last write to the file; zero if the file's time is in the future.
    pub age: Duration,
}

impl Leftover {
    /// Removes the file. Succeeds if it does not exist.
    ///
    /// A program that is still writing to the file writes its value again. An old file does not belong to a
    /// running program.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`](zarr_spec::store::StoreError::Io).
    pub fn remove(&self) -> StoreResult<()> {
        match fs::remove_file(&self.path) {
            Err(error) if !is_absent(&error) => Err(failed("removing", &self.path, error)),
            _ => Ok(()),
        }
    }
}

impl FilesystemStore {
    /// Lists the temporary files below the root, sorted by path.
    ///
    /// They belong to interrupted writes, or to writes that are still running. The age of a file counts from its last
    /// written byte. Links to folders are not followed.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`](zarr_spec::store::StoreError::Io).
    pub fn leftovers(&self) -> StoreResult<Vec<Leftover>> {
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
            let metadata = match entry.metadata() {
                // The write of this temporary file has completed in the meantime, and renamed it.
                Err(error) if is_absent(&error) => continue,
                metadata => metadata?,
            };
            let age = now.duration_since(metadata.modified()?).unwrap_or_default();
            leftovers.push(Leftover { path: entry.path(), size: metadata.len(), age });
        }
    }
    Ok(())
}
