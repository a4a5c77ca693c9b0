//! The decoded chunks in the cache of a store: lookup and insertion during one read.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use zarr_spec::Key;
use zarr_spec::store::cache::{ChangeCount, ChunkCache, ChunkId, ReadStart};

use super::cells::WHOLE;
use super::region::ChunkRequest;
use crate::array::{ArrayInner, CachedIndex};
use crate::error::Error;
use crate::locks::{Claim, Claiming, hash};
use crate::memory::{BufferPool, Fresh};

/// The decoded chunks in the cache of an array's store, for one read.
pub(super) struct CachedChunks<'r> {
    chunks: &'r dyn ChunkCache,
    decoding: &'r Arc<str>,
    begun: ReadStart,
    is_full: AtomicBool,
    memory: &'r Arc<BufferPool>,
}

/// A chunk that was looked for.
pub(super) enum Claimed<'c> {
    /// It is there.
    Cached(Bytes),
    /// It is not there. Others who want it wait while this is held.
    Absent(Option<Claim<'c>>),
}

/// Those of one value.
pub(super) struct CachedValue<'r> {
    all: &'r CachedChunks<'r>,
    key: Key,
    changes: ChangeCount,
    was_used: AtomicBool,
}

impl ArrayInner {
    /// `None` if the store keeps no decoded chunks. The only element of an array without dimensions is never kept: it
    /// may have several keys.
    pub(super) fn cached_chunks(&self) -> Option<CachedChunks<'_>> {
        let chunks = self.resolved.store.chunk_cache().filter(|_| !self.metadata.shape.is_empty())?;
        let decoding = self.decoding();
        let begun = chunks.begin_read();
        let memory = &self.context().buffer_pool;
        Some(CachedChunks { chunks, decoding, begun, is_full: AtomicBool::new(false), memory })
    }

    /// Copies the requested parts of a chunk to the output if all of them are cached; otherwise copies nothing.
    pub(super) fn put_if_cached(
        &self,
        requests: &[ChunkRequest<'_, '_>],
        cache: &CachedChunks<'_>,
    ) -> Result<bool, Error> {
        let Some(first) = requests.first() else { return Ok(true) };
        let cell = first.piece.cell();
        let pipeline = self.pipeline_of(first.piece)?;
        let cache = CachedValue::new(cache, self.key(cell)?);
        if let Some(shard) = pipeline.shard() {
            return self.put_shard_if_cached(cell, shard, requests, &cache);
        }
        let Some(decoded) = cache.find(WHOLE) else { return Ok(false) };
        self.put(cell, &pipeline, &decoded, requests).map(|()| true)
    }

    /// A cached chunk, perhaps after waiting for another thread that decodes it.
    pub(super) fn find_or_claim<'c>(&'c self, cache: &CachedValue<'_>, number: u64) -> Claimed<'c> {
        let claims = self.context().locks.claims();
        let hash = cache.hash(number);
        loop {
            if let Some(decoded) = cache.find(number) {
                return Claimed::Cached(decoded);
            }
            if cache.all.is_full.load(Ordering::Relaxed) {
                return Claimed::Absent(None);
            }
            match claims.claim(hash) {
                Claiming::Claimed(claim) => {
                    // It may have come between the two.
                    return match cache.find(number) {
                        Some(decoded) => Claimed::Cached(decoded),
                        None => Claimed::Absent(Some(claim)),
                    };
                }
                Claiming::Refused => return Claimed::Absent(None),
                Claiming::Waited => {}
            }
        }
    }

    /// How often the value of the chunk at `cell` has changed, if the store counts that.
    pub(super) fn changes(&self, cell: &[u64]) -> Result<Option<ChangeCount>, Error> {
        let Some(cache) = self.resolved.store.chunk_cache() else { return Ok(None) };
        Ok(Some(cache.change_count(&self.key(cell)?)))
    }
}

impl<'r> CachedValue<'r> {
    pub(super) fn new(all: &'r CachedChunks<'r>, key: Key) -> Self {
        let changes = all.chunks.change_count(&key);
        Self { all, key, changes, was_used: AtomicBool::new(false) }
    }

    /// The elements of a chunk in its pipeline's layout.
    pub(super) fn find(&self, number: u64) -> Option<Bytes> {
        let found = self.all.chunks.get_chunk(&self.name(number))?;
        self.was_used.store(true, Ordering::Relaxed);
        Some(found)
    }

    /// Whether there is room for a chunk of so many bytes.
    pub(super) fn takes(&self, number: u64, size: usize) -> bool {
        let CachedChunks { chunks, begun, is_full, .. } = self.all;
        let is_taken =
            !is_full.load(Ordering::Relaxed) && chunks.has_capacity(&self.name(number), size, *begun);
        if !is_taken {
            is_full.store(true, Ordering::Relaxed);
        }
        is_taken
    }

    /// Memory to decode a chunk of `size` bytes to, if the cache would accept it.
    pub(super) fn memory(&self, number: u64, size: usize) -> Option<Fresh> {
        if self.takes(number, size) { Fresh::get(size, self.all.memory) } else { None }
    }

    /// Keeps the elements of a chunk that was fetched after this was made.
    pub(super) fn keep(&self, number: u64, decoded: Fresh) {
        let CachedChunks { chunks, begun, is_full, .. } = self.all;
        if !chunks.insert_chunk(&self.name(number), decoded.into_bytes(), self.changes, *begun) {
            is_full.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the value had not changed from when the index was fetched until this was made.
    pub(super) fn has_now(&self, index: &CachedIndex) -> bool {
        index.is_after(self.changes)
    }

    /// Whether all that was found is of one state of the value, and of the same as what was fetched meanwhile.
    pub(super) fn is_of_one_state(&self) -> bool {
        !self.was_used.load(Ordering::Relaxed) || self.all.chunks.change_count(&self.key) == self.changes
    }

    /// Tells it from other chunks.
    fn hash(&self, number: u64) -> u64 {
        let place = ptr::from_ref(self.all.chunks).cast::<u8>().addr();
        hash(&(place, &self.key, number, &**self.all.decoding))
    }

    fn name(&self, number: u64) -> ChunkId<'_> {
        ChunkId::new(&self.key, number, self.all.decoding)
    }
}
