//! The C ABI, version 2: what is passed between a program and a library that it loads.
//!
//! `include/zarr_plugin.h` is [`header()`]; a test compares them. Names in C begin with `zarr_`.
//!
//! A struct that begins with `struct_size` may get further members at its end in a minor version. A reader uses
//! the smaller of its own size and the size that it finds, and reads members beyond that as zero. Code that
//! fills a struct of the other side writes no more than the size that the other side has set. Structs without
//! `struct_size` never change. An optional function that is NULL is absent. A table of functions, such as
//! [`StoreVtable`], gets new functions at its end.

mod bytes;
mod codec;
mod creation;
mod data_type;
pub mod describe;
mod extension;
mod grid;
mod key_encoding;
mod library;
mod metadata_encoding;
mod store;
mod transformer;

use self::describe::{Described, Layout, Wasm32Layout, abi_numbers};

pub use bytes::{Buf, Output, Str};
pub use codec::{Call, Chains, CodecInstance, CodecVtable, EncodedRange, EncodedSubset};
pub use creation::{Array, ByteOrder, Creation, Lookup, Representation, Size, Unit};
pub use data_type::{DataTypeHandle, DataTypeVtable};
pub use extension::ExtensionVtable;
pub use grid::ChunkGridVtable;
pub use key_encoding::ChunkKeyEncodingVtable;
pub use library::{Host, Item, Plugin};
pub use metadata_encoding::MetadataEncodingVtable;
pub use store::{ByteRange, GetResult, ListSink, PartialValue, StoreHandle, StoreRequest, StoreVtable};
pub use transformer::StorageTransformerVtable;

/// The name of the symbol that a library exports: a [`PluginEntry`].
pub const ENTRY_SYMBOL: &str = "zarr_plugin_v2";

/// The other major versions of the ABI, each with the name of its symbol.
pub const OTHER_ENTRY_SYMBOLS: [(u16, &str); 2] = [(1, "zarr_plugin_v1"), (3, "zarr_plugin_v3")];

/// The type of the symbol `zarr_plugin_v2`.
pub type PluginEntry = unsafe extern "C" fn(host: *const Host, out: *mut *const Plugin, err: *mut Buf) -> i32;

