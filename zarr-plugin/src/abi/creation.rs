//! The input of the functions that create extensions: arrays, documents and lookups.

use std::ffi::c_void;

use super::describe::{self, CType, Described, Layout, abi_struct};
use super::{Buf, CodecInstance, DataTypeHandle, DataTypeVtable, Str};

abi_struct! {
    /// A size in bytes. `kind` is ZARR_SIZE_EXACT or another ZARR_SIZE number.
    Size = "zarr_size" {
        bytes: u64,
        kind: u32,
        reserved: u32,
    }
}

abi_struct! {
    /// A number of more than one byte inside an element.
    Unit = "zarr_unit" {
        /// The offset of the number in the element, in bytes.
        offset: usize,
        /// The size of the number in bytes.
        size: usize,
    }
}

abi_struct! {
    /// The byte order of stored numbers. `order` is ZARR_LITTLE_ENDIAN, ZARR_BIG_ENDIAN or ZARR_MIXED_ENDIAN.
    ByteOrder = "zarr_byte_order" {
        order: u32,
        /// For ZARR_MIXED_ENDIAN: the number of units in an element.
        n_units: u32,
        /// For ZARR_MIXED_ENDIAN: for each unit, 1 if it is big endian and 0 otherwise.
        big_endian: *const u8,
    }
}

abi_struct! {
    /// An array without its elements. The elements are in C order and in the byte order of the machine.
    /// Elements of variable size are n + 1 offsets, each a uint64_t and the first one 0, followed by the
    /// payload that the offsets refer to.
    Array = "zarr_array" {
        struct_size: usize,
        /// The name of the data type in messages. Two types are equal if their names are.
        data_type_name: Str,
        /// The size of an element in bytes; 0 for elements of variable size.
        element_size: usize,
        /// 1 for elements of variable size, 0 otherwise.
        is_variable: u32,
        reserved: u32,
        /// ZARR_KIND_INT or another ZARR_KIND number.
        kind: u32,
        /// The size of the numbers that an element consists of, in bytes. 0: see `units`.
        unit_size: u32,
        units: *const Unit,
        n_units: usize,
        byte_order: ByteOrder,
        /// The bytes of one element, in the byte order of the machine.
        fill_value: Str,
        /// The number of dimensions.
        rank: usize,
        /// The number of elements in each dimension.
        shape: *const u64,
        /// The functions of the data type.
        data_type_vtable: *const DataTypeVtable,
        /// Passed to the functions of the data type.
        data_type: *const c_void,
    }
}

abi_struct! {
    /// An entry of a metadata document that names an extension.
    Creation = "zarr_creation" {
        struct_size: usize,
        /// ZARR_FORMAT_V3 or another ZARR_FORMAT number.
        format: u32,
        /// ZARR_MODE_LENIENT or another ZARR_MODE number.
        mode: u32,
        /// The identifier in the document.
        identifier: Str,
        /// The configuration; `null` if there is none. In v2, it is the object without its `id`. The text has no white
        /// space between its parts. Members are in the order of the document, and numbers have the text that the
        /// document has.
        configuration_json: Str,
        /// The member `type` of an extension in the draft; `null` if there is none.
        type_name_json: Str,
        /// The largest size of a document in bytes.
        document_size: usize,
        /// Reports something that is not an error but that a user should know. It may be called during this call.
        warn: fn(context: *mut c_void, message: Str),
        warn_context: *mut c_void,
        /// Finds extensions of the host during this call. NULL if nothing can be looked up.
        lookup: *const Lookup,
    }
}

abi_struct! {
    /// Creates codecs and data types of the host for a plugin that does not have them itself. The argument `creation`
    /// names the extension; its member `lookup` is NULL.
    Lookup = "zarr_lookup" {
        struct_size: usize,
        context: *mut c_void,
        /// Creates a codec for `decoded`, the output of the preceding codecs. The plugin owns the codec, also after the
        /// call. `out` is filled as by `create` of a codec, and has a `vtable`.
        codec: fn(context: *mut c_void, creation: *const Creation, decoded: *const Representation, out: *mut CodecInstance, err: *mut Buf) -> i32,
        /// Returns the entry of a codec in documents of `format`: `{"identifier": "zstd", "configuration": {"level":
        /// 3}}`.
        translate: fn(context: *mut c_void, creation: *const Creation, decoded: *const Representation, format: u32, document_json: *mut Buf, err: *mut Buf) -> i32,
        /// Creates a data type, which the plugin releases. `byte_order_json` is as from `create` of a data type.
        data_type: fn(context: *mut c_void, creation: *const Creation, data_type: *mut DataTypeHandle, byte_order_json: *mut Buf, err: *mut Buf) -> i32,
    }
}

abi_struct! {
    /// The input of a codec.
    Representation = "zarr_representation" {
        struct_size: usize,
        /// ZARR_FOR_ARRAY, ZARR_FOR_BYTES or ZARR_FOR_RANK.
        kind: u32,
        /// For ZARR_FOR_RANK: the number of dimensions.
        rank: u32,
        /// For ZARR_FOR_BYTES: the size of the bytes.
        size: Size,
        /// For ZARR_FOR_ARRAY: the array.
        array: *const Array,
    }
}
