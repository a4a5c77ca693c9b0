//! The C ABI, version 1: what crosses the boundary between a program and a library that it loads.
//!
//! `include/zarr_plugin.h` is [`header()`], and a test fails when the two differ. Names in C begin with `zarr_`.
//!
//! A struct that begins with `struct_size` may grow at its end with a minor version: a reader uses the smaller of its own
//! size and the one that it finds, and takes what lies beyond as zero; whoever fills one that the other side has made
//! goes no further than the size that it came with. Other structs never grow. A function that is NULL is not there.
//! Version 1.0 is final: what is here stays as it is, and later minor versions add to it.

pub mod describe;

use std::ffi::c_void;

use self::describe::{CType, Described, Layout, Wasm32Layout, abi_numbers, abi_struct};

/// The name of the one symbol that a library exports: a [`PluginEntry`].
pub const ENTRY_SYMBOL: &str = "zarr_plugin_v1";

/// What the symbol `zarr_plugin_v1` is.
pub type PluginEntry = unsafe extern "C" fn(host: *const Host, out: *mut *const Plugin, err: *mut Buf) -> i32;

abi_numbers! {
    /// Changes when something that was there is different. It also stands in the name of the symbol.
    ABI_MAJOR: u16 = 1;
    /// Changes when something is added.
    ABI_MINOR: u16 = 0;

    /// It worked.
    OK: i32 = 0;
    /// The configuration does not fit.
    BAD_CONFIGURATION: i32 = 1;
    /// The stored bytes are not what this extension writes: the data is at fault.
    CORRUPT: i32 = 2;
    /// More came out than may.
    LIMIT_EXCEEDED: i32 = 3;
    /// This data type, shape or place is not for this extension.
    UNSUPPORTED: i32 = 4;
    /// Input or output failed.
    IO: i32 = 5;
    /// The host asked to stop.
    CANCELLED: i32 = 6;
    /// The plugin panicked. The instance is not used again.
    PANICKED: i32 = 7;
    /// Anything else. While a codec encodes, the elements cannot be encoded; in any other call the plugin is at fault, and
    /// nothing is known about the data.
    INTERNAL: i32 = 8;

    /// Kind of item: a codec; its vtable is a zarr_codec_vtable.
    CODEC: u32 = 1;
    /// Kind of item: a data type; zarr_data_type_vtable.
    DATA_TYPE: u32 = 2;
    /// Kind of item: a chunk grid; zarr_chunk_grid_vtable.
    CHUNK_GRID: u32 = 3;
    /// Kind of item: a chunk key encoding; zarr_chunk_key_encoding_vtable.
    CHUNK_KEY_ENCODING: u32 = 4;
    /// Kind of item: a memory layout of chunks; zarr_codec_vtable, created for a number of dimensions.
    MEMORY_LAYOUT: u32 = 5;
    /// Kind of item: a metadata encoding; zarr_metadata_encoding_vtable.
    METADATA_ENCODING: u32 = 6;
    /// Kind of item: a storage transformer; zarr_storage_transformer_vtable.
    STORAGE_TRANSFORMER: u32 = 7;
    /// Kind of item: a generic extension of the draft; zarr_extension_vtable.
    GENERIC_EXTENSION: u32 = 8;
    /// Kind of item: a store; zarr_store_vtable. Its aliases are the schemes of its URLs, each with its `:`; a `:` alone
    /// stands for paths.
    STORE: u32 = 9;

    /// Format of a document: Zarr version 2.
    FORMAT_V2: u32 = 2;
    /// Format of a document: the version 3 draft of 2022.
    FORMAT_V3_DRAFT: u32 = 30;
    /// Format of a document: final version 3.
    FORMAT_V3: u32 = 3;

    /// Reading mode: what a text forbids is an error.
    MODE_STRICT: u32 = 0;
    /// Reading mode: harmless forms that real writers emit are read with a warning.
    MODE_LENIENT: u32 = 1;
    /// Reading mode: as lenient, and neighbouring generations of the draft open, too.
    MODE_COMPATIBILITY: u32 = 2;

    /// What a codec is created for: an array.
    FOR_ARRAY: u32 = 0;
    /// What a codec is created for: bytes.
    FOR_BYTES: u32 = 1;
    /// What a memory layout is created for: chunks with so many dimensions.
    FOR_RANK: u32 = 2;

    /// Kind of size: it depends on the elements.
    SIZE_UNKNOWN: u32 = 0;
    /// Kind of size: always this many bytes.
    SIZE_EXACT: u32 = 1;
    /// Kind of size: never more than this many bytes.
    SIZE_AT_MOST: u32 = 2;

    /// Form of a codec: all of it is in `value`.
    FORM_VALUE: u32 = 0;
    /// Form of a codec: array to array.
    FORM_ARRAY_TO_ARRAY: u32 = 1;
    /// Form of a codec: array to bytes.
    FORM_ARRAY_TO_BYTES: u32 = 2;
    /// Form of a codec: bytes to bytes.
    FORM_BYTES_TO_BYTES: u32 = 3;
    /// Form of a codec: the same bytes and a checksum beside them.
    FORM_CHECKSUM: u32 = 4;
    /// Form of a codec: array to bytes, by chains of its own that the host runs.
    FORM_COMPOSITE: u32 = 5;
    /// Form of a codec: array to bytes, a shard; see `value`.
    FORM_SHARD: u32 = 6;

    /// Order of bytes: least significant first.
    LITTLE_ENDIAN: u32 = 0;
    /// Order of bytes: most significant first.
    BIG_ENDIAN: u32 = 1;
    /// Order of bytes: each field has its own.
    MIXED_ENDIAN: u32 = 2;

    /// Kind of byte range: all of a value.
    RANGE_FULL: u32 = 0;
    /// Kind of byte range: `size` bytes from `offset`, as many of them as exist.
    RANGE_PART: u32 = 1;
    /// Kind of byte range: everything from `offset` on.
    RANGE_FROM: u32 = 2;
    /// Kind of byte range: `size` bytes at the end, as many of them as exist.
    RANGE_LAST: u32 = 3;

    /// Flag of a request to a store: its bytes need not be kept in memory by a store that does such things.
    GET_ONCE: u32 = 1;

    /// Kind of element: bytes that no number is known to be in.
    KIND_OPAQUE: u32 = 0;
    /// Kind of element: one byte, 0 or 1.
    KIND_BOOL: u32 = 1;
    /// Kind of element: an integer in two's complement.
    KIND_INT: u32 = 2;
    /// Kind of element: an unsigned integer.
    KIND_UINT: u32 = 3;
    /// Kind of element: an IEEE 754 float of 2, 4 or 8 bytes.
    KIND_FLOAT: u32 = 4;
    /// Kind of element: the upper half of a float of 4 bytes.
    KIND_BFLOAT: u32 = 5;
    /// Kind of element: two floats of half the size.
    KIND_COMPLEX: u32 = 6;
}

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

