//! Codecs as programs name them.

use zarr_json::Value;

/// A codec by its identifier and configuration, as documents have them. Programs that create arrays pass it.
///
/// `"crc32c"` and `("zstd", json!({"level": 3}))` convert to it. So do the public types of codec crates, such as
/// `Zstd::new(3, false)?`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CodecEntry {
    /// Any identifier of the codec, in any format.
    pub identifier: String,
    /// An object as any format has it; null for the default configuration.
    pub configuration: Value,
}

impl CodecEntry {
    /// A codec with this configuration.
    pub fn new(identifier: impl Into<String>, configuration: impl Into<Value>) -> Self {
        Self { identifier: identifier.into(), configuration: configuration.into() }
    }
}

impl From<&str> for CodecEntry {
    fn from(identifier: &str) -> Self {
        Self::new(identifier, Value::Null)
    }
}

impl From<String> for CodecEntry {
    fn from(identifier: String) -> Self {
        Self::new(identifier, Value::Null)
    }
}

impl<N: Into<String>, C: Into<Value>> From<(N, C)> for CodecEntry {
    fn from(entry: (N, C)) -> Self {
        Self::new(entry.0, entry.1)
    }
}
