//! What goes wrong, and where.

mod kind;

use std::fmt;

use zarr_metadata::DocumentError;
use zarr_spec::grid::GridError;
use zarr_spec::host::registry::Unknown;
use zarr_spec::store::StoreError;
use zarr_spec::{BoxError, CodecError, DataTypeError, Format, Invalid, Key, NodePath, printable};

use crate::memory::OutOfMemory;

pub use kind::ErrorKind;

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no hierarchy in the store.
    #[error("no Zarr hierarchy in {}: {}", printable(.location), printable(.reason))]
    NoHierarchy {
        /// Where the store is.
        location: String,
        /// What was looked for, or found instead.
        reason: String,
    },
    /// A metadata document is not what its format wants.
    #[error("document `{}`: {source}", printable(.key))]
    Document {
        /// The key of the document.
        key: String,
        /// What is wrong with it.
        source: DocumentError,
    },
    /// There is no node at this path.
    #[error("there is no node at {}", printable(.0))]
    NoNode(NodePath),
    /// There is a node, and it is of the other kind.
    #[error("{} is {found}, not {wanted}", printable(.path))]
    WrongKind {
        /// The path of the node.
        path: NodePath,
        /// "an array" or "a group".
        found: &'static str,
        /// "an array" or "a group".
        wanted: &'static str,
    },
    /// There is a node already, or one that stands in the way.
    #[error("cannot create {}: {}", printable(.path), printable(.reason))]
    InTheWay {
        /// The path of the node that was to be created.
        path: NodePath,
        /// What is there.
        reason: String,
    },
    /// Erasing a node would erase a document of another format, which is in the same folder; nothing was erased.
    #[error(
        "cannot erase {}: `{}` is a document of {format} and would go with it; nothing was erased",
        printable(.path), printable(.key)
    )]
    OtherFormat {
        /// The path of the node that was to be erased.
        path: NodePath,
        /// The key of the document.
        key: String,
        /// The format, or those that it may be of.
        format: String,
    },
    /// The array cannot be used: everything about it that was not understood.
    #[error(
        "array {} cannot be read or written: document `{}`: {}",
        printable(.path), printable(.key), Listed(.problems)
    )]
    NotUnderstood {
        /// The path of the array.
        path: NodePath,
        /// The key of its document.
        key: String,
        /// All of it.
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
        /// The position of the chunk in the chunk grid.
        index: Vec<u64>,
        /// The key of its value.
        key: String,
        /// The position of the inner chunk in its shard, if one of them failed.
        inner: Option<Box<[u64]>>,
        /// The codec that failed, if it was one.
        codec: Option<String>,
        /// What it said.
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
        /// The key.
        key: String,
        /// What the chunk key encoding or the chunk grid said.
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
        /// The position of the chunk in the chunk grid.
        index: Vec<u64>,
        /// The key of its value.
        key: String,
        /// Bytes that it needs; `None` if only decoding tells.
        needed: Option<u64>,
        /// Bytes of the budget.
        budget: u64,
    },
    /// A chunk is not stored, and the array's fill value is undefined.
    #[error(
        "chunk {index:?} of {} is not stored, and {}; zeros are read when the context allows it",
        printable(.path), printable(.reason)
    )]
    UndefinedFillValue {
        /// The path of the array.
        path: NodePath,
        /// The position of the chunk in the chunk grid.
        index: Vec<u64>,
        /// Why there is no fill value: the document has none, or one of a data type that is not known.
        reason: String,
    },
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
    #[error("{format} does not support this: {}", printable(.reason))]
    NotInFormat {
        /// The format.
        format: Format,
        /// The unsupported feature, and what to do instead.
        reason: String,
    },
    /// A description of a new array or store that makes no sense.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The description of a new array, or the location of a store, names plugins that this program does not have.
    #[error("{}", printable(.message))]
    MissingPlugins {
        /// What names them.
        message: String,
        /// The plugins.
        missing: Vec<Unknown>,
    },
    /// A data type or fill value of a new array that makes no sense.
    #[error(transparent)]
    DataType(#[from] DataTypeError),
    /// The machine has not enough memory.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
}

impl Error {
    /// Returns an error of a chunk, with the inner chunk that it comes from.
    pub(crate) fn in_inner_chunk(mut self, position: impl FnOnce() -> Vec<u64>) -> Self {
        if let Self::Chunk { inner: inner @ None, .. } = &mut self {
            *inner = Some(position().into());
        }
        self
    }

    /// Returns a document that is not what its format wants.
    pub(crate) fn document(key: &Key, source: DocumentError) -> Self {
        Self::Document { key: key.to_string(), source }
    }
}

const MEBIBYTE: u64 = 1 << 20;

/// Returns the words for the memory that a chunk needs. It is rounded up, because it exceeds a budget that is rounded
/// down.
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

/// Returns a number of bytes, rounded down.
fn in_mebibytes(size: u64) -> String {
    match size / MEBIBYTE {
        0 => format!("{size} bytes"),
        whole => format!("{whole}.{} MiB", size % MEBIBYTE * 10 / MEBIBYTE),
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
