//! A store in memory for tests.

use std::collections::BTreeMap;
use std::sync::Mutex;

use zarr_spec::store::{Capabilities, Contents, GetOptions, GetResult, Keys, Payload, Store, StoreError};
use zarr_spec::{Bytes, Key, Output, Prefix};

/// Values by their keys.
#[derive(Debug, Default)]
pub(crate) struct Shelf(Mutex<BTreeMap<Key, Bytes>>);

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
        let values = self.0.lock().unwrap();
        let Some(value) = values.get(key) else { return Ok(None) };
        let part = options.range.within(value.len() as u64);
        let part = usize::try_from(part.start).unwrap()..usize::try_from(part.end).unwrap();
        to.put(&value[part]).map_err(|source| StoreError::TooLarge { key: key.to_string(), source })?;
        Ok(Some(GetResult::new(Contents::Written, value.len() as u64, None)))
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> Result<(), StoreError> {
        self.0.lock().unwrap().insert(key.clone(), value.into_bytes());
        Ok(())
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        self.0.lock().unwrap().remove(key);
        Ok(())
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Keys<'_>, StoreError> {
        let mut keys: Vec<Key> = self.0.lock().unwrap().keys().cloned().collect();
        keys.retain(|key| prefix.strip(key.as_str()).is_some());
        Ok(Box::new(keys.into_iter().map(Ok)))
    }
}
