//! Fetches many jobs in one call to a remote store. Threads decode responses while others are in flight.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use zarr_spec::host::pipeline::Pipeline;
use zarr_spec::store::{CompletedRequest, Contents, GetOptions, GetResult, Request, StoreError};
use zarr_spec::{ByteRange, CodecError};

use super::Read;
use super::cache::{CachedValue, WHOLE};
use super::decode::{Encoded, exact_size};
use super::fetch::is_cached_whole;
use super::job::{COMPRESSION, Fetched, Job, Outcome, ShardValue, WholeValue};
use super::output::OutputState;
use super::part::Part;
use super::requests::RequestedChunk;
use crate::budget::{Holding, Permit};
use crate::error::Error;
use crate::flight;
use crate::needs;
use crate::pipeline::{Stages, StepError, part};
use crate::stored::{StoredArray, is_too_large};

/// Maximum number of bytes of one call that are in flight, or fetched but not decoded yet. Stores that answer after 30 ms
/// or more need over a hundred chunks of 1 MiB, or eight shards, in flight.
const IN_FLIGHT: u64 = 64 << 20;

/// Maximum number of chunks and inner chunks of one batch, because jobs take memory.
const BATCH: usize = 1 << 16;

/// The jobs of the chunks that are read together.
#[derive(Default)]
pub(super) struct Batch<'r> {
    pub(super) jobs: Vec<Job<'r>>,
    /// The values of those chunks that are shards.
    shards: Vec<Arc<ShardValue<'r>>>,
    /// Chunks to read one by one, because they exceed the memory budget of a batch or their expected size.
    pub(super) alone: Vec<(usize, OutputState)>,
}

/// A request to the store, and the memory for decoding the response.
struct JobRequest {
    request: Request,
    scratch: u64,
}

/// The response to a request.
type Response = Result<Option<GetResult>, StoreError>;

impl<'r> Read<'r> {
    /// Returns the next chunks to read together.
    pub(super) fn next_batch(&self, start: usize) -> Result<Range<usize>, Error> {
        let mut end = start;
        let mut size = 0usize;
        while end < self.chunks.len() && size < BATCH {
            let inner = self.chunks.with_chunk(end, |chunk| {
                let pipeline = self.pipeline(&chunk)?;
                Ok(pipeline.shard().map_or(1, |shard| shard.grid_shape.iter().product::<u64>()))
            })?;
            size = size.saturating_add(usize::try_from(inner).unwrap_or(usize::MAX));
            end += 1;
        }
        Ok(start..end)
    }

