//! A store whose read hints allow concurrent requests, so that the engine sends batches.

use std::sync::Arc;

use zarr_kit::spec::store::{
    Capabilities, GetOptions, GetResult, Keys, Payload, ReadHints, Store, StoreError,
};
use zarr_kit::spec::{Key, Output, Prefix};

/// Wraps a store. It answers immediately, one request after another.
#[derive(Debug)]
pub(crate) struct Far(pub(crate) Arc<dyn Store>);

impl Store for Far {
    fn location(&self) -> String {
        self.0.location()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities().unconditional()
    }

    fn read_hints(&self) -> ReadHints {
        ReadHints::new(4, 8)
    }

    fn get(
        &self,
        key: &Key,
        options: GetOptions,
        to: &mut Output<'_>,
    ) -> Result<Option<GetResult>, StoreError> {
        self.0.get(key, options, to)
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> Result<(), StoreError> {
        self.0.set(key, value)
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        self.0.erase(key)
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Keys<'_>, StoreError> {
        self.0.list_prefix(prefix)
    }

    fn size(&self, key: &Key) -> Result<Option<u64>, StoreError> {
        self.0.size(key)
    }
}
