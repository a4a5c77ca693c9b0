//! Reading from stores that keep many requests in flight: all that is known to be wanted is asked for at once, and each
//! thread decodes what it took.
//!
//! Chunks are one round trip, and so are small shards that are wanted as wholes. Other shards are two: the indexes that are
//! not kept, and the inner chunks. What turns out to have changed in between is read once more by itself, and so are the
//! parts of an inner chunk that is a shard itself.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use zarr_spec::host::pipeline::{Pipeline, ShardPipeline};
use zarr_spec::store::cache::ChangeCount;
use zarr_spec::store::{CompletedRequest, GetOptions, GetResult, Request, StoreError};
use zarr_spec::{ByteRange, CodecError};

use super::cache::{CachedChunks, CachedValue};
use super::cells::{PlannedCell, WHOLE, contents, exact_size, shared_cells};
use super::region::{ChunkRequest, OutputRegion, OutputState};
use super::shard::{IndexedShard, InnerChunk, ShardRequest, joined, range_of};
use crate::array::{ArrayInner, CachedIndex, is_too_large};
use crate::budget::{Holding, Permit};
use crate::error::Error;
use crate::flight;
use crate::needs;
use crate::pipeline::Stages;
use crate::plan::{Piece, Plan};
use crate::shard::{ShardIndex, part};

/// Bytes of one call in flight, or fetched and not yet decoded, where the memory budget has as many.
const IN_FLIGHT: u64 = 32 << 20;

/// Chunks and inner chunks that are asked for at once: what has to be known of them takes memory.
const AT_ONCE: usize = 1 << 16;

/// Shards that have no more bytes, decoded and with their indexes, are one request where all of them is wanted. Of larger
/// ones, what comes first is decoded while the rest is on its way.
const ONE_REQUEST: u64 = 2 << 20;

/// The cells of some plans, and what each of the regions that these are of wants of them.
pub(super) struct Cells<'c, 'a> {
    plans: &'c [Plan<'c>],
    regions: &'c [OutputRegion<'a>],
    /// Pieces of several plans in the order of their cells.
    pieces: Vec<PlannedCell>,
    /// Of those, the pieces of each cell. A single plan has one piece of each.
    ranges: Vec<Range<usize>>,
}

/// What came for one request.
type Answer = Result<Option<GetResult>, StoreError>;

/// A shard of which something is wanted, in the course of one batch.
struct ShardJob<'w, 'a, 'r> {
    cell: &'w [u64],
    shard: &'w ShardPipeline,
    shard_request: ShardRequest<'w, 'a>,
    /// The inner chunks that are not cached.
    inner: Vec<InnerChunk>,
    /// Those of them that are to be fetched.
    stored: OnceLock<Vec<InnerChunk>>,
    /// The number of requested inner chunks, including cached ones.
    count: usize,
    cache: Option<CachedValue<'r>>,
    /// `None` inside if the shard is not stored.
    index: OnceLock<Option<Arc<CachedIndex>>>,
    /// Whether the index is of an earlier read.
    is_cached: bool,
    /// Whether all that was read is of one state.
    is_current: AtomicBool,
}

impl ArrayInner {
    /// Reads all that is wanted from a store that asks for many requests at once; the array has a dimension.
    pub(super) fn read_remotely(
        &self,
        cells: &Cells<'_, '_>,
        total: usize,
        cache: Option<&CachedChunks<'_>>,
    ) -> Result<(), Error> {
        let mut first = 0;
        while first < cells.len() {
            let mut end = first;
            let mut size = 0usize;
            let mut has_shards = false;
            while end < cells.len() && size < AT_ONCE {
                let pieces = cells.pieces(end)?;
                let Some((_, piece)) = pieces.first() else { break };
                let pipeline = self.pipeline_of(piece)?;
                let shard = pipeline.shard();
                if end > first && has_shards != shard.is_some() {
                    break;
                }
                has_shards = shard.is_some();
                let inner = shard.map_or(1, |shard| shard.grid_shape.iter().product());
                size = size.saturating_add(usize::try_from(inner).unwrap_or(usize::MAX));
                end += 1;
            }
            match has_shards {
                true => self.read_many_shards(cells, first..end, total, cache)?,
                false => self.read_many_chunks(cells, first..end, total, cache)?,
            }
            first = end;
        }
        Ok(())
    }

