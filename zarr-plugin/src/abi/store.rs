//! Stores.

use std::ffi::c_void;

use super::describe::{self, CType, Described, Layout, abi_struct};
use super::{Buf, Output, Str};

abi_struct! {
    /// A store and its functions. The owner calls `release` of the vtable once.
    StoreHandle = "zarr_store_handle" {
        vtable: *const StoreVtable,
        this: *mut c_void,
    }
}

abi_struct! {
    /// A part of a value. `kind` is ZARR_RANGE_PART or another ZARR_RANGE number.
    ByteRange = "zarr_byte_range" {
        offset: u64,
        size: u64,
        kind: u32,
        reserved: u32,
    }
}

abi_struct! {
    /// A request for a part of a value.
    StoreRequest = "zarr_store_request" {
        key: Str,
        range: ByteRange,
        /// The largest number of bytes that the caller accepts. The request fails with ZARR_LIMIT_EXCEEDED if
        /// there are more.
        limit: usize,
        /// The expected size of the response in bytes, which counts against the budget of the batch; 0 if unknown.
        expected: usize,
        /// ZARR_GET_UNCACHED, ZARR_GET_FOR_UPDATE, both or 0. Unknown flags are ignored.
        flags: u32,
        reserved: u32,
    }
}

abi_struct! {
    /// Receives what a read found, except for the bytes.
    GetResult = "zarr_get_result" {
        struct_size: usize,
        /// The store sets it to 1 if the key exists. A missing key is not an error.
        found: u32,
        reserved: u32,
        /// The size of the whole value in bytes.
        size: u64,
        /// Memory for the version of the value, such as an ETag. Two states of a value have different versions.
        version: *mut u8,
        /// The size of the memory at `version`, in bytes.
        version_capacity: usize,
        /// The number of bytes that the store wrote to `version`: 0 if the store has no versions or the memory is too
        /// small.
        version_len: usize,
    }
}

abi_struct! {
    /// Bytes to write into a value at an offset.
    PartialValue = "zarr_partial_value" {
        key: Str,
        offset: u64,
        bytes: Str,
    }
}

abi_struct! {
    /// Receives the keys and prefixes of a listing.
    ListSink = "zarr_list_sink" {
        struct_size: usize,
        context: *mut c_void,
        /// Adds a key if `is_prefix` is 0, and a prefix, which ends in `/`, if it is 1. After a result other
        /// than 0, the store adds nothing more and returns ZARR_OK.
        add: fn(this: *mut ListSink, is_prefix: u32, text: Str) -> i32,
    }
}

