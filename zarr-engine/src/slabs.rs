//! Chunks run by run in the order in which they are stored: each run is a few boxes of elements.

use std::ops::Range;

use zarr_spec::host::pipeline::Pipeline;

use crate::copy::MAX_RANK;
use crate::plan::{Piece, Run, StridedBox};

/// A chunk of elements of a fixed size that a piece covers as a whole.
pub(crate) struct Slabs {
    whole: StridedBox,
    /// Bytes of an element.
    element: usize,
    /// Bytes of all elements.
    size: usize,
    /// Those of more than one element, and of these the one that varies slowest first.
    dimensions: [Along; MAX_RANK],
    rank: usize,
}

/// One dimension of a stored chunk.
#[derive(Clone, Copy)]
struct Along {
    dimension: usize,
    count: usize,
    /// Bytes from one element to the next.
    stride: usize,
}

impl Slabs {
    /// `None` where the piece does not cover the chunk in one box, or elements have no fixed size.
    pub(crate) fn new(pipeline: &Pipeline, piece: &Piece<'_>) -> Option<Self> {
        let shape = &pipeline.array.shape;
        let strides = &pipeline.layout.strides;
        let element = pipeline.array.data_type.elements().size().filter(|&element| element > 0)?;
        let whole = piece.covers(shape.iter().copied()).then(|| piece.only())??;
        let mut slabs = Self {
            whole,
            element,
            size: element,
            dimensions: [Along { dimension: 0, count: 1, stride: element }; MAX_RANK],
            rank: 0,
        };
        for (dimension, (run, stride)) in slabs.whole.runs().iter().zip(strides).enumerate() {
            if run.count > 1 {
                let stride = stride.checked_mul(element)?;
                slabs.dimensions[slabs.rank] = Along { dimension, count: run.count, stride };
                slabs.rank += 1;
            }
        }
        let dimensions = &mut slabs.dimensions[..slabs.rank];
        dimensions.sort_unstable_by_key(|along| std::cmp::Reverse(along.stride));
        // Each row begins where the one before it ends.
        for along in dimensions.iter().rev() {
            if along.stride != slabs.size {
                return None;
            }
            slabs.size = slabs.size.checked_mul(along.count)?;
        }
        Some(slabs)
    }

    /// Bytes of an element.
    pub(crate) fn element(&self) -> usize {
        self.element
    }

    /// Bytes of all elements.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Hands the elements that are stored in the bytes of `run` to `work`, box after box. Whether there are such, and
    /// none is cut.
    ///
    /// # Errors
    ///
    /// The first of `work`.
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
            // The largest box that is next: rows of the slowest dimension of which one fits.
            let fits = |along: &Along| at.is_multiple_of(along.stride) && along.stride <= run.end - at;
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
