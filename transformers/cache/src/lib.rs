//! The `cache` transformer: caches reads of another store in memory.
//!
//! The cache holds encoded values and parts of them, such as metadata documents and shard indexes, up to a
//! number of bytes. The least recently used entries are evicted first. A part is also found inside of a larger
//! one. With `"chunks": "decoded"`, an engine stores decoded chunks in the cache instead of encoded ones; each
//! inner chunk of a shard is a separate entry. A read does not evict its own entries, so a part of an array
//! that is larger than the cache stays cached. With `"missing": true`, missing keys are also cached.
//!
//! Values that are written through the cache are never stale. A change by another program is noticed when a
//! different part of the value is read and has another version: then the entries of the older version are
//! dropped. Until then the cache returns old bytes, and it never notices that a missing key was added. Use
//! the cache only for data that other programs do not change.
//!
//! Described as `{"type": "cache", "bytes": 100000000, "store": {…}}`. `"chunks"` is `"encoded"` (the default)
//! or `"decoded"`; `"missing"` is false by default. A cache of decoded chunks may contain a cache of encoded
//! values; no other nesting is allowed.
//!
//! Source: "Storage transformers" in the Zarr v3 draft of 2022, about transformers that do not change the stored form.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use zarr_spec::store::cache::{ChangeCount, ChunkCache, ChunkId, ReadStart};
use zarr_spec::store::{
    Condition, ConditionalWrite, Contents, DescribedStore, GetOptions, GetResult, Payload, Request, Response,
    Responses, Store, StoreConfiguration, StoreError, StorePlugin, StoreResult, Version,
};
use zarr_spec::{ByteRange, Bytes, Example, Invalid, Key, LimitExceeded, Output, Prefix, typetag};

mod entries;
mod lru;

use entries::{Entries, Found, State};

zarr_spec::register!(
    StorePlugin::new("cache", &[], &without_a_url)
        .configuration::<CacheConfiguration>()
        .about("Caches reads of another store in memory.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(
        r#"{"type": "cache", "bytes": 100000000, "store": {"type": "filesystem",
            "path": "data.zarr"}}"#,
    ),
    Example::v3(
        r#"{"type": "cache", "bytes": 100000000, "chunks": "decoded", "missing": true,
            "store": {"type": "filesystem", "path": "data.zarr"}}"#,
    ),
];

/// A cache around another store.
#[derive(Debug)]
pub struct CacheStore {
    store: Arc<dyn Store>,
    limit: usize,
    chunks: Chunks,
    caches_missing: bool,
    entries: Mutex<Entries>,
}

/// The form of cached chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Chunks {
    #[default]
    Encoded,
    Decoded,
}

impl CacheStore {
    /// Creates a cache of at most `limit` bytes around `store`, including the memory for the index.
    pub fn new(store: Arc<dyn Store>, limit: usize) -> Self {
        let entries = Mutex::new(Entries::new(limit));
        Self { store, limit, chunks: Chunks::default(), caches_missing: false, entries }
    }

    /// Returns a cache of decoded chunks instead of encoded ones.
    #[must_use]
    pub fn with_decoded_chunks(self) -> Self {
        Self { chunks: Chunks::Decoded, ..self }
    }

    /// Returns a cache that also caches missing keys. It does not notice values that other programs add.
    #[must_use]
    pub fn with_missing_keys(self) -> Self {
        Self { caches_missing: true, ..self }
    }

    /// Returns the number of cached bytes, including the memory for the index.
    #[must_use]
    pub fn size_in_memory(&self) -> usize {
        self.entries().size()
    }

    // No foreign code runs under the lock and no change stays incomplete, so a panic leaves the contents
    // consistent.
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a change of the store. Drops the affected entries before it and again after it, since a concurrent
    /// read may cache the old bytes in between. Bytes that are being fetched meanwhile are not cached.
    fn change<T>(
        &self,
        drop_value: impl Fn(&mut Entries),
        change: impl FnOnce(&dyn Store) -> StoreResult<T>,
    ) -> StoreResult<T> {
        drop_value(&mut self.entries());
        let result = change(&*self.store);
        drop_value(&mut self.entries());
        result
    }

    /// Reads a value or a part of it from the store.
    fn fetch(
        &self,
        key: &Key,
        options: GetOptions,
        to: &mut Output<'_>,
        changes: ChangeCount,
    ) -> StoreResult<Option<GetResult>> {
        let before = to.written().len();
        let Some(found) = self.store.get(key, self.inner_options(options), to)? else {
            self.note_missing(key, changes);
            return Ok(None);
        };
        let bytes = match &found.contents {
            Contents::Shared(bytes) => bytes,
            Contents::Written => &to.written()[before..],
        };
        let state = State { size: found.size, version: found.version.clone() };
        self.note(key, options, bytes, state, changes);
        Ok(Some(found))
    }

