//! Shards: the index, then the inner chunks that are concerned. An inner chunk may be a shard itself.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use zarr_spec::ByteRange;
use zarr_spec::host::pipeline::ShardPipeline;
use zarr_spec::store::GetResult;
use zarr_spec::store::cache::ChangeCount;

use super::cache::CachedValue;
use super::cells::contents;
use super::region::{ChunkRequest, OutputState};
use crate::array::{ArrayInner, CachedIndex, Needing};
use crate::error::Error;
use crate::needs;
use crate::pipeline::{Stages, StepError};
use crate::plan::Plan;
use crate::shape::position;
use crate::shard::{ShardIndex, inner_axes, inner_index, part};

/// Ranges of a shard are joined to requests of at most so many bytes, unless one alone is larger.
const JOINED: u64 = 1 << 20;

/// Where several threads share the work, they have at least so many bytes.
const JOINED_AT_LEAST: u64 = 128 << 10;

/// Attempts to read a shard that changes between its index and its inner chunks. A thread may be interrupted between the
/// two, so that a busy machine with a fast writer needs several.
const ATTEMPTS: usize = 20;

/// A shard whose index is known: the value of a chunk, or an inner chunk.
#[derive(Clone, Copy)]
pub(super) struct IndexedShard<'s> {
    /// The chunk in whose value it is.
    pub(super) cell: &'s [u64],
    pub(super) shard: &'s ShardPipeline,
    pub(super) index: &'s CachedIndex,
    /// Whether the index is of an earlier read, and perhaps not current. It is only believed when it says that
    /// something is stored, and the value then has the version that it had.
    pub(super) is_cached: bool,
    /// Where the shard begins in the value.
    pub(super) start: u64,
    /// The number of its first inner chunk, among all those of the value that are no shards themselves.
    pub(super) first: u64,
    pub(super) state: OutputState,
    pub(super) cache: Option<&'s CachedValue<'s>>,
}

/// What is wanted of a shard, as plans of its inner chunks.
pub(super) struct ShardRequest<'w, 'a> {
    pub(super) requests: &'w [ChunkRequest<'w, 'a>],
    /// For each of them, in the order of the dimensions of the shard.
    strides: Vec<Vec<usize>>,
    plans: Vec<Plan<'w>>,
}

/// An inner chunk that one of the wants needs.
#[derive(Clone, Copy)]
pub(super) struct InnerChunk {
    /// Offset and size in the shard.
    range: Option<(u64, u64)>,
    pub(super) position: usize,
    request: usize,
    piece: usize,
    is_whole: bool,
}

impl ArrayInner {
    /// Reads what is wanted of the shard at `cell`.
    pub(super) fn read_shard(
        &self,
        cell: &[u64],
        shard: &ShardPipeline,
        requests: &[ChunkRequest<'_, '_>],
        state: OutputState,
        cache: Option<&CachedValue<'_>>,
    ) -> Result<(), Error> {
        let mut cache = cache;
        let mut state = state;
        for _ in 0..ATTEMPTS {
            if self.try_shard(cell, shard, requests, state, cache)? {
                return Ok(());
            }
            self.forget_index(cell);
            // Cached chunks may be of another state than the stored value.
            (cache, state) = (None, OutputState::Written);
        }
        Err(self.chunk_error(cell, StepError::chunk("the shard changes faster than it can be read")))
    }

    /// Whether all that was read is of one state of the value.
    fn try_shard(
        &self,
        cell: &[u64],
        shard: &ShardPipeline,
        requests: &[ChunkRequest<'_, '_>],
        state: OutputState,
        cache: Option<&CachedValue<'_>>,
    ) -> Result<bool, Error> {
        let shard_request = ShardRequest::new(shard, requests)?;
        let all = shard_request.inner_chunks(shard)?;
        let count = all.len();
        let inner = self.put_cached(cell, shard, &shard_request, all, cache.map(|cache| (cache, 0)))?;
        let is_current = if inner.is_empty() {
            true
        } else {
            let index = self.cached_index(cell);
            let is_current = |index: &CachedIndex| cache.is_some_and(|cache| cache.has_now(index));
            let is_cached = index.as_deref().is_some_and(|index| !is_current(index));
            let index = if index.is_some() { index } else { self.fetch_index(cell, shard)? };
            let Some(index) = index else {
                let is_current = inner.len() == count;
                return if is_current { self.fill(cell, requests, state).map(|()| true) } else { Ok(false) };
            };
            let open =
                IndexedShard { cell, shard, index: &index, is_cached, start: 0, first: 0, state, cache };
            self.read_open_shard(open, &shard_request, inner)?
        };
        Ok(is_current && cache.is_none_or(CachedValue::is_of_one_state))
    }

