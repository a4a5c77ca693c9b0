//! A regular chunk grid with an arbitrary origin: an array can grow at both ends without moving chunks.
//!
//! The grid has coordinates, which may be negative, and divides them into chunks of one length, starting at
//! coordinate 0. `origin` is the coordinate of the first element of the array. Chunk numbers may be negative.
//! Keys do not have signs, so they contain 0, 1, 2, 3 for the chunks 0, −1, 1, −2, and so on.
//!
//! Source: an extension of this project, `docs/spec/grids-origin.md`, based on an idea in the Zarr v3 draft of
//! 2022.

use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::grid::{ChunkGrid, ChunkGridPlugin, GridError};
use zarr_spec::{Creation, Example, Format, Identifiers, Invalid, Value, counted};

zarr_spec::register!(
    ChunkGridPlugin::new(Identifiers::uri("https://zarr-kit.example/spec/grids/origin/1.0"), &create,)
        .configuration::<OriginConfiguration>()
        .about("Divides an array into chunks of one shape, starting at an arbitrary coordinate.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[Example::draft(
    r#"{"extension": "https://zarr-kit.example/spec/grids/origin/1.0", "type": "origin",
            "configuration": {"chunk_shape": [4, 10], "origin": [-6, 3]}}"#,
)
.with_shape(&[20, 30])];

/// A regular grid with an origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginGrid {
    array_shape: Vec<u64>,
    chunk_shape: Vec<u64>,
    origin: Vec<i64>,
    grid_shape: Vec<u64>,
    axes: Vec<Axis>,
}

/// Where the array starts in the chunks along one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Axis {
    /// The number of the first chunk in the coordinates of the grid.
    first: i64,
    /// The number of elements of the first chunk that lie before the array.
    before: u64,
}

impl OriginGrid {
    /// Divides an array of `array_shape`, whose first element has the coordinates `origin`, into chunks of
    /// `chunk_shape`; all in elements per dimension.
    ///
    /// # Errors
    ///
    /// [`GridError::InvalidConfiguration`] for a wrong number of dimensions, a chunk length of 0, and
    /// coordinates that do not fit into 64 bits.
    pub fn new(array_shape: &[u64], chunk_shape: &[u64], origin: &[i64]) -> Result<Self, GridError> {
        for (member, rank) in [("chunk_shape", chunk_shape.len()), ("origin", origin.len())] {
            if rank != array_shape.len() {
                let rank = counted(rank, "entry", "entries");
                let array = counted(array_shape.len(), "dimension", "dimensions");
                let what = format!("`{member}` has {rank}, but the array has {array}");
                return Err(Invalid::new(what).into());
            }
        }
        if chunk_shape.contains(&0) {
            return Err(Invalid::new(format!("`chunk_shape` {chunk_shape:?} contains a zero")).into());
        }
        let mut grid = Self {
            array_shape: array_shape.to_vec(),
            chunk_shape: chunk_shape.to_vec(),
            origin: origin.to_vec(),
            grid_shape: Vec::new(),
            axes: Vec::new(),
        };
        for ((&array, &chunk), &origin) in array_shape.iter().zip(chunk_shape).zip(origin) {
            let (axis, count) = axis(array, chunk, origin).ok_or_else(|| {
                Invalid::new(format!(
                    "coordinates of {array} elements from {origin} on do not fit into 64 bits"
                ))
            })?;
            grid.axes.push(axis);
            grid.grid_shape.push(count);
        }
        Ok(grid)
    }

    fn axis(&self, dimension: usize) -> Axis {
        self.axes.get(dimension).copied().unwrap_or(Axis { first: 0, before: 0 })
    }
}

