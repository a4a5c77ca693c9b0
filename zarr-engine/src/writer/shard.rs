//! Encoding shards: the inner chunks, then the index.

use std::collections::HashMap;

use zarr_spec::CodecError;
use zarr_spec::host::pipeline::ShardPipeline;

use super::job::{ChunkElements, Job, Source};
use super::parallel::{EncodeOn, EncodedInner, Encoding, EncodingWork, InnerEncoder};
use crate::error::Error;
use crate::needs;
use crate::pipeline::{Decoded, Stages, StepError, decode};
use crate::pipeline::{ShardIndex, ShardWriter, inner_axes, inner_count, part};
use crate::plan::Plan;
use crate::scratch::Scratch;
use crate::shape::position;
use crate::stored::StoredArray;
use crate::threads::{PARALLEL, PORTION};

/// Inner chunks that are encoded before the shard is fetched, by the number of their piece; `None` for inner chunks
/// that should not be stored.
pub(super) type PreEncoded = HashMap<usize, Option<Vec<u8>>>;

/// A shard that is written partially.
#[derive(Clone, Copy)]
pub(super) struct OldShard<'s> {
    pub(super) value: Option<&'s [u8]>,
    pub(super) pre_encoded: &'s PreEncoded,
}

struct ShardElements<'p> {
    array: &'p StoredArray,
    chunk: &'p [u64],
    shard: &'p ShardPipeline,
    /// The inner chunks to which the elements belong.
    plan: Plan<'p>,
    source: Source<'p>,
    /// The strides of the source in elements, per dimension of the shard.
    strides: Vec<usize>,
}

impl StoredArray {
    /// Calls `write` with a job. The inner chunks of a shard are encoded on several threads if there is enough work.
    /// The caller holds no lock and no memory.
    pub(super) fn with_encoding<R>(
        &self,
        job: Job<'_>,
        encode_on: EncodeOn,
        write: impl FnOnce(&Job<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let shard = job.pipeline.shard().filter(|_| encode_on != EncodeOn::OneThread);
        let Some(shard) = shard else { return write(&job) };
        let elements = ShardElements::new(self, job.chunk, shard, job.elements)?;
        let numbers = elements.independent(job.is_whole)?;
        if !elements.is_parallel(numbers.len()) {
            return write(&job);
        }
        let portion = (PORTION / elements.inner_size().max(1)).max(1);
        let need = needs::encoding(&shard.inner, self.first_unknown(&shard.inner, 0));
        let encoding = Encoding::new(&elements, self.budget(), EncodingWork { numbers, portion, need });
        encoding.on(encode_on, self.context(), |started| write(&Job { parallel: Some(started), ..job }))
    }

    /// Returns the value of a shard that is written as a whole; `None` if it has no inner chunks.
    pub(super) fn whole_shard<'w>(
        &self,
        job: &Job<'_>,
        shard: &ShardPipeline,
        scratch: &'w mut Scratch,
    ) -> Result<Option<&'w [u8]>, Error> {
        let codec = |error: CodecError| self.chunk_error(job.chunk, error);
        let elements = ShardElements::new(self, job.chunk, shard, job.elements)?;
        let Scratch { stages, value: buffer, written, .. } = scratch;
        let limit = job.pipeline.encoded_size.limit().map(|limit| limit.saturating_add(1));
        let mut value = buffer.output(self.value_limit(limit));
        let mut writer = ShardWriter::new(shard, &mut value).map_err(codec)?;
        let mut put = |position, bytes: &[u8]| writer.put(position, bytes, &mut value).map_err(codec);
        if let Some(parallel) = job.parallel {
            parallel.run(written, |EncodedInner { position, bytes, .. }| {
                bytes.map_or(Ok(()), |bytes| put(position, &bytes))
            })?;
        } else {
            for number in 0..elements.plan.len() {
                if let (position, Some(encoded)) = elements.encode_over_existing(number, None, written)? {
                    put(position, written.bytes(&encoded, &[]))?;
                }
            }
        }
        let index = writer.finish(shard, &mut value, stages).map_err(codec)?;
        let size = value.written().len();
        Ok((!index.is_empty()).then(|| buffer.bytes(size)))
    }

    /// Encodes inner chunks that are written as a whole, on several threads if there is enough work. The caller holds
    /// no lock.
    pub(super) fn pre_encoded(&self, job: &Job<'_>, stages: &mut Stages) -> Result<PreEncoded, Error> {
        let mut pre_encoded = PreEncoded::new();
        if let Some(parallel) = job.parallel {
            parallel.run(stages, |EncodedInner { number, bytes, .. }| {
                pre_encoded.insert(number, bytes);
                Ok(())
            })?;
        }
        Ok(pre_encoded)
    }

    /// Returns the size limit in bytes for all encoded inner chunks that are written.
    pub(super) fn size_of_inner_chunks(
        &self,
        shard: &ShardPipeline,
        elements: &ChunkElements<'_>,
        unknown: u64,
    ) -> u64 {
        let plan = elements.piece.divided(&shard.order, inner_axes(shard));
        let size = shard.inner.encoded_size.limit().or(shard.inner.array.size().limit());
        let Some(size) = size else { return unknown };
        plan.map_or(u64::MAX, |plan| size.saturating_mul(plan.len() as u64))
    }

    /// Returns the value of a shard that is written partially. Inner chunks without new elements are copied in stored
    /// form.
    pub(super) fn modified_shard<'w>(
        &self,
        job: &Job<'_>,
        shard: &ShardPipeline,
        old: OldShard<'_>,
        scratch: &'w mut Scratch,
    ) -> Result<Option<&'w [u8]>, Error> {
        let codec = |error: CodecError| self.chunk_error(job.chunk, error);
        let elements = ShardElements::new(self, job.chunk, shard, job.elements)?;
        let pieces = elements.pieces()?;
        let Scratch { stages, value: buffer, written, .. } = scratch;
        let mut value = buffer.output(self.value_limit(None));
        let old_index = match old.value {
            Some(old) => ShardIndex::of_value(shard, old, stages).map_err(codec)?,
            None => ShardIndex::empty(shard).map_err(codec)?,
        };
        let old_value = old.value.unwrap_or_default();
        let mut writer = ShardWriter::new(shard, &mut value).map_err(codec)?;
        for (position, piece) in pieces.into_iter().enumerate() {
            let old_bytes = old_index.range(position).map(|range| part(old_value, range));
            let old_bytes = old_bytes.transpose().map_err(codec)?;
            let Some(number) = piece else {
                old_bytes.map_or(Ok(()), |bytes| writer.put(position, bytes, &mut value)).map_err(codec)?;
                continue;
            };
            let encoded;
            let bytes = match old.pre_encoded.get(&number) {
                Some(bytes) => bytes.as_deref(),
                None => {
                    encoded = elements.encode_over(number, old_bytes, stages, written)?;
                    encoded.as_ref().map(|encoded| written.bytes(encoded, &[]))
                }
            };
            bytes.map_or(Ok(()), |bytes| writer.put(position, bytes, &mut value)).map_err(codec)?;
        }
        let index = writer.finish(shard, &mut value, stages).map_err(codec)?;
        let size = value.written().len();
        Ok((!index.is_empty()).then(|| buffer.bytes(size)))
    }
}

