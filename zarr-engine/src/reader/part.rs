//! The part of an encoded chunk that contains the requested elements, for codecs that decode subsets.
//!
//! Uncompressed chunks are the simplest case: their encoded bytes are the elements. Other codecs implement
//! [`DecodeSubset`].

use std::ops::Range;

use zarr_spec::codec::{DecodeSubset, EncodedRanges};
use zarr_spec::host::pipeline::{Layout, Pipeline, Work};
use zarr_spec::{ArrayRepresentation, ArraySubset, CodecError};

use super::decode::needed_range;
use super::output::ChunkRequest;
use crate::error::Error;
use crate::pipeline::Stages;

pub(super) enum Part<'p> {
    /// The bytes from the first to the last requested element of an uncompressed chunk.
    Elements(Range<u64>),
    Subset(SubsetPart<'p>),
}

pub(super) struct SubsetPart<'p> {
    pub(super) codec: &'p dyn DecodeSubset,
    /// The array that the codec decodes. Its dimensions may have another order than the dimensions of the chunk.
    pub(super) array: &'p ArrayRepresentation,
    pub(super) subset: ArraySubset,
    /// The layout of the decoded subset, per dimension of the chunk.
    layout: Layout,
    /// The offset in bytes that the first element of the subset would have if the whole chunk had this layout.
    skipped: usize,
    /// The size of the decoded subset in bytes.
    pub(super) decoded_size: usize,
}

impl<'p> Part<'p> {
    /// Returns the part of a chunk that contains all requested elements, if the codecs can decode it and it is
    /// not the whole chunk.
    pub(super) fn of(pipeline: &'p Pipeline, requests: &[ChunkRequest<'_, '_>]) -> Option<Self> {
        if pipeline.steps.is_empty() {
            let range = needed_range(pipeline, requests)?;
            return Some(Self::Elements(range.start as u64..range.end as u64));
        }
        SubsetPart::of(pipeline, requests).map(Self::Subset)
    }

    /// Returns the only range of encoded bytes to fetch, combined from ranges that are at most `gap` bytes apart;
    /// `None` if there are several, or an index must be fetched first.
    pub(super) fn only_range(&self, gap: u64) -> Result<Option<Range<u64>>, CodecError> {
        match self {
            Self::Elements(range) => Ok(Some(range.clone())),
            Self::Subset(part) if part.codec.index_range(part.array)?.is_some() => Ok(None),
            Self::Subset(part) => {
                let ranges = part.ranges(&[], gap)?;
                Ok(<[_; 1]>::try_from(ranges).ok().map(|[range]| range))
            }
        }
    }

    /// Decodes the bytes that begin at `offset` in the value, and places the requested elements.
    pub(super) fn place(
        &self,
        pipeline: &Pipeline,
        encoded: (u64, &[u8]),
        requests: &[ChunkRequest<'_, '_>],
        stages: &mut Stages,
    ) -> Result<(), PartError> {
        let part = match self {
            Self::Elements(range) => {
                let skipped = usize::try_from(range.start).unwrap_or(usize::MAX);
                return place(pipeline, skipped, encoded.1, requests);
            }
            Self::Subset(part) => part,
        };
        part.decode(pipeline, &EncodedRanges::new(&[], vec![encoded]), requests, stages)
    }

    /// Returns the size of the buffer for decoding, in bytes.
    pub(super) fn decoded_size(&self) -> usize {
        match self {
            Self::Elements(_) => 0,
            Self::Subset(part) => part.decoded_size,
        }
    }
}

impl<'p> SubsetPart<'p> {
    /// Like [`Part::of`], for a chunk with computed steps.
    pub(super) fn of(pipeline: &'p Pipeline, requests: &[ChunkRequest<'_, '_>]) -> Option<Self> {
        let [step] = pipeline.steps.as_slice() else { return None };
        let Work::ArrayToBytes(codec, array) = &step.work else { return None };
        let codec = codec.subsets()?;
        let element_size = array.data_type.elements().size()?;
        let needed = needed_box(pipeline, requests)?;
        let dimensions = encoded_dimensions(pipeline, array)?;
        let mut strides = vec![0; needed.len()];
        let mut ranges = vec![0..1; array.shape.len()];
        let mut skipped = 0usize;
        let mut stride = 1usize;
        for (range, dimension) in ranges.iter_mut().zip(&dimensions).rev() {
            let Some(dimension) = *dimension else { continue };
            let needed = &needed[dimension];
            *range = needed.clone();
            strides[dimension] = stride;
            let start = usize::try_from(needed.start).ok()?.checked_mul(stride)?;
            skipped = skipped.checked_add(start)?;
            stride = stride.checked_mul(usize::try_from(needed.end - needed.start).ok()?)?;
        }
        Some(Self {
            codec,
            array,
            subset: ArraySubset::new(ranges),
            layout: Layout::new(strides, pipeline.layout.swap.clone()),
            skipped: skipped.checked_mul(element_size)?,
            decoded_size: stride.checked_mul(element_size)?,
        })
    }

