//! Implements the trait for databases with sorted keys.

use std::ops::Bound;
use std::path::Path;

use heed::RwTxn;
use sha2::{Digest, Sha256};
use zarr_plugin_kit::database::{Change, Database, OpenFile, OpenFiles, Values};
use zarr_spec::store::{StoreError, Version};
use zarr_spec::{Key, KeyError};

use crate::Options;
use crate::environment::{Environment, Opened};

/// The maximum size of a key in bytes, which is compiled into LMDB.
const MAX_KEY: usize = 511;

/// The databases that are open in this process: LMDB cannot open one twice.
static OPEN: OpenFiles<Environment> = OpenFiles::new();

/// An LMDB database. Several values of this type with one path share one open database in a process.
#[derive(Debug)]
pub struct LmdbDatabase(OpenFile<Environment>);

impl LmdbDatabase {
    /// Opens the database in the folder `path`, or in the file `path` if `path` is a file. A missing folder is an empty
    /// database, and is created by the first write.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] if the folder above it does not exist, or the file is not a database.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let opening = |error| StoreError::io("opening", path.display().to_string(), error);
        let database = Self(OPEN.get(path, |path| Environment::new(path, options)).map_err(opening)?);
        database.0.opened(false)?;
        Ok(database)
    }
}

impl Database for LmdbDatabase {
    fn location(&self) -> String {
        format!("lmdb:{}", self.0.path().display())
    }

    fn read(
        &self,
        key: &Key,
        read: &mut dyn FnMut(&[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let failed = |error| self.0.failed("reading", error);
        let Some(opened) = self.0.opened(false)?.filter(|_| check(key).is_ok()) else { return Ok(()) };
        let transaction = opened.environment.read_txn().map_err(failed)?;
        match opened.values.get(&transaction, key.as_str().as_bytes()).map_err(failed)? {
            Some(value) => read(value),
            None => Ok(()),
        }
    }

    fn visit_keys(
        &self,
        from: &Bound<String>,
        visit: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<(), StoreError> {
        let failed = |error| self.0.failed("listing", error);
        let Some(opened) = self.0.opened(false)? else { return Ok(()) };
        let transaction = opened.environment.read_txn().map_err(failed)?;
        let from = match from {
            // LMDB does not have an empty key.
            Bound::Included(from) if from.is_empty() => Bound::Unbounded,
            from => from.as_ref().map(String::as_bytes),
        };
        for entry in opened.values.range(&transaction, &(from, Bound::Unbounded)).map_err(failed)? {
            let (key, _) = entry.map_err(failed)?;
            if !visit(key) {
                break;
            }
        }
        Ok(())
    }

    fn change(&self, change: &mut Change<'_>) -> Result<(), StoreError> {
        let failed = |error| self.0.failed("writing", error);
        let Some(opened) = self.0.opened(true)? else { return Ok(()) };
        let transaction = opened.environment.write_txn().map_err(failed)?;
        let mut values = InTransaction { transaction, opened, environment: &self.0 };
        if change(&mut values)? {
            values.transaction.commit().map_err(failed)?;
        }
        Ok(())
    }

    fn version(&self, value: &[u8]) -> Version {
        Version::new(Sha256::digest(value))
    }
}

/// The values in a transaction that writes.
struct InTransaction<'e> {
    transaction: RwTxn<'e>,
    opened: &'e Opened,
    environment: &'e Environment,
}

impl Values for InTransaction<'_> {
    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>, StoreError> {
        if check(key).is_err() {
            return Ok(None);
        }
        let found = self.opened.values.get(&self.transaction, key.as_str().as_bytes());
        let found = found.map_err(|error| self.environment.failed("reading", error))?;
        Ok(found.map(<[u8]>::to_vec))
    }

    fn put(&mut self, key: &Key, value: &[u8]) -> Result<(), StoreError> {
        check(key)?;
        let put = self.opened.values.put(&mut self.transaction, key.as_str().as_bytes(), value);
        put.map_err(|error| self.environment.failed("writing", error))
    }

    fn remove(&mut self, key: &Key) -> Result<(), StoreError> {
        if check(key).is_err() {
            return Ok(());
        }
        let removed = self.opened.values.delete(&mut self.transaction, key.as_str().as_bytes());
        removed.map(drop).map_err(|error| self.environment.failed("erasing", error))
    }
}

/// Refuses a key that is too long.
fn check(key: &Key) -> Result<(), KeyError> {
    if key.as_str().len() > MAX_KEY {
        return Err(KeyError::new(key.as_str(), "key", "keys in an LMDB database have at most 511 bytes"));
    }
    Ok(())
}
