//! A store that says that requests in flight pay, so that the engine asks for all it needs at once.

use std::sync::Arc;

use zarr_kit::spec::store::{Capabilities, Got, Manner, Store, StoreError};
use zarr_kit::spec::{ByteRange, Key, Output, Prefix};

/// Another store. It answers at once, and one request after another.
#[derive(Debug)]
pub(crate) struct Far(pub(crate) Arc<dyn Store>);

impl Store for Far {
    fn location(&self) -> String {
        self.0.location()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn manner(&self) -> Manner {
        Manner { concurrency: 4, join_gap: 8 }
    }

    fn get(&self, key: &Key, range: ByteRange, to: &mut Output<'_>) -> Result<Option<Got>, StoreError> {
        self.0.get(key, range, to)
    }

    fn set(&self, key: &Key, value: &[u8]) -> Result<(), StoreError> {
        self.0.set(key, value)
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        self.0.erase(key)
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Vec<Key>, StoreError> {
        self.0.list_prefix(prefix)
    }

    fn size(&self, key: &Key) -> Result<Option<u64>, StoreError> {
        self.0.size(key)
    }
}
