//! Decoded chunks that a store caches for an engine.

use std::fmt::Debug;
use std::sync::Arc;

use bytes::Bytes;

use crate::key::Key;

/// A cache of decoded chunks, which [`Store::chunk_cache`](super::Store::chunk_cache) returns.
///
/// A reader calls [`ChunkCache::begin_read`] once, [`ChunkCache::change_count`] before it fetches a value, and
/// [`ChunkCache::get_chunk`] for each chunk. It fetches missing chunks with
/// [`GetOptions::uncached`](super::GetOptions::uncached), decodes them and passes them to [`ChunkCache::insert_chunk`].
/// The cache drops the chunks of a value that is written or erased through its store.
pub trait ChunkCache: Debug + Send + Sync {
    /// Begins a read. Chunks of this read do not evict entries that are used after this call. If a read is
    /// larger than the cache, a part of it therefore stays cached.
    fn begin_read(&self) -> ReadStart;

    /// Returns the number of changes of the value of `key` that the cache knows of. It never decreases.
    fn change_count(&self, key: &Key) -> ChangeCount;

    /// Returns the bytes of a decoded chunk, exactly as they were inserted.
    fn get_chunk(&self, chunk: &ChunkId<'_>) -> Option<Bytes>;

    /// Returns whether the cache would accept a decoded chunk of `size` bytes now. If not, the chunk does not
    /// need to be decoded to separate memory.
    fn has_capacity(&self, chunk: &ChunkId<'_>, size: usize, start: ReadStart) -> bool;

    /// Inserts a decoded chunk, unless its value changed since `changes`. `decoded` must not share memory
    /// with anything else. Returns `false` if the cache does not have capacity for it.
    fn insert_chunk(
        &self,
        chunk: &ChunkId<'_>,
        decoded: Bytes,
        changes: ChangeCount,
        start: ReadStart,
    ) -> bool;
}

/// Identifies a decoded chunk.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ChunkId<'a> {
    /// The key of the value that holds the chunk.
    pub key: &'a Key,
    /// The number of the inner chunk in that value, in C order; 0 for a chunk that is not in a shard.
    pub number: u64,
    /// A text that identifies everything that the decoded bytes depend on, except the stored bytes. Chunks
    /// with different texts are different chunks.
    pub decoding: &'a Arc<str>,
}

impl<'a> ChunkId<'a> {
    /// Creates the id of chunk `number` of the value of `key`.
    #[must_use]
    pub const fn new(key: &'a Key, number: u64, decoding: &'a Arc<str>) -> Self {
        Self { key, number, decoding }
    }

    /// Returns the id of the same chunk under another key.
    #[must_use]
    pub const fn with_key<'b>(&self, key: &'b Key) -> ChunkId<'b>
    where
        'a: 'b,
    {
        ChunkId { key, number: self.number, decoding: self.decoding }
    }
}

/// The logical time at which a read began. The [`ChunkCache`] defines the unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReadStart(pub u64);

/// The number of times that a value changed, as far as a [`ChunkCache`] knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeCount(pub u64);
