//! Entries of metadata documents that name an extension, and the generic extensions of the draft.

use std::fmt::Debug;
use std::sync::Arc;

use zarr_json::Value;

use crate::creation::Creation;
use crate::format::Invalid;
use crate::host::registry::ExtensionPoint;
use crate::plugin::{Plugin, PluginKind};

/// One entry of a metadata document that names an extension: a codec, a grid, a transformer and so on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExtensionDocument {
    /// The URI in the draft, the name in final v3, the id in v2.
    pub identifier: String,
    /// The `configuration` member, in v2 the object without its `id`; null if it is missing.
    pub configuration: Value,
    /// The `type` of an extension of the draft, which selects a part of that extension.
    pub type_name: Option<Value>,
    /// Whether a reader that does not know the extension must refuse the document; true by default.
    pub must_understand: bool,
}

impl ExtensionDocument {
    /// Creates an entry without `type` that must be understood. Null means that there is no configuration.
    pub fn new(identifier: impl Into<String>, configuration: Value) -> Self {
        Self { identifier: identifier.into(), configuration, type_name: None, must_understand: true }
    }

    /// Replaces the configuration.
    #[must_use]
    pub fn with_configuration(self, configuration: Value) -> Self {
        Self { configuration, ..self }
    }

    /// Replaces the `type` of an extension of the draft.
    #[must_use]
    pub fn with_type_name(self, type_name: impl Into<Option<Value>>) -> Self {
        Self { type_name: type_name.into(), ..self }
    }

    /// Replaces whether a reader that does not know the extension must refuse the document.
    #[must_use]
    pub fn with_must_understand(self, must_understand: bool) -> Self {
        Self { must_understand, ..self }
    }
}

/// A generic extension of the draft: an entry of `extensions` in the entry point or in an array.
pub trait Extension: Debug + Send + Sync {
    /// Returns the names of the array's dimensions, if the extension provides them.
    fn dimension_names(&self) -> Option<&[Option<String>]> {
        None
    }

    /// Returns the key of the document that lists the nodes of the hierarchy, without the suffix of documents,
    /// if the extension provides one.
    ///
    /// The document has the metadata encoding of the hierarchy. It is an object with the member `nodes`, which
    /// maps the path of every node with a document to `"array"` or `"group"`.
    fn node_index(&self) -> Option<&str> {
        None
    }
}

/// The place of an entry of `extensions`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "extensions handle every place")]
pub enum ExtensionPlace<'a> {
    /// In the entry point of the hierarchy.
    EntryPoint,
    /// In an array of this shape, in elements per dimension.
    Array(&'a [u64]),
}

/// A generic extension that a program knows. It is applied for any value of `must_understand`.
pub type ExtensionPlugin = Plugin<dyn Extension>;

impl PluginKind for dyn Extension {
    type Create =
        dyn Fn(&Creation<'_>, ExtensionPlace<'_>) -> Result<Arc<dyn Extension>, Invalid> + Send + Sync;

    const POINT: ExtensionPoint = ExtensionPoint::GenericExtension;
}

inventory::collect!(ExtensionPlugin);
