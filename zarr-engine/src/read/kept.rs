//! Decoded chunks that the store keeps, as one read finds and keeps them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use zarr_spec::Key;
use zarr_spec::store::{Begun, Caching, Changes, ChunkCache, ChunkName};

use crate::array::{ArrayInner, KeptIndex};
use crate::error::Error;

/// The decoded chunks that the store of an array keeps, for one read.
pub(super) struct KeptChunks<'r> {
    chunks: &'r dyn ChunkCache,
    decoding: &'r Arc<str>,
    begun: Begun,
    is_full: AtomicBool,
}

/// Those of one value.
pub(super) struct KeptValue<'r> {
    all: &'r KeptChunks<'r>,
    key: Key,
    changes: Changes,
    was_used: AtomicBool,
}

impl ArrayInner {
    /// `None` if the store keeps no decoded chunks. The only element of an array without dimensions is never kept: it
    /// may have several keys.
    pub(super) fn kept_chunks(&self) -> Option<KeptChunks<'_>> {
        match self.resolved.store.caching() {
            Caching::Decoded(chunks) if !self.metadata.shape.is_empty() => {
                let (decoding, begun) = (self.decoding(), chunks.begin());
                Some(KeptChunks { chunks, decoding, begun, is_full: AtomicBool::new(false) })
            }
            _ => None,
        }
    }

    /// How often the value of the chunk at `cell` has changed, if the store counts that.
    pub(super) fn changes(&self, cell: &[u64]) -> Result<Option<Changes>, Error> {
        match self.resolved.store.caching() {
            Caching::Decoded(chunks) => Ok(Some(chunks.changes(&self.key(cell)?))),
            Caching::None | Caching::Encoded => Ok(None),
        }
    }
}

impl<'r> KeptValue<'r> {
    pub(super) fn new(all: &'r KeptChunks<'r>, key: Key) -> Self {
        let changes = all.chunks.changes(&key);
        Self { all, key, changes, was_used: AtomicBool::new(false) }
    }

    /// The elements of a chunk in its pipeline's layout.
    pub(super) fn find(&self, number: u64) -> Option<Bytes> {
        let found = self.all.chunks.find(&self.name(number))?;
        self.was_used.store(true, Ordering::Relaxed);
        Some(found)
    }

    /// Whether there may be room for a chunk of so many bytes.
    pub(super) fn takes(&self, size: u64) -> bool {
        size <= self.all.chunks.limit() as u64 && !self.all.is_full.load(Ordering::Relaxed)
    }

    /// Keeps the elements of a chunk that was fetched after this was made.
    pub(super) fn keep(&self, number: u64, decoded: &[u8]) {
        let KeptChunks { chunks, begun, is_full, .. } = self.all;
        if !is_full.load(Ordering::Relaxed) && !chunks.keep(&self.name(number), decoded, self.changes, *begun)
        {
            is_full.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the value had not changed from when the index was fetched until this was made.
    pub(super) fn has_now(&self, index: &KeptIndex) -> bool {
        index.is_after(self.changes)
    }

    /// Whether all that was found is of one state of the value, and of the same as what was fetched meanwhile.
    pub(super) fn is_of_one_state(&self) -> bool {
        !self.was_used.load(Ordering::Relaxed) || self.all.chunks.changes(&self.key) == self.changes
    }

    fn name(&self, number: u64) -> ChunkName<'_> {
        ChunkName { key: &self.key, number, decoding: self.all.decoding }
    }
}
