//! The CBOR metadata encoding of Zarr: an extension of this project for the draft.
//!
//! A document is one data item: maps with text keys in the order of the members, arrays, text, booleans, null.
//! The text of every JSON number is preserved. Integers are stored as integers or bignums. Other numbers are stored
//! as `float64` if that preserves their text; if not, such as `1.50` or `1e400`, as text with the tag
//! [`NUMBER_TEXT`]. The caller limits the size of a document; the depth is at most
//! [`MAX_DEPTH`](zarr_json::MAX_DEPTH) levels.
//!
//! This crate encodes items itself: libraries with a value model do not preserve the text of numbers, and
//! documents need only a few kinds of items.
//!
//! Source: `docs/spec/metadata-encodings-cbor.md`; RFC 8949 for the items.

use std::sync::Arc;

use zarr_json::ValueMemory;
use zarr_plugin_kit::NoConfiguration;
use zarr_spec::metadata_encoding::{MetadataEncoding, MetadataEncodingPlugin};
use zarr_spec::{BoxError, Creation, Example, Identifiers, Invalid, Reading, Value};

mod decode;
mod encode;

zarr_spec::register!(
    MetadataEncodingPlugin::new(
        Identifiers::name("cbor").with_uri("https://zarr-kit.example/spec/metadata-encodings/cbor/1.0"),
        &create,
    )
    .configuration::<NoConfiguration>()
    .about("Stores metadata documents as CBOR (RFC 8949).", EXAMPLES)
);

const EXAMPLES: &[Example] = &[Example::draft(
    r#"{"extension": "https://zarr-kit.example/spec/metadata-encodings/cbor/1.0",
            "type": "cbor", "metadata_key_suffix": ".cbor"}"#,
)];

/// The tag of text that is a JSON number: `zarr` in ASCII, from the range of tags assigned first come, first
/// served.
pub const NUMBER_TEXT: u64 = 0x7a61_7272;

/// The CBOR metadata encoding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CborMetadata;

impl MetadataEncoding for CborMetadata {
    fn decode(&self, bytes: &[u8], reading: &Reading) -> Result<Value, BoxError> {
        let limit = reading.document_size();
        if bytes.len() > limit {
            return Err(format!("has {} bytes; the limit for documents is {limit}", bytes.len()).into());
        }
        Ok(decode::document(bytes, ValueMemory::of_documents(limit))?)
    }

    fn encode(&self, document: &Value) -> Result<Vec<u8>, BoxError> {
        let mut bytes = Vec::new();
        encode::item(document, &mut bytes)?;
        Ok(bytes)
    }

    fn key_suffix(&self) -> &str {
        ".cbor"
    }
}

/// Major types of items.
mod major {
    pub(crate) const POSITIVE: u8 = 0;
    pub(crate) const NEGATIVE: u8 = 1;
    pub(crate) const BYTES: u8 = 2;
    pub(crate) const TEXT: u8 = 3;
    pub(crate) const ARRAY: u8 = 4;
    pub(crate) const MAP: u8 = 5;
    pub(crate) const TAG: u8 = 6;
    pub(crate) const OTHER: u8 = 7;
}

/// Tags of RFC 8949: bignums, negative bignums, and "this is CBOR".
mod tag {
    pub(crate) const POSITIVE: u64 = 2;
    pub(crate) const NEGATIVE: u64 = 3;
    pub(crate) const SELF_DESCRIBED: u64 = 55799;
}

fn create(creation: &Creation<'_>) -> Result<Arc<dyn MetadataEncoding>, Invalid> {
    let NoConfiguration {} = creation.parse()?;
    Ok(Arc::new(CborMetadata))
}
