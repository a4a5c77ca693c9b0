//! Writing a value: beside its place, then renamed.

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

/// How often a folder may be removed by others between the moments when it is made and used.
const ATTEMPTS: usize = 100;

impl FilesystemStore {
    /// Writes a value, again as long as others remove its folder.
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

    /// Writes the value to the path that `writer` has.
    fn write_once(&self, key: &Key, value: &[u8], writer: &mut Writer) -> Result<(), StoreError> {
        let Writer { value: path, temporary, handles, names } = writer;
        if self.durable {
            self.there_before.get_or_init(|| self.closest_folder());
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
        // In a folder that was made here is no link, and a file does not take the place of a folder.
        if known == Known::Found {
            self.make_way(key, path)?;
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
            self.make_way(key, path)?;
            temporary.rename(path).map_err(|error| match path.is_dir() {
                true => there_are_keys_below(key),
                false => failed("writing", path, error),
            })?;
        }
        if self.durable {
            self.keep_names(folder).map_err(|error| failed("writing", path, error))?;
        }
        Ok(())
    }

    /// Removes what is no value from the place of one: folders without any. A rename would take a link to a folder
    /// for a file.
    fn make_way(&self, key: &Key, path: &Path) -> Result<(), StoreError> {
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

    /// Writes to the disk what was renamed and made in `folder` and in those above it.
    fn keep_names(&self, folder: &str) -> io::Result<()> {
        let mut above = Some(folder);
        while let Some(folder) = above {
            sync_folder(&self.base.below(folder))?;
            above = parent(folder);
        }
        // Writing made the root and the folders between.
        let Some(before) = self.there_before.get() else { return Ok(()) };
        let mut made_in = self.path().ancestors().skip(1).take_while(|folder| folder.starts_with(before));
        made_in.try_for_each(sync_folder)
    }

    /// The closest folder at or above the root that is there.
    fn closest_folder(&self) -> PathBuf {
        self.path().ancestors().find(|folder| folder.is_dir()).unwrap_or(self.path()).to_owned()
    }
}

fn there_are_keys_below(key: &Key) -> StoreError {
    refused(
        key.as_str(),
        format!("there is a folder `{key}/`: a file cannot be both a value and a folder of others"),
    )
}

/// A folder, or the file in it, was removed by others.
fn is_gone(error: &StoreError) -> bool {
    let StoreError::Io { source, .. } = error else { return false };
    source.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::NotFound)
}

/// A file that is being written, and removed unless it is renamed.
struct Temporary<'p> {
    path: &'p Path,
    /// That of the folder in which it is, if there is one.
    handle: Option<&'p Handle>,
    file: Option<File>,
    is_renamed: bool,
}

impl<'p> Temporary<'p> {
    /// Makes one that was not there, at the path that `place` puts in `path`, another one each time.
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
                // Left behind by a crash, under the same random number.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn write(&mut self, value: &[u8], durable: bool) -> io::Result<()> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        let written = file.write_all(value).and_then(|()| if durable { file.sync_all() } else { Ok(()) });
        // Closed before it is renamed or removed: not every system does that to an open file.
        drop(file);
        written
    }

    /// Gives it the name of `path`, in the same folder.
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
            // The failure that led here is the one to report; what stays behind is hidden.
            let _removed = fs::remove_file(self.path);
        }
    }
}

/// Names of one thread for files that are being written.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// What they begin with behind what all temporary names begin with: a random number of this process, and the number
    /// of the thread's names in it.
    begin: String,
    count: u64,
}

impl Names {
    /// Appends a name that is hidden, another one each time.
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

/// Other systems do not open folders; their file systems keep names in a journal.
#[cfg(not(unix))]
pub(crate) fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_leaves_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let is_empty = || fs::read_dir(folder.path()).unwrap().next().is_none();
        let mut path = OsString::new();
        let mut other = OsString::new();
        let place = |path: &mut OsString| *path = folder.path().join("temporary").into();
        let mut temporary = Temporary::create(&mut path, place, None).unwrap();
        temporary.write(b"v", false).unwrap();
        assert!(!is_empty());
        // A file cannot take the place of a folder.
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
    fn a_name_that_is_taken_is_not_written_to() {
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
