//! The inner chunks that requests need, and the byte ranges to fetch them with.

use std::ops::Range;

use zarr_spec::host::pipeline::ShardPipeline;

use super::output::{ChunkRequest, OutputRegion};
use crate::error::Error;
use crate::pipeline::inner_axes;
use crate::plan::Plan;
use crate::shape::position;

/// Byte ranges of a shard are coalesced to at most this many bytes.
const COALESCED: u64 = 1 << 20;

/// With several threads, coalesced byte ranges may always have this many bytes.
const COALESCED_AT_LEAST: u64 = 128 << 10;

/// The requests for elements of a shard, as plans of its inner chunks.
pub(super) struct ShardRequests<'r>(Vec<ShardRequest<'r>>);

struct ShardRequest<'r> {
    region: &'r OutputRegion<'r>,
    /// The strides of the output, in the order of the dimensions of the shard.
    strides: Vec<usize>,
    plan: Plan<'r>,
}

#[derive(Clone, Copy)]
pub(super) struct InnerChunk {
    /// The offset and size in the shard, in bytes; `None` if the inner chunk is missing, or before the index is read.
    pub(super) range: Option<(u64, u64)>,
    pub(super) position: usize,
    request: usize,
    piece: usize,
    is_whole: bool,
}

impl<'r> ShardRequests<'r> {
    pub(super) fn new(shard: &ShardPipeline, requests: &[ChunkRequest<'_, 'r>]) -> Result<Self, Error> {
        let request = |request: &ChunkRequest<'_, 'r>| {
            let strides = shard.order.iter().map(|&dimension| request.strides[dimension]).collect();
            let plan = request.piece.divided(&shard.order, inner_axes(shard))?;
            Ok(ShardRequest { region: request.region, strides, plan })
        };
        Ok(Self(requests.iter().map(request).collect::<Result<_, Error>>()?))
    }

    /// Returns the size of all outputs in bytes.
    pub(super) fn output_size(&self) -> usize {
        self.0.iter().map(|request| request.region.size).fold(0, usize::saturating_add)
    }

    /// Returns all needed inner chunks, without their ranges.
    pub(super) fn inner_chunks(&self, shard: &ShardPipeline) -> Result<Vec<InnerChunk>, Error> {
        let shape = &shard.inner.array.shape;
        let mut inner = Vec::with_capacity(self.0.iter().map(|request| request.plan.len()).sum());
        for (number, request) in self.0.iter().enumerate() {
            for piece_number in 0..request.plan.len() {
                let piece = request.plan.piece(piece_number)?;
                let position = position(piece.chunk(), &shard.grid_shape);
                let is_whole = piece.covers(shape.iter().copied());
                inner.push(InnerChunk {
                    range: None,
                    position,
                    request: number,
                    piece: piece_number,
                    is_whole,
                });
            }
        }
        Ok(inner)
    }

    /// Calls `work` with the requests for elements of one inner chunk.
    pub(super) fn with_requests<R>(
        &self,
        same: &[InnerChunk],
        work: impl FnOnce(&[ChunkRequest<'_, 'r>]) -> Result<R, Error>,
    ) -> Result<R, Error> {
        if let [one] = same {
            let ShardRequest { region, strides, plan } = &self.0[one.request];
            let piece = plan.piece(one.piece)?;
            return work(&[ChunkRequest { piece: &piece, region, strides }]);
        }
        let pieces = same.iter().map(|chunk| self.0[chunk.request].plan.piece(chunk.piece));
        let pieces = pieces.collect::<Result<Vec<_>, _>>()?;
        let requests = same.iter().zip(&pieces).map(|(chunk, piece)| {
            let ShardRequest { region, strides, .. } = &self.0[chunk.request];
            ChunkRequest { piece, region, strides }
        });
        work(&requests.collect::<Vec<_>>())
    }
}

/// Divides inner chunks that are shards into those to read as a whole and those to read through their own index. The
/// latter are inner chunks of which only a part is needed, or all inner chunks if decoded chunks are cached; they are
/// grouped by inner shard.
pub(super) fn split_parts(
    inner: Vec<InnerChunk>,
    is_cached: bool,
) -> (Vec<InnerChunk>, Vec<Vec<InnerChunk>>) {
    let mut whole = Vec::new();
    let mut parts = Vec::new();
    for same in inner.chunk_by(|a, b| a.range == b.range) {
        match !is_cached && same.iter().any(|chunk| chunk.is_whole) {
            true => whole.extend_from_slice(same),
            false => parts.push(same.to_vec()),
        }
    }
    (whole, parts)
}

/// Returns the offset and size of the bytes that contain all inner chunks of a group.
pub(super) fn range_of(group: &[InnerChunk]) -> (u64, u64) {
    let start = group.first().and_then(|chunk| chunk.range).map_or(0, |(offset, _)| offset);
    let ends = group.iter().filter_map(|chunk| chunk.range).map(|(offset, size)| offset + size);
    (start, ends.max().unwrap_or(start) - start)
}

/// Groups neighbours whose ranges are at most `gap` bytes apart. The groups are small enough for `threads` threads.
pub(super) fn coalesced(inner: &[InnerChunk], gap: u64, threads: usize) -> Vec<Range<usize>> {
    let share = range_of(inner).1 / (2 * threads.max(1) as u64);
    let most = if threads > 1 { share.clamp(COALESCED_AT_LEAST, COALESCED) } else { COALESCED };
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut start = 0u64;
    let mut end = 0u64;
    for (number, chunk) in inner.iter().enumerate() {
        let (offset, size) = chunk.range.unwrap_or((0, 0));
        let chunk_end = offset.saturating_add(size);
        let is_close =
            offset <= end.saturating_add(gap) && end.max(chunk_end) - start <= most.max(end - start);
        match groups.last_mut() {
            Some(group) if is_close => group.end = number + 1,
            _ => {
                groups.push(number..number + 1);
                start = offset;
                end = chunk_end;
            }
        }
        end = end.max(chunk_end);
    }
    groups
}
