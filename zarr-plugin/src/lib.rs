//! Zarr extensions in libraries that are loaded at run time through a C ABI.
//!
//! A plugin crate is written like one that a program links. Its library is another crate with `crate-type =
//! ["cdylib"]` and these lines:
//!
//! ```no_run
//! // use zarr_codec_xor as _;
//! zarr_plugin::export_plugins!();
//! # fn main() {}
//! ```
//!
//! It exports everything that the library links: codecs, memory layouts, data types, chunk grids, chunk key encodings,
//! metadata encodings, storage transformers, generic extensions and stores. `Creation::registry` of a plugin contains
//! the plugins that its library links, and then the plugins of the host. The host runs the chains of a codec. Plugins
//! in other languages need only `include/zarr_plugin.h`.
//!
//! A program loads libraries with the feature `host`, which is available on Linux: see the module `host`. A
//! plugin is code with the rights of the user of the program. Its hash identifies it but does not prove that it is
//! safe.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod abi;
pub mod convert;
mod failure;
mod ffi;
#[cfg(all(feature = "host", target_os = "linux"))]
pub mod host;

pub use failure::Failure;
#[doc(hidden)]
pub use ffi::publish::publish;

/// Exports everything that this library links as `zarr_plugin_v2`, in the root of a crate of type `cdylib`.
///
/// The plugin has the version, the license and the name of the crate. An argument gives it another name:
/// `export_plugins!("example-xor")`. The library catches panics, so that a build with `panic = "abort"` does
/// not compile.
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

        /// Describes the plugins of this library to the host that loads it.
        ///
        /// # Safety
        ///
        /// As in `zarr_plugin.h`: `out` and `err` are writable.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn zarr_plugin_v2(
            host: *const $crate::abi::Host,
            out: *mut *const $crate::abi::Plugin,
            err: *mut $crate::abi::Buf,
        ) -> i32 {
            let about = [$name, env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_LICENSE")];
            // SAFETY: this function has the same requirements.
            unsafe { $crate::publish(about, host, out, err) }
        }
    };
}
