//! Objects of this side of the ABI for the other side: one table of functions for each kind.

pub(crate) mod chains;
pub(crate) mod codec;
pub(crate) mod data_type;
pub(crate) mod extension;
pub(crate) mod grid;
pub(crate) mod instance;
pub(crate) mod key_encoding;
pub(crate) mod layout;
pub(crate) mod metadata_encoding;
pub(crate) mod store;
pub(crate) mod subsets;
pub(crate) mod transformer;

use std::ffi::c_void;

use super::contained;

/// Destroys a `T`.
pub(super) unsafe extern "C" fn destroy<T>(this: *mut c_void) {
    // SAFETY: a function of the same table made `this` from a `T`, and the other side does not use `this` again.
    let held = unsafe { Box::from_raw(this.cast::<T>()) };
    contained(|| drop(held));
}

/// Returns the `T` that `this` points to.
///
/// # Safety
///
/// `this` was made from a `T`.
pub(super) unsafe fn held<'a, T>(this: *const c_void) -> &'a T {
    // SAFETY: as this function requires.
    unsafe { &*this.cast::<T>() }
}
