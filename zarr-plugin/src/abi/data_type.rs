//! Data types.

use std::ffi::c_void;

use super::describe::{self, CType, Described, Layout, abi_struct};
use super::{Buf, ByteOrder, Creation, Str};

abi_struct! {
    /// A data type that somebody owns: `release` of the vtable ends that.
    DataTypeHandle = "zarr_data_type_handle" {
        vtable: *const DataTypeVtable,
        this: *mut c_void,
    }
}

abi_struct! {
    /// A data type: of a plugin, or of a host that hands it to a plugin. It has as many owners as `create` and `retain` have
    /// made, and each calls `release` once.
    DataTypeVtable = "zarr_data_type_vtable" {
        struct_size: usize,
        /// NULL in a type that a host hands out.
        create: fn(context: *const c_void, creation: *const Creation, this: *mut *mut c_void, byte_order_json: *mut Buf, err: *mut Buf) -> i32,
        /// The same type once more, to be released on its own.
        retain: fn(this: *const c_void) -> *mut c_void,
        release: fn(this: *mut c_void),
        /// `{"name": "float64", "size": 8, "unit_size": 8, "kind": 4, "default_fill_value": [0, 0, 0, 0, 0, 0, 0, 0],
        /// "settles": false, "may_omit_byte_order": false}`. `size` is null for a variable one; `units`, pairs of offset and
        /// size, stands in the place of `unit_size` where units differ. A structured type also has
        /// `"fields": [{"name": "x", "shape": [2], "offset": 0}]`; one whose elements may be missing has `"optional": true`.
        describe: fn(this: *const c_void, json: *mut Buf, err: *mut Buf) -> i32,
        /// As documents of a format name it: `{"identifier": "float64", "json": "float64", "configuration": null,
        /// "type": null, "fallback": []}`.
        document: fn(this: *const c_void, format: u32, order: *const ByteOrder, json: *mut Buf, err: *mut Buf) -> i32,
        /// The bytes of the element that a member `fill_value` stands for.
        fill_value: fn(this: *const c_void, fill_value_json: Str, reading: *const Creation, order: *const ByteOrder, element: *mut Buf, err: *mut Buf) -> i32,
        /// The member `fill_value` that stands for an element.
        fill_value_json: fn(this: *const c_void, element: Str, format: u32, order: *const ByteOrder, json: *mut Buf, err: *mut Buf) -> i32,
        /// An element as people read it.
        print: fn(this: *const c_void, element: Str, text: *mut Buf, err: *mut Buf) -> i32,
        /// Whether the bytes are elements, one after another, or a single one of variable size. NULL: any are.
        check: fn(this: *const c_void, elements: Str, err: *mut Buf) -> i32,
        /// Makes elements of stored bytes, in place, where several stored forms stand for one. NULL: none do.
        settle: fn(this: *const c_void, elements: *mut u8, len: usize, mode: u32, err: *mut Buf) -> i32,
        /// The type of a field, by its number, or that of the elements which are there; the caller releases it. NULL: there
        /// is none.
        inner: fn(this: *const c_void, field: usize, data_type: *mut DataTypeHandle, err: *mut Buf) -> i32,
    }
}