abi_struct! {
    /// A chunk key encoding.
    ChunkKeyEncodingVtable = "zarr_chunk_key_encoding_vtable" {
        struct_size: usize,
        create: fn(context: *const c_void, creation: *const Creation, this: *mut *mut c_void, err: *mut Buf) -> i32,
        destroy: fn(this: *mut c_void),
        /// The last part of the key of the chunk at `index`.
        encode: fn(this: *const c_void, index: *const u64, rank: usize, key: *mut Output, err: *mut Buf) -> i32,
        /// The chunk that a key names. `found` is left 0 if it is no key of a chunk.
        decode: fn(this: *const c_void, key: Str, index: *mut u64, rank: usize, found: *mut u32, err: *mut Buf) -> i32,
    }
}

abi_struct! {
    /// A metadata encoding of the draft. Documents cross as JSON, in which the numbers NaN, Infinity and -Infinity may stand.
    MetadataEncodingVtable = "zarr_metadata_encoding_vtable" {
        struct_size: usize,
        /// `key_suffix` is what keys of documents end in.
        create: fn(context: *const c_void, creation: *const Creation, this: *mut *mut c_void, key_suffix: *mut Buf, err: *mut Buf) -> i32,
        destroy: fn(this: *mut c_void),
        decode: fn(this: *const c_void, bytes: Str, reading: *const Creation, json: *mut Buf, err: *mut Buf) -> i32,
        encode: fn(this: *const c_void, json: Str, bytes: *mut Buf, err: *mut Buf) -> i32,
    }
}