    /// Reads chunks that are no shards.
    fn read_many_chunks(
        &self,
        cells: &Cells<'_, '_>,
        numbers: Range<usize>,
        total: usize,
        cache: Option<&CachedChunks<'_>>,
    ) -> Result<(), Error> {
        let numbers = match cache {
            Some(cache) => self.put_cached_chunks(cells, numbers, total, cache)?,
            None => numbers.collect(),
        };
        let mut store_requests = Vec::with_capacity(numbers.len());
        let mut values = Vec::new();
        let mut asked_for = Vec::with_capacity(numbers.len());
        // A chunk that the budget has no memory for may be missing, or read in part: it is read by itself.
        let mut alone = Vec::new();
        let mut scratch = 0;
        for number in numbers {
            let pieces = cells.pieces(number)?;
            let Some((_, piece)) = pieces.first() else { continue };
            let pipeline = self.pipeline_of(piece)?;
            let key = self.key(piece.cell())?;
            let size = exact_size(&pipeline);
            let expected = size.or(pipeline.array.size().limit()).unwrap_or(0);
            match self.scratch(piece.cell(), &pipeline, expected) {
                Ok(needed) => scratch = scratch.max(needed),
                Err(Error::OverBudget { .. }) => {
                    alone.push(number);
                    continue;
                }
                Err(error) => return Err(error),
            }
            asked_for.push(number);
            if let Some(cache) = cache {
                values.push(CachedValue::new(cache, key.clone()));
            }
            let limit = self.value_limit(Some(size.unwrap_or(self.expected_value(piece.cell(), &pipeline)?)));
            let request = Request::new(key, GetOptions::uncached(ByteRange::Full), limit);
            let expected = usize::try_from(expected).unwrap_or(usize::MAX).min(limit);
            store_requests.push(request.with_expected_size(expected));
        }
        let larger = Mutex::new(Vec::new());
        self.fetch(store_requests, (total, scratch), |place, answer| {
            let pieces = cells.pieces(asked_for[place])?;
            let requests = cells.requests(&pieces);
            let Some(first) = requests.first() else { return Ok(()) };
            let cell = first.piece.cell();
            let pipeline = self.pipeline_of(first.piece)?;
            let decoded = self.answered(cell, answer).and_then(|got| match got {
                None => self.fill(cell, &requests, OutputState::Fresh),
                Some(got) => self.with_stages(&pipeline, &got, |stages| {
                    let cache = values.get(place).map(|cache| (cache, WHOLE));
                    self.decode_to(cell, &pipeline, contents(&got, &[]), stages, &requests, cache)
                }),
            });
            match decoded {
                Err(error) if is_too_large(&error) => {
                    larger.lock().unwrap_or_else(PoisonError::into_inner).push(asked_for[place]);
                    Ok(())
                }
                decoded => decoded,
            }
        })?;
        let larger = larger.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.for_each(larger.len(), total, |place| {
            self.read_alone(cells, larger[place], OutputState::Written, cache)
        })?;
        self.for_each(alone.len(), total, |place| {
            self.read_alone(cells, alone[place], OutputState::Fresh, cache)
        })
    }

    /// Reads a chunk by itself: one that is larger than expected, or than the budget.
    fn read_alone(
        &self,
        cells: &Cells<'_, '_>,
        number: usize,
        state: OutputState,
        cache: Option<&CachedChunks<'_>>,
    ) -> Result<(), Error> {
        let pieces = cells.pieces(number)?;
        let requests = cells.requests(&pieces);
        let Some(first) = requests.first() else { return Ok(()) };
        let cell = first.piece.cell();
        self.read_cell(cell, &*self.pipeline_of(first.piece)?, &requests, state, cache)
    }

