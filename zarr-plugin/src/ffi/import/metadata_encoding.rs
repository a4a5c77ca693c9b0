//! Metadata encodings of a loaded library.

use std::sync::Arc;

use zarr_spec::metadata_encoding::MetadataEncoding;
use zarr_spec::{BoxError, Creation, Format, Invalid, Mode, Reading, Value};

use super::{Imported, invalid};
use crate::abi::MetadataEncodingVtable;
use crate::ffi::creation::show_reading;
use crate::ffi::{EMPTY, Failure, Instance, as_text, lend, parse, take};

/// A metadata encoding of a library.
#[derive(Debug)]
struct LoadedMetadataEncoding {
    instance: Instance<MetadataEncodingVtable>,
    origin: Arc<str>,
    key_suffix: String,
}

impl Imported<MetadataEncodingVtable> {
    pub(crate) fn create(&self, creation: &Creation<'_>) -> Result<Arc<dyn MetadataEncoding>, Invalid> {
        let mut this = std::ptr::null_mut();
        let mut suffix = EMPTY;
        let called = call_item!(self, creation, create(&mut this, &mut suffix));
        // SAFETY: the call filled `suffix` and created `this`, which this side owns.
        let made = unsafe {
            let key_suffix = take(&mut suffix).and_then(as_text);
            let instance = called.map(|()| Instance::new(self.vtable, this, self.vtable.destroy));
            instance.and_then(|instance| Ok((instance, key_suffix?)))
        };
        let (instance, key_suffix) = made.map_err(|failure| invalid(&self.origin, &failure))?;
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
        let json = show_reading(Format::V3Draft, reading, |reading| {
            fetch!(self.instance, decode(lend(bytes), reading))
        });
        let value = json.and_then(|json| parse(&json)).map_err(|failure| self.error(&failure))?;
        match value.find_non_finite().filter(|_| reading.mode() == Mode::Strict) {
            Some(path) => Err(self.error(&Failure::broken(format!("the number at {path} is not finite")))),
            None => Ok(value),
        }
    }

    fn encode(&self, document: &Value) -> Result<Vec<u8>, BoxError> {
        let text = document.to_string();
        fetch!(self.instance, encode(lend(text.as_bytes()))).map_err(|failure| self.error(&failure))
    }

    fn key_suffix(&self) -> &str {
        &self.key_suffix
    }
}
