//! Reads elements: plan, fetch, decode, place.
//!
//! The plan lists the chunks that hold requested elements. Each chunk becomes a [`Job`]: the bytes of a value to fetch,
//! how to decode them, and where the elements go. The index of a shard yields further jobs, for its inner chunks.
//!
//! There are two loops over jobs. With a local store, a thread runs a job and then the jobs that it yields. With a
//! remote store, one call fetches all jobs of a generation, so that a shard takes two round trips.
//!
//! | step   | module            |
//! |--------|-------------------|
//! | plan   | `plan`, `requests`|
//! | fetch  | `fetch`, `far`, `raw`, `subset` |
//! | decode | `decode`, `part`, `shard`, `inner_chunks` |
//! | place  | `output`          |

mod cache;
mod decode;
mod far;
mod fetch;
mod inner_chunks;
mod job;
mod limited;
mod output;
mod part;
mod raw;
mod requests;
mod shard;
mod subset;

use std::mem;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use zarr_spec::host::pipeline::{Pipeline, ShardPipeline};

use crate::error::Error;
use crate::grid::Axis;
use crate::pipeline::StepError;
use crate::plan::Plan;
use crate::selection::ElementSelection;
use crate::stored::{Needing, StoredArray};
use crate::unpoisoned::Unpoisoned;

use cache::{CachedChunks, CachedValue, WHOLE};
use decode::{Encoded, decoded_size};
use job::{Job, Outcome};
use requests::{RequestedChunk, RequestedChunks};

pub(crate) use decode::exact_size;
pub(crate) use output::OutputRegion;
pub use output::StridedMemory;

use output::OutputState;

/// Maximum number of attempts to read a shard. An attempt fails if the shard changes after its index is read and before
/// its inner chunks are read. Several attempts may be necessary on a busy machine with a fast writer, because a thread
/// may be interrupted between the two reads.
const ATTEMPTS: usize = 20;

struct Read<'r> {
    array: &'r StoredArray,
    chunks: &'r RequestedChunks<'r>,
    cache: Option<&'r CachedChunks<'r>>,
    /// The size of all outputs in bytes.
    total: usize,
}

impl StoredArray {
    /// Reads the elements of all regions; `total` is the size of their outputs in bytes. A chunk that several regions
    /// need is fetched and decoded once.
    pub(crate) fn read_regions(&self, regions: &[OutputRegion<'_>], total: usize) -> Result<(), Error> {
        let plans: Result<Vec<_>, _> = regions.iter().map(|region| self.plan(region.wanted)).collect();
        let plans = plans?;
        let chunks = RequestedChunks::new(&plans, regions)?;
        let cache = self.cached_chunks();
        self.plan_progress(chunks.len());
        let read = Read { array: self, chunks: &chunks, cache: cache.as_ref(), total };
        // The only chunk of a zero-dimensional array may have several keys, which are tried in turn.
        if self.is_far() && !self.metadata.shape.is_empty() {
            read.by_generation()
        } else {
            read.depth_first()
        }
    }

    pub(crate) fn read_chunk(
        &self,
        index: &[u64],
        shape: &[u64],
        region: &OutputRegion<'_>,
    ) -> Result<(), Error> {
        let plans = [whole_plan(shape, region.wanted)?];
        let chunks = RequestedChunks::one(&plans, region, index);
        let cache = self.cached_chunks();
        let read = Read { array: self, chunks: &chunks, cache: cache.as_ref(), total: region.size };
        self.plan_progress(chunks.len());
        read.for_each_chunk(chunks.len(), |number| number)
    }

    pub(crate) fn decode_value(
        &self,
        index: &[u64],
        shape: &[u64],
        value: Option<&[u8]>,
        region: &OutputRegion<'_>,
    ) -> Result<(), Error> {
        let plans = [whole_plan(shape, region.wanted)?];
        let chunks = RequestedChunks::one(&plans, region, index);
        chunks.with_chunk(0, |chunk| {
            let requests = chunk.requests;
            let Some(bytes) = value else { return self.fill(index, requests, OutputState::Fresh) };
            let pipeline = self.pipeline(index, shape)?;
            // The caller holds the encoded value, so the value needs no further memory.
            let needing = Needing { chunk: index, pipeline: &pipeline, encoded: Some(0) };
            let need = |allowance| self.need_of_decoding(&pipeline, requests, allowance);
            self.with_memory(needing, need, |scratch, _| {
                let encoded = Encoded { chunk: index, pipeline: &pipeline, bytes, requests, cache: None };
                self.decode(&encoded, &mut scratch.stages)
            })
        })
    }
}

impl<'r> Read<'r> {
    /// Reads chunk by chunk, on several threads if there is enough work.
    fn depth_first(&self) -> Result<(), Error> {
        let count = self.chunks.len();
        let cache = self.cache.filter(|_| count > 1 && !self.array.is_parallel(count, self.total));
        let Some(cache) = cache else {
            return self.for_each_chunk(count, |number| number);
        };
        // Copying this number of bytes is not worth a second thread, but decoding chunks that are not cached may be
        // worth several.
        let others = self.put_cached(0..count, cache)?;
        self.for_each_chunk(others.len(), |place| others[place])
    }

