//! The `prefix` transformer: a store whose root is a prefix in another store.
//!
//! Key `k` is key `PREFIXk` of the other store; keys outside of the prefix are not visible. Described as
//! `{"type": "prefix", "prefix": "a/b", "store": {…}}`; a trailing `/` is optional.
//!
//! Source: "Storage transformers" in the Zarr v3 draft of 2022, about transformers that do not change the stored form.

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::store::cache::{ChangeCount, ChunkCache, ChunkId, ReadStart};
use zarr_spec::store::{
    CompletedRequest, Condition, ConditionalWrite, DescribedStore, Directory, GetOptions, GetResult, Keys,
    Payload, Request, Responses, Store, StoreConfiguration, StoreError, StoreLock, StorePlugin, StoreResult,
    Version,
};
use zarr_spec::{Bytes, Example, Invalid, Key, KeyError, Output, Prefix, Value, typetag};

zarr_spec::register!(
    StorePlugin::new("prefix", &[], &without_a_url)
        .configuration::<PrefixConfiguration>()
        .about("Exposes the part of another store below a prefix.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[Example::v3(
    r#"{"type": "prefix", "prefix": "a/b", "store": {"type": "filesystem",
            "path": "data.zarr"}}"#,
)];

/// The part of another store below a prefix.
#[derive(Debug)]
pub struct PrefixStore {
    store: Arc<dyn Store>,
    root: Prefix,
}

impl PrefixStore {
    /// Exposes the keys of `store` below `root`.
    pub fn new(store: Arc<dyn Store>, root: Prefix) -> Self {
        Self { store, root }
    }

    fn outer_key(&self, key: &Key) -> Result<Key, KeyError> {
        self.root.key(key.as_str())
    }

    fn outer_prefix(&self, prefix: &Prefix) -> Result<Prefix, KeyError> {
        Prefix::new(format!("{}{prefix}", self.root))
    }

    /// Returns the key without the prefix; `None` for a key outside of it, which the store should not have
    /// listed.
    fn inner_key(&self, key: &Key) -> Option<StoreResult<Key>> {
        Some(Key::new(self.root.strip(key.as_str())?).map_err(StoreError::from))
    }
}

zarr_spec::delegate_store! {
    impl Store for PrefixStore {
        forward(self.store): capabilities, read_hints, caches_values, commit;

        fn location(&self) -> String {
            format!("{}, below `{}`", self.store.location(), self.root)
        }

        fn get(&self, key: &Key, options: GetOptions, to: &mut Output<'_>) -> StoreResult<Option<GetResult>> {
            self.store.get(&self.outer_key(key)?, options, to)
        }

        fn get_many(&self, requests: Vec<Request>, budget: usize) -> Responses<'_> {
            let count = requests.len();
            let outer = requests.into_iter().map(|request| {
                let key = self.outer_key(&request.key)?;
                Ok(request.with_key(key))
            });
            match outer.collect::<Result<Vec<_>, KeyError>>() {
                Ok(requests) => self.store.get_many(requests, budget),
                Err(error) => all_failed(count, error),
            }
        }

        fn size(&self, key: &Key) -> StoreResult<Option<u64>> {
            self.store.size(&self.outer_key(key)?)
        }

        fn chunk_cache(&self) -> Option<&dyn ChunkCache> {
            self.store.chunk_cache().map(|_| self as &dyn ChunkCache)
        }

        fn set(&self, key: &Key, value: Payload<'_>) -> StoreResult<()> {
            self.store.set(&self.outer_key(key)?, value)
        }

        fn array_document(&self, key: &Key, document: &Value) -> StoreResult<Option<Value>> {
            self.store.array_document(&self.outer_key(key)?, document)
        }

        fn set_if(
            &self,
            key: &Key,
            value: Payload<'_>,
            condition: &Condition,
        ) -> StoreResult<ConditionalWrite> {
            self.store.set_if(&self.outer_key(key)?, value, condition)
        }

        fn lock(&self, key: &Key) -> StoreResult<Option<StoreLock>> {
            self.store.lock(&self.outer_key(key)?)
        }

        fn set_partial_values(&self, values: &[(Key, u64, &[u8])]) -> StoreResult<()> {
            let mut outer = Vec::with_capacity(values.len());
            for (key, offset, part) in values {
                outer.push((self.outer_key(key)?, *offset, *part));
            }
            self.store.set_partial_values(&outer)
        }

        fn erase(&self, key: &Key) -> StoreResult<()> {
            self.store.erase(&self.outer_key(key)?)
        }

        fn erase_if(&self, key: &Key, version: &Version) -> StoreResult<ConditionalWrite> {
            self.store.erase_if(&self.outer_key(key)?, version)
        }

        fn erase_values(&self, keys: &[Key]) -> StoreResult<()> {
            let keys: Vec<Key> = keys.iter().map(|key| self.outer_key(key)).collect::<Result<_, _>>()?;
            self.store.erase_values(&keys)
        }

        fn erase_prefix(&self, prefix: &Prefix) -> StoreResult<()> {
            self.store.erase_prefix(&self.outer_prefix(prefix)?)
        }

        fn list_prefix(&self, prefix: &Prefix) -> StoreResult<Keys<'_>> {
            let outer = self.store.list_prefix(&self.outer_prefix(prefix)?)?;
            Ok(Box::new(outer.filter_map(|key| match key {
                Ok(key) => self.inner_key(&key),
                Err(error) => Some(Err(error)),
            })))
        }

        fn list_dir(&self, prefix: &Prefix) -> StoreResult<Directory> {
            let outer = self.store.list_dir(&self.outer_prefix(prefix)?)?;
            let keys = outer.keys.iter().filter_map(|key| self.inner_key(key));
            let prefixes = outer.prefixes.iter().filter_map(|prefix| self.root.strip(prefix.as_str()));
            Ok(Directory::new(
                keys.collect::<Result<_, _>>()?,
                prefixes.map(Prefix::new).collect::<Result<_, _>>()?,
            ))
        }
    }
}

