//! Chunk key encodings.

use std::ffi::c_void;

use super::describe::{self, CType, Described, Layout, abi_struct};
use super::{Buf, Creation, Output, Str};

abi_struct! {
    /// A chunk key encoding.
    ChunkKeyEncodingVtable = "zarr_chunk_key_encoding_vtable" {
        struct_size: usize,
        create: fn(context: *const c_void, creation: *const Creation, this: *mut *mut c_void, err: *mut Buf) -> i32,
        destroy: fn(this: *mut c_void),
        /// Writes the last part of the key of the chunk at `index`.
        encode: fn(this: *const c_void, index: *const u64, rank: usize, key: *mut Output, err: *mut Buf) -> i32,
        /// Returns the index of the chunk that a key names and sets `found` to 1; leaves `found` 0 if the key
        /// does not name a chunk.
        decode: fn(this: *const c_void, key: Str, index: *mut u64, rank: usize, found: *mut u32, err: *mut Buf) -> i32,
    }
}
