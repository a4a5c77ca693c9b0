//! Chunk grids.

use std::ffi::c_void;

use super::describe::{self, CType, Described, Layout, abi_struct};
use super::{Buf, Creation};

abi_struct! {
    /// A chunk grid of an array.
    ChunkGridVtable = "zarr_chunk_grid_vtable" {
        struct_size: usize,
        /// `json` is `{"grid_shape": [3, 2], "largest_chunk": [10, 10], "chunk_shape": [10, 10]}`.
        /// `chunk_shape` is left out if chunks differ. In a grid that begins before the array, `"before_array":
        /// [4, 0]` is the number of elements of the first chunk along each dimension that precede the array.
        create: fn(context: *const c_void, creation: *const Creation, shape: *const u64, rank: usize, this: *mut *mut c_void, json: *mut Buf, err: *mut Buf) -> i32,
        destroy: fn(this: *mut c_void),
        /// Returns the elements of a chunk along a dimension: from `start` to before `end`, which may lie
        /// beyond the array.
        chunk_range: fn(this: *const c_void, dimension: usize, chunk: u64, start: *mut u64, end: *mut u64, err: *mut Buf) -> i32,
        /// Returns the chunk that holds an element along a dimension.
        chunk_of: fn(this: *const c_void, dimension: usize, element: u64, chunk: *mut u64, err: *mut Buf) -> i32,
        /// Returns the index in keys for a chunk along a dimension. NULL: it is the index of the chunk.
        key_index: fn(this: *const c_void, dimension: usize, chunk: u64, key_index: *mut u64, err: *mut Buf) -> i32,
        /// Returns the chunk of an index in keys and sets `found` to 1; leaves `found` 0 if there is no such
        /// chunk. NULL: the index in keys is the index of the chunk.
        chunk_of_key: fn(this: *const c_void, dimension: usize, key_index: u64, chunk: *mut u64, found: *mut u32, err: *mut Buf) -> i32,
        /// Returns the configuration of the same grid for an array that begins `start` elements later in each
        /// dimension (earlier if it is negative), so that every chunk keeps its elements. It is left empty if
        /// there is no such configuration. NULL: there never is.
        moved: fn(this: *const c_void, start: *const i64, rank: usize, configuration_json: *mut Buf, err: *mut Buf) -> i32,
    }
}
