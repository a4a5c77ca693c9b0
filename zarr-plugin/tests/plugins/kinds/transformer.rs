//! The storage transformer `kinds.masked`: combines the bytes of all values of an array with a key by exclusive or.

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::store::{
    Capabilities, Contents, GetOptions, GetResult, Keys, Payload, ReadHints, Store, StoreError,
};
use zarr_spec::transformer::{StorageTransformer, StorageTransformerPlugin, WrappingTransformer};
use zarr_spec::{Creation, Example, Identifiers, Invalid, Key, Output, Prefix};

zarr_spec::register!(
    StorageTransformerPlugin::new(IDENTIFIERS, &create)
        .configuration::<Mask>()
        .about("Combines each byte of the values of an array with a key by exclusive or.", EXAMPLES)
);

const IDENTIFIERS: Identifiers =
    Identifiers::uri("https://example.org/kinds/masked/1.0");

const EXAMPLES: &[Example] = &[Example::draft(
    r#"{"extension": "https://example.org/kinds/masked/1.0", "type": "xor", "configuration": {"key": 170}}"#,
)
.with_shape(&[4, 6])];

/// The configuration: the key.
#[derive(Debug, Clone, Copy, Deserialize)]
struct Mask {
    key: u8,
}

impl WrappingTransformer for Mask {
    fn wrap(&self, next: Arc<dyn Store>, array: &Prefix) -> Arc<dyn Store> {
        Arc::new(Masked { next, array: array.clone(), mask: *self })
    }
}

/// A store that masks the values of one array.
#[derive(Debug)]
struct Masked {
    next: Arc<dyn Store>,
    array: Prefix,
    mask: Mask,
}

impl Masked {
    /// Combines the bytes of a value with the key.
    fn masked(&self, key: &Key, value: &[u8]) -> Vec<u8> {
        let is_inside = self.array.strip(key.as_str()).is_some();
        let mask = if is_inside { self.mask.key } else { 0 };
        value.iter().map(|byte| byte ^ mask).collect()
    }
}

impl Store for Masked {
    fn location(&self) -> String {
        self.next.location()
    }

    fn capabilities(&self) -> Capabilities {
        self.next.capabilities().unconditional()
    }

    fn read_hints(&self) -> ReadHints {
        self.next.read_hints()
    }

    fn get(
        &self,
        key: &Key,
        options: GetOptions,
        to: &mut Output<'_>,
    ) -> Result<Option<GetResult>, StoreError> {
        let mut stored = Output::at_most(to.remaining());
        let Some(found) = self.next.get(key, options, &mut stored)? else { return Ok(None) };
        let size = found.size;
        let version = found.version.clone();
        let value = self.masked(key, &found.into_bytes(stored));
        to.put(&value).map_err(|source| StoreError::TooLarge { key: key.to_string(), source })?;
        Ok(Some(GetResult::new(Contents::Written, size, version)))
    }

    fn set(&self, key: &Key, value: Payload<'_>) -> Result<(), StoreError> {
        self.next.set(key, self.masked(key, &value).into())
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        self.next.erase(key)
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Keys<'_>, StoreError> {
        self.next.list_prefix(prefix)
    }

    fn size(&self, key: &Key) -> Result<Option<u64>, StoreError> {
        self.next.size(key)
    }
}

fn create(creation: &Creation<'_>, _array_shape: &[u64]) -> Result<StorageTransformer, Invalid> {
    Ok(StorageTransformer::Wrap(Arc::new(creation.parse::<Mask>()?)))
}