    /// Bytes that decoding one chunk takes besides its encoded value, if the budget has as many.
    fn scratch(&self, cell: &[u64], pipeline: &Pipeline, encoded: u64) -> Result<u64, Error> {
        let scratch = needs::decoding(pipeline, false, self.first_unknown(pipeline, encoded));
        self.check_need(cell, scratch.saturating_add(encoded))?;
        Ok(scratch)
    }

    /// Runs `work` with buffers to decode what was fetched. [`Self::fetch`] holds the memory for them.
    fn with_stages<R>(&self, pipeline: &Pipeline, got: &GetResult, work: impl FnOnce(&mut Stages) -> R) -> R {
        let unknown = self.first_unknown(pipeline, got.size);
        self.budget().with_paid_scratch(|scratch| {
            scratch.stages.set_unknown(unknown);
            work(&mut scratch.stages)
        })
    }

    /// Copies cached chunks to the output, and returns the other chunks.
    fn put_cached_chunks(
        &self,
        cells: &Cells<'_, '_>,
        numbers: Range<usize>,
        total: usize,
        cache: &CachedChunks<'_>,
    ) -> Result<Vec<usize>, Error> {
        let others = Mutex::new(Vec::new());
        self.for_each(numbers.len(), total, |place| {
            let number = numbers.start + place;
            let pieces = cells.pieces(number)?;
            let requests = cells.requests(&pieces);
            let Some(first) = requests.first() else { return Ok(()) };
            let cell = first.piece.cell();
            match CachedValue::new(cache, self.key(cell)?).find(WHOLE) {
                Some(decoded) => self.put(cell, &*self.pipeline_of(first.piece)?, &decoded, &requests),
                None => {
                    others.lock().unwrap_or_else(PoisonError::into_inner).push(number);
                    Ok(())
                }
            }
        })?;
        let mut others = others.into_inner().unwrap_or_else(PoisonError::into_inner);
        others.sort_unstable();
        Ok(others)
    }

    /// Reads what is wanted of shards.
    fn read_many_shards(
        &self,
        cells: &Cells<'_, '_>,
        numbers: Range<usize>,
        total: usize,
        cache: Option<&CachedChunks<'_>>,
    ) -> Result<(), Error> {
        let pieces = numbers.map(|number| cells.pieces(number)).collect::<Result<Vec<_>, _>>()?;
        let requests: Vec<_> = pieces.iter().map(|pieces| cells.requests(pieces)).collect();
        let pipeline = |requests: &Vec<ChunkRequest<'_, '_>>| match requests.first() {
            Some(first) => self.pipeline_of(first.piece).map(Some),
            None => Ok(None),
        };
        let pipelines = requests.iter().map(pipeline).collect::<Result<Vec<_>, _>>()?;
        let mut shards = Vec::with_capacity(requests.len());
        for (requests, pipeline) in requests.iter().zip(&pipelines) {
            if let (Some(first), Some(shard)) =
                (requests.first(), pipeline.as_ref().and_then(|one| one.shard()))
            {
                shards.push(self.job(first.piece.cell(), shard, requests, cache)?);
            }
        }
        self.fetch_indexes(&shards, total, true)?;
        // Of shards that are much larger than what they hold.
        self.fetch_indexes(&shards, total, false)?;
        self.for_each(shards.len(), total, |number| self.prepare(&shards[number]))?;
        self.fetch_inner(&shards, total)?;
        let changed = shards.iter().filter(|job| {
            !job.is_current.load(Ordering::Relaxed)
                || job.cache.as_ref().is_some_and(|cache| !cache.is_of_one_state())
        });
        let changed: Vec<_> = changed.collect();
        self.for_each(changed.len(), total, |number| {
            let ShardJob { cell, shard, shard_request, .. } = changed[number];
            self.forget_index(cell);
            self.read_shard(cell, shard, shard_request.requests, OutputState::Written, None)
        })
    }