    /// Returns the ranges to fetch. Ranges that are at most `gap` bytes apart are combined.
    pub(super) fn ranges(&self, index: &[u8], gap: u64) -> Result<Vec<Range<u64>>, CodecError> {
        let mut combined: Vec<Range<u64>> = Vec::new();
        for range in self.codec.ranges(self.array, &self.subset, index)? {
            match combined.last_mut() {
                Some(last) if range.start < last.end => {
                    return Err(CodecError::corrupt("the codec requests byte ranges that are out of order"));
                }
                Some(last) if range.start - last.end <= gap => last.end = last.end.max(range.end),
                _ => combined.push(range),
            }
        }
        match combined.iter().all(|range| range.start < range.end) {
            true => Ok(combined),
            false => Err(CodecError::corrupt("the codec requests an empty byte range")),
        }
    }

    pub(super) fn decode(
        &self,
        pipeline: &Pipeline,
        encoded: &EncodedRanges<'_>,
        requests: &[ChunkRequest<'_, '_>],
        stages: &mut Stages,
    ) -> Result<(), PartError> {
        let decoded = stages.written(self.decoded_size, |output| {
            self.codec.decode_subset(self.array, &self.subset, encoded, output)
        });
        let decoded = decoded.map_err(PartError::Codec)?;
        let mut pipeline = pipeline.clone();
        pipeline.layout = self.layout.clone();
        place(&pipeline, self.skipped, decoded, requests)
    }
}

/// Copies the requested elements of a chunk to the outputs. `elements` are the bytes of the chunk from offset `skipped`
/// on.
fn place(
    pipeline: &Pipeline,
    skipped: usize,
    elements: &[u8],
    requests: &[ChunkRequest<'_, '_>],
) -> Result<(), PartError> {
    requests.iter().try_for_each(|request| {
        request.piece.each_strided_box(|strided_box| {
            request.copy(pipeline, elements, skipped, strided_box).map_err(PartError::Place)
        })
    })
}

/// Why a part of a chunk was not read.
pub(super) enum PartError {
    Codec(CodecError),
    Place(Error),
}

/// Returns the smallest box with all requested elements, per dimension of the chunk, if it is not the whole chunk.
fn needed_box(pipeline: &Pipeline, requests: &[ChunkRequest<'_, '_>]) -> Option<Vec<Range<u64>>> {
    let shape = &pipeline.array.shape;
    let mut needed: Vec<_> = shape.iter().map(|&length| length..0).collect();
    for request in requests {
        let is_known = request.piece.each_strided_box(|strided_box| {
            for (needed, run) in needed.iter_mut().zip(strided_box.runs()) {
                let distance = i64::try_from(run.count.saturating_sub(1))
                    .ok()
                    .and_then(|count| run.step.checked_mul(count));
                let end = distance.and_then(|distance| run.start.checked_add_signed(distance)).ok_or(())?;
                *needed = needed.start.min(run.start).min(end)..needed.end.max(run.start.max(end) + 1);
            }
            Ok::<_, ()>(())
        });
        is_known.ok()?;
    }
    let is_within =
        needed.iter().zip(shape).all(|(range, &length)| range.start < range.end && range.end <= length);
    let is_part = needed.iter().zip(shape).any(|(range, &length)| *range != (0..length));
    (is_within && is_part).then_some(needed)
}

/// Returns the dimension of the chunk for each dimension of `array` that has several elements. The layout of the
/// chunk states the order.
fn encoded_dimensions(pipeline: &Pipeline, array: &ArrayRepresentation) -> Option<Vec<Option<usize>>> {
    let shape = &pipeline.array.shape;
    let mut stride = 1u64;
    let mut dimensions = vec![None; array.shape.len()];
    for (dimension, &length) in dimensions.iter_mut().zip(&array.shape).rev() {
        if length == 1 {
            continue;
        }
        let same = |&other: &usize| shape[other] == length && pipeline.layout.strides[other] as u64 == stride;
        *dimension = Some((0..shape.len()).find(same)?);
        stride = stride.checked_mul(length)?;
    }
    Some(dimensions)
}
