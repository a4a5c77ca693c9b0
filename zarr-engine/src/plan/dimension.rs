//! One dimension of a plan: its division into chunks, and the runs of elements in each chunk.

use std::collections::BTreeMap;

use zarr_spec::grid::GridError;

use super::lookup::{Bounds, ChunkLookup};
use crate::grid::{Axis, AxisChunk, Even};

/// Elements along one dimension that are evenly spaced in the array and contiguous in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) start: u64,
    pub(crate) count: usize,
    /// The distance between neighbours in elements. Lists may result in 0 or negative steps.
    pub(crate) step: i64,
    /// The output position of the first element, along the same dimension.
    pub(crate) out: usize,
}

impl Run {
    /// A run of one element at position 0.
    pub(super) const ONE: Self = Self { start: 0, count: 1, step: 1, out: 0 };

    pub(crate) fn element(&self, number: usize) -> u64 {
        self.start.wrapping_add_signed(self.step.wrapping_mul(number as i64))
    }

    /// Returns whether the run touches every chunk between its first and last element, if each chunk has at least
    /// `shortest` elements.
    fn is_dense(&self, shortest: u64) -> bool {
        self.count > 0 && self.step > 0 && self.step.unsigned_abs() <= shortest
    }

    /// Returns the elements with numbers from `from` up to, but not including, `to`, relative to `origin`.
    fn part(&self, from: usize, to: usize, origin: u64) -> Self {
        let start = self.element(from).wrapping_sub(origin);
        Self { start, count: to - from, step: self.step, out: self.out + from }
    }

    /// Returns the part of the run in a chunk. The step must be positive.
    fn part_in(&self, chunk: &AxisChunk) -> Self {
        let step = self.step.unsigned_abs();
        let before = |element: u64| element.saturating_sub(self.start).div_ceil(step).min(self.count as u64);
        let from = before(chunk.extent.start);
        let to = before(chunk.extent.end);
        // Both numbers are at most `count`, so they fit into a `usize`.
        let from = usize::try_from(from).unwrap_or(self.count);
        let to = usize::try_from(to).unwrap_or(self.count);
        self.part(from, to, chunk.extent.origin())
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Runs<'p> {
    One(Run),
    Many(&'p [Run]),
}

impl Runs<'_> {
    pub(super) fn as_slice(&self) -> &[Run] {
        match self {
            Self::One(run) => std::slice::from_ref(run),
            Self::Many(runs) => runs,
        }
    }
}

/// The chunks along one dimension. They are disjoint. The grid is asked for each chunk only once: the safety of
/// concurrent writes to one output depends on this.
#[derive(Debug)]
pub(super) enum DimensionPlan {
    /// One run over consecutive chunks of equal length.
    Even { even: Even, run: Run, first: u64, chunks: usize },
    /// One run over consecutive chunks of different lengths.
    Uneven { bounds: Bounds, run: Run },
    /// Any chunks, in ascending order.
    Listed(Vec<(AxisChunk, Vec<Run>)>),
}

impl DimensionPlan {
    pub(super) fn new(axis: Axis<'_>, runs: &[Run]) -> Result<Self, GridError> {
        match (axis, runs) {
            (Axis::Even(even), [run]) if run.is_dense(even.length()) => Self::even(even, *run),
            (Axis::Uneven(axis), [run]) if run.is_dense(1) => {
                let bounds = Bounds::of(axis, run.start, run.element(run.count - 1))?;
                Ok(Self::Uneven { bounds, run: *run })
            }
            _ => Self::listed(axis, runs),
        }
    }

    fn even(even: Even, run: Run) -> Result<Self, GridError> {
        let first = even.chunk_of(run.start)?;
        let last = even.chunk_of(run.element(run.count - 1))?;
        let chunks = usize::try_from(last - first + 1);
        let chunks = chunks.map_err(|_| GridError::OutOfBounds("too many chunks".to_owned()))?;
        Ok(Self::Even { even, run, first, chunks })
    }

    fn listed(axis: Axis<'_>, runs: &[Run]) -> Result<Self, GridError> {
        let mut asked = ChunkLookup::new(axis);
        let mut listed: BTreeMap<u64, (AxisChunk, Vec<Run>)> = BTreeMap::new();
        for run in runs {
            let mut from = 0;
            while from < run.count {
                let chunk = asked.chunk_with(run.element(from))?;
                let inside = |number: &usize| chunk.extent.contains(run.element(*number));
                let to = from + (from..run.count).take_while(inside).count();
                let (_, runs) = listed.entry(chunk.number).or_insert_with(|| (chunk, Vec::new()));
                runs.push(run.part(from, to, chunk.extent.origin()));
                from = to;
            }
        }
        Ok(Self::Listed(listed.into_values().collect()))
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Even { chunks, .. } => *chunks,
            Self::Uneven { bounds, .. } => bounds.len(),
            Self::Listed(chunks) => chunks.len(),
        }
    }

    /// Returns chunk number `number` of this plan and its selected elements.
    pub(super) fn piece(&self, number: usize) -> Result<(u64, Runs<'_>), GridError> {
        match self {
            Self::Even { run, .. } | Self::Uneven { run, .. } => {
                let chunk = self.chunk(number)?;
                Ok((chunk.number, Runs::One(run.part_in(&chunk))))
            }
            Self::Listed(chunks) => {
                let (chunk, runs) = &chunks[number];
                Ok((chunk.number, Runs::Many(runs)))
            }
        }
    }

    pub(super) fn chunk(&self, number: usize) -> Result<AxisChunk, GridError> {
        match self {
            Self::Even { even, first, .. } => {
                let number = first + number as u64;
                Ok(AxisChunk { number, extent: even.extent(number)? })
            }
            Self::Uneven { bounds, .. } => Ok(bounds.chunk(number)),
            Self::Listed(chunks) => Ok(chunks[number].0),
        }
    }
}
