//! Metadata encodings of the draft: the encoding of array and group documents as bytes.

mod text;

use std::fmt::Debug;
use std::sync::Arc;

use zarr_json::Value;

use crate::BoxError;
use crate::creation::Creation;
use crate::format::{Invalid, Reading};
use crate::host::registry::ExtensionPoint;
use crate::plugin::{Plugin, PluginKind};

pub use text::{DocumentError, DocumentKind, parse_json, parse_json_member};

/// The names of documents in the folder of their node, in v2 and v3. The draft uses other names, except for its entry
/// point, which is also `zarr.json`.
pub const DOCUMENT_NAMES: [&str; 5] = ["zarr.json", ".zgroup", ".zarray", ".zattrs", ".zmetadata"];

/// The names in [`DOCUMENT_NAMES`] that make a folder a node.
pub const NODE_DOCUMENT_NAMES: [&str; 3] = [DOCUMENT_NAMES[0], DOCUMENT_NAMES[1], DOCUMENT_NAMES[2]];

/// Converts between bytes and the JSON value model.
///
/// The text of numbers, the order of members and all strings are preserved. Final v3 and v2 always use the
/// encoding `json`.
pub trait MetadataEncoding: Debug + Send + Sync {
    /// Decodes a document.
    ///
    /// # Errors
    ///
    /// A description of the problem and its position.
    fn decode(&self, bytes: &[u8], reading: &Reading) -> Result<Value, BoxError>;

    /// Encodes `document`.
    ///
    /// # Errors
    ///
    /// For a value that the encoding cannot represent, with its position.
    fn encode(&self, document: &Value) -> Result<Vec<u8>, BoxError>;

    /// Returns the default suffix of the keys of documents in this encoding, such as `.json`.
    fn key_suffix(&self) -> &str;
}

/// A metadata encoding that a program knows.
pub type MetadataEncodingPlugin = Plugin<dyn MetadataEncoding>;

impl PluginKind for dyn MetadataEncoding {
    type Create = dyn Fn(&Creation<'_>) -> Result<Arc<dyn MetadataEncoding>, Invalid> + Send + Sync;

    const POINT: ExtensionPoint = ExtensionPoint::MetadataEncoding;
}

inventory::collect!(MetadataEncodingPlugin);
