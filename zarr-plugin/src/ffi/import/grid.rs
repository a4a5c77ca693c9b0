//! Chunk grids of a loaded library.

use std::ops::Range;
use std::sync::Arc;

use zarr_spec::grid::{ChunkGrid, GridError};
use zarr_spec::{Creation, Value};

use super::{Imported, invalid, lengths};
use crate::abi::ChunkGridVtable;
use crate::ffi::{EMPTY, Failure, Instance, parse, take_json};

/// A chunk grid of a library. Properties that do not depend on a chunk are queried once.
#[derive(Debug)]
struct LoadedGrid {
    instance: Instance<ChunkGridVtable>,
    origin: Arc<str>,
    grid_shape: Vec<u64>,
    largest_chunk: Vec<u64>,
    chunk_shape: Option<Vec<u64>>,
    before_array: Vec<u64>,
    shape: Vec<u64>,
}

impl Imported<ChunkGridVtable> {
    pub(crate) fn create(
        &self,
        creation: &Creation<'_>,
        shape: &[u64],
    ) -> Result<Arc<dyn ChunkGrid>, GridError> {
        match self.made(creation, shape) {
            Ok(grid) => Ok(Arc::new(grid)),
            Err(failure) => Err(GridError::InvalidConfiguration(invalid(&self.origin, &failure))),
        }
    }

    fn made(&self, creation: &Creation<'_>, shape: &[u64]) -> Result<LoadedGrid, Failure> {
        let mut this = std::ptr::null_mut();
        let mut json = EMPTY;
        let called = call_item!(self, creation, create(shape.as_ptr(), shape.len(), &mut this, &mut json));
        // SAFETY: the call filled `json` and created `this`, which this side owns.
        let (json, instance) = unsafe {
            let json = take_json(&mut json);
            called?;
            (json?, Instance::new(self.vtable, this, self.vtable.destroy))
        };
        let wrong = || Failure::broken(format!("it returned the invalid description {json} of a chunk grid"));
        let list = |name: &str| json.as_object()?.get(name).map(lengths);
        let fits = |lengths: &Vec<u64>| lengths.len() == shape.len();
        let grid_shape = list("grid_shape").flatten().filter(fits).ok_or_else(wrong)?;
        let largest_chunk = list("largest_chunk").flatten().filter(fits).ok_or_else(wrong)?;
        let chunk_shape = match list("chunk_shape") {
            Some(lengths) => Some(lengths.filter(fits).ok_or_else(wrong)?),
            None => None,
        };
        let before_array = match list("before_array") {
            Some(lengths) => lengths.filter(fits).ok_or_else(wrong)?,
            None => vec![0; shape.len()],
        };
        let origin = self.origin.clone();
        let shape = shape.to_vec();
        Ok(LoadedGrid { instance, origin, grid_shape, largest_chunk, chunk_shape, before_array, shape })
    }
}

impl LoadedGrid {
    fn error(&self, failure: &Failure) -> GridError {
        GridError::OutOfBounds(invalid(&self.origin, failure).to_string())
    }

    fn in_bounds(of: &[u64], dimension: usize, index: u64, what: &str) -> Result<(), GridError> {
        match of.get(dimension) {
            Some(&length) if index < length => Ok(()),
            Some(length) => Err(GridError::OutOfBounds(format!(
                "{what} {index} along dimension {dimension} is out of bounds: the dimension has {length}"
            ))),
            None => Err(GridError::OutOfBounds(format!("there is no dimension {dimension}"))),
        }
    }
}

#[deny(clippy::missing_trait_methods)]
impl ChunkGrid for LoadedGrid {
    fn grid_shape(&self) -> &[u64] {
        &self.grid_shape
    }

