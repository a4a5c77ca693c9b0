//! Writing of shards: inner chunk by inner chunk, then the index.

use std::collections::HashMap;

use zarr_spec::CodecError;
use zarr_spec::host::pipeline::{Pipeline, ShardPipeline};

use super::chunk::ChunkWrite;
use super::source::{Part, Source};
use super::spread::EncodedInner;
use crate::context::PARALLEL;
use crate::error::Error;
use crate::pipeline::{Decoded, Stages, StepError, decode};
use crate::plan::Plan;
use crate::scratch::Scratch;
use crate::shape::position;
use crate::shard::{ShardIndex, ShardWriter, inner_axes, inner_count, part};
use crate::stored::StoredArray;

/// Inner chunks that are encoded before the shard is read that they go into, by the pieces that they come from; `None`
/// for those that are not to be stored.
pub(super) type PreEncoded = HashMap<usize, Option<Vec<u8>>>;

/// What a shard is made of that is written in part.
#[derive(Clone, Copy)]
pub(super) struct Stored<'s> {
    /// The value that is stored.
    pub(super) old: Option<&'s [u8]>,
    pub(super) pre_encoded: &'s PreEncoded,
}

/// What is written to a shard.
pub(super) struct ShardPart<'p> {
    array: &'p StoredArray,
    chunk: &'p [u64],
    shard: &'p ShardPipeline,
    /// The inner chunks that are concerned.
    plan: Plan<'p>,
    source: Source<'p>,
    /// Elements of the source between neighbours, per dimension of the shard.
    strides: Vec<usize>,
}

impl StoredArray {
    /// The value of a shard that is written as a whole; `None` for one without inner chunks.
    pub(super) fn whole_shard<'w>(
        &self,
        target: &ChunkWrite<'_>,
        shard: &ShardPipeline,
        part: &Part<'_>,
        scratch: &'w mut Scratch,
    ) -> Result<Option<&'w [u8]>, Error> {
        let codec = |error: CodecError| self.chunk_error(target.chunk, error);
        let part = ShardPart::new(self, target.chunk, shard, part)?;
        let Scratch { stages, value: buffer, written, .. } = scratch;
        // Memory grows to no more than what the inner chunks may have.
        let limit = target.pipeline.encoded_size.limit().map(|limit| limit.saturating_add(1));
        let mut value = buffer.output(self.value_limit(limit));
        let mut writer = ShardWriter::new(shard, &mut value).map_err(codec)?;
        let mut put = |position, bytes: &[u8]| writer.put(position, bytes, &mut value).map_err(codec);
        if let Some(spread) = target.spread {
            spread.run(written, |EncodedInner { position, bytes, .. }| {
                bytes.map_or(Ok(()), |bytes| put(position, &bytes))
            })?;
        } else {
            for number in 0..part.plan.len() {
                if let (position, Some(encoded)) = part.encode(number, None, written)? {
                    put(position, written.bytes(&encoded, &[]))?;
                }
            }
        }
        let index = writer.finish(shard, &mut value, stages).map_err(codec)?;
        let size = value.written().len();
        Ok((!index.is_empty()).then(|| buffer.bytes(size)))
    }

    /// Encodes inner chunks of a shard of which a part is written, on several threads: those of which nothing is kept,
    /// where that pays. No lock may be held.
    pub(super) fn encoded_ahead(
        &self,
        target: &ChunkWrite<'_>,
        stages: &mut Stages,
    ) -> Result<PreEncoded, Error> {
        let mut pre_encoded = PreEncoded::new();
        if let Some(spread) = target.spread {
            spread.run(stages, |EncodedInner { number, bytes, .. }| {
                pre_encoded.insert(number, bytes);
                Ok(())
            })?;
        }
        Ok(pre_encoded)
    }

    /// Bytes that the inner chunks of a shard have at most that are written.
    pub(super) fn size_of_written(&self, shard: &ShardPipeline, part: &Part<'_>, unknown: u64) -> u64 {
        let plan = part.piece.divided(&shard.order, inner_axes(shard));
        let size = shard.inner.encoded_size.limit().or(shard.inner.array.size().limit());
        let Some(size) = size else { return unknown };
        plan.map_or(u64::MAX, |plan| size.saturating_mul(plan.len() as u64))
    }

    /// The value of a shard of which `old` is stored and a part is written: inner chunks that are not concerned are kept
    /// as they are stored.
    pub(super) fn changed_shard<'w>(
        &self,
        target: &ChunkWrite<'_>,
        shard: &ShardPipeline,
        part: &Part<'_>,
        stored: Stored<'_>,
        scratch: &'w mut Scratch,
    ) -> Result<Option<&'w [u8]>, Error> {
        let Stored { old, pre_encoded } = stored;
        let codec = |error: CodecError| self.chunk_error(target.chunk, error);
        let part = ShardPart::new(self, target.chunk, shard, part)?;
        let touched = part.touched()?;
        let Scratch { stages, value: buffer, written, .. } = scratch;
        let mut value = buffer.output(self.value_limit(None));
        let old_index = match old {
            Some(old) => ShardIndex::of_value(shard, old, stages).map_err(codec)?,
            None => ShardIndex::empty(shard).map_err(codec)?,
        };
        let old = old.unwrap_or_default();
        let mut writer = ShardWriter::new(shard, &mut value).map_err(codec)?;
        for (position, touched) in touched.into_iter().enumerate() {
            let old_bytes = old_index.range(position).map(|range| self::part(old, range));
            let old_bytes = old_bytes.transpose().map_err(codec)?;
            match (touched, old_bytes) {
                (None, None) => {}
                (None, Some(bytes)) => writer.put(position, bytes, &mut value).map_err(codec)?,
                (Some(number), old_bytes) => {
                    let encoded;
                    let bytes = match pre_encoded.get(&number) {
                        Some(bytes) => bytes.as_deref(),
                        None => {
                            encoded = part.encode_over(number, old_bytes, stages, written)?;
                            encoded.as_ref().map(|encoded| written.bytes(encoded, &[]))
                        }
                    };
                    if let Some(bytes) = bytes {
                        writer.put(position, bytes, &mut value).map_err(codec)?;
                    }
                }
            }
        }
        let index = writer.finish(shard, &mut value, stages).map_err(codec)?;
        let size = value.written().len();
        Ok((!index.is_empty()).then(|| buffer.bytes(size)))
    }
}

