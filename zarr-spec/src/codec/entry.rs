//! Codecs by identifier and configuration.

use crate::format::Format;
use zarr_json::Value;

/// A codec by its identifier and configuration, as in documents. Programs pass it to create arrays.
///
/// `"crc32c"` and `("zstd", json!({"level": 3}))` convert to it. So do the public types of codec crates, such as
/// `Zstd::new(3, false)?`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CodecEntry {
    /// Any identifier of the codec, in any format.
    pub identifier: String,
    /// The configuration in the form of any format; null for the default configuration.
    pub configuration: Value,
    /// The format of the identifier and the configuration, for an identifier that names different codecs in different
    /// formats.
    pub format: Option<Format>,
}

impl CodecEntry {
    /// Creates an entry with this configuration.
    pub fn new(identifier: impl Into<String>, configuration: impl Into<Value>) -> Self {
        Self { identifier: identifier.into(), configuration: configuration.into(), format: None }
    }
}

impl From<&str> for CodecEntry {
    fn from(identifier: &str) -> Self {
        Self::new(identifier, Value::Null)
    }
}

impl<N: Into<String>, C: Into<Value>> From<(N, C)> for CodecEntry {
    fn from(entry: (N, C)) -> Self {
        Self::new(entry.0, entry.1)
    }
}
