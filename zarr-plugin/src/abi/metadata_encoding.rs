//! Metadata encodings.

use std::ffi::c_void;

use super::describe::{self, CType, Described, Layout, abi_struct};
use super::{Buf, Creation, Str};

abi_struct! {
    /// A metadata encoding of the draft. Documents are passed as JSON, which may also have the numbers NaN,
    /// Infinity and -Infinity.
    MetadataEncodingVtable = "zarr_metadata_encoding_vtable" {
        struct_size: usize,
        /// `key_suffix` is the end of the keys of documents.
        create: fn(context: *const c_void, creation: *const Creation, this: *mut *mut c_void, key_suffix: *mut Buf, err: *mut Buf) -> i32,
        destroy: fn(this: *mut c_void),
        decode: fn(this: *const c_void, bytes: Str, reading: *const Creation, json: *mut Buf, err: *mut Buf) -> i32,
        encode: fn(this: *const c_void, json: Str, bytes: *mut Buf, err: *mut Buf) -> i32,
    }
}
