//! Fetches one job at a time, on the thread that decodes it.

use std::mem;
use std::ops::Range;
use std::sync::Arc;

use zarr_spec::ByteRange;
use zarr_spec::host::pipeline::{Pipeline, ShardPipeline};
use zarr_spec::store::cache::ChangeCount;

use super::Read;
use super::cache::{CachedChunks, CachedValue, Claimed, WHOLE};
use super::decode::{Encoded, decoded_size, exact_size};
use super::job::{Fetched, Job, OpenShard, Outcome, ShardRead};
use super::output::{ChunkRequest, OutputState};
use super::part::SubsetPart;
use super::requests::RequestedChunk;
use super::subset::SubsetRead;
use crate::error::Error;
use crate::needs;
use crate::pipeline::ShardIndex;
use crate::pipeline::Stages;
use crate::stored::{Allowance, CachedIndex, Needing, StoredArray};

/// Maximum size in bytes of chunks that are not checked for direct decoding to the output.
const SMALL: u64 = 256 << 10;

impl<'r> Read<'r> {
    /// Fetches and decodes one job.
    pub(super) fn fetch(&self, job: &Job<'r>) -> Result<Outcome, Error> {
        match job {
            Job::Chunk(number) | Job::Part { number, .. } => {
                self.chunk(*number, OutputState::Fresh, self.cache).map(|()| Outcome::Done)
            }
            Job::Index(shard) | Job::Shard { shard, .. } => self.fetch_index(shard),
            Job::InnerChunks { shard, group } => self.fetch_inner_chunks(shard, group),
        }
    }

    fn fetch_index(&self, shard: &ShardRead<'r>) -> Result<Outcome, Error> {
        let chunk = &shard.value.chunk;
        self.array.with_index_bytes(chunk, &shard.shard, shard.index_range(), |fetched, stages| match fetched
        {
            Some(fetched) => self.decode_index(shard, fetched, stages),
            None if shard.is_inner() => Ok(Outcome::Stale),
            None => Ok(Outcome::Index(None)),
        })
    }

    fn fetch_inner_chunks(&self, shard: &OpenShard<'r>, group: &Range<usize>) -> Result<Outcome, Error> {
        let (offset, size) = Job::range(shard, group);
        let chunk = &shard.read.value.chunk;
        let pipeline = &*shard.read.shard.inner;
        let need = |allowance| {
            let need = shard
                .with_requests(group, |requests| self.array.need_of_decoding(pipeline, requests, allowance));
            need.unwrap_or(u64::MAX)
        };
        let needing = Needing { chunk, pipeline, encoded: Some(size) };
        self.array.with_memory(needing, need, |scratch, _| {
            let mut output = scratch.encoded.output(self.array.value_limit(Some(size)));
            let got = self.array.get_once(chunk, ByteRange::Range { offset, size }, &mut output)?;
            let Some(got) = got else { return Ok(Outcome::Stale) };
            let fetched = Fetched { value: &got, bytes: got.bytes(&output) };
            self.decode_inner_chunks(shard, group, fetched, &mut scratch.stages)
        })
    }

    /// Reads a chunk that is not a shard, from the cache if it is cached.
    pub(super) fn fetch_chunk(
        &self,
        chunk: &RequestedChunk<'_, 'r>,
        pipeline: &Pipeline,
        state: OutputState,
        cache: Option<&'r CachedChunks<'r>>,
    ) -> Result<(), Error> {
        let array = self.array;
        let RequestedChunk { index, requests, .. } = *chunk;
        let key = cache.map(|_| array.key(index)).transpose()?;
        let cache = cache.zip(key).map(|(cache, key)| CachedValue::new(cache, key));
        let cache = cache.as_ref();
        if let Some(decoded) = cache.and_then(|cache| cache.find(WHOLE)) {
            return array.put(index, pipeline, &decoded, requests);
        }
        if state == OutputState::Fresh
            && self.reads_raw(pipeline, cache)
            && let [request] = requests
            && let Some(strided_box) = request.piece.only()
        {
            return array.read_raw(index, pipeline, *request, &strided_box);
        }
        let mut state = state;
        if let Some(part) = SubsetPart::of(pipeline, requests).filter(|_| !is_cached_whole(pipeline, cache)) {
            match array.read_subset(chunk, pipeline, &part)? {
                SubsetRead::Done => return Ok(()),
                SubsetRead::Missing => return array.fill(index, requests, state),
                SubsetRead::Whole => {}
            }
        }
        let needing = Needing { chunk: index, pipeline, encoded: exact_size(pipeline) };
        let need = |allowance: Allowance| match allowance.encoded {
            // The chunk is missing: nothing is decoded.
            0 => 0,
            _ => array.need_of_decoding(pipeline, requests, allowance),
        };
        // Memory is acquired before the claim of a chunk: a thread that holds a claim does not wait for memory.
        let read = array.with_memory(needing, need, |scratch, allowance| {
            let claimed = cache.map(|cache| array.find_or_claim(cache, WHOLE));
            if let Some(Claimed::Cached(decoded)) = &claimed {
                return array.put(index, pipeline, decoded, requests);
            }
            let mut output = scratch.encoded.output(array.value_limit(Some(allowance.encoded)));
            let state = mem::replace(&mut state, OutputState::Written);
            let Some(got) = array.get_once(index, ByteRange::Full, &mut output)? else {
                return array.fill(index, requests, state);
            };
            let bytes = got.bytes(&output);
            let cache = cache.map(|cache| (cache, WHOLE));
            array.decode(&Encoded { chunk: index, pipeline, bytes, requests, cache }, &mut scratch.stages)
        });
        match read {
            // The size of the value was not requested from the store, because the codecs fix it. A missing chunk needs
            // no memory.
            Err(Error::OverBudget { .. }) if array.stored_size(index)?.is_none() => {
                array.fill(index, requests, state)
            }
            read => read,
        }
    }