    /// What is to be fetched of one shard.
    fn job<'w, 'a, 'r>(
        &self,
        cell: &'w [u64],
        shard: &'w ShardPipeline,
        requests: &'w [ChunkRequest<'w, 'a>],
        cache: Option<&'r CachedChunks<'r>>,
    ) -> Result<ShardJob<'w, 'a, 'r>, Error> {
        let cache =
            cache.map(|cache| Ok::<_, Error>(CachedValue::new(cache, self.key(cell)?))).transpose()?;
        let shard_request = ShardRequest::new(shard, requests)?;
        let all = shard_request.inner_chunks(shard)?;
        let count = all.len();
        let inner =
            self.put_cached(cell, shard, &shard_request, all, cache.as_ref().map(|cache| (cache, 0)))?;
        let index = OnceLock::new();
        let mut is_cached = false;
        if let Some(known) = self.cached_index(cell) {
            let is_current = cache.as_ref().is_some_and(|cache| cache.has_now(&known));
            // What is fetched tells whether the index is current. Where nothing would be, it is fetched anew.
            if is_current || inner.iter().any(|chunk| known.index.range(chunk.position).is_some()) {
                is_cached = !is_current;
                let _first = index.set(Some(known));
            }
        }
        let stored = OnceLock::new();
        let is_current = AtomicBool::new(true);
        Ok(ShardJob { cell, shard, shard_request, inner, stored, count, cache, index, is_cached, is_current })
    }

    /// Fetches the indexes that are not cached. With `may_be_whole`, fetches small shards that are requested as a whole in
    /// one request.
    fn fetch_indexes(
        &self,
        shards: &[ShardJob<'_, '_, '_>],
        total: usize,
        may_be_whole: bool,
    ) -> Result<(), Error> {
        let unknown = shards.iter().filter(|job| !job.inner.is_empty() && job.index.get().is_none());
        let unknown: Vec<_> = unknown.collect();
        let gap = self.resolved.store.read_hints().coalesce_gap;
        let whole_size = |job: &ShardJob<'_, '_, '_>| job.whole_size(gap).filter(|_| may_be_whole);
        let mut store_requests = Vec::with_capacity(unknown.len());
        let mut changes = Vec::new();
        let mut scratch = 0;
        for job in &unknown {
            let of_index = needs::of_index(job.shard);
            self.check_need(job.cell, of_index)?;
            scratch = scratch.max(of_index);
            changes.push(self.changes(job.cell)?);
            let key = self.key(job.cell)?;
            store_requests.push(match whole_size(job) {
                Some(expected) => {
                    scratch = scratch.max(self.scratch(job.cell, &job.shard.inner, expected as u64)?);
                    let limit = self.value_limit(Some(2 * ONE_REQUEST));
                    let request = Request::new(key, GetOptions::uncached(ByteRange::Full), limit);
                    request.with_expected_size(expected.min(limit))
                }
                None => {
                    let limit = self.value_limit(Some(job.shard.index_size));
                    Request::new(key, ShardIndex::range_in_value(job.shard), limit)
                }
            });
        }
        self.fetch(store_requests, (total, scratch), |place, answer| {
            let job = unknown[place];
            let is_whole = whole_size(job).is_some();
            if is_whole && matches!(answer, Err(StoreError::TooLarge { .. })) {
                return Ok(());
            }
            let got = self.answered(job.cell, answer)?;
            let parsed = got.map(|got| {
                self.with_stages(&job.shard.inner, &got, |stages| {
                    let fetched = (&got, contents(&got, &[]));
                    match is_whole {
                        true => self.decode_fetched(job, fetched, changes[place], stages),
                        false => self.parse_index(job.cell, job.shard, fetched, changes[place], stages),
                    }
                })
            });
            match parsed.transpose() {
                // It is read by its index.
                Err(error) if is_whole && is_too_large(&error) => Ok(()),
                parsed => {
                    let _first = job.index.set(parsed?);
                    Ok(())
                }
            }
        })
    }

    /// Decodes all of a shard out of its value. The index in it.
    fn decode_fetched(
        &self,
        job: &ShardJob<'_, '_, '_>,
        (got, value): (&GetResult, &[u8]),
        changes: Option<ChangeCount>,
        stages: &mut Stages,
    ) -> Result<Arc<CachedIndex>, Error> {
        let ShardJob { cell, shard, shard_request, .. } = job;
        let part = |range| part(value, range).map_err(|error| self.chunk_error(cell, error));
        let place = ShardIndex::range_in_value(shard).within(value.len() as u64);
        let encoded = part((place.start, place.end - place.start))?;
        let index = self.parse_index(cell, shard, (got, encoded), changes, stages)?;
        let open = job.open_with(&index);
        if let Some(stored) = self.fill_missing(open, shard_request, job.inner.clone())? {
            self.decode_joined(open, shard_request, &stored, part(range_of(&stored))?, stages)?;
            let _first = job.stored.set(Vec::new());
        }
        Ok(index)
    }

    /// Fills what is not stored, and finds out what is to be fetched.
    fn prepare(&self, job: &ShardJob<'_, '_, '_>) -> Result<(), Error> {
        let ShardJob { cell, shard_request, inner, stored, count, .. } = job;
        let is_current = match job.open() {
            _ if inner.is_empty() || stored.get().is_some() => true,
            Some(open) => match self.fill_missing(open, shard_request, inner.clone())? {
                Some(inner) => {
                    let (inner, is_current) = self.read_nested_parts(open, shard_request, inner)?;
                    let _first = stored.set(inner);
                    is_current
                }
                None => false,
            },
            None if inner.len() == *count => {
                self.fill(cell, shard_request.requests, OutputState::Fresh).map(|()| true)?
            }
            // The cache has other inner chunks, of a shard that was erased.
            None => false,
        };
        job.is_current.store(is_current, Ordering::Relaxed);
        Ok(())
    }

    /// Fetches inner chunks, those of all shards together.
    fn fetch_inner(&self, shards: &[ShardJob<'_, '_, '_>], total: usize) -> Result<(), Error> {
        let gap = self.resolved.store.read_hints().coalesce_gap;
        let mut store_requests = Vec::new();
        let mut groups = Vec::new();
        let mut scratch = 0;
        for job in shards {
            let (Some(open), Some(stored)) = (job.open(), job.stored.get()) else { continue };
            let key = self.key(job.cell)?;
            for group in joined(stored, gap, 1).into_iter().map(|group| &stored[group]) {
                let (offset, size) = range_of(group);
                scratch = scratch.max(self.scratch(job.cell, &job.shard.inner, size)?);
                let range = ByteRange::Range { offset, size };
                let limit = self.value_limit(Some(size));
                store_requests.push(Request::new(key.clone(), GetOptions::uncached(range), limit));
                groups.push((job, open, group));
            }
        }
        self.fetch(store_requests, (total, scratch), |place, answer| {
            let (job, open, group) = groups[place];
            let got = self.answered(job.cell, answer)?;
            let Some(got) = got.filter(|got| open.index.is_of(got)) else {
                job.is_current.store(false, Ordering::Relaxed);
                return Ok(());
            };
            let decoded = self.with_stages(&job.shard.inner, &got, |stages| {
                self.decode_joined(open, &job.shard_request, group, contents(&got, &[]), stages)
            });
            match decoded {
                Err(error) if is_too_large(&error) => {
                    job.is_current.store(false, Ordering::Relaxed);
                    Ok(())
                }
                decoded => decoded,
            }
        })
    }

    /// Asks for everything at once, and hands each answer to `take`, with the number of its request. `take` decodes in
    /// [`Self::with_stages`], in at most `scratch` bytes.
    ///
    /// The call holds the memory for all of that: whatever the budget has free, as long as it is enough for one request.
    fn fetch(
        &self,
        store_requests: Vec<Request>,
        (total, scratch): (usize, u64),
        take: impl Fn(usize, Answer) -> Result<(), Error> + Send + Sync,
    ) -> Result<(), Error> {
        if store_requests.is_empty() {
            return Ok(());
        }
        let store = &self.resolved.store;
        let count = store_requests.len();
        let share = Share::new(self, &store_requests, scratch);
        let at_once = share.at_once;
        let largest = share.largest;
        // Two answers to one request would be two threads that write to one place.
        let were_answered: Vec<_> = (0..count).map(|_| AtomicBool::new(false)).collect();
        let take =
            |(number, answer): CompletedRequest| match were_answered.get(number) {
                Some(was_answered) if !was_answered.swap(true, Ordering::Relaxed) => {
                    let got = answer.map(|fetched| fetched.map(GetResult::from));
                    let _more = match &got {
                        Ok(Some(got)) => Some(self.budget().charge(beyond(largest, got))),
                        _ => None,
                    };
                    take(number, got)
                }
                _ => Err(self
                    .wrong_answers(format!("an answer to request {number} of {count} that nobody awaits"))),
            };
        let mut deliveries = store.get_many(store_requests, share.in_flight);
        match self.is_parallel(count, total) && at_once > 1 {
            false => deliveries.try_for_each(take)?,
            true => flight::hand_out(self.context(), at_once, deliveries, take, || drop(share))?,
        }
        match were_answered.iter().position(|was_answered| !was_answered.load(Ordering::Relaxed)) {
            None => Ok(()),
            Some(number) => Err(self.wrong_answers(format!("no answer to request {number} of {count}"))),
        }
    }

    /// The store broke its contract.
    fn wrong_answers(&self, what: String) -> Error {
        let place = self.place.chunks.to_string();
        Error::Store(StoreError::io("reading", place, what))
    }

    /// What came for the chunk at `cell`.
    fn answered(&self, cell: &[u64], answer: Answer) -> Result<Option<GetResult>, Error> {
        answer.map_err(|error| match error {
            StoreError::TooLarge { source, .. } => self.chunk_error(cell, CodecError::from(source)),
            error => error.into(),
        })
    }
}

/// The memory that one call of [`ArrayInner::fetch`] holds.
struct Share<'b> {
    _permit: Permit<'b>,
    _holding: Holding,
    /// Bytes that may be in flight.
    in_flight: usize,
    /// Answers that are decoded at the same time, or wait for it.
    at_once: usize,
    /// Bytes of the largest answer that is expected.
    largest: u64,
}

