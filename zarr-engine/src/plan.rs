//! Geometry alone: which cells a region touches, and which elements of each cell go where.
//!
//! A cell is a chunk of the array, or an inner chunk of a shard. A plan does no I/O and keeps no list of cells
//! where arithmetic tells them: the `i`-th one is computed when it is asked for.

use std::collections::BTreeMap;
use std::ops::Range;

use zarr_spec::grid::{ChunkGrid, GridError};

use crate::copy::MAX_RANK;

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
    fn element(&self, number: usize) -> u64 {
        self.start.wrapping_add_signed(self.step.wrapping_mul(number as i64))
    }

    /// The part of the run from element number `from` to before `to`, relative to `origin`.
    fn part(&self, from: usize, to: usize, origin: u64) -> Self {
        Self { start: self.element(from) - origin, count: to - from, step: self.step, out: self.out + from }
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
    fn cell_of(&self, element: u64) -> Result<u64, GridError> {
        match *self {
            Self::Grid(grid, dimension) => grid.chunk_of(dimension, element),
            Self::Even { length, whole } if element < whole && length > 0 => Ok(element / length),
            Self::Even { whole, .. } => Err(GridError::OutOfBounds(format!("element {element} of {whole}"))),
        }
    }

    fn range(&self, cell: u64) -> Result<Range<u64>, GridError> {
        match *self {
            Self::Grid(grid, dimension) => grid.chunk_range(dimension, cell),
            Self::Even { length, .. } => Ok(cell * length..(cell + 1) * length),
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

/// The cells along one dimension.
#[derive(Debug)]
enum DimensionPlan<'a> {
    /// One run over neighbouring cells.
    Neighbours { axis: Axis<'a>, run: Run, first: u64, cells: usize },
    /// Any cells, in ascending order.
    Listed(Vec<(u64, Vec<Run>)>),
}

/// The runs of one cell along one dimension; never empty.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Runs<'p> {
    One(Run),
    Many(&'p [Run]),
}

impl Runs<'_> {
    pub(crate) fn as_slice(&self) -> &[Run] {
        match self {
            Self::One(run) => std::slice::from_ref(run),
            Self::Many(runs) => runs,
        }
    }
}

impl<'a> DimensionPlan<'a> {
    fn new(axis: Axis<'a>, runs: &[Run]) -> Result<Self, GridError> {
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
                listed.entry(cell).or_default().push(run.part(from, to, range.start));
                from = to;
            }
        }
        Ok(Self::Listed(listed.into_iter().collect()))
    }

    fn len(&self) -> usize {
        match self {
            Self::Neighbours { cells, .. } => *cells,
            Self::Listed(cells) => cells.len(),
        }
    }

    fn cell(&self, number: usize) -> Result<(u64, Runs<'_>), GridError> {
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
                Ok((cell, Runs::One(run.part(from, to, range.start))))
            }
        }
    }
}

/// The cells of one region: runs along each dimension, and all combinations of them.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    dimensions: Vec<DimensionPlan<'a>>,
    len: usize,
}

/// A cell, and which of its elements are wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece<'p> {
    rank: usize,
    cell: [u64; MAX_RANK],
    runs: [Runs<'p>; MAX_RANK],
}

impl<'a> Plan<'a> {
    /// One axis and its runs per dimension.
    ///
    /// # Errors
    ///
    /// If a run leads out of the array, or there are more cells than this machine can count.
    pub(crate) fn new(axes: impl IntoIterator<Item = (Axis<'a>, Vec<Run>)>) -> Result<Self, GridError> {
        let dimensions: Result<Vec<_>, _> =
            axes.into_iter().map(|(axis, runs)| DimensionPlan::new(axis, &runs)).collect();
        let dimensions = dimensions?;
        let len =
            dimensions.iter().try_fold(1usize, |product, dimension| product.checked_mul(dimension.len()));
        match len {
            Some(len) if dimensions.len() <= MAX_RANK => Ok(Self { dimensions, len }),
            _ => Err(GridError::OutOfBounds("too many chunks or dimensions".to_owned())),
        }
    }

    /// Number of cells.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The cell number `number`, in C order.
    pub(crate) fn piece(&self, number: usize) -> Result<Piece<'_>, GridError> {
        let none = Run { start: 0, count: 1, step: 1, out: 0 };
        let mut piece =
            Piece { rank: self.dimensions.len(), cell: [0; MAX_RANK], runs: [Runs::One(none); MAX_RANK] };
        let mut rest = number;
        for (place, dimension) in self.dimensions.iter().enumerate().rev() {
            let (cell, runs) = dimension.cell(rest % dimension.len())?;
            rest /= dimension.len();
            piece.cell[place] = cell;
            piece.runs[place] = runs;
        }
        Ok(piece)
    }
}

impl<'p> Piece<'p> {
    /// Position of the cell per dimension.
    pub(crate) fn cell(&self) -> &[u64] {
        &self.cell[..self.rank]
    }

    /// The wanted elements per dimension.
    pub(crate) fn runs(&self) -> &[Runs<'p>] {
        &self.runs[..self.rank]
    }

