//! Errors as programs handle them.

use zarr_spec::host::registry::Unknown;
use zarr_spec::store::{IoKind, StoreError};
use zarr_spec::{CodecError, DataTypeError};

use super::Error;

/// What a program can do about an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no such hierarchy or node, or a chunk without a fill value is not stored.
    NotFound,
    /// Another node is in the way.
    AlreadyExists,
    /// The node is an array where a group was expected, or a group where an array was.
    WrongKind,
    /// The metadata uses something that this program does not know. [`Error::missing_plugins`] lists plugins.
    NotUnderstood,
    /// The caller passed something that is not valid, such as a selection outside of the array.
    InvalidInput,
    /// The store, the format or the codec does not have this operation.
    NotSupported,
    /// Stored bytes are not what the format requires.
    Damaged,
    /// More memory is needed than the limits allow, or than the machine has.
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
            Self::Cancelled => ErrorKind::Cancelled,
            Self::Store(error) => of_store(error),
            Self::Chunk(error) => of_codec(&error.source),
            Self::DataType(error) => of_data_type(error),
        }
    }

    /// Returns the plugins that the metadata, the description of a new array or the location of a store names and this
    /// program does not have.
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
        // More bytes than the chunk has elements for are damage, too.
        _ => ErrorKind::Damaged,
    }
}
