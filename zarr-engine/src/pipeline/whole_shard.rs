//! Decodes and encodes whole shards in memory, if other codecs come before or after the sharding codec.

use zarr_spec::host::pipeline::ShardPipeline;
use zarr_spec::{CodecError, Elements, Output};

use super::shard::{is_fill, part};
use super::shard_index::ShardIndex;
use super::shard_writer::ShardWriter;
use super::{Bounds, Stages, StepFault, decode, encode};
use crate::copy::{self, ByteSwap, Dimension, FillDimension};
use crate::shape::{c_strides, for_each_index};
use crate::variable::{Assembly, Variable};

pub(super) fn decode_whole(
    shard: &ShardPipeline,
    encoded: &[u8],
    decoded: &mut Output<'_>,
    stages: &mut Stages,
    bounds: Bounds,
) -> Result<(), StepFault> {
    let index = ShardIndex::of_value(shard, encoded, stages)?;
    let elements = shard.array.data_type.elements();
    let geometry = InnerGeometry::new(shard, elements.size().unwrap_or(1))?;
    let whole = WholeShard { shard, geometry, bounds };
    match elements {
        Elements::Fixed { size, .. } => {
            let bytes = shard.array.element_count().and_then(|count| count.checked_mul(size));
            let bytes = bytes.ok_or_else(|| CodecError::corrupt("too many elements"))?;
            decoded.spare(bytes)?;
            decoded.advance(bytes);
            let target = decoded.written_mut();
            whole.for_each_inner_chunk(|number, offset| {
                whole.decode_fixed(encoded, index.range(number), &mut target[..], offset, stages)
            })
        }
        Elements::Variable => {
            let mut assembly = Assembly::new(&shard.array)?;
            whole.for_each_inner_chunk(|number, offset| match index.range(number) {
                None => Ok(()),
                Some(range) => whole.decode_variable(part(encoded, range)?, &mut assembly, offset, stages),
            })?;
            Ok(decoded.put(&assembly.finish()?)?)
        }
    }
}

/// Encodes a shard from the elements of all its inner chunks, in C order. Inner chunks of fill values are left out.
pub(super) fn encode_whole(
    shard: &ShardPipeline,
    decoded: &[u8],
    encoded: &mut Output<'_>,
    stages: &mut Stages,
    bounds: Bounds,
) -> Result<(), StepFault> {
    let mut writer = ShardWriter::new(shard, encoded)?;
    let size = shard.array.data_type.elements().size();
    let geometry = InnerGeometry::new(shard, size.unwrap_or(1))?;
    let whole = WholeShard { shard, geometry, bounds };
    let variable = match size {
        None => Some(Variable::parse(decoded, &shard.array)?),
        Some(_) => None,
    };
    whole.for_each_inner_chunk(|number, offset| {
        let gathered = match variable {
            Some(elements) => whole.gather_variable(elements, offset, stages)?,
            None => whole.gather_fixed(decoded, offset, stages)?,
        };
        let Some(size) = gathered else { return Ok(()) };
        let inner = encode(&shard.inner, size, stages, bounds)
            .map_err(|error| StepFault { inner: error.inner, source: error.source })?;
        Ok(writer.put(number, stages.bytes(&inner, &[]), encoded)?)
    })?;
    writer.finish(shard, encoded, stages)?;
    Ok(())
}

struct WholeShard<'s> {
    shard: &'s ShardPipeline,
    geometry: InnerGeometry,
    bounds: Bounds,
}

