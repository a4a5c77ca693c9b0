//! Codecs: what stands between the elements of a chunk and the bytes in the store.
//!
//! A codec is one of a few kinds, by what an engine can do with it. Some kinds are plain values that the engine
//! folds into the copy it makes anyway; the others are small traits with the procedures of the specification.

mod entry;
mod parts;

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
use crate::plugin::{Kind, Plugin};
use crate::representation::{ArrayRepresentation, ByteOrder, Representation, Size};

pub use entry::CodecEntry;
pub use parts::{InParts, PartSource, PartTarget};

/// Why a codec could not be created, or a chunk not be encoded or decoded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The configuration does not fit the codec.
    #[error("invalid configuration: {0}")]
    InvalidConfiguration(#[from] Invalid),
    /// The codec does not work with this data type, shape or position.
    #[error("{}", printable(.0))]
    Unsupported(String),
    /// The codec cannot represent this chunk.
    #[error("chunk cannot be encoded: {}", printable(.0))]
    Encode(BoxError),
    /// The encoded bytes are not what this codec writes.
    #[error("chunk is corrupt: {}", printable(.0))]
    Corrupt(BoxError),
    /// More came out than may.
    #[error(transparent)]
    TooLarge(#[from] LimitExceeded),
    /// The system has no memory left.
    #[error("out of memory: the system has no {size} bytes for a buffer")]
    OutOfMemory {
        /// Bytes that were asked for.
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
        /// What the plugin did.
        message: String,
    },
}

impl CodecError {
    /// The configuration does not fit, in a lower case sentence.
    pub fn configuration(what: impl Into<String>) -> Self {
        Self::InvalidConfiguration(Invalid::new(what))
    }

    /// The encoded bytes are not what this codec writes. An error of [`Output`] inside stays what it is.
    pub fn corrupt(source: impl Into<BoxError>) -> Self {
        match limit_of(source.into()) {
            Ok(limit) => Self::TooLarge(limit),
            Err(source) => Self::Corrupt(source),
        }
    }

    /// Returns the identifiers in chains inside the codec that no plugin has.
    #[must_use]
    pub fn unknown(&self) -> Vec<&Unknown> {
        match self {
            Self::Inner(error) => error.unknown(),
            _ => Vec::new(),
        }
    }

    /// The codec cannot represent this chunk. An error of [`Output`] inside stays what it is.
    pub fn encode(source: impl Into<BoxError>) -> Self {
        match limit_of(source.into()) {
            Ok(limit) => Self::TooLarge(limit),
            Err(source) => Self::Encode(source),
        }
    }
}

/// Libraries that write to an [`Output`] as to any `io::Write` wrap its error.
fn limit_of(source: BoxError) -> Result<LimitExceeded, BoxError> {
    let inside = source.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    match inside.and_then(|inside| inside.downcast_ref()).or(source.downcast_ref()) {
        Some(&limit) => Ok(limit),
        None => Err(source),
    }
}

/// A codec, by what an engine can do with it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Codec {
    /// Array to array. Encoded dimension `i` is decoded dimension `order[i]`; elements keep their bytes.
    Permutation(Vec<usize>),
    /// Array to bytes. Elements one after another in C order, numbers in this byte order.
    Binary(ByteOrder),
    /// Bytes to bytes: the same bytes and a checksum beside them.
    Checksum(Arc<dyn Checksum>),
    /// Array to bytes: independent inner chunks and an index of where each one is.
    Shard(Arc<Shard>),
    /// Array to array, computed.
    ArrayToArray(Arc<dyn ArrayToArrayCodec>),
    /// Array to bytes, computed.
    ArrayToBytes(Arc<dyn ArrayToBytesCodec>),
    /// Array to bytes, computed by chains inside of it, which the engine runs, and from what they leave.
    Composite(Arc<dyn CompositeCodec>),
    /// Bytes to bytes, computed.
    BytesToBytes(Arc<dyn BytesToBytesCodec>),
}

/// Turns an array into an array of the same elements in another form.
///
/// Elements are in C order and native byte order; those of variable size as [`crate::Elements::Variable`] says.
pub trait ArrayToArrayCodec: Debug + Send + Sync {
    /// Shape, data type, fill value and declared byte order of the encoded side: never from elements.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] for a type or shape that the codec does not take, or a fill value that
    /// does not survive it.
    fn encoded(&self, decoded: &ArrayRepresentation) -> Result<ArrayRepresentation, CodecError>;

