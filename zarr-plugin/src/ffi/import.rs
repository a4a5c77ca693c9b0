//! Objects of the other side of the ABI as implementations of the traits: extensions of a loaded library, and objects
//! that a host passes to a plugin.

/// Calls a function of an [`Instance`](super::Instance): `call!(instance, function(arguments))`. The macro inserts the
/// object before the arguments and the buffer for a message after them.
///
/// # Safety
///
/// The arguments are as the header requires: memory that is lent for this call, and memory for the results.
macro_rules! call {
    ($instance:expr, $function:ident($($argument:expr),* $(,)?)) => {
        $instance.call(|vtable, this, err| {
            let function = $crate::ffi::required(vtable.$function, stringify!($function))?;
            // SAFETY: a function of the other side, called with its object. `call!` requires valid arguments.
            Ok(unsafe { function(this, $($argument,)* err) })
        })
    };
}

/// Calls a function as [`call!`] does. The function fills a buffer, whose bytes are returned. The macro adds the buffer
/// as the last argument.
macro_rules! fetch {
    ($instance:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        let mut filled = $crate::ffi::EMPTY;
        let called = call!($instance, $function($($argument,)* &mut filled));
        // SAFETY: the call filled the buffer.
        called.and(unsafe { $crate::ffi::take(&mut filled) })
    }};
}

/// Calls a function of an [`Imported`] item: `call_item!(item, creation, function(arguments))`. The macro inserts the
/// context and the creation before the arguments, and the buffer for a message after them. The requirements for the
/// arguments are those of [`call!`].
macro_rules! call_item {
    ($item:expr, $creation:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        let item = $item;
        $crate::ffi::required(item.vtable.$function, stringify!($function)).and_then(|function| {
            let mut err = $crate::ffi::EMPTY;
            let status = $crate::ffi::creation::show_creation($creation, |creation| {
                // SAFETY: a function of the library, called with its context. `call!` requires valid arguments.
                unsafe { function(item.context, creation, $($argument,)* &mut err) }
            });
            // SAFETY: the call filled `err`.
            unsafe { $crate::ffi::outcome(status, &mut err) }
        })
    }};
}

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
// SAFETY: as for `Send`.
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
    Invalid::new(said_by(origin, failure))
}

/// Returns the message of a failure, which begins with `origin`, the name of the plugin. A library that calls its host
/// passes an empty `origin`.
fn said_by(origin: &str, failure: &Failure) -> String {
    let verb = if failure.status == abi::PANICKED { " panicked" } else { "" };
    if origin.is_empty() { failure.message.clone() } else { format!("{origin}{verb}: {}", failure.message) }
}

fn lengths(json: &Value) -> Option<Vec<u64>> {
    json.as_array()?.iter().map(Value::as_u64).collect()
}
