//! The open database. LMDB calls it an environment.

#![expect(
    unsafe_code,
    reason = "a file that is mapped into memory must not be changed by programs without LMDB"
)]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions, MdbError, WithoutTls};
use zarr_spec::store::{Durability, StoreError};

use crate::Options;

/// The name of the file in the folder of a database.
const FILE: &str = "data.mdb";

/// The sizes of the map that are tried in turn if none is given: 1 TiB, 64 GiB, 4 GiB, 1 GiB, 256 MiB.
const MAP_SIZES: [u64; 5] = [1 << 40, 1 << 36, 1 << 32, 1 << 30, 1 << 28];

/// The number of transactions that may read at the same time, in all processes.
const READERS: u32 = 1024;

/// The size of a map in bytes is rounded up to a multiple of this number, which is a multiple of the page size of every
/// system.
const PAGE: u64 = 1 << 16;

/// A database that is opened by its first use.
#[derive(Debug)]
pub(crate) struct Environment {
    path: PathBuf,
    options: Options,
    opened: OnceLock<Opened>,
    opening: Mutex<()>,
}

/// An open environment and its unnamed database.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) environment: Env<WithoutTls>,
    pub(crate) values: Database<'static, Bytes, Bytes>,
}

impl Environment {
    pub(crate) fn new(path: &Path, options: Options) -> Self {
        Self { path: path.to_owned(), options, opened: OnceLock::new(), opening: Mutex::new(()) }
    }

    /// Returns the database; `None` if it does not exist and `creates` is false.
    pub(crate) fn opened(&self, creates: bool) -> Result<Option<&Opened>, StoreError> {
        if let Some(opened) = self.opened.get() {
            return Ok(Some(opened));
        }
        let _one_thread_opens = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if self.opened.get().is_none() {
            if !creates && !self.exists()? {
                return Ok(None);
            }
            let opened = self.open().map_err(|error| self.failed("opening", error))?;
            return Ok(Some(self.opened.get_or_init(|| opened)));
        }
        Ok(self.opened.get())
    }

    pub(crate) fn failed(&self, operation: &'static str, error: heed::Error) -> StoreError {
        let place = self.path.display().to_string();
        let what = match error {
            heed::Error::Io(error) => return StoreError::io(operation, place, error),
            heed::Error::Mdb(MdbError::MapFull) => {
                let size = self.opened.get().map_or(0, |opened| opened.environment.info().map_size);
                format!("the database is full at {size} bytes; open it with a larger `map_size`")
            }
            heed::Error::Mdb(MdbError::MapResized) => {
                "another process made the database larger; open it again, with a larger `map_size`".to_owned()
            }
            heed::Error::EnvAlreadyOpened => {
                "the database is open in this process, or was before a fork; open it in one place".to_owned()
            }
            other => other.to_string(),
        };
        StoreError::io(operation, place, what)
    }

    fn exists(&self) -> Result<bool, StoreError> {
        let is_there = |path: &Path| path.try_exists();
        let exists = is_there(&self.path).and_then(|exists| {
            if exists && self.path.is_dir() { is_there(&self.path.join(FILE)) } else { Ok(exists) }
        });
        exists.map_err(|error| self.failed("opening", error.into()))
    }

    fn open(&self) -> Result<Opened, heed::Error> {
        let mut flags = EnvFlags::NO_READ_AHEAD;
        if self.path.is_file() {
            flags |= EnvFlags::NO_SUB_DIR;
        } else if !self.path.exists() {
            match fs::create_dir(&self.path) {
                // Another process creates the database at the same time.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => created?,
            }
        }
        if self.options.durable == Durability::None {
            flags |= EnvFlags::NO_SYNC;
        }
        let environment = match self.mapped(flags) {
            Err(heed::Error::Io(error)) if is_denied(&error) => self.mapped(flags | EnvFlags::READ_ONLY)?,
            environment => environment?,
        };
        // Processes that were killed while they read would otherwise prevent pages from being used again.
        environment.clear_stale_readers()?;
        let values =
            environment.open_databases_and_commit(environment.read_txn()?, |opener, transaction| {
                opener.open_database::<Bytes, Bytes>(transaction, None).map(CommitOrAbort::<_, ()>::Commit)
            })?;
        match values {
            CommitOrAbort::Commit(Some(values)) => Ok(Opened { environment, values }),
            _ => Err(heed::Error::Mdb(MdbError::Invalid)),
        }
    }

    /// Opens the environment with the given size of the map, or the largest one for which there is address space.
    fn mapped(&self, flags: EnvFlags) -> Result<Env<WithoutTls>, heed::Error> {
        if let Some(size) = self.options.map_size {
            return self.mapped_as(flags, size);
        }
        let [sizes @ .., last] = MAP_SIZES;
        for size in sizes {
            match self.mapped_as(flags, size) {
                Err(heed::Error::Io(error)) if is_too_large(&error) => {}
                environment => return environment,
            }
        }
        self.mapped_as(flags, last)
    }

    fn mapped_as(&self, flags: EnvFlags, size: u64) -> Result<Env<WithoutTls>, heed::Error> {
        let size = size.checked_next_multiple_of(PAGE).and_then(|size| usize::try_from(size).ok());
        let size = size.ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let mut options = EnvOpenOptions::new().read_txn_without_tls();
        options.map_size(size).max_readers(READERS);
        // SAFETY: `NO_SYNC` and `NO_SUB_DIR` change when and where LMDB writes, not how it locks. Only a power cut
        // during `NO_SYNC` can damage the file.
        unsafe { options.flags(flags) };
        // SAFETY: LMDB's own locks exclude other users of the library. The documentation of this crate requires that
        // nothing else changes the file.
        unsafe { options.open(&self.path) }
    }
}

fn is_denied(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// Returns whether the address space is too small for a map.
fn is_too_large(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::OutOfMemory | io::ErrorKind::InvalidInput)
}