impl<'b> Share<'b> {
    fn new(array: &'b ArrayInner, store_requests: &[Request], scratch: u64) -> Self {
        let sizes = store_requests.iter().map(expected_size);
        let (largest, all) =
            sizes.fold((0, 0), |(largest, all), size| (size.max(largest), size.saturating_add(all)));
        let each = scratch.saturating_add(largest);
        let threads = store_requests.len().min(array.context().thread_count() + 1) as u64;
        let least = each.saturating_add(if store_requests.len() > 1 { largest } else { 0 });
        let most = all.min(IN_FLIGHT).saturating_add(each.saturating_mul(threads));
        let budget = array.budget();
        let permit = budget.acquire_between(least.min(budget.size()), most);
        let not_in_flight = permit.size() - IN_FLIGHT.min(permit.size() / 2);
        let at_once = (not_in_flight / each.max(1)).clamp(1, threads);
        let in_flight =
            permit.size().saturating_sub(each.saturating_mul(at_once)).max(largest).min(IN_FLIGHT);
        let in_flight = usize::try_from(in_flight);
        let at_once = usize::try_from(at_once);
        let in_flight = in_flight.unwrap_or(1);
        let at_once = at_once.unwrap_or(1);
        Self { _permit: permit, _holding: Holding::new(), in_flight, at_once, largest }
    }
}

