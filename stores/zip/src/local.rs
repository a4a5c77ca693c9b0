//! Local archives that can be created and changed.

use std::collections::btree_map::Range as ChangesRange;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::iter::Peekable;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use zarr_plugin_kit::database::{OpenFile, OpenFiles};
use zarr_spec::store::{
    Capabilities, Condition, ConditionalWrite, Contents, Directory, Durability, GetOptions, GetResult, Keys,
    Payload, ReadHints, Store, StoreError, StoreResult, Version,
};
use zarr_spec::{BoxError, Key, Output, Prefix, printable_path};

use crate::directory::Entry;
use crate::session::{Changes, Session};
use crate::{Source, ZipStore, records};

/// The archives that are open in this process, with their uncommitted changes.
static OPEN: OpenFiles<Archive> = OpenFiles::new();

/// The largest number of keys that a listing has in memory.
const LISTED: usize = 4096;

/// Values in a zip archive in a file, which can be created and changed.
///
/// Changes are in a temporary file next to the archive until [`Store::commit`]. Stores of the same archive in this
/// process share them; other programs read the archive as it was. Dropping the last of these stores commits, and prints
/// a failure, which it cannot return.
#[derive(Debug)]
pub struct LocalZipStore(OpenFile<Archive>);

impl LocalZipStore {
    /// Opens the archive at `path`. A missing archive has no values, and the first commit creates it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] if the file is not a complete archive, [`StoreError::Io`] if it cannot be read or its
    /// folder does not exist.
    pub fn open(path: impl AsRef<Path>) -> StoreResult<Self> {
        let path = path.as_ref();
        let opening = |error| StoreError::io("opening", printable_path(path).to_string(), error);
        let store = Self(OPEN.get(path, Archive::new).map_err(opening)?);
        store.0.open()?;
        Ok(store)
    }

    /// With [`Durability::Full`], a commit also waits until the name of the archive is on the disk. It always waits for
    /// the contents. This applies to all stores of the archive in this process.
    #[must_use]
    pub fn durable(self, durability: Durability) -> Self {
        if durability == Durability::Full {
            self.0.is_durable.store(true, Ordering::Relaxed);
        }
        self
    }
}

/// An archive that is open.
#[derive(Debug)]
struct Archive {
    path: PathBuf,
    is_durable: AtomicBool,
    state: RwLock<State>,
}

#[derive(Debug)]
struct State {
    /// The archive as all programs read it; without values if it does not exist.
    base: ZipStore,
    /// Identifies the file of `base`; `None` if it does not exist or was not opened yet.
    file: Option<FileState>,
    session: Option<Session>,
}

/// The properties that identify a state of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileState {
    size: u64,
    changed: Option<std::time::SystemTime>,
    number: u64,
}

