//! Writing of chunks, each under its lock. What is encoded on several threads is encoded before the lock is taken.
//!
//! To a store that keeps many requests in flight, chunks are written by as many threads, which mostly wait.

use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};

use zarr_spec::pipeline::Pipeline;
use zarr_spec::{ByteRange, Output};

use super::shard::Ahead;
use super::source::{GatheredSlabs, Part, Source, gathered_size};
use crate::array::{ArrayInner, Worker};
use crate::error::Error;
use crate::flight::{self, Flight, Room};
use crate::memory::Memory;
use crate::pipeline::{Decoded, Stages, StepError, decode, encode, encode_parts, encodes_parts};
use crate::plan::Plan;
use crate::read::contents;
use crate::selection::Wanted;

/// Where the inner chunks of a shard are encoded, those of which nothing is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spread {
    /// On the thread that writes the shard.
    No,
    /// On that thread, and on all others of the context that have nothing else to do.
    OverContext,
    /// On so many threads of their own.
    OverThreads(usize),
}

/// A cell that is written.
pub(super) struct Target<'t> {
    pub(super) cell: &'t [u64],
    pub(super) pipeline: &'t Pipeline,
    /// Whether nothing of what it held is kept.
    is_whole: bool,
    pub(super) spread: Spread,
    /// What is encoded already, of a shard of which something is kept.
    pub(super) ahead: Ahead,
}

/// A cell that is on its way to a store that is far away.
struct FarValue<'f> {
    /// Of its piece.
    number: usize,
    /// Whether it is written as a whole, and `value` is what it is to hold.
    is_whole: bool,
    /// `None` if there is to be none.
    value: Option<Memory>,
    room: Room<'f>,
}

impl ArrayInner {
    /// Writes all elements that are wanted: each chunk once.
    pub(super) fn write_wanted(&self, wanted: &Wanted, source: Source<'_>) -> Result<(), Error> {
        let plan = self.plan(wanted)?;
        let strides = wanted.strides(self.metadata.shape.len())?;
        let total = match source {
            Source::Fixed { bytes, .. } => bytes.len(),
            Source::Variable(_) => usize::MAX,
        };
        let concurrency = self.resolved.store.manner().concurrency;
        if concurrency > 0 {
            return self.write_remotely(&plan, source, &strides, concurrency);
        }
        let threads = self.context().thread_count();
        let may_spread = self.resolved.chain.shard().is_some() && threads > 1;
        let left = AtomicUsize::new(plan.len());
        self.for_each(plan.len(), total, |number| {
            // Each thread has shards of its own, but for those that are begun last: whoever is done helps with them.
            let is_spread = may_spread && left.fetch_sub(1, Ordering::Relaxed) <= threads;
            let spread = if is_spread { Spread::OverContext } else { Spread::No };
            let piece = plan.piece(number)?;
            self.write_cell(&Part { piece: &piece, source, strides: &strides }, spread)
        })
    }

