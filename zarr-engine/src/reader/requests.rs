//! The chunks that a read needs, and the requests for elements of each.

use std::ops::Range;
use std::sync::Arc;

use zarr_spec::host::pipeline::Pipeline;

use super::output::{ChunkRequest, OutputRegion};
use crate::copy::MAX_RANK;
use crate::error::Error;
use crate::plan::{Piece, Plan};
use crate::stored::StoredArray;

pub(super) struct RequestedChunks<'r> {
    plans: &'r [Plan<'r>],
    regions: &'r [OutputRegion<'r>],
    /// All pieces, sorted by chunk, if there are several plans.
    pieces: Vec<PlannedPiece>,
    /// The pieces of each chunk, if there are several plans.
    ranges: Vec<Range<usize>>,
    /// The index of the only chunk, if the chunks of the plan are not chunks of the array.
    only: Option<&'r [u64]>,
}

struct PlannedPiece {
    chunk: [u64; MAX_RANK],
    plan: usize,
    piece: usize,
}

/// A chunk with at least one request for its elements.
pub(super) struct RequestedChunk<'w, 'r> {
    pub(super) number: usize,
    pub(super) index: &'w [u64],
    pub(super) requests: &'w [ChunkRequest<'w, 'r>],
    first: &'w Piece<'w>,
}

impl<'r> RequestedChunks<'r> {
    pub(super) fn new(plans: &'r [Plan<'r>], regions: &'r [OutputRegion<'r>]) -> Result<Self, Error> {
        let pieces = if plans.len() == 1 { Vec::new() } else { sorted_pieces(plans)? };
        let mut end = 0;
        let ranges = pieces.chunk_by(|a, b| a.chunk == b.chunk).map(|same| {
            let start = end;
            end += same.len();
            start..end
        });
        let ranges = ranges.collect();
        Ok(Self { plans, regions, pieces, ranges, only: None })
    }

    /// Returns the chunk at `index`, given a plan whose only chunk is that chunk.
    pub(super) fn one(plans: &'r [Plan<'r>; 1], region: &'r OutputRegion<'r>, index: &'r [u64]) -> Self {
        let regions = std::slice::from_ref(region);
        Self { plans, regions, pieces: Vec::new(), ranges: Vec::new(), only: Some(index) }
    }

    pub(super) fn len(&self) -> usize {
        match self.plans {
            [plan] => plan.len(),
            _ => self.ranges.len(),
        }
    }

    pub(super) fn with_chunk<R>(
        &self,
        number: usize,
        work: impl FnOnce(RequestedChunk<'_, 'r>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        if let ([plan], [region]) = (self.plans, self.regions) {
            let piece = plan.piece(number)?;
            let requests = [ChunkRequest { piece: &piece, region, strides: &region.strides }];
            let index = self.only.unwrap_or(piece.chunk());
            return work(RequestedChunk { number, index, requests: &requests, first: &piece });
        }
        let planned = &self.pieces[self.ranges[number].clone()];
        let pieces: Result<Vec<_>, _> =
            planned.iter().map(|planned| self.plans[planned.plan].piece(planned.piece)).collect();
        let pieces = pieces?;
        let requests = planned.iter().zip(&pieces).map(|(planned, piece)| {
            let region = &self.regions[planned.plan];
            ChunkRequest { piece, region, strides: &region.strides }
        });
        let requests: Vec<_> = requests.collect();
        let first = &pieces[0];
        work(RequestedChunk { number, index: first.chunk(), requests: &requests, first })
    }

    pub(super) fn first_pipeline(&self, array: &StoredArray) -> Result<Option<Arc<Pipeline>>, Error> {
        if self.len() == 0 {
            return Ok(None);
        }
        self.with_chunk(0, |chunk| array.pipeline_of(chunk.index, chunk.first).map(Some))
    }
}

impl<'w> RequestedChunk<'w, '_> {
    pub(super) fn piece(&self) -> &'w Piece<'w> {
        self.first
    }
}

fn sorted_pieces(plans: &[Plan<'_>]) -> Result<Vec<PlannedPiece>, Error> {
    let mut pieces = Vec::new();
    for (number, plan) in plans.iter().enumerate() {
        for piece in 0..plan.len() {
            let mut chunk = [0; MAX_RANK];
            for (to, from) in chunk.iter_mut().zip(plan.piece(piece)?.chunk()) {
                *to = *from;
            }
            pieces.push(PlannedPiece { chunk, plan: number, piece });
        }
    }
    pieces.sort_by_key(|planned| planned.chunk);
    Ok(pieces)
}