    /// `array` is the decoded side.
    ///
    /// # Errors
    ///
    /// [`CodecError::Encode`], [`CodecError::TooLarge`].
    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError>;

    /// `array` is the decoded side.
    ///
    /// # Errors
    ///
    /// [`CodecError::Corrupt`], [`CodecError::TooLarge`].
    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError>;
}

/// Turns an array into bytes.
///
/// Elements are in C order and native byte order; those of variable size as [`crate::Elements::Variable`] says.
pub trait ArrayToBytesCodec: Debug + Send + Sync {
    /// Bytes after `encode`, from the array alone.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] for a type or shape that the codec does not take.
    fn encoded_size(&self, array: &ArrayRepresentation) -> Result<Size, CodecError>;

    /// `array` is the decoded side.
    ///
    /// # Errors
    ///
    /// [`CodecError::Encode`], [`CodecError::TooLarge`].
    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError>;

    /// `array` is the decoded side.
    ///
    /// # Errors
    ///
    /// [`CodecError::Corrupt`], [`CodecError::TooLarge`].
    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError>;
}

/// Turns an array into bytes by means of chains of its own.
///
/// Elements are in C order and native byte order; those of variable size as [`crate::Elements::Variable`] says.
pub trait CompositeCodec: Debug + Send + Sync {
    /// Every chain that it has run, in an order of its own that stays the same.
    fn chains(&self) -> Vec<&CodecChain>;

    /// Bytes after `encode`, from the array alone.
    ///
    /// # Errors
    ///
    /// [`CodecError::Unsupported`] for a type or shape that the codec does not take.
    fn encoded_size(&self, array: &ArrayRepresentation) -> Result<Size, CodecError>;

    /// `array` is the decoded side.
    ///
    /// # Errors
    ///
    /// [`CodecError::Encode`], [`CodecError::TooLarge`], and whatever `chains` says.
    fn encode(
        &self,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
        chains: &mut dyn RunChain,
    ) -> Result<(), CodecError>;

    /// `array` is the decoded side.
    ///
    /// # Errors
    ///
    /// [`CodecError::Corrupt`], [`CodecError::TooLarge`], and whatever `chains` says.
    fn decode(
        &self,
        array: &ArrayRepresentation,
        encoded: &[u8],
        decoded: &mut Output<'_>,
        chains: &mut dyn RunChain,
    ) -> Result<(), CodecError>;
}

/// Runs the chains of a [`CompositeCodec`]: what the engine gives it.
///
/// A chain is resolved for the array that it is given, which may have another shape than the one that the chain was
/// created for.
pub trait RunChain {
    /// Appends what `chain` encodes the elements `decoded` of `array` to.
    ///
    /// # Errors
    ///
    /// What the codecs say, and [`CodecError::TooLarge`].
    fn encode(
        &mut self,
        chain: &CodecChain,
        array: &ArrayRepresentation,
        decoded: &[u8],
        encoded: &mut Output<'_>,
    ) -> Result<(), CodecError>;

    /// Appends the elements of `array` that `chain` decodes `encoded` to: as many bytes as the array has, where its
    /// elements have a fixed size.
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
    ) -> Result<(), CodecError>;
}

/// Turns bytes into bytes.
pub trait BytesToBytesCodec: Debug + Send + Sync {
    /// Bytes after `encode`, from the number before it. The answer that is always right: unknown.
    fn encoded_size(&self, decoded: Size) -> Size {
        let _depends_on_the_bytes = decoded;
        Size::Unknown
    }

