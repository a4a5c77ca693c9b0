//! Objects of the other side as implementations of the traits: extensions of a loaded library, and objects that
//! a host passes to a plugin.

mod batch;
pub(crate) mod chains;
pub(crate) mod codec;
pub(crate) mod data_type;
mod extension;
mod grid;
pub(crate) mod instance;
mod key_encoding;
mod layout;
mod listing;
mod metadata_encoding;
pub(crate) mod store;
mod subsets;
mod transformer;

use std::ffi::c_void;
use std::sync::Arc;

use zarr_spec::{Invalid, Value};

use super::{Failure, Growing, read};
use crate::abi::{self, Item};

/// An item of a library: its functions and their context.
#[derive(Debug, Clone)]
pub(crate) struct Imported<V> {
    vtable: V,
    context: *const c_void,
    /// The name in messages: "plugin example-xor 1.2.0".
    pub(crate) origin: Arc<str>,
}

// SAFETY: a library is never unloaded, and the ABI allows `create` on any thread.
unsafe impl<V: Send> Send for Imported<V> {}
// SAFETY: as above.
unsafe impl<V: Sync> Sync for Imported<V> {}

impl<V: Growing> Imported<V> {
    /// Reads the vtable of `item`.
    ///
    /// # Safety
    ///
    /// A loaded library lists `item`, and its kind has this vtable.
    pub(crate) unsafe fn new(item: &Item, origin: Arc<str>) -> Result<Self, Failure> {
        // SAFETY: as this function requires.
        let vtable = unsafe { read(item.vtable.cast::<V>()) }?;
        Ok(Self { vtable, context: item.context, origin })
    }
}

fn invalid(origin: &str, failure: &Failure) -> Invalid {
    let verb = if failure.status == abi::PANICKED { " panicked" } else { "" };
    Invalid::new(format!("{origin}{verb}: {}", failure.message))
}

fn lengths(json: &Value) -> Option<Vec<u64>> {
    json.as_array()?.iter().map(Value::as_u64).collect()
}
