//! The contents of a library, and the program that loads it.

use std::ffi::c_void;

use super::Str;
use super::describe::{self, CType, Described, Layout, abi_struct};

abi_struct! {
    /// An extension of a library.
    Item = "zarr_item" {
        struct_size: usize,
        /// ZARR_CODEC or another kind of item: the type of `vtable`.
        kind: u32,
        reserved: u32,
        /// Passed to `create`.
        context: *const c_void,
        /// The identifier in the v3 draft; empty if there is none.
        uri: Str,
        /// The name in final v3; empty if there is none.
        name: Str,
        /// The id in v2; empty if there is none.
        id: Str,
        /// Further names and URIs, which are read and never written.
        aliases: *const Str,
        n_aliases: usize,
        /// The purpose of the extension, in one sentence.
        summary: Str,
        /// Examples: `[{"format": "v3", "document": {...}, "data_types": [], "shape": [], "loss": null}]`.
        /// `loss` is null, "unbounded", `{"absolute": 0.5}` or `{"relative": 0.001}`.
        examples_json: Str,
        vtable: *const c_void,
        /// The JSON Schemas (draft 2020-12) of the configuration, for each format that has one:
        /// `{"v3": {"type": "object", "properties": {"level": {"type": "integer"}}}}`.
        configuration_schema_json: Str,
    }
}

abi_struct! {
    /// The contents of a library. They stay valid as long as the library, which is never unloaded.
    Plugin = "zarr_plugin" {
        struct_size: usize,
        abi_major: u16,
        abi_minor: u16,
        reserved: u32,
        name: Str,
        /// MAJOR.MINOR.PATCH, as in Semantic Versioning.
        version: Str,
        license: Str,
        /// The compiler or program that built the library.
        build: Str,
        items: *const *const Item,
        n_items: usize,
    }
}

abi_struct! {
    /// The program that loads a library. It stays valid as long as the program runs. Its functions may be
    /// called at any time and by many threads at the same time.
    Host = "zarr_host" {
        struct_size: usize,
        abi_major: u16,
        abi_minor: u16,
        reserved: u32,
        context: *mut c_void,
        /// Reports a message to the user of the program: `level` is 1 for an error, 2 for a warning, 3 for
        /// information. NULL if the program does not report messages.
        log: fn(context: *mut c_void, level: i32, message: Str),
        /// Returns a service of a later version. NULL if there are none.
        get_interface: fn(context: *mut c_void, id: Str) -> *const c_void,
    }
}