    /// Appends the encoded form of `decoded`.
    ///
    /// # Errors
    ///
    /// [`CodecError::Encode`], [`CodecError::TooLarge`].
    fn encode(&self, decoded: &[u8], encoded: &mut Output<'_>) -> Result<(), CodecError>;

    /// Appends the decoded form of `encoded`.
    ///
    /// # Errors
    ///
    /// [`CodecError::Corrupt`]; [`CodecError::TooLarge`] when the result would pass the limit of `decoded`.
    fn decode(&self, encoded: &[u8], decoded: &mut Output<'_>) -> Result<(), CodecError>;

    /// As [`BytesToBytesCodec::decode`], for a caller who looks at the bytes of `range` alone, counted from the first
    /// that is decoded. As many bytes are appended, and those beside `range` may be anything, also what the memory held
    /// before. A codec that can leave out work does so here; the answer that is always right: decode all.
    ///
    /// Whatever is wrong with the encoded form of the bytes in `range` is found as `decode` finds it. Damage elsewhere
    /// may go unnoticed, as that of inner chunks does which nobody reads; a codec whose form has a checksum over all
    /// bytes therefore decodes all, and checks it.
    ///
    /// # Errors
    ///
    /// Those of `decode`, and [`CodecError::Corrupt`] when `range` passes the end of what is decoded.
    fn decode_range(
        &self,
        encoded: &[u8],
        range: Range<usize>,
        decoded: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let before = decoded.written().len();
        self.decode(encoded, decoded)?;
        range_within(&range, decoded.written().len() - before)
    }

    /// The same codec part by part, if it works in blocks. The answer that is always right: it does not.
    fn in_parts(&self) -> Option<&dyn InParts> {
        None
    }
}

/// Whether `range` is one of `size` decoded bytes: what [`BytesToBytesCodec::decode_range`] asks.
///
/// # Errors
///
/// [`CodecError::Corrupt`] if it is not.
pub fn range_within(range: &Range<usize>, size: usize) -> Result<(), CodecError> {
    if range.start <= range.end && range.end <= size {
        return Ok(());
    }
    Err(CodecError::corrupt(format!("bytes {} to {} are wanted of {size}", range.start, range.end)))
}

/// The same bytes, and a checksum before or after them. Decoding is "verify and look at fewer bytes".
pub trait Checksum: Debug + Send + Sync {
    /// Bytes of the checksum.
    fn size(&self) -> usize;

    /// Whether it stands before the bytes.
    fn at_start(&self) -> bool {
        false
    }

    /// The checksum of `bytes`, to be written to all of `checksum`, which has [`Checksum::size`] bytes.
    ///
    /// # Errors
    ///
    /// Only where somebody else computes it, such as a library that was loaded, and fails to.
    fn checksum(&self, bytes: &[u8], checksum: &mut [u8]) -> Result<(), CodecError>;
}

/// Inner chunks, encoded one by one, and an index of where each one is.
#[derive(Debug, Clone)]
pub struct Shard {
    /// Elements of an inner chunk per dimension; divides the shard.
    pub inner_shape: Vec<u64>,
    /// What encodes each inner chunk.
    pub inner_codecs: CodecChain,
    /// What encodes the index: an array of `uint64` of shape inner chunks per dimension and 2, holding offset and
    /// size in bytes, both 2^64 - 1 when the inner chunk is not stored. Its encoded size is fixed.
    pub index_codecs: CodecChain,
    /// Whether the index is the first part of the shard rather than the last.
    pub index_at_start: bool,
}

/// A codec that a program knows. It is created for an array or bytes as the codecs before it leave them;
/// [`CodecChain::created_for`] has the one exception.
pub type CodecPlugin = Plugin<Codec>;

impl Kind for Codec {
    type Create = dyn Fn(&Creation<'_>, &Representation) -> Result<Codec, CodecError> + Send + Sync;

    const POINT: ExtensionPoint = ExtensionPoint::Codec;
}

inventory::collect!(CodecPlugin);

/// Writes all members of `T`, those that were left out with their defaults: what [`CodecPlugin::translated_by`] takes for
/// a codec that is configured alike in every format.
///
/// # Errors
///
/// [`CodecError::InvalidConfiguration`] where [`Creation::parse`] does not take the configuration.
pub fn all_members<T: DeserializeOwned + Serialize>(
    creation: &Creation<'_>,
    _decoded: &Representation,
    _to: Format,
) -> Result<Object, CodecError> {
    match zarr_json::to_value(&creation.parse::<T>()?) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(other) => Err(CodecError::configuration(format!("it is {}, not an object", other.kind_name()))),
        Err(error) => Err(CodecError::configuration(error.to_string())),
    }
}
