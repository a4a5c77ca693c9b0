//! Why an operation of a store failed.

use std::io;

use super::Store;
use crate::BoxError;
use crate::format::Invalid;
use crate::key::KeyError;
use crate::output::LimitExceeded;
use zarr_json::printable;

/// The result of an operation of a store.
pub type StoreResult<T> = Result<T, StoreError>;

/// Why an operation of a store failed. A missing key is not an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The store does not support this operation.
    #[error("the store {} is {quality}", printable(.store))]
    NotSupported {
        /// The location of the store.
        store: String,
        /// "not readable", "not writeable", "not listable", "not erasable", "not conditional".
        quality: &'static str,
    },
    /// The store cannot hold this key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The request or the description of the store is invalid.
    #[error("{0}")]
    Invalid(#[from] Invalid),
    /// The value is larger than the caller accepts.
    #[error("value of key `{}`: {source}", printable(.key))]
    TooLarge {
        /// The key.
        key: String,
        /// The limit.
        source: LimitExceeded,
    },
    /// The file system, the network or the service that the store uses failed. [`StoreError::io`] creates it.
    #[error("{operation} `{}`: {}", printable(.place), printable(.source))]
    #[non_exhaustive]
    Io {
        /// The kind of failure, which determines how a program can react.
        kind: IoKind,
        /// The failed operation: "opening", "reading", "writing", "listing", "erasing".
        operation: &'static str,
        /// The key, prefix, file or URL.
        place: String,
        /// The failure.
        source: BoxError,
    },
}

/// The kind of a [`StoreError::Io`], which determines how a program can react.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum IoKind {
    /// Credentials are missing, or do not permit the operation. Repeating it does not help.
    NotPermitted,
    /// The service received too many requests. Repeat the operation later, with fewer requests in flight.
    Throttled,
    /// No response arrived in time. Repeating the operation may help.
    TimedOut,
    /// The server or the device cannot be reached.
    Unreachable,
    /// The stored value is damaged: the store found another checksum or size than it recorded. Other values may be
    /// intact.
    Damaged,
    /// Any other failure.
    #[default]
    Other,
}

impl IoKind {
    /// Returns the kind of an error of the operating system.
    #[must_use]
    pub fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Self::NotPermitted,
            io::ErrorKind::TimedOut => Self::TimedOut,
            io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::NetworkDown
            | io::ErrorKind::NotConnected
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted => Self::Unreachable,
            _ => Self::Other,
        }
    }
}

impl StoreError {
    /// Creates the error for an operation that `store` does not support. `quality` is as in
    /// [`StoreError::NotSupported`].
    pub fn not_supported(store: &dyn Store, quality: &'static str) -> Self {
        Self::NotSupported { store: store.location(), quality }
    }

    /// Creates the error for an `operation` that failed at `place`. An [`io::Error`] as `source` determines the kind.
    pub fn io(operation: &'static str, place: impl Into<String>, source: impl Into<BoxError>) -> Self {
        let source = source.into();
        let kind = source.downcast_ref::<io::Error>().map_or(IoKind::Other, IoKind::of);
        Self::Io { kind, operation, place: place.into(), source }
    }

    /// Returns the same failure with another kind. Errors other than [`StoreError::Io`] do not change.
    #[must_use]
    pub fn with_kind(mut self, new: IoKind) -> Self {
        if let Self::Io { kind, .. } = &mut self {
            *kind = new;
        }
        self
    }
}
