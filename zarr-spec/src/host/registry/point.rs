//! The kinds of plugins.

use std::fmt;

use crate::format::Format;

/// A kind of plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(clippy::exhaustive_enums, reason = "hosts handle every point")]
pub enum ExtensionPoint {
    /// Converts between elements and bytes.
    Codec,
    /// The type of elements.
    DataType,
    /// The division of an array into chunks.
    ChunkGrid,
    /// The keys of chunks.
    ChunkKeyEncoding,
    /// The order of elements in a chunk.
    MemoryLayout,
    /// The encoding of metadata documents.
    MetadataEncoding,
    /// Is placed between an array and its store.
    StorageTransformer,
    /// Any other entry in `extensions` of the draft.
    GenericExtension,
    /// Holds values.
    Store,
}

impl ExtensionPoint {
    /// All extension points, in the order of the table in `docs/extensions.md`.
    pub const ALL: [Self; 9] = [
        Self::Codec,
        Self::DataType,
        Self::ChunkGrid,
        Self::ChunkKeyEncoding,
        Self::MemoryLayout,
        Self::MetadataEncoding,
        Self::StorageTransformer,
        Self::GenericExtension,
        Self::Store,
    ];

    /// Returns whether documents of `format` name such plugins.
    #[must_use]
    pub fn is_named_in(self, format: Format) -> bool {
        match self {
            Self::Codec | Self::DataType => true,
            Self::ChunkGrid | Self::StorageTransformer => format != Format::V2,
            Self::ChunkKeyEncoding => format == Format::V3,
            Self::MemoryLayout => format != Format::V3,
            Self::MetadataEncoding | Self::GenericExtension => format == Format::V3Draft,
            Self::Store => false,
        }
    }
}

impl fmt::Display for ExtensionPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Codec => "codec",
            Self::DataType => "data type",
            Self::ChunkGrid => "chunk grid",
            Self::ChunkKeyEncoding => "chunk key encoding",
            Self::MemoryLayout => "chunk memory layout",
            Self::MetadataEncoding => "metadata encoding",
            Self::StorageTransformer => "storage transformer",
            Self::GenericExtension => "extension",
            Self::Store => "store",
        })
    }
}