    fn chunk_range(&self, dimension: usize, chunk: u64) -> Result<Range<u64>, GridError> {
        Self::in_bounds(&self.grid_shape, dimension, chunk, "chunk")?;
        let mut start = 0;
        let mut end = 0;
        let called = call!(self.instance, chunk_range(dimension, chunk, &mut start, &mut end));
        called.map_err(|failure| self.error(&failure))?;
        let most = self.largest_chunk.get(dimension).copied().unwrap_or(0);
        let most = most.saturating_sub(self.before_array(dimension, chunk));
        if start >= end || end - start > most {
            let what = format!(
                "chunk {chunk} along dimension {dimension} is {start} to {end}; the largest chunk has {most} elements"
            );
            return Err(self.error(&Failure::broken(what)));
        }
        Ok(start..end)
    }

    fn chunk_of(&self, dimension: usize, element: u64) -> Result<u64, GridError> {
        Self::in_bounds(&self.shape, dimension, element, "element")?;
        let mut chunk = 0;
        let called = call!(self.instance, chunk_of(dimension, element, &mut chunk));
        called.map_err(|failure| self.error(&failure))?;
        // Later computations assume that the chunk exists and contains the element. The second check is omitted if the
        // chunk has no valid range, for example because the chunk ends past 2^64.
        Self::in_bounds(&self.grid_shape, dimension, chunk, "chunk")?;
        if self.chunk_range(dimension, chunk).is_ok_and(|range| !range.contains(&element)) {
            let what = format!("element {element} along dimension {dimension} is not in chunk {chunk}");
            return Err(self.error(&Failure::broken(what)));
        }
        Ok(chunk)
    }

    fn chunk_shape(&self) -> Option<&[u64]> {
        self.chunk_shape.as_deref()
    }

    fn largest_chunk(&self) -> Vec<u64> {
        self.largest_chunk.clone()
    }

    fn before_array(&self, dimension: usize, chunk: u64) -> u64 {
        self.before_array.get(dimension).copied().filter(|_| chunk == 0).unwrap_or(0)
    }

    fn padding(&self, dimension: usize, chunk: u64) -> Result<u64, GridError> {
        if self.instance.vtable.padding.is_none() {
            return Ok(0);
        }
        Self::in_bounds(&self.grid_shape, dimension, chunk, "chunk")?;
        let mut padding = 0;
        let called = call!(self.instance, padding(dimension, chunk, &mut padding));
        called.map_err(|failure| self.error(&failure))?;
        let most = self.largest_chunk.get(dimension).copied().unwrap_or(0);
        if padding >= most.max(1) {
            let what = format!(
                "chunk {chunk} along dimension {dimension} has a padding of {padding}; the largest chunk has {most} elements"
            );
            return Err(self.error(&Failure::broken(what)));
        }
        Ok(padding)
    }

    fn key_index(&self, dimension: usize, chunk: u64) -> Result<u64, GridError> {
        if self.instance.vtable.key_index.is_none() {
            return Ok(chunk);
        }
        Self::in_bounds(&self.grid_shape, dimension, chunk, "chunk")?;
        let mut index = 0;
        let called = call!(self.instance, key_index(dimension, chunk, &mut index));
        called.map_err(|failure| self.error(&failure))?;
        Ok(index)
    }

    fn chunk_of_key(&self, dimension: usize, key_index: u64) -> Result<Option<u64>, GridError> {
        let count = self.grid_shape.get(dimension).copied().unwrap_or(0);
        if self.instance.vtable.chunk_of_key.is_none() {
            return Ok((key_index < count).then_some(key_index));
        }
        let mut chunk = 0;
        let mut found = 0;
        let called = call!(self.instance, chunk_of_key(dimension, key_index, &mut chunk, &mut found));
        called.map_err(|failure| self.error(&failure))?;
        if found != 0 {
            Self::in_bounds(&self.grid_shape, dimension, chunk, "chunk")?;
        }
        Ok((found != 0).then_some(chunk))
    }

    fn moved(&self, start: &[i64]) -> Result<Option<Value>, GridError> {
        if self.instance.vtable.moved.is_none() {
            return Ok(None);
        }
        let json = fetch!(self.instance, moved(start.as_ptr(), start.len()));
        let parsed = json.and_then(|json| match json.is_empty() {
            true => Ok(None),
            false => parse(&json).map(Some),
        });
        parsed.map_err(|failure| self.error(&failure))
    }
}
