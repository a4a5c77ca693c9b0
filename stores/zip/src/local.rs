//! Local archives that can be created and changed.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use zarr_plugin_kit::database::{OpenFile, OpenFiles};
use zarr_spec::store::{
    Capabilities, Condition, ConditionalWrite, Directory, Durability, GetOptions, GetResult, Keys, Payload,
    ReadHints, Store, StoreError, StoreResult, Version,
};
use zarr_spec::{BoxError, Key, Output, Prefix, printable_path};

use crate::ZipStore;
use crate::changing::{Changing, View, print};
use crate::session::Session;
use crate::temporary::Temporary;

/// The archives that are open in this process, with their uncommitted changes.
static OPEN: OpenFiles<Archive> = OpenFiles::new();

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
    session: Option<LocalSession>,
}

/// A session whose file is next to the archive.
#[derive(Debug)]
struct LocalSession {
    session: Session,
    temporary: Temporary,
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

    fn begun(&self, state: &State) -> Result<LocalSession, BoxError> {
        let begin = Session::begin_of(&state.base)?;
        let temporary = Temporary::take(&self.path)?;
        self.check_unchanged(&state.file)?;
        let (file, reader) = temporary.create(&self.path, begin)?;
        Ok(LocalSession { session: Session::new(file, reader, begin), temporary })
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
        let is_own = |local: &&mut LocalSession| local.session.is_own();
        let Some(current) = session.as_mut().filter(is_own) else { return Ok(()) };
        if let Err(error) = current.session.compact() {
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
        LocalSession { session, temporary }: &mut LocalSession,
    ) -> Result<(ZipStore, Option<FileState>), BoxError> {
        let values = session.complete(base)?;
        session.sync()?;
        let file = File::open(temporary.path())?;
        let now = FileState::new(&file.metadata()?);
        let new = ZipStore::of_file(file, self.path.display().to_string())?;
        new.check_count(values)?;
        self.check_unchanged(opened)?;
        temporary.replace(&self.path)?;
        Ok((new, Some(now)))
    }

    /// Waits until the name of the archive is on the disk, if the store is durable.
    fn sync_name(&self) -> io::Result<()> {
        match self.path.parent().filter(|_| self.is_durable.load(Ordering::Relaxed)) {
            Some(folder) => sync_folder(folder),
            None => Ok(()),
        }
    }
}

impl Changing for Archive {
    fn view<T>(&self, read: impl FnOnce(View<'_>) -> T) -> T {
        let state = self.state();
        read(View { base: &state.base, session: state.session.as_ref().map(|local| &local.session) })
    }

    fn begin(&self) -> StoreResult<()> {
        let mut state = self.exclusive();
        if state.session.is_none() {
            state.session = Some(self.begun(&state).map_err(|error| self.failed("writing", error))?);
        }
        Ok(())
    }

    fn failed(&self, operation: &'static str, error: impl Into<BoxError>) -> StoreError {
        StoreError::io(operation, self.path.display().to_string(), error)
    }
}

impl Drop for Archive {
    fn drop(&mut self) {
        if let Err(error) = self.commit() {
            print(&error);
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
        self.0.view(|view| view.get(key, options, to))
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> StoreResult<()> {
        self.0.set(key, &value)
    }

    fn set_if(&self, key: &Key, value: Payload<'_>, condition: &Condition) -> StoreResult<ConditionalWrite> {
        self.0.set_if(key, &value, condition)
    }

    fn erase(&self, key: &Key) -> StoreResult<()> {
        self.0.erase(key)
    }

    fn erase_if(&self, key: &Key, version: &Version) -> StoreResult<ConditionalWrite> {
        self.0.erase_if(key, version)
    }

    fn commit(&self) -> StoreResult<()> {
        self.0.commit()
    }

    fn list_prefix(&self, prefix: &Prefix) -> StoreResult<Keys<'_>> {
        Ok(self.0.list_prefix(prefix))
    }

    fn list_dir(&self, prefix: &Prefix) -> StoreResult<Directory> {
        self.0.list_dir(prefix)
    }

    fn size(&self, key: &Key) -> StoreResult<Option<u64>> {
        Ok(self.0.view(|view| view.size(key)))
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
