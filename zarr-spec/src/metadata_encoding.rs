//! Metadata encodings of the draft: how array and group documents are written as bytes.

mod text;

use std::fmt::Debug;
use std::sync::Arc;

use zarr_json::Value;

use crate::BoxError;
use crate::creation::Creation;
use crate::format::{Invalid, Reading};
use crate::host::registry::ExtensionPoint;
use crate::plugin::{Kind, Plugin};

pub use text::{DocumentError, DocumentKind, parse_json, parse_json_member};

/// Names of documents in the folder of their node, in v2 and v3. The draft has other names for its documents, and
/// `zarr.json` for its entry point.
pub const DOCUMENT_NAMES: [&str; 5] = ["zarr.json", ".zgroup", ".zarray", ".zattrs", ".zmetadata"];

/// The names among [`DOCUMENT_NAMES`] without which a folder is not a node.
pub const NODE_DOCUMENT_NAMES: [&str; 3] = [DOCUMENT_NAMES[0], DOCUMENT_NAMES[1], DOCUMENT_NAMES[2]];

/// Bytes to and from the JSON value model.
///
/// Numbers, member order and all strings survive. Final v3 and v2 use the encoding `json` throughout.
pub trait MetadataEncoding: Debug + Send + Sync {
    /// The document that `bytes` hold.
    ///
    /// # Errors
    ///
    /// What is wrong with the bytes and where.
    fn decode(&self, bytes: &[u8], reading: &Reading) -> Result<Value, BoxError>;

    /// The bytes of `document`.
    ///
    /// # Errors
    ///
    /// For a value that the encoding cannot hold, and where it stands.
    fn encode(&self, document: &Value) -> Result<Vec<u8>, BoxError>;

    /// What keys of documents in this encoding end in by default, such as `.json`.
    fn key_suffix(&self) -> &str;
}

/// A metadata encoding that a program knows.
pub type MetadataEncodingPlugin = Plugin<dyn MetadataEncoding>;

impl Kind for dyn MetadataEncoding {
    type Create = dyn Fn(&Creation<'_>) -> Result<Arc<dyn MetadataEncoding>, Invalid> + Send + Sync;

    const POINT: ExtensionPoint = ExtensionPoint::MetadataEncoding;
}

inventory::collect!(MetadataEncodingPlugin);