    /// Puts out the inner chunks that are kept, each decoded, and returns the others. Those that are shards themselves
    /// never are.
    pub(super) fn put_cached(
        &self,
        cell: &[u64],
        shard: &ShardPipeline,
        shard_request: &ShardRequest<'_, '_>,
        mut inner: Vec<InnerChunk>,
        cache: Option<(&CachedValue<'_>, u64)>,
    ) -> Result<Vec<InnerChunk>, Error> {
        let Some((cache, first)) = cache.filter(|_| shard.inner.shard().is_none()) else { return Ok(inner) };
        inner.sort_by_key(|chunk| chunk.position);
        let mut found = Vec::new();
        let mut others = Vec::new();
        for same in inner.chunk_by(|a, b| a.position == b.position) {
            match cache.find(first + same[0].position as u64) {
                Some(decoded) => found.push((same, decoded)),
                None => others.extend_from_slice(same),
            }
        }
        self.put_found(cell, shard, shard_request, &found)?;
        Ok(others)
    }

    /// Puts out decoded inner chunks.
    fn put_found(
        &self,
        cell: &[u64],
        shard: &ShardPipeline,
        shard_request: &ShardRequest<'_, '_>,
        found: &[(&[InnerChunk], Bytes)],
    ) -> Result<(), Error> {
        let decoded = found.iter().map(|(_, decoded)| decoded.len()).fold(0, usize::saturating_add);
        // No more is copied than there are outputs for.
        let wanted =
            shard_request.requests.iter().map(|request| request.region.size).fold(0, usize::saturating_add);
        self.for_each(found.len(), decoded.min(wanted), |number| {
            let (same, decoded) = &found[number];
            shard_request.with_requests(same, |requests| self.put(cell, &shard.inner, decoded, requests))
        })
    }

    /// Copies the requested parts of a shard if all of its requested inner chunks are cached; otherwise copies nothing.
    pub(super) fn put_shard_if_cached(
        &self,
        cell: &[u64],
        shard: &ShardPipeline,
        requests: &[ChunkRequest<'_, '_>],
        cache: &CachedValue<'_>,
    ) -> Result<bool, Error> {
        if shard.inner.shard().is_some() {
            return Ok(false);
        }
        let shard_request = ShardRequest::new(shard, requests)?;
        let mut inner = shard_request.inner_chunks(shard)?;
        inner.sort_by_key(|chunk| chunk.position);
        let same = inner.chunk_by(|a, b| a.position == b.position);
        let found = same.map(|same| Some((same, cache.find(same[0].position as u64)?)));
        let Some(found) = found.collect::<Option<Vec<_>>>() else { return Ok(false) };
        self.put_found(cell, shard, &shard_request, &found)?;
        if !cache.is_of_one_state() {
            self.read_shard(cell, shard, requests, OutputState::Written, None)?;
        }
        Ok(true)
    }

    /// Reads the index of the shard at `cell`, and keeps it; `None` if the shard is not stored.
    pub(crate) fn fetch_index(
        &self,
        cell: &[u64],
        shard: &ShardPipeline,
    ) -> Result<Option<Arc<CachedIndex>>, Error> {
        let changes = self.changes(cell)?;
        let need = needs::of_index(shard);
        self.check_need(cell, need)?;
        self.budget().with_scratch(need, |scratch| {
            let mut output = scratch.encoded.output(self.value_limit(Some(shard.index_size)));
            let Some(got) = self.get(cell, ShardIndex::range_in_value(shard), &mut output)? else {
                return Ok(None);
            };
            let bytes = contents(&got, output.written());
            self.parse_index(cell, shard, (&got, bytes), changes, &mut scratch.stages).map(Some)
        })
    }

    /// The index in what was got of the shard at `cell`, which had so many `changes` before. Keeps it.
    pub(super) fn parse_index(
        &self,
        cell: &[u64],
        shard: &ShardPipeline,
        (got, bytes): (&GetResult, &[u8]),
        changes: Option<ChangeCount>,
        stages: &mut Stages,
    ) -> Result<Arc<CachedIndex>, Error> {
        let index = ShardIndex::parse(shard, bytes, got.size, stages);
        let index = index.map_err(|error| self.chunk_error(cell, error))?;
        let index = Arc::new(CachedIndex::new(index, got, changes));
        self.cache_index(cell, Arc::clone(&index));
        Ok(index)
    }

    /// Whether the value was still the one that the index is of.
    fn read_open_shard(
        &self,
        open: IndexedShard<'_>,
        shard_request: &ShardRequest<'_, '_>,
        inner: Vec<InnerChunk>,
    ) -> Result<bool, Error> {
        let Some(inner) = self.fill_missing(open, shard_request, inner)? else { return Ok(false) };
        let total = open.decoded_size(&inner);
        let (inner, are_current) = self.read_nested_parts(open, shard_request, inner)?;
        let is_current = AtomicBool::new(are_current);
        let groups =
            joined(&inner, self.resolved.store.read_hints().coalesce_gap, self.context().thread_count());
        self.for_each(groups.len(), total, |number| {
            let still = self.read_joined(open, shard_request, &inner[groups[number].clone()])?;
            is_current.fetch_and(still, Ordering::Relaxed);
            Ok(())
        })?;
        Ok(is_current.into_inner())
    }

    /// Fills the inner chunks that are not stored, and returns the others in the order in which they are stored. `None`
    /// if only the index says that some are not, and it may be old.
    pub(super) fn fill_missing(
        &self,
        open: IndexedShard<'_>,
        shard_request: &ShardRequest<'_, '_>,
        mut inner: Vec<InnerChunk>,
    ) -> Result<Option<Vec<InnerChunk>>, Error> {
        for chunk in &mut inner {
            chunk.range = open.index.index.range(chunk.position);
        }
        // In the order in which they are stored; those that are not stored come last.
        inner.sort_by_key(|chunk| (chunk.range.is_none(), chunk.range, chunk.position));
        let stored = inner.partition_point(|chunk| chunk.range.is_some());
        // What is stored tells whether the index is current when it is fetched, and what is kept is not fetched.
        let is_checked = stored > 0 && (open.shard.inner.shard().is_none() || open.cache.is_none());
        if open.is_cached && stored < inner.len() && !is_checked {
            return Ok(None);
        }
        for chunk in inner.split_off(stored) {
            shard_request.with_requests(&[chunk], |requests| self.fill(open.cell, requests, open.state))?;
        }
        Ok(Some(inner))
    }

    /// Goes down into inner chunks that are shards themselves, where only parts of them are wanted. The others, and
    /// whether the value was still the same.
    pub(super) fn read_nested_parts(
        &self,
        open: IndexedShard<'_>,
        shard_request: &ShardRequest<'_, '_>,
        inner: Vec<InnerChunk>,
    ) -> Result<(Vec<InnerChunk>, bool), Error> {
        let Some(nested) = open.shard.inner.shard() else { return Ok((inner, true)) };
        let is_current = AtomicBool::new(true);
        let (whole, parts) = split_parts(&inner, open.cache.is_some());
        self.for_each(parts.len(), open.decoded_size(&inner), |number| {
            let still = self.read_nested(open, nested, shard_request, &parts[number])?;
            is_current.fetch_and(still, Ordering::Relaxed);
            Ok(())
        })?;
        Ok((whole, is_current.into_inner()))
    }

    /// Fetches neighbouring inner chunks at once, and decodes each. Whether the value was still the same.
    fn read_joined(
        &self,
        open: IndexedShard<'_>,
        shard_request: &ShardRequest<'_, '_>,
        group: &[InnerChunk],
    ) -> Result<bool, Error> {
        let (start, size) = range_of(group);
        let pipeline = &*open.shard.inner;
        let need = |allowance| match group {
            [_] => shard_request
                .with_requests(group, |requests| Ok(self.need_of_decoding(pipeline, requests, allowance))),
            _ => Ok(self.need_of_decoding(pipeline, &[], allowance)),
        };
        let chunk = Needing { cell: open.cell, pipeline, encoded: Some(size) };
        self.with_memory(
            chunk,
            |allowance| need(allowance).unwrap_or(u64::MAX),
            |scratch, _| {
                let mut output = scratch.encoded.output(self.value_limit(Some(size)));
                let range = ByteRange::Range { offset: open.start + start, size };
                let got = self.get_once(open.cell, range, &mut output)?;
                let Some(got) = got.filter(|got| open.index.is_of(got)) else { return Ok(false) };
                let joined = contents(&got, output.written());
                self.decode_joined(open, shard_request, group, joined, &mut scratch.stages)?;
                Ok(true)
            },
        )
    }

    /// Decodes neighbouring inner chunks out of the bytes that they are in.
    pub(super) fn decode_joined(
        &self,
        open: IndexedShard<'_>,
        shard_request: &ShardRequest<'_, '_>,
        group: &[InnerChunk],
        joined: &[u8],
        stages: &mut Stages,
    ) -> Result<(), Error> {
        let (start, _) = range_of(group);
        for same in group.chunk_by(|a, b| a.range == b.range) {
            let (offset, size) = same[0].range.unwrap_or((start, 0));
            let encoded = part(joined, (offset - start, size));
            let encoded = encoded.map_err(|error| self.chunk_error(open.cell, error));
            let cache = open.cache.map(|cache| (cache, open.first + same[0].position as u64));
            let decoded = encoded.and_then(|encoded| {
                shard_request.with_requests(same, |requests| {
                    self.decode_to(open.cell, &open.shard.inner, encoded, stages, requests, cache)
                })
            });
            decoded.map_err(|error| error.in_inner_chunk(|| inner_index(open.shard, same[0].position)))?;
        }
        Ok(())
    }

    /// Reads parts of an inner chunk that is a shard. Whether the value was still the same.
    fn read_nested(
        &self,
        open: IndexedShard<'_>,
        nested: &ShardPipeline,
        shard_request: &ShardRequest<'_, '_>,
        same: &[InnerChunk],
    ) -> Result<bool, Error> {
        let InnerChunk { range: Some((offset, size)), position, .. } = same[0] else { return Ok(true) };
        let start = open.start + offset;
        let cached = open.index.nested(position);
        let is_known = cached.is_some();
        let index = match cached {
            Some(cached) => Some(cached),
            None => self.fetch_nested_index(open, nested, (start, size))?,
        };
        let Some(index) = index else { return Ok(false) };
        if !is_known {
            self.cache_nested_index(open.cell, open.index, position, Arc::clone(&index));
        }
        let count: u64 = nested.grid_shape.iter().product();
        let first = (open.first + position as u64) * count;
        let is_cached = open.is_cached && is_known;
        let inner = IndexedShard { shard: nested, index: &index, is_cached, start, first, ..open };
        shard_request.with_requests(same, |requests| {
            let shard_request = ShardRequest::new(nested, requests)?;
            let all = shard_request.inner_chunks(nested)?;
            let rest = self.put_cached(
                open.cell,
                nested,
                &shard_request,
                all,
                open.cache.map(|cache| (cache, first)),
            )?;
            if rest.is_empty() { Ok(true) } else { self.read_open_shard(inner, &shard_request, rest) }
        })
    }

    fn fetch_nested_index(
        &self,
        open: IndexedShard<'_>,
        nested: &ShardPipeline,
        (start, size): (u64, u64),
    ) -> Result<Option<Arc<CachedIndex>>, Error> {
        let range = ShardIndex::range_in_value(nested).within(size);
        let range = ByteRange::Range { offset: start + range.start, size: range.end - range.start };
        let need = needs::of_index(nested);
        self.check_need(open.cell, need)?;
        self.budget().with_scratch(need, |scratch| {
            let mut output = scratch.encoded.output(self.value_limit(Some(nested.index_size)));
            let got = self.get(open.cell, range, &mut output)?;
            let Some(got) = got.filter(|got| open.index.is_of(got)) else { return Ok(None) };
            let bytes = contents(&got, output.written());
            let index = ShardIndex::parse(nested, bytes, size, &mut scratch.stages);
            let index = index.map_err(|error| self.chunk_error(open.cell, error))?;
            Ok(Some(Arc::new(CachedIndex::new(index, &got, None))))
        })
    }
}

impl IndexedShard<'_> {
    /// Bytes that so many inner chunks decode to at most.
    fn decoded_size(&self, inner: &[InnerChunk]) -> usize {
        let chunk_size = self.shard.inner.array.size().limit().and_then(|size| usize::try_from(size).ok());
        inner.len().saturating_mul(chunk_size.unwrap_or(usize::MAX))
    }
}