    /// Writes all cells of `plan`, with as many requests in flight as pay. No more threads compute at once than the
    /// context has.
    fn write_remotely(
        &self,
        plan: &Plan<'_>,
        source: Source<'_>,
        strides: &[usize],
        concurrency: usize,
    ) -> Result<(), Error> {
        let threads = self.context().thread_count();
        // Few shards leave threads idle: then the inner chunks of each are encoded on all of them.
        let is_spread = self.resolved.chain.shard().is_some() && plan.len() < 2 * threads;
        let (processors, spread) = match is_spread {
            true => (1, Spread::OverThreads(threads)),
            false => (threads, Spread::No),
        };
        let flight = Flight::new(processors);
        let mean = source.size() / plan.len().max(1);
        let make = |number| {
            let piece = plan.piece(number)?;
            self.far_value(number, &Part { piece: &piece, source, strides }, spread, mean, &flight)
        };
        flight::relay(plan.len(), (processors, concurrency.max(processors)), make, |made: FarValue<'_>| {
            let piece = plan.piece(made.number)?;
            self.write_far_cell(made, &Part { piece: &piece, source, strides }, spread, &flight)
        })
    }

    fn write_cell(&self, part: &Part<'_>, spread: Spread) -> Result<(), Error> {
        let cell = part.piece.cell();
        let pipeline = self.pipeline_of(part.piece)?;
        let is_whole = self.is_covered(part)?;
        let mut target = Target { cell, pipeline: &pipeline, is_whole, spread, ahead: Ahead::new() };
        if spread != Spread::No
            && !is_whole
            && let Some(shard) = pipeline.shard()
        {
            target.ahead = self.encoded_ahead(&target, shard, part)?;
        }
        self.workers.with(Worker::default, |worker| {
            if is_whole {
                // Nothing is read, and only storing it is under the lock.
                let value = self.value(&target, part, None, worker)?;
                let _alone = self.lock(cell);
                return self.store(cell, value);
            }
            // The buffer of what is stored outlives what is made of it.
            let mut buffer = mem::take(&mut worker.encoded);
            // From here on, all work is done on this thread.
            let _alone = self.lock(cell);
            let mut output = buffer.output(self.value_limit(None));
            let got = self.get_once(cell, ByteRange::Full, &mut output)?;
            let old = got.as_ref().map(|got| contents(got, output.written()));
            let value = self.value(&target, part, old, worker)?;
            self.store(cell, value)?;
            worker.encoded = buffer;
            Ok(())
        })
    }

    /// The value of a cell that is written as a whole to a store that is far away, and room for the value of any. What is
    /// in memory while others compute is the value alone. `mean` is the size of a chunk of elements of which nobody knows
    /// it.
    fn far_value<'f>(
        &self,
        number: usize,
        part: &Part<'_>,
        spread: Spread,
        mean: usize,
        flight: &'f Flight,
    ) -> Result<FarValue<'f>, Error> {
        let pipeline = self.pipeline_of(part.piece)?;
        let decoded = pipeline.array.size().limit().and_then(|size| usize::try_from(size).ok());
        let mut room = flight.room(decoded.unwrap_or(mean));
        let is_whole = self.is_covered(part)?;
        let mut value = None;
        if is_whole {
            value = self.computed(part, &pipeline, (is_whole, spread), None, flight)?;
            room.resize(value.as_ref().map_or(0, Memory::len));
        }
        Ok(FarValue { number, is_whole, value, room })
    }

    /// Stores it, or what becomes of the value that is stored.
    fn write_far_cell(
        &self,
        made: FarValue<'_>,
        part: &Part<'_>,
        spread: Spread,
        flight: &Flight,
    ) -> Result<(), Error> {
        let FarValue { is_whole, value, mut room, .. } = made;
        let cell = part.piece.cell();
        let _alone = self.lock(cell);
        if is_whole {
            return self.store(cell, value.as_deref());
        }
        let mut output = Output::at_most(self.value_limit(None));
        let got = self.get_once(cell, ByteRange::Full, &mut output)?;
        let old = got.as_ref().map(|got| contents(got, output.written()));
        let value = self.computed(part, &*self.pipeline_of(part.piece)?, (is_whole, spread), old, flight)?;
        room.resize(value.as_ref().map_or(0, Memory::len));
        self.store(cell, value.as_deref())
    }

    /// The value of a cell, once a processor is free.
    fn computed(
        &self,
        part: &Part<'_>,
        pipeline: &Pipeline,
        (is_whole, spread): (bool, Spread),
        old: Option<&[u8]>,
        flight: &Flight,
    ) -> Result<Option<Memory>, Error> {
        let target = Target { cell: part.piece.cell(), pipeline, is_whole, spread, ahead: Ahead::new() };
        flight.compute(|| {
            self.workers.with(Worker::default, |worker| {
                let Some(value) = self.value(&target, part, old, worker)? else { return Ok(None) };
                let (mut memory, _) = self.context().kept.get(value.len())?;
                memory.copy_from_slice(value);
                Ok(Some(memory))
            })
        })
    }

    /// The value of a cell when `part` is written, of which `old` is stored; `None` if there is to be none. Of a cell
    /// that is written as a whole, nobody looks at what is stored.
    fn value<'w>(
        &self,
        target: &Target<'_>,
        part: &Part<'_>,
        old: Option<&[u8]>,
        worker: &'w mut Worker,
    ) -> Result<Option<&'w [u8]>, Error> {
        if !target.is_whole && old.is_none() {
            self.checked_fill(target.cell)?;
        }
        match (target.pipeline.shard(), target.is_whole) {
            (Some(shard), true) => self.whole_shard(target, shard, part, worker),
            (Some(shard), false) => self.changed_shard(target, shard, part, old, worker),
            (None, _) => self.chunk_value(target, part, old, worker),
        }
    }

    fn chunk_value<'w>(
        &self,
        target: &Target<'_>,
        part: &Part<'_>,
        old: Option<&[u8]>,
        worker: &'w mut Worker,
    ) -> Result<Option<&'w [u8]>, Error> {
        let Target { cell, pipeline, .. } = *target;
        let Worker { stages, written, .. } = worker;
        let encoded = match old {
            Some(bytes) => {
                let decoded = decode(pipeline, bytes, stages, None, self.bounds());
                let decoded = decoded.map_err(|error| self.chunk_error(cell, error))?;
                let existing = decoded.as_ref().map(|decoded| stages.bytes(decoded, bytes));
                self.encode_part(cell, pipeline, part, existing, written)?
            }
            None => self.encode_part(cell, pipeline, part, None, written)?,
        };
        Ok(encoded.map(|encoded| written.bytes(&encoded, &[])))
    }

    /// Whether all elements of a cell that are inside of the array are written.
    fn is_covered(&self, part: &Part<'_>) -> Result<bool, Error> {
        let extents = part.piece.extents()?;
        let lengths = extents.iter().zip(&self.metadata.shape);
        Ok(part.piece.covers(lengths.map(|(extent, &whole)| extent.length_inside(whole))))
    }

    /// Encodes a chunk or inner chunk that held `existing`; `None` if it is not to be stored, being fill values alone.
    /// Takes no other thread.
    pub(super) fn encode_part(
        &self,
        cell: &[u64],
        pipeline: &Pipeline,
        part: &Part<'_>,
        existing: Option<&[u8]>,
        stages: &mut Stages,
    ) -> Result<Option<Decoded>, Error> {
        if existing.is_none()
            && encodes_parts(pipeline)
            && let Some(slabs) = part.in_slabs(pipeline)
        {
            let encoded = self.encode_slabs(pipeline, slabs, stages);
            return encoded.map_err(|error| self.chunk_error(cell, error));
        }
        let gathered = part.gather(pipeline, existing, stages).and_then(|size| match size {
            None if self.stores_fill_values() => gathered_size(pipeline, stages).map(Some),
            size => Ok(size),
        });
        let Some(size) = gathered.map_err(|error| self.chunk_error(cell, error))? else { return Ok(None) };
        let encoded = encode(pipeline, size, stages, self.bounds());
        encoded.map(Some).map_err(|error| self.chunk_error(cell, error))
    }

    /// As [`Self::encode_part`], of a chunk that is never put together as a whole.
    fn encode_slabs(
        &self,
        pipeline: &Pipeline,
        mut slabs: GatheredSlabs<'_>,
        stages: &mut Stages,
    ) -> Result<Option<Decoded>, StepError> {
        if !self.stores_fill_values() && slabs.are_fill(stages)? {
            return Ok(None);
        }
        encode_parts(pipeline, &mut slabs, stages, self.bounds()).map(Some)
    }

    /// Stores the value of a chunk, or removes it. The caller has its lock.
    pub(super) fn store(&self, cell: &[u64], value: Option<&[u8]>) -> Result<(), Error> {
        self.check_value_size(cell, value.map_or(0, <[u8]>::len) as u64)?;
        self.forget_index(cell);
        match value {
            Some(value) => self.with_key(cell, |key| Ok(self.resolved.store.set(key, value)?)),
            None => self.erase(cell),
        }
    }
}
