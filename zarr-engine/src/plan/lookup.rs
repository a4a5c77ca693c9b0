//! Answers of a grid about its chunks along one dimension. The grid is asked for each chunk only once, and the answers
//! are checked: chunks ascend and do not overlap.

use std::collections::BTreeMap;

use zarr_spec::grid::GridError;

use crate::grid::{Axis, AxisChunk, Extent, UnevenAxis};

/// Consecutive chunks of different lengths. Takes memory for one number per chunk, or two if chunks have padding.
/// There are at most as many chunks as selected elements, because each chunk contains a selected element.
#[derive(Debug)]
pub(super) struct Bounds {
    first: u64,
    /// The number of elements of the first chunk that lie before the array.
    before: u64,
    bounds: Vec<u64>,
    /// The padding of each chunk up to the last one with padding.
    padding: Vec<u64>,
}

impl Bounds {
    /// Returns the chunks that contain the elements from `from` to `to`, inclusive. Fails if the grid does not have the
    /// elements, or a chunk does not start where the previous one ends.
    pub(super) fn of(axis: UnevenAxis<'_>, from: u64, to: u64) -> Result<Self, GridError> {
        let mut chunk = axis.chunk_with(from)?;
        let AxisChunk { number: first, extent: Extent { start, before, .. } } = chunk;
        let mut found = Self { first, before, bounds: vec![start], padding: Vec::new() };
        found.push(&chunk.extent);
        while chunk.extent.end <= to {
            chunk = axis.chunk_after(chunk)?;
            found.push(&chunk.extent);
        }
        Ok(found)
    }

    fn push(&mut self, extent: &Extent) {
        let padding = extent.padding();
        if padding > 0 {
            self.padding.resize(self.len(), 0);
            self.padding.push(padding);
        }
        self.bounds.push(extent.end);
    }

    pub(super) fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    pub(super) fn chunk(&self, number: usize) -> AxisChunk {
        let before = if number == 0 { self.before } else { 0 };
        let start = self.bounds[number];
        let end = self.bounds[number + 1];
        let padding = self.padding.get(number).copied().unwrap_or(0);
        let extent = Extent { start, end, before, length: end - start + before + padding };
        AxisChunk { number: self.first + number as u64, extent }
    }
}

#[derive(Debug)]
pub(super) struct ChunkLookup<'a> {
    axis: Axis<'a>,
    /// The known chunks of an uneven axis, by their first element.
    chunks: BTreeMap<u64, AxisChunk>,
}

impl<'a> ChunkLookup<'a> {
    pub(super) fn new(axis: Axis<'a>) -> Self {
        Self { axis, chunks: BTreeMap::new() }
    }

    /// Returns the chunk that contains `element`. Fails if the array does not have the element, or the grid contradicts
    /// itself.
    pub(super) fn chunk_with(&mut self, element: u64) -> Result<AxisChunk, GridError> {
        let axis = match self.axis {
            Axis::Even(even) => return even.chunk_with(element),
            Axis::Uneven(axis) => axis,
        };
        if let Some(chunk) = self.known(element) {
            return Ok(chunk);
        }
        let chunk = axis.chunk_with(element)?;
        let Extent { start, end, .. } = chunk.extent;
        let below = self.chunks.range(..=start).next_back().map(|(_, below)| *below);
        if let Some(below) = below.filter(|below| below.extent.end > start || below.number >= chunk.number) {
            return Err(axis.not_neighbours(below, chunk));
        }
        let above = self.chunks.range(start..).next().map(|(_, above)| *above);
        if let Some(above) = above.filter(|above| above.extent.start < end || above.number <= chunk.number) {
            return Err(axis.not_neighbours(chunk, above));
        }
        self.chunks.insert(start, chunk);
        Ok(chunk)
    }

    /// Returns the chunk that contains `element`, which was looked up before.
    pub(super) fn known_chunk_with(&self, element: u64) -> Result<AxisChunk, GridError> {
        match self.axis {
            Axis::Even(even) => even.chunk_with(element),
            Axis::Uneven(_) => self
                .known(element)
                .ok_or_else(|| GridError::OutOfBounds(format!("element {element} was not planned"))),
        }
    }

    fn known(&self, element: u64) -> Option<AxisChunk> {
        let (_, chunk) = self.chunks.range(..=element).next_back()?;
        chunk.extent.contains(element).then_some(*chunk)
    }
}
