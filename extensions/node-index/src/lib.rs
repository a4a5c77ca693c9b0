//! The extension `node-index` of the entry point: a document lists the nodes of the hierarchy.
//!
//! So a hierarchy can be explored in a store that cannot list, as one behind plain HTTP. The document is at the key
//! `node-index` with the suffix of metadata documents, or at another one that the configuration has as `key`. Who
//! creates or erases a node writes it anew; who does not know the extension may read all the same.
//!
//! Source: `docs/spec/extensions-node-index.md`, an extension of this framework; the draft, on operations of stores
//! that cannot list.

use std::sync::Arc;

use serde::Deserialize;
use zarr_spec::extension::{Extension, ExtensionPlace, ExtensionPlugin};
use zarr_spec::{Creation, Example, Format, Identifiers, Invalid, Key};

zarr_spec::register!(
    ExtensionPlugin::new(
        Identifiers {
            uri: Some("https://zarr-kit.example/spec/extensions/node-index/1.0"),
            name: None,
            id: None,
            aliases: &[],
        },
        &create,
    )
    .configuration::<NodeIndexConfiguration>()
    .about("Lists all nodes of a hierarchy in one document, for stores that cannot list.", EXAMPLES)
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

/// Where the nodes are listed, unless the configuration says otherwise.
const KEY: &str = "node-index";

/// Keys that begin so are taken by documents and chunks.
const TAKEN: [&str; 2] = ["meta", "data"];

/// Where the nodes of a hierarchy are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeIndex {
    key: String,
}

impl NodeIndex {
    /// At `key`, which the suffix of documents follows.
    ///
    /// # Errors
    ///
    /// For what is no key of the draft, and for keys that nodes and chunks have.
    pub fn new(key: impl Into<String>) -> Result<Self, Invalid> {
        let key = key.into();
        Key::checked(&key, Format::V3Draft).map_err(|error| Invalid::new(format!("`key`: {error}")))?;
        let first = key.split('/').next().unwrap_or_default();
        if TAKEN.contains(&first) || key == "zarr" || key == "zarr.json" {
            return Err(Invalid::new(format!("`key` is `{key}`, where the draft has something else")));
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
