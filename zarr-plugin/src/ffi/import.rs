//! What the other side shows, as the traits have it: what a loaded library has, and what a host lends to a plugin.

mod batch;
pub(crate) mod chains;
pub(crate) mod codec;
pub(crate) mod data_type;
mod extension;
mod grid;
pub(crate) mod instance;
mod key_encoding;
mod layout;
mod metadata_encoding;
pub(crate) mod store;
mod transformer;

use std::ffi::c_void;
use std::sync::Arc;

use zarr_spec::{Invalid, Value};

use super::{Failure, Growing, read};
use crate::abi::{self, Item};

/// One item of a library: where its functions are, and what they are called with.
#[derive(Debug, Clone)]
pub(crate) struct Imported<V> {
    vtable: V,
    context: *const c_void,
    /// "plugin example-xor 1.2.0": what messages say.
    pub(crate) origin: Arc<str>,
}

// SAFETY: a library is never unloaded, and the ABI has `create` called on any thread.
unsafe impl<V: Send> Send for Imported<V> {}
// SAFETY: as above.
unsafe impl<V: Sync> Sync for Imported<V> {}

impl<V: Growing> Imported<V> {
    /// # Safety
    ///
    /// `item` is one of a library that was loaded, and of the kind that has this vtable.
    pub(crate) unsafe fn new(item: &Item, origin: Arc<str>) -> Result<Self, Failure> {
        // SAFETY: as this function asks.
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
