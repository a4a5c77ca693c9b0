//! Codecs in WebAssembly: plugins that need not be trusted to leave the machine alone.
//!
//! A program that links this crate opens libraries for the platform `wasm32` beside those of its machine: the same
//! manifests with `[library.wasm32]`, the same search, lock file and quarantine, the same entry `zarr_plugin_v2` and the
//! same structs, in which pointers and `size_t` have 4 bytes. A plugin in C is compiled from the same source:
//!
//! ```text
//! clang --target=wasm32 -O2 -nostdlib -I include \
//!     -Wl,--no-entry,--export=zarr_plugin_v2,--export-table,--growable-table -o runs.wasm runs.c
//! ```
//!
//! It is run by an interpreter, which takes several times as long as the machine would.
//!
//! # What a guest can do
//!
//! Compute. A module that imports anything is refused, so that it has no file, no clock, no network and no thread. What a
//! codec does not say truthfully about a chunk is as wrong as with any other codec, and so a policy that asks for trust asks
//! for it here as well.
//!
//! - Memory of its own: [`GUEST_MEMORY`] and [`MEMORY_PER_BYTE`] times the bytes that the call has been given. `memory.grow`
//!   fails beyond that.
//! - Results: a chunk as large as it is; what is encoded, [`GUEST_MEMORY`] and [`ENCODED_PER_BYTE`] times the chunk at most.
//! - Time: each call has [`FUEL_PER_CALL`] units of fuel and [`FUEL_PER_BYTE`] for each byte that it is given, to read from or
//!   to write to. An instruction takes one, a call of a function [`FUEL_OF_A_CALL`].
//! - Calls within calls: as deep as 1000, and 256 KiB of values.
//! - A module of at most [`MAX_MODULE`] bytes.
//!
//! A guest that traps is thrown away, and the chunk is an error; the next chunk begins with a new one.
//!
//! # What a host does
//!
//! An instance of the module serves one thread at a time; a codec keeps as many as were needed at once, each with what its own
//! `create` made. `destroy` is not called: an instance goes as a whole.
//!
//! What a guest is shown lies in pages that the host has added to the guest's memory for itself, so that a guest needs no
//! allocator. They grow to the largest chunk and are used again. The functions that structs point to (`reserve`, `warn`) are put
//! into the guest's table of functions, which is why it has to be exported and able to grow. All addresses and lengths that
//! come back are looked up in the guest's memory; of a `zarr_output`, `len` alone is read, as elsewhere.
//!
//! `_initialize` is called first where a module exports it. There is no `log`, no `get_interface`, and of a data type what
//! `zarr_array` has in numbers: its functions are NULL. An array-to-array codec keeps the data type. Codecs with chains
//! of their own, and other items than codecs, are left out.
#![cfg(all(target_os = "linux", target_endian = "little"))]

mod codec;
mod entry;
mod failure;
mod guest;
mod host;
mod library;
mod shown;

/// Bytes of memory that a guest may have for itself, whatever it is called with.
pub const GUEST_MEMORY: usize = 48 << 20;

/// Bytes more for each byte that a call is given.
pub const MEMORY_PER_BYTE: usize = 4;

/// Bytes that may come out for each byte that is encoded, besides [`GUEST_MEMORY`].
pub const ENCODED_PER_BYTE: usize = 16;

/// Units of fuel that each call has, whatever it is called with.
pub const FUEL_PER_CALL: u64 = 100_000_000;

/// Units more for each byte that a call is given.
pub const FUEL_PER_BYTE: u64 = 1000;

/// Units that a call from function to function takes: it may have to clear many local variables.
pub const FUEL_OF_A_CALL: u8 = 64;

/// Bytes that a module may have.
pub const MAX_MODULE: usize = 16 << 20;

zarr_spec::inventory::submit! {
    zarr_plugin::host::Runtime {
        platform: "wasm32",
        recognises: |library| library.starts_with(b"\0asm"),
        open: library::open,
    }
}
