//! The C ABI, version 1: what crosses the boundary between a program and a library that it loads.
//!
//! `include/zarr_plugin.h` is [`header()`], and a test fails when the two differ. Names in C begin with `zarr_`.
//!
//! A struct that begins with `struct_size` may grow at its end with a minor version: a reader uses the smaller of its own
//! size and the one that it finds, and takes what lies beyond as zero; whoever fills one that the other side has made
//! goes no further than the size that it came with. Other structs never grow. A function that is NULL is not there.
//! Version 1.0 is final: what is here stays as it is, and later minor versions add to it.

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
pub use codec::{Call, Chains, CodecInstance, CodecVtable};
pub use creation::{Array, ByteOrder, Creation, Lookup, Representation, Size, Unit};
pub use data_type::{DataTypeHandle, DataTypeVtable};
pub use extension::ExtensionVtable;
pub use grid::ChunkGridVtable;
pub use key_encoding::ChunkKeyEncodingVtable;
pub use library::{Host, Item, Plugin};
pub use metadata_encoding::MetadataEncodingVtable;
pub use store::{ByteRange, Got, Listing, PartialValue, StoreHandle, StoreRequest, StoreVtable};
pub use transformer::StorageTransformerVtable;

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
