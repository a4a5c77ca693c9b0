//! Jobs: the units of fetching and decoding.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use zarr_spec::ByteRange;
use zarr_spec::host::pipeline::ShardPipeline;
use zarr_spec::store::cache::ChangeCount;
use zarr_spec::store::{GetResult, ReadHints};

use super::cache::CachedValue;
use super::decode::exact_size;
use super::inner_chunks::{InnerChunk, ShardRequests, range_of};
use super::output::{ChunkRequest, OutputState};
use crate::error::Error;
use crate::pipeline::ShardIndex;
use crate::stored::CachedIndex;

/// Maximum size in bytes of small shards, decoded and with their indexes. They are fetched in one request if all of
/// their inner chunks are needed.
const SMALL_SHARD: u64 = 2 << 20;

/// Maximum size in bytes of a shard that is fetched in one request.
const LARGEST_SHARD: u64 = 16 << 20;

/// Larger shards are fetched in one request if they arrive within this number of round trips. Reading the index and
/// then the inner chunks takes two round trips. The time of two more costs little, because other requests are in flight
/// meanwhile.
const ROUND_TRIPS: u64 = 4;

/// A shard is fetched whole if the inner chunks that are not needed take at most the size of the shard divided by this
/// number. Fetching them costs less than a separate request for the index.
const SUPERFLUOUS: u64 = 10;

/// The expected size of a compressed value is its decoded size divided by this number, because compression is often at
/// least this good. A smaller expected size allows more requests in flight. Larger values are still fetched completely,
/// and then fewer requests are in flight.
pub(super) const COMPRESSION: u64 = 2;

/// How a shard is fetched in one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WholeValue {
    pub(super) expected_size: u64,
    /// Whether the cache of the store retains the value for later reads of other inner chunks.
    pub(super) is_retained: bool,
}

/// Bytes to fetch from the value of a chunk, how to decode them, and where their elements go.
pub(super) enum Job<'r> {
    /// The value of a chunk that is not a shard: the number of the chunk in the read.
    Chunk(usize),
    /// The byte range of a chunk that contains the requested elements, if its codec decodes subsets.
    Part { number: usize, range: Range<u64> },
    /// The index of a shard. Yields jobs for inner chunks.
    Index(Arc<ShardRead<'r>>),
    /// The whole value of a shard.
    Shard { shard: Arc<ShardRead<'r>>, whole: WholeValue },
    /// Neighbouring inner chunks, contained in one byte range.
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

/// The stored value that a shard, and the shards inside of it, are read from.
pub(super) struct ShardValue<'r> {
    /// The number of the chunk in the read.
    pub(super) number: usize,
    /// The chunk index.
    pub(super) chunk: Vec<u64>,
    pub(super) cache: Option<CachedValue<'r>>,
    pub(super) state: OutputState,
    /// Whether everything that was fetched belongs to the value that the index describes.
    is_current: AtomicBool,
}

/// A shard to read: the value of a chunk, or an inner chunk.
pub(super) struct ShardRead<'r> {
    pub(super) value: Arc<ShardValue<'r>>,
    pub(super) shard: Arc<ShardPipeline>,
    pub(super) requests: ShardRequests<'r>,
    /// The needed inner chunks that are not cached.
    pub(super) inner: Vec<InnerChunk>,
    /// Whether all needed inner chunks are in `inner`.
    pub(super) nothing_cached: bool,
    /// The offset of the shard in the value.
    pub(super) start: u64,
    /// The position of the first inner chunk of this shard among all innermost chunks of the value.
    pub(super) first: u64,
    /// The change count of the value before its index is fetched, if the store counts changes.
    pub(super) changes: Option<ChangeCount>,
    /// The enclosing shard, if this one is an inner chunk.
    pub(super) outer: Option<Outer<'r>>,
}

/// An inner chunk that is a shard.
pub(super) struct Outer<'r> {
    pub(super) shard: Arc<OpenShard<'r>>,
    pub(super) position: usize,
    /// The size of the inner chunk in bytes.
    pub(super) size: u64,
}

/// A shard with its index.
pub(super) struct OpenShard<'r> {
    pub(super) read: Arc<ShardRead<'r>>,
    pub(super) index: Arc<CachedIndex>,
    /// Whether the index is from an earlier read, so that it may be out of date. Such an index is used only if it lists
    /// inner chunks to fetch: the version of the fetched bytes shows whether the index is current.
    pub(super) is_cached: bool,
    /// The inner chunks to fetch, sorted by their ranges.
    pub(super) stored: Vec<InnerChunk>,
    /// Whether the whole value is fetched instead of single inner chunks, so that the cache of the store has all of it.
    pub(super) is_whole: bool,
}