impl<'w, 'a> ShardRequest<'w, 'a> {
    pub(super) fn new(shard: &ShardPipeline, requests: &'w [ChunkRequest<'w, 'a>]) -> Result<Self, Error> {
        let strides = |request: &ChunkRequest<'_, '_>| {
            shard.order.iter().map(|&dimension| request.strides[dimension]).collect::<Vec<_>>()
        };
        let plans = requests.iter().map(|request| request.piece.divided(&shard.order, inner_axes(shard)));
        let plans: Result<_, _> = plans.collect();
        Ok(Self { requests, strides: requests.iter().map(strides).collect(), plans: plans? })
    }

    /// All inner chunks that are wanted; where they are stored is not known yet.
    pub(super) fn inner_chunks(&self, shard: &ShardPipeline) -> Result<Vec<InnerChunk>, Error> {
        let shape = &shard.inner.array.shape;
        let mut inner = Vec::with_capacity(self.plans.iter().map(Plan::len).sum());
        for (request, plan) in self.plans.iter().enumerate() {
            for number in 0..plan.len() {
                let piece = plan.piece(number)?;
                let position = position(piece.cell(), &shard.grid_shape);
                let is_whole = piece.covers(shape.iter().copied());
                inner.push(InnerChunk { range: None, position, request, piece: number, is_whole });
            }
        }
        Ok(inner)
    }