impl<'p> ShardElements<'p> {
    fn new(
        array: &'p StoredArray,
        chunk: &'p [u64],
        shard: &'p ShardPipeline,
        elements: &'p ChunkElements<'p>,
    ) -> Result<Self, Error> {
        let strides = shard.order.iter().map(|&dimension| elements.strides[dimension]).collect();
        let plan = elements.piece.divided(&shard.order, inner_axes(shard))?;
        Ok(Self { array, chunk, shard, plan, source: elements.source, strides })
    }

    /// Returns, for each inner chunk of the shard, the number of its piece if elements of it are written.
    fn pieces(&self) -> Result<Vec<Option<usize>>, Error> {
        let count = inner_count(self.shard).map_err(|error| self.array.chunk_error(self.chunk, error))?;
        let mut pieces = vec![None; count];
        for number in 0..self.plan.len() {
            let position = position(self.plan.piece(number)?.chunk(), &self.shard.grid_shape);
            if let Some(piece) = pieces.get_mut(position) {
                *piece = Some(number);
            }
        }
        Ok(pieces)
    }

    /// Returns the inner chunks that are encoded without their stored elements.
    fn independent(&self, is_whole: bool) -> Result<Vec<usize>, Error> {
        let mut numbers = Vec::new();
        for number in 0..self.plan.len() {
            if is_whole || self.is_whole(number)? {
                numbers.push(number);
            }
        }
        Ok(numbers)
    }

    /// Returns whether `count` inner chunks are worth several threads.
    fn is_parallel(&self, count: usize) -> bool {
        count > 1 && self.inner_size().saturating_mul(count) >= PARALLEL
    }

    /// Returns the size of the elements of an inner chunk in bytes; the maximum `usize` if it depends on the elements.
    fn inner_size(&self) -> usize {
        let size = self.shard.inner.array.size().limit();
        size.and_then(|size| usize::try_from(size).ok()).unwrap_or(usize::MAX)
    }

    /// Returns whether all elements of an inner chunk are written.
    fn is_whole(&self, number: usize) -> Result<bool, Error> {
        Ok(self.plan.piece(number)?.covers(self.shard.inner.array.shape.iter().copied()))
    }

    /// Encodes an inner chunk whose stored value is `old`.
    fn encode_over(
        &self,
        number: usize,
        old: Option<&[u8]>,
        stages: &mut Stages,
        written: &mut Stages,
    ) -> Result<Option<Decoded>, Error> {
        let inner = &self.shard.inner;
        let is_whole = self.is_whole(number)?;
        let Some(old) = old.filter(|_| !is_whole) else {
            return Ok(self.encode_over_existing(number, None, written)?.1);
        };
        let decoded = decode(inner, old, stages, None, self.array.bounds(stages.unknown));
        let decoded = decoded.map_err(|error| self.array.chunk_error(self.chunk, error))?;
        let existing = decoded.as_ref().map(|decoded| stages.bytes(decoded, old));
        Ok(self.encode_over_existing(number, existing, written)?.1)
    }

    /// Encodes an inner chunk that held `existing`. Returns its position, and the location of its bytes.
    fn encode_over_existing(
        &self,
        number: usize,
        existing: Option<&[u8]>,
        stages: &mut Stages,
    ) -> Result<(usize, Option<Decoded>), Error> {
        let piece = self.plan.piece(number)?;
        let elements = ChunkElements { piece: &piece, source: self.source, strides: &self.strides };
        let inner = &self.shard.inner;
        let encoded = self.array.encode_elements(self.chunk, inner, &elements, existing, stages)?;
        Ok((position(piece.chunk(), &self.shard.grid_shape), encoded))
    }
}

impl InnerEncoder for ShardElements<'_> {
    fn encode(&self, number: usize, stages: &mut Stages) -> Result<EncodedInner, Error> {
        let (position, encoded) = self.encode_over_existing(number, None, stages)?;
        let bytes = encoded.map(|encoded| stages.bytes(&encoded, &[]).to_vec());
        Ok(EncodedInner { number, position, bytes })
    }

    fn panicked(&self) -> Error {
        let what = "a thread that encoded an inner chunk panicked";
        self.array.chunk_error(self.chunk, StepError::chunk(what))
    }
}
