//! Single elements, put together by the cells that they are in.

use zarr_spec::grid::GridError;

use super::lookup::ChunkLookup;
use super::{Axis, Run, StridedBox};
use crate::grid::Cell;
use crate::per_dimension::PerDimension;

/// Single elements of an array or of a cell, in the order in which they were asked for.
#[derive(Debug, Clone)]
pub(super) struct Points<'p> {
    /// Coordinates in the array, those of one element after those of another.
    coordinates: &'p [u64],
    rank: usize,
    /// The elements: their places in that list, and in the result.
    numbers: &'p [usize],
    /// Which coordinate belongs to each dimension of the cell.
    order: PerDimension<usize>,
    /// Where the cell begins in the array, per dimension of the cell; before 0, if it begins before the array.
    origin: PerDimension<u64>,
}

impl<'p> Points<'p> {
    /// In the array or cell, along one of its dimensions.
    fn coordinate(&self, number: usize, dimension: usize) -> u64 {
        self.coordinates[number * self.rank + self.order[dimension]].wrapping_sub(self.origin[dimension])
    }

    /// The same elements with dimension `order[i]` in the place of dimension `i`.
    pub(super) fn permuted(&self, order: &[usize]) -> Self {
        let mut permuted = self.clone();
        for (place, &dimension) in order.iter().enumerate() {
            permuted.order[place] = self.order[dimension];
            permuted.origin[place] = self.origin[dimension];
        }
        permuted
    }

    /// Whether all of them were taken.
    pub(super) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Takes elements from the front that are neighbours along the last dimension, in the cell and in the result. False if
    /// there are none left; all runs of `taken` but their starts, and the last one, stay as they are.
    pub(super) fn take_run(&mut self, taken: &mut StridedBox) -> bool {
        let Some((&first, mut rest)) = self.numbers.split_first() else { return false };
        let last = self.rank - 1;
        let mut count = 1;
        while let Some((&next, after)) = rest.split_first()
            && self.follows(first, next, count)
        {
            (rest, count) = (after, count + 1);
        }
        self.numbers = rest;
        for (dimension, run) in taken.runs[..self.rank].iter_mut().enumerate() {
            run.start = self.coordinate(first, dimension);
        }
        taken.runs[last] = Run { count, out: first, ..taken.runs[last] };
        true
    }

    fn follows(&self, first: usize, next: usize, by: usize) -> bool {
        next == first + by
            && (0..self.rank).all(|dimension| {
                let further = if dimension == self.rank - 1 { by as u64 } else { 0 };
                self.coordinate(next, dimension) == self.coordinate(first, dimension) + further
            })
    }
}

/// The cells of single elements.
#[derive(Debug)]
pub(super) struct PointsPlan<'a> {
    axes: Vec<ChunkLookup<'a>>,
    /// All of them; `numbers` here are in the order of cells, and of the result within each.
    points: Points<'a>,
    numbers: Vec<usize>,
    /// Where the elements of each cell begin in `numbers`.
    starts: Vec<usize>,
}

impl<'a> PointsPlan<'a> {
    /// Of all elements in a list of coordinates, which has some for each axis.
    pub(super) fn of_list(axes: Vec<Axis<'a>>, coordinates: &'a [u64]) -> Result<Self, GridError> {
        let rank = axes.len();
        let mut order = PerDimension::new(rank, 0);
        for (dimension, place) in order.iter_mut().enumerate() {
            *place = dimension;
        }
        let points = Points { coordinates, rank, numbers: &[], order, origin: PerDimension::new(rank, 0) };
        let numbers = (0..coordinates.len() / rank.max(1)).collect();
        Self::sorted(axes, points, numbers)
    }

    /// Of elements of a cell that is divided further.
    pub(super) fn of_points(axes: Vec<Axis<'a>>, points: Points<'a>) -> Result<Self, GridError> {
        let numbers = points.numbers.to_vec();
        Self::sorted(axes, points, numbers)
    }

    /// Memory is a few words for each element and dimension, as it is for the coordinates themselves.
    fn sorted(axes: Vec<Axis<'a>>, points: Points<'a>, numbers: Vec<usize>) -> Result<Self, GridError> {
        let rank = axes.len();
        let mut axes: Vec<_> = axes.into_iter().map(ChunkLookup::new).collect();
        let mut cells = Vec::with_capacity(numbers.len() * rank);
        for &number in &numbers {
            for (dimension, axis) in axes.iter_mut().enumerate() {
                cells.push(axis.cell_with(points.coordinate(number, dimension))?.number);
            }
        }
        let cell = |place: usize| &cells[place * rank..(place + 1) * rank];
        let mut places: Vec<usize> = (0..numbers.len()).collect();
        // Stable: of elements that are written twice, the last one stays.
        places.sort_by(|&a, &b| cell(a).cmp(cell(b)));
        let begins = |at: &usize| *at == 0 || cell(places[*at - 1]) != cell(places[*at]);
        let starts = (0..places.len()).filter(begins).collect();
        let numbers = places.iter().map(|&place| numbers[place]).collect();
        Ok(Self { axes, points, numbers, starts })
    }

    /// Number of dimensions.
    pub(super) fn rank(&self) -> usize {
        self.axes.len()
    }

    /// Number of cells.
    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Writes the position of a cell to `position`, and returns its elements; there is one at least.
    pub(super) fn piece(&self, number: usize, position: &mut [u64]) -> Result<Points<'_>, GridError> {
        let start = self.starts[number];
        let end = self.starts.get(number + 1).copied().unwrap_or(self.numbers.len());
        let mut points = Points { numbers: &self.numbers[start..end], ..self.points.clone() };
        for (dimension, position) in position.iter_mut().enumerate() {
            let cell = self.cell(number, dimension)?;
            *position = cell.number;
            points.origin[dimension] = points.origin[dimension].wrapping_add(cell.extent.origin());
        }
        Ok(points)
    }

    /// A cell along one dimension.
    pub(super) fn cell(&self, number: usize, dimension: usize) -> Result<Cell, GridError> {
        let element = self.points.coordinate(self.numbers[self.starts[number]], dimension);
        self.axes[dimension].known_cell_with(element)
    }
}
