//! The JSON metadata encoding of Zarr, the only one of v2 and final v3.
//!
//! The text of numbers and the order of members are preserved. The caller limits the size of a document; the
//! depth is at most 128 levels.
//!
//! Source: `metadata_encoding` in the Zarr v3 draft of 2022; RFC 8259 for the text.

use std::sync::Arc;

use zarr_plugin_kit::NoConfiguration;
use zarr_spec::metadata_encoding::{DocumentKind, parse_json};
use zarr_spec::metadata_encoding::{MetadataEncoding, MetadataEncodingPlugin};
use zarr_spec::{BoxError, Creation, Example, Identifiers, Invalid, Reading, Value};

zarr_spec::register!(
    MetadataEncodingPlugin::new(Identifiers::name("json").with_id("json"), &create,)
        .configuration::<NoConfiguration>()
        .about("Stores metadata documents as JSON text.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[Example::draft(r#"{"type": "json", "metadata_key_suffix": ".json"}"#)];

/// The JSON metadata encoding: text in UTF-8.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JsonMetadata;

impl MetadataEncoding for JsonMetadata {
    fn decode(&self, bytes: &[u8], reading: &Reading) -> Result<Value, BoxError> {
        Ok(parse_json(bytes, DocumentKind::V3, reading)?)
    }

    fn encode(&self, document: &Value) -> Result<Vec<u8>, BoxError> {
        Ok(zarr_json::to_vec_pretty(document)?)
    }

    fn key_suffix(&self) -> &str {
        ".json"
    }
}

fn create(creation: &Creation<'_>) -> Result<Arc<dyn MetadataEncoding>, Invalid> {
    let NoConfiguration {} = creation.parse()?;
    Ok(Arc::new(JsonMetadata))
}
