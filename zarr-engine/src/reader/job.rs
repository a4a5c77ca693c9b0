//! Jobs: the unit of fetching and decoding.

use std::ops::Range;
use std::sync::Arc;

use zarr_spec::store::GetResult;

use super::inner_chunks::range_of;
use super::shard::{OpenShard, ShardRead};
use crate::stored::CachedIndex;

/// Bytes to fetch from the value of a chunk, what they are, and where their elements go.
pub(super) enum Job<'r> {
    /// The value of a chunk that is not a shard: the number of the chunk in the read.
    Chunk(usize),
    /// The index of a shard. Yields jobs for inner chunks.
    Index(Arc<ShardRead<'r>>),
    /// The whole value of a small shard.
    Shard { shard: Arc<ShardRead<'r>>, expected_size: usize },
    /// Neighbouring inner chunks, which one byte range contains.
    InnerChunks { shard: Arc<OpenShard<'r>>, group: Range<usize> },
}

/// Bytes that were fetched for a job.
#[derive(Clone, Copy)]
pub(super) struct Fetched<'f> {
    /// The response of the store, with the version and the size of the whole value.
    pub(super) value: &'f GetResult,
    pub(super) bytes: &'f [u8],
}

/// The result of a job.
pub(super) enum Outcome {
    /// The elements are in the output.
    Done,
    /// The value has changed, or is larger than expected: its chunk must be read again.
    Stale,
    /// The index of a shard; `None` if the shard is missing.
    Index(Option<Arc<CachedIndex>>),
    /// The shard is larger than expected: its index is needed.
    TooLarge,
}

impl Job<'_> {
    /// The number of the chunk in the read.
    pub(super) fn chunk(&self) -> usize {
        match self {
            Self::Chunk(number) => *number,
            Self::Index(shard) | Self::Shard { shard, .. } => shard.value.number,
            Self::InnerChunks { shard, .. } => shard.read.value.number,
        }
    }

    /// The size of the decoded elements in bytes; an upper bound where it depends on the elements.
    pub(super) fn decoded_size(&self) -> usize {
        match self {
            Self::Chunk(_) => usize::MAX,
            Self::Index(shard) | Self::Shard { shard, .. } => shard.decoded_size(shard.inner.len()),
            Self::InnerChunks { shard, group } => shard.read.decoded_size(group.len()),
        }
    }

    /// Offset and size of the bytes of inner chunks, in the value.
    pub(super) fn range(shard: &OpenShard<'_>, group: &Range<usize>) -> (u64, u64) {
        let (offset, size) = range_of(&shard.stored[group.clone()]);
        (shard.read.start + offset, size)
    }
}
