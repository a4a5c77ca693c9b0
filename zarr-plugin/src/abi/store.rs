//! Stores.

use std::ffi::c_void;

use super::describe::{self, CType, Described, Layout, abi_struct};
use super::{Buf, Output, Str};

abi_struct! {
    /// A store that somebody owns: `release` of the vtable ends that.
    StoreHandle = "zarr_store_handle" {
        vtable: *const StoreVtable,
        this: *mut c_void,
    }
}

abi_struct! {
    /// A part of a value: ZARR_RANGE_PART and so on.
    ByteRange = "zarr_byte_range" {
        offset: u64,
        size: u64,
        kind: u32,
        reserved: u32,
    }
}

abi_struct! {
    /// One part of one value.
    StoreRequest = "zarr_store_request" {
        key: Str,
        range: ByteRange,
        /// Bytes that the caller has room for: more is ZARR_LIMIT_EXCEEDED.
        limit: usize,
        /// Bytes that will probably come: what a budget counts. 0 where nobody knows.
        expected: usize,
        /// ZARR_GET_ONCE. Flags that are not known are passed over.
        flags: u32,
        reserved: u32,
    }
}

abi_struct! {
    /// What was found of a value, besides its bytes.
    Got = "zarr_got" {
        struct_size: usize,
        /// 0 if there is no such key, which is no error.
        found: u32,
        reserved: u32,
        /// Bytes of the whole value.
        size: u64,
        /// Where there is room for what tells one state of a value from another, such as an etag: so many bytes.
        version: *mut u8,
        version_room: usize,
        /// How many were written there; 0 if the store cannot tell or they are too many.
        version_len: usize,
    }
}

abi_struct! {
    /// Bytes that become a part of a value.
    PartialValue = "zarr_partial_value" {
        key: Str,
        offset: u64,
        bytes: Str,
    }
}

abi_struct! {
    /// Where a listing goes.
    Listing = "zarr_listing" {
        struct_size: usize,
        context: *mut c_void,
        /// Adds a key, or where `is_prefix` is 1 a prefix, which ends in `/`. Not 0 if the listing should end.
        add: fn(this: *mut Listing, is_prefix: u32, text: Str) -> i32,
    }
}

abi_struct! {
    /// A store: of a plugin, or of a host that hands it to a storage transformer. Of the functions of one batch, one is called
    /// at a time. They fail with ZARR_UNSUPPORTED where the store cannot do it at all,
    /// ZARR_BAD_CONFIGURATION for a key that it cannot have, ZARR_LIMIT_EXCEEDED where more would come out than may, and
    /// ZARR_IO. A missing key is no failure.
    StoreVtable = "zarr_store_vtable" {
        struct_size: usize,
        /// Opens the store at `location`, a URL or path, or where that is empty the one that `description_json` is of:
        /// `{"type": "its name", ...}`. `inside`, if it is not NULL, is what stands there as `"store": {"type": "given"}`, and
        /// belongs to the plugin from the call on. NULL in a store that is open.
        open: fn(context: *const c_void, location: Str, description_json: Str, inside: *const StoreHandle, this: *mut *mut c_void, err: *mut Buf) -> i32,
        release: fn(this: *mut c_void),
        /// `{"location": "memory:", "readable": true, "writeable": true, "listable": true, "erasable": true, "concurrency": 0,
        /// "join_gap": 0}`: requests in flight that pay, 0 if none do, and bytes between two ranges that are cheaper to read
        /// than a request is to make.
        describe: fn(this: *const c_void, json: *mut Buf, err: *mut Buf) -> i32,
        /// Writes a value or part of it, as much as exists. `flags` as in a request.
        get: fn(this: *const c_void, key: Str, range: *const ByteRange, flags: u32, to: *mut Output, got: *mut Got, err: *mut Buf) -> i32,
        /// Bytes of a value. `found` is left 0 if there is no such key.
        size: fn(this: *const c_void, key: Str, size: *mut u64, found: *mut u32, err: *mut Buf) -> i32,
        /// Begins to get parts of values, about `budget` bytes of which may be fetched and not yet taken. NULL: they are got one
        /// by one.
        begin: fn(this: *const c_void, requests: *const StoreRequest, n_requests: usize, budget: usize, batch: *mut *mut c_void, err: *mut Buf) -> i32,
        /// Waits for the next of them, in whatever order they come, and leaves which one it is in `number`: as many as there are
        /// requests when all were taken. A failure is that of the request.
        next: fn(batch: *mut c_void, number: *mut usize, to: *mut Output, got: *mut Got, err: *mut Buf) -> i32,
        /// Ends a batch, before the store is released; what was not taken is not wanted any more.
        end: fn(batch: *mut c_void),
        /// Stores a value, all or nothing, in the place of an older one.
        set: fn(this: *const c_void, key: Str, value: Str, err: *mut Buf) -> i32,
        /// Writes parts of values, which grow as needed, with zeros in gaps. NULL: values are read and written whole.
        set_partial_values: fn(this: *const c_void, values: *const PartialValue, n_values: usize, err: *mut Buf) -> i32,
        /// Removes a value; none there is fine.
        erase: fn(this: *const c_void, key: Str, err: *mut Buf) -> i32,
        /// Removes values. NULL: one by one.
        erase_values: fn(this: *const c_void, keys: *const Str, n_keys: usize, err: *mut Buf) -> i32,
        /// Removes every value whose key begins with `prefix`. NULL: those that are listed, one by one.
        erase_prefix: fn(this: *const c_void, prefix: Str, err: *mut Buf) -> i32,
        /// Every key that begins with `prefix`; that is empty or ends in `/`.
        list_prefix: fn(this: *const c_void, prefix: Str, keys: *mut Listing, err: *mut Buf) -> i32,
        /// What lies directly below `prefix`: keys, and prefixes one level down. NULL: it follows from the keys.
        list_dir: fn(this: *const c_void, prefix: Str, found: *mut Listing, err: *mut Buf) -> i32,
    }
}
