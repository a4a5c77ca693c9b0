//! The store `kinds.shelf`: keys and values in the memory of this process.
//!
//! `{"type": "kinds.shelf"}` opens a new and empty store each time.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use serde::Deserialize;
use zarr_spec::store::{
    Capabilities, Contents, GetOptions, GetResult, Keys, Payload, Store, StoreConfiguration, StoreError,
    StorePlugin,
};
use zarr_spec::{Example, Invalid, Key, LimitExceeded, Output, Prefix, typetag};

zarr_spec::register!(
    StorePlugin::new("kinds.shelf", &[], &without_a_url)
        .configuration::<ShelfConfiguration>()
        .about("Stores values in memory until it is closed.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[Example::v3(r#"{"type": "kinds.shelf"}"#)];

/// Keys and values.
#[derive(Debug, Default)]
struct Shelf(RwLock<BTreeMap<Key, Vec<u8>>>);

impl Shelf {
    // Each change is one step, so that the map is valid after a panic of another thread.
    fn values(&self) -> RwLockReadGuard<'_, BTreeMap<Key, Vec<u8>>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) -> RwLockWriteGuard<'_, BTreeMap<Key, Vec<u8>>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Shelf {
    fn location(&self) -> String {
        "kinds.shelf:".to_owned()
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
        let too_large = |source: LimitExceeded| StoreError::TooLarge { key: key.to_string(), source };
        let part = options.range.within(value.len() as u64);
        let [start, end] = [part.start, part.end].map(|place| usize::try_from(place).unwrap_or(usize::MAX));
        to.put(value.get(start..end).unwrap_or_default()).map_err(too_large)?;
        Ok(Some(GetResult::new(Contents::Written, value.len() as u64, None)))
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> Result<(), StoreError> {
        self.change().insert(key.clone(), value.to_vec());
        Ok(())
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        self.change().remove(key);
        Ok(())
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Keys<'_>, StoreError> {
        let is_below = |key: &&Key| prefix.strip(key.as_str()).is_some();
        let keys: Vec<Key> = self.values().keys().filter(is_below).cloned().collect();
        Ok(Box::new(keys.into_iter().map(Ok)))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ShelfConfiguration {}

#[typetag::deserialize(name = "kinds.shelf")]
impl StoreConfiguration for ShelfConfiguration {
    fn open(&self, _given: Option<&Arc<dyn Store>>) -> Result<Arc<dyn Store>, StoreError> {
        Ok(Arc::new(Shelf::default()))
    }
}

/// Returns an error: the store does not have a URL.
fn without_a_url(url: &str) -> Result<Arc<dyn Store>, StoreError> {
    Err(Invalid::new(format!("`{url}`: this store is opened with a JSON description")).into())
}
