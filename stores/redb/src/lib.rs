//! The `redb` store: keys and values in one file, a database of the crate `redb`.
//!
//! The values are in the table `zarr`, whose keys are text and whose values are bytes. Each call that writes is one
//! transaction. The version of a value is its SHA-256.
//!
//! **Processes.** Any number of processes can read a file, or one can write it. The first write takes the file for this
//! process until its last store of the file is closed, so a second writer gets an error. Stores of one
//! file in one process share it.
//!
//! **Crashes.** After a process was killed, the next one finds every value that a finished call wrote. Opening the file
//! then checks all of it. After a power cut the file may be damaged, unless the store is `durable`, which waits for the
//! disk on every call that writes.
//!
//! The file is created by the first write. It does not become smaller when values are erased; their space is used
//! again.
//!
//! Opened as `{"type": "redb", "path": "data.redb"}`, as `redb:PATH`, or as the step `PATH|redb:` of a URL pipeline. A
//! plain path of an existing database is recognized.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use zarr_plugin_kit::database::DatabaseStore;
use zarr_spec::store::{Durability, Step, Store, StoreConfiguration, StoreError, StorePlugin};
use zarr_spec::{Example, Invalid, typetag};

mod database;
mod handle;

pub use database::RedbDatabase;

zarr_spec::register!(
    StorePlugin::new("redb", &["redb"], &open)
        .step(&open_step)
        .recognizing(is_database)
        .configuration::<RedbConfiguration>()
        .about("Stores values in one file, a database with transactions.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[Example::v3(r#"{"type": "redb", "path": "data.redb"}"#)];

/// A store in a redb database.
///
/// ```no_run
/// use zarr_store_redb::{RedbDatabase, RedbStore};
///
/// let store = RedbStore::new(RedbDatabase::open("data.redb")?);
/// # Ok::<(), zarr_spec::store::StoreError>(())
/// ```
pub type RedbStore = DatabaseStore<RedbDatabase>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RedbConfiguration {
    /// The path of the file.
    path: PathBuf,
    /// Whether to wait for the disk on every call that writes.
    #[serde(default)]
    durable: Durability,
}

#[typetag::deserialize(name = "redb")]
impl StoreConfiguration for RedbConfiguration {
    fn open(&self, _given: Option<&Arc<dyn Store>>) -> Result<Arc<dyn Store>, StoreError> {
        Ok(Arc::new(RedbStore::new(RedbDatabase::open(&self.path)?.durable(self.durable))))
    }
}

fn open(url: &str) -> Result<Arc<dyn Store>, StoreError> {
    let path = url.split_once(':').map_or(url, |(_, path)| path);
    let has_host = path.starts_with("//") && !path.starts_with("///");
    if path.is_empty() || has_host {
        let what =
            format!("`{url}`: expected the path of a database after `redb:`, such as `redb:data.redb`");
        return Err(Invalid::new(what).into());
    }
    Ok(Arc::new(RedbStore::new(RedbDatabase::open(path)?)))
}

fn open_step(step: &Step<'_>) -> Result<Arc<dyn Store>, StoreError> {
    if let Some((name, _)) = step.options.first() {
        return Err(Invalid::new(format!("`|redb:` does not have options, found `{name}`")).into());
    }
    match step.path {
        Some(path) => Ok(Arc::new(RedbStore::new(RedbDatabase::open(path)?))),
        None => {
            let what = format!(
                "`{}`: a redb database must be a local file; copy the file to this machine",
                step.input
            );
            Err(Invalid::new(what).into())
        }
    }
}

/// The first bytes of a database.
const SIGNATURE: [u8; 9] = *b"redb\x1a\x0a\xa9\x0d\x0a";

/// Returns whether a path is a database, by the first bytes of the file.
fn is_database(path: &Path) -> bool {
    let mut start = [0; SIGNATURE.len()];
    // Opening a pipe would block.
    let is_read = path.is_file() && File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok();
    is_read && start == SIGNATURE
}
