//! A cache of shard indexes.

use std::collections::HashMap;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use zarr_spec::store::cache::ChangeCount;
use zarr_spec::store::{GetResult, Version};

use super::StoredArray;
use crate::pipeline::ShardIndex;

/// Maximum size in bytes of the shard indexes that one array caches.
const INDEX_CACHE_SIZE: usize = 16 << 20;

/// The shard indexes that one array caches. Memory is allocated for the first index, because most arrays have no
/// shards.
#[derive(Debug, Default)]
pub(super) struct IndexCache(OnceLock<Box<Mutex<Indexes>>>);

impl IndexCache {
    /// Locks the cache, if it was used before.
    fn known(&self) -> Option<MutexGuard<'_, Indexes>> {
        self.0.get().map(|indexes| indexes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Locks the cache to add an index.
    fn lock(&self) -> MutexGuard<'_, Indexes> {
        self.0.get_or_init(Box::default).lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The cached indexes, by the chunk index of the shard.
#[derive(Debug, Default)]
struct Indexes {
    size: usize,
    indexes: HashMap<Vec<u64>, Arc<CachedIndex>>,
}

/// The index of a shard, with the state of the shard's value when it was read.
#[derive(Debug)]
pub(crate) struct CachedIndex {
    pub(crate) index: ShardIndex,
    version: Option<Version>,
    /// The size of the whole value in bytes.
    size: u64,
    /// The change count of the value when it was fetched, if the store counts changes.
    changes: Option<ChangeCount>,
    /// The indexes of inner chunks that are shards themselves, by position.
    nested: Mutex<HashMap<usize, Arc<CachedIndex>>>,
    /// Whether the whole value was fetched for the cache of the store.
    is_retained: AtomicBool,
}

impl CachedIndex {
    pub(crate) fn new(index: ShardIndex, got: &GetResult, changes: Option<ChangeCount>) -> Self {
        let version = got.version.clone();
        let is_retained = AtomicBool::new(false);
        Self { index, version, size: got.size, changes, nested: Mutex::default(), is_retained }
    }

    /// Returns the size of the whole value in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Notes that the whole value is fetched for the cache of the store. Returns whether this was noted before.
    pub(crate) fn set_retained(&self) -> bool {
        self.is_retained.swap(true, Ordering::Relaxed)
    }

    /// Returns whether the value is unchanged since it was read, given its current change count.
    pub(crate) fn is_after(&self, changes: ChangeCount) -> bool {
        self.changes == Some(changes)
    }

    /// Returns whether `got` comes from the same value as the index.
    pub(crate) fn is_of(&self, got: &GetResult) -> bool {
        self.version == got.version && self.size == got.size
    }

    /// Returns the cached index of an inner chunk that is a shard.
    pub(crate) fn nested(&self, position: usize) -> Option<Arc<Self>> {
        self.lock_nested().get(&position).map(Arc::clone)
    }

    fn lock_nested(&self) -> MutexGuard<'_, HashMap<usize, Arc<Self>>> {
        self.nested.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn memory(&self) -> usize {
        self.index.memory() + self.lock_nested().values().map(|nested| nested.index.memory()).sum::<usize>()
    }
}

impl StoredArray {
    /// Returns the index of the shard at `index`, if it is cached.
    pub(crate) fn cached_index(&self, index: &[u64]) -> Option<Arc<CachedIndex>> {
        self.indexes.known()?.indexes.get(index).map(Arc::clone)
    }

    /// Caches an index. If the cache is full, all other indexes are evicted.
    pub(crate) fn cache_index(&self, index: &[u64], kept: Arc<CachedIndex>) {
        let mut indexes = self.indexes.lock();
        let size = kept.memory();
        if indexes.size + size > INDEX_CACHE_SIZE {
            *indexes = Indexes::default();
        }
        if size <= INDEX_CACHE_SIZE {
            let before = indexes.indexes.insert(index.to_vec(), kept);
            indexes.size = indexes.size + size - before.map_or(0, |before| before.memory());
        }
    }

    /// Caches the index of an inner chunk with the index of its shard, if the index of the shard is cached and the size
    /// limit allows it.
    pub(crate) fn cache_nested_index(
        &self,
        index: &[u64],
        outer: &CachedIndex,
        position: usize,
        nested: Arc<CachedIndex>,
    ) {
        let Some(mut indexes) = self.indexes.known() else { return };
        let size = nested.index.memory();
        let is_kept = indexes.indexes.get(index).is_some_and(|kept| ptr::eq(&**kept, outer));
        if is_kept && indexes.size + size <= INDEX_CACHE_SIZE {
            let before = outer.lock_nested().insert(position, nested);
            indexes.size = indexes.size + size - before.map_or(0, |before| before.index.memory());
        }
    }

    /// Removes the index of a shard that has changed.
    pub(crate) fn forget_index(&self, index: &[u64]) {
        let Some(mut indexes) = self.indexes.known() else { return };
        if let Some(kept) = indexes.indexes.remove(index) {
            indexes.size -= kept.memory();
        }
    }
}
