//! The metadata encoding `kinds.marked`: JSON after a first line that identifies it.

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::metadata_encoding::{DocumentKind, MetadataEncoding, MetadataEncodingPlugin, parse_json};
use zarr_spec::{BoxError, Creation, Example, Identifiers, Invalid, Reading, Value};

zarr_spec::register!(
    MetadataEncodingPlugin::new(IDENTIFIERS, &create)
        .configuration::<NoConfiguration>()
        .about("Writes metadata documents as JSON after a first line that identifies them.", EXAMPLES)
);

const IDENTIFIERS: Identifiers =
    Identifiers::uri("https://example.org/kinds/marked/1.0");

const EXAMPLES: &[Example] = &[Example::draft(
    r#"{"extension": "https://example.org/kinds/marked/1.0", "type": "marked", "metadata_key_suffix": ".marked.json"}"#,
)];

/// The first line of every document.
const MARK: &[u8] = b"# Zarr metadata\n";

/// JSON after a first line that identifies it.
#[derive(Debug)]
struct Marked;

impl MetadataEncoding for Marked {
    fn decode(&self, bytes: &[u8], reading: &Reading) -> Result<Value, BoxError> {
        let json = bytes.strip_prefix(MARK).ok_or("the first line is not the expected one")?;
        Ok(parse_json(json, DocumentKind::V3, reading)?)
    }

    fn encode(&self, document: &Value) -> Result<Vec<u8>, BoxError> {
        Ok([MARK, document.to_string().as_bytes()].concat())
    }

    fn key_suffix(&self) -> &str {
        ".marked.json"
    }
}

#[derive(Deserialize)]
struct NoConfiguration {}

fn create(creation: &Creation<'_>) -> Result<Arc<dyn MetadataEncoding>, Invalid> {
    let NoConfiguration {} = creation.parse()?;
    Ok(Arc::new(Marked))
}
