//! The `read-only` transformer: another store that can be read and listed, but not changed.
//!
//! It is not recorded in metadata. Described as `{"type": "read-only", "store": {…}}`.
//!
//! Source: "Storage transformers" in the Zarr v3 draft of 2022, about transformers that do not change the stored form.

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::store::{Capabilities, DescribedStore, Store, StoreConfiguration, StorePlugin, StoreResult};
use zarr_spec::{Example, Invalid, typetag};

zarr_spec::register!(
    StorePlugin::new("read-only", &[], &without_a_url)
        .configuration::<ReadOnlyConfiguration>()
        .about("Exposes another store without write access.", EXAMPLES)
);

const EXAMPLES: &[Example] =
    &[Example::v3(r#"{"type": "read-only", "store": {"type": "filesystem", "path": "data.zarr"}}"#)];

/// Read-only access to another store.
#[derive(Debug)]
pub struct ReadOnlyStore(Arc<dyn Store>);

impl ReadOnlyStore {
    /// Exposes `store` without write access.
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
    fn open(&self, given: Option<&Arc<dyn Store>>) -> StoreResult<Arc<dyn Store>> {
        Ok(Arc::new(ReadOnlyStore::new(self.store.open(given)?)))
    }
}

/// Returns an error, because the store cannot be opened by URL.
fn without_a_url(url: &str) -> StoreResult<Arc<dyn Store>> {
    Err(Invalid::new(format!("`{url}`: a read-only store needs a JSON description with its store")).into())
}
