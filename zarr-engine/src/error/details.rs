//! The contents of the variants of [`Error`](super::Error), which are boxed so that results are small.

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
    /// The location of the store.
    pub location: String,
    /// The keys that were looked for, and what was found instead.
    pub reason: String,
}

/// A metadata document does not conform to its format.
#[derive(Debug, thiserror::Error)]
#[error("document `{}`: {source}", printable(.key))]
#[non_exhaustive]
pub struct InvalidDocument {
    /// The key of the document.
    pub key: String,
    /// The cause.
    pub source: DocumentError,
}

/// The node is an array where a group was expected, or the reverse.
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

/// The node already exists, or another node is in the way.
#[derive(Debug, thiserror::Error)]
#[error("cannot create {}: {}", printable(.path), printable(.reason))]
#[non_exhaustive]
pub struct InTheWay {
    /// The path of the node that was not created.
    pub path: NodePath,
    /// The reason, such as the node that is in the way.
    pub reason: String,
}

/// Erasing a node would erase a document of another format in the same folder. Nothing was erased.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot erase {}: `{}` is a document of {format} and would be erased, too; nothing was erased",
    printable(.path), printable(.key)
)]
#[non_exhaustive]
pub struct OtherFormat {
    /// The path of the node that was not erased.
    pub path: NodePath,
    /// The key of the document.
    pub key: String,
    /// The format of the document, or its possible formats.
    pub format: String,
}

/// The metadata of an array cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "array {} cannot be read or written: document `{}`: {}",
    printable(.path), printable(.key), listed(.problems)
)]
#[non_exhaustive]
pub struct NotUnderstood {
    /// The path of the array.
    pub path: NodePath,
    /// The key of the array's document.
    pub key: String,
    /// All problems with the metadata.
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
    /// The index of the chunk in the chunk grid.
    pub index: Vec<u64>,
    /// The key of the chunk's value.
    pub key: String,
    /// The index of the inner chunk in its shard, if an inner chunk failed.
    pub inner: Option<Box<[u64]>>,
    /// The codec that failed, if a codec did.
    pub codec: Option<String>,
    /// The cause.
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
    /// The key of the value.
    pub key: String,
    /// The error of the chunk key encoding or the chunk grid.
    pub source: BoxError,
}

/// A chunk needs more memory than the whole budget of the context. Nothing was allocated for it.
#[derive(Debug, thiserror::Error)]
#[error(
    "chunk {index:?} of {path} (key `{key}`) needs {} than the memory budget for chunks, {}: \
     raise it with {setting}",
    more_memory(*.needed), in_mebibytes(*.budget)
)]
#[non_exhaustive]
pub struct OverBudget {
    /// The path of the array.
    pub path: NodePath,
    /// The index of the chunk in the chunk grid.
    pub index: Vec<u64>,
    /// The key of the chunk's value.
    pub key: String,
    /// The required memory in bytes; `None` if it is known only after decoding.
    pub needed: Option<u64>,
    /// The budget in bytes.
    pub budget: u64,
    /// The setting that raises the budget, as [`Limits::memory_setting`](crate::Limits::memory_setting) names it.
    pub setting: &'static str,
}

/// A chunk is missing, and the fill value of the array is undefined.
#[derive(Debug, thiserror::Error)]
#[error(
    "chunk {index:?} of {} is not stored, and {}; zeros are read if the context allows it",
    printable(.path), printable(.reason)
)]
#[non_exhaustive]
pub struct UndefinedFillValue {
    /// The path of the array.
    pub path: NodePath,
    /// The index of the chunk in the chunk grid.
    pub index: Vec<u64>,
    /// The reason why the fill value is undefined: the document leaves it undefined, or it belongs to an unknown data
    /// type.
    pub reason: String,
}

/// The format does not support a feature that was requested.
#[derive(Debug, thiserror::Error)]
#[error("{format} does not support {}", printable(.reason))]
#[non_exhaustive]
pub struct NotInFormat {
    /// The format.
    pub format: Format,
    /// The unsupported feature, and what to do instead.
    pub reason: String,
}

/// The description of a new array or the location of a store names plugins that are missing from this program.
#[derive(Debug, thiserror::Error)]
#[error("{}", printable(.message))]
#[non_exhaustive]
pub struct MissingPlugins {
    /// The message, which names the place and the plugins.
    pub message: String,
    /// The missing plugins.
    pub missing: Vec<Unknown>,
}

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
