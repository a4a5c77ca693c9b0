//! Divides a chunk into contiguous runs in storage order. Each run consists of a few boxes of elements.

use std::ops::Range;

use zarr_spec::host::pipeline::Pipeline;

use crate::copy::MAX_RANK;
use crate::plan::{Piece, Run, StridedBox};

/// A chunk with elements of a fixed size. A piece selects all elements.
pub(crate) struct Slabs {
    whole: StridedBox,
    /// The size of an element in bytes.
    pub(crate) element: usize,
    /// The size of all elements in bytes.
    pub(crate) size: usize,
    /// The dimensions with more than one element, from the slowest varying to the fastest.
    dimensions: [ChunkSide; MAX_RANK],
    rank: usize,
}

#[derive(Clone, Copy)]
struct ChunkSide {
    dimension: usize,
    count: usize,
    /// The distance between neighbours in bytes.
    stride: usize,
}

impl Slabs {
    /// Returns the runs of a chunk; `None` if the piece does not cover the chunk in one box, or if the elements have a
    /// variable size.
    pub(crate) fn new(pipeline: &Pipeline, piece: &Piece<'_>) -> Option<Self> {
        let shape = &pipeline.array.shape;
        let strides = &pipeline.layout.strides;
        let element = pipeline.array.data_type.elements().size().filter(|&element| element > 0)?;
        let whole = piece.covers(shape.iter().copied()).then(|| piece.only())??;
        let mut slabs = Self {
            whole,
            element,
            size: element,
            dimensions: [ChunkSide { dimension: 0, count: 1, stride: element }; MAX_RANK],
            rank: 0,
        };
        for (dimension, (run, stride)) in slabs.whole.runs().iter().zip(strides).enumerate() {
            if run.count > 1 {
                let stride = stride.checked_mul(element)?;
                slabs.dimensions[slabs.rank] = ChunkSide { dimension, count: run.count, stride };
                slabs.rank += 1;
            }
        }
        let dimensions = &mut slabs.dimensions[..slabs.rank];
        dimensions.sort_unstable_by_key(|along| std::cmp::Reverse(along.stride));
        // Each row must start where the previous one ends.
        for along in dimensions.iter().rev() {
            if along.stride != slabs.size {
                return None;
            }
            slabs.size = slabs.size.checked_mul(along.count)?;
        }
        Some(slabs)
    }

    /// Calls `work` with boxes that together contain the elements in the bytes of `run`, in storage order. Returns
    /// false if `run` is outside of the chunk or cuts an element.
    pub(crate) fn each_box<E>(
        &self,
        run: Range<usize>,
        mut work: impl FnMut(&StridedBox) -> Result<(), E>,
    ) -> Result<bool, E> {
        let is_whole = |at: usize| at <= self.size && at.is_multiple_of(self.element);
        if run.start > run.end || !is_whole(run.start) || !is_whole(run.end) {
            return Ok(false);
        }
        let mut part = self.whole.clone();
        let dimensions = &self.dimensions[..self.rank];
        let mut at = run.start;
        while at < run.end {
            // Take the largest box that fits into the rest of the run: find the slowest dimension along which a whole
            // row fits, and take as many rows as possible along it.
            let fits = |along: &ChunkSide| at.is_multiple_of(along.stride) && along.stride <= run.end - at;
            let rows = dimensions.iter().position(fits).unwrap_or(self.rank);
            let mut size = self.element;
            for (place, along) in dimensions.iter().enumerate() {
                let first = at / along.stride % along.count;
                let count = if place < rows { 1 } else { along.count - first };
                let count = if place == rows { count.min((run.end - at) / along.stride) } else { count };
                if place == rows {
                    size = along.stride * count;
                }
                let whole = self.whole.runs()[along.dimension];
                let chosen = Run { start: first as u64, count, out: whole.out + first, ..whole };
                part.set_run(along.dimension, chosen);
            }
            work(&part)?;
            at += size;
        }
        Ok(true)
    }
}
