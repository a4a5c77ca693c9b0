//! The `lmdb` store: keys and values in an LMDB database, in the layout of `LMDBStore` of zarr-python 2.
//!
//! Each key is a key of the unnamed database. Keys have at most 511 bytes. Each call that writes is one transaction. The
//! version of a value is its SHA-256.
//!
//! **Processes.** Any number of processes can read and write a database at the same time, on one machine; writers wait
//! for each other. Stores of one database in one process share it. Other programs, such as Python with `lmdb`, may be
//! among the processes if they have the same format of the lock file; otherwise the second one gets an error as long as
//! the first one has the database open.
//!
//! **Crashes.** After a process was killed, the others find every value that a finished call wrote. After a power cut
//! the database may be damaged, unless the store is `durable`, which waits for the disk on every call that writes.
//!
//! **Size.** The database is a file that is mapped into memory. `map_size` is its largest size in bytes, 1 TiB if the
//! address space allows. A write that exceeds it is an error.
//!
//! **Trust.** LMDB does not check its file: a damaged or hostile one can crash the process or read its memory. Use a
//! machine that may crash to copy data from others into another store.
//!
//! A path is the folder of the database, or its file if it exists. A missing folder is created by the first write.
//!
//! Opened as `{"type": "lmdb", "path": "data.lmdb"}`, as `lmdb:PATH`, or as the step `PATH|lmdb:` of a URL pipeline. A
//! plain path is never opened as a database, because LMDB does not check the file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::database::DatabaseStore;
use zarr_spec::store::{Durability, Step, Store, StoreConfiguration, StoreError, StorePlugin};
use zarr_spec::{Example, Invalid, typetag};

mod database;
mod environment;

pub use database::LmdbDatabase;

zarr_spec::register!(
    StorePlugin::new("lmdb", &["lmdb"], &open)
        .step(&open_step)
        .configuration::<LmdbConfiguration>()
        .about("Stores values in an LMDB database, as zarr-python 2 does.", EXAMPLES)
);

const EXAMPLES: &[Example] =
    &[Example::v3(r#"{"type": "lmdb", "path": "data.lmdb", "map_size": 1073741824}"#)];

/// A store in an LMDB database.
///
/// ```no_run
/// use zarr_store_lmdb::{LmdbDatabase, LmdbStore, Options};
///
/// let store = LmdbStore::new(LmdbDatabase::open("data.lmdb", Options::default())?);
/// # Ok::<(), zarr_spec::store::StoreError>(())
/// ```
pub type LmdbStore = DatabaseStore<LmdbDatabase>;

/// How a database is opened. If a process opens several stores of a database, the options of the first one apply to
/// all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// The largest size of the database in bytes; `None` is 1 TiB, or what the address space allows.
    pub map_size: Option<u64>,
    /// Whether to wait for the disk on every call that writes.
    pub durable: Durability,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LmdbConfiguration {
    /// The folder of the database, or its file.
    path: PathBuf,
    /// The largest size of the database in bytes.
    map_size: Option<u64>,
    /// Whether to wait for the disk on every call that writes.
    #[serde(default)]
    durable: Durability,
}

#[typetag::deserialize(name = "lmdb")]
impl StoreConfiguration for LmdbConfiguration {
    fn open(&self, _given: Option<&Arc<dyn Store>>) -> Result<Arc<dyn Store>, StoreError> {
        open_path(&self.path, Options { map_size: self.map_size, durable: self.durable })
    }
}

fn open_path(path: &Path, options: Options) -> Result<Arc<dyn Store>, StoreError> {
    Ok(Arc::new(LmdbStore::new(LmdbDatabase::open(path, options)?)))
}

fn open(url: &str) -> Result<Arc<dyn Store>, StoreError> {
    let path = url.split_once(':').map_or(url, |(_, path)| path);
    let has_host = path.starts_with("//") && !path.starts_with("///");
    if path.is_empty() || has_host {
        let what =
            format!("`{url}`: expected the path of a database after `lmdb:`, such as `lmdb:data.lmdb`");
        return Err(Invalid::new(what).into());
    }
    open_path(Path::new(path), Options::default())
}

fn open_step(step: &Step<'_>) -> Result<Arc<dyn Store>, StoreError> {
    if let Some((name, _)) = step.options.first() {
        return Err(Invalid::new(format!("`|lmdb:` does not have options, found `{name}`")).into());
    }
    match step.path {
        Some(path) => open_path(path, Options::default()),
        None => {
            let what = format!(
                "`{}`: an LMDB database must be a local folder or file; copy it to this machine",
                step.input
            );
            Err(Invalid::new(what).into())
        }
    }
}
