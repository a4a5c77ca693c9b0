//! Zarr extensions in libraries that are loaded at run time, over a C ABI.
//!
//! A plugin crate is written as for a program that links it. A library of it is a crate of its own, with
//! `crate-type = ["cdylib"]` and these lines:
//!
//! ```no_run
//! // use zarr_codec_xor as _;
//! zarr_plugin::export_plugins!();
//! # fn main() {}
//! ```
//!
//! That exports everything that the library links: codecs, memory layouts, data types, chunk grids, chunk key encodings,
//! metadata encodings, storage transformers, generic extensions and stores. What a plugin finds in `Creation::registry` is
//! what its own library links, and then what the host has; chains inside of a codec are run by the host. In other languages,
//! `include/zarr_plugin.h` is all that is needed.
//!
//! A program loads libraries with the feature `host`, on Linux so far: see the module `host`. A plugin is code with the
//! rights of whoever runs the program; its hash says who it is, not that it is good.

pub mod abi;
mod failure;
mod ffi;
#[cfg(all(feature = "host", target_os = "linux"))]
pub mod host;

pub use failure::Failure;
#[doc(hidden)]
pub use ffi::publish::publish;

/// Exports everything that this library links, as `zarr_plugin_v2`. For the root of a crate of type `cdylib`.
///
/// Version and license of the plugin are those of that crate, and so is its name unless another one is given:
/// `export_plugins!("example-xor")`. A panic in a plugin is caught at the boundary, which
/// `panic = "abort"` would make impossible: it does not compile.
#[macro_export]
macro_rules! export_plugins {
    () => {
        $crate::export_plugins!(env!("CARGO_PKG_NAME"));
    };
    ($name:expr) => {
        #[cfg(panic = "abort")]
        compile_error!(
            "a plugin must not be built with `panic = \"abort\"`: a panic in it would end the program that loaded it"
        );

        /// The entry of the library.
        ///
        /// # Safety
        ///
        /// As `zarr_plugin.h` has it: `out` and `err` can be written to.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn zarr_plugin_v2(
            host: *const $crate::abi::Host,
            out: *mut *const $crate::abi::Plugin,
            err: *mut $crate::abi::Buf,
        ) -> i32 {
            let about = [$name, env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_LICENSE")];
            // SAFETY: this function asks the same of its caller.
            unsafe { $crate::publish(about, host, out, err) }
        }
    };
}
