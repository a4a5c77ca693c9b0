//! The `read-only` transformer: another store, which can be read and nothing else.
//!
//! It exists while the program runs, and is recorded in no metadata. Described as
//! `{"type": "read-only", "store": {…}}`.
//!
//! Source: "Storage transformers" in the Zarr v3 draft of 2022, on those that leave the stored form as it is.

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::store::{Capabilities, DescribedStore, Store, StoreConfiguration, StoreError, StorePlugin};
use zarr_spec::{Example, Invalid, typetag};

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

zarr_spec::delegate_store! {
    impl Store for ReadOnlyStore {
        forward(self.0): location, read_hints, read, cache, list;
        refuse: write, remove;

        fn capabilities(&self) -> Capabilities {
            self.0.capabilities().read_only()
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadOnlyConfiguration {
    store: DescribedStore,
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
