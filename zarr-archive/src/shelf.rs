//! An in-memory store for temporary arrays.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use zarr_spec::store::{Capabilities, Contents, GetOptions, GetResult, Keys, Payload, Store, StoreError};
use zarr_spec::{Bytes, Key, Output, Prefix, Value};

/// Values by their keys.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    values: Mutex<BTreeMap<Key, Bytes>>,
    /// The store to which the arrays will be copied. Such a store may change the documents of arrays.
    destination: Option<Arc<dyn Store>>,
}

impl Shelf {
    /// Creates a store for the metadata of arrays in the form that `destination` can store.
    pub(crate) fn for_arrays_in(destination: &Arc<dyn Store>) -> Self {
        Self { destination: Some(Arc::clone(destination)), ..Self::default() }
    }

    fn values(&self) -> MutexGuard<'_, BTreeMap<Key, Bytes>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Shelf {
    fn location(&self) -> String {
        "shelf:".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        let adapts = self.destination.as_ref().is_some_and(|store| store.capabilities().adapts_documents);
        if adapts { Capabilities::ALL.adapting_documents() } else { Capabilities::ALL }
    }

    fn array_document(&self, key: &Key, document: &Value) -> Result<Option<Value>, StoreError> {
        match &self.destination {
            Some(destination) => destination.array_document(key, document),
            None => Ok(None),
        }
    }

    fn get(
        &self,
        key: &Key,
        options: GetOptions,
        to: &mut Output<'_>,
    ) -> Result<Option<GetResult>, StoreError> {
        let values = self.values();
        let Some(value) = values.get(key) else { return Ok(None) };
        let part = options.range.within(value.len() as u64);
        // The range lies within the value, whose size is a `usize`.
        let [start, end] = [part.start, part.end].map(|at| usize::try_from(at).unwrap_or(value.len()));
        to.put(&value[start..end]).map_err(|source| StoreError::TooLarge { key: key.to_string(), source })?;
        Ok(Some(GetResult::new(Contents::Written, value.len() as u64, None)))
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> Result<(), StoreError> {
        self.values().insert(key.clone(), value.into_bytes());
        Ok(())
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        self.values().remove(key);
        Ok(())
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Keys<'_>, StoreError> {
        let mut keys: Vec<Key> = self.values().keys().cloned().collect();
        keys.retain(|key| prefix.strip(key.as_str()).is_some());
        Ok(Box::new(keys.into_iter().map(Ok)))
    }
}
