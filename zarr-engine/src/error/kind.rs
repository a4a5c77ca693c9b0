//! Categories of errors.

use zarr_spec::host::registry::Unknown;
use zarr_spec::store::{IoKind, StoreError};
use zarr_spec::{CodecError, DataTypeError};

use super::Error;

/// The category of an [`Error`], by which a program can decide how to handle it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The hierarchy or node does not exist, or a chunk is missing and the fill value is undefined.
    NotFound,
    /// The node exists, or another node is in the way.
    AlreadyExists,
    /// The node is an array where a group was expected, or the reverse.
    WrongKind,
    /// The metadata uses something unknown to this program. [`Error::missing_plugins`] lists missing plugins.
    NotUnderstood,
    /// An argument is invalid, such as a selection outside of the array.
    InvalidInput,
    /// The store, the format or the codec does not support the operation.
    NotSupported,
    /// Stored bytes are corrupt or do not conform to the format.
    Damaged,
    /// The operation needs more memory than the limits allow or the system has.
    Memory,
    /// The file system, the network or the service failed.
    Store(IoKind),
    /// A loaded plugin failed.
    Plugin,
    /// The operation was cancelled.
    Cancelled,
}

impl Error {
    /// Returns the kind of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoHierarchy { .. } | Self::NoNode(_) | Self::UndefinedFillValue { .. } => {
                ErrorKind::NotFound
            }
            Self::InTheWay { .. } => ErrorKind::AlreadyExists,
            Self::WrongKind { .. } => ErrorKind::WrongKind,
            Self::NotUnderstood { .. } | Self::MissingPlugins { .. } => ErrorKind::NotUnderstood,
            Self::Selection(_) | Self::Elements(_) | Self::Invalid(_) | Self::NotInFormat { .. } => {
                ErrorKind::InvalidInput
            }
            Self::NotSupported(_) | Self::OtherFormat { .. } => ErrorKind::NotSupported,
            Self::ChunkKey { .. } | Self::Document { .. } => ErrorKind::Damaged,
            Self::OverBudget { .. } | Self::Memory(_) => ErrorKind::Memory,
            Self::Conflict(_) => ErrorKind::Store(IoKind::Other),
            Self::Cancelled => ErrorKind::Cancelled,
            Self::Store(error) => of_store(error),
            Self::Chunk(error) => of_codec(&error.source),
            Self::DataType(error) => of_data_type(error),
        }
    }

    /// Returns the plugins that are missing from this program but named in the metadata, the description of a new array
    /// or the location of a store.
    pub fn missing_plugins(&self) -> impl Iterator<Item = &Unknown> {
        let (problems, missing) = match self {
            Self::NotUnderstood(error) => (error.problems.as_slice(), [].as_slice()),
            Self::MissingPlugins(error) => ([].as_slice(), error.missing.as_slice()),
            _ => ([].as_slice(), [].as_slice()),
        };
        problems.iter().flat_map(|problem| &problem.missing).chain(missing)
    }
}

fn of_store(error: &StoreError) -> ErrorKind {
    match error {
        StoreError::NotSupported { .. } => ErrorKind::NotSupported,
        StoreError::TooLarge { .. } => ErrorKind::Memory,
        StoreError::Io { kind: IoKind::Damaged, .. } => ErrorKind::Damaged,
        StoreError::Io { kind, .. } => ErrorKind::Store(*kind),
        // The key or the description came from the caller.
        _ => ErrorKind::InvalidInput,
    }
}

fn of_data_type(error: &DataTypeError) -> ErrorKind {
    match error {
        DataTypeError::Unknown(_) => ErrorKind::NotUnderstood,
        _ => ErrorKind::InvalidInput,
    }
}

fn of_codec(error: &CodecError) -> ErrorKind {
    match error {
        CodecError::InvalidConfiguration(_) | CodecError::Unsupported(_) => ErrorKind::NotSupported,
        CodecError::Encode(_) => ErrorKind::InvalidInput,
        CodecError::OutOfMemory { .. } => ErrorKind::Memory,
        CodecError::Inner(_) => ErrorKind::NotUnderstood,
        CodecError::Plugin { .. } => ErrorKind::Plugin,
        // A chunk with too many bytes is damaged, too.
        _ => ErrorKind::Damaged,
    }
}