    /// Copies cached chunks, and returns the first jobs for the others.
    pub(super) fn start(&self, numbers: Range<usize>) -> Result<Batch<'r>, Error> {
        let numbers = match self.cache {
            Some(cache) => self.put_cached(numbers, cache)?,
            None => numbers.collect(),
        };
        let mut batch = Batch::default();
        for number in numbers {
            self.chunks.with_chunk(number, |chunk| {
                let pipeline = self.pipeline(&chunk)?;
                if let Some(shard) = pipeline.shard() {
                    let (value, jobs) = self.start_shard(&chunk, shard, OutputState::Fresh, self.cache)?;
                    batch.shards.push(value);
                    batch.jobs.extend(jobs);
                } else {
                    match self.job(&chunk, &pipeline)? {
                        Some(job) => batch.jobs.push(job),
                        None => batch.alone.push((number, OutputState::Fresh)),
                    }
                }
                Ok(())
            })?;
        }
        Ok(batch)
    }

    /// Returns the job for a chunk that is not a shard; `None` if several byte ranges of the chunk are needed. Such a
    /// chunk is read separately.
    fn job(&self, chunk: &RequestedChunk<'_, 'r>, pipeline: &Pipeline) -> Result<Option<Job<'r>>, Error> {
        let number = chunk.number;
        let Some(part) = Part::of(pipeline, chunk.requests) else { return Ok(Some(Job::Chunk(number))) };
        let key = self.cache.map(|_| self.array.key(chunk.index)).transpose()?;
        let cache = self.cache.zip(key).map(|(cache, key)| CachedValue::new(cache, key));
        if is_cached_whole(pipeline, cache.as_ref()) {
            return Ok(Some(Job::Chunk(number)));
        }
        let gap = self.array.resolved.store.read_hints().coalesce_gap;
        let range = part.only_range(gap);
        let range = range.map_err(|error| self.array.step_error(chunk.index, pipeline, error))?;
        Ok(range.map(|range| {
            let fetched = range.end - range.start;
            let is_smaller = exact_size(pipeline).is_none_or(|size| fetched.saturating_add(gap) < size);
            if is_smaller { Job::Part { number, range } } else { Job::Chunk(number) }
        }))
    }

    /// Fetches and decodes all jobs. Returns their outcomes, and adds chunks that must be read one by one to `alone`.
    pub(super) fn fetch_all(
        &self,
        jobs: &[Job<'r>],
        alone: &mut Vec<(usize, OutputState)>,
    ) -> Result<Vec<(usize, Outcome)>, Error> {
        let mut requests = Vec::with_capacity(jobs.len());
        let mut requested = Vec::with_capacity(jobs.len());
        let mut scratch = 0;
        for (number, job) in jobs.iter().enumerate() {
            match self.request(job) {
                Ok(request) => {
                    scratch = scratch.max(request.scratch);
                    requests.push(request.request);
                    requested.push(number);
                }
                // The chunk is read separately: if it is missing, or if only a part of it is needed, the budget may
                // suffice.
                Err(Error::OverBudget { .. }) if matches!(job, Job::Chunk(_) | Job::Part { .. }) => {
                    alone.push((job.chunk(), OutputState::Fresh));
                }
                Err(error) => return Err(error),
            }
        }
        let caches = self.cached_values(jobs, &requested)?;
        let outcomes = Mutex::new(Vec::new());
        let larger = Mutex::new(Vec::new());
        self.array.fetch_many(requests, self.total, scratch, |place, response| {
            let number = requested[place];
            let job = &jobs[number];
            match self.finish(job, caches.get(place).and_then(Option::as_ref), response) {
                Ok(Outcome::Done) => {
                    let is_chunk = matches!(job, Job::Chunk(_) | Job::Part { .. });
                    self.array.advance_progress(usize::from(is_chunk));
                }
                Ok(outcome) => {
                    outcomes.lock().unwrap_or_else(PoisonError::into_inner).push((number, outcome));
                }
                Err(error) if is_too_large(&error) => {
                    larger.lock().unwrap_or_else(PoisonError::into_inner).push(number);
                }
                Err(error) => return Err(error),
            }
            Ok(())
        })?;
        let mut outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
        for number in larger.into_inner().unwrap_or_else(PoisonError::into_inner) {
            match &jobs[number] {
                Job::Chunk(number) | Job::Part { number, .. } => alone.push((*number, OutputState::Written)),
                Job::Shard { .. } => outcomes.push((number, Outcome::TooLarge)),
                Job::Index(_) | Job::InnerChunks { .. } => outcomes.push((number, Outcome::Stale)),
            }
        }
        Ok(outcomes)
    }

    /// Returns the cache entries of the chunks that are not shards, in their state before anything is fetched.
    fn cached_values(
        &self,
        jobs: &[Job<'r>],
        requested: &[usize],
    ) -> Result<Vec<Option<CachedValue<'r>>>, Error> {
        let Some(cache) = self.cache else { return Ok(Vec::new()) };
        let value = |&number: &usize| match jobs[number] {
            Job::Chunk(chunk) => self
                .chunks
                .with_chunk(chunk, |chunk| Ok(Some(CachedValue::new(cache, self.array.key(chunk.index)?)))),
            _ => Ok(None),
        };
        requested.iter().map(value).collect()
    }

    /// Returns the request for the bytes of a job.
    fn request(&self, job: &Job<'r>) -> Result<JobRequest, Error> {
        let array = self.array;
        match job {
            Job::Chunk(number) => self.chunks.with_chunk(*number, |chunk| {
                let pipeline = self.pipeline(&chunk)?;
                let size = exact_size(&pipeline);
                let expected = size.or(pipeline.array.size().limit()).unwrap_or(0);
                let scratch = array.scratch_size(chunk.index, &pipeline, expected)?;
                let size = size.unwrap_or(array.expected_value(chunk.index, &pipeline)?);
                let limit = array.value_limit(Some(size));
                let options = GetOptions::uncached(ByteRange::Full);
                let request = Request::new(array.key(chunk.index)?, options, limit);
                let expected = expected / if exact_size(&pipeline).is_some() { 1 } else { COMPRESSION };
                let expected = usize::try_from(expected).unwrap_or(usize::MAX).min(limit);
                Ok(JobRequest { request: request.with_expected_size(expected), scratch })
            }),
            Job::Part { number, range } => self.chunks.with_chunk(*number, |chunk| {
                let pipeline = self.pipeline(&chunk)?;
                let part = Part::of(&pipeline, chunk.requests);
                let scratch = part.map_or(0, |part| part.decoded_size()) as u64;
                let size = range.end - range.start;
                array.check_need(chunk.index, scratch.saturating_add(size))?;
                let options = GetOptions::uncached(ByteRange::Range { offset: range.start, size });
                let limit = array.value_limit(Some(size));
                Ok(JobRequest { request: Request::new(array.key(chunk.index)?, options, limit), scratch })
            }),
            Job::Index(shard) => {
                let scratch = needs::of_index(&shard.shard);
                array.check_need(&shard.value.chunk, scratch)?;
                let limit = array.value_limit(Some(shard.shard.index_size));
                let key = array.key(&shard.value.chunk)?;
                Ok(JobRequest { request: Request::new(key, shard.index_range(), limit), scratch })
            }
            Job::Shard { shard, whole } => {
                let chunk = &shard.value.chunk;
                let of_index = needs::of_index(&shard.shard);
                array.check_need(chunk, of_index)?;
                let of_inner = array.scratch_size(chunk, &shard.shard.inner, whole.expected_size)?;
                let request = self.whole_request(chunk, *whole, whole.expected_size.saturating_mul(3))?;
                Ok(JobRequest { request, scratch: of_index.max(of_inner) })
            }
            Job::InnerChunks { shard, group } => {
                let chunk = &shard.read.value.chunk;
                let (offset, size) = Job::range(shard, group);
                if shard.is_whole {
                    let whole = WholeValue { expected_size: shard.index.size(), is_retained: true };
                    let scratch = array.scratch_size(chunk, &shard.read.shard.inner, whole.expected_size)?;
                    let request = self.whole_request(chunk, whole, whole.expected_size)?;
                    return Ok(JobRequest { request, scratch });
                }
                let scratch = array.scratch_size(chunk, &shard.read.shard.inner, size)?;
                let options = GetOptions::uncached(ByteRange::Range { offset, size });
                let request = Request::new(array.key(chunk)?, options, array.value_limit(Some(size)));
                Ok(JobRequest { request, scratch })
            }
        }
    }

    /// Returns the request for the whole value of a shard, of at most `limit` bytes.
    fn whole_request(&self, chunk: &[u64], whole: WholeValue, limit: u64) -> Result<Request, Error> {
        let WholeValue { expected_size, is_retained } = whole;
        let limit = self.array.value_limit(Some(limit));
        let options = match is_retained {
            true => GetOptions::new(ByteRange::Full),
            false => GetOptions::uncached(ByteRange::Full),
        };
        let expected_size = usize::try_from(expected_size).unwrap_or(usize::MAX).min(limit);
        Ok(Request::new(self.array.key(chunk)?, options, limit).with_expected_size(expected_size))
    }

    /// Decodes the response to the request of a job.
    fn finish(
        &self,
        job: &Job<'r>,
        cache: Option<&CachedValue<'r>>,
        response: Response,
    ) -> Result<Outcome, Error> {
        let array = self.array;
        let (pipeline, chunk) = match job {
            Job::Chunk(number) => {
                return self.chunks.with_chunk(*number, |chunk| self.finish_chunk(&chunk, cache, response));
            }
            Job::Part { number, range } => {
                return self.chunks.with_chunk(*number, |chunk| self.finish_part(&chunk, range, response));
            }
            Job::Index(shard) | Job::Shard { shard, .. } => (&shard.shard.inner, &shard.value.chunk),
            Job::InnerChunks { shard, .. } => (&shard.read.shard.inner, &shard.read.value.chunk),
        };
        let Some(got) = array.checked_response(chunk, response)? else {
            return Ok(match job {
                Job::Index(shard) if shard.is_inner() => Outcome::Stale,
                Job::Index(_) | Job::Shard { .. } => Outcome::Index(None),
                Job::Chunk(_) | Job::Part { .. } | Job::InnerChunks { .. } => Outcome::Stale,
            });
        };
        let bytes = shared_bytes(&got);
        let fetched = Fetched { value: &got, bytes };
        let of_value = |range| part(bytes, range).map_err(|error| array.chunk_error(chunk, error));
        array.with_stages(pipeline, &got, |stages| match job {
            Job::Chunk(_) | Job::Part { .. } => Ok(Outcome::Done),
            Job::Index(shard) => self.decode_index(shard, fetched, stages),
            Job::Shard { shard, whole } => self.decode_shard(shard, *whole, fetched, stages),
            Job::InnerChunks { shard, group } => {
                let fetched = match shard.is_whole && shard.index.is_of(&got) {
                    true => Fetched { bytes: of_value(Job::range(shard, group))?, ..fetched },
                    false => fetched,
                };
                self.decode_inner_chunks(shard, group, fetched, stages)
            }
        })
    }

    fn finish_chunk(
        &self,
        chunk: &RequestedChunk<'_, 'r>,
        cache: Option<&CachedValue<'r>>,
        response: Response,
    ) -> Result<Outcome, Error> {
        let array = self.array;
        let RequestedChunk { index, requests, .. } = *chunk;
        let Some(got) = array.checked_response(index, response)? else {
            return array.fill(index, requests, OutputState::Fresh).map(|()| Outcome::Done);
        };
        let pipeline = self.pipeline(chunk)?;
        let cache = cache.map(|cache| (cache, WHOLE));
        let bytes = shared_bytes(&got);
        let encoded = Encoded { chunk: index, pipeline: &pipeline, bytes, requests, cache };
        array.with_stages(&pipeline, &got, |stages| array.decode(&encoded, stages)).map(|()| Outcome::Done)
    }

    /// Decodes and places the part of a chunk that is in `range` of its value.
    fn finish_part(
        &self,
        chunk: &RequestedChunk<'_, 'r>,
        range: &Range<u64>,
        response: Response,
    ) -> Result<Outcome, Error> {
        let array = self.array;
        let RequestedChunk { index, requests, .. } = *chunk;
        let Some(got) = array.checked_response(index, response)? else {
            return array.fill(index, requests, OutputState::Fresh).map(|()| Outcome::Done);
        };
        let pipeline = self.pipeline(chunk)?;
        let expected = exact_size(&pipeline).unwrap_or(got.size);
        let part = Part::of(&pipeline, requests).filter(|_| got.size == expected).ok_or_else(|| {
            let shape = &pipeline.array.shape;
            let size = got.size;
            let what = format!("it has {size} bytes, but a chunk of shape {shape:?} has {expected}");
            array.chunk_error(index, StepError::chunk(what))
        })?;
        let bytes = shared_bytes(&got);
        let placed = array.budget().with_paid_scratch(|scratch| {
            part.place(&pipeline, (range.start, bytes), requests, &mut scratch.stages)
        });
        placed.map_err(|error| array.part_error(index, &pipeline, error)).map(|()| Outcome::Done)
    }

    /// Reads the chunks of a batch that have changed meanwhile or that must be read one by one.
    pub(super) fn read_again(&self, batch: Batch<'r>) -> Result<(), Error> {
        let Batch { shards, alone, .. } = batch;
        let number_of_shards = shards.len();
        let changed = shards.into_iter().filter(|value| !value.is_of_one_state());
        let changed: Vec<_> = changed.collect();
        self.array.for_each(changed.len(), self.total, |place| {
            let ShardValue { number, chunk, .. } = &*changed[place];
            self.array.forget_index(chunk);
            self.chunk(*number, OutputState::Written, None)
        })?;
        self.array.for_each(alone.len(), self.total, |place| {
            let (number, state) = alone[place];
            self.chunk(number, state, self.cache)
        })?;
        self.array.advance_progress(number_of_shards + alone.len());
        Ok(())
    }
}

