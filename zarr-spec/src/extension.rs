//! Entries of metadata documents that name an extension, and the generic extensions of the draft.

use std::fmt::Debug;
use std::sync::Arc;

use zarr_json::Value;

use crate::creation::Creation;
use crate::format::Invalid;
use crate::host::registry::ExtensionPoint;
use crate::plugin::{Kind, Plugin};

/// One entry of a metadata document that names an extension: a codec, a grid, a transformer and so on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionDocument {
    /// Its URI in the draft, its name in final v3, its id in v2.
    pub identifier: String,
    /// The `configuration` member, in v2 the object without its `id`; null if there is none.
    pub configuration: Value,
    /// The draft's `type` of an extension, which says what of that extension is meant.
    pub type_name: Option<Value>,
    /// Whether a reader that does not know the extension must stop; true unless the document says otherwise.
    pub must_understand: bool,
}

impl ExtensionDocument {
    /// An entry without `type` that must be understood. A configuration of null is none.
    pub fn new(identifier: impl Into<String>, configuration: Value) -> Self {
        Self { identifier: identifier.into(), configuration, type_name: None, must_understand: true }
    }
}

/// A generic extension of the draft: an entry of `extensions` in the entry point or in an array.
pub trait Extension: Debug + Send + Sync {
    /// Names of the array's dimensions, if that is what the extension brings.
    fn dimension_names(&self) -> Option<&[Option<String>]> {
        None
    }

    /// The key of the document that lists the nodes of the hierarchy, without the suffix of documents, if that is
    /// what the extension brings.
    ///
    /// The document is in the metadata encoding of the hierarchy: an object with the member `nodes`, an object that
    /// has `"array"` or `"group"` for the path of every node that has a document.
    fn node_index(&self) -> Option<&str> {
        None
    }
}

/// Where an entry of `extensions` stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtensionPlace<'a> {
    /// In the entry point of the hierarchy.
    EntryPoint,
    /// In an array of this shape, in elements per dimension.
    Array(&'a [u64]),
}

/// A generic extension that a program knows. It is applied whatever the `must_understand` of its entry is.
pub type ExtensionPlugin = Plugin<dyn Extension>;

impl Kind for dyn Extension {
    type Create =
        dyn Fn(&Creation<'_>, ExtensionPlace<'_>) -> Result<Arc<dyn Extension>, Invalid> + Send + Sync;

    const POINT: ExtensionPoint = ExtensionPoint::GenericExtension;
}

inventory::collect!(ExtensionPlugin);