impl WholeShard<'_> {
    /// Calls `work` with the position of each inner chunk and the position of its first element in the shard. Stops at
    /// the first error, and adds the index of the inner chunk to it.
    fn for_each_inner_chunk(
        &self,
        mut work: impl FnMut(usize, usize) -> Result<(), StepFault>,
    ) -> Result<(), StepFault> {
        let mut result = Ok(());
        for_each_index(&self.shard.grid_shape, |number, chunk| {
            if result.is_ok() {
                result = work(number, self.geometry.offset(self.shard, chunk)).map_err(|mut fault| {
                    fault.inner.get_or_insert_with(|| chunk.iter().map(|&index| index as u64).collect());
                    fault
                });
            }
        });
        result
    }

    /// Decodes an inner chunk with elements of a fixed size, or fills it with the fill value if `range` is `None`.
    fn decode_fixed(
        &self,
        encoded: &[u8],
        range: Option<(u64, u64)>,
        target: &mut [u8],
        offset: usize,
        stages: &mut Stages,
    ) -> Result<(), StepFault> {
        let Self { shard, geometry, .. } = self;
        let offset = offset * geometry.element_size;
        let Some(range) = range else {
            let filled = copy::fill(shard.array.fill_value.bytes(), &geometry.fill, target, offset);
            return Ok(filled.map_err(CodecError::corrupt)?);
        };
        let elements = self.decoded(part(encoded, range)?, stages)?;
        let swap = ByteSwap::from(&shard.inner.layout.swap);
        copy::copy(geometry.element_size, swap, &geometry.decode, elements, 0, target, offset, false)
            .map_err(CodecError::corrupt)?;
        Ok(())
    }

    fn decode_variable(
        &self,
        encoded: &[u8],
        assembly: &mut Assembly,
        offset: usize,
        stages: &mut Stages,
    ) -> Result<(), StepFault> {
        let Self { shard, geometry, .. } = self;
        let elements = Variable::parse(self.decoded(encoded, stages)?, &shard.inner.array)?;
        for_each_index(&shard.inner.array.shape, |_, index| {
            let to = place(index, &geometry.shard_strides);
            assembly.put(offset + to, elements.element(place(index, &shard.inner.layout.strides)));
        });
        Ok(())
    }

    fn decoded<'s>(&self, encoded: &'s [u8], stages: &'s mut Stages) -> Result<&'s [u8], StepFault> {
        let decoded = decode(&self.shard.inner, encoded, stages, None, self.bounds).map_err(|error| {
            StepFault { inner: error.inner.clone(), source: error.within(CodecError::corrupt) }
        })?;
        let decoded = decoded.ok_or_else(|| CodecError::corrupt("nothing was decoded"))?;
        Ok(stages.bytes(&decoded, encoded))
    }

    /// Gathers the elements of an inner chunk in `stages`. Returns their size in bytes, or `None` if all of them are the
    /// fill value.
    fn gather_fixed(
        &self,
        decoded: &[u8],
        offset: usize,
        stages: &mut Stages,
    ) -> Result<Option<usize>, CodecError> {
        let Self { shard, geometry, .. } = self;
        let size = geometry.element_size;
        let count = shard.inner.array.element_count().and_then(|count| count.checked_mul(size));
        let bytes = count.ok_or_else(|| CodecError::corrupt("too many elements"))?;
        let start = stages.start(bytes)?;
        let swap = ByteSwap::from(&shard.inner.layout.swap);
        copy::copy(size, swap, &geometry.encode, decoded, offset * size, start, 0, false)
            .map_err(CodecError::encode)?;
        Ok((!is_fill(&shard.inner, start)).then_some(bytes))
    }

    /// Like [`Self::gather_fixed`], for elements of variable size.
    fn gather_variable(
        &self,
        elements: Variable<'_>,
        offset: usize,
        stages: &mut Stages,
    ) -> Result<Option<usize>, CodecError> {
        let Self { shard, geometry, .. } = self;
        let mut assembly = Assembly::new(&shard.inner.array)?;
        let mut only_fill = true;
        for_each_index(&shard.inner.array.shape, |_, index| {
            let element = elements.element(offset + place(index, &geometry.shard_strides));
            only_fill &= element == shard.array.fill_value.bytes();
            assembly.put(place(index, &shard.inner.layout.strides), element);
        });
        if only_fill {
            return Ok(None);
        }
        let bytes = assembly.finish()?;
        stages.start(bytes.len())?.copy_from_slice(&bytes);
        Ok(Some(bytes.len()))
    }
}

fn place(index: &[usize], strides: &[usize]) -> usize {
    index.iter().zip(strides).map(|(i, stride)| i * stride).sum()
}

/// The counts and strides for copies between an inner chunk and its shard in C order. They are the same for all inner
/// chunks of a shard.
#[derive(Debug)]
struct InnerGeometry {
    /// The size of an element in bytes; 1 if it is variable.
    element_size: usize,
    decode: Vec<Dimension>,
    encode: Vec<Dimension>,
    fill: Vec<FillDimension>,
    /// The strides of the shard in elements, per dimension.
    shard_strides: Vec<usize>,
}

impl InnerGeometry {
    fn new(shard: &ShardPipeline, element_size: usize) -> Result<Self, CodecError> {
        let mut geometry = Self {
            element_size,
            decode: Vec::new(),
            encode: Vec::new(),
            fill: Vec::new(),
            shard_strides: c_strides(&shard.array.shape)?,
        };
        for (dimension, &count) in shard.inner.array.shape.iter().enumerate() {
            let count = usize::try_from(count).map_err(CodecError::corrupt)?;
            let outer = geometry.shard_strides[dimension].saturating_mul(element_size).cast_signed();
            let inner = shard.inner.layout.strides[dimension].saturating_mul(element_size).cast_signed();
            geometry.decode.push(Dimension { count, source_stride: inner, destination_stride: outer });
            geometry.encode.push(Dimension { count, source_stride: outer, destination_stride: inner });
            geometry.fill.push(FillDimension { count, stride: outer });
        }
        Ok(geometry)
    }

    /// Returns the position in the shard of the first element of an inner chunk.
    fn offset(&self, shard: &ShardPipeline, chunk: &[usize]) -> usize {
        let lengths = shard.inner.array.shape.iter();
        let starts = chunk
            .iter()
            .zip(lengths)
            .map(|(&chunk, &length)| chunk * usize::try_from(length).unwrap_or(usize::MAX));
        starts.zip(&self.shard_strides).map(|(start, stride)| start * stride).sum()
    }
}