    fn for_each_chunk(&self, count: usize, number: impl Fn(usize) -> usize + Sync) -> Result<(), Error> {
        // One chunk is read on this thread, and finding its size would take a sixth of the time of a cached element.
        let work = match count {
            0 | 1 => self.total,
            _ => self.total.max(self.least_work()?.saturating_mul(count)),
        };
        self.array.for_each(count, work, |place| {
            self.chunk(number(place), OutputState::Fresh, self.cache)?;
            self.array.advance_progress(1);
            Ok(())
        })
    }

    /// Copies cached chunks to the output, and returns the numbers of the others.
    fn put_cached(&self, numbers: Range<usize>, cache: &'r CachedChunks<'r>) -> Result<Vec<usize>, Error> {
        let others = Mutex::new(Vec::new());
        self.array.for_each(numbers.len(), self.total, |place| {
            let number = numbers.start + place;
            if !self.chunks.with_chunk(number, |chunk| self.put_if_cached(&chunk, cache))? {
                others.lock().unpoisoned().push(number);
            } else {
                self.array.advance_progress(1);
            }
            Ok(())
        })?;
        let mut others = others.into_inner().unpoisoned();
        others.sort_unstable();
        Ok(others)
    }

    /// Copies the requested elements of a chunk if all of them are cached; otherwise copies nothing.
    fn put_if_cached(
        &self,
        chunk: &RequestedChunk<'_, 'r>,
        cache: &'r CachedChunks<'r>,
    ) -> Result<bool, Error> {
        let pipeline = self.pipeline(chunk)?;
        let cache = CachedValue::new(cache, self.array.key(chunk.index)?);
        if let Some(shard) = pipeline.shard() {
            return self.put_shard_if_cached(chunk, shard, &cache);
        }
        let Some(decoded) = cache.find(WHOLE) else { return Ok(false) };
        self.array.put(chunk.index, &pipeline, &decoded, chunk.requests).map(|()| true)
    }

    /// Returns a lower bound of the decoded size of a chunk in bytes; 0 if nothing is decoded.
    fn least_work(&self) -> Result<usize, Error> {
        let Some(mut pipeline) = self.chunks.first_pipeline(self.array)? else { return Ok(0) };
        while let Some(shard) = pipeline.shard() {
            pipeline = Arc::clone(&shard.inner);
        }
        Ok(if pipeline.steps.is_empty() { 0 } else { decoded_size(&pipeline).unwrap_or(usize::MAX) })
    }