abi_struct! {
    /// A chunk grid, made for an array of a shape.
    ChunkGridVtable = "zarr_chunk_grid_vtable" {
        struct_size: usize,
        /// `json` is `{"grid_shape": [3, 2], "largest_chunk": [10, 10], "chunk_shape": [10, 10]}`; `chunk_shape` is left out
        /// where chunks differ. In a grid that begins before the array, `"before_array": [4, 0]` has how many elements of the
        /// first chunk along each dimension lie there.
        create: fn(context: *const c_void, creation: *const Creation, shape: *const u64, rank: usize, this: *mut *mut c_void, json: *mut Buf, err: *mut Buf) -> i32,
        destroy: fn(this: *mut c_void),
        /// The elements of a chunk along a dimension: from `start` up to `end`, which may lie beyond the array.
        chunk_range: fn(this: *const c_void, dimension: usize, chunk: u64, start: *mut u64, end: *mut u64, err: *mut Buf) -> i32,
        /// The chunk that holds an element along a dimension.
        chunk_of: fn(this: *const c_void, dimension: usize, element: u64, chunk: *mut u64, err: *mut Buf) -> i32,
        /// What stands in keys for a chunk along a dimension. NULL: its number.
        key_index: fn(this: *const c_void, dimension: usize, chunk: u64, key_index: *mut u64, err: *mut Buf) -> i32,
        /// The chunk that an index in keys stands for; `found` is left 0 if there is none. NULL: as `key_index`.
        chunk_of_key: fn(this: *const c_void, dimension: usize, key_index: u64, chunk: *mut u64, found: *mut u32, err: *mut Buf) -> i32,
        /// The configuration of the same grid for an array that begins `start` elements later per dimension (earlier, where
        /// that is negative), so that no chunk moves. It is left empty if there is none. NULL: there never is.
        moved: fn(this: *const c_void, start: *const i64, rank: usize, configuration_json: *mut Buf, err: *mut Buf) -> i32,
    }
}

abi_struct! {
    /// A generic extension of the draft.
    ExtensionVtable = "zarr_extension_vtable" {
        struct_size: usize,
        /// `is_array` is 0 in the entry point of a hierarchy; in an array, `shape` is that of the array. `json` is
        /// `{"dimension_names": ["y", null], "node_index": "meta/index"}`, with what the extension brings.
        create: fn(context: *const c_void, creation: *const Creation, is_array: u32, shape: *const u64, rank: usize, json: *mut Buf, err: *mut Buf) -> i32,
    }
}

abi_struct! {
    /// A storage transformer, made for an array of a shape.
    StorageTransformerVtable = "zarr_storage_transformer_vtable" {
        struct_size: usize,
        /// `shard_json` is left empty by a transformer that wraps a store. One that puts chunks together in the draft's form of
        /// shards says `{"chunks_per_shard": [2, 2]}` and leaves `self` NULL: the host does the rest.
        create: fn(context: *const c_void, creation: *const Creation, shape: *const u64, rank: usize, this: *mut *mut c_void, shard_json: *mut Buf, err: *mut Buf) -> i32,
        destroy: fn(this: *mut c_void),
        /// The store that an array uses instead of `next`, which the plugin owns from the call on, whatever it returns.
        /// `array` is what the keys of its chunks begin with; other keys pass untouched.
        wrap: fn(this: *const c_void, next: *const StoreHandle, array: Str, wrapped: *mut StoreHandle, err: *mut Buf) -> i32,
    }
}

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

abi_struct! {
    /// One extension that a library has.
    Item = "zarr_item" {
        struct_size: usize,
        /// ZARR_CODEC and so on: what `vtable` points to.
        kind: u32,
        reserved: u32,
        /// Handed to `create`.
        context: *const c_void,
        /// The identifier in the v3 draft; none where it is empty.
        uri: Str,
        /// The name in final v3.
        name: Str,
        /// The id in v2.
        id: Str,
        /// Further names and URIs that are read and never written.
        aliases: *const Str,
        n_aliases: usize,
        /// One sentence: what it does.
        summary: Str,
        /// Uses of it: `[{"format": "v3", "document": {...}, "data_types": [], "shape": [], "loss": null}]`. `loss` is null,
        /// "unbounded", `{"absolute": 0.5}` or `{"relative": 0.001}`.
        examples_json: Str,
        vtable: *const c_void,
        /// The JSON Schema (draft 2020-12) of its configuration in each format, where it says one:
        /// `{"v3": {"type": "object", "properties": {"level": {"type": "integer"}}}}`.
        configuration_schema_json: Str,
    }
}

