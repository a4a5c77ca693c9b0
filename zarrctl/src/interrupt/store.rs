//! A store that completes each change before a signal ends the program.

use std::sync::Arc;

use zarr_kit::spec::store::{
    Caching, Capabilities, Delivery, Directory, Got, Manner, Request, Store, StoreError,
};
use zarr_kit::spec::{ByteRange, Key, Output, Prefix};

use super::writing;

/// Passes everything on to another store. After a signal, changes that have begun are completed, and no others begin.
#[derive(Debug)]
pub(crate) struct Interruptible(Arc<dyn Store>);

impl Interruptible {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self(store)
    }
}

#[deny(clippy::missing_trait_methods)]
impl Store for Interruptible {
    fn location(&self) -> String {
        self.0.location()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn manner(&self) -> Manner {
        self.0.manner()
    }

    fn get(&self, key: &Key, range: ByteRange, to: &mut Output<'_>) -> Result<Option<Got>, StoreError> {
        self.0.get(key, range, to)
    }

    fn get_many<'a>(
        &'a self,
        requests: Vec<Request>,
        budget: usize,
    ) -> Box<dyn Iterator<Item = Delivery> + Send + 'a> {
        self.0.get_many(requests, budget)
    }

    fn get_once(&self, key: &Key, range: ByteRange, to: &mut Output<'_>) -> Result<Option<Got>, StoreError> {
        self.0.get_once(key, range, to)
    }

    fn caching(&self) -> Caching<'_> {
        self.0.caching()
    }

    fn set(&self, key: &Key, value: &[u8]) -> Result<(), StoreError> {
        let _writing = writing();
        self.0.set(key, value)
    }

    fn set_partial_values(&self, values: &[(Key, u64, &[u8])]) -> Result<(), StoreError> {
        let _writing = writing();
        self.0.set_partial_values(values)
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        let _writing = writing();
        self.0.erase(key)
    }

    fn erase_values(&self, keys: &[Key]) -> Result<(), StoreError> {
        let _writing = writing();
        self.0.erase_values(keys)
    }

    fn erase_prefix(&self, prefix: &Prefix) -> Result<(), StoreError> {
        let _writing = writing();
        self.0.erase_prefix(prefix)
    }

    fn list(&self) -> Result<Vec<Key>, StoreError> {
        self.0.list()
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Vec<Key>, StoreError> {
        self.0.list_prefix(prefix)
    }

    fn list_dir(&self, prefix: &Prefix) -> Result<Directory, StoreError> {
        self.0.list_dir(prefix)
    }

    fn size(&self, key: &Key) -> Result<Option<u64>, StoreError> {
        self.0.size(key)
    }
}
