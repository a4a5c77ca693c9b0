//! Writing a value to a temporary file and renaming it.

use std::collections::hash_map::RandomState;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use zarr_spec::store::StoreError;
use zarr_spec::{Key, Prefix};

use crate::folders::Known;
use crate::handles::Handle;
use crate::place::{TEMPORARY, failed, parent, refused};
use crate::{FilesystemStore, Writer, listing, removing};

/// How often to retry after another process removed the folder.
const ATTEMPTS: usize = 100;

impl FilesystemStore {
    /// Writes a value. Tries again if another process removes its folder.
    pub(crate) fn write(&self, key: &Key, value: &[u8], writer: &mut Writer) -> Result<(), StoreError> {
        self.base.put_value(key, &mut writer.value)?;
        for _ in 1..ATTEMPTS {
            match self.write_once(key, value, writer) {
                Err(error) if is_gone(&error) => {
                    self.folders.forget_all();
                    writer.handles.forget_all();
                    thread::yield_now();
                }
                done => return done,
            }
        }
        self.write_once(key, value, writer)
    }

    /// Writes the value to the path in `writer`.
    fn write_once(&self, key: &Key, value: &[u8], writer: &mut Writer) -> Result<(), StoreError> {
        let Writer { value: path, temporary, handles, names } = writer;
        if self.durable {
            self.existing_ancestor.get_or_init(|| self.closest_folder());
        }
        let path = Path::new(path);
        let folder = parent(key.as_str()).unwrap_or_default();
        let (handle, known) = match handles.of(folder) {
            Some((handle, known)) => (Some(handle), known),
            None => {
                let known = self.folders.make(&self.base, key.as_str(), folder)?;
                (path.parent().and_then(|path| handles.open(folder, known, path)), known)
            }
        };
        // A folder that the store created does not contain links, and a file does not replace a folder.
        if known == Known::Found {
            self.clear_path(key, path)?;
        }
        let place = |path: &mut OsString| {
            self.base.put_below(folder, path);
            names.put_unused(path);
        };
        let mut temporary =
            Temporary::create(temporary, place, handle).map_err(|error| failed("writing", path, error))?;
        temporary.write(value, self.durable).map_err(|error| failed("writing", path, error))?;
        if let Err(error) = temporary.rename(path) {
            if !path.is_dir() {
                return Err(failed("writing", path, error));
            }
            self.clear_path(key, path)?;
            temporary.rename(path).map_err(|error| match path.is_dir() {
                true => there_are_keys_below(key),
                false => failed("writing", path, error),
            })?;
        }
        if self.durable {
            self.sync_names(folder).map_err(|error| failed("writing", path, error))?;
        }
        Ok(())
    }

    /// Removes empty folders at the path of a value. Refuses a link to a folder, which a rename would replace
    /// like a file.
    fn clear_path(&self, key: &Key, path: &Path) -> Result<(), StoreError> {
        match fs::symlink_metadata(path) {
            Ok(there) if there.is_symlink() && path.is_dir() => Err(there_are_keys_below(key)),
            Ok(there) if there.is_dir() => {
                let below = Prefix::new(format!("{key}/"))?;
                if listing::has_keys(&self.base, &below)? {
                    return Err(there_are_keys_below(key));
                }
                self.folders.forget_all();
                removing::remove_empty(path).map_err(|error| failed("writing", path, error))
            }
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(failed("writing", path, error)),
        }
    }

    /// Syncs the names in `folder` and its parents to disk.
    fn sync_names(&self, folder: &str) -> io::Result<()> {
        let mut above = Some(folder);
        while let Some(folder) = above {
            sync_folder(&self.base.below(folder))?;
            above = parent(folder);
        }
        // The write also created the root and the folders above it.
        let Some(before) = self.existing_ancestor.get() else { return Ok(()) };
        let mut made_in = self.path().ancestors().skip(1).take_while(|folder| folder.starts_with(before));
        made_in.try_for_each(sync_folder)
    }

    /// Returns the closest existing folder at or above the root.
    fn closest_folder(&self) -> PathBuf {
        self.path().ancestors().find(|folder| folder.is_dir()).unwrap_or(self.path()).to_owned()
    }
}

fn there_are_keys_below(key: &Key) -> StoreError {
    refused(
        key.as_str(),
        format!("`{key}/` is a folder: a path cannot be both a value and a prefix of other keys"),
    )
}

