//! The index of a shard.

use std::ops::Range;

use zarr_spec::host::pipeline::{Pipeline, ShardPipeline};
use zarr_spec::{ByteRange, CodecError, Output};

use super::reorder::reorder;
use super::shard::{ENTRY, inner_count, part};
use super::{Bounds, Stages, decode, encode};

const MISSING: u64 = u64::MAX;

/// The offset and size of each inner chunk of one shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShardIndex {
    entries: Vec<(u64, u64)>,
}

impl ShardIndex {
    /// Returns the index of a shard without inner chunks.
    pub(crate) fn empty(shard: &ShardPipeline) -> Result<Self, CodecError> {
        Ok(Self { entries: vec![(MISSING, MISSING); inner_count(shard)?] })
    }

    pub(crate) fn range_in_value(shard: &ShardPipeline) -> ByteRange {
        match shard.index_at_start {
            true => ByteRange::Range { offset: 0, size: shard.index_size },
            false => ByteRange::Last(shard.index_size),
        }
    }

    pub(crate) fn of_value(
        shard: &ShardPipeline,
        value: &[u8],
        stages: &mut Stages,
    ) -> Result<Self, CodecError> {
        let range = Self::range_in_value(shard).within(value.len() as u64);
        let index = part(value, (range.start, range.end - range.start))?;
        Self::parse(shard, index, value.len() as u64, stages)
    }

    /// Decodes an index, given the size of the whole value in bytes. Fails if the value is shorter than its index, or
    /// an entry is outside of the value or inside of the index.
    pub(crate) fn parse(
        shard: &ShardPipeline,
        encoded: &[u8],
        value_size: u64,
        stages: &mut Stages,
    ) -> Result<Self, CodecError> {
        if encoded.len() as u64 != shard.index_size {
            return Err(CodecError::corrupt(format!(
                "a shard of {value_size} bytes is too small for an index of {}",
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
        let stored = stages.bytes(&decoded, encoded);
        let mut native = vec![0; stored.len()];
        reordered(&shard.index, stored, &mut native, true)?;
        let payload = match shard.index_at_start {
            true => shard.index_size..value_size,
            // The subtraction saturates: a faulty store may return an index that is larger than the value.
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

    /// Returns the offset and size in bytes of an inner chunk, given its position in C order; `None` if it is missing.
    pub(crate) fn range(&self, number: usize) -> Option<(u64, u64)> {
        self.entries.get(number).copied().filter(|&(offset, _)| offset != MISSING)
    }

    pub(crate) fn set(&mut self, number: usize, range: Option<(u64, u64)>) {
        if let Some(entry) = self.entries.get_mut(number) {
            *entry = range.unwrap_or((MISSING, MISSING));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.iter().all(|&(offset, _)| offset == MISSING)
    }

    /// Returns the memory that the index takes, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.entries.len() * ENTRY
    }

    pub(crate) fn encode(&self, shard: &ShardPipeline, stages: &mut Stages) -> Result<Vec<u8>, CodecError> {
        let native: Vec<u8> = self
            .entries
            .iter()
            .flat_map(|&(offset, size)| [offset, size])
            .flat_map(u64::to_ne_bytes)
            .collect();
        let start = stages.start(native.len())?;
        reordered(&shard.index, &native, start, false)?;
        let bounds = Bounds { chunk: shard.index_size, value: shard.index_size };
        let encoded = encode(&shard.index, native.len(), stages, bounds).map_err(|error| error.source)?;
        Ok(stages.bytes(&encoded, &[]).to_vec())
    }
}

/// Reads the offset and size from an entry in native byte order.
fn read_entry(entry: &[u8]) -> (u64, u64) {
    let (offset, size) = entry.split_at(ENTRY / 2);
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes);
    (number(offset), number(size))
}

/// Returns whether an inner chunk is missing, empty, or inside the payload.
fn is_inside(entry: (u64, u64), payload: &Range<u64>) -> bool {
    let (offset, size) = entry;
    match (offset == MISSING, size == MISSING) {
        (true, true) => true,
        (false, false) => {
            let end = offset.checked_add(size);
            size == 0 || (offset >= payload.start && end.is_some_and(|end| end <= payload.end))
        }
        _ => false,
    }
}

/// Reorders the entries from the layout of the index pipeline to C order, or in the opposite direction.
fn reordered(
    pipeline: &Pipeline,
    source: &[u8],
    target: &mut [u8],
    decoding: bool,
) -> Result<(), CodecError> {
    reorder(&pipeline.array, &pipeline.layout, source, &mut Output::to(target), decoding)
}
