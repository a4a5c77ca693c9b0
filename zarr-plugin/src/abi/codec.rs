//! Codecs and memory layouts of chunks.

use std::ffi::c_void;

use super::describe::{self, CType, Described, Layout, abi_struct};
use super::{Array, Buf, ByteRange, Creation, DataTypeHandle, Output, Representation, Size, Str};

abi_struct! {
    /// Options of a call that encodes or decodes.
    Call = "zarr_call" {
        struct_size: usize,
        /// The largest number of bytes that the call may write.
        max_out_bytes: u64,
        /// The number of threads that the call may use, including its own.
        threads: u32,
        /// Reserved for later versions.
        flags: u32,
        /// Points to a number that another thread may set to a value other than 0 at any time: the call should then
        /// return ZARR_CANCELLED. Read the number as volatile or atomic. NULL if the call cannot be cancelled.
        cancelled: *const i32,
        /// For ZARR_FORM_COMPOSITE: runs the chains of the codec.
        chains: *const Chains,
    }
}

abi_struct! {
    /// Runs the chains of a codec, on the thread of the call and one at a time. `array` is the decoded side. The shape
    /// of `array` may differ from the shape that the chain was created for.
    Chains = "zarr_chains" {
        struct_size: usize,
        context: *mut c_void,
        /// Encodes the elements of `array`.
        encode: fn(context: *mut c_void, chain: usize, array: *const Array, decoded: Str, encoded: *mut Output, err: *mut Buf) -> i32,
        /// Decodes to the elements of `array`.
        decode: fn(context: *mut c_void, chain: usize, array: *const Array, encoded: Str, decoded: *mut Output, err: *mut Buf) -> i32,
    }
}

abi_struct! {
    /// A codec, as `create` returns it.
    CodecInstance = "zarr_codec_instance" {
        struct_size: usize,
        /// ZARR_FORM_BYTES_TO_BYTES or another ZARR_FORM number.
        form: u32,
        /// For ZARR_FORM_CHECKSUM: the size of the checksum in bytes.
        checksum_size: u32,
        /// For ZARR_FORM_CHECKSUM: 1 if the checksum precedes the bytes, 0 if it follows them.
        checksum_at_start: u32,
        /// The number of chains of the codec: see `chain`. A shard has two, for inner chunks and for the index.
        n_chains: u32,
        /// Passed to the other functions. `destroy` is called unless it is NULL.
        this: *mut c_void,
        /// JSON. For ZARR_FORM_VALUE: `{"permutation": [1, 0]}` or `{"binary": "little"}`. Instead of "little",
        /// there may be "big", or a list with true for each unit that is big endian. For ZARR_FORM_SHARD:
        /// `{"inner_shape": [2, 3], "index_at_start": false}`.
        value: Buf,
        /// The functions of the codec. NULL: the codec has the functions of the vtable whose `create` made it. If `encode` of
        /// this vtable is NULL, the codec only decodes chunks like the one that it was created for.
        vtable: *const CodecVtable,
        /// For ZARR_FORM_ARRAY_TO_BYTES: 1 if the codec has `subset_ranges` and `decode_subset`.
        decodes_subsets: u32,
        reserved: u32,
    }
}

abi_struct! {
    /// A part of the encoded bytes of an array.
    EncodedRange = "zarr_encoded_range" {
        offset: u64,
        bytes: Str,
    }
}

abi_struct! {
    /// A subset of an array, and the encoded bytes that its codec requested.
    EncodedSubset = "zarr_encoded_subset" {
        struct_size: usize,
        /// The first element, per dimension.
        start: *const u64,
        /// The number of elements, per dimension.
        shape: *const u64,
        /// The encoded bytes in the range that `index_range` returned.
        index: Str,
        /// Encoded bytes in ascending order, which include every range that `subset_ranges` returned.
        ranges: *const EncodedRange,
        n_ranges: usize,
    }
}

