//! The keys of a hierarchy of the draft.

use super::NodeKind;
use super::draft_entry_point::{EntryPoint, Generation};
use zarr_spec::format::Format;
use zarr_spec::key::{Key, KeyError, Prefix};
use zarr_spec::path::NodePath;

/// The key of the entry point.
pub const ENTRY_POINT: &str = "zarr.json";

/// The keys of the documents and chunks of a hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys {
    generation: Generation,
    suffix: String,
}

impl Keys {
    /// Creates the keys that the entry point determines.
    #[must_use]
    pub fn new(entry_point: &EntryPoint) -> Self {
        Self { generation: entry_point.generation, suffix: entry_point.key_suffix.clone() }
    }

    /// Returns the key of the array document at `path`.
    ///
    /// # Errors
    ///
    /// If the draft does not allow a name in the path.
    pub fn array(&self, path: &NodePath) -> Result<Key, KeyError> {
        self.document(path, NodeKind::Array)
    }

    /// Returns the key of the group document at `path`.
    ///
    /// # Errors
    ///
    /// If the draft does not allow a name in the path.
    pub fn group(&self, path: &NodePath) -> Result<Key, KeyError> {
        self.document(path, NodeKind::Group)
    }

    /// Returns the prefix of the chunks of the array at `path`, or of all arrays below a group.
    ///
    /// # Errors
    ///
    /// If the draft does not allow a name in the path.
    pub fn data_prefix(&self, path: &NodePath) -> Result<Prefix, KeyError> {
        self.prefix("data", path)
    }

    /// Returns the prefix of the documents of all nodes below `path`.
    ///
    /// # Errors
    ///
    /// If the draft does not allow a name in the path.
    pub fn children_prefix(&self, path: &NodePath) -> Result<Prefix, KeyError> {
        self.prefix("meta", path)
    }

    /// Returns the node whose document has the key `key`; `None` if it is not the key of a document.
    #[must_use]
    pub fn node_of(&self, key: &Key) -> Option<(NodePath, NodeKind)> {
        let key = key.as_str().strip_suffix(&self.suffix)?;
        [NodeKind::Array, NodeKind::Group].into_iter().find_map(|kind| {
            let name = kind_name(kind);
            let place = match self.generation {
                // Names may contain the suffix too, so only its last occurrence ends the key.
                Generation::A => key.strip_suffix(name)?.strip_suffix('.')?.strip_prefix("meta/root")?,
                Generation::B if key.strip_prefix("meta/") == Some(name) => "",
                Generation::B => non_root(key.strip_suffix(name)?.strip_suffix('.')?.strip_prefix("meta")?)?,
            };
            // The rest of the key after `meta` or `meta/root` begins with `/`, like a path.
            Some((NodePath::parse(non_slash(place)?, Format::V3Draft).ok()?, kind))
        })
    }

    fn document(&self, path: &NodePath, kind: NodeKind) -> Result<Key, KeyError> {
        let name = kind_name(kind);
        let suffix = &self.suffix;
        let key = match self.generation {
            Generation::A if path.is_root() => format!("meta/root.{name}{suffix}"),
            Generation::A => format!("meta/root{path}.{name}{suffix}"),
            Generation::B if path.is_root() => format!("meta/{name}{suffix}"),
            Generation::B => format!("meta{path}.{name}{suffix}"),
        };
        Key::checked(key, Format::V3Draft)
    }

    fn prefix(&self, top: &str, path: &NodePath) -> Result<Prefix, KeyError> {
        let root = match self.generation {
            Generation::A => "/root",
            Generation::B => "",
        };
        let path = if path.is_root() { String::new() } else { path.to_string() };
        let key = Key::checked(format!("{top}{root}{path}"), Format::V3Draft)?;
        Prefix::new(format!("{key}/"))
    }
}

fn kind_name(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Array => "array",
        NodeKind::Group => "group",
    }
}

fn non_root(place: &str) -> Option<&str> {
    (!place.is_empty()).then_some(place)
}

/// Returns `None` for `/`: as a path it is the root, but in a key it is a node with an empty name.
fn non_slash(place: &str) -> Option<&str> {
    (place != "/").then_some(place)
}
