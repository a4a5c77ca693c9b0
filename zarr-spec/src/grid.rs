//! Chunk grids: how the elements of an array are divided into chunks.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use zarr_json::{Value, printable};

use crate::creation::Creation;
use crate::format::Invalid;
use crate::host::registry::ExtensionPoint;
use crate::plugin::{Kind, Plugin};
use crate::subset::ArraySubset;

/// Why a chunk grid could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GridError {
    /// The document of the grid does not fit, by itself or with the array's shape.
    #[error("invalid chunk grid: {0}")]
    InvalidConfiguration(#[from] Invalid),
    /// An index or element that the grid does not have.
    #[error("{}", printable(.0))]
    OutOfBounds(String),
}

/// Splits the elements of an array into chunks, each dimension by itself.
///
/// Every slice has one entry per dimension, in the order of the array's `shape`.
/// Array shapes and ranges count elements; grid shapes and chunk indices count chunks.
///
/// Source: "Chunk grids" in the Zarr v3 core specification.
pub trait ChunkGrid: Debug + Send + Sync {
    /// Chunks per dimension; 0 where the array has no elements.
    fn grid_shape(&self) -> &[u64];

    /// The elements of chunk number `chunk` along `dimension`.
    ///
    /// The last chunk may reach past the array: the range is not clipped there, and elements outside the array hold
    /// the fill value. Elements before the array are left out: [`ChunkGrid::before_array`] counts them.
    ///
    /// # Errors
    ///
    /// [`GridError::OutOfBounds`] if the grid has no such chunk.
    fn chunk_range(&self, dimension: usize, chunk: u64) -> Result<Range<u64>, GridError>;

    /// The number of the chunk that holds `element` along `dimension`.
    ///
    /// # Errors
    ///
    /// [`GridError::OutOfBounds`] if the array has no such element.
    fn chunk_of(&self, dimension: usize, element: u64) -> Result<u64, GridError>;

    /// The lengths of all chunks per dimension, if those of a dimension are all the same.
    fn chunk_shape(&self) -> Option<&[u64]>;

    /// Elements of the largest chunk along each dimension: what a buffer must have room for.
    fn largest_chunk(&self) -> Vec<u64>;

    /// Elements of chunk number `chunk` along `dimension` that lie before the array and hold the fill value. None, unless
    /// the grid begins elsewhere than the array.
    fn before_array(&self, dimension: usize, chunk: u64) -> u64 {
        let _the_first_begins_with_the_array = (dimension, chunk);
        0
    }

    /// What stands in keys for chunk number `chunk` along `dimension`: the number, unless chunks keep their keys when the
    /// array grows at its beginning. Different chunks have different ones.
    ///
    /// # Errors
    ///
    /// [`GridError::OutOfBounds`] if the grid has no such chunk, where it finds out.
    fn key_index(&self, dimension: usize, chunk: u64) -> Result<u64, GridError> {
        let _all_count_alike = dimension;
        Ok(chunk)
    }

    /// The number of the chunk that `key_index` stands for along `dimension`; `None` if the grid has no such chunk.
    ///
    /// # Errors
    ///
    /// If that cannot be found out: nobody may take it for a chunk that is not there.
    fn chunk_of_key(&self, dimension: usize, key_index: u64) -> Result<Option<u64>, GridError> {
        Ok(self.grid_shape().get(dimension).filter(|count| key_index < **count).map(|_| key_index))
    }

    /// The configuration of the same grid for an array that begins `start` elements later per dimension (earlier, where
    /// that is negative), so that no chunk moves. `None` if there is no such configuration.
    ///
    /// # Errors
    ///
    /// If that cannot be found out: nobody may take it for a grid that cannot be moved.
    fn moved(&self, start: &[i64]) -> Result<Option<Value>, GridError> {
        let _it_begins_with_the_array = start;
        Ok(None)
    }
}

/// The elements of one chunk of `grid`, as [`ChunkGrid::chunk_range`] has them: not clipped at the far end of the array.
///
/// # Errors
///
/// [`GridError::OutOfBounds`] for a wrong number of dimensions or a chunk that the grid does not have.
pub fn chunk_subset(grid: &dyn ChunkGrid, chunk_index: &[u64]) -> Result<ArraySubset, GridError> {
    let rank = grid.grid_shape().len();
    if chunk_index.len() != rank {
        let given = chunk_index.len();
        return Err(GridError::OutOfBounds(format!("chunk index has {given} entries for {rank} dimensions")));
    }
    let ranges = chunk_index.iter().enumerate();
    let ranges: Result<_, _> = ranges.map(|(dimension, &chunk)| grid.chunk_range(dimension, chunk)).collect();
    Ok(ArraySubset::new(ranges?))
}

/// Elements per dimension of one chunk of `grid`, those outside the array included.
///
/// # Errors
///
/// As [`chunk_subset`].
pub fn chunk_shape(grid: &dyn ChunkGrid, chunk_index: &[u64]) -> Result<Vec<u64>, GridError> {
    let mut shape = chunk_subset(grid, chunk_index)?.shape();
    for (dimension, (length, &chunk)) in shape.iter_mut().zip(chunk_index).enumerate() {
        *length += grid.before_array(dimension, chunk);
    }
    Ok(shape)
}

/// What stands in the key of one chunk of `grid`.
///
/// # Errors
///
/// As [`ChunkGrid::key_index`].
pub fn key_indices(grid: &dyn ChunkGrid, chunk_index: &[u64]) -> Result<Vec<u64>, GridError> {
    let chunks = chunk_index.iter().enumerate();
    chunks.map(|(dimension, &chunk)| grid.key_index(dimension, chunk)).collect()
}

/// The chunk of `grid` whose key has these indices, if the grid has it.
///
/// # Errors
///
/// As [`ChunkGrid::chunk_of_key`].
pub fn chunk_of_key(grid: &dyn ChunkGrid, key_indices: &[u64]) -> Result<Option<Vec<u64>>, GridError> {
    let indices = key_indices.iter().enumerate();
    indices.map(|(dimension, &index)| grid.chunk_of_key(dimension, index)).collect()
}

/// A chunk grid that a program knows. It is created for the shape of an array, in elements per dimension.
pub type ChunkGridPlugin = Plugin<dyn ChunkGrid>;

impl Kind for dyn ChunkGrid {
    type Create = dyn Fn(&Creation<'_>, &[u64]) -> Result<Arc<dyn ChunkGrid>, GridError> + Send + Sync;

    const POINT: ExtensionPoint = ExtensionPoint::ChunkGrid;
}

inventory::collect!(ChunkGridPlugin);