impl StoredArray {
    /// Returns the memory in bytes for decoding a chunk, without its encoded value, if it fits into the budget.
    fn scratch_size(&self, chunk: &[u64], pipeline: &Pipeline, encoded: u64) -> Result<u64, Error> {
        let scratch = needs::decoding(pipeline, false, self.first_unknown(pipeline, encoded));
        self.check_need(chunk, scratch.saturating_add(encoded))?;
        Ok(scratch)
    }

    /// Runs `work` with buffers for decoding, whose memory [`Self::fetch_many`] holds.
    fn with_stages<R>(&self, pipeline: &Pipeline, got: &GetResult, work: impl FnOnce(&mut Stages) -> R) -> R {
        let unknown = self.first_unknown(pipeline, got.size);
        self.budget().with_paid_scratch(|scratch| {
            scratch.stages.unknown = unknown;
            work(&mut scratch.stages)
        })
    }

    /// Sends all requests in one call, and passes each response with the number of its request to `finish`.
    ///
    /// The call acquires memory of the budget for bytes in flight, and `scratch` bytes for each thread that decodes. It
    /// uses the free memory, and waits only if that is not enough for one request.
    fn fetch_many(
        &self,
        requests: Vec<Request>,
        total: usize,
        scratch: u64,
        finish: impl Fn(usize, Response) -> Result<(), Error> + Send + Sync,
    ) -> Result<(), Error> {
        self.context().check_cancelled()?;
        if requests.is_empty() {
            return Ok(());
        }
        let count = requests.len();
        let share = Share::new(self, &requests, scratch);
        let Share { in_flight, decoding, largest, .. } = share;
        // Each request accepts one response. With two, two threads could write to the same elements.
        let answered: Vec<_> = (0..count).map(|_| AtomicBool::new(false)).collect();
        let take = |(number, response): CompletedRequest| match answered.get(number) {
            Some(was_answered) if !was_answered.swap(true, Ordering::Relaxed) => {
                let got = response.map(|response| response.map(GetResult::from));
                let _more = match &got {
                    Ok(Some(got)) => Some(self.budget().charge(beyond(largest, got))),
                    _ => None,
                };
                self.context().check_cancelled()?;
                finish(number, got)
            }
            _ => Err(self.wrong_response(format!("an unexpected response to request {number} of {count}"))),
        };
        let mut responses = self.limited_responses(requests, in_flight);
        match self.is_parallel(count, total) && decoding > 1 {
            false => responses.try_for_each(take)?,
            true => flight::hand_out(self.context(), decoding, responses, take, || drop(share))?,
        }
        match answered.iter().position(|was_answered| !was_answered.load(Ordering::Relaxed)) {
            None => Ok(()),
            Some(number) => Err(self.wrong_response(format!("no response to request {number} of {count}"))),
        }
    }

