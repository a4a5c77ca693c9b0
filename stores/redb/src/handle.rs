//! The open file: for reading, until the first write.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

use redb::backends::FileBackend;
use redb::{
    Database, DatabaseError, ReadOnlyDatabase, ReadTransaction, ReadableDatabase, StorageBackend,
    WriteTransaction,
};
use zarr_spec::store::StoreError;

/// The number of bytes of a database that are cached. A database of 100,000 chunks of 1 KiB is read in 0.6 of the time
/// that it takes with 64 MiB, which is less than its size.
const CACHE: usize = 256 << 20;

/// A database file.
#[derive(Debug)]
pub(crate) struct Handle {
    path: PathBuf,
    durable: Arc<AtomicBool>,
    state: RwLock<State>,
}

enum State {
    /// The file does not exist, or a failure closed it.
    Closed,
    /// The file is open with a lock that other readers share.
    Reading(ReadOnlyDatabase),
    /// The file is open with a lock that excludes all other processes.
    Writing(Database),
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Closed => "Closed",
            Self::Reading(_) => "Reading",
            Self::Writing(_) => "Writing",
        })
    }
}

impl Handle {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), durable: Arc::default(), state: RwLock::new(State::Closed) }
    }

    pub(crate) fn make_durable(&self) {
        self.durable.store(true, Ordering::Relaxed);
    }

    /// Runs a function in a transaction that reads. `None` if the file does not exist.
    pub(crate) fn read<T>(
        &self,
        operation: &'static str,
        run: impl FnOnce(&ReadTransaction) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        loop {
            let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
            let transaction = match &*state {
                State::Closed => {
                    drop(state);
                    if !self.open_to_read()? {
                        return Ok(None);
                    }
                    continue;
                }
                State::Reading(database) => database.begin_read(),
                State::Writing(database) => database.begin_read(),
            };
            let transaction = transaction.map_err(|error| self.failed(operation, error.into()))?;
            return run(&transaction).map(Some);
        }
    }

    /// Runs a function in a transaction that writes. A failure of the file closes it: the library refuses to continue
    /// until the file is opened again.
    pub(crate) fn write(
        &self,
        run: impl FnOnce(WriteTransaction) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut run = Some(run);
        while let Some(run_once) = run.take() {
            let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
            let State::Writing(database) = &*state else {
                drop(state);
                self.open_to_write()?;
                run = Some(run_once);
                continue;
            };
            let transaction = database.begin_write().map_err(|error| self.failed("writing", error.into()));
            let done = transaction.and_then(run_once);
            drop(state);
            if matches!(done, Err(StoreError::Io { .. })) {
                self.close();
            }
            return done;
        }
        Ok(())
    }

    /// Closes the file until its next use.
    pub(crate) fn close(&self) {
        *self.exclusive() = State::Closed;
    }

    pub(crate) fn failed(&self, operation: &'static str, error: redb::Error) -> StoreError {
        let place = self.path.display().to_string();
        match error {
            redb::Error::DatabaseAlreadyOpen => {
                let what = "another process has the database open; a redb database can be written by one process, \
                            and read only while none writes";
                StoreError::io(operation, place, what)
            }
            redb::Error::Io(error) => StoreError::io(operation, place, error),
            other => StoreError::io(operation, place, other),
        }
    }

    // A state is replaced in one step, so it is consistent after a panic.
    fn exclusive(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a closed file. Returns whether it exists.
    fn open_to_read(&self) -> Result<bool, StoreError> {
        let mut state = self.exclusive();
        if !matches!(*state, State::Closed) {
            return Ok(true);
        }
        let opened = match self.read_only() {
            // The last process that wrote to the file was killed. Opening the file to write repairs it.
            Err(DatabaseError::RepairAborted) => self.create().and_then(|repaired| {
                drop(repaired);
                self.read_only()
            }),
            opened => opened,
        };
        match opened.map_err(redb::Error::from) {
            Ok(database) => {
                *state = State::Reading(database);
                Ok(true)
            }
            Err(redb::Error::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(self.failed("opening", error)),
        }
    }

    fn open_to_write(&self) -> Result<(), StoreError> {
        let mut state = self.exclusive();
        if !matches!(*state, State::Writing(_)) {
            // The shared lock of the open file would exclude the exclusive lock that is taken next.
            *state = State::Closed;
            *state = State::Writing(self.create().map_err(|error| self.failed("opening", error.into()))?);
        }
        Ok(())
    }

    fn read_only(&self) -> Result<ReadOnlyDatabase, DatabaseError> {
        Database::builder().set_cache_size(CACHE).open_read_only(&self.path)
    }

    fn create(&self) -> Result<Database, DatabaseError> {
        let file = File::options().read(true).write(true).create(true).truncate(false).open(&self.path)?;
        let backend = Backend { file: FileBackend::new(file)?, durable: Arc::clone(&self.durable) };
        Database::builder().set_cache_size(CACHE).create_with_backend(backend)
    }
}

/// A file that waits for the disk only if the store is durable.
#[derive(Debug)]
struct Backend {
    file: FileBackend,
    durable: Arc<AtomicBool>,
}

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        if self.durable.load(Ordering::Relaxed) { self.file.sync_data() } else { Ok(()) }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }
}
