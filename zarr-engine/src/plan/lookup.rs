//! What a grid said of its chunks along one dimension. Each chunk is asked for once, and what was said is never in doubt
//! again: chunks ascend, and do not overlap.

use std::collections::BTreeMap;

use zarr_spec::grid::GridError;

use crate::grid::{Axis, Cell, Extent, UnevenAxis};

/// Neighbouring chunks of several lengths. The memory is a number for each of them, and each has an element that is
/// wanted.
#[derive(Debug)]
pub(super) struct Bounds {
    /// The number of the first chunk.
    first: u64,
    /// Elements of the first chunk that lie before the array.
    before: u64,
    /// Where each chunk begins, and where the last one ends.
    bounds: Vec<u64>,
}

impl Bounds {
    /// Returns the chunks that hold the elements from `from` to `to`, both included.
    ///
    /// # Errors
    ///
    /// If the grid does not have the elements; if a chunk does not begin where the one before it ends.
    pub(super) fn of(axis: UnevenAxis<'_>, from: u64, to: u64) -> Result<Self, GridError> {
        let mut cell = axis.cell_with(from)?;
        let Cell { number: first, extent: Extent { start, end, before } } = cell;
        let mut bounds = vec![start, end];
        while cell.extent.end <= to {
            cell = axis.cell_after(cell)?;
            bounds.push(cell.extent.end);
        }
        Ok(Self { first, before, bounds })
    }

    /// Returns the number of chunks.
    pub(super) fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    /// One of the chunks.
    pub(super) fn cell(&self, number: usize) -> Cell {
        let before = if number == 0 { self.before } else { 0 };
        let extent = Extent { start: self.bounds[number], end: self.bounds[number + 1], before };
        Cell { number: self.first + number as u64, extent }
    }
}

/// Chunks that single elements are in.
#[derive(Debug)]
pub(super) struct ChunkLookup<'a> {
    axis: Axis<'a>,
    /// By their first elements, those of several lengths.
    cells: BTreeMap<u64, Cell>,
}

impl<'a> ChunkLookup<'a> {
    pub(super) fn new(axis: Axis<'a>) -> Self {
        Self { axis, cells: BTreeMap::new() }
    }

    /// Returns the cell that has `element`.
    ///
    /// # Errors
    ///
    /// If the array does not have the element, or the grid contradicts itself.
    pub(super) fn cell_with(&mut self, element: u64) -> Result<Cell, GridError> {
        let axis = match self.axis {
            Axis::Even(even) => return even.cell_with(element),
            Axis::Uneven(axis) => axis,
        };
        if let Some(cell) = self.known(element) {
            return Ok(cell);
        }
        let cell = axis.cell_with(element)?;
        let Extent { start, end, .. } = cell.extent;
        let below = self.cells.range(..=start).next_back().map(|(_, below)| *below);
        if let Some(below) = below.filter(|below| below.extent.end > start || below.number >= cell.number) {
            return Err(axis.not_neighbours(below, cell));
        }
        let above = self.cells.range(start..).next().map(|(_, above)| *above);
        if let Some(above) = above.filter(|above| above.extent.start < end || above.number <= cell.number) {
            return Err(axis.not_neighbours(cell, above));
        }
        self.cells.insert(start, cell);
        Ok(cell)
    }

    /// Returns the cell that has `element`, which was asked for before.
    ///
    /// # Errors
    ///
    /// If it was not.
    pub(super) fn known_cell_with(&self, element: u64) -> Result<Cell, GridError> {
        match self.axis {
            Axis::Even(even) => even.cell_with(element),
            Axis::Uneven(_) => self
                .known(element)
                .ok_or_else(|| GridError::OutOfBounds(format!("element {element} was not planned"))),
        }
    }

    fn known(&self, element: u64) -> Option<Cell> {
        let (_, cell) = self.cells.range(..=element).next_back()?;
        cell.extent.contains(element).then_some(*cell)
    }
}