abi_struct! {
    /// All that a library has. It stays as long as the library does, which is never unloaded.
    Plugin = "zarr_plugin" {
        struct_size: usize,
        abi_major: u16,
        abi_minor: u16,
        reserved: u32,
        name: Str,
        /// MAJOR.MINOR.PATCH, as Semantic Versioning has it.
        version: Str,
        license: Str,
        /// What it was built with.
        build: Str,
        items: *const *const Item,
        n_items: usize,
    }
}

abi_struct! {
    /// The program that loads a library. It stays as long as the program. Its functions may be called at any time, by many
    /// threads at the same time.
    Host = "zarr_host" {
        struct_size: usize,
        abi_major: u16,
        abi_minor: u16,
        reserved: u32,
        context: *mut c_void,
        /// A message for whoever runs the program: `level` is 1 for an error, 2 for a warning, 3 for information. NULL if
        /// nobody listens.
        log: fn(context: *mut c_void, level: i32, message: Str),
        /// Services of later versions. NULL if there are none.
        get_interface: fn(context: *mut c_void, id: Str) -> *const c_void,
    }
}

/// Calls a macro with every struct, in the order of the header.
macro_rules! all_structs {
    ($what:ident) => {
        [
            Str::$what(),
            Buf::$what(),
            Output::$what(),
            Size::$what(),
            Unit::$what(),
            ByteOrder::$what(),
            Array::$what(),
            Creation::$what(),
            Lookup::$what(),
            Representation::$what(),
            Call::$what(),
            Chains::$what(),
            CodecInstance::$what(),
            CodecVtable::$what(),
            DataTypeHandle::$what(),
            DataTypeVtable::$what(),
            ChunkGridVtable::$what(),
            ChunkKeyEncodingVtable::$what(),
            MetadataEncodingVtable::$what(),
            ExtensionVtable::$what(),
            StorageTransformerVtable::$what(),
            StoreHandle::$what(),
            ByteRange::$what(),
            StoreRequest::$what(),
            Got::$what(),
            PartialValue::$what(),
            Listing::$what(),
            StoreVtable::$what(),
            Item::$what(),
            Plugin::$what(),
            Host::$what(),
        ]
    };
}

/// How every struct lies in the memory of this machine.
#[must_use]
pub fn layouts() -> Vec<Layout> {
    all_structs!(layout).into()
}

/// How every struct lies in the memory of WebAssembly.
#[must_use]
pub fn wasm32_layouts() -> Vec<Wasm32Layout> {
    all_structs!(wasm32).into()
}

/// The text of `zarr_plugin.h`.
#[must_use]
pub fn header() -> String {
    let mut text = String::from(
        "/* The plugin ABI of zarr-kit, version 1. Generated from zarr-plugin/src/abi.rs: do not edit.\n *\n \
         * A library exports one symbol, zarr_plugin_v1, which may be called more than once, also by several hosts.\n *\n \
         * Growth: a struct that begins with struct_size may get more members at its end: whoever makes one says its\n \
         * size, and whoever reads one takes members beyond that as zero. Other structs never grow. Objects in JSON may\n \
         * get more members, too: one that is not known is passed over, but for the `value` of a codec, which is refused.\n \
         * Members that are called reserved are 0 and are not looked at; so are flags that a version does not have. A\n \
         * status that is not known is taken as ZARR_INTERNAL.\n *\n \
         * Threads: all functions may be called by many threads at the same time, also `create` and `open`; `destroy`,\n \
         * `release` and `end` once for what they end, on any thread, when no other call uses it. What is lent for a\n \
         * call is not touched after it.\n *\n \
         * Memory: elements and bytes that are lent need not be aligned. A function that fails leaves nothing behind that\n \
         * somebody would have to end, but for the text in `err`. No function may unwind or jump out of its call. */\n\
         #ifndef ZARR_PLUGIN_H\n#define ZARR_PLUGIN_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n\
         #ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
    );
    text += &numbers();
    text.push('\n');
    for layout in layouts() {
        text += &format!("typedef struct {0} {0};\n", layout.name);
    }
    for definition in all_structs!(definition) {
        text.push('\n');
        text += &definition;
    }
    text += "\n/* Returns a zarr_status; `out` is left pointing to what the library has. */\n\
             #ifdef _WIN32\n__declspec(dllexport)\n#else\n__attribute__((visibility(\"default\")))\n#endif\n\
             int32_t zarr_plugin_v1(const zarr_host *host, const zarr_plugin **out, zarr_buf *err);\n\n\
             #ifdef __cplusplus\n}\n#endif\n\n#endif\n";
    text
}
