//! Encoding the value of a chunk.

use zarr_spec::host::pipeline::Pipeline;

use super::gather::{GatheredSlabs, fill_value_size};
use super::job::{ChunkElements, Job};
use super::shard::{OldShard, PreEncoded};
use crate::error::Error;
use crate::needs;
use crate::pipeline::{Decoded, Stages, StepError, decode, encode, encode_parts, encodes_parts};
use crate::scratch::Scratch;
use crate::stored::{Allowance, StoredArray};

impl StoredArray {
    pub(super) fn job<'j>(
        &self,
        elements: &'j ChunkElements<'j>,
        pipeline: &'j Pipeline,
    ) -> Result<Job<'j>, Error> {
        let extents = elements.piece.extents()?;
        let lengths = extents.iter().zip(&self.metadata.shape);
        let is_part = !elements.piece.covers(lengths.map(|(extent, &whole)| extent.length_inside(whole)));
        let is_whole = match self.context().may_grow {
            true => elements.piece.covers(extents.iter().map(|extent| extent.end - extent.start)),
            false => !is_part,
        };
        Ok(Job { chunk: elements.piece.chunk(), pipeline, elements, is_whole, is_part, parallel: None })
    }

    /// Returns the new value of a chunk whose stored value is `old`; `None` if it should not be stored. If the whole
    /// chunk is written, `old` is not used.
    pub(super) fn encoded_value<'w>(
        &self,
        job: &Job<'_>,
        old: Option<&[u8]>,
        pre_encoded: &PreEncoded,
        scratch: &'w mut Scratch,
    ) -> Result<Option<&'w [u8]>, Error> {
        if job.is_part && old.is_none() {
            self.checked_fill(job.chunk)?;
        }
        match (job.pipeline.shard(), job.is_whole) {
            (Some(shard), true) => self.whole_shard(job, shard, scratch),
            (Some(shard), false) => {
                self.modified_shard(job, shard, OldShard { value: old, pre_encoded }, scratch)
            }
            (None, _) => self.encoded_chunk(job, old, scratch),
        }
    }

    fn encoded_chunk<'w>(
        &self,
        job: &Job<'_>,
        old: Option<&[u8]>,
        scratch: &'w mut Scratch,
    ) -> Result<Option<&'w [u8]>, Error> {
        let Job { chunk, pipeline, elements, .. } = *job;
        let Scratch { stages, written, .. } = scratch;
        let encoded = match old {
            Some(bytes) => {
                let decoded = decode(pipeline, bytes, stages, None, self.bounds(stages.unknown));
                let decoded = decoded.map_err(|error| self.chunk_error(chunk, error))?;
                let existing = decoded.as_ref().map(|decoded| stages.bytes(decoded, bytes));
                self.encode_elements(chunk, pipeline, elements, existing, written)?
            }
            None => self.encode_elements(chunk, pipeline, elements, None, written)?,
        };
        Ok(encoded.map(|encoded| written.bytes(&encoded, &[])))
    }

    /// Returns the memory in bytes for writing a chunk, including its stored value.
    pub(super) fn need_of_writing(&self, job: &Job<'_>, allowance: Allowance) -> u64 {
        let Allowance { encoded, unknown } = allowance;
        let Job { pipeline, is_whole, elements, .. } = *job;
        let (chunk, values) = match pipeline.shard() {
            None => (pipeline, 0),
            Some(shard) => {
                let values = self.size_of_inner_chunks(shard, elements, unknown);
                // A modified shard also contains old inner chunks and previously encoded ones.
                let values = if is_whole { values } else { values.saturating_mul(2).saturating_add(encoded) };
                (&*shard.inner, values.saturating_add(needs::of_index(shard)))
            }
        };
        let reading =
            if is_whole { 0 } else { needs::decoding(chunk, false, unknown).saturating_add(encoded) };
        [needs::encoding(chunk, unknown), reading].into_iter().fold(values, u64::saturating_add)
    }

    /// Encodes a chunk or inner chunk that held `existing`. Returns `None` if it holds only fill values and should not
    /// be stored. Uses no other threads.
    pub(super) fn encode_elements(
        &self,
        chunk: &[u64],
        pipeline: &Pipeline,
        elements: &ChunkElements<'_>,
        existing: Option<&[u8]>,
        stages: &mut Stages,
    ) -> Result<Option<Decoded>, Error> {
        if existing.is_none()
            && encodes_parts(pipeline)
            && let Some(slabs) = elements.in_slabs(pipeline)
        {
            let encoded = self.encode_slabs(pipeline, slabs, stages);
            return encoded.map_err(|error| self.chunk_error(chunk, error));
        }
        let gathered = elements.gather(pipeline, existing, stages).and_then(|size| match size {
            None if self.stores_fill_values() => fill_value_size(pipeline, stages).map(Some),
            size => Ok(size),
        });
        let Some(size) = gathered.map_err(|error| self.chunk_error(chunk, error))? else { return Ok(None) };
        let encoded = encode(pipeline, size, stages, self.bounds(0));
        encoded.map(Some).map_err(|error| self.chunk_error(chunk, error))
    }

    /// Like [`Self::encode_elements`], for a chunk that is gathered and encoded part by part.
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
}
