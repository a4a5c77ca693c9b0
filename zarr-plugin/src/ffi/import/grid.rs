//! Chunk grids of a loaded library.

use std::ops::Range;
use std::sync::Arc;

use zarr_spec::grid::{ChunkGrid, GridError};
use zarr_spec::{Creation, Value};

use super::{Imported, invalid, lengths};
use crate::abi::ChunkGridVtable;
use crate::ffi::creation::show_creation;
use crate::ffi::{EMPTY, Failure, Instance, outcome, parse, required, take};

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
        let made = || {
            let create = required(self.vtable.create, "create")?;
            let mut this = std::ptr::null_mut();
            let mut json = EMPTY;
            let mut err = EMPTY;
            let status = show_creation(creation, |creation| {
                // SAFETY: a function of the library, called with its context and memory for its results.
                unsafe {
                    create(
                        self.context,
                        creation,
                        shape.as_ptr(),
                        shape.len(),
                        &mut this,
                        &mut json,
                        &mut err,
                    )
                }
            });
            // SAFETY: the call filled them. This side owns the new object.
            let (json, instance) = unsafe {
                let json = take(&mut json);
                outcome(status, &mut err)?;
                (parse(&json?), Instance::new(self.vtable, this, self.vtable.destroy))
            };
            let json = json?;
            let wrong =
                || Failure::broken(format!("it returned the invalid description {json} of a chunk grid"));
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
            Ok(LoadedGrid {
                instance,
                origin: self.origin.clone(),
                grid_shape,
                largest_chunk,
                chunk_shape,
                before_array,
                shape: shape.to_vec(),
            })
        };
        match made() {
            Ok(grid) => Ok(Arc::new(grid)),
            Err(failure) => Err(GridError::InvalidConfiguration(invalid(&self.origin, &failure))),
        }
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
        let called = self.instance.call(|vtable, this, err| {
            let chunk_range = required(vtable.chunk_range, "chunk_range")?;
            // SAFETY: a function of the library, called with its object and memory for its results.
            Ok(unsafe { chunk_range(this, dimension, chunk, &mut start, &mut end, err) })
        });
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
        let called = self.instance.call(|vtable, this, err| {
            let chunk_of = required(vtable.chunk_of, "chunk_of")?;
            // SAFETY: a function of the library, called with its object and memory for its result.
            Ok(unsafe { chunk_of(this, dimension, element, &mut chunk, err) })
        });
        called.map_err(|failure| self.error(&failure))?;
        // The chunk must exist and have the element: later computations use it. A chunk that ends past 2^64 has
        // no range.
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

    fn key_index(&self, dimension: usize, chunk: u64) -> Result<u64, GridError> {
        let Some(key_index) = self.instance.vtable.key_index else { return Ok(chunk) };
        Self::in_bounds(&self.grid_shape, dimension, chunk, "chunk")?;
        let mut index = 0;
        let called = self.instance.call(|_, this, err| {
            // SAFETY: a function of the library, called with its object and memory for its result.
            Ok(unsafe { key_index(this, dimension, chunk, &mut index, err) })
        });
        called.map_err(|failure| self.error(&failure))?;
        Ok(index)
    }

    fn chunk_of_key(&self, dimension: usize, key_index: u64) -> Result<Option<u64>, GridError> {
        let count = self.grid_shape.get(dimension).copied().unwrap_or(0);
        let Some(chunk_of_key) = self.instance.vtable.chunk_of_key else {
            return Ok((key_index < count).then_some(key_index));
        };
        let mut chunk = 0;
        let mut found = 0;
        let called = self.instance.call(|_, this, err| {
            // SAFETY: a function of the library, called with its object and memory for its results.
            Ok(unsafe { chunk_of_key(this, dimension, key_index, &mut chunk, &mut found, err) })
        });
        called.map_err(|failure| self.error(&failure))?;
        if found != 0 {
            Self::in_bounds(&self.grid_shape, dimension, chunk, "chunk")?;
        }
        Ok((found != 0).then_some(chunk))
    }

    fn moved(&self, start: &[i64]) -> Result<Option<Value>, GridError> {
        let Some(moved) = self.instance.vtable.moved else { return Ok(None) };
        let mut json = EMPTY;
        let called = self.instance.call(|_, this, err| {
            // SAFETY: a function of the library, called with its object and memory for its result.
            Ok(unsafe { moved(this, start.as_ptr(), start.len(), &mut json, err) })
        });
        // SAFETY: the call filled it.
        let json = unsafe { take(&mut json) };
        let parsed = called.and(json).and_then(|json| match json.is_empty() {
            true => Ok(None),
            false => parse(&json).map(Some),
        });
        parsed.map_err(|failure| self.error(&failure))
    }
}
