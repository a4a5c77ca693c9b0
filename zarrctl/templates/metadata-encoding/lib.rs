//! The metadata encoding `{{name}}`: JSON after a first line that identifies the document.

use std::sync::Arc;

use zarr_plugin_kit::{NoConfiguration, json};
use zarr_spec::metadata_encoding::{DocumentKind, parse_json};
use zarr_spec::metadata_encoding::{MetadataEncoding, MetadataEncodingPlugin};
use zarr_spec::{BoxError, Creation, Example, Identifiers, Invalid, Reading, Value};

zarr_spec::register!(
    MetadataEncodingPlugin::new(IDENTIFIERS, &create)
        .configuration::<NoConfiguration>()
        .about("Writes metadata documents as JSON after an identifying first line.", EXAMPLES)
);

const IDENTIFIERS: Identifiers = Identifiers::uri("{{uri}}");

const EXAMPLES: &[Example] = &[Example::draft(
    r#"{"extension": "{{uri}}", "type": "marked", "metadata_key_suffix": ".marked.json"}"#,
)];

/// The first line of every document.
const MARK: &[u8] = b"# Zarr metadata\n";

/// JSON after the first line.
#[derive(Debug)]
struct Marked;

impl MetadataEncoding for Marked {
    fn decode(&self, bytes: &[u8], reading: &Reading) -> Result<Value, BoxError> {
        let limit = reading.document_size();
        if bytes.len() > limit {
            return Err(format!("has {} bytes, but the limit for documents is {limit}", bytes.len()).into());
        }
        let json = bytes.strip_prefix(MARK).ok_or("the first line is not `# Zarr metadata`")?;
        Ok(parse_json(json, DocumentKind::V3, reading)?)
    }

    fn encode(&self, document: &Value) -> Result<Vec<u8>, BoxError> {
        Ok([MARK, &json::to_vec_pretty(document)?].concat())
    }

    fn key_suffix(&self) -> &str {
        ".marked.json"
    }
}

fn create(creation: &Creation<'_>) -> Result<Arc<dyn MetadataEncoding>, Invalid> {
    let NoConfiguration {} = creation.parse()?;
    Ok(Arc::new(Marked))
}
