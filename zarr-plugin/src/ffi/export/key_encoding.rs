//! Chunk key encodings of this library for its host.

use std::ffi::c_void;
use std::sync::Arc;

use zarr_spec::key_encoding::{ChunkKeyEncoding, ChunkKeyEncodingPlugin};

use super::data_type::linked;
use super::{destroy, held};
use crate::abi::{self, ChunkKeyEncodingVtable, Creation, Output, Str};
use crate::ffi::creation::with_creation;
use crate::ffi::output::write_output;
use crate::ffi::{Failure, borrowed_items, borrowed_text};

/// The functions of a chunk key encoding of this library. `this` is an `Arc<dyn ChunkKeyEncoding>`, `context` a
/// [`ChunkKeyEncodingPlugin`].
pub(crate) static CHUNK_KEY_ENCODINGS: ChunkKeyEncodingVtable = ChunkKeyEncodingVtable {
    struct_size: size_of::<ChunkKeyEncodingVtable>(),
    create: Some(create_key_encoding),
    destroy: Some(destroy::<Arc<dyn ChunkKeyEncoding>>),
    encode: Some(encode_key),
    decode: Some(decode_key),
};

callbacks! {
    fn create_key_encoding(context: *const c_void, creation: *const Creation, this: *mut *mut c_void) {
        let plugin = &*context.cast::<ChunkKeyEncodingPlugin>();
        let encoding = with_creation(creation, linked()?, |creation| Ok((plugin.create)(creation)?))?;
        this.write(Box::into_raw(Box::new(encoding)).cast());
        Ok(())
    }

    fn encode_key(this: *const c_void, index: *const u64, rank: usize, key: *mut Output) {
        let mut text = String::new();
        held::<Arc<dyn ChunkKeyEncoding>>(this).encode(borrowed_items(index, rank), &mut text);
        write_output(key, |key| Ok(key.put(text.as_bytes())?))
    }

    fn decode_key(this: *const c_void, key: Str, index: *mut u64, rank: usize, found: *mut u32) {
        // `index` has memory for `rank` numbers.
        let decoded = held::<Arc<dyn ChunkKeyEncoding>>(this).decode(borrowed_text(key)?, rank);
        match decoded.map_err(|error| Failure::new(abi::INTERNAL, error.to_string()))? {
            None => {}
            Some(decoded) if decoded.len() == rank => {
                std::ptr::copy_nonoverlapping(decoded.as_ptr(), index, rank);
                found.write(1);
            }
            Some(decoded) => {
                let what = format!("it decoded a key to chunk {decoded:?} in a grid of {rank} dimensions");
                return Err(Failure::broken(what));
            }
        }
        Ok(())
    }
}
