//! The `read-only` transformer: another store, which can be read and nothing else.
//!
//! It exists while the program runs, and is recorded in no metadata. Described as
//! `{"type": "read-only", "store": {…}}`.
//!
//! Source: "Storage transformers" in the Zarr v3 draft of 2022, on those that leave the stored form as it is.

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::store::{
    Caching, Capabilities, Delivery, Directory, Got, Manner, Request, Store, StoreConfiguration, StoreError,
    StorePlugin,
};
use zarr_spec::{ByteRange, Example, Invalid, Key, Output, Prefix, typetag};

zarr_spec::register!(
    StorePlugin::new("read-only", &[], &without_a_url)
        .configuration::<ReadOnlyConfiguration>()
        .about("Shows another store for reading and listing alone.", EXAMPLES)
);

const EXAMPLES: &[Example] =
    &[Example::v3(r#"{"type": "read-only", "store": {"type": "filesystem", "path": "data.zarr"}}"#)];

/// Another store, for reading and listing alone.
#[derive(Debug)]
pub struct ReadOnlyStore(Arc<dyn Store>);

impl ReadOnlyStore {
    /// What is in `store`.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self(store)
    }
}

#[deny(clippy::missing_trait_methods)]
impl Store for ReadOnlyStore {
    fn location(&self) -> String {
        self.0.location()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { writeable: false, erasable: false, ..self.0.capabilities() }
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

    fn set(&self, _key: &Key, _value: &[u8]) -> Result<(), StoreError> {
        Err(StoreError::not_supported(self, "not writeable"))
    }

    fn set_partial_values(&self, _values: &[(Key, u64, &[u8])]) -> Result<(), StoreError> {
        Err(StoreError::not_supported(self, "not writeable"))
    }

    fn erase(&self, _key: &Key) -> Result<(), StoreError> {
        Err(StoreError::not_supported(self, "not erasable"))
    }

    fn erase_values(&self, _keys: &[Key]) -> Result<(), StoreError> {
        Err(StoreError::not_supported(self, "not erasable"))
    }

    fn erase_prefix(&self, _prefix: &Prefix) -> Result<(), StoreError> {
        Err(StoreError::not_supported(self, "not erasable"))
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

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadOnlyConfiguration {
    store: Box<dyn StoreConfiguration>,
}

#[typetag::deserialize(name = "read-only")]
impl StoreConfiguration for ReadOnlyConfiguration {
    fn open(&self, given: Option<&Arc<dyn Store>>) -> Result<Arc<dyn Store>, StoreError> {
        Ok(Arc::new(ReadOnlyStore::new(self.store.open(given)?)))
    }
}

/// No scheme leads here.
fn without_a_url(url: &str) -> Result<Arc<dyn Store>, StoreError> {
    Err(Invalid::new(format!("`{url}`: a read-only store is described in JSON, with the store it is around"))
        .into())
}
