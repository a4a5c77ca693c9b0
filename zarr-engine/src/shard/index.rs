//! The index of a shard: where each inner chunk lies.

use std::ops::Range;

use zarr_spec::host::pipeline::{Pipeline, ShardPipeline};
use zarr_spec::{ByteRange, CodecError};

use super::{inner_count, part};
use crate::copy::{self, Dimension};
use crate::pipeline::{Bounds, Stages, decode, encode, swap_of};
use crate::shape::c_strides;

const MISSING: u64 = u64::MAX;

/// Bytes of an entry: offset and size.
pub(crate) const ENTRY: usize = 2 * size_of::<u64>();

/// Where each inner chunk of one shard lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShardIndex {
    entries: Vec<(u64, u64)>,
}

impl ShardIndex {
    /// Of a shard without inner chunks.
    pub(crate) fn empty(shard: &ShardPipeline) -> Result<Self, CodecError> {
        Ok(Self { entries: vec![(MISSING, MISSING); inner_count(shard)?] })
    }

    /// Which part of a shard's value the index is.
    pub(crate) fn range_in_value(shard: &ShardPipeline) -> ByteRange {
        match shard.index_at_start {
            true => ByteRange::Range { offset: 0, size: shard.index_size },
            false => ByteRange::Last(shard.index_size),
        }
    }

    /// From the whole value of a shard.
    pub(crate) fn of_value(
        shard: &ShardPipeline,
        value: &[u8],
        stages: &mut Stages,
    ) -> Result<Self, CodecError> {
        let range = Self::range_in_value(shard).within(value.len() as u64);
        let index = part(value, (range.start, range.end - range.start))?;
        Self::parse(shard, index, value.len() as u64, stages)
    }

    /// From the encoded index and the size of the whole value in bytes.
    ///
    /// # Errors
    ///
    /// For a value that is shorter than its index, and an entry that leads out of the value or into the index.
    pub(crate) fn parse(
        shard: &ShardPipeline,
        encoded: &[u8],
        value_size: u64,
        stages: &mut Stages,
    ) -> Result<Self, CodecError> {
        if encoded.len() as u64 != shard.index_size {
            return Err(CodecError::corrupt(format!(
                "a shard of {value_size} bytes has no room for an index of {}",
                shard.index_size
            )));
        }
        let bounds = Bounds { chunk: shard.index_size, value: shard.index_size };
        let decoded = decode(&shard.index, encoded, stages, None, bounds);
        let decoded = decoded.map_err(|error| match error.source {
            fault @ CodecError::Plugin { .. } => fault,
            source => CodecError::corrupt(format!("index: {source}")),
        })?;
        let decoded = decoded.ok_or_else(|| CodecError::corrupt("index: nothing was decoded"))?;
        let native = to_c_order(&shard.index, stages.bytes(&decoded, encoded))?;
        let payload = match shard.index_at_start {
            true => shard.index_size..value_size,
            // A store that gave more than it says there is gave nonsense.
            false => 0..value_size.saturating_sub(shard.index_size),
        };
        let entries: Vec<_> = native.chunks_exact(ENTRY).map(read_entry).collect();
        match entries.iter().position(|&entry| !is_inside(entry, &payload)) {
            None => Ok(Self { entries }),
            Some(number) => {
                let (offset, size) = entries[number];
                Err(CodecError::corrupt(format!(
                    "index: inner chunk {number} would be {size} bytes at {offset} of a shard of {value_size}"
                )))
            }
        }
    }

    /// Offset and size of an inner chunk, by its position in C order; `None` if it is not stored.
    pub(crate) fn range(&self, number: usize) -> Option<(u64, u64)> {
        self.entries.get(number).copied().filter(|&(offset, _)| offset != MISSING)
    }

    /// Says where an inner chunk is.
    pub(crate) fn set(&mut self, number: usize, range: Option<(u64, u64)>) {
        if let Some(entry) = self.entries.get_mut(number) {
            *entry = range.unwrap_or((MISSING, MISSING));
        }
    }

    /// Whether no inner chunk is stored.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.iter().all(|&(offset, _)| offset == MISSING)
    }

    /// Bytes that this takes in memory.
    pub(crate) fn memory(&self) -> usize {
        self.entries.len() * ENTRY
    }

    /// The encoded index.
    pub(crate) fn encode(&self, shard: &ShardPipeline, stages: &mut Stages) -> Result<Vec<u8>, CodecError> {
        let native: Vec<u8> = self
            .entries
            .iter()
            .flat_map(|&(offset, size)| [offset, size])
            .flat_map(u64::to_ne_bytes)
            .collect();
        let start = stages.start(native.len())?;
        from_c_order(&shard.index, &native, start)?;
        let bounds = Bounds { chunk: shard.index_size, value: shard.index_size };
        let encoded = encode(&shard.index, native.len(), stages, bounds).map_err(|error| error.source)?;
        Ok(stages.bytes(&encoded, &[]).to_vec())
    }
}

/// Offset and size.
fn read_entry(entry: &[u8]) -> (u64, u64) {
    let (offset, size) = entry.split_at(ENTRY / 2);
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes);
    (number(offset), number(size))
}

/// Whether an inner chunk is missing, empty, or wholly in the part of the value that inner chunks may be in.
fn is_inside((offset, size): (u64, u64), payload: &Range<u64>) -> bool {
    match (offset == MISSING, size == MISSING) {
        (true, true) => true,
        (false, false) => {
            let end = offset.checked_add(size);
            size == 0 || (offset >= payload.start && end.is_some_and(|end| end <= payload.end))
        }
        _ => false,
    }
}

fn to_c_order(pipeline: &Pipeline, source: &[u8]) -> Result<Vec<u8>, CodecError> {
    let mut native = vec![0; source.len()];
    copy_whole(pipeline, source, &mut native, true)?;
    Ok(native)
}

fn from_c_order(pipeline: &Pipeline, source: &[u8], target: &mut [u8]) -> Result<(), CodecError> {
    copy_whole(pipeline, source, target, false)
}

fn copy_whole(
    pipeline: &Pipeline,
    source: &[u8],
    target: &mut [u8],
    decoding: bool,
) -> Result<(), CodecError> {
    let size = pipeline.array.data_type.elements().size().unwrap_or(0);
    let c = c_strides(&pipeline.array.shape)?;
    let mut dimensions = Vec::with_capacity(c.len());
    for ((&count, c), l) in pipeline.array.shape.iter().zip(c).zip(&pipeline.layout.strides) {
        let count = usize::try_from(count).map_err(CodecError::corrupt)?;
        let c = c.saturating_mul(size).cast_signed();
        let l = l.saturating_mul(size).cast_signed();
        let (source_stride, destination_stride) = if decoding { (l, c) } else { (c, l) };
        dimensions.push(Dimension { count, source_stride, destination_stride });
    }
    copy::copy(size, swap_of(&pipeline.layout.swap), &dimensions, source, 0, target, 0, false)
        .map_err(CodecError::corrupt)
}
