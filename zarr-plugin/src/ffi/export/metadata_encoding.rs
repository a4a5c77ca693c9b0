//! Metadata encodings of this library for its host.

use std::ffi::c_void;
use std::sync::Arc;

use zarr_spec::metadata_encoding::{MetadataEncoding, MetadataEncodingPlugin};
use zarr_spec::{BoxError, Registry};

use super::data_type::linked;
use super::{destroy, held};
use crate::abi::{self, Buf, Creation, MetadataEncodingVtable, Str};
use crate::ffi::creation::with_creation;
use crate::ffi::{Failure, borrowed, parse, put};

/// The functions of a metadata encoding of this library. `this` is an `Arc<dyn MetadataEncoding>`, `context` a
/// [`MetadataEncodingPlugin`].
pub(crate) static METADATA_ENCODINGS: MetadataEncodingVtable = MetadataEncodingVtable {
    struct_size: size_of::<MetadataEncodingVtable>(),
    create: Some(create_metadata_encoding),
    destroy: Some(destroy::<Arc<dyn MetadataEncoding>>),
    decode: Some(decode_document),
    encode: Some(encode_document),
};

callbacks! {
    fn create_metadata_encoding(
        context: *const c_void,
        creation: *const Creation,
        this: *mut *mut c_void,
        key_suffix: *mut Buf,
    ) {
        let plugin = &*context.cast::<MetadataEncodingPlugin>();
        let encoding = with_creation(creation, linked()?, |creation| Ok((plugin.create)(creation)?))?;
        put(key_suffix, encoding.key_suffix().as_bytes().to_vec());
        this.write(Box::into_raw(Box::new(encoding)).cast());
        Ok(())
    }

    fn decode_document(this: *const c_void, bytes: Str, reading: *const Creation, json: *mut Buf) {
        let document = with_creation(reading, &Registry::empty(), |creation| {
            let encoding = held::<Arc<dyn MetadataEncoding>>(this);
            encoding.decode(borrowed(bytes), creation.reading).map_err(|error| Failure::corrupt(&error))
        })?;
        put(json, document.to_string().into_bytes());
        Ok(())
    }

    fn encode_document(this: *const c_void, json: Str, bytes: *mut Buf) {
        let encoding = held::<Arc<dyn MetadataEncoding>>(this);
        let encoded = encoding.encode(&parse(borrowed(json))?);
        put(bytes, encoded.map_err(|error| Failure::corrupt(&error))?);
        Ok(())
    }
}

impl Failure {
    fn corrupt(error: &BoxError) -> Self {
        Self::new(abi::CORRUPT, error.to_string())
    }
}
