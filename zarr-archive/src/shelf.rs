//! A store in memory for arrays that are not kept.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use zarr_spec::store::{Capabilities, Contents, GetOptions, GetResult, Keys, Payload, Store, StoreError};
use zarr_spec::{Bytes, Key, Output, Prefix};

/// Values by their keys.
#[derive(Debug, Default)]
pub(crate) struct Shelf(Mutex<BTreeMap<Key, Bytes>>);

impl Shelf {
    fn values(&self) -> MutexGuard<'_, BTreeMap<Key, Bytes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Shelf {
    fn location(&self) -> String {
        "shelf:".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL
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
