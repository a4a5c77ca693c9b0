//! What a library has, and the program that loads it.

use std::ffi::c_void;

use super::Str;
use super::describe::{self, CType, Described, Layout, abi_struct};

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
