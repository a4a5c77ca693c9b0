//! One dimension of a plan: how it is divided into cells, and which runs of elements are in each of them.

use std::collections::BTreeMap;
use std::ops::Range;

use zarr_spec::grid::{ChunkGrid, GridError};

/// Elements along one dimension that are evenly spaced in the array and neighbours in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    /// The first element: of the array, or within a cell.
    pub(crate) start: u64,
    /// How many there are.
    pub(crate) count: usize,
    /// Elements from one to the next; 0 and negative ones come from lists.
    pub(crate) step: i64,
    /// Where the first one goes, counted along the same dimension of memory.
    pub(crate) out: usize,
}

impl Run {
    /// One element, or the whole of a dimension that has one.
    pub(super) const ONE: Self = Self { start: 0, count: 1, step: 1, out: 0 };

    pub(super) fn element(&self, number: usize) -> u64 {
        self.start.wrapping_add_signed(self.step.wrapping_mul(number as i64))
    }

    /// The part of the run from element number `from` to before `to`, relative to `origin`.
    fn part(&self, from: usize, to: usize, origin: u64) -> Self {
        let start = self.element(from).wrapping_sub(origin);
        Self { start, count: to - from, step: self.step, out: self.out + from }
    }
}

/// How one dimension is divided into cells.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Axis<'a> {
    /// As a chunk grid divides the array.
    Grid(&'a dyn ChunkGrid, usize),
    /// In cells of one length, as a shard divides a chunk.
    Even {
        /// Elements of a cell.
        length: u64,
        /// Elements of the chunk.
        whole: u64,
    },
}

impl Axis<'_> {
    pub(super) fn cell_of(&self, element: u64) -> Result<u64, GridError> {
        match *self {
            Self::Grid(grid, dimension) => grid.chunk_of(dimension, element),
            Self::Even { length, whole } if element < whole && length > 0 => Ok(element / length),
            Self::Even { whole, .. } => Err(GridError::OutOfBounds(format!("element {element} of {whole}"))),
        }
    }

    pub(super) fn range(&self, cell: u64) -> Result<Range<u64>, GridError> {
        match *self {
            Self::Grid(grid, dimension) => grid.chunk_range(dimension, cell),
            Self::Even { length, .. } => Ok(cell * length..(cell + 1) * length),
        }
    }

    /// What positions in `cell`, whose elements in the array are `range`, are counted from. It lies before 0 in a chunk
    /// that begins before the array, so that it is only good for wrapping arithmetic.
    pub(super) fn origin(&self, cell: u64, range: &Range<u64>) -> u64 {
        match *self {
            Self::Grid(grid, dimension) => range.start.wrapping_sub(grid.before_array(dimension, cell)),
            Self::Even { .. } => range.start,
        }
    }

    /// A step below which no cell between the first and the last is left out.
    fn shortest(&self) -> u64 {
        match *self {
            Self::Grid(grid, dimension) => grid.chunk_shape().map_or(1, |shape| shape[dimension]),
            Self::Even { length, .. } => length,
        }
    }
}

/// The runs of one cell along one dimension; never empty.
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

/// The cells along one dimension.
#[derive(Debug)]
pub(super) enum DimensionPlan<'a> {
    /// One run over neighbouring cells.
    Neighbours { axis: Axis<'a>, run: Run, first: u64, cells: usize },
    /// Any cells, in ascending order.
    Listed(Vec<(u64, Vec<Run>)>),
}

impl<'a> DimensionPlan<'a> {
    pub(super) fn new(axis: Axis<'a>, runs: &[Run]) -> Result<Self, GridError> {
        if let [run] = runs
            && run.count > 0
            && run.step > 0
            && run.step.unsigned_abs() <= axis.shortest()
        {
            let (first, last) = (axis.cell_of(run.start)?, axis.cell_of(run.element(run.count - 1))?);
            let cells = usize::try_from(last - first + 1);
            let cells = cells.map_err(|_| GridError::OutOfBounds("too many chunks".to_owned()))?;
            return Ok(Self::Neighbours { axis, run: *run, first, cells });
        }
        let mut listed: BTreeMap<u64, Vec<Run>> = BTreeMap::new();
        for run in runs {
            let mut from = 0;
            while from < run.count {
                let cell = axis.cell_of(run.element(from))?;
                let range = axis.range(cell)?;
                let inside = |number: &usize| range.contains(&run.element(*number));
                let to = (from..run.count).take_while(inside).count() + from;
                listed.entry(cell).or_default().push(run.part(from, to, axis.origin(cell, &range)));
                from = to;
            }
        }
        Ok(Self::Listed(listed.into_iter().collect()))
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Neighbours { cells, .. } => *cells,
            Self::Listed(cells) => cells.len(),
        }
    }

    pub(super) fn cell(&self, number: usize) -> Result<(u64, Runs<'_>), GridError> {
        match self {
            Self::Listed(cells) => {
                let (cell, runs) = &cells[number];
                Ok((*cell, Runs::Many(runs)))
            }
            Self::Neighbours { axis, run, first, .. } => {
                let cell = first + number as u64;
                let range = axis.range(cell)?;
                let step = run.step.unsigned_abs();
                let before =
                    |element: u64| element.saturating_sub(run.start).div_ceil(step).min(run.count as u64);
                let (from, to) = (before(range.start), before(range.end));
                // Both are at most `count`.
                let (from, to) =
                    (usize::try_from(from).unwrap_or(run.count), usize::try_from(to).unwrap_or(run.count));
                Ok((cell, Runs::One(run.part(from, to, axis.origin(cell, &range)))))
            }
        }
    }
}