impl FileState {
    /// Returns the state of the file at `path`; `None` if there is none.
    fn at(path: &Path) -> io::Result<Option<Self>> {
        match fs::metadata(path) {
            Ok(found) => Ok(Some(Self::new(&found))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn new(found: &fs::Metadata) -> Self {
        Self { size: found.len(), changed: found.modified().ok(), number: number_of(found) }
    }
}

#[cfg(unix)]
fn number_of(file: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(file)
}

#[cfg(not(unix))]
fn number_of(_file: &fs::Metadata) -> u64 {
    0
}

impl Archive {
    fn new(path: &Path) -> Self {
        let base = ZipStore::empty(path.display().to_string());
        let state = RwLock::new(State { base, file: None, session: None });
        Self { path: path.to_owned(), is_durable: AtomicBool::new(false), state }
    }

    // Every change is a single step, so a panic leaves the state consistent.
    fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn exclusive(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, operation: &'static str, error: impl Into<BoxError>) -> StoreError {
        StoreError::io(operation, self.path.display().to_string(), error)
    }

    /// Reads the directory if it has not been read, or if the archive was replaced. Does nothing while changes are not
    /// committed.
    fn open(&self) -> StoreResult<()> {
        let mut state = self.exclusive();
        let now = FileState::at(&self.path).map_err(|error| self.failed("opening", error))?;
        if state.session.is_some() || state.file == now {
            return Ok(());
        }
        state.base = match now {
            Some(_) => ZipStore::open(&self.path)?,
            None => ZipStore::empty(self.path.display().to_string()),
        };
        state.file = now;
        Ok(())
    }

    /// Makes a change in the current session, or in a new one.
    fn change<T>(&self, change: impl FnOnce(&State, &Session) -> StoreResult<T>) -> StoreResult<T> {
        loop {
            let state = self.state();
            match &state.session {
                Some(session) if session.is_own() => return change(&state, session),
                Some(_) => {
                    let what =
                        "it was changed before this process was forked; only the first process can change it";
                    return Err(self.failed("writing", what));
                }
                None => {}
            }
            drop(state);
            self.begin()?;
        }
    }

    fn begin(&self) -> StoreResult<()> {
        let mut state = self.exclusive();
        if state.session.is_none() {
            let begun = Session::begin(&self.path, &state.base, || self.check_unchanged(&state.file));
            state.session = Some(begun.map_err(|error| self.failed("writing", error))?);
        }
        Ok(())
    }

    /// Refuses an archive that another program replaced.
    fn check_unchanged(&self, opened: &Option<FileState>) -> Result<(), BoxError> {
        match FileState::at(&self.path)? == *opened {
            true => Ok(()),
            false => Err("the archive was replaced after it was opened; open it again".into()),
        }
    }

    fn commit(&self) -> StoreResult<()> {
        let mut state = self.exclusive();
        let State { base, file, session } = &mut *state;
        let Some(current) = session.as_mut().filter(|session| session.is_own()) else { return Ok(()) };
        if let Err(error) = current.compact() {
            *session = None;
            let what =
                format!("{error}; the archive is unchanged, and the changes since the last commit are lost");
            return Err(self.failed("writing", what));
        }
        let replaced = self.replace(base, file, current);
        let (new_base, new_file) = replaced.map_err(|error| self.failed("writing", error))?;
        *base = new_base;
        *file = new_file;
        *session = None;
        self.sync_name().map_err(|error| self.failed("syncing", error))
    }

    /// Completes the file of a session, reads its directory again, and replaces the archive with it.
    fn replace(
        &self,
        base: &ZipStore,
        opened: &Option<FileState>,
        session: &mut Session,
    ) -> Result<(ZipStore, Option<FileState>), BoxError> {
        let values = session.complete(base)?;
        let file = File::open(session.path())?;
        let now = FileState::new(&file.metadata()?);
        let new = ZipStore::of_file(file, self.path.display().to_string())?;
        let found = new.entries.all().len();
        if found != values {
            return Err(format!("the new archive has {found} values, expected {values}").into());
        }
        self.check_unchanged(opened)?;
        session.replace(&self.path)?;
        Ok((new, Some(now)))
    }

    /// Waits until the name of the archive is on the disk, if the store is durable.
    fn sync_name(&self) -> io::Result<()> {
        match self.path.parent().filter(|_| self.is_durable.load(Ordering::Relaxed)) {
            Some(folder) => sync_folder(folder),
            None => Ok(()),
        }
    }

    /// Returns up to `most` sorted keys that begin with `prefix`, from a key on.
    fn keys(&self, prefix: &Prefix, from: &Bound<String>, most: usize) -> Vec<Key> {
        let state = self.state();
        let is_before = |entry: &Entry| match from {
            Bound::Included(from) => entry.key().as_str() < from.as_str(),
            Bound::Excluded(from) => entry.key().as_str() <= from.as_str(),
            Bound::Unbounded => false,
        };
        let all = state.base.entries.all();
        let base = &all[all.partition_point(is_before)..];
        let in_prefix = |key: &Key| prefix.strip(key.as_str()).is_some();
        match &state.session {
            None => {
                let keys = base.iter().map(Entry::key).take_while(|key| in_prefix(key));
                keys.take(most).cloned().collect()
            }
            Some(session) => {
                let changes = session.changes();
                let from = (from.as_ref().map(String::as_str), Bound::Unbounded);
                let merged = Merged {
                    base: base.iter().peekable(),
                    changes: changes.range::<str, _>(from).peekable(),
                };
                merged.take_while(|key| in_prefix(key)).take(most).cloned().collect()
            }
        }
    }
}

impl Drop for Archive {
    fn drop(&mut self) {
        if let Err(error) = self.commit() {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            eprintln!("error: {error}{}", cause.unwrap_or_default());
        }
    }
}

impl State {
    /// Calls `read` with the entry of a key and the file that contains it. Returns `None` if the key is missing.
    fn with<T>(&self, key: &Key, read: impl FnOnce(&Entry, &Source) -> T) -> Option<T> {
        if let Some(session) = &self.session {
            let change = session.changes().get(key).cloned();
            if let Some(entry) = change {
                return entry.map(|entry| read(&entry, session.source()));
            }
        }
        self.base.entries.find(key).map(|entry| read(entry, &self.base.source))
    }

    fn version(&self, key: &Key) -> Option<Version> {
        self.with(key, |entry, _| self.base.version_of(entry))
    }

    /// Returns the version of a value after `changes`, whose lock the caller holds.
    fn current(&self, changes: &Changes, key: &Key) -> Option<Version> {
        match changes.get(key) {
            Some(change) => change.as_ref().map(|entry| self.base.version_of(entry)),
            None => self.base.entries.find(key).map(|entry| self.base.version_of(entry)),
        }
    }

    /// Erases a value: marks a key of the archive as erased, and removes a key that only `changes` have.
    fn erase(&self, changes: &mut Changes, key: &Key) {
        match self.base.entries.find(key) {
            Some(_) => changes.insert(key.clone(), None),
            None => changes.remove(key),
        };
    }
}

/// The keys of an archive and of its changes, sorted.
struct Merged<'a> {
    base: Peekable<slice::Iter<'a, Entry>>,
    changes: Peekable<ChangesRange<'a, Key, Option<Arc<Entry>>>>,
}

impl<'a> Iterator for Merged<'a> {
    type Item = &'a Key;

    fn next(&mut self) -> Option<&'a Key> {
        loop {
            let next = match (self.base.peek(), self.changes.peek()) {
                (Some(old), Some((key, _))) if old.key() < *key => return self.base.next().map(Entry::key),
                (Some(old), Some((key, _))) => {
                    if old.key() == *key {
                        self.base.next();
                    }
                    self.changes.next()
                }
                (Some(_), None) => return self.base.next().map(Entry::key),
                (None, _) => self.changes.next(),
            };
            // An erased key is not listed.
            if let (key, Some(_)) = next? {
                return Some(key);
            }
        }
    }
}

impl Store for LocalZipStore {
    fn location(&self) -> String {
        format!("zip:{}", self.0.path.display())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL_AND_CONDITIONAL
    }

