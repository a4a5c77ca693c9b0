//! The regular chunk grid of Zarr: all chunks of an array have the same shape.
//!
//! Chunk 0 starts at element 0. The last chunk of a dimension may extend past the array.
//!
//! Source: "Regular grids" in the Zarr v3 core specification, in its draft of 2022, and `chunks` of Zarr v2.

use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::grid::{ChunkGrid, ChunkGridPlugin, GridError};
use zarr_spec::{Creation, Example, Format, Identifiers, Invalid, counted};

zarr_spec::register!(
    ChunkGridPlugin::new(Identifiers::name("regular").with_id("regular"), &create,)
        .configuration::<RegularConfiguration>()
        .about("Divides an array into chunks of one shape.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::v3(r#"{"name": "regular", "configuration": {"chunk_shape": [2, 3]}}"#).with_shape(&[4, 7]),
    Example::v3(r#"{"name": "regular", "configuration": {"chunk_shape": [5, 20, 400]}}"#)
        .with_shape(&[10, 50, 400]),
    Example::v2("[2, 3]").with_shape(&[4, 7]),
    Example::draft(r#"{"type": "regular", "chunk_shape": [2, 3], "separator": "/"}"#).with_shape(&[4, 7]),
];

/// A chunk grid with chunks of one shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegularGrid {
    array_shape: Vec<u64>,
    chunk_shape: Vec<u64>,
    grid_shape: Vec<u64>,
}

impl RegularGrid {
    /// Divides an array of `array_shape` into chunks of `chunk_shape`, both in elements per dimension.
    ///
    /// A chunk length may be 0 along a dimension without elements, which then has no chunks.
    ///
    /// # Errors
    ///
    /// [`GridError::InvalidConfiguration`] for a wrong number of dimensions, and for a chunk length of 0 along
    /// a dimension with elements.
    pub fn new(array_shape: &[u64], chunk_shape: &[u64]) -> Result<Self, GridError> {
        if array_shape.len() != chunk_shape.len() {
            let chunk = counted(chunk_shape.len(), "entry", "entries");
            let array = counted(array_shape.len(), "dimension", "dimensions");
            let what = format!("`chunk_shape` has {chunk}, but the array has {array}");
            return Err(Invalid::new(what).into());
        }
        let lengths = array_shape.iter().zip(chunk_shape);
        let counts = lengths.map(|(&array, &chunk)| match (array, chunk) {
            (0, _) => Ok(0),
            (_, 0) => Err(Invalid::new(format!("`chunk_shape` {chunk_shape:?} contains a zero"))),
            _ => Ok(array.div_ceil(chunk)),
        });
        Ok(Self {
            grid_shape: counts.collect::<Result<_, _>>()?,
            array_shape: array_shape.to_vec(),
            chunk_shape: chunk_shape.to_vec(),
        })
    }
}

impl ChunkGrid for RegularGrid {
    fn grid_shape(&self) -> &[u64] {
        &self.grid_shape
    }

    fn chunk_range(&self, dimension: usize, chunk: u64) -> Result<Range<u64>, GridError> {
        let count = self.grid_shape.get(dimension).copied().unwrap_or(0);
        if chunk >= count {
            return Err(GridError::OutOfBounds(format!(
                "no chunk {chunk} along dimension {dimension}: the grid has shape {:?}",
                self.grid_shape
            )));
        }
        let length = self.chunk_shape[dimension];
        // The chunk starts inside of the array, so only its end can overflow.
        let start = chunk * length;
        let end = start.checked_add(length).ok_or_else(|| {
            GridError::OutOfBounds(format!("chunk {chunk} along dimension {dimension} ends past 2^64"))
        })?;
        Ok(start..end)
    }

    fn chunk_of(&self, dimension: usize, element: u64) -> Result<u64, GridError> {
        let length = self.array_shape.get(dimension).copied().unwrap_or(0);
        if element >= length {
            return Err(GridError::OutOfBounds(format!(
                "no element {element} along dimension {dimension}: the array has shape {:?}",
                self.array_shape
            )));
        }
        Ok(element / self.chunk_shape[dimension])
    }

    fn chunk_shape(&self) -> Option<&[u64]> {
        Some(&self.chunk_shape)
    }

    fn largest_chunk(&self) -> Vec<u64> {
        self.chunk_shape.clone()
    }
}

#[derive(Deserialize)]
struct RegularConfiguration {
    chunk_shape: Vec<u64>,
}

/// Creates the grid. Only the draft allows a chunk length of 0, and only along a dimension without elements.
fn create(creation: &Creation<'_>, array_shape: &[u64]) -> Result<Arc<dyn ChunkGrid>, GridError> {
    let chunk_shape = creation.parse::<RegularConfiguration>()?.chunk_shape;
    let grid = RegularGrid::new(array_shape, &chunk_shape)?;
    if creation.format != Format::V3Draft && chunk_shape.contains(&0) {
        return Err(Invalid::new(format!("`chunk_shape` {chunk_shape:?} contains a zero")).into());
    }
    Ok(Arc::new(grid))
}
