//! The `cache` transformer: another store, and what was last read from it, in memory.
//!
//! Kept are encoded values and parts of them, such as the indexes of shards, up to a number of bytes; what was used
//! longest ago makes way first. A part is also found inside of a larger one. That a key is missing is not kept.
//!
//! What is written through the cache is never read stale. A change by others is noticed when another part of the value
//! is read on its own and has another version: what was kept of the older one is dropped then. Until then the cache
//! knows nothing of it, so it is for data that others leave alone.
//!
//! Described as `{"type": "cache", "bytes": 100000000, "store": {…}}`.
//!
//! Source: "Storage transformers" in the Zarr v3 draft of 2022, on those that leave the stored form as it is.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use zarr_spec::store::{
    Capabilities, Contents, Delivery, Directory, Got, Manner, Request, Store, StoreConfiguration, StoreError,
    StorePlugin,
};
use zarr_spec::{ByteRange, Bytes, Invalid, Key, LimitExceeded, Output, Prefix, typetag};

mod kept;

use kept::{Kept, State};

zarr_spec::register!(StorePlugin::new("cache", &[], without_a_url));

/// Another store, and some of its bytes in memory.
#[derive(Debug)]
pub struct CacheStore {
    store: Arc<dyn Store>,
    kept: Mutex<Kept>,
}

impl CacheStore {
    /// Around `store`, keeping at most `limit` bytes, what it takes to find them included.
    pub fn new(store: Arc<dyn Store>, limit: usize) -> Self {
        Self { store, kept: Mutex::new(Kept::new(limit)) }
    }

    /// Bytes that are kept now, what it takes to find them included.
    #[must_use]
    pub fn size_in_memory(&self) -> usize {
        self.kept().size()
    }

    // No code of others runs under the lock, and no change is left half done: what a panic left behind is sound.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a change of the store. What it concerns is forgotten before it, and again after it: a reader may have
    /// brought back the old bytes in between. What readers fetch meanwhile is not kept.
    fn change<T>(
        &self,
        forget: impl Fn(&mut Kept),
        change: impl FnOnce(&dyn Store) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let forget = || {
            let mut kept = self.kept();
            kept.changes += 1;
            forget(&mut kept);
        };
        forget();
        let result = change(&*self.store);
        forget();
        result
    }

    /// What `request` asks for, if it is kept.
    fn find(&self, request: &Request) -> Option<Result<Bytes, StoreError>> {
        let bytes = self.kept().find(&request.key, request.range)?;
        Some(if bytes.len() > request.limit {
            Err(too_large(&request.key, request.limit))
        } else {
            Ok(bytes)
        })
    }
}

fn too_large(key: &Key, limit: usize) -> StoreError {
    StoreError::TooLarge { key: key.to_string(), source: LimitExceeded { limit } }
}

#[deny(clippy::missing_trait_methods)]
impl Store for CacheStore {
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
        let found = self.kept().find_with_state(key, range);
        if let Some((bytes, State { size, version })) = found {
            if bytes.len() > to.remaining() {
                return Err(too_large(key, to.remaining()));
            }
            return Ok(Some(Got { contents: Contents::Shared(bytes), size, version }));
        }
        let (before, changes) = (to.written().len(), self.kept().changes);
        let Some(got) = self.store.get(key, range, to)? else {
            self.kept().forget(key);
            return Ok(None);
        };
        let bytes = match &got.contents {
            Contents::Shared(bytes) => bytes,
            Contents::Written => &to.written()[before..],
        };
        let state = State { size: got.size, version: got.version.clone() };
        self.kept().keep_with_state(key, range, bytes, state, changes);
        Ok(Some(got))
    }

    fn get_many<'a>(
        &'a self,
        requests: Vec<Request>,
        budget: usize,
    ) -> Box<dyn Iterator<Item = Delivery> + Send + 'a> {
        let changes = self.kept().changes;
        let (mut here, mut asked, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        for (number, request) in requests.into_iter().enumerate() {
            match self.find(&request) {
                Some(found) => here.push((number, found.map(Some))),
                None => {
                    numbers.push((number, request.key.clone(), request.range));
                    asked.push(request);
                }
            }
        }
        if asked.is_empty() {
            return Box::new(here.into_iter());
        }
        let fetched = self.store.get_many(asked, budget).filter_map(move |(place, delivered)| {
            let (number, key, range) = numbers.get(place)?;
            if let Ok(Some(bytes)) = &delivered {
                self.kept().keep(key, *range, bytes, changes);
            }
            Some((*number, delivered))
        });
        Box::new(here.into_iter().chain(fetched))
    }

    fn set(&self, key: &Key, value: &[u8]) -> Result<(), StoreError> {
        self.change(|kept| kept.forget(key), |store| store.set(key, value))
    }

    fn set_partial_values(&self, values: &[(Key, u64, &[u8])]) -> Result<(), StoreError> {
        let forget = |kept: &mut Kept| values.iter().for_each(|(key, ..)| kept.forget(key));
        self.change(forget, |store| store.set_partial_values(values))
    }

    fn erase(&self, key: &Key) -> Result<(), StoreError> {
        self.change(|kept| kept.forget(key), |store| store.erase(key))
    }

    fn erase_values(&self, keys: &[Key]) -> Result<(), StoreError> {
        let forget = |kept: &mut Kept| keys.iter().for_each(|key| kept.forget(key));
        self.change(forget, |store| store.erase_values(keys))
    }

    fn erase_prefix(&self, prefix: &Prefix) -> Result<(), StoreError> {
        self.change(|kept| kept.forget_below(prefix), |store| store.erase_prefix(prefix))
    }

    fn list(&self) -> Result<Vec<Key>, StoreError> {
        self.store.list()
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Vec<Key>, StoreError> {
        self.store.list_prefix(prefix)
    }

    fn list_dir(&self, prefix: &Prefix) -> Result<Directory, StoreError> {
        self.store.list_dir(prefix)
    }

    fn size(&self, key: &Key) -> Result<Option<u64>, StoreError> {
        self.store.size(key)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CacheConfiguration {
    bytes: u64,
    store: Box<dyn StoreConfiguration>,
}

#[typetag::deserialize(name = "cache")]
impl StoreConfiguration for CacheConfiguration {
    fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        if self.bytes == 0 {
            return Err(Invalid::new("a cache of 0 `bytes` keeps nothing").into());
        }
        let limit = usize::try_from(self.bytes).unwrap_or(usize::MAX);
        Ok(Arc::new(CacheStore::new(self.store.open()?, limit)))
    }
}

/// No scheme leads here.
fn without_a_url(url: &str) -> Result<Arc<dyn Store>, StoreError> {
    Err(Invalid::new(format!("`{url}`: a cache is described in JSON, with the store it is for")).into())
}
