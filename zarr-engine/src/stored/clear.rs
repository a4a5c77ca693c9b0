//! Clearing chunks outside of an array that other programs append to, in a store without locks.
//!
//! In such a store, an append publishes the new length before it writes its rows. Therefore the versions of chunks are
//! read first, then the document. A chunk that is outside of the array in this document, and that still has its version
//! when it is cleared, has no rows of an append.

use std::sync::Arc;

use zarr_spec::store::{Condition, GetOptions, Store, StoreError, Version};
use zarr_spec::{ByteRange, Key, Output};

use super::StoredArray;
use crate::error::Error;
use crate::flight;

/// The number of chunks whose versions are read before the document.
const TOGETHER: usize = 1000;

/// A document that must not change before chunks are changed.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) document: Key,
    pub(crate) version: Option<Version>,
}

/// Whether each of some chunks may be cleared.
pub(crate) type MayClear = Result<Vec<bool>, Error>;

/// An encoded chunk that holds only fill values; `None` if the array does not have the chunk.
pub(crate) type FillChunk = Result<Option<Arc<[u8]>>, Error>;

/// The parts of clearing that need the document and the codecs of the array.
pub(crate) struct Clearing<'c> {
    /// Reads the document, and returns which chunks may be cleared.
    pub(crate) may_clear: &'c (dyn Fn(&[Key]) -> MayClear + Sync),
    pub(crate) fill: &'c (dyn Fn(&Key) -> FillChunk + Sync),
}

impl Guard {
    /// Returns [`Error::Conflict`] if another program changed the document.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match version(&*self.store, &self.document)? == self.version {
            true => Ok(()),
            false => Err(Error::Conflict(self.document.clone())),
        }
    }
}

impl StoredArray {
    /// Clears chunks that no other program changes meanwhile: erases them, or replaces them by fill values in a store
    /// that cannot erase under a condition. Returns the first chunk that another program changed.
    pub(crate) fn clear_values(&self, keys: &[Key], clearing: &Clearing<'_>) -> Result<Option<Key>, Error> {
        let store = &*self.resolved.store;
        let concurrency = store.read_hints().max_concurrency;
        let mut changed = None;
        for keys in keys.chunks(TOGETHER) {
            self.context().check_cancelled()?;
            let versions = flight::map(keys, concurrency, |key| version(store, key))?;
            let may_clear = (clearing.may_clear)(keys)?;
            let stored = keys.iter().zip(versions).zip(may_clear);
            let stored =
                stored.filter_map(|((key, version), may)| version.filter(|_| may).map(|of| (key, of)));
            let stored: Vec<_> = stored.collect();
            let cleared =
                flight::map(&stored, concurrency, |(key, version)| self.clear_value(key, version, clearing))?;
            let conflict = stored.iter().zip(cleared).find(|(_, cleared)| !cleared);
            changed = changed.or(conflict.map(|((key, _), _)| (*key).clone()));
        }
        Ok(changed)
    }

    /// Returns false if another program changed the chunk.
    fn clear_value(&self, key: &Key, version: &Version, clearing: &Clearing<'_>) -> Result<bool, Error> {
        let store = &*self.resolved.store;
        if store.capabilities().conditional_erase {
            match store.erase_if(key, version) {
                // The first conditional deletion has found that the server ignores conditions.
                Err(StoreError::NotSupported { .. }) if !store.capabilities().conditional_erase => {}
                erased => return Ok(!erased?.is_conflict()),
            }
        }
        let Some(fill) = (clearing.fill)(key)? else { return Ok(true) };
        let condition = Condition::Unchanged(version.clone());
        Ok(!store.set_if(key, (&*fill).into(), &condition)?.is_conflict())
    }
}

/// Returns the version of a value; `None` if it is missing.
fn version(store: &dyn Store, key: &Key) -> Result<Option<Version>, Error> {
    let nothing = ByteRange::Range { offset: 0, size: 0 };
    let found = store.get(key, GetOptions::for_update(nothing), &mut Output::at_most(0))?;
    Ok(found.and_then(|found| found.version))
}
