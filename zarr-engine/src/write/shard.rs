//! Writing of shards: inner chunk by inner chunk, then the index.

use std::sync::{Mutex, PoisonError};

use zarr_spec::CodecError;
use zarr_spec::pipeline::ShardPipeline;

use super::cells::{Spread, Target};
use super::source::{Part, Source};
use crate::array::{ArrayInner, PARALLEL, Worker};
use crate::error::Error;
use crate::flight;
use crate::pipeline::{Decoded, Stages, decode};
use crate::plan::Plan;
use crate::shape::position;
use crate::shard::{ShardIndex, ShardWriter, inner_axes, inner_count, part};

/// The position of an inner chunk, and its bytes.
type EncodedInner = (usize, Vec<u8>);

/// What is written to a shard.
struct ShardPart<'p> {
    array: &'p ArrayInner,
    cell: &'p [u64],
    shard: &'p ShardPipeline,
    /// The inner chunks that are concerned.
    plan: Plan<'p>,
    source: Source<'p>,
    /// Elements of the source between neighbours, per dimension of the shard.
    strides: Vec<usize>,
}

impl ArrayInner {
    /// The value of a shard that is written as a whole; `None` for one without inner chunks.
    pub(super) fn whole_shard<'w>(
        &self,
        target: &Target<'_>,
        shard: &ShardPipeline,
        part: &Part<'_>,
        worker: &'w mut Worker,
    ) -> Result<Option<&'w [u8]>, Error> {
        let codec = |error: CodecError| self.chunk_error(target.cell, error);
        let part = ShardPart::new(self, target.cell, shard, part)?;
        let is_spread = target.spread != Spread::No;
        let encoded = if is_spread { part.encode_spread(target.spread)? } else { Vec::new() };
        let Worker { stages, value: buffer, written, .. } = worker;
        let mut value = buffer.output(self.value_limit(None));
        let mut writer = ShardWriter::new(shard, &mut value).map_err(codec)?;
        for (position, bytes) in encoded.into_iter().flatten() {
            writer.put(position, &bytes, &mut value).map_err(codec)?;
        }
        let here = if is_spread { 0 } else { part.plan.len() };
        for number in 0..here {
            if let (position, Some(encoded)) = part.encode(number, None, written)? {
                writer.put(position, written.bytes(&encoded, &[]), &mut value).map_err(codec)?;
            }
        }
        let index = writer.finish(shard, &mut value, stages).map_err(codec)?;
        let size = value.written().len();
        Ok((!index.is_empty()).then(|| buffer.bytes(size)))
    }

    /// The value of a shard of which `old` is stored and a part is written: inner chunks that are not concerned are kept
    /// as they are stored.
    pub(super) fn changed_shard<'w>(
        &self,
        target: &Target<'_>,
        shard: &ShardPipeline,
        part: &Part<'_>,
        old: Option<&[u8]>,
        worker: &'w mut Worker,
    ) -> Result<Option<&'w [u8]>, Error> {
        let codec = |error: CodecError| self.chunk_error(target.cell, error);
        let part = ShardPart::new(self, target.cell, shard, part)?;
        let touched = part.touched()?;
        let Worker { stages, value: buffer, written, .. } = worker;
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
                    if let Some(encoded) = part.encode_over(number, old_bytes, stages, written)? {
                        writer.put(position, written.bytes(&encoded, &[]), &mut value).map_err(codec)?;
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
    fn new(
        array: &'p ArrayInner,
        cell: &'p [u64],
        shard: &'p ShardPipeline,
        part: &'p Part<'p>,
    ) -> Result<Self, Error> {
        let strides = shard.order.iter().map(|&dimension| part.strides[dimension]).collect();
        let plan = part.piece.divided(&shard.order, inner_axes(shard))?;
        Ok(Self { array, cell, shard, plan, source: part.source, strides })
    }

    /// For each inner chunk of the shard, the piece that concerns it.
    fn touched(&self) -> Result<Vec<Option<usize>>, Error> {
        let count = inner_count(self.shard).map_err(|error| self.array.chunk_error(self.cell, error))?;
        let mut touched = vec![None; count];
        for number in 0..self.plan.len() {
            let position = position(self.plan.piece(number)?.cell(), &self.shard.grid_shape);
            if let Some(touched) = touched.get_mut(position) {
                *touched = Some(number);
            }
        }
        Ok(touched)
    }

    /// Encodes all inner chunks that are concerned, on several threads. No lock is held.
    fn encode_spread(&self, spread: Spread) -> Result<Vec<Option<EncodedInner>>, Error> {
        let total = match self.source {
            Source::Fixed { bytes, .. } => bytes.len(),
            Source::Variable(_) => usize::MAX,
        };
        let all = Mutex::new(vec![None; self.plan.len()]);
        let encode = |number| {
            self.array.workers.with(Worker::default, |worker| {
                let (position, encoded) = self.encode(number, None, &mut worker.written)?;
                let bytes = encoded.map(|encoded| (position, worker.written.bytes(&encoded, &[]).to_vec()));
                all.lock().unwrap_or_else(PoisonError::into_inner)[number] = bytes;
                Ok(())
            })
        };
        match spread {
            Spread::OverThreads(threads) if total >= PARALLEL => {
                flight::each(self.plan.len(), threads, encode)?;
            }
            Spread::OverThreads(_) => (0..self.plan.len()).try_for_each(encode)?,
            Spread::OverContext | Spread::No => self.array.for_each(self.plan.len(), total, encode)?,
        }
        Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner))
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
        let is_whole = self.plan.piece(number)?.covers(inner.array.shape.iter().copied());
        let Some(old) = old.filter(|_| !is_whole) else { return Ok(self.encode(number, None, written)?.1) };
        let decoded = decode(inner, old, stages, None, self.array.bounds());
        let decoded = decoded.map_err(|error| self.array.chunk_error(self.cell, error))?;
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
        let encoded = self.array.encode_part(self.cell, &self.shard.inner, &part, existing, stages)?;
        Ok((position(piece.cell(), &self.shard.grid_shape), encoded))
    }
}
