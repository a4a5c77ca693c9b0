//! Whole shards in memory: those that the planner cannot go down into.

use zarr_spec::host::pipeline::{Layout, ShardPipeline};
use zarr_spec::{CodecError, Elements, Output};

use super::{ShardIndex, ShardWriter, is_fill, part};
use crate::copy::{self, Dimension, FillDimension};
use crate::pipeline::{Bounds, Stages, decode, encode, swap_of};
use crate::shape::{c_strides, for_each_index};
use crate::variable::{Assembly, Variable};

/// A whole shard, to the elements of all its inner chunks in C order.
pub(crate) fn decode_whole(
    shard: &ShardPipeline,
    encoded: &[u8],
    decoded: &mut Output<'_>,
    stages: &mut Stages,
    bounds: Bounds,
) -> Result<(), CodecError> {
    let index = ShardIndex::of_value(shard, encoded, stages)?;
    match shard.array.data_type.elements() {
        Elements::Fixed { size, .. } => {
            let bytes = shard.array.element_count().and_then(|count| count.checked_mul(size));
            let bytes = bytes.ok_or_else(|| CodecError::corrupt("too many elements"))?;
            decoded.spare(bytes)?;
            decoded.advance(bytes);
            decode_fixed(shard, &index, encoded, size, decoded.written_mut(), stages, bounds)
        }
        Elements::Variable => decode_variable(shard, &index, encoded, decoded, stages, bounds),
    }
}

fn decode_fixed(
    shard: &ShardPipeline,
    index: &ShardIndex,
    encoded: &[u8],
    size: usize,
    target: &mut [u8],
    stages: &mut Stages,
    bounds: Bounds,
) -> Result<(), CodecError> {
    let geometry = InnerGeometry::new(shard, size)?;
    let mut result = Ok(());
    for_each_index(&shard.grid_shape, |number, cell| {
        if result.is_err() {
            return;
        }
        let offset = geometry.offset(shard, cell) * size;
        result = match index.range(number) {
            None => copy::fill(shard.array.fill_value.bytes(), &geometry.fill, target, offset)
                .map_err(CodecError::corrupt),
            Some(range) => with_inner(shard, encoded, range, stages, bounds, |elements| {
                let swap = swap_of(&shard.inner.layout.swap);
                copy::copy(size, swap, &geometry.decode, elements, 0, target, offset, false)
                    .map_err(CodecError::corrupt)
            }),
        };
    });
    result
}

fn decode_variable(
    shard: &ShardPipeline,
    index: &ShardIndex,
    encoded: &[u8],
    decoded: &mut Output<'_>,
    stages: &mut Stages,
    bounds: Bounds,
) -> Result<(), CodecError> {
    let geometry = InnerGeometry::new(shard, 1)?;
    let mut assembly = Assembly::new(&shard.array)?;
    let mut result = Ok(());
    for_each_index(&shard.grid_shape, |number, cell| {
        let Some(range) = index.range(number) else { return };
        if result.is_err() {
            return;
        }
        let offset = geometry.offset(shard, cell);
        result = with_inner(shard, encoded, range, stages, bounds, |elements| {
            let elements = Variable::parse(elements, &shard.inner.array)?;
            for_each_index(&shard.inner.array.shape, |_, index| {
                let from = place(index, &shard.inner.layout);
                let to =
                    index.iter().zip(&geometry.shard_strides).map(|(i, stride)| i * stride).sum::<usize>();
                assembly.put(offset + to, elements.element(from));
            });
            Ok(())
        });
    });
    result?;
    Ok(decoded.put(&assembly.finish()?)?)
}

fn place(index: &[usize], layout: &Layout) -> usize {
    index.iter().zip(&layout.strides).map(|(i, stride)| i * stride).sum()
}

fn with_inner(
    shard: &ShardPipeline,
    encoded: &[u8],
    range: (u64, u64),
    stages: &mut Stages,
    bounds: Bounds,
    then: impl FnOnce(&[u8]) -> Result<(), CodecError>,
) -> Result<(), CodecError> {
    let bytes = part(encoded, range)?;
    let decoded = decode(&shard.inner, bytes, stages, None, bounds);
    let decoded = decoded.map_err(|error| error.within("inner chunk, ", CodecError::corrupt))?;
    let decoded = decoded.ok_or_else(|| CodecError::corrupt("inner chunk: nothing was decoded"))?;
    then(stages.bytes(&decoded, bytes))
}