    /// Caches fetched bytes, or only compares the state of the value.
    fn note(&self, key: &Key, options: GetOptions, bytes: &[u8], state: State, changes: ChangeCount) {
        match self.own(bytes).filter(|_| self.retains(options)) {
            Some(bytes) => self.entries().insert_part(key, options.range, bytes, state, changes),
            None => self.entries().note_state(key, &state),
        }
    }

    /// Returns whether to cache encoded bytes. For chunks that an engine decodes, this cache or an inner one
    /// holds the decoded bytes instead.
    fn retains(&self, options: GetOptions) -> bool {
        options.may_cache || self.chunks == Chunks::Encoded
    }

    /// Returns the options for an inner cache, which holds encoded bytes if this one holds decoded chunks.
    fn inner_options(&self, options: GetOptions) -> GetOptions {
        match self.chunks {
            Chunks::Encoded => options,
            Chunks::Decoded if options.for_update => options,
            Chunks::Decoded => GetOptions::new(options.range),
        }
    }

    /// Caches that a key is missing if missing keys are cached. Otherwise, only drops the entries of its value.
    fn note_missing(&self, key: &Key, changes: ChangeCount) {
        match self.caches_missing {
            true => self.entries().insert_missing(key, changes),
            false => self.entries().note_missing(key),
        }
    }

    /// Returns the cached result of `request`.
    fn find(&self, request: &Request) -> Option<StoreResult<Option<Response>>> {
        if request.options.for_update {
            return None;
        }
        match self.entries().find(&request.key, request.options.range) {
            Found::Cached((bytes, _)) if bytes.len() > request.limit => {
                Some(Err(too_large(&request.key, request.limit)))
            }
            Found::Cached((bytes, State { size, version })) => {
                Some(Ok(Some(Response::new(bytes, size, version))))
            }
            Found::Missing => Some(Ok(None)),
            Found::Unknown => None,
        }
    }

    /// Copies the bytes if they may fit, since an entry must not keep a larger buffer of the store alive. The caller
    /// must not hold the lock, because copying takes time.
    fn own(&self, bytes: &[u8]) -> Option<Bytes> {
        let mut copy = Vec::new();
        if bytes.len() > self.limit || copy.try_reserve_exact(bytes.len()).is_err() {
            return None;
        }
        copy.extend_from_slice(bytes);
        Some(copy.into())
    }
}

fn too_large(key: &Key, limit: usize) -> StoreError {
    StoreError::TooLarge { key: key.to_string(), source: LimitExceeded { limit } }
}

/// A request to the store, and the state of its value.
struct PendingRequest {
    index: usize,
    key: Key,
    options: GetOptions,
    changes: ChangeCount,
}

zarr_spec::delegate_store! {
    impl Store for CacheStore {
        forward(self.store): describe, list, lock, commit, array_document;

        fn get(&self, key: &Key, options: GetOptions, to: &mut Output<'_>) -> StoreResult<Option<GetResult>> {
            let (found, changes) = {
                let mut entries = self.entries();
                let found = if options.for_update { Found::Unknown } else { entries.find(key, options.range) };
                (found, entries.changes(key))
            };
            match found {
                Found::Cached((bytes, _)) if bytes.len() > to.remaining() => {
                    Err(too_large(key, to.remaining()))
                }
                Found::Cached((bytes, State { size, version })) => {
                    Ok(Some(GetResult::new(Contents::Shared(bytes), size, version)))
                }
                Found::Missing => Ok(None),
                Found::Unknown => self.fetch(key, options, to, changes),
            }
        }

        fn get_many(&self, requests: Vec<Request>, budget: usize) -> Responses<'_> {
            let mut cached = Vec::new();
            let mut pending = Vec::new();
            let mut inner_requests = Vec::new();
            for (index, mut request) in requests.into_iter().enumerate() {
                if let Some(found) = self.find(&request) {
                    cached.push((index, found));
                    continue;
                }
                let changes = self.entries().changes(&request.key);
                pending.push(PendingRequest { index, key: request.key.clone(), options: request.options, changes });
                request.options = self.inner_options(request.options);
                inner_requests.push(request);
            }
            if pending.is_empty() {
                return Box::new(cached.into_iter());
            }
            let fetched = self.store.get_many(inner_requests, budget);
            let fetched = fetched.filter_map(move |(number, completed)| {
                let PendingRequest { index, key, options, changes } = pending.get(number)?;
                match &completed {
                    Ok(Some(Response { bytes, size, version, .. })) => {
                        let state = State { size: *size, version: version.clone() };
                        self.note(key, *options, bytes, state, *changes);
                    }
                    Ok(None) => self.note_missing(key, *changes),
                    Err(_) => {}
                }
                Some((*index, completed))
            });
            Box::new(cached.into_iter().chain(fetched))
        }

        fn size(&self, key: &Key) -> StoreResult<Option<u64>> {
            if !self.caches_missing {
                return self.store.size(key);
            }
            let (found, changes) = {
                let mut entries = self.entries();
                (entries.find(key, ByteRange::From(0)), entries.changes(key))
            };
            if found == Found::Missing {
                return Ok(None);
            }
            let size = self.store.size(key)?;
            if size.is_none() {
                self.note_missing(key, changes);
            }
            Ok(size)
        }

        fn chunk_cache(&self) -> Option<&dyn ChunkCache> {
            match self.chunks {
                Chunks::Decoded => Some(self),
                Chunks::Encoded => self.store.chunk_cache(),
            }
        }

        fn caches_values(&self) -> bool {
            true
        }

        fn set(&self, key: &Key, value: Payload<'_>) -> StoreResult<()> {
            self.change(|entries| entries.change(key), |store| store.set(key, value))
        }

        fn set_if(
            &self,
            key: &Key,
            value: Payload<'_>,
            condition: &Condition,
        ) -> StoreResult<ConditionalWrite> {
            self.change(|entries| entries.change(key), |store| store.set_if(key, value, condition))
        }

        fn set_partial_values(&self, values: &[(Key, u64, &[u8])]) -> StoreResult<()> {
            let drop_value = |entries: &mut Entries| values.iter().for_each(|(key, ..)| entries.change(key));
            self.change(drop_value, |store| store.set_partial_values(values))
        }

        fn erase(&self, key: &Key) -> StoreResult<()> {
            self.change(|entries| entries.change(key), |store| store.erase(key))
        }

        fn erase_if(&self, key: &Key, version: &Version) -> StoreResult<ConditionalWrite> {
            self.change(|entries| entries.change(key), |store| store.erase_if(key, version))
        }

        fn erase_values(&self, keys: &[Key]) -> StoreResult<()> {
            let drop_value = |entries: &mut Entries| keys.iter().for_each(|key| entries.change(key));
            self.change(drop_value, |store| store.erase_values(keys))
        }

        fn erase_prefix(&self, prefix: &Prefix) -> StoreResult<()> {
            self.change(|entries| entries.change_below(prefix), |store| store.erase_prefix(prefix))
        }
    }
}

