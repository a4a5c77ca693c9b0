//! The chunk grid of an array, with checked answers.
//!
//! Threads write the elements of different chunks to one output without locks. This is sound only if chunks are
//! disjoint, but a plugin may return anything, and different values for repeated calls. Therefore plans compute chunks
//! of equal length from numbers that were read once. For chunks of different lengths, plans record the answers of the
//! grid, which must ascend without gaps and overlaps.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use zarr_json::counted;
use zarr_spec::ArraySubset;
use zarr_spec::grid::{ChunkGrid, GridError};

use crate::per_dimension::PerDimension;

/// A chunk grid, with its answers from when the array was opened.
pub(crate) struct Grid {
    grid: Arc<dyn ChunkGrid>,
    name: String,
    array_shape: Vec<u64>,
    grid_shape: Vec<u64>,
    largest_chunk: Vec<u64>,
    /// One entry per dimension, if all chunks have the same shape.
    even: Option<Vec<Even>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Even {
    length: u64,
    /// The number of elements of the array along the dimension.
    whole: u64,
    /// The number of elements of the first chunk that lie before the array.
    before: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AxisChunk {
    pub(crate) number: u64,
    pub(crate) extent: Extent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// The index in the array of the chunk's first element inside of the array.
    pub(crate) start: u64,
    /// The index after the chunk's last element. The last chunk may reach past the array.
    pub(crate) end: u64,
    /// The number of elements of the chunk that lie before the array.
    pub(crate) before: u64,
    /// The number of stored elements, including those before the array and padding.
    pub(crate) length: u64,
}

impl Extent {
    /// A placeholder without elements.
    pub(crate) const EMPTY: Self = Self { start: 0, end: 0, before: 0, length: 0 };

    /// Returns the number of stored elements that follow those of the chunk and are not part of the array.
    pub(crate) fn padding(&self) -> u64 {
        self.length - self.before - (self.end - self.start)
    }

    /// Returns the number of elements that lie inside of an array of `whole` elements.
    pub(crate) fn length_inside(&self, whole: u64) -> u64 {
        self.end.min(whole).saturating_sub(self.start)
    }

    /// Returns the index in the array of position 0 of the chunk. If the chunk starts before the array, the index is
    /// negative and wraps around, so use only wrapping arithmetic.
    pub(crate) fn origin(&self) -> u64 {
        self.start.wrapping_sub(self.before)
    }

    pub(crate) fn contains(&self, element: u64) -> bool {
        (self.start..self.end).contains(&element)
    }
}

impl Even {
    /// Returns chunks of `length` elements that start at the first of `whole` elements.
    pub(crate) fn new(length: u64, whole: u64) -> Self {
        Self { length, whole, before: 0 }
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    pub(crate) fn chunk_with(&self, element: u64) -> Result<AxisChunk, GridError> {
        let number = self.chunk_of(element)?;
        Ok(AxisChunk { number, extent: self.extent(number)? })
    }

    pub(crate) fn chunk_of(&self, element: u64) -> Result<u64, GridError> {
        if element >= self.whole || self.length == 0 {
            return Err(GridError::OutOfBounds(format!("element {element} of {}", self.whole)));
        }
        // `check_even` has checked that this sum does not overflow.
        Ok((element + self.before) / self.length)
    }

    pub(crate) fn extent(&self, chunk: u64) -> Result<Extent, GridError> {
        let start = chunk.checked_mul(self.length);
        let end = start.and_then(|start| start.checked_add(self.length));
        let (Some(start), Some(end)) = (start, end) else {
            let Self { length, .. } = self;
            return Err(GridError::OutOfBounds(format!("chunk {chunk} of {length} elements ends past 2^64")));
        };
        let before = if chunk == 0 { self.before } else { 0 };
        let start = start.saturating_sub(self.before);
        Ok(Extent { start, end: end - self.before, before, length: self.length })
    }

    /// Returns the number of chunks; `None` if it overflows or if a whole chunk lies before the array.
    fn count(&self) -> Option<u64> {
        match self.whole {
            0 => Some(0),
            whole if self.before < self.length => Some(self.before.checked_add(whole)?.div_ceil(self.length)),
            _ => None,
        }
    }
}

/// The division of one dimension into chunks.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Axis<'a> {
    Even(Even),
    Uneven(UnevenAxis<'a>),
}

impl Axis<'_> {
    pub(crate) fn even(length: u64, whole: u64) -> Self {
        Self::Even(Even::new(length, whole))
    }

    pub(crate) fn chunk_with(&self, element: u64) -> Result<AxisChunk, GridError> {
        match self {
            Self::Even(even) => even.chunk_with(element),
            Self::Uneven(axis) => axis.chunk_with(element),
        }
    }
}

impl Grid {
    /// Checks the grid of an array of `array_shape`. Messages call it `name`. The error describes how the answers of
    /// the grid contradict each other.
    pub(crate) fn new(grid: Arc<dyn ChunkGrid>, name: &str, array_shape: &[u64]) -> Result<Self, String> {
        let rank = array_shape.len();
        let grid_shape = grid.grid_shape().to_vec();
        let largest_chunk = grid.largest_chunk();
        if grid_shape.len() != rank || largest_chunk.len() != rank {
            return Err(format!("{name} does not have the {rank} dimensions of the array"));
        }
        let name = name.to_owned();
        let array_shape = array_shape.to_vec();
        let mut checked = Self { grid, name, array_shape, grid_shape, largest_chunk, even: None };
        checked.even = checked.evenly_divided().map_err(|error| error.to_string())?;
        Ok(checked)
    }

    /// Returns the dimensions of a grid whose chunks all have the same shape, after checking the first and the last
    /// chunk; `None` for other grids.
    fn evenly_divided(&self) -> Result<Option<Vec<Even>>, GridError> {
        let Some(lengths) = self.grid.chunk_shape() else { return Ok(None) };
        if lengths.len() != self.array_shape.len() {
            let entries = counted(lengths.len(), "entry", "entries");
            return Err(self.contradiction(0, format_args!("`chunk_shape` has {entries}")));
        }
        let mut even = Vec::with_capacity(lengths.len());
        for (dimension, (&length, &whole)) in lengths.iter().zip(&self.array_shape).enumerate() {
            let before = if whole == 0 { 0 } else { self.grid.before_array(dimension, 0) };
            let divided = Even { length, whole, before };
            self.check_even(dimension, &divided)?;
            even.push(divided);
        }
        Ok(Some(even))
    }

    fn check_even(&self, dimension: usize, even: &Even) -> Result<(), GridError> {
        let Even { length, whole, before } = even;
        let count = self.grid_shape[dimension];
        let largest = self.largest_chunk[dimension];
        if even.count() != Some(count) || largest < *length {
            let what = format_args!(
                "it has {count} chunks of {length} elements, of which {before} lie before the array, and the largest \
                 has {largest}, for {whole} elements"
            );
            return Err(self.contradiction(dimension, what));
        }
        for chunk in [Some(0), count.checked_sub(1)].into_iter().flatten().filter(|chunk| *chunk < count) {
            // A chunk whose extent overflows is an error when it is used.
            let Ok(Extent { start, end, .. }) = even.extent(chunk) else { continue };
            let range = self.grid.chunk_range(dimension, chunk)?;
            if range != (start..end) {
                let what =
                    format_args!("chunk {chunk} is {range:?}, but by `chunk_shape` it is {start}..{end}");
                return Err(self.contradiction(dimension, what));
            }
            let padding = self.grid.padding(dimension, chunk)?;
            if padding > 0 {
                let what = format_args!(
                    "chunk {chunk} has a padding of {padding}, but by `chunk_shape` it has none"
                );
                return Err(self.contradiction(dimension, what));
            }
        }
        Ok(())
    }

    pub(crate) fn axis(&self, dimension: usize) -> Axis<'_> {
        match &self.even {
            Some(even) => Axis::Even(even[dimension]),
            None => Axis::Uneven(UnevenAxis { grid: self, dimension }),
        }
    }

    /// Returns the elements of one chunk along `dimension`. Fails if the grid does not have this chunk, or returns an
    /// impossible range for it.
    fn extent(&self, dimension: usize, chunk: u64) -> Result<Extent, GridError> {
        match &self.even {
            // For a chunk that does not exist, the grid returns the error message.
            Some(even) if chunk < self.grid_shape[dimension] => even[dimension].extent(chunk),
            _ => Ok(UnevenAxis { grid: self, dimension }.chunk(chunk)?.extent),
        }
    }

    /// Returns the elements of one chunk, per dimension. Fails as [`Grid::extent`] does, or if `index` has the wrong
    /// number of dimensions.
    pub(crate) fn extents(&self, index: &[u64]) -> Result<PerDimension<Extent>, GridError> {
        let rank = self.array_shape.len();
        if index.len() != rank {
            let given = counted(index.len(), "entry", "entries");
            let what = format!("chunk index has {given} for {}", counted(rank, "dimension", "dimensions"));
            return Err(GridError::OutOfBounds(what));
        }
        let mut extents = PerDimension::new(rank, Extent::EMPTY);
        for (dimension, (extent, &chunk)) in extents.iter_mut().zip(index).enumerate() {
            *extent = self.extent(dimension, chunk)?;
        }
        Ok(extents)
    }

    /// Returns the elements of one chunk, including elements past the end of the array.
    pub(crate) fn chunk_subset(&self, index: &[u64]) -> Result<ArraySubset, GridError> {
        let extents = self.extents(index)?;
        Ok(ArraySubset::new(extents.iter().map(|extent| extent.start..extent.end).collect()))
    }

    fn contradiction(&self, dimension: usize, what: impl fmt::Display) -> GridError {
        let name = &self.name;
        GridError::OutOfBounds(format!("{name} contradicts itself along dimension {dimension}: {what}"))
    }
}

impl Deref for Grid {
    type Target = dyn ChunkGrid;