    /// The only combination of runs, if there is just one.
    pub(crate) fn only(&self) -> Option<Combination> {
        let mut combination = Combination::new(self.rank);
        for (place, runs) in self.runs().iter().enumerate() {
            match runs.as_slice() {
                [run] => combination.runs[place] = *run,
                _ => return None,
            }
        }
        Some(combination)
    }

    /// Every combination of runs: each is one strided box of the cell.
    pub(crate) fn combinations(&self) -> impl Iterator<Item = Combination> + '_ {
        let total: usize = self.runs().iter().map(|runs| runs.as_slice().len()).product();
        (0..total).map(|number| {
            let mut combination = Combination::new(self.rank);
            let mut rest = number;
            for (place, runs) in self.runs().iter().enumerate().rev() {
                let runs = runs.as_slice();
                combination.runs[place] = runs[rest % runs.len()];
                rest /= runs.len();
            }
            combination
        })
    }

    /// Whether every element of a cell of `shape` is wanted.
    pub(crate) fn covers(&self, shape: impl Iterator<Item = u64>) -> bool {
        self.runs().iter().zip(shape).all(|(runs, length)| {
            let slice = runs.as_slice();
            slice.len() == 1
                && slice[0].start == 0
                && slice[0].count as u64 == length
                && (length == 1 || slice[0].step == 1)
        })
    }
}

/// One run per dimension: a strided box of a cell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Combination {
    rank: usize,
    runs: [Run; MAX_RANK],
}

impl Combination {
    fn new(rank: usize) -> Self {
        Self { rank, runs: [Run { start: 0, count: 1, step: 1, out: 0 }; MAX_RANK] }
    }

    /// The run of each dimension.
    pub(crate) fn runs(&self) -> &[Run] {
        &self.runs[..self.rank]
    }

    /// The same box with another run along `dimension`.
    pub(crate) fn set_run(&mut self, dimension: usize, run: Run) {
        self.runs[dimension] = run;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grid of any chunk lengths.
    #[derive(Debug)]
    struct Lengths(Vec<u64>);

    impl ChunkGrid for Lengths {
        fn grid_shape(&self) -> &[u64] {
            &[]
        }

        fn chunk_range(&self, _: usize, chunk: u64) -> Result<Range<u64>, GridError> {
            let index = usize::try_from(chunk).unwrap();
            let start = self.0[..index].iter().sum();
            Ok(start..start + self.0[index])
        }

        fn chunk_of(&self, _: usize, element: u64) -> Result<u64, GridError> {
            let mut end = 0;
            self.0
                .iter()
                .position(|length| {
                    end += length;
                    element < end
                })
                .map(|chunk| chunk as u64)
                .ok_or_else(|| GridError::OutOfBounds(element.to_string()))
        }

        fn chunk_shape(&self) -> Option<&[u64]> {
            None
        }

        fn largest_chunk(&self) -> Vec<u64> {
            self.0.clone()
        }
    }

    /// Element of the array and place in memory, as a plan yields them.
    fn elements(axis: Axis<'_>, runs: &[Run]) -> Vec<(u64, usize)> {
        let plan = Plan::new([(axis, runs.to_vec())]).unwrap();
        let mut all = Vec::new();
        for number in 0..plan.len() {
            let piece = plan.piece(number).unwrap();
            let start = axis.range(piece.cell()[0]).unwrap().start;
            for run in piece.runs()[0].as_slice() {
                assert!(run.count > 0);
                for number in 0..run.count {
                    assert_eq!(axis.cell_of(start + run.element(number)).unwrap(), piece.cell()[0]);
                    all.push((start + run.element(number), run.out + number));
                }
            }
        }
        all.sort_by_key(|&(_, out)| out);
        all
    }

    #[test]
    fn every_wanted_element_is_in_exactly_one_piece() {
        let grid = Lengths(vec![3, 1, 4, 1, 5]);
        for axis in
            [Axis::Grid(&grid, 0), Axis::Even { length: 4, whole: 14 }, Axis::Even { length: 1, whole: 14 }]
        {
            for start in 0..14 {
                for step in 1..15 {
                    for count in 1..=(13 - start) / step + 1 {
                        let run = Run {
                            start,
                            count: usize::try_from(count).unwrap(),
                            step: step.cast_signed(),
                            out: 7,
                        };
                        let wanted: Vec<_> =
                            (0..run.count).map(|number| (run.element(number), 7 + number)).collect();
                        assert_eq!(elements(axis, &[run]), wanted, "{run:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn lists_may_repeat_and_go_backwards() {
        let axis = Axis::Even { length: 4, whole: 14 };
        let runs = [
            Run { start: 13, count: 14, step: -1, out: 0 },
            Run { start: 5, count: 3, step: 0, out: 14 },
            Run { start: 2, count: 1, step: 1, out: 17 },
        ];
        let wanted: Vec<_> = (0..14u64).rev().chain([5, 5, 5, 2]).zip(0..).collect();
        assert_eq!(elements(axis, &runs), wanted);
    }

    #[test]
    fn an_array_without_dimensions_has_one_cell() {
        let plan = Plan::new([]).unwrap();
        assert_eq!(plan.len(), 1);
        assert!(plan.piece(0).unwrap().covers(std::iter::empty()));
    }
}
