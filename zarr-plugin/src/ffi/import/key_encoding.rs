//! Chunk key encodings of a loaded library.

use std::sync::Arc;

use zarr_spec::key_encoding::ChunkKeyEncoding;
use zarr_spec::{BoxError, Creation, Invalid, Output};

use super::{Imported, invalid};
use crate::abi::ChunkKeyEncodingVtable;
use crate::ffi::output::lend_output;
use crate::ffi::{Instance, as_text, lend};

/// A chunk key encoding of a library.
#[derive(Debug)]
struct LoadedKeyEncoding {
    instance: Instance<ChunkKeyEncodingVtable>,
    origin: Arc<str>,
}

impl Imported<ChunkKeyEncodingVtable> {
    pub(crate) fn create(&self, creation: &Creation<'_>) -> Result<Arc<dyn ChunkKeyEncoding>, Invalid> {
        let mut this = std::ptr::null_mut();
        let called = call_item!(self, creation, create(&mut this));
        called.map_err(|failure| invalid(&self.origin, &failure))?;
        // SAFETY: this side owns the new object.
        let instance = unsafe { Instance::new(self.vtable, this, self.vtable.destroy) };
        Ok(Arc::new(LoadedKeyEncoding { instance, origin: self.origin.clone() }))
    }
}

/// The longest key of a chunk, in bytes.
const MAX_KEY: usize = 1 << 12;

impl ChunkKeyEncoding for LoadedKeyEncoding {
    /// Encodes a chunk index. A failure becomes a key that no store can hold, so that no other chunk is used.
    fn encode(&self, chunk_index: &[u64], key: &mut String) {
        let mut output = Output::at_most(MAX_KEY);
        let written = lend_output(&mut output, |output| {
            call!(self.instance, encode(chunk_index.as_ptr(), chunk_index.len(), output))
        });
        match written.and_then(|()| as_text(output.into_written())) {
            Ok(text) => key.push_str(&text),
            Err(failure) => {
                key.push('\0');
                key.push_str(&invalid(&self.origin, &failure).to_string());
            }
        }
    }

    fn decode(&self, key: &str, rank: usize) -> Result<Option<Vec<u64>>, BoxError> {
        let mut index = vec![0; rank];
        let mut found = 0;
        let called = call!(self.instance, decode(lend(key.as_bytes()), index.as_mut_ptr(), rank, &mut found));
        called.map_err(|failure| invalid(&self.origin, &failure))?;
        Ok((found != 0).then_some(index))
    }
}
