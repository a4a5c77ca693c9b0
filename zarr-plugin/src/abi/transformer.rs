//! Storage transformers.

use std::ffi::c_void;

use super::describe::{self, CType, Described, Layout, abi_struct};
use super::{Buf, Creation, StoreHandle, Str};

abi_struct! {
    /// A storage transformer of an array.
    StorageTransformerVtable = "zarr_storage_transformer_vtable" {
        struct_size: usize,
        /// A transformer that wraps a store leaves `shard_json` empty. A transformer that combines chunks into
        /// shards of the draft sets it to `{"chunks_per_shard": [2, 2]}` and leaves `self` NULL: the host reads
        /// and writes the shards.
        create: fn(context: *const c_void, creation: *const Creation, shape: *const u64, rank: usize, this: *mut *mut c_void, shard_json: *mut Buf, err: *mut Buf) -> i32,
        destroy: fn(this: *mut c_void),
        /// Returns the store that an array uses instead of `next`. The plugin owns `next` as soon as `wrap` is called,
        /// even if `wrap` fails. The keys of the chunks of the array begin with `array`; all other keys are passed to
        /// `next` unchanged.
        wrap: fn(this: *const c_void, next: *const StoreHandle, array: Str, wrapped: *mut StoreHandle, err: *mut Buf) -> i32,
    }
}
