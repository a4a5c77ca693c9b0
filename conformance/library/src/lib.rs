//! All plugins of the workspace as one library to load at run time, for tests of the C ABI. The library adds a
//! storage transformer that wraps a store, since the workspace has none.

use std::sync::Arc;

use serde::Deserialize;
use zarr_kit::spec::store::{
    ChunkCache, Condition, ConditionalWrite, Contents, GetOptions, GetResult, Payload, ReadHints, Request,
    Responses, Store, StoreError, rewrite_values,
};
use zarr_kit::spec::transformer::{StorageTransformer, StorageTransformerPlugin, WrappingTransformer};
use zarr_kit::spec::{Creation, Example, Identifiers, Invalid, Key, Output, Prefix, delegate_store};

zarr_plugin::export_plugins!();

zarr_kit::spec::register!(
    StorageTransformerPlugin::new(
        Identifiers::uri("https://example.org/storage-transformers/complement/1.0"),
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

/// A store that wraps another and stores the complement of every byte in the values of one array.
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

delegate_store! {
    impl Store for ComplementStore {
        forward(self.next): location, capabilities, size, lock, commit, array_document, remove, list;

        fn read_hints(&self) -> ReadHints {
            ReadHints::new(0, self.next.read_hints().coalesce_gap)
        }

        fn get(
            &self,
            key: &Key,
            options: GetOptions,
            to: &mut Output<'_>,
        ) -> Result<Option<GetResult>, StoreError> {
            if !self.has(key) {
                return self.next.get(key, options, to);
            }
            let mut stored = Output::at_most(to.remaining());
            let Some(found) = self.next.get(key, options, &mut stored)? else { return Ok(None) };
            let size = found.size;
            let version = found.version.clone();
            let put = to.put(&complement(&found.into_bytes(stored)));
            put.map_err(|source| StoreError::TooLarge { key: key.to_string(), source })?;
            Ok(Some(GetResult::new(Contents::Written, size, version)))
        }

        fn get_many(&self, requests: Vec<Request>, _budget: usize) -> Responses<'_> {
            Box::new(requests.into_iter().enumerate().map(|(index, request)| {
                let mut output = Output::at_most(request.limit);
                let found = self.get(&request.key, request.options, &mut output);
                (index, found.map(|found| found.map(|found| found.into_response(output))))
            }))
        }

        fn chunk_cache(&self) -> Option<&dyn ChunkCache> {
            None
        }

        fn caches_values(&self) -> bool {
            false
        }

        fn set(&self, key: &Key, value: Payload<'_>) -> Result<(), StoreError> {
            let value = if self.has(key) { complement(&value).into() } else { value };
            self.next.set(key, value)
        }

        fn set_if(
            &self,
            key: &Key,
            value: Payload<'_>,
            condition: &Condition,
        ) -> Result<ConditionalWrite, StoreError> {
            let value = if self.has(key) { complement(&value).into() } else { value };
            self.next.set_if(key, value, condition)
        }

        fn set_partial_values(&self, values: &[(Key, u64, &[u8])]) -> Result<(), StoreError> {
            rewrite_values(self, values)
        }
    }
}
