//! Chunk grids: how the elements of an array are divided into chunks.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use zarr_json::{Value, counted, printable};

use crate::creation::Creation;
use crate::format::Invalid;
use crate::host::registry::ExtensionPoint;
use crate::plugin::{Plugin, PluginKind};
use crate::subset::ArraySubset;

/// Why a chunk grid could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GridError {
    /// The document of the grid is invalid, or does not fit the shape of the array.
    #[error("invalid chunk grid: {0}")]
    InvalidConfiguration(#[from] Invalid),
    /// The grid does not have this chunk or element.
    #[error("{}", printable(.0))]
    OutOfBounds(String),
}

/// Splits the elements of an array into chunks, each dimension independently.
///
/// Every slice has one entry per dimension, in the order of the array's `shape`.
/// Array shapes and ranges count elements; grid shapes and chunk indices count chunks.
///
/// Source: "Chunk grids" in the Zarr v3 core specification.
pub trait ChunkGrid: Debug + Send + Sync {
    /// Returns the number of chunks per dimension; 0 along a dimension without elements.
    fn grid_shape(&self) -> &[u64];

    /// Returns the elements of chunk `chunk` along `dimension`.
    ///
    /// The last chunk may extend past the array: the range is not clipped, and elements outside of the array have the
    /// fill value. Elements before the array are not included; [`ChunkGrid::before_array`] counts them.
    ///
    /// # Errors
    ///
    /// [`GridError::OutOfBounds`] if the grid does not have this chunk.
    fn chunk_range(&self, dimension: usize, chunk: u64) -> Result<Range<u64>, GridError>;

    /// Returns the chunk that contains `element` along `dimension`.
    ///
    /// # Errors
    ///
    /// [`GridError::OutOfBounds`] if the array does not have this element.
    fn chunk_of(&self, dimension: usize, element: u64) -> Result<u64, GridError>;

    /// Returns the chunk lengths, if all chunks of each dimension have the same length and none has padding.
    fn chunk_shape(&self) -> Option<&[u64]>;

    /// Returns the length of the largest chunk along each dimension with all stored elements: the size of buffers.
    fn largest_chunk(&self) -> Vec<u64>;

    /// Returns the number of elements of chunk `chunk` along `dimension` that precede the array and have the
    /// fill value. It is 0 unless the grid starts before the array.
    fn before_array(&self, dimension: usize, chunk: u64) -> u64 {
        let _the_first_begins_with_the_array = (dimension, chunk);
        0
    }

    /// Returns the number of elements that are stored after those of chunk `chunk` along `dimension` and are not part
    /// of the array. Readers ignore them, and a writer of a whole chunk gives them the fill value.
    ///
    /// # Errors
    ///
    /// [`GridError::OutOfBounds`] if the grid does not have this chunk. Not every grid checks this.
    fn padding(&self, dimension: usize, chunk: u64) -> Result<u64, GridError> {
        let _only_their_elements_are_stored = (dimension, chunk);
        Ok(0)
    }

    /// Returns the index of chunk `chunk` along `dimension` in keys. It is `chunk`, unless chunks keep their
    /// keys when the array grows at its start. Different chunks have different indices.
    ///
    /// # Errors
    ///
    /// [`GridError::OutOfBounds`] if the grid does not have this chunk. Not every grid checks this.
    fn key_index(&self, dimension: usize, chunk: u64) -> Result<u64, GridError> {
        let _all_count_alike = dimension;
        Ok(chunk)
    }

    /// Returns the chunk along `dimension` that `key_index` refers to; `None` if the grid does not have it.
    ///
    /// # Errors
    ///
    /// If this cannot be determined. Callers must not treat the error as a missing chunk.
    fn chunk_of_key(&self, dimension: usize, key_index: u64) -> Result<Option<u64>, GridError> {
        Ok(self.grid_shape().get(dimension).filter(|count| key_index < **count).map(|_| key_index))
    }

    /// Returns the configuration of the same grid for an array that starts `start` elements later per dimension
    /// (earlier if negative), so that no chunk moves. `None` if there is no such configuration.
    ///
    /// # Errors
    ///
    /// If this cannot be determined. Callers must not treat the error as a grid that cannot be moved.
    fn moved(&self, start: &[i64]) -> Result<Option<Value>, GridError> {
        let _it_begins_with_the_array = start;
        Ok(None)
    }
}

/// Returns the elements of one chunk of `grid`, like [`ChunkGrid::chunk_range`]: not clipped at the end of the array.
///
/// # Errors
///
/// [`GridError::OutOfBounds`] for a wrong number of dimensions, or a chunk that the grid does not have.
pub fn chunk_subset(grid: &dyn ChunkGrid, chunk_index: &[u64]) -> Result<ArraySubset, GridError> {
    let rank = grid.grid_shape().len();
    if chunk_index.len() != rank {
        let given = counted(chunk_index.len(), "entry", "entries");
        let rank = counted(rank, "dimension", "dimensions");
        return Err(GridError::OutOfBounds(format!("the chunk index has {given}, but the grid has {rank}")));
    }
    let ranges = chunk_index.iter().enumerate();
    let ranges: Result<_, _> = ranges.map(|(dimension, &chunk)| grid.chunk_range(dimension, chunk)).collect();
    Ok(ArraySubset::new(ranges?))
}

/// Returns the shape in which one chunk of `grid` is stored, including elements outside of the array and padding.
///
/// # Errors
///
/// Those of [`chunk_subset`].
pub fn chunk_shape(grid: &dyn ChunkGrid, chunk_index: &[u64]) -> Result<Vec<u64>, GridError> {
    let mut shape = chunk_subset(grid, chunk_index)?.shape();
    for (dimension, (length, &chunk)) in shape.iter_mut().zip(chunk_index).enumerate() {
        *length += grid.before_array(dimension, chunk) + grid.padding(dimension, chunk)?;
    }
    Ok(shape)
}

/// Returns the indices of one chunk of `grid` in its key.
///
/// # Errors
///
/// Those of [`ChunkGrid::key_index`].
pub fn key_indices(grid: &dyn ChunkGrid, chunk_index: &[u64]) -> Result<Vec<u64>, GridError> {
    let chunks = chunk_index.iter().enumerate();
    chunks.map(|(dimension, &chunk)| grid.key_index(dimension, chunk)).collect()
}

/// Returns the chunk of `grid` whose key has these indices, if it exists.
///
/// # Errors
///
/// Those of [`ChunkGrid::chunk_of_key`].
pub fn chunk_of_key(grid: &dyn ChunkGrid, key_indices: &[u64]) -> Result<Option<Vec<u64>>, GridError> {
    let indices = key_indices.iter().enumerate();
    indices.map(|(dimension, &index)| grid.chunk_of_key(dimension, index)).collect()
}

/// A chunk grid that a program knows. It is created for the shape of an array, in elements per dimension.
pub type ChunkGridPlugin = Plugin<dyn ChunkGrid>;

impl PluginKind for dyn ChunkGrid {
    type Create = dyn Fn(&Creation<'_>, &[u64]) -> Result<Arc<dyn ChunkGrid>, GridError> + Send + Sync;

    const POINT: ExtensionPoint = ExtensionPoint::ChunkGrid;
}

inventory::collect!(ChunkGridPlugin);
