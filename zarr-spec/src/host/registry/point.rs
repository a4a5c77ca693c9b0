//! The kinds of plugins.

use std::fmt;

use crate::format::Format;

/// What plugins there can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ExtensionPoint {
    /// Between elements and bytes.
    Codec,
    /// What elements are.
    DataType,
    /// How an array is divided.
    ChunkGrid,
    /// What the keys of chunks are.
    ChunkKeyEncoding,
    /// How elements follow one another in a chunk.
    MemoryLayout,
    /// How documents are written.
    MetadataEncoding,
    /// Between array and store.
    StorageTransformer,
    /// Anything else in the draft's `extensions`.
    GenericExtension,
    /// Where values are.
    Store,
}

impl ExtensionPoint {
    /// In the order of the README's table.
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

    /// Whether documents of `format` name such plugins.
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