    /// Returns whether uncompressed elements are copied from byte ranges of the value, without a buffer for the whole
    /// chunk.
    fn reads_raw(&self, pipeline: &Pipeline, cache: Option<&CachedValue<'_>>) -> bool {
        // In a remote store, each byte range is a round trip, so byte ranges are used only if the budget is too small
        // for the chunk.
        let fits = exact_size(pipeline).is_none_or(|size| size <= self.array.budget().size());
        let is_raw = pipeline.steps.is_empty() && !(self.array.is_far() && fits);
        is_raw && !is_cached_whole(pipeline, cache)
    }

    /// Fills the requested elements of a missing chunk.
    pub(super) fn fill_chunk(&self, number: usize, state: OutputState) -> Result<(), Error> {
        self.chunks.with_chunk(number, |chunk| self.array.fill(chunk.index, chunk.requests, state))
    }
}

/// Returns whether the cache would accept the decoded chunk, which is then read as a whole.
pub(super) fn is_cached_whole(pipeline: &Pipeline, cache: Option<&CachedValue<'_>>) -> bool {
    cache.is_some_and(|cache| decoded_size(pipeline).is_none_or(|size| cache.takes(WHOLE, size)))
}

impl StoredArray {
    /// Fetches and caches the index of the shard at `chunk`; `None` if the shard is missing.
    pub(crate) fn shard_index(
        &self,
        chunk: &[u64],
        shard: &ShardPipeline,
    ) -> Result<Option<Arc<CachedIndex>>, Error> {
        let changes = self.changes(chunk)?;
        self.with_index_bytes(chunk, shard, ShardIndex::range_in_value(shard), |fetched, stages| {
            fetched.map(|fetched| self.decode_index(chunk, shard, fetched, changes, stages)).transpose()
        })
    }

    /// Decodes and caches the index of the shard at `chunk`. `changes` is the change count of the shard before the
    /// index was fetched.
    pub(super) fn decode_index(
        &self,
        chunk: &[u64],
        shard: &ShardPipeline,
        fetched: Fetched<'_>,
        changes: Option<ChangeCount>,
        stages: &mut Stages,
    ) -> Result<Arc<CachedIndex>, Error> {
        let Fetched { value, bytes } = fetched;
        let index = ShardIndex::parse(shard, bytes, value.size, stages);
        let index = index.map_err(|error| self.chunk_error(chunk, error))?;
        let index = Arc::new(CachedIndex::new(index, value, changes));
        self.cache_index(chunk, Arc::clone(&index));
        Ok(index)
    }

    /// Calls `work` with the encoded index of a shard, if the shard exists.
    fn with_index_bytes<R>(
        &self,
        chunk: &[u64],
        shard: &ShardPipeline,
        range: ByteRange,
        work: impl FnOnce(Option<Fetched<'_>>, &mut Stages) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let need = needs::of_index(shard);
        self.check_need(chunk, need)?;
        self.budget().with_scratch(need, |scratch| {
            let mut output = scratch.encoded.output(self.value_limit(Some(shard.index_size)));
            let got = self.get(chunk, range, &mut output)?;
            let fetched = got.as_ref().map(|value| Fetched { value, bytes: value.bytes(&output) });
            work(fetched, &mut scratch.stages)
        })
    }

    /// Returns the memory in bytes for decoding a chunk, including its encoded value.
    pub(super) fn need_of_decoding(
        &self,
        pipeline: &Pipeline,
        requests: &[ChunkRequest<'_, '_>],
        allowance: Allowance,
    ) -> u64 {
        let need = |is_direct| {
            needs::decoding(pipeline, is_direct, allowance.unknown).saturating_add(allowance.encoded)
        };
        let whole = need(false);
        match requests {
            [request] if whole > SMALL && request.is_one_run(pipeline) => need(true),
            _ => whole,
        }
    }
}
