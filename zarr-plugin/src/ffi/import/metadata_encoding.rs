//! Metadata encodings of a loaded library.

use std::sync::Arc;

use zarr_spec::metadata_encoding::MetadataEncoding;
use zarr_spec::{BoxError, Creation, Format, Invalid, Mode, Reading, Value};

use super::{Imported, invalid};
use crate::abi::MetadataEncodingVtable;
use crate::ffi::creation::{show_creation, show_reading};
use crate::ffi::{EMPTY, Failure, Instance, lend, outcome, required, take, take_json, take_text};

/// A metadata encoding of a library.
#[derive(Debug)]
struct LoadedMetadataEncoding {
    instance: Instance<MetadataEncodingVtable>,
    origin: Arc<str>,
    key_suffix: String,
}

impl Imported<MetadataEncodingVtable> {
    pub(crate) fn create(&self, creation: &Creation<'_>) -> Result<Arc<dyn MetadataEncoding>, Invalid> {
        let made = || {
            let create = required(self.vtable.create, "create")?;
            let mut this = std::ptr::null_mut();
            let mut suffix = EMPTY;
            let mut err = EMPTY;
            let status = show_creation(creation, |creation| {
                // SAFETY: a function of the library, called with its context and memory for its results.
                unsafe { create(self.context, creation, &mut this, &mut suffix, &mut err) }
            });
            // SAFETY: the call filled them. This side owns the new object.
            unsafe {
                let key_suffix = take_text(&mut suffix);
                outcome(status, &mut err)?;
                Ok((Instance::new(self.vtable, this, self.vtable.destroy), key_suffix?))
            }
        };
        let (instance, key_suffix) = made().map_err(|failure| invalid(&self.origin, &failure))?;
        Ok(Arc::new(LoadedMetadataEncoding { instance, origin: self.origin.clone(), key_suffix }))
    }
}

impl LoadedMetadataEncoding {
    fn error(&self, failure: &Failure) -> BoxError {
        invalid(&self.origin, failure).into()
    }
}

impl MetadataEncoding for LoadedMetadataEncoding {
    fn decode(&self, bytes: &[u8], reading: &Reading) -> Result<Value, BoxError> {
        let mut json = EMPTY;
        let called = self.instance.call(|vtable, this, err| {
            let decode = required(vtable.decode, "decode")?;
            // SAFETY: a function of the library, called with its object and memory for its result.
            Ok(show_reading(Format::V3Draft, reading, |reading| unsafe {
                decode(this, lend(bytes), reading, &mut json, err)
            }))
        });
        // SAFETY: the call filled it.
        let json = unsafe { take_json(&mut json) };
        let value = called.and(json).map_err(|failure| self.error(&failure))?;
        match value.find_non_finite().filter(|_| reading.mode() == Mode::Strict) {
            Some(path) => Err(self.error(&Failure::broken(format!("the number at {path} is not finite")))),
            None => Ok(value),
        }
    }

    fn encode(&self, document: &Value) -> Result<Vec<u8>, BoxError> {
        let text = document.to_string();
        let mut bytes = EMPTY;
        let called = self.instance.call(|vtable, this, err| {
            let encode = required(vtable.encode, "encode")?;
            // SAFETY: a function of the library, called with its object and memory for its result.
            Ok(unsafe { encode(this, lend(text.as_bytes()), &mut bytes, err) })
        });
        // SAFETY: the call filled it.
        let bytes = unsafe { take(&mut bytes) };
        called.and(bytes).map_err(|failure| self.error(&failure))
    }

    fn key_suffix(&self) -> &str {
        &self.key_suffix
    }
}
