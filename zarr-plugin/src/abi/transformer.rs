//! Storage transformers.

use std::ffi::c_void;

use super::describe::{self, CType, Described, Layout, abi_struct};
use super::{Buf, Creation, StoreHandle, Str};

abi_struct! {
    /// A storage transformer, made for an array of a shape.
    StorageTransformerVtable = "zarr_storage_transformer_vtable" {
        struct_size: usize,
        /// `shard_json` is left empty by a transformer that wraps a store. One that puts chunks together in the draft's form of
        /// shards says `{"chunks_per_shard": [2, 2]}` and leaves `self` NULL: the host does the rest.
        create: fn(context: *const c_void, creation: *const Creation, shape: *const u64, rank: usize, this: *mut *mut c_void, shard_json: *mut Buf, err: *mut Buf) -> i32,
        destroy: fn(this: *mut c_void),
        /// The store that an array uses instead of `next`, which the plugin owns from the call on, whatever it returns.
        /// `array` is what the keys of its chunks begin with; other keys pass untouched.
        wrap: fn(this: *const c_void, next: *const StoreHandle, array: Str, wrapped: *mut StoreHandle, err: *mut Buf) -> i32,
    }
}
