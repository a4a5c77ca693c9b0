//! Writing of chunks, each under its lock. What is encoded on several threads is encoded before the lock is taken.

use zarr_spec::ByteRange;
use zarr_spec::pipeline::Pipeline;

use super::source::{GatheredSlabs, Part, Source, gathered_size};
use crate::array::{ArrayInner, Worker};
use crate::copy::MAX_RANK;
use crate::error::Error;
use crate::pipeline::{Decoded, Stages, StepError, decode, encode, encode_parts, encodes_parts};
use crate::read::contents;
use crate::selection::Wanted;

impl ArrayInner {
    /// Writes all elements that are wanted: each chunk once.
    pub(super) fn write_wanted(&self, wanted: &Wanted, source: Source<'_>) -> Result<(), Error> {
        let plan = self.plan(wanted)?;
        let strides = wanted.strides(self.metadata.shape.len())?;
        let total = match source {
            Source::Fixed { bytes, .. } => bytes.len(),
            Source::Variable(_) => usize::MAX,
        };
        // Few shards leave threads idle: then the inner chunks of each are encoded on all of them.
        let is_spread =
            self.resolved.chain.shard().is_some() && plan.len() < 2 * self.context().thread_count();
        let write = |number| {
            let piece = plan.piece(number)?;
            self.write_cell(&Part { piece: &piece, source, strides: &strides }, is_spread)
        };
        match is_spread {
            true => (0..plan.len()).try_for_each(write),
            false => self.for_each(plan.len(), total, write),
        }
    }

    fn write_cell(&self, part: &Part<'_>, is_spread: bool) -> Result<(), Error> {
        let cell = part.piece.cell();
        let pipeline = self.pipeline(cell, &self.cell_shape(cell)?[..cell.len()])?;
        let is_whole = part.piece.covers(self.lengths_inside(cell)?.into_iter().take(cell.len()));
        self.workers.with(Worker::default, |worker| match (pipeline.shard(), is_whole) {
            (Some(shard), true) => self.write_shard(cell, shard, part, is_spread, worker),
            (Some(shard), false) => self.write_to_shard(cell, shard, part, worker),
            (None, true) => self.write_chunk(cell, &pipeline, part, &mut worker.written),
            (None, false) => self.write_to_chunk(cell, &pipeline, part, worker),
        })
    }

    /// Elements of the chunk at `cell` that are inside of the array, per dimension.
    fn lengths_inside(&self, cell: &[u64]) -> Result<[u64; MAX_RANK], Error> {
        let mut lengths = [0; MAX_RANK];
        let dimensions = lengths.iter_mut().zip(cell).zip(&self.metadata.shape);
        for (dimension, ((inside, &chunk), &length)) in dimensions.enumerate() {
            let range = self.resolved.grid.chunk_range(dimension, chunk)?;
            *inside = range.end.min(length).saturating_sub(range.start);
        }
        Ok(lengths)
    }

    /// Writes a whole chunk: nothing is read, and only storing it is under the lock.
    fn write_chunk(
        &self,
        cell: &[u64],
        pipeline: &Pipeline,
        part: &Part<'_>,
        stages: &mut Stages,
    ) -> Result<(), Error> {
        let encoded = self.encode_part(cell, pipeline, part, None, stages)?;
        let _alone = self.lock(cell);
        self.store(cell, encoded.as_ref().map(|encoded| stages.bytes(encoded, &[])))
    }

    /// Writes a part of a chunk: what else it holds is kept.
    fn write_to_chunk(
        &self,
        cell: &[u64],
        pipeline: &Pipeline,
        part: &Part<'_>,
        worker: &mut Worker,
    ) -> Result<(), Error> {
        let Worker { encoded: buffer, stages, written, .. } = worker;
        let _alone = self.lock(cell);
        let mut output = buffer.output(self.value_limit(None));
        let encoded = match self.get_once(cell, ByteRange::Full, &mut output)? {
            Some(got) => {
                let bytes = contents(&got, output.written());
                let decoded = decode(pipeline, bytes, stages, None, self.bounds());
                let decoded = decoded.map_err(|error| self.chunk_error(cell, error))?;
                let existing = decoded.as_ref().map(|decoded| stages.bytes(decoded, bytes));
                self.encode_part(cell, pipeline, part, existing, written)?
            }
            None => {
                self.checked_fill(cell)?;
                self.encode_part(cell, pipeline, part, None, written)?
            }
        };
        self.store(cell, encoded.as_ref().map(|encoded| written.bytes(encoded, &[])))
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
