//! The extension `node-index` of the entry point: a document that lists the nodes of the hierarchy.
//!
//! It makes hierarchies browsable in stores that cannot list, such as plain HTTP servers. The key of the
//! document is `node-index` with the suffix of metadata documents, unless the configuration has another `key`.
//! Writers update the document when they create or erase a node; readers may ignore the extension.
//!
//! Source: `docs/spec/extensions-node-index.md`, an extension of this project; the draft, on operations of
//! stores that cannot list.

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::extension::{Extension, ExtensionPlace, ExtensionPlugin};
use zarr_spec::{Creation, Example, Format, Identifiers, Invalid, Key};

zarr_spec::register!(
    ExtensionPlugin::new(
        Identifiers::uri("https://zarr-kit.example/spec/extensions/node-index/1.0"),
        &create,
    )
    .configuration::<NodeIndexConfiguration>()
    .about("Lists all nodes of a hierarchy in one document, for stores that cannot list keys.", EXAMPLES)
);

const EXAMPLES: &[Example] = &[
    Example::draft(
        r#"{"extension": "https://zarr-kit.example/spec/extensions/node-index/1.0",
            "must_understand": false}"#,
    ),
    Example::draft(
        r#"{"extension": "https://zarr-kit.example/spec/extensions/node-index/1.0", "must_understand": false,
            "configuration": {"key": "lists/nodes"}}"#,
    ),
];

/// The default key of the list.
const KEY: &str = "node-index";

/// Prefixes of keys that documents and chunks use.
const TAKEN: [&str; 2] = ["meta", "data"];

/// The key of the list of nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeIndex {
    key: String,
}

impl NodeIndex {
    /// Creates the extension with `key`, to which the suffix of documents is appended.
    ///
    /// # Errors
    ///
    /// If the key is not valid in the draft, or is used by nodes and chunks.
    pub fn new(key: impl Into<String>) -> Result<Self, Invalid> {
        let key = key.into();
        Key::checked(&key, Format::V3Draft).map_err(|error| Invalid::new(format!("`key`: {error}")))?;
        let first = key.split('/').next().unwrap_or_default();
        if TAKEN.contains(&first) || key == "zarr" || key == "zarr.json" {
            return Err(Invalid::new(format!("`key` is `{key}`, which the draft uses for another purpose")));
        }
        Ok(Self { key })
    }
}

impl Extension for NodeIndex {
    fn node_index(&self) -> Option<&str> {
        Some(&self.key)
    }
}

#[derive(Deserialize)]
struct NodeIndexConfiguration {
    key: Option<String>,
}

fn create(creation: &Creation<'_>, place: ExtensionPlace<'_>) -> Result<Arc<dyn Extension>, Invalid> {
    if place != ExtensionPlace::EntryPoint {
        return Err(Invalid::new("a list of nodes belongs to the entry point, not to an array"));
    }
    let key = creation.parse::<NodeIndexConfiguration>()?.key;
    Ok(Arc::new(NodeIndex::new(key.unwrap_or_else(|| KEY.to_owned()))?))
}
