//! Codecs: transformations between the elements of a chunk and the bytes in the store.
//!
//! A codec has one of a few kinds, which determine how an engine can use it. Some kinds are plain values that
//! the engine combines with the copy that it makes anyway. The others are small traits with the operations of
//! the specification.
//!
//! # Alignment
//!
//! Buffers of the engine begin at multiples of 64 bytes ([`Buffer`](crate::Buffer)), and `decoded` is usually such a
//! buffer. It can also be memory of the caller or a part of a value, at any address. A codec of numbers calls
//! [`align_to`](slice::align_to), which borrows all elements in the first case, and copies the others.

mod entry;
mod parts;
mod subset;

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use zarr_json::{Object, Value, printable};

use crate::BoxError;
use crate::creation::Creation;
use crate::format::{Format, Invalid};
use crate::host::chain::{ChainError, CodecChain};
use crate::host::registry::{ExtensionPoint, Unknown};
use crate::output::{LimitExceeded, Output};
use crate::plugin::{Plugin, PluginKind};
use crate::representation::{ArrayRepresentation, ByteOrder, Representation, Size};

pub use entry::CodecEntry;
pub use parts::{InParts, PartSource, PartTarget};
pub use subset::{DecodeSubset, EncodedRanges};

/// Why a codec could not be created, or a chunk could not be encoded or decoded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The configuration is invalid for the codec.
    #[error("invalid configuration: {0}")]
    InvalidConfiguration(#[from] Invalid),
    /// The codec does not support this data type, shape or position.
    #[error("{}", printable(.0))]
    Unsupported(String),
    /// The codec cannot represent this chunk.
    #[error("chunk cannot be encoded: {}", printable(.0))]
    Encode(BoxError),
    /// The encoded bytes are not valid output of this codec.
    #[error("chunk is corrupt: {}", printable(.0))]
    Corrupt(BoxError),
    /// The result exceeds the limit.
    #[error(transparent)]
    TooLarge(#[from] LimitExceeded),
    /// The system does not have enough memory.
    #[error("out of memory: cannot allocate {size} bytes for a buffer")]
    OutOfMemory {
        /// The requested number of bytes.
        size: usize,
    },
    /// A chain inside the codec could not be created.
    #[error(transparent)]
    Inner(#[from] Box<ChainError>),
    /// The loaded plugin that provides the codec failed. The chunk may be intact.
    #[error("{plugin} failed: {message}")]
    Plugin {
        /// The plugin and its version: `plugin example-xor 1.2.0`.
        plugin: String,
        /// The failure, as the plugin reports it.
        message: String,
    },
}

impl CodecError {
    /// Creates the error for an invalid configuration from a lower case sentence.
    pub fn configuration(what: impl Into<String>) -> Self {
        Self::InvalidConfiguration(Invalid::new(what))
    }

    /// Creates the error for corrupt bytes. Preserves an error of [`Output`] in `source`.
    pub fn corrupt(source: impl Into<BoxError>) -> Self {
        match limit_of(source.into()) {
            Ok(limit) => Self::TooLarge(limit),
            Err(source) => Self::Corrupt(source),
        }
    }

    /// Creates the error of `encode` of a codec that [only decodes](crate::plugin::Plugin::decodes_only).
    #[must_use]
    pub fn decodes_only() -> Self {
        Self::Unsupported("it only decodes".to_owned())
    }

    /// Returns the unknown identifiers in chains inside the codec.
    #[must_use]
    pub fn unknown(&self) -> Vec<&Unknown> {
        match self {
            Self::Inner(error) => error.unknown(),
            _ => Vec::new(),
        }
    }

    /// Creates the error for a chunk that cannot be encoded. Preserves an error of [`Output`] in `source`.
    pub fn encode(source: impl Into<BoxError>) -> Self {
        match limit_of(source.into()) {
            Ok(limit) => Self::TooLarge(limit),
            Err(source) => Self::Encode(source),
        }
    }
}

/// Finds the error of an [`Output`], which libraries wrap if they use it as an `io::Write`.
fn limit_of(source: BoxError) -> Result<LimitExceeded, BoxError> {
    let inside = source.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    match inside.and_then(|inside| inside.downcast_ref()).or(source.downcast_ref()) {
        Some(&limit) => Ok(limit),
        None => Err(source),
    }
}

/// The result of an operation of a codec.
pub type CodecResult<T = ()> = Result<T, CodecError>;

/// A codec. The variants differ in how an engine can use it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Codec {
    /// Array to array. Encoded dimension `i` is decoded dimension `order[i]`; the bytes of elements do not change.
    Permutation(Vec<usize>),
    /// Array to bytes. Stores elements in C order, numbers in this byte order.
    Binary(ByteOrder),
    /// Bytes to bytes. Adds a checksum and leaves the bytes unchanged.
    Checksum(Arc<dyn Checksum>),
    /// Array to bytes. Stores independent inner chunks and an index of their positions.
    Shard(Arc<Shard>),
    /// Array to array, computed.
    ArrayToArray(Arc<dyn ArrayToArrayCodec>),
    /// Array to bytes, computed.
    ArrayToBytes(Arc<dyn ArrayToBytesCodec>),
    /// Array to bytes, computed from the results of inner chains, which the engine runs.
    Composite(Arc<dyn CompositeCodec>),
    /// Bytes to bytes, computed.
    BytesToBytes(Arc<dyn BytesToBytesCodec>),
}

/// Converts an array to an array of the same elements in another form.
///
/// Elements are in C order and native byte order. [`crate::Elements::Variable`] describes elements of variable size.
pub trait ArrayToArrayCodec: Debug + Send + Sync {
    /// Returns shape, data type, fill value and declared byte order of the encoded side. They must not depend
    /// on elements.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] if the codec does not support the data type or shape, or cannot represent
    /// the fill value.
    fn encoded(&self, decoded: &ArrayRepresentation) -> CodecResult<ArrayRepresentation>;

    /// Appends the encoded form of `decoded`. `array` describes the decoded side.
    ///
    /// # Errors
    ///
    /// [`CodecError::Encode`], [`CodecError::TooLarge`].
    fn encode(&self, array: &ArrayRepresentation, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult;

    /// Appends the decoded form of `encoded`. `array` describes the decoded side.
    ///
    /// # Errors
    ///
    /// [`CodecError::Corrupt`], [`CodecError::TooLarge`].
    fn decode(&self, array: &ArrayRepresentation, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult;
}

/// Converts an array to bytes.
///
/// Elements are in C order and native byte order. [`crate::Elements::Variable`] describes elements of variable size.
pub trait ArrayToBytesCodec: Debug + Send + Sync {
    /// Returns the encoded size, which must not depend on elements.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] if the codec does not support the data type or shape.
    fn encoded_size(&self, array: &ArrayRepresentation) -> CodecResult<Size>;

    /// Appends the encoded form of `decoded`. `array` describes the decoded side.
    ///
    /// # Errors
    ///
    /// [`CodecError::Encode`], [`CodecError::TooLarge`].
    fn encode(&self, array: &ArrayRepresentation, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult;

    /// Appends the decoded form of `encoded`. `array` describes the decoded side.
    ///
    /// # Errors
    ///
    /// [`CodecError::Corrupt`], [`CodecError::TooLarge`].
    fn decode(&self, array: &ArrayRepresentation, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult;

    /// Returns whether the codec encodes chunks like `array`. If not, it only decodes them: arrays with such chunks are
    /// read, and neither created nor written.
    fn encodes(&self, array: &ArrayRepresentation) -> bool {
        let _every_chunk_that_it_is_created_for = array;
        true
    }

    /// Returns the codec as a trait object that decodes subsets, if supported. The default is `None`.
    fn subsets(&self) -> Option<&dyn DecodeSubset> {
        None
    }
}

/// Converts an array to bytes with inner chains of codecs.
///
/// Elements are in C order and native byte order. [`crate::Elements::Variable`] describes elements of variable size.
pub trait CompositeCodec: Debug + Send + Sync {
    /// Returns every inner chain, always in the same order.
    fn chains(&self) -> Vec<&CodecChain>;

    /// Returns the encoded size, which must not depend on elements.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] if the codec does not support the data type or shape.
    fn encoded_size(&self, array: &ArrayRepresentation) -> CodecResult<Size>;

    /// Appends the encoded form of `decoded`. `array` describes the decoded side.
    ///
    /// # Errors
    ///
    /// [`CodecError::Encode`], [`CodecError::TooLarge`], and the errors of `chains`.
    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
        chains: &mut dyn RunChain,
    ) -> CodecResult;

    /// Appends the decoded form of `encoded`. `array` describes the decoded side.
    ///
    /// # Errors
    ///
    /// [`CodecError::Corrupt`], [`CodecError::TooLarge`], and the errors of `chains`.
    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
        chains: &mut dyn RunChain,
    ) -> CodecResult;
}

/// Runs the chains of a [`CompositeCodec`]. The engine implements it.
///
/// A chain is resolved for the given array, whose shape may differ from the shape for which the chain was created.
pub trait RunChain {
    /// Appends the encoded form of the elements `decoded` of `array`.
    ///
    /// # Errors
    ///
    /// The errors of the codecs, and [`CodecError::TooLarge`].
    fn encode(
        &mut self,
        chain: &CodecChain,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> CodecResult;

    /// Appends the elements of `array` that `chain` decodes from `encoded`. If elements have a fixed size,
    /// these are exactly the bytes of the array.
    ///
    /// # Errors
    ///
    /// [`CodecError::Corrupt`], [`CodecError::TooLarge`].
    fn decode(
        &mut self,
        chain: &CodecChain,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> CodecResult;
}

/// Converts bytes to bytes.
pub trait BytesToBytesCodec: Debug + Send + Sync {
    /// Returns the encoded size for a decoded size. The default, unknown, is always correct.
    fn encoded_size(&self, decoded: Size) -> Size {
        let _depends_on_the_bytes = decoded;
        Size::Unknown
    }

    /// Appends the encoded form of `decoded`.
    ///
    /// # Errors
    ///
    /// [`CodecError::Encode`], [`CodecError::TooLarge`].
    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> CodecResult;

    /// Appends the decoded form of `encoded`.
    ///
    /// # Errors
    ///
    /// [`CodecError::Corrupt`]; [`CodecError::TooLarge`] if the result exceeds the limit of `decoded`.
    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> CodecResult;

    /// Like [`BytesToBytesCodec::decode`], for a caller that uses only the decoded bytes in `range`. Appends as many
    /// bytes as `decode`, but bytes outside of `range` may have any value, including the previous content of the
    /// memory. A codec that can avoid work does so here. The default decodes everything.
    ///
    /// Errors in the encoded form of the bytes in `range` are found as in `decode`. Damage in other parts may go
    /// unnoticed, like damage in inner chunks that are not read. A codec with a checksum of all bytes therefore decodes
    /// everything and verifies it.
    ///
    /// # Errors
    ///
    /// Those of `decode`, and [`CodecError::Corrupt`] if `range` exceeds the decoded size.
    fn decode_range(&self, encoded: &[u8], range: Range<usize>, decoded: &mut Output<'_>) -> CodecResult {
        let before = decoded.written().len();
        self.decode(encoded, decoded)?;
        range_within(&range, decoded.written().len() - before)
    }

    /// Returns the codec as a trait object that works in parts, if supported. The default is `None`.
    fn in_parts(&self) -> Option<&dyn InParts> {
        None
    }
}

/// Checks that `range` is within `size` decoded bytes, for [`BytesToBytesCodec::decode_range`].
///
/// # Errors
///
/// [`CodecError::Corrupt`] if it is not.
pub fn range_within(range: &Range<usize>, size: usize) -> CodecResult {
    if range.start <= range.end && range.end <= size {
        return Ok(());
    }
    Err(CodecError::corrupt(format!(
        "requested bytes {} to {}, but the decoded size is {size}",
        range.start, range.end
    )))
}

/// A checksum before or after unchanged bytes. Decoding verifies it and returns a part of the same buffer.
pub trait Checksum: Debug + Send + Sync {
    /// Returns the size of the checksum in bytes.
    fn size(&self) -> usize;

    /// Returns whether the checksum precedes the bytes.
    fn at_start(&self) -> bool {
        false
    }

    /// Writes the checksum of `bytes` to all of `checksum`, which has [`Checksum::size`] bytes.
    ///
    /// # Errors
    ///
    /// Only if a loaded library computes the checksum and fails.
    fn checksum(&self, bytes: &[u8], checksum: &mut [u8]) -> CodecResult;
}

/// Inner chunks, encoded separately, and an index of their positions.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Shard {
    /// The shape of an inner chunk; it divides the shape of the shard.
    pub inner_shape: Vec<u64>,
    /// The codecs of each inner chunk.
    pub inner_codecs: CodecChain,
    /// The codecs of the index: an array of `uint64` whose shape is the number of inner chunks per dimension, and 2. It
    /// contains offset and size in bytes, both 2^64 - 1 for a missing inner chunk. Its encoded size is fixed.
    pub index_codecs: CodecChain,
    /// Whether the index is the first part of the shard rather than the last.
    pub index_at_start: bool,
}

impl Shard {
    /// Creates a shard with inner chunks of `inner_shape` and the index at the end.
    #[must_use]
    pub const fn new(inner_shape: Vec<u64>, inner_codecs: CodecChain, index_codecs: CodecChain) -> Self {
        Self { inner_shape, inner_codecs, index_codecs, index_at_start: false }
    }

    /// Sets whether the index is at the start of the shard rather than at the end.
    #[must_use]
    pub fn with_index_at_start(self, index_at_start: bool) -> Self {
        Self { index_at_start, ..self }
    }
}

/// A codec that a program knows. It is created for the array or bytes that the preceding codecs produce;
/// [`CodecChain::created_for`] describes the only exception.
pub type CodecPlugin = Plugin<Codec>;

impl PluginKind for Codec {
    type Create = dyn Fn(&Creation<'_>, &Representation) -> CodecResult<Codec> + Send + Sync;

    const POINT: ExtensionPoint = ExtensionPoint::Codec;
}

inventory::collect!(CodecPlugin);

/// Writes all members of `T`, including defaults: an argument for [`CodecPlugin::translated_by`] for a codec
/// that has the same configuration in every format.
///
/// # Errors
///
/// [`CodecError::InvalidConfiguration`] if [`Creation::parse`] refuses the configuration.
pub fn all_members<T: DeserializeOwned + Serialize>(
    creation: &Creation<'_>,
    _decoded: &Representation,
    _to: Format,
) -> CodecResult<Object> {
    match zarr_json::to_value(&creation.parse::<T>()?) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(other) => {
            Err(CodecError::configuration(format!("expected an object, found {}", other.kind_name())))
        }
        Err(error) => Err(CodecError::configuration(error.to_string())),
    }
}
