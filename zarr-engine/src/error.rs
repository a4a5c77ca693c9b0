//! Errors of the engine.

mod kind;

use std::fmt;

use zarr_metadata::DocumentError;
use zarr_spec::grid::GridError;
use zarr_spec::host::registry::Unknown;
use zarr_spec::store::StoreError;
use zarr_spec::{BoxError, CodecError, DataTypeError, Format, Invalid, Key, NodePath, printable};

use crate::memory::OutOfMemory;

pub use kind::ErrorKind;

/// An error of the engine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no hierarchy in the store.
    #[error("no Zarr hierarchy in {}: {}", printable(.location), printable(.reason))]
    NoHierarchy {
        /// The location of the store.
        location: String,
        /// The keys that were looked for, and what was found instead.
        reason: String,
    },
    /// A metadata document does not conform to its format.
    #[error("document `{}`: {source}", printable(.key))]
    Document {
        /// The key of the document.
        key: String,
        /// The cause.
        source: DocumentError,
    },
    /// There is no node at this path.
    #[error("there is no node at {}", printable(.0))]
    NoNode(NodePath),
    /// The node has the other kind.
    #[error("{} is {found}, not {wanted}", printable(.path))]
    WrongKind {
        /// The path of the node.
        path: NodePath,
        /// The kind that was found: "an array" or "a group".
        found: &'static str,
        /// The kind that was expected: "an array" or "a group".
        wanted: &'static str,
    },
    /// The node already exists, or another node is in the way.
    #[error("cannot create {}: {}", printable(.path), printable(.reason))]
    InTheWay {
        /// The path of the node that was not created.
        path: NodePath,
        /// The reason, such as the node that is in the way.
        reason: String,
    },
    /// Erasing a node would erase a document of another format in the same folder. Nothing was erased.
    #[error(
        "cannot erase {}: `{}` is a document of {format} and would be erased, too; nothing was erased",
        printable(.path), printable(.key)
    )]
    OtherFormat {
        /// The path of the node that was not erased.
        path: NodePath,
        /// The key of the document.
        key: String,
        /// The format of the document, or its possible formats.
        format: String,
    },
    /// The metadata of an array cannot be used.
    #[error(
        "array {} cannot be read or written: document `{}`: {}",
        printable(.path), printable(.key), Listed(.problems)
    )]
    NotUnderstood {
        /// The path of the array.
        path: NodePath,
        /// The key of its document.
        key: String,
        /// All problems with the metadata.
        problems: Vec<Problem>,
    },
    /// A chunk could not be encoded or decoded.
    #[error(
        "chunk {index:?} of {} (key `{}`){}{}: {source}",
        printable(.path), printable(.key),
        .inner.as_ref().map(|inner| format!(", inner chunk {inner:?}")).unwrap_or_default(),
        .codec.as_ref().map(|codec| format!(", codec `{}`", printable(codec))).unwrap_or_default()
    )]
    Chunk {
        /// The path of the array.
        path: NodePath,
        /// The index of the chunk in the chunk grid.
        index: Vec<u64>,
        /// The key of its value.
        key: String,
        /// The index of the inner chunk in its shard, if an inner chunk failed.
        inner: Option<Box<[u64]>>,
        /// The codec that failed, if a codec did.
        codec: Option<String>,
        /// The cause.
        source: Box<CodecError>,
    },
    /// A stored key of an array cannot be mapped to a chunk.
    #[error(
        "key `{}`: cannot determine the chunk index in {}: {}",
        printable(.key), printable(.path), printable(.source)
    )]
    ChunkKey {
        /// The path of the array.
        path: NodePath,
        /// The key of the value.
        key: String,
        /// The error of the chunk key encoding or the chunk grid.
        source: BoxError,
    },
    /// A chunk needs more memory than the whole budget of the context. Nothing was allocated for it.
    #[error(
        "chunk {index:?} of {path} (key `{key}`) needs {} than the memory budget for chunks, {}: \
         raise it with `Limits::memory` or `zarrctl --memory`",
        more_memory(*.needed), in_mebibytes(*.budget)
    )]
    OverBudget {
        /// The path of the array.
        path: NodePath,
        /// The index of the chunk in the chunk grid.
        index: Vec<u64>,
        /// The key of its value.
        key: String,
        /// The required memory in bytes; `None` if it is known only after decoding.
        needed: Option<u64>,
        /// The budget in bytes.
        budget: u64,
    },
    /// A chunk is missing, and the fill value of the array is undefined.
    #[error(
        "chunk {index:?} of {} is not stored, and {}; zeros are read if the context allows it",
        printable(.path), printable(.reason)
    )]
    UndefinedFillValue {
        /// The path of the array.
        path: NodePath,
        /// The index of the chunk in the chunk grid.
        index: Vec<u64>,
        /// The reason why the fill value is undefined: the document leaves it undefined, or it belongs to an unknown
        /// data type.
        reason: String,
    },
    /// A selection is invalid or outside of the array.
    #[error("{}", printable(.0))]
    Selection(String),
    /// The type or the number of elements does not match.
    #[error("{}", printable(.0))]
    Elements(String),
    /// The operation is not supported by this handle, store or format.
    #[error("{}", printable(.0))]
    NotSupported(String),
    /// The format cannot represent something.
    #[error("{format} does not support {}", printable(.reason))]
    NotInFormat {
        /// The format.
        format: Format,
        /// The unsupported feature, and what to do instead.
        reason: String,
    },
    /// The description of a new array or store is invalid.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The description of a new array or the location of a store names plugins that are missing from this program.
    #[error("{}", printable(.message))]
    MissingPlugins {
        /// The message, which names the place and the plugins.
        message: String,
        /// The missing plugins.
        missing: Vec<Unknown>,
    },
    /// The data type or fill value of a new array is invalid.
    #[error(transparent)]
    DataType(#[from] DataTypeError),
    /// The system does not have enough memory.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
}

impl Error {
    /// Adds the inner chunk to the error of a chunk, unless it has one.
    pub(crate) fn in_inner_chunk(mut self, position: impl FnOnce() -> Vec<u64>) -> Self {
        if let Self::Chunk { inner: inner @ None, .. } = &mut self {
            *inner = Some(position().into());
        }
        self
    }

    /// Returns the error for a document that does not conform to its format.
    pub(crate) fn document(key: &Key, source: DocumentError) -> Self {
        Self::Document { key: key.to_string(), source }
    }
}

const MEBIBYTE: u64 = 1 << 20;

/// Formats the memory that a chunk needs. It is rounded up, because it exceeds a budget that is rounded down.
fn more_memory(needed: Option<u64>) -> String {
    match needed {
        Some(needed) if needed < MEBIBYTE => format!("{needed} bytes of memory, more"),
        Some(needed) => {
            let tenths = (u128::from(needed) * 10).div_ceil(u128::from(MEBIBYTE));
            format!("{}.{} MiB of memory, more", tenths / 10, tenths % 10)
        }
        None => "more memory".to_owned(),
    }
}

/// Formats a number of bytes, rounded down.
fn in_mebibytes(size: u64) -> String {
    match size / MEBIBYTE {
        0 => format!("{size} bytes"),
        whole => format!("{whole}.{} MiB", size % MEBIBYTE * 10 / MEBIBYTE),
    }
}

/// A selection requested a chunk that the grid does not have.
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

struct Listed<'a>(&'a [Problem]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.0.iter().enumerate() {
            let separator = if number == 0 { "" } else { "; " };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}