/// Returns whether another process removed the folder or the file.
fn is_gone(error: &StoreError) -> bool {
    let StoreError::Io { source, .. } = error else { return false };
    source.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::NotFound)
}

/// A temporary file, removed on drop unless it was renamed.
struct Temporary<'p> {
    path: &'p Path,
    /// The handle of its folder, if open.
    handle: Option<&'p Handle>,
    file: Option<File>,
    is_renamed: bool,
}

impl<'p> Temporary<'p> {
    /// Creates a new file. `place` writes another path to `path` at each call.
    fn create(
        path: &'p mut OsString,
        mut place: impl FnMut(&mut OsString),
        handle: Option<&'p Handle>,
    ) -> io::Result<Self> {
        loop {
            place(path);
            let file = match (handle, Path::new(path).file_name()) {
                (Some(handle), Some(name)) => handle.create_new(name),
                _ => File::create_new(&*path),
            };
            match file {
                Ok(file) => {
                    return Ok(Self { path: Path::new(path), handle, file: Some(file), is_renamed: false });
                }
                // A crashed program with the same random number left this file.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn write(&mut self, value: &[u8], durable: bool) -> io::Result<()> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        let written = file.write_all(value).and_then(|()| if durable { file.sync_all() } else { Ok(()) });
        // Closes the file first: some systems cannot rename or remove an open file.
        drop(file);
        written
    }

    /// Renames the file to `path`, in the same folder.
    fn rename(&mut self, path: &Path) -> io::Result<()> {
        match (self.handle, self.path.file_name(), path.file_name()) {
            (Some(handle), Some(from), Some(to)) => handle.rename(from, to)?,
            _ => fs::rename(self.path, path)?,
        }
        self.is_renamed = true;
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        self.file = None;
        if !self.is_renamed {
            // The original failure is more important, and a remaining file is hidden.
            let _removed = fs::remove_file(self.path);
        }
    }
}

/// Generates the names of one thread's temporary files.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// The text after [`TEMPORARY`](crate::place::TEMPORARY): a random number of this process, and the number
    /// of this generator.
    begin: String,
    count: u64,
}

impl Names {
    /// Appends a new hidden name.
    fn put_unused(&mut self, path: &mut OsString) {
        static PROCESS: OnceLock<u64> = OnceLock::new();
        static COUNT: AtomicU64 = AtomicU64::new(0);
        if self.begin.is_empty() {
            let process = PROCESS.get_or_init(|| RandomState::new().build_hasher().finish());
            self.begin = format!("{process:016x}-{:x}", COUNT.fetch_add(1, Ordering::Relaxed));
        }
        self.count += 1;
        let _always_succeeds = write!(path, "{TEMPORARY}{}-{:x}", self.begin, self.count);
    }
}

#[cfg(unix)]
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Does nothing: other systems do not open folders, and their file systems journal names.
#[cfg(not(unix))]
pub(crate) fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_does_not_leave_a_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let is_empty = || fs::read_dir(folder.path()).unwrap().next().is_none();
        let mut path = OsString::new();
        let mut other = OsString::new();
        let place = |path: &mut OsString| *path = folder.path().join("temporary").into();
        let mut temporary = Temporary::create(&mut path, place, None).unwrap();
        temporary.write(b"v", false).unwrap();
        assert!(!is_empty());
        // A file cannot replace a folder.
        assert!(temporary.rename(folder.path()).is_err());
        drop(temporary);
        assert!(is_empty());

        let mut temporary = Temporary::create(&mut other, place, None).unwrap();
        temporary.write(b"v", true).unwrap();
        temporary.rename(&folder.path().join("k")).unwrap();
        drop(temporary);
        assert_eq!(fs::read(folder.path().join("k")).unwrap(), b"v");
    }

    #[test]
    fn an_existing_file_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let taken = folder.path().join("taken");
        fs::write(&taken, b"by others").unwrap();
        let asked = std::cell::Cell::new(0);
        let mut path = OsString::new();
        let place = |path: &mut OsString| {
            asked.set(asked.get() + 1);
            *path = if asked.get() < 3 { taken.clone().into() } else { folder.path().join("free").into() };
        };
        let temporary = Temporary::create(&mut path, place, None);
        assert_eq!(temporary.unwrap().path, folder.path().join("free"));
        assert_eq!((asked.get(), fs::read(&taken).unwrap()), (3, b"by others".to_vec()));
    }
}
