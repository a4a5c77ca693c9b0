//! The decoded chunks in the cache of a store: lookup and insertion during one read.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use zarr_spec::Key;
use zarr_spec::store::cache::{ChangeCount, ChunkCache, ChunkId, ReadStart};

use crate::error::Error;
use crate::locks::{Claim, Claiming, hash};
use crate::memory::{BufferPool, Fresh};
use crate::stored::{CachedIndex, StoredArray};

/// The number under which a chunk that is not a shard is cached. Inner chunks of a shard have their positions as
/// numbers.
pub(super) const WHOLE: u64 = 0;

/// The decoded chunks in the cache of an array's store, for one read.
pub(super) struct CachedChunks<'r> {
    chunks: &'r dyn ChunkCache,
    decoding: &'r Arc<str>,
    begun: ReadStart,
    is_full: AtomicBool,
    memory: &'r Arc<BufferPool>,
}

pub(super) enum Claimed<'c> {
    Cached(Bytes),
    /// The chunk is not cached. While the claim is held, other threads that need the chunk wait.
    Absent {
        _claim: Option<Claim<'c>>,
    },
}

pub(super) struct CachedValue<'r> {
    all: &'r CachedChunks<'r>,
    key: Key,
    changes: ChangeCount,
    was_used: AtomicBool,
}

impl StoredArray {
    /// Returns the decoded chunks in the cache of the store, if it has one. The only chunk of a zero-dimensional array
    /// is not cached, because it may have several keys.
    pub(super) fn cached_chunks(&self) -> Option<CachedChunks<'_>> {
        let chunks = self.resolved.store.chunk_cache().filter(|_| !self.metadata.shape.is_empty())?;
        let decoding = self.decoding();
        let begun = chunks.begin_read();
        let memory = &self.context().buffer_pool;
        Some(CachedChunks { chunks, decoding, begun, is_full: AtomicBool::new(false), memory })
    }

    /// Returns a cached chunk, if necessary after waiting for another thread that decodes it.
    pub(super) fn find_or_claim<'c>(&'c self, cache: &CachedValue<'_>, number: u64) -> Claimed<'c> {
        let claims = &self.context().locks.claims;
        let hash = cache.hash(number);
        loop {
            if let Some(decoded) = cache.find(number) {
                return Claimed::Cached(decoded);
            }
            if cache.all.is_full.load(Ordering::Relaxed) {
                return Claimed::Absent { _claim: None };
            }
            match claims.claim(hash) {
                Claiming::Claimed(claim) => {
                    // Another thread may have added the chunk meanwhile.
                    return match cache.find(number) {
                        Some(decoded) => Claimed::Cached(decoded),
                        None => Claimed::Absent { _claim: Some(claim) },
                    };
                }
                Claiming::Refused => return Claimed::Absent { _claim: None },
                Claiming::Waited => {}
            }
        }
    }

    /// Returns the number of changes of the value of a chunk, if the store counts them.
    pub(super) fn changes(&self, chunk: &[u64]) -> Result<Option<ChangeCount>, Error> {
        let Some(cache) = self.resolved.store.chunk_cache() else { return Ok(None) };
        Ok(Some(cache.change_count(&self.key(chunk)?)))
    }
}

impl<'r> CachedValue<'r> {
    pub(super) fn new(all: &'r CachedChunks<'r>, key: Key) -> Self {
        let changes = all.chunks.change_count(&key);
        Self { all, key, changes, was_used: AtomicBool::new(false) }
    }

    /// Returns the elements of a cached chunk, in its pipeline's layout.
    pub(super) fn find(&self, number: u64) -> Option<Bytes> {
        let found = self.all.chunks.get_chunk(&self.name(number))?;
        self.was_used.store(true, Ordering::Relaxed);
        Some(found)
    }

    /// Returns whether the cache would accept a chunk of `size` bytes.
    pub(super) fn takes(&self, number: u64, size: usize) -> bool {
        let CachedChunks { chunks, begun, is_full, .. } = self.all;
        let is_taken =
            !is_full.load(Ordering::Relaxed) && chunks.has_capacity(&self.name(number), size, *begun);
        if !is_taken {
            is_full.store(true, Ordering::Relaxed);
        }
        is_taken
    }

    /// Returns whether the cache has capacity for the value itself, of `size` bytes.
    pub(super) fn has_capacity(&self, size: u64) -> bool {
        let CachedChunks { chunks, begun, .. } = self.all;
        usize::try_from(size).is_ok_and(|size| chunks.has_capacity(&self.name(WHOLE), size, *begun))
    }

    /// Returns memory for decoding a chunk of `size` bytes, if the cache would accept it.
    pub(super) fn memory(&self, number: u64, size: usize) -> Option<Fresh> {
        if self.takes(number, size) { Fresh::get(size, self.all.memory) } else { None }
    }

    /// Caches the elements of a chunk that was fetched after `self` was created.
    pub(super) fn keep(&self, number: u64, decoded: Fresh) {
        let CachedChunks { chunks, begun, is_full, .. } = self.all;
        if !chunks.insert_chunk(&self.name(number), decoded.into_bytes(), self.changes, *begun) {
            is_full.store(true, Ordering::Relaxed);
        }
    }

    /// Returns whether the value has not changed since the index was fetched.
    pub(super) fn has_now(&self, index: &CachedIndex) -> bool {
        index.is_after(self.changes)
    }

    /// Returns whether all cached chunks that were found belong to the same state of the value as the chunks that were
    /// fetched meanwhile.
    pub(super) fn is_of_one_state(&self) -> bool {
        !self.was_used.load(Ordering::Relaxed) || self.all.chunks.change_count(&self.key) == self.changes
    }

    fn hash(&self, number: u64) -> u64 {
        let place = ptr::from_ref(self.all.chunks).cast::<u8>().addr();
        hash(&(place, &self.key, number, &**self.all.decoding))
    }

    fn name(&self, number: u64) -> ChunkId<'_> {
        ChunkId::new(&self.key, number, self.all.decoding)
    }
}
