//! Data types.

use std::ffi::c_void;

use super::describe::{self, CType, Described, Layout, abi_struct};
use super::{Buf, ByteOrder, Creation, Str};

abi_struct! {
    /// A data type and its functions. The owner calls `release` of the vtable once.
    DataTypeHandle = "zarr_data_type_handle" {
        vtable: *const DataTypeVtable,
        this: *mut c_void,
    }
}

abi_struct! {
    /// A data type: of a plugin, or of a host that passes it to a plugin. `create` and each `retain` make an
    /// owner, which calls `release` once.
    DataTypeVtable = "zarr_data_type_vtable" {
        struct_size: usize,
        /// Creates a type. Not called, and possibly NULL, in the vtable of a type that a host passes to a plugin.
        create: fn(context: *const c_void, creation: *const Creation, this: *mut *mut c_void, byte_order_json: *mut Buf, err: *mut Buf) -> i32,
        /// Returns the same type for a further owner.
        retain: fn(this: *const c_void) -> *mut c_void,
        release: fn(this: *mut c_void),
        /// `{"name": "float64", "size": 8, "unit_size": 8, "kind": 4, "default_fill_value": [0, 0, 0, 0, 0, 0,
        /// 0, 0], "settles": false, "may_omit_byte_order": false}`. `size` is null for elements of variable
        /// size. If the units of an element differ, `units`, a list of pairs of offset and size, replaces
        /// `unit_size`. A structured type also has `"fields": [{"name": "x", "shape": [2], "offset": 0}]`. A
        /// type whose elements may be missing has `"optional": true`.
        describe: fn(this: *const c_void, json: *mut Buf, err: *mut Buf) -> i32,
        /// Returns the type in documents of a format: `{"identifier": "float64", "json": "float64",
        /// "configuration": null, "type": null, "fallback": []}`.
        document: fn(this: *const c_void, format: u32, order: *const ByteOrder, json: *mut Buf, err: *mut Buf) -> i32,
        /// Returns the bytes of the element that the member `fill_value` of a document represents.
        fill_value: fn(this: *const c_void, fill_value_json: Str, reading: *const Creation, order: *const ByteOrder, element: *mut Buf, err: *mut Buf) -> i32,
        /// Returns the member `fill_value` of a document that represents an element.
        fill_value_json: fn(this: *const c_void, element: Str, format: u32, order: *const ByteOrder, json: *mut Buf, err: *mut Buf) -> i32,
        /// Returns an element as text for people.
        print: fn(this: *const c_void, element: Str, text: *mut Buf, err: *mut Buf) -> i32,
        /// Fails if the bytes are not valid elements: a sequence of them, or one element of variable size.
        /// NULL: all bytes are valid.
        check: fn(this: *const c_void, elements: Str, err: *mut Buf) -> i32,
        /// Replaces stored elements, in place, by their form in memory. An element may have several stored forms, but
        /// has one form in memory. NULL: each element has one stored form.
        settle: fn(this: *const c_void, elements: *mut u8, len: usize, mode: u32, err: *mut Buf) -> i32,
        /// Returns the type of a field by its index, or the type of the elements that are not missing. The
        /// caller releases it. NULL: there are no such types.
        inner: fn(this: *const c_void, field: usize, data_type: *mut DataTypeHandle, err: *mut Buf) -> i32,
    }
}
