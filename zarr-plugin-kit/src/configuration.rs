//! Configurations that several plugins share.

use serde::{Deserialize, Serialize};

/// A configuration without members.
///
/// ```
/// use zarr_plugin_kit::NoConfiguration;
/// use zarr_spec::{ByteOrder, Codec, CodecError};
/// use zarr_spec::{Creation, Representation};
///
/// fn create(creation: &Creation<'_>, _decoded: &Representation) -> Result<Codec, CodecError> {
///     let NoConfiguration {} = creation.parse()?;
///     Ok(Codec::Binary(ByteOrder::Little))
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoConfiguration {}

/// Where a checksum is stored: `"start"` or `"end"` in a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "there is no third place")]
pub enum ChecksumLocation {
    /// Before the bytes.
    Start,
    /// After the bytes.
    End,
}

impl ChecksumLocation {
    /// Returns the start, for `#[serde(default = "ChecksumLocation::start")]`.
    #[must_use]
    pub const fn start() -> Self {
        Self::Start
    }

    /// Returns the end, for `#[serde(default = "ChecksumLocation::end")]`.
    #[must_use]
    pub const fn end() -> Self {
        Self::End
    }

    /// Returns whether the checksum is stored before the bytes.
    #[must_use]
    pub const fn is_start(self) -> bool {
        matches!(self, Self::Start)
    }
}
