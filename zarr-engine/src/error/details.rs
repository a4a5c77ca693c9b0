//! What the variants of [`Error`](super::Error) hold. They are boxed, so that the results of all operations are small.

use zarr_metadata::DocumentError;
use zarr_spec::host::registry::Unknown;
use zarr_spec::{BoxError, CodecError, Format, NodePath, printable};

use super::text::{in_mebibytes, inner_chunk, listed, more_memory, named_codec};
use super::{Error, Problem};

/// There is no hierarchy in the store.
#[derive(Debug, thiserror::Error)]
#[error("no Zarr hierarchy in {}: {}", printable(.location), printable(.reason))]
#[non_exhaustive]
pub struct NoHierarchy {
    /// Where the store is.
    pub location: String,
    /// What was looked for, or found instead.
    pub reason: String,
}

/// A metadata document is not what its format wants.
#[derive(Debug, thiserror::Error)]
#[error("document `{}`: {source}", printable(.key))]
#[non_exhaustive]
pub struct InvalidDocument {
    /// The key of the document.
    pub key: String,
    /// What is wrong with it.
    pub source: DocumentError,
}

/// There is a node, and it is of the other kind.
#[derive(Debug, thiserror::Error)]
#[error("{} is {found}, not {wanted}", printable(.path))]
#[non_exhaustive]
pub struct WrongKind {
    /// The path of the node.
    pub path: NodePath,
    /// "an array" or "a group".
    pub found: &'static str,
    /// "an array" or "a group".
    pub wanted: &'static str,
}

/// There is a node already, or one that stands in the way.
#[derive(Debug, thiserror::Error)]
#[error("cannot create {}: {}", printable(.path), printable(.reason))]
#[non_exhaustive]
pub struct InTheWay {
    /// The path of the node that was to be created.
    pub path: NodePath,
    /// What is there.
    pub reason: String,
}

/// Erasing a node would erase a document of another format, which is in the same folder; nothing was erased.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot erase {}: `{}` is a document of {format} and would go with it; nothing was erased",
    printable(.path), printable(.key)
)]
#[non_exhaustive]
pub struct OtherFormat {
    /// The path of the node that was to be erased.
    pub path: NodePath,
    /// The key of the document.
    pub key: String,
    /// The format, or those that it may be of.
    pub format: String,
}

/// The array cannot be used: everything about it that was not understood.
#[derive(Debug, thiserror::Error)]
#[error(
    "array {} cannot be read or written: document `{}`: {}",
    printable(.path), printable(.key), listed(.problems)
)]
#[non_exhaustive]
pub struct NotUnderstood {
    /// The path of the array.
    pub path: NodePath,
    /// The key of its document.
    pub key: String,
    /// All of it.
    pub problems: Vec<Problem>,
}

/// A chunk could not be encoded or decoded.
#[derive(Debug, thiserror::Error)]
#[error(
    "chunk {index:?} of {} (key `{}`){}{}: {source}",
    printable(.path), printable(.key), inner_chunk(.inner.as_deref()), named_codec(.codec.as_deref())
)]
#[non_exhaustive]
pub struct ChunkError {
    /// The path of the array.
    pub path: NodePath,
    /// The position of the chunk in the chunk grid.
    pub index: Vec<u64>,
    /// The key of its value.
    pub key: String,
    /// The position of the inner chunk in its shard, if one of them failed.
    pub inner: Option<Box<[u64]>>,
    /// The codec that failed, if it was one.
    pub codec: Option<String>,
    /// What it said.
    pub source: CodecError,
}

/// A stored key of an array cannot be mapped to a chunk.
#[derive(Debug, thiserror::Error)]
#[error(
    "key `{}`: cannot determine the chunk index in {}: {}",
    printable(.key), printable(.path), printable(.source)
)]
#[non_exhaustive]
pub struct ChunkKeyError {
    /// The path of the array.
    pub path: NodePath,
    /// The key.
    pub key: String,
    /// What the chunk key encoding or the chunk grid said.
    pub source: BoxError,
}

/// A chunk needs more memory than the whole budget of the context. Nothing was allocated for it.
#[derive(Debug, thiserror::Error)]
#[error(
    "chunk {index:?} of {path} (key `{key}`) needs {} than the memory budget for chunks, {}: \
     raise it with `Limits::memory` or `zarrctl --memory`",
    more_memory(*.needed), in_mebibytes(*.budget)
)]
#[non_exhaustive]
pub struct OverBudget {
    /// The path of the array.
    pub path: NodePath,
    /// The position of the chunk in the chunk grid.
    pub index: Vec<u64>,
    /// The key of its value.
    pub key: String,
    /// Bytes that it needs; `None` if only decoding tells.
    pub needed: Option<u64>,
    /// Bytes of the budget.
    pub budget: u64,
}

/// A chunk is not stored, and the array's fill value is undefined.
#[derive(Debug, thiserror::Error)]
#[error(
    "chunk {index:?} of {} is not stored, and {}; zeros are read when the context allows it",
    printable(.path), printable(.reason)
)]
#[non_exhaustive]
pub struct UndefinedFillValue {
    /// The path of the array.
    pub path: NodePath,
    /// The position of the chunk in the chunk grid.
    pub index: Vec<u64>,
    /// Why there is no fill value: the document has none, or one of a data type that is not known.
    pub reason: String,
}

/// The format has no representation for this.
#[derive(Debug, thiserror::Error)]
#[error("{format} does not support this: {}", printable(.reason))]
#[non_exhaustive]
pub struct NotInFormat {
    /// The format.
    pub format: Format,
    /// The unsupported feature, and what to do instead.
    pub reason: String,
}

/// The description of a new array, or the location of a store, names plugins that this program does not have.
#[derive(Debug, thiserror::Error)]
#[error("{}", printable(.message))]
#[non_exhaustive]
pub struct MissingPlugins {
    /// What names them.
    pub message: String,
    /// The plugins.
    pub missing: Vec<Unknown>,
}

/// Converts the errors that variants hold, and boxes them.
macro_rules! boxed {
    ($($variant:ident($details:ty)),+ $(,)?) => {$(
        impl From<$details> for Error {
            fn from(details: $details) -> Self {
                Self::$variant(Box::new(details))
            }
        }
    )+};
}

boxed! {
    Store(zarr_spec::store::StoreError),
    NoHierarchy(NoHierarchy),
    Document(InvalidDocument),
    WrongKind(WrongKind),
    InTheWay(InTheWay),
    OtherFormat(OtherFormat),
    NotUnderstood(NotUnderstood),
    Chunk(ChunkError),
    ChunkKey(ChunkKeyError),
    OverBudget(OverBudget),
    UndefinedFillValue(UndefinedFillValue),
    NotInFormat(NotInFormat),
    MissingPlugins(MissingPlugins),
    DataType(zarr_spec::DataTypeError),
}