/// Bytes that an answer has beyond what was expected.
fn beyond(largest: u64, got: &GetResult) -> u64 {
    (contents(got, &[]).len() as u64).saturating_sub(largest)
}

/// Bytes that the answer to a request probably has.
fn expected_size(request: &Request) -> u64 {
    match request.options.range {
        ByteRange::Range { size, .. } | ByteRange::Last(size) => size,
        _ => request.expected_size as u64,
    }
}

impl ShardJob<'_, '_, '_> {
    /// With its index, if the shard is stored and its index is here.
    fn open(&self) -> Option<IndexedShard<'_>> {
        Some(self.open_with(self.index.get()?.as_ref()?))
    }

    fn open_with<'s>(&'s self, index: &'s CachedIndex) -> IndexedShard<'s> {
        let Self { cell, shard, is_cached, .. } = *self;
        let cache = self.cache.as_ref();
        IndexedShard { cell, shard, index, is_cached, start: 0, first: 0, state: OutputState::Fresh, cache }
    }

    /// Bytes that the value will probably have, of a small shard of which nothing is known, and of which no more than
    /// `gap` bytes are not wanted.
    fn whole_size(&self, gap: u64) -> Option<usize> {
        let Self { shard, shard_request, inner, .. } = self;
        let size = shard.array.size().limit()?.checked_add(shard.index_size)?;
        let count: u64 = shard.grid_shape.iter().product();
        let others = count.checked_sub(inner.len() as u64).filter(|_| shard_request.requests.len() == 1)?;
        let unwanted = size.checked_div(count)?.checked_mul(others)?;
        let is_wanted = size <= ONE_REQUEST && unwanted <= gap && shard.inner.shard().is_none();
        usize::try_from(size).ok().filter(|_| is_wanted)
    }
}

