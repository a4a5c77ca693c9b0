//! All plugins of the workspace as one library that is loaded at run time, for tests of the C ABI. Also a storage
//! transformer that wraps a store, since none of the workspace does.

use std::sync::Arc;

use serde::Deserialize;
use zarr_kit::spec::store::{Capabilities, Contents, Directory, Got, Manner, Store, StoreError};
use zarr_kit::spec::transformer::{StorageTransformer, StorageTransformerPlugin, WrappingTransformer};
use zarr_kit::spec::{ByteRange, Creation, Example, Identifiers, Invalid, Key, Output, Prefix};

zarr_plugin::export_plugins!();

zarr_kit::spec::register!(
    StorageTransformerPlugin::new(
        Identifiers {
            uri: Some("https://example.org/storage-transformers/complement/1.0"),
            name: None,
            id: None,
            aliases: &[],
        },
        &create,
    )
    .about("Stores the complement of every byte of a chunk.", EXAMPLES)
    .configuration::<Nothing>()
);

const EXAMPLES: &[Example] = &[Example::draft(
    r#"{"extension": "https://example.org/storage-transformers/complement/1.0", "type": "complement",
            "configuration": {}}"#,
)
.with_shape(&[4, 6])];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

fn create(creation: &Creation<'_>, _array_shape: &[u64]) -> Result<StorageTransformer, Invalid> {
    let Nothing {} = creation.parse()?;
    Ok(StorageTransformer::Wrap(Arc::new(Complement)))
}

#[derive(Debug)]
struct Complement;

impl WrappingTransformer for Complement {
    fn wrap(&self, next: Arc<dyn Store>, array: &Prefix) -> Arc<dyn Store> {
        Arc::new(ComplementStore { next, array: array.clone() })
    }
}

/// Another store, in which every byte of the values of one array is its complement.
#[derive(Debug)]
struct ComplementStore {
    next: Arc<dyn Store>,
    array: Prefix,
}

impl ComplementStore {
    fn has(&self, key: &Key) -> bool {
        key.as_str().starts_with(self.array.as_str())
    }
}

fn complement(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| !byte).collect()
}

impl Store for ComplementStore {
    fn location(&self) -> String {
        self.next.location()
    }

    fn capabilities(&self) -> Capabilities {
        self.next.capabilities()
    }

    fn manner(&self) -> Manner {
        Manner { concurrency: 0, ..self.next.manner() }
    }

    fn get(&self, key: &Key, range: ByteRange, to: &mut Output<'_>) -> Result<Option<Got>, StoreError> {
        if !self.has(key) {
            return self.next.get(key, range, to);
        }
        let mut stored = Output::at_most(to.remaining());
        let Some(got) = self.next.get(key, range, &mut stored)? else { return Ok(None) };
        let size = got.size;
        let version = got.version.clone();
        let put = to.put(&complement(&got.into_bytes(stored)));
        put.map_err(|source| StoreError::TooLarge { key: key.to_string(), source })?;
        Ok(Some(Got { contents: Contents::Written, size, version }))
    }

    fn set(&self, key: &Key, value: &[u8]) -> Result<(), StoreError> {
        if self.has(key) { self.next.set(key, &complement(value)) } else { self.next.set(key, value) }
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        self.next.erase(key)
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Vec<Key>, StoreError> {
        self.next.list_prefix(prefix)
    }

    fn list_dir(&self, prefix: &Prefix) -> Result<Directory, StoreError> {
        self.next.list_dir(prefix)
    }

    fn size(&self, key: &Key) -> Result<Option<u64>, StoreError> {
        self.next.size(key)
    }
}
