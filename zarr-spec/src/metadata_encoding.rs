//! Metadata encodings of the draft: how array and group documents are written as bytes.

use std::fmt::Debug;
use std::sync::Arc;

use zarr_json::Value;

use crate::BoxError;
use crate::about::{About, says_what_it_is};
use crate::format::{Invalid, Reading};
use crate::plugin::{Creation, Identifiers, Origin, maker};

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

/// Makes a metadata encoding.
pub type CreateMetadataEncoding = fn(&Creation<'_>) -> Result<Arc<dyn MetadataEncoding>, Invalid>;

maker! {
    /// Makes metadata encodings as [`CreateMetadataEncoding`] does.
    MetadataEncodingMaker,
    CreateMetadataEncoding,
    dyn Fn(&Creation<'_>) -> Result<Arc<dyn MetadataEncoding>, Invalid> + Send + Sync
}

/// A metadata encoding that a program knows.
#[derive(Debug, Clone, Copy)]
pub struct MetadataEncodingPlugin {
    /// Its names.
    pub identifiers: Identifiers,
    /// Makes one from a document.
    pub create: MetadataEncodingMaker,
    /// What it says of itself.
    pub about: About,
    /// The crate it comes from.
    pub origin: Origin,
}

impl MetadataEncodingPlugin {
    /// A metadata encoding of these names.
    #[must_use]
    pub const fn new(identifiers: Identifiers, create: CreateMetadataEncoding) -> Self {
        Self {
            identifiers,
            create: MetadataEncodingMaker::Linked(create),
            about: About::NOTHING,
            origin: Origin::UNKNOWN,
        }
    }
}

says_what_it_is!(MetadataEncodingPlugin);

crate::inventory::collect!(MetadataEncodingPlugin);
