//! What went wrong at the boundary, and what a reader has to know of it.

use zarr_plugin::abi;
use zarr_spec::{CodecError, LimitExceeded};

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
        Self::new(abi::INTERNAL, message)
    }

    /// The guest was stopped. It is not used again.
    pub(crate) fn trapped(message: impl Into<String>) -> Self {
        Self::new(abi::PANICKED, message)
    }

    /// Says who failed.
    pub(crate) fn of(self, origin: &str, is_encoding: bool) -> CodecError {
        let message = format!("{origin}: {}", self.message);
        match self.status {
            abi::BAD_CONFIGURATION => CodecError::configuration(message),
            abi::UNSUPPORTED => CodecError::Unsupported(message),
            _ if is_encoding => CodecError::Encode(message.into()),
            _ => CodecError::Corrupt(message.into()),
        }
    }
}

impl From<LimitExceeded> for Failure {
    fn from(error: LimitExceeded) -> Self {
        Self::new(abi::LIMIT_EXCEEDED, error.to_string())
    }
}