impl Job<'_> {
    /// Returns the number of the chunk in the read.
    pub(super) fn chunk(&self) -> usize {
        match self {
            Self::Chunk(number) | Self::Part { number, .. } => *number,
            Self::Index(shard) | Self::Shard { shard, .. } => shard.value.number,
            Self::InnerChunks { shard, .. } => shard.read.value.number,
        }
    }

    /// Returns the size of the decoded elements in bytes; an upper bound if it depends on the elements.
    pub(super) fn decoded_size(&self) -> usize {
        match self {
            Self::Chunk(_) | Self::Part { .. } => usize::MAX,
            Self::Index(shard) | Self::Shard { shard, .. } => shard.decoded_size(shard.inner.len()),
            Self::InnerChunks { shard, group } => shard.read.decoded_size(group.len()),
        }
    }

    /// Returns the offset and size of the bytes of inner chunks in the value.
    pub(super) fn range(shard: &OpenShard<'_>, group: &Range<usize>) -> (u64, u64) {
        let (offset, size) = range_of(&shard.stored[group.clone()]);
        (shard.read.start + offset, size)
    }
}

impl<'r> ShardValue<'r> {
    pub(super) fn new(
        number: usize,
        chunk: &[u64],
        state: OutputState,
        cache: Option<CachedValue<'r>>,
    ) -> Arc<Self> {
        Arc::new(Self { number, chunk: chunk.to_vec(), cache, state, is_current: AtomicBool::new(true) })
    }

    /// Records that the value has changed.
    pub(super) fn set_stale(&self) {
        self.is_current.store(false, Ordering::Relaxed);
    }

    /// Returns whether everything that was read belongs to one state of the value.
    pub(super) fn is_of_one_state(&self) -> bool {
        self.is_current.load(Ordering::Relaxed)
            && self.cache.as_ref().is_none_or(CachedValue::is_of_one_state)
    }
}

impl ShardRead<'_> {
    /// Returns an upper bound of the size of decoded inner chunks in bytes.
    pub(super) fn decoded_size(&self, count: usize) -> usize {
        let chunk_size = self.shard.inner.array.size().limit().and_then(|size| usize::try_from(size).ok());
        count.saturating_mul(chunk_size.unwrap_or(usize::MAX))
    }

    /// Returns how to fetch the value in one request, if that is faster than its index and then its inner chunks.
    /// `memory` is the size of the memory budget.
    pub(super) fn whole(&self, hints: ReadHints, memory: u64) -> Option<WholeValue> {
        let Self { shard, value, .. } = self;
        if shard.inner.shard().is_some() {
            return None;
        }
        let decoded_size = shard.array.size().limit()?.checked_add(shard.index_size)?;
        let compression = if exact_size(&shard.inner).is_some() { 1 } else { COMPRESSION };
        let expected_size = decoded_size / compression;
        let count: u64 = shard.grid_shape.iter().product();
        let others = count.checked_sub(self.needed_count())?;
        let not_needed = expected_size.checked_div(count)?.checked_mul(others)?;
        let most = most_in_one_request(hints, memory);
        if not_needed <= hints.coalesce_gap.max(expected_size / SUPERFLUOUS) {
            let is_one = decoded_size <= SMALL_SHARD || expected_size <= most;
            return is_one.then_some(WholeValue { expected_size, is_retained: false });
        }
        let is_retained = hints.bytes_per_round_trip.is_some()
            && expected_size <= most
            && value.cache.as_ref().is_some_and(|cache| cache.has_capacity(expected_size));
        is_retained.then_some(WholeValue { expected_size, is_retained })
    }

    /// Returns the number of inner chunks that some request needs.
    fn needed_count(&self) -> u64 {
        let mut positions: Vec<_> = self.inner.iter().map(|chunk| chunk.position).collect();
        positions.sort_unstable();
        positions.dedup();
        positions.len() as u64
    }

    /// Returns the byte range of the index in the value.
    pub(super) fn index_range(&self) -> ByteRange {
        let range = ShardIndex::range_in_value(&self.shard);
        let Some(outer) = &self.outer else { return range };
        let range = range.within(outer.size);
        ByteRange::Range { offset: self.start + range.start, size: range.end - range.start }
    }

    /// Returns whether the shard is an inner chunk of another shard.
    pub(super) fn is_inner(&self) -> bool {
        self.outer.is_some()
    }
}

/// Returns the largest size in bytes of a shard that is fetched in one request, given the size of the memory budget.
pub(super) fn most_in_one_request(hints: ReadHints, memory: u64) -> u64 {
    let measured = hints.bytes_per_round_trip.map(|bytes| bytes.saturating_mul(ROUND_TRIPS));
    measured.unwrap_or(u64::MAX).min(LARGEST_SHARD).min(memory / 8)
}

impl<'r> OpenShard<'r> {
    /// Calls `work` with the requests for the only inner chunk of a group, or with an empty list if the group has
    /// several inner chunks.
    pub(super) fn with_requests<R>(
        &self,
        group: &Range<usize>,
        work: impl FnOnce(&[ChunkRequest<'_, 'r>]) -> R,
    ) -> Result<R, Error> {
        match &self.stored[group.clone()] {
            same @ [_] => self.read.requests.with_requests(same, |requests| Ok(work(requests))),
            _ => Ok(work(&[])),
        }
    }
}
