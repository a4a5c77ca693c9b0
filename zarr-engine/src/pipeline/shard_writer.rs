//! Assembles the value of a shard from encoded inner chunks.

use zarr_spec::host::pipeline::ShardPipeline;
use zarr_spec::{CodecError, LimitExceeded, Output};

use super::shard_index::ShardIndex;
use super::{Stages, why};

/// A shard under construction: the inner chunks in the order of the calls, and the index at its start or end.
#[derive(Debug)]
pub(crate) struct ShardWriter {
    index: ShardIndex,
    start: usize,
}

impl ShardWriter {
    pub(crate) fn new(shard: &ShardPipeline, encoded: &mut Output<'_>) -> Result<Self, CodecError> {
        let start = encoded.written().len();
        if shard.index_at_start {
            let size = usize::try_from(shard.index_size).map_err(CodecError::encode)?;
            let spare = encoded.spare(size).map(drop);
            checked(spare, encoded)?;
            encoded.advance(size);
        }
        Ok(Self { index: ShardIndex::empty(shard)?, start })
    }

    pub(crate) fn put(
        &mut self,
        number: usize,
        bytes: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let offset = encoded.written().len() - self.start;
        let put = encoded.put(bytes);
        checked(put, encoded)?;
        self.index.set(number, Some((offset as u64, bytes.len() as u64)));
        Ok(())
    }

    /// Writes the index and returns it. A shard without inner chunks should not be stored.
    pub(crate) fn finish(
        self,
        shard: &ShardPipeline,
        encoded: &mut Output<'_>,
        stages: &mut Stages,
    ) -> Result<ShardIndex, CodecError> {
        let index = self.index.encode(shard, stages)?;
        match shard.index_at_start {
            true => encoded.written_mut()[self.start..self.start + index.len()].copy_from_slice(&index),
            false => {
                let put = encoded.put(&index);
                checked(put, encoded)?;
            }
        }
        Ok(self.index)
    }
}

/// Converts the result of writing to `output`, and distinguishes a lack of memory from the size limit.
fn checked(result: Result<(), LimitExceeded>, output: &Output<'_>) -> Result<(), CodecError> {
    result.map_err(|error| why(output, error.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinguishes_a_lack_of_memory_from_a_size_limit() {
        const TOO_MUCH: usize = usize::MAX / 2;
        let mut output = Output::at_most(usize::MAX);
        let spare = output.spare(TOO_MUCH).map(drop);
        let error = checked(spare, &output).unwrap_err();
        assert!(matches!(error, CodecError::OutOfMemory { size: TOO_MUCH }), "{error:?}");
        let mut output = Output::at_most(3);
        let put = output.put(b"four");
        assert!(matches!(checked(put, &output).unwrap_err(), CodecError::TooLarge(_)));
    }
}
