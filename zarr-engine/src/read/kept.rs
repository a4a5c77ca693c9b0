//! Decoded chunks that the store keeps, as one read finds and keeps them.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use zarr_spec::Key;
use zarr_spec::store::cache::{ChangeCount, ChunkCache, ChunkId, ReadStart};

use super::cells::WHOLE;
use super::region::Want;
use crate::array::{ArrayInner, KeptIndex};
use crate::error::Error;
use crate::locks::{Claim, Claiming, hash};
use crate::memory::{Fresh, KeptMemory};

/// The decoded chunks that the store of an array keeps, for one read.
pub(super) struct KeptChunks<'r> {
    chunks: &'r dyn ChunkCache,
    decoding: &'r Arc<str>,
    begun: ReadStart,
    is_full: AtomicBool,
    memory: &'r Arc<KeptMemory>,
}

/// A chunk that was looked for.
pub(super) enum Claimed<'c> {
    /// It is there.
    Kept(Bytes),
    /// It is not there. Others who want it wait while this is held.
    Absent(Option<Claim<'c>>),
}

/// Those of one value.
pub(super) struct KeptValue<'r> {
    all: &'r KeptChunks<'r>,
    key: Key,
    changes: ChangeCount,
    was_used: AtomicBool,
}

impl ArrayInner {
    /// `None` if the store keeps no decoded chunks. The only element of an array without dimensions is never kept: it
    /// may have several keys.
    pub(super) fn kept_chunks(&self) -> Option<KeptChunks<'_>> {
        let chunks = self.resolved.store.chunk_cache().filter(|_| !self.metadata.shape.is_empty())?;
        let decoding = self.decoding();
        let begun = chunks.begin_read();
        let memory = &self.context().kept;
        Some(KeptChunks { chunks, decoding, begun, is_full: AtomicBool::new(false), memory })
    }

    /// Puts out what is wanted of a chunk, if all of that is kept. If not, nothing is put out.
    pub(super) fn put_if_kept(&self, wants: &[Want<'_, '_>], kept: &KeptChunks<'_>) -> Result<bool, Error> {
        let Some(first) = wants.first() else { return Ok(true) };
        let cell = first.piece.cell();
        let (pipeline, kept) = (self.pipeline_of(first.piece)?, KeptValue::new(kept, self.key(cell)?));
        if let Some(shard) = pipeline.shard() {
            return self.put_shard_if_kept(cell, shard, wants, &kept);
        }
        let Some(decoded) = kept.find(WHOLE) else { return Ok(false) };
        self.put(cell, &pipeline, &decoded, wants).map(|()| true)
    }

    /// A chunk that is kept, perhaps after waiting for another thread that decodes it.
    pub(super) fn find_or_claim<'c>(&'c self, kept: &KeptValue<'_>, number: u64) -> Claimed<'c> {
        let claims = self.context().locks.claims();
        let hash = kept.hash(number);
        loop {
            if let Some(decoded) = kept.find(number) {
                return Claimed::Kept(decoded);
            }
            if kept.all.is_full.load(Ordering::Relaxed) {
                return Claimed::Absent(None);
            }
            match claims.claim(hash) {
                Claiming::Claimed(claim) => {
                    // It may have come between the two.
                    return match kept.find(number) {
                        Some(decoded) => Claimed::Kept(decoded),
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

impl<'r> KeptValue<'r> {
    pub(super) fn new(all: &'r KeptChunks<'r>, key: Key) -> Self {
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
        let KeptChunks { chunks, begun, is_full, .. } = self.all;
        let is_taken =
            !is_full.load(Ordering::Relaxed) && chunks.has_capacity(&self.name(number), size, *begun);
        if !is_taken {
            is_full.store(true, Ordering::Relaxed);
        }
        is_taken
    }

    /// Memory to decode a chunk of so many bytes to, if it would be kept.
    pub(super) fn memory(&self, number: u64, size: usize) -> Option<Fresh> {
        if self.takes(number, size) { Fresh::get(size, self.all.memory) } else { None }
    }

    /// Keeps the elements of a chunk that was fetched after this was made.
    pub(super) fn keep(&self, number: u64, decoded: Fresh) {
        let KeptChunks { chunks, begun, is_full, .. } = self.all;
        if !chunks.insert_chunk(&self.name(number), decoded.into_bytes(), self.changes, *begun) {
            is_full.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the value had not changed from when the index was fetched until this was made.
    pub(super) fn has_now(&self, index: &KeptIndex) -> bool {
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
