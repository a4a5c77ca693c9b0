//! Codecs in WebAssembly, which run untrusted code without access to the machine.
//!
//! A program that links this crate can load libraries for the platform `wasm32` in addition to native ones. They use
//! the same manifests, with `[library.wasm32]`, the same search path, lock file and quarantine, the same entry
//! function `zarr_plugin_v2` and the same structs, in which pointers and `size_t` have 4 bytes. A plugin in C is
//! compiled from the same source:
//!
//! ```text
//! clang --target=wasm32 -O2 -nostdlib -I include \
//!     -Wl,--no-entry,--export=zarr_plugin_v2,--export-table,--growable-table -o runs.wasm runs.c
//! ```
//!
//! An interpreter runs the code, which takes several times as long as native code.
//!
//! # Limits of a guest
//!
//! A guest can only compute. A module with imports is refused, so a guest cannot access files, clocks, the network or
//! threads. It can still return wrong data, as any other codec can. Therefore a policy that requires trust also
//! applies to these libraries.
//!
//! - Memory: [`GUEST_MEMORY`] bytes, plus [`MEMORY_PER_BYTE`] for each byte of the call's input and output.
//!   `memory.grow` traps beyond that.
//! - Output: when decoding, the size of the chunk; when encoding, [`GUEST_MEMORY`] bytes plus [`ENCODED_PER_BYTE`]
//!   for each byte of the chunk.
//! - Time: [`FUEL_PER_CALL`] units of fuel per call, plus [`FUEL_PER_BYTE`] for each byte of input and output. An
//!   instruction takes one unit, and a function call takes [`FUEL_OF_A_CALL`].
//! - Stack: 1000 nested calls and 256 KiB of values.
//! - Module size: [`MAX_MODULE`] bytes.
//!
//! If a guest traps, the call fails and the guest is discarded; the next chunk uses a new one.
//!
//! # The host
//!
//! An instance of the module serves one thread at a time. A codec pools its instances, and each instance has its own
//! result of `create`. `destroy` is not called, because an instance is dropped as a whole.
//!
//! Input for a guest lies in pages that the host adds to the guest's memory, so a guest does not need an allocator.
//! These pages grow to fit the largest chunk and are reused. The functions that structs point to (`reserve`, `warn`)
//! are added to the guest's function table, which must therefore be exported and growable. The host checks all
//! returned addresses and lengths against the guest's memory. From a `zarr_output` it reads only `len`, as for native
//! libraries.
//!
//! If a module exports `_initialize`, it is called first. The host functions `log` and `get_interface` are NULL, and
//! so are the functions of data types; `zarr_array` describes data types with numbers. An array-to-array codec cannot
//! change the data type. Composite codecs and items other than codecs are ignored.
#![cfg(all(target_os = "linux", target_endian = "little"))]

mod codec;
mod entry;
mod failure;
mod guest;
mod host;
mod library;
mod shown;

/// The memory of a guest in bytes, independent of the call's input.
pub const GUEST_MEMORY: usize = 48 << 20;

/// The additional memory for each byte of input and output, in bytes.
pub const MEMORY_PER_BYTE: usize = 4;

/// The maximum encoded size for each byte of input, in addition to [`GUEST_MEMORY`].
pub const ENCODED_PER_BYTE: usize = 16;

/// The fuel of a call, independent of its input.
pub const FUEL_PER_CALL: u64 = 100_000_000;

/// The additional fuel for each byte of input and output.
pub const FUEL_PER_BYTE: u64 = 1000;

/// The fuel for calling a function, which may have to clear many local variables.
pub const FUEL_OF_A_CALL: u8 = 64;

/// The maximum size of a module in bytes.
pub const MAX_MODULE: usize = 16 << 20;

zarr_spec::inventory::submit! {
    zarr_plugin::host::Runtime::new("wasm32", |library| library.starts_with(b"\0asm"), library::open)
}
