//! A store that counts its calls.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use zarr_kit::spec::store::{
    Condition, ConditionalWrite, Directory, GetOptions, GetResult, Keys, Payload, Request, Responses, Store,
    StoreError, Version,
};
use zarr_kit::spec::{Key, Output, Prefix};

/// The number of calls of each operation, by its name.
pub type Calls = BTreeMap<&'static str, usize>;

/// Forwards to another store and counts the calls.
#[derive(Debug)]
pub struct CountingStore {
    store: Arc<dyn Store>,
    calls: Mutex<Calls>,
}

impl CountingStore {
    /// Wraps `store`.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, calls: Mutex::default() }
    }

    /// Returns the calls since the last `take`.
    #[must_use]
    pub fn take(&self) -> Calls {
        std::mem::take(&mut *self.calls.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn count(&self, operation: &'static str, times: usize) -> &dyn Store {
        *self.calls.lock().unwrap_or_else(PoisonError::into_inner).entry(operation).or_default() += times;
        &*self.store
    }
}

/// Implements the methods: each counts the call and forwards it.
macro_rules! counted {
    ($(fn $method:ident($($argument:ident: $type:ty),*) -> $returned:ty;)*) => {
        zarr_kit::spec::delegate_store! {
            impl Store for CountingStore {
                forward(self.store): describe, cache, lock, commit, array_document;

                fn get_many(&self, requests: Vec<Request>, budget: usize) -> Responses<'_> {
                    self.count("get", requests.len());
                    self.count("get_many", 1).get_many(requests, budget)
                }

                // Conditional writes and erasures count as `set` and `erase`.
                fn set_if(
                    &self,
                    key: &Key,
                    value: Payload<'_>,
                    condition: &Condition,
                ) -> Result<ConditionalWrite, StoreError> {
                    self.count("set", 1).set_if(key, value, condition)
                }

                fn erase_if(&self, key: &Key, version: &Version) -> Result<ConditionalWrite, StoreError> {
                    self.count("erase", 1).erase_if(key, version)
                }

                $(fn $method(&self, $($argument: $type),*) -> $returned {
                    self.count(stringify!($method), 1).$method($($argument),*)
                })*
            }
        }
    };
}

counted! {
    fn get(key: &Key, options: GetOptions, to: &mut Output<'_>) -> Result<Option<GetResult>, StoreError>;
    fn size(key: &Key) -> Result<Option<u64>, StoreError>;
    fn set(key: &Key, value: Payload<'_>) -> Result<(), StoreError>;
    fn set_partial_values(values: &[(Key, u64, &[u8])]) -> Result<(), StoreError>;
    fn erase(key: &Key) -> Result<(), StoreError>;
    fn erase_values(keys: &[Key]) -> Result<(), StoreError>;
    fn erase_prefix(prefix: &Prefix) -> Result<(), StoreError>;
    fn list_prefix(prefix: &Prefix) -> Result<Keys<'_>, StoreError>;
    fn list_dir(prefix: &Prefix) -> Result<Directory, StoreError>;
}