    /// Calls `then` with what is wanted of one inner chunk.
    fn with_requests<R>(
        &self,
        same: &[InnerChunk],
        then: impl FnOnce(&[ChunkRequest<'_, 'a>]) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let piece = |chunk: &InnerChunk| self.plans[chunk.request].piece(chunk.piece);
        let request = |chunk: &InnerChunk, piece| {
            let region = self.requests[chunk.request].region;
            let strides = &self.strides[chunk.request];
            ChunkRequest { piece, region, strides }
        };
        if let [one] = same {
            return then(&[request(one, &piece(one)?)]);
        }
        let pieces: Result<Vec<_>, _> = same.iter().map(piece).collect();
        let pieces = pieces?;
        then(&same.iter().zip(&pieces).map(|(chunk, piece)| request(chunk, piece)).collect::<Vec<_>>())
    }
}

/// Inner chunks that are read as wholes, and, each by itself, those that are gone down into: of which only parts are
/// wanted, and all where decoded chunks are kept.
fn split_parts(inner: &[InnerChunk], is_cached: bool) -> (Vec<InnerChunk>, Vec<Vec<InnerChunk>>) {
    let mut whole = Vec::new();
    let mut parts = Vec::new();
    for same in inner.chunk_by(|a, b| a.range == b.range) {
        match !is_cached && same.iter().any(|chunk| chunk.is_whole) {
            true => whole.extend_from_slice(same),
            false => parts.push(same.to_vec()),
        }
    }
    (whole, parts)
}

