//! Shards: the index of inner chunks, and whole shards in memory.

use std::ops::Range;

use zarr_spec::pipeline::{Layout, ShardPipeline};
use zarr_spec::{ByteRange, CodecError, Elements, Output};

use crate::copy::{self, Dimension, FillDimension};
use crate::pipeline::{Bounds, Stages, decode, encode, swap_of};
use crate::variable::{Assembly, Variable, for_each_index};

const MISSING: u64 = u64::MAX;
const ENTRY: usize = 2 * size_of::<u64>();

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
        let decoded = decoded.map_err(|error| CodecError::corrupt(format!("index: {}", error.source)))?;
        let decoded = decoded.ok_or_else(|| CodecError::corrupt("index: nothing was decoded"))?;
        let native = to_c_order(&shard.index, stages.bytes(&decoded, encoded))?;
        let payload = match shard.index_at_start {
            true => shard.index_size..value_size,
            false => 0..value_size - shard.index_size,
        };
        let mut entries = Vec::with_capacity(native.len() / ENTRY);
        for (number, entry) in native.chunks_exact(ENTRY).enumerate() {
            let (offset, size) = entry.split_at(ENTRY / 2);
            let (offset, size) = (read(offset), read(size));
            let inside = || {
                let end = offset.checked_add(size);
                size == 0 || (offset >= payload.start && end.is_some_and(|end| end <= payload.end))
            };
            match (offset == MISSING, size == MISSING) {
                (true, true) => {}
                (false, false) if inside() => {}
                _ => {
                    return Err(CodecError::corrupt(format!(
                        "index: inner chunk {number} would be {size} bytes at {offset} of a shard of {value_size}"
                    )));
                }
            }
            entries.push((offset, size));
        }
        Ok(Self { entries })
    }

    /// Offset and size of an inner chunk, by its position in C order; `None` if it is not stored.
    pub(crate) fn range(&self, number: usize) -> Option<(u64, u64)> {
        self.entries.get(number).copied().filter(|&(offset, _)| offset != MISSING)
    }

    /// Says where an inner chunk is.
    pub(crate) fn set(&mut self, number: usize, range: Option<(u64, u64)>) {
        self.entries[number] = range.unwrap_or((MISSING, MISSING));
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

fn read(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_ne_bytes)
}

/// A part of a value; the index was checked against the value that it came from.
pub(crate) fn part(value: &[u8], (offset, size): (u64, u64)) -> Result<&[u8], CodecError> {
    let start = usize::try_from(offset).ok();
    let range =
        start.zip(usize::try_from(size).ok()).and_then(|(start, size)| Some(start..start.checked_add(size)?));
    range.and_then(|range: Range<usize>| value.get(range)).ok_or_else(|| {
        CodecError::corrupt(format!("{size} bytes at {offset} are not in a shard of {}", value.len()))
    })
}

pub(crate) fn inner_count(shard: &ShardPipeline) -> Result<usize, CodecError> {
    let count = shard.grid_shape.iter().try_fold(1usize, |product, &length| {
        usize::try_from(length).ok().and_then(|length| product.checked_mul(length))
    });
    count
        .filter(|count| count.checked_mul(ENTRY).is_some())
        .ok_or_else(|| CodecError::corrupt("too many inner chunks"))
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
            let outer = (geometry.shard_strides[dimension] * element_size).cast_signed();
            let inner = (shard.inner.layout.strides[dimension] * element_size).cast_signed();
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

/// Elements between neighbours per dimension, in C order.
pub(crate) fn c_strides(shape: &[u64]) -> Result<Vec<usize>, CodecError> {
    let mut strides = vec![1usize; shape.len()];
    for dimension in (1..shape.len()).rev() {
        let length = usize::try_from(shape[dimension]).map_err(CodecError::corrupt)?;
        let stride = strides[dimension].checked_mul(length);
        strides[dimension - 1] = stride.ok_or_else(|| CodecError::corrupt("too many elements"))?;
    }
    Ok(strides)
}

fn to_c_order(pipeline: &zarr_spec::pipeline::Pipeline, source: &[u8]) -> Result<Vec<u8>, CodecError> {
    let mut native = vec![0; source.len()];
    copy_whole(pipeline, source, &mut native, true)?;
    Ok(native)
}

fn from_c_order(
    pipeline: &zarr_spec::pipeline::Pipeline,
    source: &[u8],
    target: &mut [u8],
) -> Result<(), CodecError> {
    copy_whole(pipeline, source, target, false)
}

fn copy_whole(
    pipeline: &zarr_spec::pipeline::Pipeline,
    source: &[u8],
    target: &mut [u8],
    decoding: bool,
) -> Result<(), CodecError> {
    let size = pipeline.array.data_type.elements().size().unwrap_or(0);
    let c = c_strides(&pipeline.array.shape)?;
    let mut dimensions = Vec::with_capacity(c.len());
    for ((&count, c), l) in pipeline.array.shape.iter().zip(c).zip(&pipeline.layout.strides) {
        let count = usize::try_from(count).map_err(CodecError::corrupt)?;
        let (c, l) = ((c * size).cast_signed(), (l * size).cast_signed());
        let (source_stride, destination_stride) = if decoding { (l, c) } else { (c, l) };
        dimensions.push(Dimension { count, source_stride, destination_stride });
    }
    copy::copy(size, swap_of(&pipeline.layout.swap), &dimensions, source, 0, target, 0, false)
        .map_err(CodecError::corrupt)
}

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
    let decoded = decode(&shard.inner, bytes, stages, None, bounds).map_err(|error| match error.codec {
        Some(codec) => CodecError::corrupt(format!("inner chunk, codec `{codec}`: {}", error.source)),
        None => error.source,
    })?;
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

/// Whether the elements, in the pipeline's layout and byte order, are all the fill value.
pub(crate) fn is_fill(pipeline: &zarr_spec::pipeline::Pipeline, elements: &[u8]) -> bool {
    let mut fill = pipeline.array.fill_value.bytes().to_vec();
    let size = fill.len();
    copy::swap_in_place(swap_of(&pipeline.layout.swap), size, &mut fill).is_ok()
        && copy::all_equal(&fill, elements)
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
