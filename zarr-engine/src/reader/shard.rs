//! Shards: the index, then the inner chunks. An inner chunk may be a shard itself.

use std::iter;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use zarr_spec::host::pipeline::ShardPipeline;

use super::Read;
use super::cache::{CachedChunks, CachedValue};
use super::decode::Encoded;
use super::inner_chunks::{InnerChunk, ShardRequests, coalesced, range_of, split_parts};
use super::job::{
    Fetched, Job, OpenShard, Outcome, Outer, ShardRead, ShardValue, WholeValue, most_in_one_request,
};
use super::output::OutputState;
use super::requests::RequestedChunk;
use crate::error::Error;
use crate::pipeline::{ShardIndex, Stages, inner_index, part};
use crate::stored::CachedIndex;

impl<'r> Read<'r> {
    /// Starts to read the shard that is the value of a chunk: copies cached inner chunks, and returns the jobs for the
    /// others.
    pub(super) fn start_shard(
        &self,
        chunk: &RequestedChunk<'_, 'r>,
        shard: &Arc<ShardPipeline>,
        state: OutputState,
        cache: Option<&'r CachedChunks<'r>>,
    ) -> Result<(Arc<ShardValue<'r>>, Vec<Job<'r>>), Error> {
        let key = self.array.key(chunk.index);
        let cache = cache.map(|cache| Ok::<_, Error>(CachedValue::new(cache, key?))).transpose()?;
        let value = ShardValue::new(chunk.number, chunk.index, state, cache);
        let requests = ShardRequests::new(shard, chunk.requests)?;
        let needed = requests.inner_chunks(shard)?;
        let count = needed.len();
        let inner = self.put_cached_inner(&value, shard, &requests, needed, 0)?;
        let nothing_cached = inner.len() == count;
        let shard = Arc::clone(shard);
        let mut read = ShardRead {
            value: Arc::clone(&value),
            shard,
            requests,
            inner,
            nothing_cached,
            start: 0,
            first: 0,
            changes: None,
            outer: None,
        };
        if read.inner.is_empty() {
            return Ok((value, Vec::new()));
        }
        if let Some(index) = self.array.cached_index(&value.chunk) {
            let is_current = value.cache.as_ref().is_some_and(|cache| cache.has_now(&index));
            // A cached index that may be out of date is used only if it lists inner chunks as stored: the version of
            // the fetched bytes then shows whether it is current.
            if is_current || read.inner.iter().any(|chunk| index.index.range(chunk.position).is_some()) {
                return Ok((value, self.open(Arc::new(read), index, !is_current)?));
            }
        }
        read.changes = self.array.changes(&value.chunk)?;
        let whole = match self.array.is_far() {
            true => read.whole(self.array.resolved.store.read_hints(), self.array.budget().size()),
            false => None,
        };
        let shard = Arc::new(read);
        let job = match whole {
            Some(whole) => Job::Shard { shard, whole },
            None => Job::Index(shard),
        };
        Ok((value, vec![job]))
    }

    pub(super) fn next(&self, job: &Job<'r>, outcome: Outcome) -> Result<Vec<Job<'r>>, Error> {
        let (Job::Index(shard) | Job::Shard { shard, .. }) = job else {
            if let (Job::InnerChunks { shard, .. }, Outcome::Stale) = (job, outcome) {
                shard.read.value.set_stale();
            }
            return Ok(Vec::new());
        };
        match outcome {
            Outcome::Done => Ok(Vec::new()),
            Outcome::TooLarge => Ok(vec![Job::Index(Arc::clone(shard))]),
            Outcome::Index(Some(index)) => self.open(Arc::clone(shard), index, false),
            // Only if no inner chunk was cached: cached inner chunks would belong to a shard that was erased meanwhile.
            Outcome::Index(None) if shard.nothing_cached => {
                self.fill_chunk(shard.value.number, shard.value.state).map(|()| Vec::new())
            }
            Outcome::Index(None) | Outcome::Stale => {
                shard.value.set_stale();
                Ok(Vec::new())
            }
        }
    }

    /// Fills missing inner chunks, and returns the jobs for the others.
    fn open(
        &self,
        read: Arc<ShardRead<'r>>,
        index: Arc<CachedIndex>,
        is_cached: bool,
    ) -> Result<Vec<Job<'r>>, Error> {
        let Some(stored) = self.fill_missing(&read, &index, is_cached)? else {
            read.value.set_stale();
            return Ok(Vec::new());
        };
        let nested = read.shard.inner.shard().map(Arc::clone);
        let (stored, parts) = match nested {
            Some(_) => split_parts(stored, read.value.cache.is_some()),
            None => (stored, Vec::new()),
        };
        let is_whole = !stored.is_empty() && self.fetches_whole(&read, &index);
        let groups = if is_whole { iter::once(0..stored.len()).collect() } else { self.coalesced(&stored) };
        let shard = Arc::new(OpenShard { read, index, is_cached, stored, is_whole });
        let mut jobs = Vec::with_capacity(groups.len() + parts.len());
        for group in groups {
            jobs.push(Job::InnerChunks { shard: Arc::clone(&shard), group });
        }
        if let Some(nested) = nested {
            for part in parts {
                jobs.extend(self.start_inner_shard(&shard, &nested, &part)?);
            }
        }
        Ok(jobs)
    }