impl<'c, 'a> Cells<'c, 'a> {
    /// Of one plan for each region.
    ///
    /// # Errors
    ///
    /// As [`Plan::piece`].
    pub(super) fn new(plans: &'c [Plan<'c>], regions: &'c [OutputRegion<'a>]) -> Result<Self, Error> {
        let pieces = if plans.len() == 1 { Vec::new() } else { shared_cells(plans)? };
        let mut end = 0;
        let ranges = pieces.chunk_by(|(a, ..), (b, ..)| a == b).map(|same| {
            let start = end;
            end += same.len();
            start..end
        });
        let ranges = ranges.collect();
        Ok(Self { plans, regions, pieces, ranges })
    }

    fn len(&self) -> usize {
        match self.plans {
            [plan] => plan.len(),
            _ => self.ranges.len(),
        }
    }

    /// What is wanted of a cell: the number of a region, and its piece of the cell.
    fn pieces(&self, number: usize) -> Result<Vec<(usize, Piece<'c>)>, Error> {
        if let [plan] = self.plans {
            return Ok(vec![(0, plan.piece(number)?)]);
        }
        let pieces = self.pieces[self.ranges[number].clone()].iter();
        pieces.map(|&(_, plan, piece)| Ok((plan, self.plans[plan].piece(piece)?))).collect()
    }

    fn requests<'w>(&'w self, pieces: &'w [(usize, Piece<'w>)]) -> Vec<ChunkRequest<'w, 'a>> {
        let request = |(number, piece): &'w (usize, Piece<'w>)| {
            let region = &self.regions[*number];
            ChunkRequest { piece, region, strides: &region.strides }
        };
        pieces.iter().map(request).collect()
    }
}