/// Offset and size of all the bytes that neighbours are in.
pub(super) fn range_of(group: &[InnerChunk]) -> (u64, u64) {
    let start = group.first().and_then(|chunk| chunk.range).map_or(0, |(offset, _)| offset);
    let ends = group.iter().filter_map(|chunk| chunk.range).map(|(offset, size)| offset + size);
    (start, ends.max().unwrap_or(start) - start)
}

/// Neighbours whose ranges lie close enough to be fetched as one, as ranges of places in `inner`: small enough that each
/// of `threads` threads has some.
pub(super) fn joined(inner: &[InnerChunk], gap: u64, threads: usize) -> Vec<Range<usize>> {
    let share = range_of(inner).1 / (2 * threads.max(1) as u64);
    let most = if threads > 1 { share.clamp(JOINED_AT_LEAST, JOINED) } else { JOINED };
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut start = 0u64;
    let mut end = 0u64;
    for (number, chunk) in inner.iter().enumerate() {
        let (offset, size) = chunk.range.unwrap_or((0, 0));
        let chunk_end = offset.saturating_add(size);
        let is_close =
            offset <= end.saturating_add(gap) && end.max(chunk_end) - start <= most.max(end - start);
        match groups.last_mut() {
            Some(group) if is_close => group.end = number + 1,
            _ => {
                groups.push(number..number + 1);
                (start, end) = (offset, chunk_end);
            }
        }
        end = end.max(chunk_end);
    }
    groups
}