    /// Returns the error for a store that violates its contract.
    fn wrong_response(&self, what: String) -> Error {
        StoreError::io("reading", self.place.chunks.to_string(), what).into()
    }

    /// Converts the error for a value that is too large to an error of the chunk.
    pub(super) fn checked_response<R>(
        &self,
        chunk: &[u64],
        response: Result<Option<R>, StoreError>,
    ) -> Result<Option<R>, Error> {
        response.map_err(|error| match error {
            StoreError::TooLarge { source, .. } => self.chunk_error(chunk, CodecError::from(source)),
            error => error.into(),
        })
    }
}

/// The memory that one call of [`StoredArray::fetch_many`] holds.
struct Share<'b> {
    _permit: Permit<'b>,
    _holding: Holding,
    /// The maximum number of bytes in flight.
    in_flight: usize,
    /// The maximum number of responses that are being decoded or wait to be decoded.
    decoding: usize,
    /// The largest expected response in bytes.
    largest: u64,
}

impl<'b> Share<'b> {
    fn new(array: &'b StoredArray, requests: &[Request], scratch: u64) -> Self {
        let mut largest = 0;
        let mut all = 0u64;
        for size in requests.iter().map(expected_size) {
            largest = size.max(largest);
            all = all.saturating_add(size);
        }
        let each = scratch.saturating_add(largest);
        let threads = requests.len().min(array.context().thread_count() + 1) as u64;
        let least = each.saturating_add(if requests.len() > 1 { largest } else { 0 });
        let most = all.min(IN_FLIGHT).saturating_add(each.saturating_mul(threads));
        let budget = array.budget();
        let permit = budget.acquire_between(least.min(budget.size()), most);
        let not_in_flight = permit.size() - IN_FLIGHT.min(permit.size() / 2);
        let decoding = (not_in_flight / each.max(1)).clamp(1, threads);
        let rest = permit.size().saturating_sub(each.saturating_mul(decoding));
        let in_flight = usize::try_from(rest.max(largest).min(IN_FLIGHT)).unwrap_or(1);
        let decoding = usize::try_from(decoding).unwrap_or(1);
        Self { _permit: permit, _holding: Holding::new(), in_flight, decoding, largest }
    }
}

/// Returns the bytes of a response. They are always shared, because the requests of this module have no output that the
/// store could write to.
fn shared_bytes(got: &GetResult) -> &[u8] {
    match &got.contents {
        Contents::Shared(bytes) => bytes,
        Contents::Written => &[],
    }
}

/// Returns the number of bytes by which a response is larger than expected.
fn beyond(largest: u64, got: &GetResult) -> u64 {
    (shared_bytes(got).len() as u64).saturating_sub(largest)
}

/// Returns the expected size of the response to a request in bytes.
fn expected_size(request: &Request) -> u64 {
    match request.options.range {
        ByteRange::Range { size, .. } | ByteRange::Last(size) => size,
        _ => request.expected_size as u64,
    }
}
