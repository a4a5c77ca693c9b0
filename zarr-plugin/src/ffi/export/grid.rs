//! Chunk grids of this library for its host.

use std::ffi::c_void;
use std::sync::Arc;

use zarr_spec::grid::{ChunkGrid, ChunkGridPlugin, GridError};
use zarr_spec::{Object, Value};

use super::data_type::linked;
use super::{destroy, held};
use crate::abi::{self, Buf, ChunkGridVtable, Creation};
use crate::ffi::creation::with_creation;
use crate::ffi::{Failure, borrowed_items, put};

/// The functions of a chunk grid of this library. `this` is an `Arc<dyn ChunkGrid>`, `context` a [`ChunkGridPlugin`].
pub(crate) static CHUNK_GRIDS: ChunkGridVtable = ChunkGridVtable {
    struct_size: size_of::<ChunkGridVtable>(),
    create: Some(create_grid),
    destroy: Some(destroy::<Arc<dyn ChunkGrid>>),
    chunk_range: Some(chunk_range),
    chunk_of: Some(chunk_of),
    key_index: Some(key_index),
    chunk_of_key: Some(chunk_of_key),
    moved: Some(moved),
    padding: Some(padding),
};

impl From<GridError> for Failure {
    fn from(error: GridError) -> Self {
        let status = if matches!(error, GridError::InvalidConfiguration(_)) {
            abi::BAD_CONFIGURATION
        } else {
            abi::UNSUPPORTED
        };
        Self::new(status, error.to_string())
    }
}

callbacks! {
    fn create_grid(
        context: *const c_void,
        creation: *const Creation,
        shape: *const u64,
        rank: usize,
        this: *mut *mut c_void,
        json: *mut Buf,
    ) {
        let plugin = &*context.cast::<ChunkGridPlugin>();
        let shape = borrowed_items(shape, rank);
        let grid = with_creation(creation, linked()?, |creation| Ok((plugin.create)(creation, shape)?))?;
        let lengths = |lengths: &[u64]| -> Value { lengths.iter().copied().collect() };
        let mut members = Object::new();
        members.insert("grid_shape", lengths(grid.grid_shape()));
        members.insert("largest_chunk", lengths(&grid.largest_chunk()));
        if let Some(shape) = grid.chunk_shape() {
            members.insert("chunk_shape", lengths(shape));
        }
        // Only the first chunk can begin before the array.
        let counts = grid.grid_shape().iter().enumerate();
        let before =
            counts.map(|(along, &count)| if count == 0 { 0 } else { grid.before_array(along, 0) });
        let before: Vec<u64> = before.collect();
        if before.iter().any(|&elements| elements > 0) {
            members.insert("before_array", lengths(&before));
        }
        put(json, Value::Object(members).to_string().into_bytes());
        this.write(Box::into_raw(Box::new(grid)).cast());
        Ok(())
    }

    fn chunk_range(this: *const c_void, dimension: usize, chunk: u64, start: *mut u64, end: *mut u64) {
        let range = held::<Arc<dyn ChunkGrid>>(this).chunk_range(dimension, chunk)?;
        start.write(range.start);
        end.write(range.end);
        Ok(())
    }

    fn chunk_of(this: *const c_void, dimension: usize, element: u64, chunk: *mut u64) {
        chunk.write(held::<Arc<dyn ChunkGrid>>(this).chunk_of(dimension, element)?);
        Ok(())
    }

    fn key_index(this: *const c_void, dimension: usize, chunk: u64, key_index: *mut u64) {
        key_index.write(held::<Arc<dyn ChunkGrid>>(this).key_index(dimension, chunk)?);
        Ok(())
    }

    fn chunk_of_key(this: *const c_void, dimension: usize, key_index: u64, chunk: *mut u64, found: *mut u32) {
        if let Some(number) = held::<Arc<dyn ChunkGrid>>(this).chunk_of_key(dimension, key_index)? {
            chunk.write(number);
            found.write(1);
        }
        Ok(())
    }

    fn moved(this: *const c_void, start: *const i64, rank: usize, configuration_json: *mut Buf) {
        let moved = held::<Arc<dyn ChunkGrid>>(this).moved(borrowed_items(start, rank))?;
        if let Some(configuration) = moved {
            put(configuration_json, configuration.to_string().into_bytes());
        }
        Ok(())
    }

    fn padding(this: *const c_void, dimension: usize, chunk: u64, padding: *mut u64) {
        padding.write(held::<Arc<dyn ChunkGrid>>(this).padding(dimension, chunk)?);
        Ok(())
    }
}
