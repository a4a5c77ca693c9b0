//! Codecs and memory layouts of chunks.

use std::ffi::c_void;

use super::describe::{self, CType, Described, Layout, abi_struct};
use super::{Array, Buf, Creation, DataTypeHandle, Output, Representation, Size, Str};

abi_struct! {
    /// What a host may tell about a call that encodes or decodes.
    Call = "zarr_call" {
        struct_size: usize,
        /// More may not come out.
        max_out_bytes: u64,
        /// Threads that the call may use; 1 means its own.
        threads: u32,
        /// For later versions.
        flags: u32,
        /// Not 0 once the call should end with ZARR_CANCELLED, which another thread may say at any time: it is read as a
        /// volatile or atomic number. NULL if nobody ever does.
        cancelled: *const i32,
        /// For ZARR_FORM_COMPOSITE: what runs its chains.
        chains: *const Chains,
    }
}

abi_struct! {
    /// Runs the chains of a codec, on the thread of the call and one at a time. `array` is the decoded side, and may have
    /// another shape than the array that the chain was made for.
    Chains = "zarr_chains" {
        struct_size: usize,
        context: *mut c_void,
        /// Writes what a chain encodes the elements of `array` to.
        encode: fn(context: *mut c_void, chain: usize, array: *const Array, decoded: Str, encoded: *mut Output, err: *mut Buf) -> i32,
        /// Writes the elements of `array` that a chain decodes `encoded` to.
        decode: fn(context: *mut c_void, chain: usize, array: *const Array, encoded: Str, decoded: *mut Output, err: *mut Buf) -> i32,
    }
}

abi_struct! {
    /// What `create` of a codec leaves.
    CodecInstance = "zarr_codec_instance" {
        struct_size: usize,
        /// ZARR_FORM_BYTES_TO_BYTES and so on.
        form: u32,
        /// For ZARR_FORM_CHECKSUM: bytes of the checksum,
        checksum_size: u32,
        /// and whether it stands before the bytes.
        checksum_at_start: u32,
        /// How many chains it has: see `chain`. A shard has two, one for inner chunks and one for the index.
        n_chains: u32,
        /// What the other functions are called with; `destroy` is called unless it is NULL.
        this: *mut c_void,
        /// For ZARR_FORM_VALUE, JSON: `{"permutation": [1, 0]}`, or `{"binary": "little"}`, where "big" or a list may stand,
        /// with true for each unit that is big endian. For ZARR_FORM_SHARD: `{"inner_shape": [2, 3], "index_at_start": false}`.
        value: Buf,
        /// Where its functions are. NULL: where `create` is.
        vtable: *const CodecVtable,
    }
}

abi_struct! {
    /// A codec.
    CodecVtable = "zarr_codec_vtable" {
        struct_size: usize,
        create: fn(context: *const c_void, creation: *const Creation, decoded: *const Representation, out: *mut CodecInstance, err: *mut Buf) -> i32,
        destroy: fn(this: *mut c_void),
        /// Array to array: what the encoded array is. `encoded_json` is
        /// `{"shape": [2, 3], "fill_value": [0, 0], "byte_order": "little"}` with the bytes of the fill value; `byte_order`
        /// may also be a list with true for each unit that is big endian. Left alone, the data type stays the same;
        /// otherwise `data_type` is one that the host releases.
        encoded_array: fn(this: *const c_void, decoded: *const Array, encoded_json: *mut Buf, data_type: *mut DataTypeHandle, err: *mut Buf) -> i32,
        /// To bytes: how many bytes come out.
        encoded_size: fn(this: *const c_void, decoded: *const Representation, out: *mut Size, err: *mut Buf) -> i32,
        /// `array` is the decoded side, which has at least one element; NULL for bytes. There may be 0 bytes.
        encode: fn(this: *const c_void, array: *const Array, decoded: Str, call: *const Call, encoded: *mut Output, err: *mut Buf) -> i32,
        /// `array` is the decoded side, which has at least one element; NULL for bytes. `encoded` is what a store has: any bytes,
        /// 0 of them too.
        decode: fn(this: *const c_void, array: *const Array, encoded: Str, call: *const Call, decoded: *mut Output, err: *mut Buf) -> i32,
        /// Checksum: writes `checksum_size` bytes.
        checksum: fn(this: *const c_void, bytes: Str, checksum: *mut u8, err: *mut Buf) -> i32,
        /// The configuration that another format has. NULL: the same.
        translate: fn(context: *const c_void, creation: *const Creation, decoded: *const Representation, format: u32, configuration_json: *mut Buf, err: *mut Buf) -> i32,
        /// Bytes to bytes, for a host that looks at the bytes from `start` to `end` of what is decoded alone: as many are
        /// written as by `decode`, and the others may be anything. NULL: all are decoded.
        decode_range: fn(this: *const c_void, encoded: Str, start: usize, end: usize, call: *const Call, decoded: *mut Output, err: *mut Buf) -> i32,
        /// A chain that the host makes and runs: `[{"identifier": "bytes", "configuration": {"endian": "little"}}]`, and the
        /// array that it is made for, as `encoded_array` has it. NULL where no codec has chains.
        chain: fn(this: *const c_void, chain: usize, codecs_json: *mut Buf, array_json: *mut Buf, data_type: *mut DataTypeHandle, err: *mut Buf) -> i32,
    }
}
