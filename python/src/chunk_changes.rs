//! Changes of chunks in files. A chunk is stored under the condition that it is the one that was read, so that no change
//! of another program is lost.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zarr_kit::spec::store::{
    Backoff, Condition, GetOptions, Payload, Store, StoreError, StoreResult, Version,
};
use zarr_kit::spec::{ByteRange, Bytes, Key, Output};
use zarr_kit::{Array, Error, open_store};

use crate::calls::detached;
use crate::failure::{exception, exception_at};
use crate::json;

/// A chunk that is about to be changed.
struct OldChunk {
    /// The value; `None` if the chunk is missing.
    value: Option<Bytes>,
    condition: Condition,
}

/// Reads the chunk of `key`, changes it with `change`, and stores the result: an encoded chunk, or `None` for a chunk
/// that should not be stored. Starts again if another program changed the chunk meanwhile.
///
/// Returns false if `change` returns `None`, or if the store does not accept the value.
pub(crate) fn change_chunk(
    files: &dyn Store,
    key: &Key,
    mut change: impl FnMut(Option<&[u8]>) -> Result<Option<Option<Vec<u8>>>, Error>,
) -> Result<bool, Error> {
    let mut backoff = Backoff::new();
    loop {
        let old = read(files, key)?;
        let Some(encoded) = change(old.value.as_deref())? else { return Ok(false) };
        match replace(files, key, encoded.as_deref(), &old.condition) {
            Ok(true) => return Ok(true),
            Ok(false) => backoff.wait(key)?,
            Err(_) => return Ok(false),
        }
    }
}

/// Opens a folder for one call, because a program may move folders between calls.
pub(crate) fn open_folder(array: &Array, folder: &str) -> PyResult<Arc<dyn Store>> {
    let description = format!(r#"{{"type": "filesystem", "path": {}}}"#, json::quoted(folder));
    open_store(array.hierarchy().context().registry(), &description).map_err(|error| exception(&error))
}

fn read(files: &dyn Store, key: &Key) -> StoreResult<OldChunk> {
    let mut output = Output::at_most(usize::MAX);
    let Some(found) = files.get(key, GetOptions::for_update(ByteRange::Full), &mut output)? else {
        return Ok(OldChunk { value: None, condition: Condition::Missing });
    };
    let condition = Condition::of(found.version.as_ref());
    let condition = condition.ok_or_else(|| StoreError::not_supported(files, "not conditional"))?;
    Ok(OldChunk { value: Some(found.into_bytes(output)), condition })
}

/// Returns false if another program changed the chunk; then nothing is written.
fn replace(files: &dyn Store, key: &Key, encoded: Option<&[u8]>, condition: &Condition) -> StoreResult<bool> {
    let written = match (encoded, condition) {
        (Some(value), condition) => files.set_if(key, value.into(), condition)?,
        (None, Condition::Unchanged(version)) => files.erase_if(key, version)?,
        // The chunk was missing, so there is nothing to erase.
        (None, Condition::Missing) => return Ok(true),
    };
    Ok(!written.is_conflict())
}

/// The chunks in a folder, for one write of parts that are not boxes, or of elements of a variable size.
#[pyclass(frozen, name = "ChunkFiles", module = "zarr_kit._engine")]
#[derive(Debug)]
pub(crate) struct ChunkFiles {
    files: Arc<dyn Store>,
    backoff: Mutex<Backoff>,
}

impl ChunkFiles {
    pub(crate) fn new(files: Arc<dyn Store>) -> Self {
        Self { files, backoff: Mutex::default() }
    }

    /// Calls `work` with the key for `path`. An exception names the path.
    fn with_key<T: Send>(
        &self,
        py: Python<'_>,
        path: &str,
        work: impl FnOnce(&dyn Store, &Key) -> StoreResult<T> + Send,
    ) -> PyResult<T> {
        let with_key = || work(&*self.files, &Key::new(path)?);
        detached(py, with_key)?.map_err(|error| exception_at(path, &error.into()))
    }
}

#[pymethods]
impl ChunkFiles {
    /// Returns a chunk and its version, or `None` if it is missing.
    fn read<'py>(
        &self,
        py: Python<'py>,
        path: &str,
    ) -> PyResult<Option<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)>> {
        let old = self.with_key(py, path, read)?;
        let (Some(value), Condition::Unchanged(version)) = (old.value, old.condition) else {
            return Ok(None);
        };
        Ok(Some((PyBytes::new(py, &value), PyBytes::new(py, version.bytes()))))
    }

    /// Stores a chunk, or erases it if `encoded` is `None`.
    fn store(&self, py: Python<'_>, path: &str, encoded: Option<&[u8]>) -> PyResult<()> {
        self.with_key(py, path, |files, key| match encoded {
            Some(value) => files.set(key, Payload::from(value)),
            None => files.erase(key),
        })
    }

    /// Replaces a chunk of this version, or one that is missing if `version` is `None`. Returns false if another program
    /// changed it; then nothing is written.
    fn replace(
        &self,
        py: Python<'_>,
        path: &str,
        encoded: Option<&[u8]>,
        version: Option<&[u8]>,
    ) -> PyResult<bool> {
        let condition = match version {
            Some(version) => Condition::Unchanged(Version::new(version)),
            None => Condition::Missing,
        };
        self.with_key(py, path, |files, key| replace(files, key, encoded, &condition))
    }

    /// Waits before chunks that other programs changed are changed again.
    fn wait(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        self.with_key(py, path, |_, key| {
            self.backoff.lock().unwrap_or_else(PoisonError::into_inner).wait(key)
        })
    }
}
