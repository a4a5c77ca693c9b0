//! Errors: [`Error`], what its variants hold, and [`ErrorKind`].

mod details;
mod kind;
mod text;

use std::fmt;

use zarr_metadata::DocumentError;
use zarr_spec::grid::GridError;
use zarr_spec::host::registry::Unknown;
use zarr_spec::store::StoreError;
use zarr_spec::{DataTypeError, Invalid, Key, NodePath, printable};

use crate::memory::OutOfMemory;

pub use details::{
    ChunkError, ChunkKeyError, InTheWay, InvalidDocument, MissingPlugins, NoHierarchy, NotInFormat,
    NotUnderstood, OtherFormat, OverBudget, UndefinedFillValue, WrongKind,
};
pub use kind::ErrorKind;

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store failed.
    #[error(transparent)]
    Store(Box<StoreError>),
    /// There is no hierarchy in the store.
    #[error(transparent)]
    NoHierarchy(Box<NoHierarchy>),
    /// A metadata document is not what its format wants.
    #[error(transparent)]
    Document(Box<InvalidDocument>),
    /// There is no node at this path.
    #[error("there is no node at {}", printable(.0))]
    NoNode(NodePath),
    /// There is a node, and it is of the other kind.
    #[error(transparent)]
    WrongKind(Box<WrongKind>),
    /// There is a node already, or one that stands in the way.
    #[error(transparent)]
    InTheWay(Box<InTheWay>),
    /// Erasing a node would erase a document of another format, which is in the same folder; nothing was erased.
    #[error(transparent)]
    OtherFormat(Box<OtherFormat>),
    /// The array cannot be used: everything about it that was not understood.
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
    /// A chunk is not stored, and the array's fill value is undefined.
    #[error(transparent)]
    UndefinedFillValue(Box<UndefinedFillValue>),
    /// What was selected is not in the array, or makes no sense.
    #[error("{}", printable(.0))]
    Selection(String),
    /// Elements do not fit: another type, or another number of them.
    #[error("{}", printable(.0))]
    Elements(String),
    /// Something that this handle or this format does not do.
    #[error("{}", printable(.0))]
    NotSupported(String),
    /// The format has no representation for this.
    #[error(transparent)]
    NotInFormat(Box<NotInFormat>),
    /// A description of a new array or store that makes no sense.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The description of a new array, or the location of a store, names plugins that this program does not have.
    #[error(transparent)]
    MissingPlugins(Box<MissingPlugins>),
    /// A data type or fill value of a new array that makes no sense.
    #[error(transparent)]
    DataType(Box<DataTypeError>),
    /// The machine has not enough memory.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
    /// The operation was cancelled: see [`Progress`](crate::Progress). Some of its chunks may be done.
    #[error("the operation was cancelled")]
    Cancelled,
}

impl Error {
    /// An error of a chunk, with the inner chunk that it comes from.
    pub(crate) fn in_inner_chunk(mut self, position: impl FnOnce() -> Vec<u64>) -> Self {
        if let Self::Chunk(error) = &mut self {
            error.inner.get_or_insert_with(|| position().into());
        }
        self
    }

    /// A document that is not what its format wants.
    pub(crate) fn document(key: &Key, source: DocumentError) -> Self {
        InvalidDocument { key: key.to_string(), source }.into()
    }
}

/// What a chunk grid does not know was asked for by a selection.
impl From<GridError> for Error {
    fn from(error: GridError) -> Self {
        Self::Selection(error.to_string())
    }
}

/// One thing about an array that was not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The member of the document, such as `codecs[1]`.
    pub place: String,
    /// What is wrong with it, and what could be done.
    pub reason: String,
    /// Plugins that this program does not have, also those that a codec contains. Empty if a plugin refuses what it was
    /// given.
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

    /// Results are moved several times for each chunk.
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
