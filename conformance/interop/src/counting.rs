//! A store that counts what it is asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use zarr_kit::spec::store::{
    Caching, Capabilities, Delivery, Directory, Got, Manner, Request, Store, StoreError,
};
use zarr_kit::spec::{ByteRange, Key, Output, Prefix};

/// How often each operation was asked for, by its name.
pub type Calls = BTreeMap<&'static str, usize>;

/// Another store, and a count of the calls it gets.
#[derive(Debug)]
pub struct CountingStore {
    store: Arc<dyn Store>,
    calls: Mutex<Calls>,
}

impl CountingStore {
    /// Around `store`.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, calls: Mutex::default() }
    }

    /// The calls since the last time this was asked.
    #[must_use]
    pub fn take(&self) -> Calls {
        std::mem::take(&mut *self.calls.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn count(&self, operation: &'static str, times: usize) -> &dyn Store {
        *self.calls.lock().unwrap_or_else(PoisonError::into_inner).entry(operation).or_default() += times;
        &*self.store
    }
}

#[deny(clippy::missing_trait_methods)]
impl Store for CountingStore {
    fn location(&self) -> String {
        self.store.location()
    }

    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    fn manner(&self) -> Manner {
        self.store.manner()
    }

    fn get(&self, key: &Key, range: ByteRange, to: &mut Output<'_>) -> Result<Option<Got>, StoreError> {
        self.count("get", 1).get(key, range, to)
    }

    fn get_many<'a>(
        &'a self,
        requests: Vec<Request>,
        budget: usize,
    ) -> Box<dyn Iterator<Item = Delivery> + Send + 'a> {
        self.count("get", requests.len());
        self.count("get_many", 1).get_many(requests, budget)
    }

    fn get_once(&self, key: &Key, range: ByteRange, to: &mut Output<'_>) -> Result<Option<Got>, StoreError> {
        self.count("get", 1).get_once(key, range, to)
    }

    fn caching(&self) -> Caching<'_> {
        self.store.caching()
    }

    fn set(&self, key: &Key, value: &[u8]) -> Result<(), StoreError> {
        self.count("set", 1).set(key, value)
    }

    fn set_partial_values(&self, values: &[(Key, u64, &[u8])]) -> Result<(), StoreError> {
        self.count("set_partial_values", 1).set_partial_values(values)
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        self.count("erase", 1).erase(key)
    }

    fn erase_values(&self, keys: &[Key]) -> Result<(), StoreError> {
        self.count("erase_values", 1).erase_values(keys)
    }

    fn erase_prefix(&self, prefix: &Prefix) -> Result<(), StoreError> {
        self.count("erase_prefix", 1).erase_prefix(prefix)
    }

    fn list(&self) -> Result<Vec<Key>, StoreError> {
        self.count("list", 1).list()
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Vec<Key>, StoreError> {
        self.count("list_prefix", 1).list_prefix(prefix)
    }

    fn list_dir(&self, prefix: &Prefix) -> Result<Directory, StoreError> {
        self.count("list_dir", 1).list_dir(prefix)
    }

    fn size(&self, key: &Key) -> Result<Option<u64>, StoreError> {
        self.count("size", 1).size(key)
    }
}