    fn deref(&self) -> &Self::Target {
        &*self.grid
    }
}

impl fmt::Debug for Grid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Grid").field(&self.grid).finish()
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct UnevenAxis<'a> {
    grid: &'a Grid,
    dimension: usize,
}

impl UnevenAxis<'_> {
    pub(crate) fn chunk_with(&self, element: u64) -> Result<AxisChunk, GridError> {
        let chunk = self.chunk(self.grid.chunk_of(self.dimension, element)?)?;
        let AxisChunk { number, extent: Extent { start, end, .. } } = chunk;
        if (start..end).contains(&element) {
            return Ok(chunk);
        }
        let what = format_args!("element {element} is said to be in chunk {number}, which is {start}..{end}");
        Err(self.contradiction(what))
    }

    /// Asks the grid for the chunk after `chunk`, and checks that it starts where `chunk` ends.
    pub(crate) fn chunk_after(&self, chunk: AxisChunk) -> Result<AxisChunk, GridError> {
        let number = chunk.number.saturating_add(1);
        if number >= self.grid.grid_shape[self.dimension] {
            let what = format_args!("its last chunk ends at element {}", chunk.extent.end);
            return Err(self.contradiction(what));
        }
        let next = self.chunk(number)?;
        if next.extent.start == chunk.extent.end { Ok(next) } else { Err(self.not_neighbours(chunk, next)) }
    }

    fn chunk(&self, number: u64) -> Result<AxisChunk, GridError> {
        let grid = self.grid;
        let dimension = self.dimension;
        let Range { start, end } = grid.chunk_range(dimension, number)?;
        let before = grid.before_array(dimension, number);
        let padding = grid.padding(dimension, number)?;
        let largest = grid.largest_chunk[dimension];
        let length = end.checked_sub(start).filter(|length| *length > 0);
        let length = length.and_then(|length| length.checked_add(before)?.checked_add(padding));
        match length.filter(|length| *length <= largest && (before == 0 || start == 0)) {
            Some(length) => Ok(AxisChunk { number, extent: Extent { start, end, before, length } }),
            None => Err(self.contradiction(format_args!(
                "chunk {number} is {start}..{end} with {before} elements before the array and a padding of {padding}, \
                 and the largest chunk has {largest}"
            ))),
        }
    }

    pub(crate) fn not_neighbours(&self, a: AxisChunk, b: AxisChunk) -> GridError {
        self.contradiction(format_args!(
            "chunk {} is {}..{} and chunk {} is {}..{}; chunks must follow one another without gap and overlap",
            a.number, a.extent.start, a.extent.end, b.number, b.extent.start, b.extent.end
        ))
    }

    fn contradiction(&self, what: impl fmt::Display) -> GridError {
        self.grid.contradiction(self.dimension, what)
    }
}
