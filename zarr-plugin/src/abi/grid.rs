//! Chunk grids.

use std::ffi::c_void;

use super::describe::{self, CType, Described, Layout, abi_struct};
use super::{Buf, Creation};

abi_struct! {
    /// A chunk grid of an array.
    ChunkGridVtable = "zarr_chunk_grid_vtable" {
        struct_size: usize,
        /// `json` is `{"grid_shape": [3, 2], "largest_chunk": [10, 10], "chunk_shape": [10, 10]}`. `chunk_shape` is
        /// left out if chunks differ. If the grid begins before the array, `"before_array": [4, 0]` counts the elements
        /// of the first chunk that precede the array, for each dimension.
        create: fn(context: *const c_void, creation: *const Creation, shape: *const u64, rank: usize, this: *mut *mut c_void, json: *mut Buf, err: *mut Buf) -> i32,
        destroy: fn(this: *mut c_void),
        /// Returns the elements of a chunk along a dimension: from `start` to before `end`, which may lie
        /// beyond the array.
        chunk_range: fn(this: *const c_void, dimension: usize, chunk: u64, start: *mut u64, end: *mut u64, err: *mut Buf) -> i32,
        /// Returns the chunk that holds an element along a dimension.
        chunk_of: fn(this: *const c_void, dimension: usize, element: u64, chunk: *mut u64, err: *mut Buf) -> i32,
        /// Returns the index that keys contain for a chunk along a dimension. NULL: keys contain the index of the
        /// chunk.
        key_index: fn(this: *const c_void, dimension: usize, chunk: u64, key_index: *mut u64, err: *mut Buf) -> i32,
        /// Returns the chunk whose keys contain `key_index`, and sets `found` to 1; leaves `found` 0 if there is no
        /// such chunk. NULL: keys contain the index of the chunk.
        chunk_of_key: fn(this: *const c_void, dimension: usize, key_index: u64, chunk: *mut u64, found: *mut u32, err: *mut Buf) -> i32,
        /// Returns the configuration of the same grid for an array that begins `start` elements later in each dimension
        /// (earlier if it is negative), so that every chunk keeps its elements. `configuration_json` stays empty if
        /// there is no such configuration. NULL: there is never such a configuration.
        moved: fn(this: *const c_void, start: *const i64, rank: usize, configuration_json: *mut Buf, err: *mut Buf) -> i32,
        /// Since 2.3. Returns the number of elements that are stored after those of a chunk along a dimension and are not
        /// part of the array. They count in `largest_chunk`, and a grid with `chunk_shape` has none. NULL: there are
        /// none.
        padding: fn(this: *const c_void, dimension: usize, chunk: u64, padding: *mut u64, err: *mut Buf) -> i32,
    }
}
