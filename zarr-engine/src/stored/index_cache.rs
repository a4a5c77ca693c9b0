//! A cache of shard indexes.

use std::collections::HashMap;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use zarr_spec::store::cache::ChangeCount;
use zarr_spec::store::{GetResult, Version};

use super::StoredArray;
use crate::pipeline::ShardIndex;

/// Bytes of shard indexes that one array caches.
const INDEX_CACHE_SIZE: usize = 16 << 20;

/// The shard indexes that one array caches. Most arrays have no shards: memory is allocated for the first index.
#[derive(Debug, Default)]
pub(super) struct IndexCache(OnceLock<Box<Mutex<Indexes>>>);

impl IndexCache {
    /// Returns the indexes, if there was one before.
    fn known(&self) -> Option<MutexGuard<'_, Indexes>> {
        self.0.get().map(|indexes| indexes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the indexes, to keep one more.
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

/// A shard's index, and the state of the value that it is in.
#[derive(Debug)]
pub(crate) struct CachedIndex {
    pub(crate) index: ShardIndex,
    version: Option<Version>,
    /// Bytes of the whole value.
    size: u64,
    /// How often the value had changed when it was fetched, where the store counts that.
    changes: Option<ChangeCount>,
    /// Indexes of inner chunks that are shards themselves, by their positions.
    nested: Mutex<HashMap<usize, Arc<CachedIndex>>>,
}

impl CachedIndex {
    pub(crate) fn new(index: ShardIndex, got: &GetResult, changes: Option<ChangeCount>) -> Self {
        Self { index, version: got.version.clone(), size: got.size, changes, nested: Mutex::default() }
    }

    /// Returns whether nothing has changed the value since, there being so many changes now.
    pub(crate) fn is_after(&self, changes: ChangeCount) -> bool {
        self.changes == Some(changes)
    }

    /// Returns whether the value is still the one that the index is of.
    pub(crate) fn is_of(&self, got: &GetResult) -> bool {
        self.version == got.version && self.size == got.size
    }

    /// Returns the index of an inner chunk that is a shard.
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

    /// Keeps an index; all others are forgotten when there are too many.
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

    /// Caches the index of an inner chunk with that of its shard, if there is room and that one is cached itself.
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

    /// Forgets the index of a shard that has changed.
    pub(crate) fn forget_index(&self, index: &[u64]) {
        let Some(mut indexes) = self.indexes.known() else { return };
        if let Some(kept) = indexes.indexes.remove(index) {
            indexes.size -= kept.memory();
        }
    }
}