/// Returns the start of the array along a dimension, and the number of chunks; `None` if a coordinate does not fit
/// into 64 bits.
fn axis(array: u64, chunk: u64, origin: i64) -> Option<(Axis, u64)> {
    let wide_origin = i128::from(origin);
    let wide_chunk = i128::from(chunk);
    let first = i64::try_from(wide_origin.div_euclid(wide_chunk)).ok()?;
    let before = u64::try_from(wide_origin.rem_euclid(wide_chunk)).ok()?;
    // The end of the last chunk must be a coordinate too.
    let count = if array == 0 { 0 } else { before.checked_add(array)?.div_ceil(chunk) };
    let end = (i128::from(first) + i128::from(count)) * wide_chunk;
    i64::try_from(end).ok()?;
    count.checked_mul(chunk)?;
    Some((Axis { first, before }, count))
}

impl ChunkGrid for OriginGrid {
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
        // The products do not overflow: all chunks along a dimension together have fewer than 2^64 elements.
        let length = self.chunk_shape[dimension];
        let before = self.axis(dimension).before;
        Ok((chunk * length).saturating_sub(before)..(chunk + 1) * length - before)
    }

    fn chunk_of(&self, dimension: usize, element: u64) -> Result<u64, GridError> {
        let length = self.array_shape.get(dimension).copied().unwrap_or(0);
        if element >= length {
            return Err(GridError::OutOfBounds(format!(
                "no element {element} along dimension {dimension}: the array has shape {:?}",
                self.array_shape
            )));
        }
        Ok((element + self.axis(dimension).before) / self.chunk_shape[dimension])
    }

    fn chunk_shape(&self) -> Option<&[u64]> {
        Some(&self.chunk_shape)
    }

    fn largest_chunk(&self) -> Vec<u64> {
        self.chunk_shape.clone()
    }

    fn before_array(&self, dimension: usize, chunk: u64) -> u64 {
        if chunk == 0 { self.axis(dimension).before } else { 0 }
    }

    /// Maps the chunk numbers 0, −1, 1, −2 to 0, 1, 2, 3.
    fn key_index(&self, dimension: usize, chunk: u64) -> Result<u64, GridError> {
        let number = self.axis(dimension).first.wrapping_add_unsigned(chunk);
        Ok((number.cast_unsigned() << 1) ^ (number >> 63).cast_unsigned())
    }

    fn chunk_of_key(&self, dimension: usize, key_index: u64) -> Result<Option<u64>, GridError> {
        let number = (key_index >> 1).cast_signed() ^ -(key_index & 1).cast_signed();
        let chunk = i128::from(number) - i128::from(self.axis(dimension).first);
        let count = self.grid_shape.get(dimension).copied().unwrap_or(0);
        Ok(u64::try_from(chunk).ok().filter(|chunk| *chunk < count))
    }

    fn moved(&self, start: &[i64]) -> Result<Option<Value>, GridError> {
        if start.len() != self.origin.len() {
            return Ok(None);
        }
        let origin = self.origin.iter().zip(start).map(|(origin, start)| origin.checked_add(*start));
        let Some(origin) = origin.collect::<Option<Vec<i64>>>() else { return Ok(None) };
        let chunk_shape: Value = self.chunk_shape.iter().copied().collect();
        let members = [("chunk_shape", chunk_shape), ("origin", origin.into_iter().collect())];
        Ok(Some(members.into_iter().collect()))
    }
}

#[derive(Deserialize)]
struct OriginConfiguration {
    chunk_shape: Vec<u64>,
    origin: Vec<i64>,
}

/// Creates the grid. In the draft, the member `type` next to `extension` names the grid.
fn create(creation: &Creation<'_>, array_shape: &[u64]) -> Result<Arc<dyn ChunkGrid>, GridError> {
    match creation.type_name {
        Some(Value::String(name)) if name == "origin" => {}
        None if creation.format != Format::V3Draft => {}
        Some(other) => return Err(Invalid::new(format!("`type` is {other}; expected \"origin\"")).into()),
        None => return Err(Invalid::new("`type` is missing").into()),
    }
    let OriginConfiguration { chunk_shape, origin } = creation.parse()?;
    Ok(Arc::new(OriginGrid::new(array_shape, &chunk_shape, &origin)?))
}
