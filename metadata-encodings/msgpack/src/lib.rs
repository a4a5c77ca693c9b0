//! The MessagePack metadata encoding of Zarr: an extension of this project for the draft.
//!
//! A document is one object: maps with string keys in the order of the members, arrays, strings, booleans, nil.
//! The text of every JSON number is preserved. Integers of up to 64 bits are stored as integers. Other numbers are
//! stored as `float 64` if that preserves their text; if not, such as `1.50` or `1e400`, as an extension of type
//! [`NUMBER_TEXT`]. The caller limits the size of a document; the depth is at most
//! [`MAX_DEPTH`](zarr_json::MAX_DEPTH) levels.
//!
//! This crate uses only the markers of the crate `rmp`. Its higher levels pass numbers through serde, which
//! would lose their text.
//!
//! Source: `docs/spec/metadata-encodings-msgpack.md`; the MessagePack specification for the objects.

use std::sync::Arc;

use zarr_json::ValueMemory;
use zarr_plugin_kit::NoConfiguration;
use zarr_spec::metadata_encoding::{MetadataEncoding, MetadataEncodingPlugin};
use zarr_spec::{BoxError, Creation, Example, Identifiers, Invalid, Reading, Value};

mod decode;
mod encode;

zarr_spec::register!(
    MetadataEncodingPlugin::new(
        Identifiers::name("msgpack").with_uri("https://zarr-kit.example/spec/metadata-encodings/msgpack/1.0"),
        &create,
    )
    .configuration::<NoConfiguration>()
    .about("Stores metadata documents as MessagePack.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[Example::draft(
    r#"{"extension": "https://zarr-kit.example/spec/metadata-encodings/msgpack/1.0",
            "type": "msgpack", "metadata_key_suffix": ".msgpack"}"#,
)];

/// The extension type of text that is a JSON number: `z` in ASCII, from the range for applications.
pub const NUMBER_TEXT: i8 = 0x7a;

/// The MessagePack metadata encoding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MsgpackMetadata;

impl MetadataEncoding for MsgpackMetadata {
    fn decode(&self, bytes: &[u8], reading: &Reading) -> Result<Value, BoxError> {
        let limit = reading.document_size();
        if bytes.len() > limit {
            return Err(format!("has {} bytes; the limit for documents is {limit}", bytes.len()).into());
        }
        Ok(decode::document(bytes, ValueMemory::of_documents(limit))?)
    }

    fn encode(&self, document: &Value) -> Result<Vec<u8>, BoxError> {
        encode::document(document)
    }

    fn key_suffix(&self) -> &str {
        ".msgpack"
    }
}

fn create(creation: &Creation<'_>) -> Result<Arc<dyn MetadataEncoding>, Invalid> {
    let NoConfiguration {} = creation.parse()?;
    Ok(Arc::new(MsgpackMetadata))
}
