//! Answers of a grid about its chunks along one dimension. The grid is asked for each chunk only once, and the answers
//! are checked: chunks ascend and do not overlap.

use std::collections::BTreeMap;

use zarr_spec::grid::GridError;

use crate::grid::{Axis, Cell, Extent, UnevenAxis};

/// Consecutive chunks of different lengths. The memory is one number per chunk, and each chunk contains a selected
/// element.
#[derive(Debug)]
pub(super) struct Bounds {
    /// The number of the first chunk.
    first: u64,
    /// The number of elements of the first chunk that lie before the array.
    before: u64,
    /// The start of each chunk, and the end of the last one.
    bounds: Vec<u64>,
}

impl Bounds {
    /// Returns the chunks that contain the elements from `from` to `to`, inclusive.
    ///
    /// # Errors
    ///
    /// If the grid does not have the elements, or a chunk does not start where the previous one ends.
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

    /// Returns one of the chunks.
    pub(super) fn cell(&self, number: usize) -> Cell {
        let before = if number == 0 { self.before } else { 0 };
        let extent = Extent { start: self.bounds[number], end: self.bounds[number + 1], before };
        Cell { number: self.first + number as u64, extent }
    }
}

/// A cache of the chunks that contain single elements.
#[derive(Debug)]
pub(super) struct ChunkLookup<'a> {
    axis: Axis<'a>,
    /// The known chunks of an uneven axis, by their first element.
    cells: BTreeMap<u64, Cell>,
}

impl<'a> ChunkLookup<'a> {
    pub(super) fn new(axis: Axis<'a>) -> Self {
        Self { axis, cells: BTreeMap::new() }
    }

    /// Returns the cell that contains `element`.
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

    /// Returns the cell that contains `element`, which was looked up before.
    ///
    /// # Errors
    ///
    /// If it was not looked up before.
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
