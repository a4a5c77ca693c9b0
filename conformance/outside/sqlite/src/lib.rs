//! The store `outside.sqlite`: a hierarchy in one SQLite file.
//!
//! Keys and values are the rows of the table `zarr (k TEXT PRIMARY KEY, v BLOB)`, which `SQLiteStore` of zarr-python 2
//! also uses, so each store can read the files of the other. The store is opened as `{"type": "outside.sqlite", "path":
//! "a.sqlite"}` or `sqlite:a.sqlite`. A missing file is an empty store, and the first value creates the file.
//!
//! Each change is a separate transaction, and other programs may read and write at the same time. Files created by
//! this store have a write-ahead log: changes do not wait for the disk, so the last changes may be lost if the
//! machine loses power.

use std::path::{self, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Transaction, TransactionBehavior, params};
use serde::Deserialize;
use zarr_spec::store::{
    Capabilities, Contents, GetOptions, GetResult, Keys, Payload, Store, StoreConfiguration, StoreError,
    StorePlugin, check_overlaps, put_at,
};
use zarr_spec::{BoxError, Example, Invalid, Key, LimitExceeded, Output, Prefix, typetag};

zarr_spec::register!(
    StorePlugin::new("outside.sqlite", &["sqlite"], &open)
        .configuration::<SqliteConfiguration>()
        .about("Stores values in a SQLite file.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[Example::v3(r#"{"type": "outside.sqlite", "path": "a.sqlite"}"#)];

/// The maximum time to wait for a change by another program.
const PATIENCE: Duration = Duration::from_secs(30);

/// A SQLite file.
#[derive(Debug)]
struct Sqlite {
    path: PathBuf,
    /// The only connection, which one thread uses at a time; `None` until the file exists.
    connection: Mutex<Option<Connection>>,
}

impl Sqlite {
    /// Makes the path absolute, because SQLite always treats an absolute path as a file.
    fn new(path: &str) -> Result<Self, StoreError> {
        let absolute = path::absolute(path).map_err(|error| failed("opening", &path, error.into()))?;
        Ok(Self { path: absolute, connection: Mutex::new(None) })
    }

    /// Runs `work` in a transaction that sees a consistent state of the file. Returns `None` if the file does not
    /// exist.
    fn with_file<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, BoxError>,
    ) -> Result<Option<T>, BoxError> {
        if !self.path.exists() {
            return Ok(None);
        }
        self.run(OpenFlags::empty(), TransactionBehavior::Deferred, work).map(Some)
    }

    /// Runs `work` in the only write transaction. Creates the file if it does not exist.
    fn write(&self, work: impl FnOnce(&Transaction<'_>) -> Result<(), BoxError>) -> Result<(), BoxError> {
        self.run(OpenFlags::SQLITE_OPEN_CREATE, TransactionBehavior::Immediate, |transaction| {
            transaction.execute("CREATE TABLE IF NOT EXISTS zarr (k TEXT PRIMARY KEY, v BLOB)", ())?;
            work(transaction)
        })
    }

    fn run<T>(
        &self,
        flags: OpenFlags,
        behavior: TransactionBehavior,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, BoxError>,
    ) -> Result<T, BoxError> {
        // A transaction interrupted by a panic has been rolled back, so a poisoned lock is harmless.
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = match &mut *connection {
            Some(connection) => connection,
            closed => {
                let is_new = !self.path.exists();
                let flags = flags | OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
                let opened = Connection::open_with_flags(&self.path, flags)?;
                opened.busy_timeout(PATIENCE)?;
                if is_new {
                    opened.pragma_update(None, "journal_mode", "wal")?;
                }
                opened.pragma_update(None, "synchronous", "normal")?;
                closed.insert(opened)
            }
        };
        let transaction = Transaction::new(connection, behavior)?;
        let done = work(&transaction)?;
        transaction.commit()?;
        Ok(done)
    }
}

impl Store for Sqlite {
    fn location(&self) -> String {
        format!("sqlite:{}", self.path.display())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL
    }

    /// Reads only the requested part of the value.
    fn get(
        &self,
        key: &Key,
        options: GetOptions,
        to: &mut Output<'_>,
    ) -> Result<Option<GetResult>, StoreError> {
        let got = self.with_file(|transaction| {
            let Some(row) = row(transaction, key)? else { return Ok(None) };
            let value = transaction.blob_open("main", "zarr", "v", row, true)?;
            let part = options.range.within(value.len() as u64);
            let [start, end] = [part.start, part.end].map(usize::try_from);
            let start = start?;
            let end = end?;
            let room = &mut to.spare(end - start)?[..end - start];
            value.read_at_exact(room, start)?;
            to.advance(end - start);
            Ok(Some(GetResult::new(Contents::Written, value.len() as u64, None)))
        });
        got.map(Option::flatten).map_err(|error| failed("reading", key, error))
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> Result<(), StoreError> {
        self.write(|transaction| set(transaction, key, &value)).map_err(|error| failed("writing", key, error))
    }

    /// Changes either all values or none.
    fn set_partial_values(&self, values: &[(Key, u64, &[u8])]) -> Result<(), StoreError> {
        check_overlaps(values)?;
        let Some((first, ..)) = values.first() else { return Ok(()) };
        let written = self.write(|transaction| {
            values.iter().try_for_each(|(key, offset, part)| {
                let stored =
                    transaction.query_row("SELECT v FROM zarr WHERE k = ?", [key.as_str()], |row| row.get(0));
                let mut value: Vec<u8> = stored.optional()?.unwrap_or_default();
                put_at(&mut value, *offset, part)?;
                set(transaction, key, &value)
            })
        });
        written.map_err(|error| failed("writing", first, error))
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        let erased = self.with_file(|transaction| {
            transaction.execute("DELETE FROM zarr WHERE k = ?", [key.as_str()])?;
            Ok(())
        });
        erased.map(Option::unwrap_or_default).map_err(|error| failed("erasing", key, error))
    }

    fn erase_prefix(&self, prefix: &Prefix) -> Result<(), StoreError> {
        let (start, end) = bounds(prefix);
        let erased = self.with_file(|transaction| {
            transaction.execute("DELETE FROM zarr WHERE k >= ?1 AND (k < ?2 OR ?2 = '')", [start, &end])?;
            Ok(())
        });
        erased.map(Option::unwrap_or_default).map_err(|error| failed("erasing", prefix, error))
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Keys<'_>, StoreError> {
        let (start, end) = bounds(prefix);
        let keys = self.with_file(|transaction| {
            let mut statement =
                transaction.prepare("SELECT k FROM zarr WHERE k >= ?1 AND (k < ?2 OR ?2 = '') ORDER BY k")?;
            let keys = statement.query_map([start, &end], |row| row.get::<_, String>(0))?;
            keys.map(|key| Ok(Key::new(key?)?)).collect::<Result<Vec<_>, _>>()
        });
        let keys = keys.map_err(|error| failed("listing", prefix, error))?.unwrap_or_default();
        Ok(Box::new(keys.into_iter().map(Ok)))
    }

    fn size(&self, key: &Key) -> Result<Option<u64>, StoreError> {
        let size = self.with_file(|transaction| {
            let Some(row) = row(transaction, key)? else { return Ok(None) };
            Ok(Some(transaction.blob_open("main", "zarr", "v", row, true)?.len() as u64))
        });
        size.map(Option::flatten).map_err(|error| failed("reading", key, error))
    }
}

/// Returns the row id of a key.
fn row(transaction: &Transaction<'_>, key: &Key) -> Result<Option<i64>, BoxError> {
    let row = transaction.query_row("SELECT rowid FROM zarr WHERE k = ?", [key.as_str()], |row| row.get(0));
    Ok(row.optional()?)
}

fn set(transaction: &Transaction<'_>, key: &Key, value: &[u8]) -> Result<(), BoxError> {
    let sql = "INSERT INTO zarr (k, v) VALUES (?1, ?2) ON CONFLICT (k) DO UPDATE SET v = ?2";
    transaction.execute(sql, params![key.as_str(), value])?;
    Ok(())
}

/// Returns the lower bound and the exclusive upper bound of the keys below `prefix`. The upper bound ends with `0`, the
/// character after `/`. It is empty for the root, whose keys have no upper bound.
fn bounds(prefix: &Prefix) -> (&str, String) {
    let start = prefix.as_str();
    (start, start.strip_suffix('/').map_or_else(String::new, |start| format!("{start}0")))
}

fn failed(operation: &'static str, place: &dyn ToString, source: BoxError) -> StoreError {
    let place = place.to_string();
    match source.downcast::<LimitExceeded>() {
        Ok(source) => StoreError::TooLarge { key: place, source: *source },
        Err(source) => StoreError::io(operation, place, source),
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SqliteConfiguration {
    path: String,
}

#[typetag::deserialize(name = "outside.sqlite")]
impl StoreConfiguration for SqliteConfiguration {
    fn open(&self, _given: Option<&Arc<dyn Store>>) -> Result<Arc<dyn Store>, StoreError> {
        Ok(Arc::new(Sqlite::new(&self.path)?))
    }
}

/// Opens `sqlite:` followed by a path, or by `//` and an absolute path. Hosts are refused.
fn open(url: &str) -> Result<Arc<dyn Store>, StoreError> {
    let rest = url.split_once(':').map_or("", |(_, rest)| rest);
    let path = match rest.strip_prefix("//") {
        Some(path) => Some(path).filter(|path| path.starts_with('/')),
        None => Some(rest).filter(|path| !path.is_empty()),
    };
    let wrong =
        || Invalid::new(format!("`{url}` does not name a file (expected sqlite:PATH or sqlite:///PATH)"));
    Ok(Arc::new(Sqlite::new(path.ok_or_else(wrong)?)?))
}
