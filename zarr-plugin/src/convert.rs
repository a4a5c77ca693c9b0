//! Conversions between Zarr's terms and the terms of the ABI, for runtimes of libraries that are not native code.

pub use crate::ffi::array::{array_of_json, size_of_shown, size_shown};
pub use crate::ffi::creation::{format_number, mode_number};
pub use crate::ffi::description::kind_number;
pub use crate::ffi::import::instance::value_codec;
#[cfg(all(feature = "host", target_os = "linux"))]
pub use crate::ffi::library::about;
pub use crate::ffi::parse;
