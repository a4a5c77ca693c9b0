//! Writing of shards: inner chunk by inner chunk, then the index.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use zarr_spec::CodecError;
use zarr_spec::pipeline::ShardPipeline;

use super::cells::{Spread, Target};
use super::source::{Part, Source};
use crate::array::{ArrayInner, PARALLEL, PORTION, Worker};
use crate::error::Error;
use crate::flight;
use crate::pipeline::{Decoded, Stages, decode};
use crate::plan::Plan;
use crate::shape::position;
use crate::shard::{ShardIndex, ShardWriter, inner_axes, inner_count, part};

/// Inner chunks that are encoded before the shard is read that they go into, by the pieces that they come from; `None`
/// for those that are not to be stored.
pub(super) type Ahead = HashMap<usize, Option<Vec<u8>>>;

/// An inner chunk that was encoded on any thread.
struct EncodedInner {
    /// Of its piece.
    number: usize,
    position: usize,
    /// `None` if it is not to be stored.
    bytes: Option<Vec<u8>>,
}

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
        let Worker { stages, value: buffer, written, .. } = worker;
        let mut value = buffer.output(self.value_limit(None));
        let mut writer = ShardWriter::new(shard, &mut value).map_err(codec)?;
        let mut put = |position, bytes: &[u8]| writer.put(position, bytes, &mut value).map_err(codec);
        if target.spread != Spread::No && part.is_worth_spreading(part.plan.len()) {
            let all: Vec<usize> = (0..part.plan.len()).collect();
            part.encode_spread(&all, target.spread, |EncodedInner { position, bytes, .. }| {
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
        target: &Target<'_>,
        shard: &ShardPipeline,
        part: &Part<'_>,
    ) -> Result<Ahead, Error> {
        let (mut ahead, mut whole) = (Ahead::new(), Vec::new());
        let part = ShardPart::new(self, target.cell, shard, part)?;
        for number in 0..part.plan.len() {
            if part.is_whole(number)? {
                whole.push(number);
            }
        }
        if part.is_worth_spreading(whole.len()) {
            part.encode_spread(&whole, target.spread, |EncodedInner { number, bytes, .. }| {
                ahead.insert(number, bytes);
                Ok(())
            })?;
        }
        Ok(ahead)
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
                    let encoded;
                    let bytes = match target.ahead.get(&number) {
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

    /// Whether several threads pay for so many inner chunks.
    fn is_worth_spreading(&self, count: usize) -> bool {
        count > 1 && self.inner_size().saturating_mul(count) >= PARALLEL
    }

    /// Bytes of the elements of an inner chunk; as many as can be where that depends on the elements.
    fn inner_size(&self) -> usize {
        let size = self.shard.inner.array.size().limit();
        size.and_then(|size| usize::try_from(size).ok()).unwrap_or(usize::MAX)
    }

    /// Whether nothing is kept of an inner chunk.
    fn is_whole(&self, number: usize) -> Result<bool, Error> {
        Ok(self.plan.piece(number)?.covers(self.shard.inner.array.shape.iter().copied()))
    }

    /// Encodes inner chunks on several threads, and hands them to `put` in their order, on this one: what waits for its
    /// turn is about as much as one of the threads is behind. No lock may be held.
    fn encode_spread(
        &self,
        numbers: &[usize],
        spread: Spread,
        mut put: impl FnMut(EncodedInner) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let portion = (PORTION / self.inner_size().max(1)).max(1);
        let portions = numbers.len().div_ceil(portion);
        let (next, encoded) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
        let no_more = || next.store(portions, Ordering::Relaxed);
        let encode_next = || {
            let turn = next.fetch_add(1, Ordering::Relaxed);
            let Some(numbers) = numbers.chunks(portion).nth(turn) else { return false };
            let made: Result<Vec<_>, Error> = self.array.workers.with(Worker::default, |worker| {
                numbers.iter().map(|&number| self.encoded(number, &mut worker.written)).collect()
            });
            if made.is_err() {
                no_more();
            }
            encoded.lock().unwrap_or_else(PoisonError::into_inner).insert(turn, made);
            true
        };
        let mut turn = 0;
        let mut hand_over = || -> Result<(), Error> {
            let take = |turn| encoded.lock().unwrap_or_else(PoisonError::into_inner).remove(&turn);
            while let Some(made) = take(turn) {
                made?.into_iter().try_for_each(&mut put)?;
                turn += 1;
            }
            Ok(())
        };
        match spread {
            Spread::OverThreads(threads) => flight::each(threads, threads, |_| {
                while encode_next() {}
                Ok::<_, Error>(())
            })?,
            Spread::OverContext | Spread::No => {
                let help = || while encode_next() {};
                self.array.context().run_helped(portions.saturating_sub(1), help, || {
                    while encode_next() {
                        hand_over().inspect_err(|_| no_more())?;
                    }
                    Ok::<_, Error>(())
                })?;
            }
        }
        hand_over()
    }

    /// Encodes an inner chunk of which nothing is kept.
    fn encoded(&self, number: usize, stages: &mut Stages) -> Result<EncodedInner, Error> {
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
