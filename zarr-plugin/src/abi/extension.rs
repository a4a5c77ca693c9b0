//! Generic extensions of the draft.

use std::ffi::c_void;

use super::describe::{self, CType, Described, Layout, abi_struct};
use super::{Buf, Creation};

abi_struct! {
    /// A generic extension of the draft.
    ExtensionVtable = "zarr_extension_vtable" {
        struct_size: usize,
        /// `is_array` is 0 in the entry point of a hierarchy. In an array, it is 1 and `shape` is the shape of the
        /// array. `json` is `{"dimension_names": ["y", null], "node_index": "meta/index"}`; members that the extension
        /// does not define are left out.
        create: fn(context: *const c_void, creation: *const Creation, is_array: u32, shape: *const u64, rank: usize, json: *mut Buf, err: *mut Buf) -> i32,
    }
}
