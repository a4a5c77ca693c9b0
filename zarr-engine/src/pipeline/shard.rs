//! The division of shards into inner chunks.

use std::ops::Range;

use zarr_spec::CodecError;
use zarr_spec::host::pipeline::{Pipeline, ShardPipeline, Swap};

use crate::copy;
use crate::grid::Axis;

/// The size of an index entry in bytes: offset and size of an inner chunk.
pub(crate) const ENTRY: usize = 2 * size_of::<u64>();

pub(crate) fn inner_axes<'a>(shard: &ShardPipeline) -> impl Iterator<Item = Axis<'a>> {
    let lengths = shard.inner.array.shape.iter().zip(&shard.array.shape);
    lengths.map(|(&length, &whole)| Axis::even(length, whole))
}

/// Returns the part of a value with this offset and size. The value may be too short: the index was only checked
/// against the value that it came from.
pub(crate) fn part(value: &[u8], range: (u64, u64)) -> Result<&[u8], CodecError> {
    let (offset, size) = range;
    let start = usize::try_from(offset).ok();
    let range =
        start.zip(usize::try_from(size).ok()).and_then(|(start, size)| Some(start..start.checked_add(size)?));
    range.and_then(|range: Range<usize>| value.get(range)).ok_or_else(|| {
        CodecError::corrupt(format!("{size} bytes at {offset} are not in a shard of {}", value.len()))
    })
}

pub(crate) fn inner_index(shard: &ShardPipeline, position: usize) -> Vec<u64> {
    let mut rest = position as u64;
    let mut index = vec![0; shard.order.len()];
    for (&dimension, &count) in shard.order.iter().zip(&shard.grid_shape).rev() {
        index[dimension] = rest % count.max(1);
        rest /= count.max(1);
    }
    index
}

pub(crate) fn inner_count(shard: &ShardPipeline) -> Result<usize, CodecError> {
    let count = shard.grid_shape.iter().try_fold(1usize, |product, &length| {
        usize::try_from(length).ok().and_then(|length| product.checked_mul(length))
    });
    count
        .filter(|count| count.checked_mul(ENTRY).is_some())
        .ok_or_else(|| CodecError::corrupt("too many inner chunks"))
}

/// Returns whether all `elements`, in the pipeline's layout and byte order, equal the fill value.
pub(crate) fn is_fill(pipeline: &Pipeline, elements: &[u8]) -> bool {
    let fill_value = &pipeline.array.fill_value;
    if pipeline.layout.swap == Swap::None || fill_value.is_zero() {
        return copy::all_equal(fill_value.bytes(), elements);
    }
    let mut fill = fill_value.bytes().to_vec();
    let size = fill.len();
    copy::swap_in_place(copy::ByteSwap::from(&pipeline.layout.swap), size, &mut fill).is_ok()
        && copy::all_equal(&fill, elements)
}
