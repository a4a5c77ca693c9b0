//! Implements the trait for databases with sorted keys.

use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use redb::{ReadTransaction, ReadableTable, Table, TableDefinition, TableError, WriteTransaction};
use sha2::{Digest, Sha256};
use zarr_plugin_kit::database::{Change, Database, OpenFile, OpenFiles, Values};
use zarr_spec::Key;
use zarr_spec::store::{Durability, StoreError, Version};

use crate::handle::Handle;

/// The table with the values.
const VALUES: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("zarr");

/// The databases that are open in this process: a file cannot be opened twice.
static OPEN: OpenFiles<Handle> = OpenFiles::new();

/// A file with a redb database. Several values of this type with one file share one open database in a process.
#[derive(Debug)]
pub struct RedbDatabase(OpenFile<Handle>);

impl RedbDatabase {
    /// Opens the database in a file. A missing file is an empty database, and is created by the first write.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] if the folder does not exist, the file is not a database, or another process writes to it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let opening = |error| StoreError::io("opening", path.display().to_string(), error);
        let database = Self(OPEN.get(path, Handle::new).map_err(opening)?);
        database.reading("opening", |_| Ok(()))?;
        Ok(database)
    }

    /// Sets whether every call that writes waits for the disk. If one store of this file in this process waits, all do.
    #[must_use]
    pub fn durable(self, durability: Durability) -> Self {
        if durability != Durability::None {
            self.0.make_durable();
        }
        self
    }

    /// Runs a function in a transaction that reads. `None` if the file does not exist.
    fn reading<T>(
        &self,
        operation: &'static str,
        run: impl FnOnce(&ReadTransaction) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let run = AssertUnwindSafe(|| self.0.read(operation, run));
        catch_unwind(run).unwrap_or_else(|_| Err(self.damaged(operation)))
    }

    fn failed(&self, operation: &'static str, error: impl Into<redb::Error>) -> StoreError {
        self.0.failed(operation, error.into())
    }

    /// Returns the error for a panic of the library, which occurs only for a damaged file.
    fn damaged(&self, operation: &'static str) -> StoreError {
        self.0.close();
        StoreError::io(operation, self.0.path().display().to_string(), "the database is damaged")
    }

    fn write(&self, transaction: WriteTransaction, change: &mut Change<'_>) -> Result<(), StoreError> {
        let table = transaction.open_table(VALUES).map_err(|error| self.failed("writing", error))?;
        let commits = change(&mut InTable { table, database: self })?;
        if commits {
            transaction.commit().map_err(|error| self.failed("writing", error))
        } else {
            transaction.abort().map_err(|error| self.failed("writing", error))
        }
    }
}

impl Database for RedbDatabase {
    fn location(&self) -> String {
        format!("redb:{}", self.0.path().display())
    }

    fn read(
        &self,
        key: &Key,
        read: &mut dyn FnMut(&[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let failed = |error: redb::Error| self.failed("reading", error);
        let run = |transaction: &ReadTransaction| {
            let table = match transaction.open_table(VALUES) {
                Err(TableError::TableDoesNotExist(_)) => return Ok(()),
                table => table.map_err(|error| failed(error.into()))?,
            };
            match table.get(key.as_str()).map_err(|error| failed(error.into()))? {
                Some(value) => read(value.value()),
                None => Ok(()),
            }
        };
        self.reading("reading", run).map(|_| ())
    }

    fn visit_keys(
        &self,
        from: &Bound<String>,
        visit: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<(), StoreError> {
        let failed = |error: redb::Error| self.failed("listing", error);
        let run = |transaction: &ReadTransaction| {
            let table = match transaction.open_table(VALUES) {
                Err(TableError::TableDoesNotExist(_)) => return Ok(()),
                table => table.map_err(|error| failed(error.into()))?,
            };
            let from = from.as_ref().map(String::as_str);
            let entries = table.range::<&str>((from, Bound::Unbounded));
            for entry in entries.map_err(|error| failed(error.into()))? {
                let (key, _) = entry.map_err(|error| failed(error.into()))?;
                if !visit(key.value().as_bytes()) {
                    break;
                }
            }
            Ok(())
        };
        self.reading("listing", run).map(|_| ())
    }

    fn change(&self, change: &mut Change<'_>) -> Result<(), StoreError> {
        let run = AssertUnwindSafe(|| self.0.write(|transaction| self.write(transaction, change)));
        catch_unwind(run).unwrap_or_else(|_| Err(self.damaged("writing")))
    }

    fn version(&self, value: &[u8]) -> Version {
        Version::new(Sha256::digest(value))
    }
}

/// The table in a transaction that writes.
struct InTable<'t, 'd> {
    table: Table<'t, &'static str, &'static [u8]>,
    database: &'d RedbDatabase,
}

impl Values for InTable<'_, '_> {
    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>, StoreError> {
        let found = self.table.get(key.as_str()).map_err(|error| self.database.failed("reading", error))?;
        Ok(found.map(|value| value.value().to_vec()))
    }

    fn put(&mut self, key: &Key, value: &[u8]) -> Result<(), StoreError> {
        let put = self.table.insert(key.as_str(), value);
        put.map(drop).map_err(|error| self.database.failed("writing", error))
    }

    fn remove(&mut self, key: &Key) -> Result<(), StoreError> {
        let removed = self.table.remove(key.as_str());
        removed.map(drop).map_err(|error| self.database.failed("erasing", error))
    }
}
