//! Errors: [`Error`], the contents of its variants, and [`ErrorKind`].

mod details;
mod kind;
mod text;

use std::fmt;

use zarr_metadata::DocumentError;
use zarr_spec::grid::GridError;
use zarr_spec::host::registry::Unknown;
use zarr_spec::store::StoreError;
use zarr_spec::{DataTypeError, Invalid, Key, KeyError, NodePath, printable};

use crate::memory::OutOfMemory;

pub use details::{
    ChunkError, ChunkKeyError, InTheWay, InvalidDocument, MissingPlugins, NoHierarchy, NotInFormat,
    NotUnderstood, OtherFormat, OverBudget, UndefinedFillValue, WrongKind,
};
pub use kind::ErrorKind;

/// An error of the engine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store failed.
    #[error(transparent)]
    Store(Box<StoreError>),
    /// There is no hierarchy in the store.
    #[error(transparent)]
    NoHierarchy(Box<NoHierarchy>),
    /// A metadata document does not conform to its format.
    #[error(transparent)]
    Document(Box<InvalidDocument>),
    /// There is no node at this path.
    #[error("there is no node at {}", printable(.0))]
    NoNode(NodePath),
    /// The node is an array where a group was expected, or the reverse.
    #[error(transparent)]
    WrongKind(Box<WrongKind>),
    /// The node already exists, or another node is in the way.
    #[error(transparent)]
    InTheWay(Box<InTheWay>),
    /// Erasing a node would erase a document of another format in the same folder. Nothing was erased.
    #[error(transparent)]
    OtherFormat(Box<OtherFormat>),
    /// The metadata of an array cannot be used.
    #[error(transparent)]
    NotUnderstood(Box<NotUnderstood>),
    /// A chunk could not be encoded or decoded.
    #[error(transparent)]
    Chunk(Box<ChunkError>),
    /// A stored key of an array cannot be mapped to a chunk.
    #[error(transparent)]
    ChunkKey(Box<ChunkKeyError>),
    /// A chunk needs more memory than the whole budget of the context. Nothing was allocated for it.
    #[error(transparent)]
    OverBudget(Box<OverBudget>),
    /// A chunk is missing, and the fill value of the array is undefined.
    #[error(transparent)]
    UndefinedFillValue(Box<UndefinedFillValue>),
    /// A selection is invalid or outside of the array.
    #[error("{}", printable(.0))]
    Selection(String),
    /// The type or the number of elements does not match.
    #[error("{}", printable(.0))]
    Elements(String),
    /// The operation is not supported by this handle, store or format.
    #[error("{}", printable(.0))]
    NotSupported(String),
    /// The format does not support a feature that was requested.
    #[error(transparent)]
    NotInFormat(Box<NotInFormat>),
    /// The description of a new array or store is invalid.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The description of a new array or the location of a store names plugins that are missing from this program.
    #[error(transparent)]
    MissingPlugins(Box<MissingPlugins>),
    /// The data type or fill value of a new array is invalid.
    #[error(transparent)]
    DataType(Box<DataTypeError>),
    /// The system does not have enough memory.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
    /// Another program changed a document at the same time. Changes are repeated, so that this is rare.
    #[error("`{}` was changed by another program at the same time; repeat the operation", printable(.0))]
    Conflict(Key),
    /// The operation was cancelled: see [`Progress`](crate::Progress). Some of its chunks may be complete.
    #[error("the operation was cancelled")]
    Cancelled,
}

impl Error {
    /// Adds the index of the inner chunk to the error of a chunk, unless the error already has one.
    pub(crate) fn in_inner_chunk(mut self, position: impl FnOnce() -> Vec<u64>) -> Self {
        if let Self::Chunk(error) = &mut self {
            error.inner.get_or_insert_with(|| position().into());
        }
        self
    }

    pub(crate) fn document(key: &Key, source: DocumentError) -> Self {
        InvalidDocument { key: key.to_string(), source }.into()
    }
}

/// Converts the error for a node path that cannot be a key.
impl From<KeyError> for Error {
    fn from(error: KeyError) -> Self {
        StoreError::from(error).into()
    }
}

/// Converts the error for a selection that requested a chunk that the grid does not have.
impl From<GridError> for Error {
    fn from(error: GridError) -> Self {
        Self::Selection(error.to_string())
    }
}

/// One problem with the metadata of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The member of the document, such as `codecs[1]`.
    pub place: String,
    /// The cause, and a possible remedy.
    pub reason: String,
    /// Plugins that are missing from this program, including those inside of a codec. Empty if a plugin rejected its
    /// configuration.
    pub missing: Vec<Unknown>,
}

impl Problem {
    pub(crate) fn new(place: impl Into<String>, reason: impl ToString) -> Self {
        Self { place: place.into(), reason: reason.to_string(), missing: Vec::new() }
    }

    pub(crate) fn unknown(place: impl Into<String>, unknown: Unknown) -> Self {
        Self { place: place.into(), reason: unknown.to_string(), missing: vec![unknown] }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", printable(&self.place), printable(&self.reason))
    }
}

#[cfg(test)]
mod tests {
    use zarr_spec::CodecError;

    use super::*;

    /// The results of operations must be small, because they are moved several times for each chunk.
    #[test]
    fn results_of_operations_are_small() {
        let words = |size: usize| size.div_ceil(size_of::<usize>());
        assert_eq!(words(size_of::<Error>()), 4);
        assert_eq!(words(size_of::<Result<(), Error>>()), 4);
        assert_eq!(words(size_of::<Result<Option<bool>, Error>>()), 4);
        assert!(words(size_of::<CodecError>()) <= 6, "{}", size_of::<CodecError>());
        assert!(words(size_of::<StoreError>()) <= 9, "{}", size_of::<StoreError>());
    }
}
