//! Writing of chunks, each under its lock. What is encoded on several threads is encoded before the lock is taken.
//!
//! To a store that keeps many requests in flight, chunks are written by as many threads, which mostly wait.

use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};

use zarr_spec::host::pipeline::Pipeline;
use zarr_spec::{ByteRange, Output};

use super::shard::{PreEncoded, Stored};
use super::source::{GatheredSlabs, Part, Source, gathered_size};
use super::spread::{Spread, Started};
use crate::budget::Permit;
use crate::error::Error;
use crate::flight::{self, IoBudget, IoPermit};
use crate::memory::Memory;
use crate::needs;
use crate::pipeline::{Decoded, Stages, StepError, decode, encode, encode_parts, encodes_parts};
use crate::plan::Plan;
use crate::reader::exact_size;
use crate::scratch::Scratch;
use crate::selection::ElementSelection;
use crate::stored::{Allowance, Needing, StoredArray, is_too_large};

/// A chunk that is written.
pub(super) struct ChunkWrite<'t> {
    pub(super) chunk: &'t [u64],
    pub(super) pipeline: &'t Pipeline,
    /// Whether nothing of what it held is kept.
    is_whole: bool,
    /// What is encoded on several threads, of a shard.
    pub(super) spread: Option<Started<'t>>,
}

/// A chunk that is on its way to a store that is far away.
struct FarValue<'f> {
    /// Of its piece.
    number: usize,
    /// Whether it is written as a whole, and `value` is what it is to hold.
    is_whole: bool,
    /// `None` if there is to be none.
    value: Option<Memory>,
    /// What a chunk that is not written as a whole may take.
    allowance: Allowance,
    io_permit: IoPermit<'f>,
    permit: Permit<'f>,
}

impl<'t> ChunkWrite<'t> {
    /// What is stored counts only where something of it is kept.
    fn needing(&self) -> Needing<'t> {
        let Self { chunk, pipeline, is_whole, .. } = *self;
        Needing { chunk, pipeline, encoded: if is_whole { Some(0) } else { exact_size(pipeline) } }
    }

    /// The same, of which several threads encode inner chunks.
    pub(super) fn spread_over<'s>(&'s self, started: Started<'s>) -> ChunkWrite<'s> {
        ChunkWrite { spread: Some(started), ..*self }
    }

    /// Whether nothing of what the chunk held is kept.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }
}

