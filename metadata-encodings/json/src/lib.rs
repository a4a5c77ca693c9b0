//! The JSON metadata encoding of Zarr, which v2 and final v3 use throughout.
//!
//! Numbers keep their text and members their order. Documents are read up to 64 MiB and 128 levels.
//!
//! Source: `metadata_encoding` in the Zarr v3 draft of 2022; RFC 8259 for the text.

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::json::{self, ParseOptions, Remark};
use zarr_spec::metadata_encoding::{MetadataEncoding, MetadataEncodingPlugin};
use zarr_spec::{BoxError, Creation, Identifiers, Invalid, Reading, Value};

zarr_spec::register!(MetadataEncodingPlugin::new(
    Identifiers { uri: None, name: "json", id: Some("json"), aliases: &[] },
    create,
));

/// JSON text in UTF-8.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JsonMetadata;

impl MetadataEncoding for JsonMetadata {
    /// A byte order mark is skipped. A member that occurs twice and a bare `NaN` or `Infinity` among the
    /// attributes are read with a warning, unless the mode is strict.
    fn decode(&self, bytes: &[u8], reading: &Reading) -> Result<Value, BoxError> {
        let parsed = json::parse(bytes, &ParseOptions { bare_non_finite: true, ..ParseOptions::default() })?;
        refuse_non_finite_outside_attributes(&parsed.value)?;
        for remark in parsed.remarks.iter().filter(|&remark| *remark != Remark::ByteOrderMark) {
            reading.tolerate(remark.to_string())?;
        }
        Ok(parsed.value)
    }

    fn encode(&self, document: &Value) -> Result<Vec<u8>, BoxError> {
        Ok(json::to_vec_pretty(document)?)
    }

    fn key_suffix(&self) -> &str {
        ".json"
    }
}

/// The remarks of the parser end at some number; this finds a value wherever it stands.
fn refuse_non_finite_outside_attributes(document: &Value) -> Result<(), Invalid> {
    let place = match document {
        Value::Object(members) => members
            .iter()
            .filter(|&(name, _)| name != "attributes")
            .find_map(|(name, value)| Some(format!("/{name}{}", value.find_non_finite()?))),
        other => other.find_non_finite(),
    };
    match place {
        Some(place) => Err(Invalid::new(format!("at {place}: JSON has no number that is not finite"))),
        None => Ok(()),
    }
}

#[derive(Deserialize)]
struct NoConfiguration {}

fn create(creation: &Creation<'_>) -> Result<Arc<dyn MetadataEncoding>, Invalid> {
    let NoConfiguration {} = creation.parse()?;
    Ok(Arc::new(JsonMetadata))
}
