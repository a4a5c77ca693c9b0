//! Texts, and memory that one side fills for the other.

use std::ffi::c_void;

use super::describe::{self, CType, Described, Layout, abi_struct};

abi_struct! {
    /// Bytes that the caller lends for the duration of the call. Text is UTF-8 without a terminating zero.
    /// `ptr` may be NULL if `len` is 0.
    Str = "zarr_str" {
        ptr: *const u8,
        len: usize,
    }
}

abi_struct! {
    /// Bytes that one side returns to the other. The receiver copies them and then calls `release` once, unless
    /// it is NULL. `release` sets itself to NULL.
    Buf = "zarr_buf" {
        ptr: *mut u8,
        len: usize,
        owner: *mut c_void,
        release: fn(this: *mut Buf),
    }
}

abi_struct! {
    /// Memory of the caller for the output of a call. The callee writes at most `capacity` bytes to `start`,
    /// calls `reserve` for more, and sets `len`, which is 0 before, to the number of bytes that it wrote. The
    /// memory is initialized with arbitrary bytes, and does not overlap the input. `start` may be NULL if
    /// `capacity` is 0.
    Output = "zarr_output" {
        struct_size: usize,
        start: *mut u8,
        len: usize,
        capacity: usize,
        /// The largest value that `capacity` can reach.
        limit: usize,
        /// Makes `capacity` at least `len + more`. `start` may change; the first `len` bytes are preserved.
        /// Returns a value other than 0 if that is impossible: the call should then return ZARR_LIMIT_EXCEEDED.
        reserve: fn(this: *mut Output, more: usize) -> i32,
    }
}