    /// Returns whether the whole value of a shard is fetched once, so that a cache of the store has its other inner chunks
    /// for later reads.
    fn fetches_whole(&self, read: &ShardRead<'r>, index: &CachedIndex) -> bool {
        let Some(cache) = &read.value.cache else { return false };
        let hints = self.array.resolved.store.read_hints();
        self.array.is_far()
            && hints.bytes_per_round_trip.is_some()
            && read.shard.inner.shard().is_none()
            && !read.is_inner()
            && index.size() <= most_in_one_request(hints, self.array.budget().size())
            && cache.has_capacity(index.size())
            && !index.set_retained()
    }

    fn coalesced(&self, stored: &[InnerChunk]) -> Vec<Range<usize>> {
        let gap = self.array.resolved.store.read_hints().coalesce_gap;
        coalesced(stored, gap, if self.array.is_far() { 1 } else { self.array.context().thread_count() })
    }

    /// Like [`Self::start_shard`], for an inner chunk that is a shard and only partially needed.
    fn start_inner_shard(
        &self,
        outer: &Arc<OpenShard<'r>>,
        shard: &Arc<ShardPipeline>,
        same: &[InnerChunk],
    ) -> Result<Vec<Job<'r>>, Error> {
        let InnerChunk { range: Some((offset, size)), position, .. } = same[0] else { return Ok(Vec::new()) };
        let OpenShard { read: outer_read, index: outer_index, is_cached, .. } = &**outer;
        let value = Arc::clone(&outer_read.value);
        let requests =
            outer_read.requests.with_requests(same, |requests| ShardRequests::new(shard, requests))?;
        let count: u64 = shard.grid_shape.iter().product();
        let first = (outer_read.first + position as u64) * count;
        let needed = requests.inner_chunks(shard)?;
        let inner = self.put_cached_inner(&value, shard, &requests, needed, first)?;
        if inner.is_empty() {
            return Ok(Vec::new());
        }
        let read = Arc::new(ShardRead {
            value,
            shard: Arc::clone(shard),
            requests,
            inner,
            nothing_cached: false,
            start: outer_read.start + offset,
            first,
            changes: None,
            outer: Some(Outer { shard: Arc::clone(outer), position, size }),
        });
        match outer_index.nested(position) {
            Some(index) => self.open(read, index, *is_cached),
            None => Ok(vec![Job::Index(read)]),
        }
    }

    pub(super) fn decode_index(
        &self,
        shard: &ShardRead<'r>,
        fetched: Fetched<'_>,
        stages: &mut Stages,
    ) -> Result<Outcome, Error> {
        let ShardValue { chunk, .. } = &*shard.value;
        let Some(outer) = &shard.outer else {
            let index = self.array.decode_index(chunk, &shard.shard, fetched, shard.changes, stages)?;
            return Ok(Outcome::Index(Some(index)));
        };
        let outer_index = &outer.shard.index;
        if !outer_index.is_of(fetched.value) {
            return Ok(Outcome::Stale);
        }
        let index = ShardIndex::parse(&shard.shard, fetched.bytes, outer.size, stages);
        let index = index.map_err(|error| self.array.chunk_error(chunk, error))?;
        let index = Arc::new(CachedIndex::new(index, fetched.value, None));
        self.array.cache_nested_index(chunk, outer_index, outer.position, Arc::clone(&index));
        Ok(Outcome::Index(Some(index)))
    }

    pub(super) fn decode_shard(
        &self,
        shard: &ShardRead<'r>,
        whole: WholeValue,
        fetched: Fetched<'_>,
        stages: &mut Stages,
    ) -> Result<Outcome, Error> {
        let Fetched { value, bytes } = fetched;
        let part =
            |range| part(bytes, range).map_err(|error| self.array.chunk_error(&shard.value.chunk, error));
        let range = ShardIndex::range_in_value(&shard.shard).within(bytes.len() as u64);
        let index = Fetched { value, bytes: part((range.start, range.end - range.start))? };
        let Outcome::Index(Some(index)) = self.decode_index(shard, index, stages)? else {
            return Ok(Outcome::Stale);
        };
        if whole.is_retained {
            index.set_retained();
        }
        let Some(stored) = self.fill_missing(shard, &index, false)? else { return Ok(Outcome::Stale) };
        self.decode_coalesced(shard, &stored, part(range_of(&stored))?, stages)?;
        Ok(Outcome::Done)
    }

    /// Decodes neighbouring inner chunks, given the bytes that contain them.
    pub(super) fn decode_inner_chunks(
        &self,
        shard: &OpenShard<'r>,
        group: &Range<usize>,
        fetched: Fetched<'_>,
        stages: &mut Stages,
    ) -> Result<Outcome, Error> {
        if !shard.index.is_of(fetched.value) {
            return Ok(Outcome::Stale);
        }
        self.decode_coalesced(&shard.read, &shard.stored[group.clone()], fetched.bytes, stages)?;
        Ok(Outcome::Done)
    }

    fn decode_coalesced(
        &self,
        shard: &ShardRead<'r>,
        group: &[InnerChunk],
        bytes: &[u8],
        stages: &mut Stages,
    ) -> Result<(), Error> {
        let ShardValue { chunk, cache, .. } = &*shard.value;
        let (start, _) = range_of(group);
        for same in group.chunk_by(|a, b| a.range == b.range) {
            let (offset, size) = same[0].range.unwrap_or((start, 0));
            let encoded =
                part(bytes, (offset - start, size)).map_err(|error| self.array.chunk_error(chunk, error));
            let number = shard.first + same[0].position as u64;
            let cache = cache.as_ref().map(|cache| (cache, number));
            let decoded = encoded.and_then(|bytes| {
                shard.requests.with_requests(same, |requests| {
                    let pipeline = &*shard.shard.inner;
                    self.array.decode(&Encoded { chunk, pipeline, bytes, requests, cache }, stages)
                })
            });
            decoded.map_err(|error| error.in_inner_chunk(|| inner_index(&shard.shard, same[0].position)))?;
        }
        Ok(())
    }

    /// Fills missing inner chunks, and returns the others sorted by their ranges. Returns `None` if they are missing
    /// only according to a cached index, which may be out of date.
    fn fill_missing(
        &self,
        shard: &ShardRead<'r>,
        index: &CachedIndex,
        is_cached: bool,
    ) -> Result<Option<Vec<InnerChunk>>, Error> {
        let mut inner = shard.inner.clone();
        for chunk in &mut inner {
            chunk.range = index.index.range(chunk.position);
        }
        // Missing inner chunks are sorted to the end.
        inner.sort_by_key(|chunk| (chunk.range.is_none(), chunk.range, chunk.position));
        let stored = inner.partition_point(|chunk| chunk.range.is_some());
        // Fetched bytes show whether the index is current. Cached inner chunks of inner shards are not fetched.
        let is_checked = stored > 0 && (shard.shard.inner.shard().is_none() || shard.value.cache.is_none());
        if is_cached && stored < inner.len() && !is_checked {
            return Ok(None);
        }
        for chunk in inner.split_off(stored) {
            let ShardValue { chunk: index, state, .. } = &*shard.value;
            shard.requests.with_requests(&[chunk], |requests| self.array.fill(index, requests, *state))?;
        }
        Ok(Some(inner))
    }

    /// Copies cached inner chunks to the output, and returns the others. Inner chunks that are shards are not cached.
    fn put_cached_inner(
        &self,
        value: &ShardValue<'r>,
        shard: &ShardPipeline,
        requests: &ShardRequests<'r>,
        mut inner: Vec<InnerChunk>,
        first: u64,
    ) -> Result<Vec<InnerChunk>, Error> {
        let Some(cache) = value.cache.as_ref().filter(|_| shard.inner.shard().is_none()) else {
            return Ok(inner);
        };
        inner.sort_by_key(|chunk| chunk.position);
        let mut found = Vec::new();
        let mut others = Vec::new();
        for same in inner.chunk_by(|a, b| a.position == b.position) {
            match cache.find(first + same[0].position as u64) {
                Some(decoded) => found.push((same, decoded)),
                None => others.extend_from_slice(same),
            }
        }
        self.put_found(&value.chunk, shard, requests, &found)?;
        Ok(others)
    }

    fn put_found(
        &self,
        chunk: &[u64],
        shard: &ShardPipeline,
        requests: &ShardRequests<'r>,
        found: &[(&[InnerChunk], Bytes)],
    ) -> Result<(), Error> {
        let decoded = found.iter().map(|(_, decoded)| decoded.len()).fold(0, usize::saturating_add);
        // Only requested elements are copied, at most as many bytes as the outputs have.
        let outputs = requests.output_size();
        self.array.for_each(found.len(), decoded.min(outputs), |number| {
            let (same, decoded) = &found[number];
            requests.with_requests(same, |requests| self.array.put(chunk, &shard.inner, decoded, requests))
        })
    }

    /// Copies the requested elements of a shard if all needed inner chunks are cached; otherwise copies nothing.
    pub(super) fn put_shard_if_cached(
        &self,
        chunk: &RequestedChunk<'_, 'r>,
        shard: &Arc<ShardPipeline>,
        cache: &CachedValue<'r>,
    ) -> Result<bool, Error> {
        if shard.inner.shard().is_some() {
            return Ok(false);
        }
        let requests = ShardRequests::new(shard, chunk.requests)?;
        let mut inner = requests.inner_chunks(shard)?;
        inner.sort_by_key(|chunk| chunk.position);
        let same = inner.chunk_by(|a, b| a.position == b.position);
        let found = same.map(|same| Some((same, cache.find(same[0].position as u64)?)));
        let Some(found) = found.collect::<Option<Vec<_>>>() else { return Ok(false) };
        self.put_found(chunk.index, shard, &requests, &found)?;
        if !cache.is_of_one_state() {
            self.shard(chunk, shard, OutputState::Written, None)?;
        }
        Ok(true)
    }
}