/// Encodes a shard from the elements of all its inner chunks in C order. Inner chunks of fill values alone are left out.
pub(crate) fn encode_whole(
    shard: &ShardPipeline,
    decoded: &[u8],
    encoded: &mut Output<'_>,
    stages: &mut Stages,
    bounds: Bounds,
) -> Result<(), CodecError> {
    let mut writer = ShardWriter::new(shard, encoded)?;
    let size = shard.array.data_type.elements().size();
    let geometry = InnerGeometry::new(shard, size.unwrap_or(1))?;
    let variable = match size {
        None => Some(Variable::parse(decoded, &shard.array)?),
        Some(_) => None,
    };
    let mut result = Ok(());
    for_each_index(&shard.grid_shape, |number, cell| {
        if result.is_err() {
            return;
        }
        let offset = geometry.offset(shard, cell);
        let gathered = match (variable, size) {
            (Some(elements), _) => gather_variable(shard, &geometry, elements, offset, stages),
            (None, size) => gather_fixed(shard, &geometry, decoded, offset, size.unwrap_or(1), stages),
        };
        result = match gathered {
            Ok(None) => Ok(()),
            Ok(Some(bytes)) => encode(&shard.inner, bytes, stages, bounds)
                .map_err(|error| error.source)
                .and_then(|inner| writer.put(number, stages.bytes(&inner, &[]), encoded)),
            Err(error) => Err(error),
        };
    });
    result?;
    writer.finish(shard, encoded, stages)?;
    Ok(())
}

/// Bytes that were gathered into `stages`; `None` if all of them are the fill value.
fn gather_fixed(
    shard: &ShardPipeline,
    geometry: &InnerGeometry,
    decoded: &[u8],
    offset: usize,
    size: usize,
    stages: &mut Stages,
) -> Result<Option<usize>, CodecError> {
    let count = shard.inner.array.element_count().and_then(|count| count.checked_mul(size));
    let bytes = count.ok_or_else(|| CodecError::corrupt("too many elements"))?;
    let start = stages.start(bytes)?;
    let swap = swap_of(&shard.inner.layout.swap);
    copy::copy(size, swap, &geometry.encode, decoded, offset * size, start, 0, false)
        .map_err(CodecError::encode)?;
    Ok((!is_fill(&shard.inner, start)).then_some(bytes))
}

fn gather_variable(
    shard: &ShardPipeline,
    geometry: &InnerGeometry,
    elements: Variable<'_>,
    offset: usize,
    stages: &mut Stages,
) -> Result<Option<usize>, CodecError> {
    let mut assembly = Assembly::new(&shard.inner.array)?;
    let mut only_fill = true;
    for_each_index(&shard.inner.array.shape, |_, index| {
        let from: usize = index.iter().zip(&geometry.shard_strides).map(|(i, stride)| i * stride).sum();
        let element = elements.element(offset + from);
        only_fill &= element == shard.array.fill_value.bytes();
        assembly.put(place(index, &shard.inner.layout), element);
    });
    if only_fill {
        return Ok(None);
    }
    let bytes = assembly.finish()?;
    stages.start(bytes.len())?.copy_from_slice(&bytes);
    Ok(Some(bytes.len()))
}

/// How one inner chunk lies in a shard that is an array in C order; the same for all of them.
#[derive(Debug)]
struct InnerGeometry {
    decode: Vec<Dimension>,
    encode: Vec<Dimension>,
    fill: Vec<FillDimension>,
    /// Elements between neighbours of the shard.
    shard_strides: Vec<usize>,
}

impl InnerGeometry {
    fn new(shard: &ShardPipeline, element_size: usize) -> Result<Self, CodecError> {
        let shard_strides = c_strides(&shard.array.shape)?;
        let mut geometry = Self { decode: Vec::new(), encode: Vec::new(), fill: Vec::new(), shard_strides };
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

    /// The first element of an inner chunk.
    fn offset(&self, shard: &ShardPipeline, cell: &[usize]) -> usize {
        let inner = &shard.inner.array.shape;
        let starts = cell
            .iter()
            .zip(inner)
            .map(|(&cell, &length)| cell * usize::try_from(length).unwrap_or(usize::MAX));
        starts.zip(&self.shard_strides).map(|(start, stride)| start * stride).sum()
    }
}