abi_struct! {
    /// A store: of a plugin, or of a host that passes it to a plugin.
    ///
    /// Functions fail with ZARR_UNSUPPORTED if the store does not have the operation, ZARR_INVALID_KEY for a
    /// key that it cannot hold, ZARR_BAD_CONFIGURATION for another invalid request, ZARR_LIMIT_EXCEEDED if
    /// there are more bytes than the caller accepts, and otherwise with ZARR_IO or a ZARR_IO number that tells
    /// programs how to react. A missing key is not an error. Functions that take a batch or a listing are called
    /// by one thread at a time.
    StoreVtable = "zarr_store_vtable" {
        struct_size: usize,
        /// Opens the store at `location`, a URL or path. If `location` is empty, opens the store of `description_json`:
        /// `{"type": "its name", ...}`. If `inside` is not NULL, it is the store that the description names as
        /// `"store": {"type": "given"}`; the plugin owns it as soon as `open` is called. Fails with ZARR_UNSUPPORTED if
        /// `location` or the member `path` is a location that the host must open: since 2.2, the host then opens it and
        /// calls `open` again with that store as `inside`. Not called, and possibly NULL, in the vtable of a store that
        /// is already open.
        open: fn(context: *const c_void, location: Str, description_json: Str, inside: *const StoreHandle, this: *mut *mut c_void, err: *mut Buf) -> i32,
        release: fn(this: *mut c_void),
        /// `{"location": "memory:", "readable": true, "writeable": true, "listable": true, "erasable": true,
        /// "max_concurrency": 0, "coalesce_gap": 0, "caches_values": false}`. `max_concurrency` is the number of
        /// concurrent requests that the store benefits from; 0 if a read does not wait. Two parts of a value are read
        /// with one request if at most `coalesce_gap` bytes lie between them. `caches_values` is true if the store
        /// retains encoded values in memory; the caller then does not need a cache of its own. Since 2.2,
        /// `"conditional_set": true` and `"conditional_erase": true` are added by a store with `set_if` and `erase_if`,
        /// and `"adapts_documents": true` by a store with `array_document`.
        describe: fn(this: *const c_void, json: *mut Buf, err: *mut Buf) -> i32,
        /// Reads as much of the range as exists. `flags` is as in zarr_store_request.
        get: fn(this: *const c_void, key: Str, range: *const ByteRange, flags: u32, to: *mut Output, result: *mut GetResult, err: *mut Buf) -> i32,
        /// Returns the size of a value in bytes and sets `found` to 1; leaves `found` 0 if the key is missing.
        /// NULL: the caller reads 0 bytes of the value.
        size: fn(this: *const c_void, key: Str, size: *mut u64, found: *mut u32, err: *mut Buf) -> i32,
        /// Begins to read parts of values. At most about `budget` bytes, but at least one request, are in flight, or
        /// fetched and not yet taken. NULL: the caller reads the parts one by one.
        begin_batch: fn(this: *const c_void, requests: *const StoreRequest, n_requests: usize, budget: usize, batch: *mut *mut c_void, err: *mut Buf) -> i32,
        /// Waits for the next response, in any order, and sets `number` to the index of its request. Sets
        /// `number` to the number of requests if all responses were taken. An error belongs to that request.
        next_response: fn(batch: *mut c_void, number: *mut usize, to: *mut Output, result: *mut GetResult, err: *mut Buf) -> i32,
        /// Ends a batch, always before the store is released. Cancels the requests whose responses were not taken.
        end_batch: fn(batch: *mut c_void),
        /// Replaces a value atomically: concurrent readers see the old value or the new one, never a mixture.
        set: fn(this: *const c_void, key: Str, value: Str, err: *mut Buf) -> i32,
        /// Writes parts of values. A value grows as needed, with zeros in gaps. NULL: the caller reads and
        /// writes whole values.
        set_partial_values: fn(this: *const c_void, values: *const PartialValue, n_values: usize, err: *mut Buf) -> i32,
        /// Removes a value. It is not an error if the key is missing.
        erase: fn(this: *const c_void, key: Str, err: *mut Buf) -> i32,
        /// Removes several values. NULL: the caller removes them one by one.
        erase_values: fn(this: *const c_void, keys: *const Str, n_keys: usize, err: *mut Buf) -> i32,
        /// Removes every value whose key begins with `prefix`. NULL: the caller lists the keys and removes them.
        erase_prefix: fn(this: *const c_void, prefix: Str, err: *mut Buf) -> i32,
        /// Begins to list the keys that begin with `prefix`, which is empty or ends in `/`. Keys that are set
        /// or erased during the listing may or may not be included; all other keys are. The caller may use the
        /// store during the listing.
        begin_listing: fn(this: *const c_void, prefix: Str, listing: *mut *mut c_void, err: *mut Buf) -> i32,
        /// Adds further keys, each once and in any order, until `add` of `keys` stops this call or there are no more. A
        /// call that adds no key ends the listing. A long listing needs no more memory than a short one.
        next_keys: fn(listing: *mut c_void, keys: *mut ListSink, err: *mut Buf) -> i32,
        /// Ends a listing, always before the store is released.
        end_listing: fn(listing: *mut c_void),
        /// Adds the keys and prefixes directly below `prefix`. Prefixes of empty folders may be among them.
        /// NULL: the caller lists all keys below `prefix`.
        list_dir: fn(this: *const c_void, prefix: Str, found: *mut ListSink, err: *mut Buf) -> i32,
        /// Since 2.2. Writes a value if the key is missing, if `version` is NULL, or if the value has this version,
        /// which a read with ZARR_GET_FOR_UPDATE returned. Otherwise writes nothing and sets `conflict` to 1.
        /// Comparing and writing are one step with respect to every other write of the key, by any program. `result`
        /// receives the new version if the store knows it. NULL: the store does not have conditional writes.
        set_if: fn(this: *const c_void, key: Str, value: Str, version: *const Str, result: *mut GetResult, conflict: *mut u32, err: *mut Buf) -> i32,
        /// Since 2.2. Removes a value if it has this version. Otherwise removes nothing and sets `conflict` to 1, also if
        /// the key is missing. NULL: the store cannot do that.
        erase_if: fn(this: *const c_void, key: Str, version: Str, conflict: *mut u32, err: *mut Buf) -> i32,
        /// Since 2.2. Takes the lock of `key` and sets `lock`. Waits first until no other caller of this function, in
        /// any process, holds the lock. Leaves `lock` NULL if the store does not have locks. The system releases the
        /// lock when the process ends. NULL: the store does not have locks.
        lock: fn(this: *const c_void, key: Str, lock: *mut *mut c_void, err: *mut Buf) -> i32,
        /// Since 2.2. Releases a lock, possibly on another thread or after the store is released.
        unlock: fn(lock: *mut c_void),
        /// Since 2.2. Makes the changes of all finished calls permanent and visible to other processes. NULL: the store
        /// does that in each call.
        commit: fn(this: *const c_void, err: *mut Buf) -> i32,
        /// Since 2.2. Fills `adapted` with the document of a new array of v3 in the form that the store can hold, or leaves
        /// it empty if the store holds `document_json` itself. The elements of both arrays are the same. Fails with
        /// ZARR_BAD_CONFIGURATION and all reasons if the store cannot hold the array. NULL: the store holds every document.
        array_document: fn(this: *const c_void, key: Str, document_json: Str, adapted: *mut Buf, err: *mut Buf) -> i32,
    }
}
