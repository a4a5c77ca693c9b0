//! Encoded inner chunks, put together to a shard.

use zarr_spec::pipeline::ShardPipeline;
use zarr_spec::{CodecError, Output};

use super::ShardIndex;
use crate::pipeline::Stages;

/// Puts a shard together: inner chunks one after another, then the index in its place.
#[derive(Debug)]
pub(crate) struct ShardWriter {
    index: ShardIndex,
    start: usize,
}

impl ShardWriter {
    /// Leaves room for an index at the start.
    pub(crate) fn new(shard: &ShardPipeline, encoded: &mut Output<'_>) -> Result<Self, CodecError> {
        let start = encoded.written().len();
        if shard.index_at_start {
            let size = usize::try_from(shard.index_size).map_err(CodecError::encode)?;
            encoded.spare(size)?;
            encoded.advance(size);
        }
        Ok(Self { index: ShardIndex::empty(shard)?, start })
    }

    /// Appends an inner chunk.
    pub(crate) fn put(
        &mut self,
        number: usize,
        bytes: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let offset = encoded.written().len() - self.start;
        encoded.put(bytes)?;
        self.index.set(number, Some((offset as u64, bytes.len() as u64)));
        Ok(())
    }

    /// Writes the index, and returns it; a shard without inner chunks should not be stored.
    pub(crate) fn finish(
        self,
        shard: &ShardPipeline,
        encoded: &mut Output<'_>,
        stages: &mut Stages,
    ) -> Result<ShardIndex, CodecError> {
        let index = self.index.encode(shard, stages)?;
        match shard.index_at_start {
            true => encoded.written_mut()[self.start..self.start + index.len()].copy_from_slice(&index),
            false => encoded.put(&index)?,
        }
        Ok(self.index)
    }
}