/// Fails all requests, since one of them has an invalid key.
fn all_failed<'a>(count: usize, error: KeyError) -> Responses<'a> {
    Box::new((0..count).map(move |index| -> CompletedRequest { (index, Err(error.clone().into())) }))
}

/// The chunk cache of the other store, restricted to the prefix.
impl ChunkCache for PrefixStore {
    fn begin_read(&self) -> ReadStart {
        self.store.chunk_cache().map_or(ReadStart(0), ChunkCache::begin_read)
    }

    fn change_count(&self, key: &Key) -> ChangeCount {
        let outer = self.store.chunk_cache().zip(self.outer_key(key).ok());
        outer.map_or(ChangeCount(0), |(cache, key)| cache.change_count(&key))
    }

    fn get_chunk(&self, chunk: &ChunkId<'_>) -> Option<Bytes> {
        self.store.chunk_cache()?.get_chunk(&chunk.with_key(&self.outer_key(chunk.key).ok()?))
    }

    fn has_capacity(&self, chunk: &ChunkId<'_>, size: usize, start: ReadStart) -> bool {
        let outer = self.store.chunk_cache().zip(self.outer_key(chunk.key).ok());
        outer.is_some_and(|(cache, key)| cache.has_capacity(&chunk.with_key(&key), size, start))
    }

    fn insert_chunk(
        &self,
        chunk: &ChunkId<'_>,
        decoded: Bytes,
        changes: ChangeCount,
        start: ReadStart,
    ) -> bool {
        let outer = self.store.chunk_cache().zip(self.outer_key(chunk.key).ok());
        outer.is_some_and(|(cache, key)| cache.insert_chunk(&chunk.with_key(&key), decoded, changes, start))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PrefixConfiguration {
    prefix: String,
    store: DescribedStore,
}

#[typetag::deserialize(name = "prefix")]
impl StoreConfiguration for PrefixConfiguration {
    fn open(&self, given: Option<&Arc<dyn Store>>) -> StoreResult<Arc<dyn Store>> {
        let text = match self.prefix.as_str() {
            "" => String::new(),
            text if text.ends_with('/') => text.to_owned(),
            text => format!("{text}/"),
        };
        Ok(Arc::new(PrefixStore::new(self.store.open(given)?, Prefix::new(text)?)))
    }
}

/// Returns an error, because the store cannot be opened by URL.
fn without_a_url(url: &str) -> StoreResult<Arc<dyn Store>> {
    Err(Invalid::new(format!("`{url}`: a prefix needs a JSON description with its store")).into())
}
