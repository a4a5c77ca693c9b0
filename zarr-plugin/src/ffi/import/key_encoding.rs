//! Chunk key encodings of a loaded library.

use std::sync::Arc;

use zarr_spec::key_encoding::ChunkKeyEncoding;
use zarr_spec::{BoxError, Creation, Invalid, Output};

use super::{Imported, invalid};
use crate::abi::ChunkKeyEncodingVtable;
use crate::ffi::creation::show_creation;
use crate::ffi::output::lend_output;
use crate::ffi::{EMPTY, Failure, Instance, lend, outcome, required};

/// A chunk key encoding of a library.
#[derive(Debug)]
struct LoadedKeyEncoding {
    instance: Instance<ChunkKeyEncodingVtable>,
    origin: Arc<str>,
}

impl Imported<ChunkKeyEncodingVtable> {
    pub(crate) fn create(&self, creation: &Creation<'_>) -> Result<Arc<dyn ChunkKeyEncoding>, Invalid> {
        let made = || {
            let create = required(self.vtable.create, "create")?;
            let mut this = std::ptr::null_mut();
            let mut err = EMPTY;
            let status = show_creation(creation, |creation| {
                // SAFETY: a function of the library, called with its context and memory for its results.
                unsafe { create(self.context, creation, &mut this, &mut err) }
            });
            // SAFETY: the call filled them. This side owns the new object.
            unsafe {
                outcome(status, &mut err)?;
                Ok(Instance::new(self.vtable, this, self.vtable.destroy))
            }
        };
        let instance = made().map_err(|failure| invalid(&self.origin, &failure))?;
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
            self.instance.call(|vtable, this, err| {
                let encode = required(vtable.encode, "encode")?;
                // SAFETY: a function of the library, called with its object and lent memory.
                Ok(unsafe { encode(this, chunk_index.as_ptr(), chunk_index.len(), output, err) })
            })
        });
        let text = written.and_then(|()| {
            String::from_utf8(output.into_written()).map_err(|_| Failure::broken("its key is not UTF-8"))
        });
        match text {
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
        let called = self.instance.call(|vtable, this, err| {
            let decode = required(vtable.decode, "decode")?;
            // SAFETY: a function of the library, called with its object and memory for `rank` numbers.
            Ok(unsafe { decode(this, lend(key.as_bytes()), index.as_mut_ptr(), rank, &mut found, err) })
        });
        called.map_err(|failure| invalid(&self.origin, &failure))?;
        Ok((found != 0).then_some(index))
    }
}
