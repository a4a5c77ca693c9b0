//! Metadata documents of Zarr v2, the v3 draft and v3, and the one form that they are read into.
//!
//! This crate does no I/O: keys and bytes are the business of the caller.

use zarr_json::{Object, Value};

use zarr_spec::data_type::DataTypeDocument;
use zarr_spec::extension::ExtensionDocument;
use zarr_spec::format::Format;

pub mod draft;
mod draft_entry_point;
mod draft_keys;
mod entry;
mod identify;
mod members;
pub mod v2;
mod v2_consolidated;
pub mod v3;
mod write;

pub use entry::parse_entry;
pub use identify::{Identified, identify};
pub use zarr_spec::metadata_encoding::{
    DOCUMENT_NAMES, DocumentError, DocumentKind, NODE_DOCUMENT_NAMES, parse_json, parse_json_member,
};

/// The metadata of an array, whatever format it came from. Identifiers are those of the format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayMetadata {
    /// The format whose identifiers these are.
    pub format: Format,
    /// Elements per dimension.
    pub shape: Vec<u64>,
    /// The type of all elements.
    pub data_type: DataTypeDocument,
    /// How elements are divided into chunks. `regular` has `chunk_shape` in every format.
    pub chunk_grid: ExtensionDocument,
    /// What the keys of chunks are: `default` or `v2` with a `separator` in the older formats too.
    pub chunk_key_encoding: ExtensionDocument,
    /// How the elements of a chunk follow one another: v2's `order`, the draft's `chunk_memory_layout`.
    pub memory_layout: Option<ExtensionDocument>,
    /// What elements that were never written hold; null in v2 and the draft means undefined.
    pub fill_value: Value,
    /// In the order in which they encode. v2: the filters, then the compressor.
    pub codecs: Vec<ExtensionDocument>,
    /// Whether the last codec is the `compressor` of v2 rather than a filter.
    pub has_compressor: bool,
    /// The first is nearest to the array.
    pub storage_transformers: Vec<ExtensionDocument>,
    /// What users say of the array.
    pub attributes: Object,
    /// One entry per dimension, if there are any.
    pub dimension_names: Option<Vec<Option<String>>>,
    /// The draft's `extensions`.
    pub extensions: Vec<ExtensionDocument>,
    /// Members that may be ignored, kept for when the document is rewritten.
    pub ignored: Object,
}

/// The metadata of a group, whatever format it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupMetadata {
    /// The format.
    pub format: Format,
    /// What users say of the group.
    pub attributes: Object,
    /// v3's `consolidated_metadata.metadata`: documents by relative path.
    pub consolidated: Option<Object>,
    /// Members that may be ignored, kept for when the document is rewritten.
    pub ignored: Object,
}

impl GroupMetadata {
    /// A group with attributes.
    #[must_use]
    pub fn new(format: Format, attributes: Object) -> Self {
        Self { format, attributes, consolidated: None, ignored: Object::new() }
    }
}

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NodeKind {
    /// An array.
    Array,
    /// A group.
    Group,
}

/// A node of any kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeMetadata {
    /// An array.
    Array(Box<ArrayMetadata>),
    /// A group.
    Group(GroupMetadata),
}
