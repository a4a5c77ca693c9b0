//! What a constructor of an extension is given: arrays, documents, and where others are looked up.

use std::ffi::c_void;

use super::describe::{self, CType, Described, Layout, abi_struct};
use super::{Buf, CodecInstance, DataTypeHandle, DataTypeVtable, Str};

abi_struct! {
    /// How many bytes there are, as far as it is known: ZARR_SIZE_EXACT and so on.
    Size = "zarr_size" {
        bytes: u64,
        kind: u32,
        reserved: u32,
    }
}

abi_struct! {
    /// A number of more than one byte inside an element.
    Unit = "zarr_unit" {
        /// Bytes from the start of the element.
        offset: usize,
        /// Bytes of the number.
        size: usize,
    }
}

abi_struct! {
    /// In which order numbers are stored: ZARR_LITTLE_ENDIAN and so on.
    ByteOrder = "zarr_byte_order" {
        order: u32,
        /// For ZARR_MIXED_ENDIAN: how many units an element has,
        n_units: u32,
        /// and for each of them 1 if it is big endian, else 0.
        big_endian: *const u8,
    }
}

abi_struct! {
    /// An array of elements, but not the elements. Those are in C order and the machine's byte order. Elements of
    /// variable size are n + 1 offsets, each a uint64_t, the first one 0, then the payload that they point into.
    Array = "zarr_array" {
        struct_size: usize,
        /// What messages call the type. Two types are equal when their names are.
        data_type_name: Str,
        /// Bytes of one element, where all have the same.
        element_size: usize,
        /// 1 where elements are of variable size, else 0.
        is_variable: u32,
        reserved: u32,
        /// ZARR_KIND_INT and so on.
        kind: u32,
        /// Elements are numbers of this many bytes. 0: see `units`.
        unit_size: u32,
        units: *const Unit,
        n_units: usize,
        byte_order: ByteOrder,
        /// The bytes of one element, in the machine's byte order.
        fill_value: Str,
        /// How many dimensions there are,
        rank: usize,
        /// and how many elements in each.
        shape: *const u64,
        /// More about the type: functions,
        data_type_vtable: *const DataTypeVtable,
        /// and what they are called with.
        data_type: *const c_void,
    }
}

abi_struct! {
    /// An entry of a metadata document that names an extension.
    Creation = "zarr_creation" {
        struct_size: usize,
        /// ZARR_FORMAT_V3 and so on.
        format: u32,
        /// ZARR_MODE_LENIENT and so on.
        mode: u32,
        /// As the document has it.
        identifier: Str,
        /// The configuration, `null` if there is none. In v2, the object without its `id`. It is written without white space
        /// between its parts; members are in the order of the document, numbers as the document writes them.
        configuration_json: Str,
        /// The draft's `type` of an extension, `null` if there is none.
        type_name_json: Str,
        /// Bytes that a document may have.
        document_size: usize,
        /// Says something that a user should know and that is no error, during this call.
        warn: fn(context: *mut c_void, message: Str),
        warn_context: *mut c_void,
        /// What the host has, to be looked up during this call. NULL if nothing is.
        lookup: *const Lookup,
    }
}

abi_struct! {
    /// What a plugin may look up in its host: codecs and data types that it does not have itself. `creation` names them and
    /// has no `lookup` of its own.
    Lookup = "zarr_lookup" {
        struct_size: usize,
        context: *mut c_void,
        /// A codec for what the codecs before it leave. It belongs to the plugin, also after the call, and is filled in as
        /// by `create` of a codec, with its `vtable`.
        codec: fn(context: *mut c_void, creation: *const Creation, decoded: *const Representation, out: *mut CodecInstance, err: *mut Buf) -> i32,
        /// What documents of `format` call a codec: `{"identifier": "zstd", "configuration": {"level": 3}}`.
        translate: fn(context: *mut c_void, creation: *const Creation, decoded: *const Representation, format: u32, document_json: *mut Buf, err: *mut Buf) -> i32,
        /// A data type, which the plugin releases; `byte_order_json` as from `create` of a data type.
        data_type: fn(context: *mut c_void, creation: *const Creation, data_type: *mut DataTypeHandle, byte_order_json: *mut Buf, err: *mut Buf) -> i32,
    }
}

abi_struct! {
    /// What a codec is created for, or has the size of its encoded form asked for.
    Representation = "zarr_representation" {
        struct_size: usize,
        /// ZARR_FOR_ARRAY and so on.
        kind: u32,
        /// For ZARR_FOR_RANK: how many dimensions.
        rank: u32,
        /// For ZARR_FOR_BYTES: how many.
        size: Size,
        /// For ZARR_FOR_ARRAY.
        array: *const Array,
    }
}