impl<'p> ShardPart<'p> {
    pub(super) fn new(
        array: &'p StoredArray,
        chunk: &'p [u64],
        shard: &'p ShardPipeline,
        part: &'p Part<'p>,
    ) -> Result<Self, Error> {
        let strides = shard.order.iter().map(|&dimension| part.strides[dimension]).collect();
        let plan = part.piece.divided(&shard.order, inner_axes(shard))?;
        Ok(Self { array, chunk, shard, plan, source: part.source, strides })
    }

    /// The array that is written.
    pub(super) fn array(&self) -> &'p StoredArray {
        self.array
    }

    /// What encodes an inner chunk.
    pub(super) fn inner(&self) -> &'p Pipeline {
        &self.shard.inner
    }

    /// The error for an inner chunk that another thread did not encode.
    pub(super) fn lost(&self) -> Error {
        let what = "a thread that encoded an inner chunk panicked";
        self.array.chunk_error(self.chunk, StepError::chunk(what))
    }

    /// For each inner chunk of the shard, the piece that concerns it.
    fn touched(&self) -> Result<Vec<Option<usize>>, Error> {
        let count = inner_count(self.shard).map_err(|error| self.array.chunk_error(self.chunk, error))?;
        let mut touched = vec![None; count];
        for number in 0..self.plan.len() {
            let position = position(self.plan.piece(number)?.cell(), &self.shard.grid_shape);
            if let Some(touched) = touched.get_mut(position) {
                *touched = Some(number);
            }
        }
        Ok(touched)
    }

    /// The inner chunks of which nothing is kept, or of a shard that is written as a whole all of them.
    pub(super) fn to_spread(&self, is_whole: bool) -> Result<Vec<usize>, Error> {
        let mut numbers = Vec::new();
        for number in 0..self.plan.len() {
            if is_whole || self.is_whole(number)? {
                numbers.push(number);
            }
        }
        Ok(numbers)
    }

    /// Whether several threads pay for so many inner chunks.
    pub(super) fn is_worth_spreading(&self, count: usize) -> bool {
        count > 1 && self.inner_size().saturating_mul(count) >= PARALLEL
    }

    /// Bytes of the elements of an inner chunk; as many as can be where that depends on the elements.
    pub(super) fn inner_size(&self) -> usize {
        let size = self.shard.inner.array.size().limit();
        size.and_then(|size| usize::try_from(size).ok()).unwrap_or(usize::MAX)
    }

    /// Whether nothing is kept of an inner chunk.
    fn is_whole(&self, number: usize) -> Result<bool, Error> {
        Ok(self.plan.piece(number)?.covers(self.shard.inner.array.shape.iter().copied()))
    }

    /// Encodes an inner chunk of which nothing is kept.
    pub(super) fn encoded(&self, number: usize, stages: &mut Stages) -> Result<EncodedInner, Error> {
        let (position, encoded) = self.encode(number, None, stages)?;
        let bytes = encoded.map(|encoded| stages.bytes(&encoded, &[]).to_vec());
        Ok(EncodedInner { number, position, bytes })
    }

    /// Encodes an inner chunk, of which `old` is what was stored.
    fn encode_over(
        &self,
        number: usize,
        old: Option<&[u8]>,
        stages: &mut Stages,
        written: &mut Stages,
    ) -> Result<Option<Decoded>, Error> {
        let inner = &self.shard.inner;
        let is_whole = self.is_whole(number)?;
        let Some(old) = old.filter(|_| !is_whole) else { return Ok(self.encode(number, None, written)?.1) };
        let decoded = decode(inner, old, stages, None, self.array.bounds(stages.unknown()));
        let decoded = decoded.map_err(|error| self.array.chunk_error(self.chunk, error))?;
        let existing = decoded.as_ref().map(|decoded| stages.bytes(decoded, old));
        Ok(self.encode(number, existing, written)?.1)
    }

    /// Encodes an inner chunk that held `existing`, and says where it is.
    fn encode(
        &self,
        number: usize,
        existing: Option<&[u8]>,
        stages: &mut Stages,
    ) -> Result<(usize, Option<Decoded>), Error> {
        let piece = self.plan.piece(number)?;
        let part = Part { piece: &piece, source: self.source, strides: &self.strides };
        let encoded = self.array.encode_part(self.chunk, &self.shard.inner, &part, existing, stages)?;
        Ok((position(piece.cell(), &self.shard.grid_shape), encoded))
    }
}
