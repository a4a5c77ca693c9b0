//! Metadata documents of Zarr v2, the v3 draft and v3, and their common form.
//!
//! This crate does not perform I/O; callers read and write keys and bytes.

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
mod v2_nczarr;
pub mod v3;
mod write;

pub use entry::parse_entry;
pub use identify::{Identified, identify};
pub use zarr_spec::metadata_encoding::{
    DOCUMENT_NAMES, DocumentError, DocumentKind, NODE_DOCUMENT_NAMES, parse_json, parse_json_member,
};

/// The metadata of an array in any format. Identifiers are those of the format.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArrayMetadata {
    /// The format of the identifiers.
    pub format: Format,
    /// Elements per dimension.
    pub shape: Vec<u64>,
    /// The data type of all elements.
    pub data_type: DataTypeDocument,
    /// The division into chunks. In every format, the configuration of `regular` has the member `chunk_shape`.
    pub chunk_grid: ExtensionDocument,
    /// The encoding of chunk keys: `default` or `v2` with a `separator`, in the older formats too.
    pub chunk_key_encoding: ExtensionDocument,
    /// The order of the elements of a chunk: `order` of v2, `chunk_memory_layout` of the draft.
    pub memory_layout: Option<ExtensionDocument>,
    /// The value of elements that were never written; null in v2 and the draft means undefined.
    pub fill_value: Value,
    /// The codecs in the order of encoding. In v2: the filters, then the compressor.
    pub codecs: Vec<ExtensionDocument>,
    /// Whether the last codec is the `compressor` of v2 rather than a filter.
    pub has_compressor: bool,
    /// The storage transformers; the first one is closest to the array.
    pub storage_transformers: Vec<ExtensionDocument>,
    /// The attributes of users.
    pub attributes: Object,
    /// The names of dimensions, one entry per dimension.
    pub dimension_names: Option<Vec<Option<String>>>,
    /// The `extensions` of the draft.
    pub extensions: Vec<ExtensionDocument>,
    /// Unknown members that may be ignored, preserved for rewriting the document.
    pub ignored: Object,
}

impl ArrayMetadata {
    /// Creates an array without a fill value, codecs, attributes and optional members.
    #[must_use]
    pub fn new(
        format: Format,
        shape: Vec<u64>,
        data_type: DataTypeDocument,
        chunk_grid: ExtensionDocument,
        chunk_key_encoding: ExtensionDocument,
    ) -> Self {
        Self {
            format,
            shape,
            data_type,
            chunk_grid,
            chunk_key_encoding,
            memory_layout: None,
            fill_value: Value::Null,
            codecs: Vec::new(),
            has_compressor: false,
            storage_transformers: Vec::new(),
            attributes: Object::new(),
            dimension_names: None,
            extensions: Vec::new(),
            ignored: Object::new(),
        }
    }

    /// Returns whether `other` is equal, except for attributes and ignored members.
    #[must_use]
    pub fn is_alike(&self, other: &Self) -> bool {
        // All members are named, so that the compiler requires new ones here.
        let Self {
            format,
            shape,
            data_type,
            chunk_grid,
            chunk_key_encoding,
            memory_layout,
            fill_value,
            codecs,
            has_compressor,
            storage_transformers,
            attributes: _,
            dimension_names,
            extensions,
            ignored: _,
        } = self;
        *format == other.format
            && *shape == other.shape
            && *data_type == other.data_type
            && *chunk_grid == other.chunk_grid
            && *chunk_key_encoding == other.chunk_key_encoding
            && *memory_layout == other.memory_layout
            && *fill_value == other.fill_value
            && *codecs == other.codecs
            && *has_compressor == other.has_compressor
            && *storage_transformers == other.storage_transformers
            && *dimension_names == other.dimension_names
            && *extensions == other.extensions
    }
}

/// The metadata of a group in any format.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GroupMetadata {
    /// The format.
    pub format: Format,
    /// The attributes of users.
    pub attributes: Object,
    /// `consolidated_metadata.metadata` of v3: documents by relative path.
    pub consolidated: Option<Object>,
    /// Unknown members that may be ignored, preserved for rewriting the document.
    pub ignored: Object,
}

impl GroupMetadata {
    /// Creates a group with attributes.
    #[must_use]
    pub fn new(format: Format, attributes: Object) -> Self {
        Self { format, attributes, consolidated: None, ignored: Object::new() }
    }
}

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(clippy::exhaustive_enums, reason = "Zarr has no other nodes")]
pub enum NodeKind {
    /// An array.
    Array,
    /// A group.
    Group,
}

/// A node of any kind.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "Zarr has no other nodes")]
pub enum NodeMetadata {
    /// An array.
    Array(Box<ArrayMetadata>),
    /// A group.
    Group(GroupMetadata),
}
