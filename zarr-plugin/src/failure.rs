//! Failures of calls through the ABI.

use zarr_spec::{CodecError, DataTypeError, Invalid, LimitExceeded};

use crate::abi;

/// A failure of a call through the ABI: a status and a message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// A status of the ABI, or [`Failure::BROKEN`].
    pub status: i32,
    /// The failure, in one sentence.
    pub message: String,
}

impl Failure {
    /// The status of [`Failure::broken`]. The other side receives [`abi::INTERNAL`] instead.
    pub const BROKEN: i32 = i32::MIN;

    /// Creates a failure with a status of the ABI.
    pub fn new(status: i32, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    /// Creates a failure of the other side that violates the ABI.
    pub fn broken(message: impl Into<String>) -> Self {
        Self::new(Self::BROKEN, message)
    }
}

impl From<Invalid> for Failure {
    fn from(error: Invalid) -> Self {
        Self::new(abi::BAD_CONFIGURATION, error.to_string())
    }
}

impl From<LimitExceeded> for Failure {
    fn from(error: LimitExceeded) -> Self {
        Self::new(abi::LIMIT_EXCEEDED, error.to_string())
    }
}

impl From<CodecError> for Failure {
    fn from(error: CodecError) -> Self {
        match error {
            CodecError::InvalidConfiguration(error) => error.into(),
            CodecError::Unsupported(what) => Self::new(abi::UNSUPPORTED, what),
            CodecError::Corrupt(source) => Self::new(abi::CORRUPT, source.to_string()),
            CodecError::TooLarge(limit) => limit.into(),
            CodecError::Inner(error) => Self::new(abi::UNSUPPORTED, error.to_string()),
            CodecError::Encode(source) => Self::new(abi::INTERNAL, source.to_string()),
            other => Self::new(abi::INTERNAL, other.to_string()),
        }
    }
}

impl From<DataTypeError> for Failure {
    fn from(error: DataTypeError) -> Self {
        match error {
            DataTypeError::InvalidConfiguration(error) => error.into(),
            DataTypeError::FillValue(what) => Self::new(abi::CORRUPT, what),
            other => Self::new(abi::UNSUPPORTED, other.to_string()),
        }
    }
}
