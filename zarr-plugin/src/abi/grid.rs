//! Chunk grids.

use std::ffi::c_void;

use super::describe::{self, CType, Described, Layout, abi_struct};
use super::{Buf, Creation};

abi_struct! {
    /// A chunk grid, made for an array of a shape.
    ChunkGridVtable = "zarr_chunk_grid_vtable" {
        struct_size: usize,
        /// `json` is `{"grid_shape": [3, 2], "largest_chunk": [10, 10], "chunk_shape": [10, 10]}`; `chunk_shape` is left out
        /// where chunks differ. In a grid that begins before the array, `"before_array": [4, 0]` has how many elements of the
        /// first chunk along each dimension lie there.
        create: fn(context: *const c_void, creation: *const Creation, shape: *const u64, rank: usize, this: *mut *mut c_void, json: *mut Buf, err: *mut Buf) -> i32,
        destroy: fn(this: *mut c_void),
        /// The elements of a chunk along a dimension: from `start` up to `end`, which may lie beyond the array.
        chunk_range: fn(this: *const c_void, dimension: usize, chunk: u64, start: *mut u64, end: *mut u64, err: *mut Buf) -> i32,
        /// The chunk that holds an element along a dimension.
        chunk_of: fn(this: *const c_void, dimension: usize, element: u64, chunk: *mut u64, err: *mut Buf) -> i32,
        /// What stands in keys for a chunk along a dimension. NULL: its number.
        key_index: fn(this: *const c_void, dimension: usize, chunk: u64, key_index: *mut u64, err: *mut Buf) -> i32,
        /// The chunk that an index in keys stands for; `found` is left 0 if there is none. NULL: as `key_index`.
        chunk_of_key: fn(this: *const c_void, dimension: usize, key_index: u64, chunk: *mut u64, found: *mut u32, err: *mut Buf) -> i32,
        /// The configuration of the same grid for an array that begins `start` elements later per dimension (earlier, where
        /// that is negative), so that no chunk moves. It is left empty if there is none. NULL: there never is.
        moved: fn(this: *const c_void, start: *const i64, rank: usize, configuration_json: *mut Buf, err: *mut Buf) -> i32,
    }
}
