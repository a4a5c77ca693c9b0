//! Objects that are the files of a folder.

use std::fs::{self, DirEntry, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::{Conditions, Entry, NewValue, Objects, Refusal, State, Wanted};
use crate::http::Body;

/// Values are written to this folder of the bucket, which keys cannot name, and renamed when they are complete.
const UPLOADS: &str = ".uploads";

/// A bucket that is a folder.
#[derive(Debug)]
pub(crate) struct Folder {
    root: PathBuf,
    count: AtomicU64,
    /// Held while a condition is checked and its write is applied. Writes without conditions take it too, so that none
    /// of them falls between these steps.
    applying: Mutex<()>,
}

impl Folder {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root, count: AtomicU64::new(0), applying: Mutex::new(()) }
    }

    /// Returns the file of a key, or `None` if the key would leave the bucket or is not a valid path.
    fn file_of(&self, key: &str) -> Option<PathBuf> {
        let is_name = |name: &str| !matches!(name, "" | "." | ".." | UPLOADS) && !name.contains('\0');
        key.split('/').all(is_name).then(|| self.root.join(key))
    }

    fn state_of(&self, key: &str) -> io::Result<Option<State>> {
        Ok(self.open(key)?.map(|(state, _)| state))
    }
}

impl Objects for Folder {
    fn is_key(&self, key: &str) -> bool {
        self.file_of(key).is_some()
    }

    fn open(&self, key: &str) -> io::Result<Option<(State, Body)>> {
        let Some(path) = self.file_of(key) else { return Ok(None) };
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Ok(None);
        }
        let state = state(&metadata)?;
        let size = state.size;
        Ok(Some((state, Body::File(file, size))))
    }

    fn put(&self, key: &str, value: NewValue, conditions: &Conditions) -> io::Result<Result<State, Refusal>> {
        let file = self.file_of(key).ok_or(io::ErrorKind::InvalidFilename)?;
        let uploads = self.root.join(UPLOADS);
        fs::create_dir_all(&uploads)?;
        let upload = uploads.join(self.count.fetch_add(1, Ordering::Relaxed).to_string());
        fs::write(&upload, &value.bytes)?;
        let written = state(&fs::metadata(&upload)?)?;
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent)?;
        }
        let _applying = self.applying.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(refusal) = conditions.check(self.state_of(key)?.as_ref()) {
            fs::remove_file(&upload)?;
            return Ok(Err(refusal));
        }
        fs::rename(&upload, file)?;
        Ok(Ok(written))
    }

    fn remove(&self, key: &str, conditions: &Conditions) -> io::Result<Result<(), Refusal>> {
        let Some(file) = self.file_of(key) else { return Ok(conditions.check(None)) };
        let _applying = self.applying.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(refusal) = conditions.check(self.state_of(key)?.as_ref()) {
            return Ok(Err(refusal));
        }
        match fs::remove_file(file) {
            Err(error) if !is_missing(&error) && error.kind() != io::ErrorKind::IsADirectory => Err(error),
            _ => Ok(Ok(())),
        }
    }

    fn list(&self, wanted: &Wanted<'_>) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        // The part of the prefix after the last slash is the beginning of a name; the part before it is a folder.
        let (parent, _) = wanted.prefix.rsplit_once('/').unwrap_or(("", wanted.prefix));
        if parent.is_empty() || self.file_of(parent).is_some() {
            let before = if parent.is_empty() { String::new() } else { format!("{parent}/") };
            collect(&self.root.join(parent), &before, wanted, &mut entries)?;
        }
        entries.retain(|entry| *entry.name > *wanted.after);
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        entries.truncate(wanted.most.saturating_add(1));
        Ok(entries)
    }
}

/// Checks whether an error means a missing file. For a key below another key, a parent folder is a file.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns the state of a file. Each write creates a new file, so two values of a key never have the same ETag.
fn state(metadata: &Metadata) -> io::Result<State> {
    let time = metadata.mtime().cast_unsigned().wrapping_mul(1_000_000_000);
    let time = time.wrapping_add(metadata.mtime_nsec().cast_unsigned());
    let tag = format!("\"{:x}{time:016x}{:x}\"", metadata.ino(), metadata.len());
    Ok(State { size: metadata.len(), modified: metadata.modified()?, tag, generation: time })
}

/// Adds the entries of a folder that begin with the prefix. For a folder inside, adds either all keys or only its name.
fn collect(folder: &Path, before: &str, wanted: &Wanted<'_>, entries: &mut Vec<Entry>) -> io::Result<()> {
    for entry in entries_of(folder)? {
        let entry = entry?;
        let file_name = entry.file_name();
        let Some(name) = file_name.to_str().filter(|name| *name != UPLOADS) else { continue };
        let name = format!("{before}{name}");
        if !name.starts_with(wanted.prefix) {
            continue;
        }
        if !entry.file_type()?.is_dir() {
            entries.push(Entry { name, state: Some(state(&entry.metadata()?)?) });
        } else if !wanted.is_by_folder {
            collect(&entry.path(), &format!("{name}/"), &Wanted { prefix: "", ..*wanted }, entries)?;
        } else if has_key(&entry.path())? {
            entries.push(Entry { name: format!("{name}/"), state: None });
        }
    }
    Ok(())
}

/// Returns whether a folder contains a key: empty folders are not listed.
fn has_key(folder: &Path) -> io::Result<bool> {
    for entry in entries_of(folder)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() || has_key(&entry.path())? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the entries of a folder, or no entries if it is not a folder.
fn entries_of(folder: &Path) -> io::Result<impl Iterator<Item = io::Result<DirEntry>>> {
    match fs::read_dir(folder) {
        Ok(entries) => Ok(Some(entries).into_iter().flatten()),
        Err(error) if is_missing(&error) => Ok(None.into_iter().flatten()),
        Err(error) => Err(error),
    }
}