    /// Reads one chunk. For a shard, this includes all jobs that it yields.
    fn chunk(
        &self,
        number: usize,
        state: OutputState,
        cache: Option<&'r CachedChunks<'r>>,
    ) -> Result<(), Error> {
        self.chunks.with_chunk(number, |chunk| {
            let pipeline = self.pipeline(&chunk)?;
            match pipeline.shard() {
                Some(shard) => self.shard(&chunk, shard, state, cache),
                None => self.fetch_chunk(&chunk, &pipeline, state, cache),
            }
        })
    }

    /// Reads a shard. Retries until everything that was read belongs to one state of its value.
    fn shard(
        &self,
        chunk: &RequestedChunk<'_, 'r>,
        shard: &Arc<ShardPipeline>,
        state: OutputState,
        cache: Option<&'r CachedChunks<'r>>,
    ) -> Result<(), Error> {
        let mut state = state;
        let mut cache = cache;
        for _ in 0..ATTEMPTS {
            let (value, jobs) = self.start_shard(chunk, shard, state, cache)?;
            self.run(jobs)?;
            if value.is_of_one_state() {
                return Ok(());
            }
            self.array.forget_index(chunk.index);
            // Cached chunks may belong to another state than the stored value.
            cache = None;
            state = OutputState::Written;
        }
        Err(self
            .array
            .chunk_error(chunk.index, StepError::chunk("the shard changes faster than it can be read")))
    }

    fn run(&self, jobs: Vec<Job<'r>>) -> Result<(), Error> {
        let size = jobs.iter().map(Job::decoded_size).fold(0, usize::saturating_add);
        self.array.for_each(jobs.len(), size, |number| {
            let job = &jobs[number];
            let outcome = self.fetch(job)?;
            self.run(self.next(job, outcome)?)
        })
    }

    /// Fetches all jobs of a generation in one call, then the jobs that they yield.
    fn by_generation(&self) -> Result<(), Error> {
        let mut numbers = 0..0;
        while numbers.end < self.chunks.len() {
            numbers = self.next_batch(numbers.end)?;
            let mut batch = self.start(numbers.clone())?;
            let mut jobs = mem::take(&mut batch.jobs);
            while !jobs.is_empty() {
                let outcomes = self.fetch_all(&jobs, &mut batch.alone)?;
                jobs = self.yielded(&jobs, outcomes)?;
            }
            self.read_again(batch)?;
        }
        Ok(())
    }

    fn yielded(&self, jobs: &[Job<'r>], outcomes: Vec<(usize, Outcome)>) -> Result<Vec<Job<'r>>, Error> {
        let yielded = Mutex::new(Vec::new());
        let outcomes: Vec<_> =
            outcomes.into_iter().map(|(number, outcome)| (number, Mutex::new(Some(outcome)))).collect();
        self.array.for_each(outcomes.len(), self.total, |place| {
            let (number, outcome) = &outcomes[place];
            let outcome = outcome.lock().unpoisoned().take();
            let next = self.next(&jobs[*number], outcome.unwrap_or(Outcome::Done))?;
            yielded.lock().unpoisoned().push((*number, next));
            Ok(())
        })?;
        let mut yielded = yielded.into_inner().unpoisoned();
        yielded.sort_unstable_by_key(|(number, _)| *number);
        Ok(yielded.into_iter().flat_map(|(_, next)| next).collect())
    }

    fn pipeline(&self, chunk: &RequestedChunk<'_, 'r>) -> Result<Arc<Pipeline>, Error> {
        self.array.pipeline_of(chunk.index, chunk.piece())
    }
}

pub(crate) fn whole_plan<'p>(shape: &[u64], wanted: &'p ElementSelection) -> Result<Plan<'p>, Error> {
    let axes = shape.iter().map(|&length| Axis::even(length, length));
    Ok(match wanted {
        ElementSelection::Box { runs, .. } => Plan::new(axes.zip(runs))?,
        ElementSelection::Points(points) => Plan::of_points(axes.collect(), points)?,
    })
}
