//! Texts, and memory that one side fills for the other.

use std::ffi::c_void;

use super::describe::{self, CType, Described, Layout, abi_struct};

abi_struct! {
    /// Bytes that belong to the caller, for as long as the call takes. Text is UTF-8, without a zero at its end.
    /// When there are none, `ptr` may be NULL.
    Str = "zarr_str" {
        ptr: *const u8,
        len: usize,
    }
}

abi_struct! {
    /// Bytes that belong to whoever filled it: the other side copies them and then calls `release` once, if that is not
    /// NULL. `release` sets itself to NULL.
    Buf = "zarr_buf" {
        ptr: *mut u8,
        len: usize,
        owner: *mut c_void,
        release: fn(this: *mut Buf),
    }
}

abi_struct! {
    /// The host's memory, where chunks go. A plugin writes to `start`, at most `capacity` bytes, asks `reserve` for more,
    /// and leaves in `len` how many it has written; that is 0 before. The bytes there can be read, and may have any value.
    /// What the plugin reads from lies elsewhere. Where `capacity` is 0, `start` may be NULL.
    Output = "zarr_output" {
        struct_size: usize,
        start: *mut u8,
        len: usize,
        capacity: usize,
        /// `capacity` never gets larger than this.
        limit: usize,
        /// Makes `capacity` at least `len + more`; `start` may be another one afterwards, with the same `len` bytes at its
        /// beginning. Not 0 if that cannot be: the call that runs should return ZARR_LIMIT_EXCEEDED then.
        reserve: fn(this: *mut Output, more: usize) -> i32,
    }
}