abi_struct! {
    /// A codec.
    CodecVtable = "zarr_codec_vtable" {
        struct_size: usize,
        create: fn(context: *const c_void, creation: *const Creation, decoded: *const Representation, out: *mut CodecInstance, err: *mut Buf) -> i32,
        destroy: fn(this: *mut c_void),
        /// Array to array: describes the encoded array. `encoded_json` is `{"shape": [2, 3], "fill_value": [0,
        /// 0], "byte_order": "little"}`, with the bytes of the fill value. `byte_order` may also be a list with
        /// true for each unit that is big endian. If the data type differs, `data_type` is set to one that the
        /// host releases; otherwise it stays unchanged.
        encoded_array: fn(this: *const c_void, decoded: *const Array, encoded_json: *mut Buf, data_type: *mut DataTypeHandle, err: *mut Buf) -> i32,
        /// To bytes: returns the size of the encoded bytes.
        encoded_size: fn(this: *const c_void, decoded: *const Representation, out: *mut Size, err: *mut Buf) -> i32,
        /// `array` describes the decoded side, which has at least one element; it is NULL if the decoded side is bytes.
        /// `decoded` may be empty. If a vtable has `create` and `decode`, but `encode` is NULL, the codec only decodes:
        /// hosts do not write with it.
        encode: fn(this: *const c_void, array: *const Array, decoded: Str, call: *const Call, encoded: *mut Output, err: *mut Buf) -> i32,
        /// `array` describes the decoded side, which has at least one element; it is NULL if the decoded side is bytes.
        /// `encoded` comes from a store: it may be empty or hold any bytes.
        decode: fn(this: *const c_void, array: *const Array, encoded: Str, call: *const Call, decoded: *mut Output, err: *mut Buf) -> i32,
        /// Checksum: writes `checksum_size` bytes.
        checksum: fn(this: *const c_void, bytes: Str, checksum: *mut u8, err: *mut Buf) -> i32,
        /// Returns the configuration of the same codec in documents of `format`. NULL: the configuration is the same in
        /// every format.
        translate: fn(context: *const c_void, creation: *const Creation, decoded: *const Representation, format: u32, configuration_json: *mut Buf, err: *mut Buf) -> i32,
        /// Bytes to bytes: decodes for a host that uses only the bytes from `start` to `end` of the result. It writes
        /// as many bytes as `decode` does; bytes outside of the range may have any value. NULL: the host decodes all
        /// bytes.
        decode_range: fn(this: *const c_void, encoded: Str, start: usize, end: usize, call: *const Call, decoded: *mut Output, err: *mut Buf) -> i32,
        /// Describes a chain that the host creates and runs: its codecs, as `[{"identifier": "bytes", "configuration":
        /// {"endian": "little"}}]`, and its input, in the form that `encoded_array` returns. NULL if no codec has
        /// chains.
        chain: fn(this: *const c_void, chain: usize, codecs_json: *mut Buf, array_json: *mut Buf, data_type: *mut DataTypeHandle, err: *mut Buf) -> i32,
        /// Since 2.1. Array to bytes, if `decodes_subsets` is 1: sets `out` to the part of the encoded bytes that
        /// `subset_ranges` needs. If it needs no bytes, this function leaves `out` unchanged or is NULL.
        index_range: fn(this: *const c_void, array: *const Array, out: *mut ByteRange, err: *mut Buf) -> i32,
        /// Since 2.1. Array to bytes, if `decodes_subsets` is 1: returns the byte ranges that contain the elements of
        /// a subset, as `[[0, 8], [16, 24]]`: pairs of start and end, ascending, without overlap, and not empty.
        subset_ranges: fn(this: *const c_void, array: *const Array, start: *const u64, shape: *const u64, index: Str, ranges_json: *mut Buf, err: *mut Buf) -> i32,
        /// Since 2.1. Array to bytes, if `decodes_subsets` is 1: decodes the elements of a subset, in C order.
        decode_subset: fn(this: *const c_void, array: *const Array, encoded: *const EncodedSubset, call: *const Call, decoded: *mut Output, err: *mut Buf) -> i32,
    }
}
