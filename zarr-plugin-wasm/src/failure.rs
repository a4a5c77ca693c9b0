//! What went wrong at the boundary, and what a reader has to know of it.

use zarr_plugin::abi;
use zarr_spec::{CodecError, LimitExceeded};

/// The status of [`Failure::broken`], which is none of the ABI.
const BROKEN: i32 = i32::MIN;

/// Why a call failed: a status of the ABI, and a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) status: i32,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(status: i32, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    /// The guest does not keep to the ABI.
    pub(crate) fn broken(message: impl Into<String>) -> Self {
        Self::new(BROKEN, message)
    }

    /// The guest was stopped. It is not used again.
    pub(crate) fn trapped(message: impl Into<String>) -> Self {
        Self::new(abi::PANICKED, message)
    }

    /// The error of a call: what it means for the chunk, or that the plugin itself is at fault.
    ///
    /// [`abi::INTERNAL`] is how a plugin reports that it cannot encode a chunk; while it decodes, it is a fault of the
    /// plugin.
    pub(crate) fn of(self, origin: &str, is_encoding: bool) -> CodecError {
        let by_origin = format!("{origin}: {}", self.message);
        match self.status {
            abi::BAD_CONFIGURATION => CodecError::configuration(by_origin),
            abi::UNSUPPORTED => CodecError::Unsupported(by_origin),
            abi::CORRUPT => CodecError::Corrupt(by_origin.into()),
            abi::PANICKED | abi::CANCELLED | abi::IO | BROKEN => self.fault(origin),
            _ if is_encoding => CodecError::Encode(by_origin.into()),
            _ => self.fault(origin),
        }
    }

    fn fault(self, origin: &str) -> CodecError {
        CodecError::Plugin { plugin: origin.to_owned(), message: self.message }
    }
}

impl From<LimitExceeded> for Failure {
    fn from(error: LimitExceeded) -> Self {
        Self::new(abi::LIMIT_EXCEEDED, error.to_string())
    }
}