    fn read_hints(&self) -> ReadHints {
        self.0.state().base.read_hints()
    }

    fn get(&self, key: &Key, options: GetOptions, to: &mut Output<'_>) -> StoreResult<Option<GetResult>> {
        let state = self.0.state();
        let base = &state.base;
        let found = state.with(key, |entry, source| {
            let part = base.part(key, entry, options.range, to.remaining())?;
            let read = base.read(source, entry, &part, to);
            read.map_err(|error| base.failed(key, error))?;
            Ok(GetResult::new(Contents::Written, entry.size(), Some(base.version_of(entry))))
        });
        found.transpose()
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> StoreResult<()> {
        records::check(key)?;
        self.0.change(|_, session| {
            let entry = session.append(key, &value).map_err(|error| self.0.failed("writing", error))?;
            session.changing().insert(key.clone(), Some(entry));
            Ok(())
        })
    }

    fn set_if(&self, key: &Key, value: Payload<'_>, condition: &Condition) -> StoreResult<ConditionalWrite> {
        records::check(key)?;
        if !condition.holds(self.0.state().version(key).as_ref()) {
            return Ok(ConditionalWrite::Conflict);
        }
        self.0.change(|state, session| {
            let entry = session.append(key, &value).map_err(|error| self.0.failed("writing", error))?;
            let mut changes = session.changing();
            if !condition.holds(state.current(&changes, key).as_ref()) {
                return Ok(ConditionalWrite::Conflict);
            }
            let version = state.base.version_of(&entry);
            changes.insert(key.clone(), Some(entry));
            Ok(ConditionalWrite::Done(Some(version)))
        })
    }

    fn erase(&self, key: &Key) -> StoreResult<()> {
        if self.0.state().version(key).is_none() {
            return Ok(());
        }
        self.0.change(|state, session| {
            state.erase(&mut session.changing(), key);
            Ok(())
        })
    }

    fn erase_if(&self, key: &Key, version: &Version) -> StoreResult<ConditionalWrite> {
        if self.0.state().version(key).as_ref() != Some(version) {
            return Ok(ConditionalWrite::Conflict);
        }
        self.0.change(|state, session| {
            let mut changes = session.changing();
            if state.current(&changes, key).as_ref() != Some(version) {
                return Ok(ConditionalWrite::Conflict);
            }
            state.erase(&mut changes, key);
            Ok(ConditionalWrite::Done(None))
        })
    }

    fn commit(&self) -> StoreResult<()> {
        self.0.commit()
    }

    fn list_prefix(&self, prefix: &Prefix) -> StoreResult<Keys<'_>> {
        let prefix = prefix.clone();
        let mut from = Bound::Included(prefix.as_str().to_owned());
        // The first key is often enough.
        let mut most = 1;
        let batches = std::iter::from_fn(move || {
            let keys = self.0.keys(&prefix, &from, most);
            from = Bound::Excluded(keys.last()?.as_str().to_owned());
            most = (most * 8).min(LISTED);
            Some(keys)
        });
        Ok(Box::new(batches.flatten().map(Ok)))
    }

    fn list_dir(&self, prefix: &Prefix) -> StoreResult<Directory> {
        let state = self.0.state();
        if state.session.is_none() {
            return state.base.list_dir(prefix);
        }
        drop(state);
        let mut found = Directory::default();
        let mut from = Bound::Included(prefix.as_str().to_owned());
        while let Some(key) = self.0.keys(prefix, &from, 1).pop() {
            let name = prefix.strip(key.as_str()).unwrap_or_default();
            match name.split_once('/') {
                Some((segment, _)) => {
                    found.prefixes.push(prefix.join(segment)?);
                    // The character that follows `/`.
                    from = Bound::Included(format!("{prefix}{segment}0"));
                }
                None => {
                    from = Bound::Excluded(key.as_str().to_owned());
                    found.keys.push(key);
                }
            }
        }
        Ok(found)
    }

    fn size(&self, key: &Key) -> StoreResult<Option<u64>> {
        Ok(self.0.state().with(key, |entry, _| entry.size()))
    }
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Does nothing, because other systems do not open folders as files.
#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}