impl StoredArray {
    /// Writes all elements that are wanted: each chunk once.
    pub(crate) fn write_elements(&self, wanted: &ElementSelection, source: Source<'_>) -> Result<(), Error> {
        let plan = self.plan(wanted)?;
        let strides = wanted.strides(self.metadata.shape.len())?;
        let total = match source {
            Source::Fixed { bytes, .. } => bytes.len(),
            Source::Variable(_) => usize::MAX,
        };
        let concurrency = self.resolved.store.read_hints().max_concurrency;
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
        let io_budget = IoBudget::new(processors, self.budget().size() / 2);
        let mean = source.size() / plan.len().max(1);
        let make = |number| {
            let piece = plan.piece(number)?;
            self.far_value(number, &Part { piece: &piece, source, strides }, spread, mean, &io_budget)
        };
        flight::produce_and_store(
            plan.len(),
            (processors, concurrency.max(processors)),
            make,
            |made: FarValue<'_>| {
                let piece = plan.piece(made.number)?;
                self.write_far_cell(made, &Part { piece: &piece, source, strides }, &io_budget)
            },
        )
    }

    fn write_cell(&self, part: &Part<'_>, spread: Spread) -> Result<(), Error> {
        let chunk = part.piece.cell();
        let pipeline = self.pipeline_of(part.piece.cell(), part.piece)?;
        let target =
            ChunkWrite { chunk, pipeline: &pipeline, is_whole: self.is_covered(part)?, spread: None };
        self.with_spread(target, part, spread, |target| match target.is_whole {
            true => self.write_whole(target, part),
            false => self.write_part(target, part),
        })
    }

    /// Nothing is read, and only storing it is under the lock.
    fn write_whole(&self, target: &ChunkWrite<'_>, part: &Part<'_>) -> Result<(), Error> {
        let chunk = target.needing();
        let need = |allowance| self.need_of_writing(target, part, allowance);
        self.with_memory(chunk, need, |scratch, _| {
            let value = self.value(target, part, None, &PreEncoded::new(), scratch)?;
            let _alone = self.lock(target.chunk);
            self.store(target.chunk, value)
        })
    }

    /// Changes a part of what is stored.
    fn write_part(&self, target: &ChunkWrite<'_>, part: &Part<'_>) -> Result<(), Error> {
        let chunk = target.needing();
        let need = |allowance| self.need_of_writing(target, part, allowance);
        self.with_memory(chunk, need, |scratch, allowance| {
            let pre_encoded = self.encoded_ahead(target, &mut scratch.written)?;
            // The buffer of what is stored outlives what is made of it.
            let mut buffer = mem::take(&mut scratch.encoded);
            // From here on, all work is done on this thread.
            let _alone = self.lock(target.chunk);
            let mut output = buffer.output(self.value_limit(Some(allowance.encoded)));
            let got = self.get_once(target.chunk, ByteRange::Full, &mut output)?;
            let old = got.as_ref().map(|got| got.bytes(&output));
            let value = self.value(target, part, old, &pre_encoded, scratch)?;
            self.store(target.chunk, value)?;
            scratch.encoded = buffer;
            Ok(())
        })
    }

    /// The value of a chunk that is written as a whole to a store that is far away, and memory for the value of any: a
    /// thread that stores values waits for no memory. What is in memory while others compute is the value alone. `mean` is
    /// the size of a chunk of elements of which nobody knows it.
    fn far_value<'f>(
        &'f self,
        number: usize,
        part: &Part<'_>,
        spread: Spread,
        mean: usize,
        io_budget: &'f IoBudget,
    ) -> Result<FarValue<'f>, Error> {
        let chunk = part.piece.cell();
        let pipeline = self.pipeline_of(part.piece.cell(), part.piece)?;
        let decoded = pipeline.array.size().limit().and_then(|size| usize::try_from(size).ok());
        let mut io_permit = io_budget.acquire(decoded.unwrap_or(mean));
        let is_whole = self.is_covered(part)?;
        let target = ChunkWrite { chunk, pipeline: &pipeline, is_whole, spread: None };
        let size = pipeline.encoded_size.limit().unwrap_or(decoded.unwrap_or(mean) as u64);
        if !is_whole {
            let allowance = self.first_allowance(target.needing())?;
            let need = self.need_of_writing(&target, part, allowance).saturating_add(size);
            self.check_need(chunk, need)?;
            let permit = self.budget().acquire(need);
            return Ok(FarValue { number, is_whole, value: None, allowance, io_permit, permit });
        }
        let ((value, allowance), mut permit) = self.with_spread(target, part, spread, |target| {
            let need = |allowance| self.need_of_writing(target, part, allowance);
            self.with_memory_and_permit(target.needing(), need, size, |scratch, allowance| {
                Ok((self.computed(target, part, None, io_budget, scratch)?, allowance))
            })
        })?;
        let size = value.as_ref().map_or(0, Memory::len);
        io_permit.resize(size);
        permit.resize(size as u64);
        Ok(FarValue { number, is_whole, value, allowance, io_permit, permit })
    }

    /// Stores it, or what becomes of the value that is stored.
    fn write_far_cell(&self, made: FarValue<'_>, part: &Part<'_>, io_budget: &IoBudget) -> Result<(), Error> {
        let FarValue { is_whole, value, mut allowance, mut io_permit, mut permit, .. } = made;
        let chunk = part.piece.cell();
        if is_whole {
            let _alone = self.lock(chunk);
            return self.store(chunk, value.as_deref());
        }
        let pipeline = self.pipeline_of(part.piece.cell(), part.piece)?;
        let target = ChunkWrite { chunk, pipeline: &pipeline, is_whole, spread: None };
        let _alone = self.lock(chunk);
        let value = loop {
            match self.changed_far_value(&target, part, allowance, io_budget) {
                Err(error) if is_too_large(&error) => {
                    allowance = self.larger_allowance(target.needing(), allowance, error)?;
                    let need = self.need_of_writing(&target, part, allowance);
                    self.check_need(chunk, need)?;
                    permit.resize(need.max(permit.size()));
                }
                value => break value?,
            }
        };
        let size = value.as_ref().map_or(0, Memory::len);
        io_permit.resize(size);
        permit.resize(size as u64);
        self.store(chunk, value.as_deref())
    }

    /// What becomes of the value that is stored. The caller has the lock of the chunk, and memory for it.
    fn changed_far_value(
        &self,
        target: &ChunkWrite<'_>,
        part: &Part<'_>,
        allowance: Allowance,
        io_budget: &IoBudget,
    ) -> Result<Option<Memory>, Error> {
        self.budget().with_paid_scratch(|scratch| {
            scratch.stages.set_unknown(allowance.unknown);
            let mut output = Output::at_most(self.value_limit(Some(allowance.encoded)));
            let got = self.get_once(target.chunk, ByteRange::Full, &mut output)?;
            let old = got.as_ref().map(|got| got.bytes(&output));
            self.computed(target, part, old, io_budget, scratch)
        })
    }

    /// The value of a chunk, once a processor is free.
    fn computed(
        &self,
        target: &ChunkWrite<'_>,
        part: &Part<'_>,
        old: Option<&[u8]>,
        io_budget: &IoBudget,
        scratch: &mut Scratch,
    ) -> Result<Option<Memory>, Error> {
        io_budget.with_cpu(|| {
            let Some(value) = self.value(target, part, old, &PreEncoded::new(), scratch)? else {
                return Ok(None);
            };
            let (mut memory, _) = self.context().buffer_pool.get(value.len())?;
            memory.copy_from_slice(value);
            Ok(Some(memory))
        })
    }

    /// The value of a chunk when `part` is written, of which `old` is stored; `None` if there is to be none. Of a chunk
    /// that is written as a whole, nobody looks at what is stored.
    fn value<'w>(
        &self,
        target: &ChunkWrite<'_>,
        part: &Part<'_>,
        old: Option<&[u8]>,
        pre_encoded: &PreEncoded,
        scratch: &'w mut Scratch,
    ) -> Result<Option<&'w [u8]>, Error> {
        if !target.is_whole && old.is_none() {
            self.checked_fill(target.chunk)?;
        }
        match (target.pipeline.shard(), target.is_whole) {
            (Some(shard), true) => self.whole_shard(target, shard, part, scratch),
            (Some(shard), false) => {
                let stored = Stored { old, pre_encoded };
                self.changed_shard(target, shard, part, stored, scratch)
            }
            (None, _) => self.chunk_value(target, part, old, scratch),
        }
    }

    fn chunk_value<'w>(
        &self,
        target: &ChunkWrite<'_>,
        part: &Part<'_>,
        old: Option<&[u8]>,
        scratch: &'w mut Scratch,
    ) -> Result<Option<&'w [u8]>, Error> {
        let ChunkWrite { chunk, pipeline, .. } = *target;
        let Scratch { stages, written, .. } = scratch;
        let encoded = match old {
            Some(bytes) => {
                let decoded = decode(pipeline, bytes, stages, None, self.bounds(stages.unknown()));
                let decoded = decoded.map_err(|error| self.chunk_error(chunk, error))?;
                let existing = decoded.as_ref().map(|decoded| stages.bytes(decoded, bytes));
                self.encode_part(chunk, pipeline, part, existing, written)?
            }
            None => self.encode_part(chunk, pipeline, part, None, written)?,
        };
        Ok(encoded.map(|encoded| written.bytes(&encoded, &[])))
    }

    /// Bytes that writing a chunk takes, what is stored of it included.
    fn need_of_writing(&self, target: &ChunkWrite<'_>, part: &Part<'_>, allowance: Allowance) -> u64 {
        let Allowance { encoded, unknown } = allowance;
        let ChunkWrite { pipeline, is_whole, .. } = *target;
        let (chunk, values) = match pipeline.shard() {
            None => (pipeline, 0),
            Some(shard) => {
                let values = self.size_of_written(shard, part, unknown);
                // The part of the value that is kept, and the size of the inner chunks that are encoded ahead.
                let values = if is_whole { values } else { values.saturating_mul(2).saturating_add(encoded) };
                (&*shard.inner, values.saturating_add(needs::of_index(shard)))
            }
        };
        let reading =
            if is_whole { 0 } else { needs::decoding(chunk, false, unknown).saturating_add(encoded) };
        [needs::encoding(chunk, unknown), reading].into_iter().fold(values, u64::saturating_add)
    }

    /// Whether all elements of a chunk that are inside of the array are written.
    fn is_covered(&self, part: &Part<'_>) -> Result<bool, Error> {
        let extents = part.piece.extents()?;
        let lengths = extents.iter().zip(&self.metadata.shape);
        Ok(part.piece.covers(lengths.map(|(extent, &whole)| extent.length_inside(whole))))
    }

    /// Encodes a chunk or inner chunk that held `existing`; `None` if it is not to be stored, being fill values alone.
    /// Takes no other thread.
    pub(super) fn encode_part(
        &self,
        chunk: &[u64],
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
            return encoded.map_err(|error| self.chunk_error(chunk, error));
        }
        let gathered = part.gather(pipeline, existing, stages).and_then(|size| match size {
            None if self.stores_fill_values() => gathered_size(pipeline, stages).map(Some),
            size => Ok(size),
        });
        let Some(size) = gathered.map_err(|error| self.chunk_error(chunk, error))? else { return Ok(None) };
        let encoded = encode(pipeline, size, stages, self.bounds(0));
        encoded.map(Some).map_err(|error| self.chunk_error(chunk, error))
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
        encode_parts(pipeline, &mut slabs, stages, self.bounds(0)).map(Some)
    }

    /// Stores the value of a chunk, or removes it. The caller has its lock.
    pub(super) fn store(&self, chunk: &[u64], value: Option<&[u8]>) -> Result<(), Error> {
        self.check_need(chunk, value.map_or(0, <[u8]>::len) as u64)?;
        self.forget_index(chunk);
        match value {
            Some(value) => self.with_key(chunk, |key| Ok(self.resolved.store.set(key, value.into())?)),
            None => self.erase(chunk),
        }
    }
}