/// The chunks of this cache. An inner cache has separate ones.
impl ChunkCache for CacheStore {
    fn begin_read(&self) -> ReadStart {
        self.entries().now()
    }

    fn change_count(&self, key: &Key) -> ChangeCount {
        self.entries().changes(key)
    }

    fn get_chunk(&self, chunk: &ChunkId<'_>) -> Option<Bytes> {
        self.entries().find_chunk(chunk)
    }

    fn has_capacity(&self, chunk: &ChunkId<'_>, size: usize, start: ReadStart) -> bool {
        self.entries().has_room_for(chunk.key, size, start)
    }

    fn insert_chunk(
        &self,
        chunk: &ChunkId<'_>,
        decoded: Bytes,
        changes: ChangeCount,
        start: ReadStart,
    ) -> bool {
        self.entries().insert_chunk(chunk, decoded, changes, start)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CacheConfiguration {
    bytes: u64,
    #[serde(default)]
    chunks: Chunks,
    #[serde(default)]
    missing: bool,
    store: DescribedStore,
}

#[typetag::deserialize(name = "cache")]
impl StoreConfiguration for CacheConfiguration {
    fn open(&self, given: Option<&Arc<dyn Store>>) -> StoreResult<Arc<dyn Store>> {
        if self.bytes == 0 {
            return Err(Invalid::new("`bytes` is 0; expected at least 1").into());
        }
        let limit = usize::try_from(self.bytes).unwrap_or(usize::MAX);
        let store = self.store.open(given)?;
        check_order(self.chunks, &*store)?;
        Ok(Arc::new(CacheStore {
            chunks: self.chunks,
            caches_missing: self.missing,
            ..CacheStore::new(store, limit)
        }))
    }

    fn caches_chunks(&self) -> bool {
        self.chunks == Chunks::Decoded
    }
}

/// Checks that a cache around `store` is useful.
fn check_order(chunks: Chunks, store: &dyn Store) -> Result<(), Invalid> {
    if !store.capabilities().readable {
        return Err(Invalid::new(format!("`{}` is not readable, so it cannot be cached", store.location())));
    }
    let reason = match (chunks, store.chunk_cache().is_some(), store.caches_values()) {
        (_, false, false) | (Chunks::Decoded, false, true) => return Ok(()),
        (Chunks::Encoded, false, true) => {
            "both hold encoded values, and the inner one would serve only entries that the outer one evicted: \
             use one cache with the `bytes` of both"
        }
        (Chunks::Encoded, true, _) => {
            "the inner cache holds decoded chunks, which are looked up before encoded ones: \
             the cache with `\"chunks\": \"decoded\"` must be the outer one"
        }
        (Chunks::Decoded, true, _) => {
            "both hold decoded chunks, and the inner one would never receive any: use one cache with the `bytes` of both"
        }
    };
    Err(Invalid::new(format!("invalid cache around the cache of `{}`: {reason}", store.location())))
}

/// Returns an error, because the store cannot be opened by URL.
fn without_a_url(url: &str) -> StoreResult<Arc<dyn Store>> {
    Err(Invalid::new(format!("`{url}`: a cache needs a JSON description with its store")).into())
}