abi_numbers! {
    /// The major version changes when an existing part of the ABI changes. The name of the exported symbol contains it.
    ABI_MAJOR: u16 = 2;
    /// The minor version changes when something is added.
    ABI_MINOR: u16 = 4;

    /// Status: the call succeeded.
    OK: i32 = 0;
    /// Status: the configuration or the request is invalid.
    BAD_CONFIGURATION: i32 = 1;
    /// Status: the stored bytes are not valid for this extension. The data is at fault.
    CORRUPT: i32 = 2;
    /// Status: the output would be larger than its limit.
    LIMIT_EXCEEDED: i32 = 3;
    /// Status: the extension does not support this data type, shape, position or operation.
    UNSUPPORTED: i32 = 4;
    /// Status: input or output failed. Unknown statuses from 16 to 31 mean the same.
    IO: i32 = 5;
    /// Status: the host cancelled the call.
    CANCELLED: i32 = 6;
    /// Status: the plugin panicked. The host does not use the instance again.
    PANICKED: i32 = 7;
    /// Status: any other failure. From a codec that encodes, it means that the elements cannot be encoded. From any
    /// other function, it means that the plugin is at fault, and that nothing is known about the data. Unknown statuses
    /// outside of 16 to 31 mean the same.
    INTERNAL: i32 = 8;
    /// Status: a store cannot hold this key.
    INVALID_KEY: i32 = 9;
    /// Status: input or output failed because credentials are missing or do not permit the operation. Repeating
    /// it does not help.
    IO_NOT_PERMITTED: i32 = 16;
    /// Status: input or output failed because the service received too many requests. Repeat the operation
    /// later, with fewer requests in flight.
    IO_THROTTLED: i32 = 17;
    /// Status: input or output failed because no answer arrived in time. Repeating the operation may help.
    IO_TIMED_OUT: i32 = 18;
    /// Status: input or output failed because the server or the device cannot be reached.
    IO_UNREACHABLE: i32 = 19;
    /// Status, since 2.4: the stored value is damaged: the store found another checksum or size than it recorded. Other
    /// values may be intact.
    IO_DAMAGED: i32 = 20;

    /// Kind of item: a codec, with a zarr_codec_vtable.
    CODEC: u32 = 1;
    /// Kind of item: a data type, with a zarr_data_type_vtable.
    DATA_TYPE: u32 = 2;
    /// Kind of item: a chunk grid, with a zarr_chunk_grid_vtable.
    CHUNK_GRID: u32 = 3;
    /// Kind of item: a chunk key encoding, with a zarr_chunk_key_encoding_vtable.
    CHUNK_KEY_ENCODING: u32 = 4;
    /// Kind of item: a memory layout of chunks, with a zarr_codec_vtable. It is created for a number of dimensions.
    MEMORY_LAYOUT: u32 = 5;
    /// Kind of item: a metadata encoding, with a zarr_metadata_encoding_vtable.
    METADATA_ENCODING: u32 = 6;
    /// Kind of item: a storage transformer, with a zarr_storage_transformer_vtable.
    STORAGE_TRANSFORMER: u32 = 7;
    /// Kind of item: a generic extension of the draft, with a zarr_extension_vtable.
    GENERIC_EXTENSION: u32 = 8;
    /// Kind of item: a store, with a zarr_store_vtable. Its aliases are the schemes of its URLs, each followed
    /// by `:`. The alias `:` stands for paths.
    STORE: u32 = 9;

    /// Format of a document: Zarr version 2.
    FORMAT_V2: u32 = 2;
    /// Format of a document: the version 3 draft of 2022.
    FORMAT_V3_DRAFT: u32 = 30;
    /// Format of a document: final version 3.
    FORMAT_V3: u32 = 3;

    /// Reading mode: everything that the specification forbids is an error.
    MODE_STRICT: u32 = 0;
    /// Reading mode: harmless forms that existing writers produce are read with a warning.
    MODE_LENIENT: u32 = 1;
    /// Reading mode: lenient, and neighbouring generations of the draft are also read.
    MODE_COMPATIBILITY: u32 = 2;

    /// Kind of representation: an array.
    FOR_ARRAY: u32 = 0;
    /// Kind of representation: bytes.
    FOR_BYTES: u32 = 1;
    /// Kind of representation: chunks with a number of dimensions, for a memory layout.
    FOR_RANK: u32 = 2;

    /// Kind of size: it depends on the elements.
    SIZE_UNKNOWN: u32 = 0;
    /// Kind of size: exactly `bytes`.
    SIZE_EXACT: u32 = 1;
    /// Kind of size: at most `bytes`.
    SIZE_AT_MOST: u32 = 2;

    /// Form of a codec: `value` describes all of it.
    FORM_VALUE: u32 = 0;
    /// Form of a codec: array to array.
    FORM_ARRAY_TO_ARRAY: u32 = 1;
    /// Form of a codec: array to bytes.
    FORM_ARRAY_TO_BYTES: u32 = 2;
    /// Form of a codec: bytes to bytes.
    FORM_BYTES_TO_BYTES: u32 = 3;
    /// Form of a codec: bytes to bytes. It appends a checksum and leaves the bytes unchanged.
    FORM_CHECKSUM: u32 = 4;
    /// Form of a codec: array to bytes, with chains of codecs that the host runs.
    FORM_COMPOSITE: u32 = 5;
    /// Form of a codec: array to bytes, a shard that `value` describes.
    FORM_SHARD: u32 = 6;

    /// Byte order: least significant byte first.
    LITTLE_ENDIAN: u32 = 0;
    /// Byte order: most significant byte first.
    BIG_ENDIAN: u32 = 1;
    /// Byte order: each unit of an element has its own.
    MIXED_ENDIAN: u32 = 2;

    /// Kind of byte range: the whole value.
    RANGE_FULL: u32 = 0;
    /// Kind of byte range: at most `size` bytes from `offset`.
    RANGE_PART: u32 = 1;
    /// Kind of byte range: everything from `offset` to the end.
    RANGE_FROM: u32 = 2;
    /// Kind of byte range: at most `size` bytes at the end.
    RANGE_LAST: u32 = 3;

    /// Flag of a read: a cache must not retain the encoded bytes.
    GET_UNCACHED: u32 = 1;
    /// Flag of a read, since 2.2: the caller writes the value with `set_if` next. The store returns current bytes, not
    /// cached ones, and their version if it has `set_if`.
    GET_FOR_UPDATE: u32 = 2;

    /// Kind of element: bytes that are not known to be numbers.
    KIND_OPAQUE: u32 = 0;
    /// Kind of element: one byte, 0 or 1.
    KIND_BOOL: u32 = 1;
    /// Kind of element: an integer in two's complement.
    KIND_INT: u32 = 2;
    /// Kind of element: an unsigned integer.
    KIND_UINT: u32 = 3;
    /// Kind of element: an IEEE 754 float of 2, 4 or 8 bytes.
    KIND_FLOAT: u32 = 4;
    /// Kind of element: the upper half of an IEEE 754 float of 4 bytes.
    KIND_BFLOAT: u32 = 5;
    /// Kind of element: two floats, each of half the size.
    KIND_COMPLEX: u32 = 6;
}

/// Calls the function `$what` of every struct of the ABI, and returns the results in the order of the header.
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
            EncodedRange::$what(),
            EncodedSubset::$what(),
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
            GetResult::$what(),
            PartialValue::$what(),
            ListSink::$what(),
            StoreVtable::$what(),
            Item::$what(),
            Plugin::$what(),
            Host::$what(),
        ]
    };
}

/// Returns the layout of every struct on this machine.
#[must_use]
pub fn layouts() -> Vec<Layout> {
    all_structs!(layout).into()
}

/// Returns the layout of every struct in WebAssembly.
#[must_use]
pub fn wasm32_layouts() -> Vec<Wasm32Layout> {
    all_structs!(wasm32).into()
}

/// Returns the text of `zarr_plugin.h`.
#[must_use]
pub fn header() -> String {
    let mut text = String::from(HEADER_START);
    text += &numbers();
    text.push('\n');
    for layout in layouts() {
        text += &format!("typedef struct {0} {0};\n", layout.name);
    }
    for definition in all_structs!(definition) {
        text.push('\n');
        text += &definition;
    }
    text + HEADER_END
}

const HEADER_START: &str = "\
/* The plugin ABI of zarr-kit, version 2. Generated from zarr-plugin/src/abi.rs: do not edit.
 *
 * A library exports one symbol, zarr_plugin_v2. It may be called several times, also by several hosts.
 *
 * Growth: a struct that begins with struct_size may get further members at its end. The code that makes a struct
 * sets its size, and the code that reads it takes members beyond that size as zero. Other structs never change.
 * JSON objects may get further members. Unknown members are ignored, except in the `value` of a codec, which is
 * then refused. Members named `reserved` are 0 and are not read. Unknown flags are ignored. An unknown status from
 * 16 to 31 is taken as ZARR_IO, any other unknown status as ZARR_INTERNAL.
 *
 * Threads: every function may be called by several threads at the same time, unless its comment restricts it.
 * `destroy`, `release`, `end_batch` and `end_listing` are called once for each object, on any thread, when no other
 * call uses the object. Lent memory is not used after the call.
 *
 * Memory: lent elements and bytes may be unaligned. A function that fails returns nothing that the caller has to
 * release, except for the text in `err`. No function may unwind or jump out of its call. */
#ifndef ZARR_PLUGIN_H
#define ZARR_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern \"C\" {
#endif

";

const HEADER_END: &str = "
/* Sets `out` to the contents of the library and returns a status. */
#ifdef _WIN32
__declspec(dllexport)
#else
__attribute__((visibility(\"default\")))
#endif
int32_t zarr_plugin_v2(const zarr_host *host, const zarr_plugin **out, zarr_buf *err);

#ifdef __cplusplus
}
#endif

#endif
";
