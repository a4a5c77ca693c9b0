//! The list of nodes that an extension of the entry point provides. It makes a hierarchy explorable in a store that
//! cannot list.

use std::collections::BTreeMap;
use std::sync::Arc;

use zarr_metadata::DocumentError;
use zarr_spec::extension::Extension;
use zarr_spec::metadata_encoding::MetadataEncoding;
use zarr_spec::{Format, Key, NodePath, Reading, Value};

use crate::error::Error;
use crate::hierarchy::access::Access;
use crate::hierarchy::entry::EntryKind;

const NODES: &str = "nodes";

pub(super) type Nodes = BTreeMap<NodePath, EntryKind>;

#[derive(Debug)]
pub(super) struct NodeIndex {
    key: Key,
    encoding: Arc<dyn MetadataEncoding>,
}

impl NodeIndex {
    pub(super) fn of(
        extensions: &[Arc<dyn Extension>],
        encoding: &Arc<dyn MetadataEncoding>,
        suffix: &str,
    ) -> Result<Option<Self>, Error> {
        let Some(key) = extensions.iter().find_map(|extension| extension.node_index()) else {
            return Ok(None);
        };
        let key = Key::new(format!("{key}{suffix}"))?;
        Ok(Some(Self { key, encoding: Arc::clone(encoding) }))
    }

    /// Returns all nodes; an empty list if the document does not exist.
    pub(super) fn nodes(&self, access: &Access) -> Result<Nodes, Error> {
        let Some(bytes) = access.get(&self.key)? else { return Ok(Nodes::new()) };
        access.reading(&self.key, |reading| self.decode(&bytes, reading))
    }

    /// Changes the list, and writes it if it differs from the stored one.
    pub(super) fn change(&self, access: &Access, change: impl Fn(&mut Nodes)) -> Result<(), Error> {
        let _changing = access.lock_consolidated();
        access.until_stored(|| {
            let access = access.changing()?;
            let before = self.nodes(&access)?;
            let mut nodes = before.clone();
            change(&mut nodes);
            if nodes == before {
                return Ok(());
            }
            let nodes: Value = nodes.iter().map(|(path, kind)| (path.to_string(), name(*kind))).collect();
            let document: Value = [(NODES, nodes)].into_iter().collect();
            access.set(&self.key, self.encoding.encode(&document))
        })
    }

    fn decode(&self, bytes: &[u8], reading: &Reading) -> Result<Nodes, DocumentError> {
        let document = self.encoding.decode(bytes, reading);
        let document =
            document.map_err(|error| DocumentError::document(format!("cannot be decoded: {error}")))?;
        let members = document.as_object().ok_or_else(|| {
            DocumentError::document(format!(
                "is {}, but a list of nodes must be an object",
                document.kind_name()
            ))
        })?;
        if let Some(unknown) = members.keys().find(|name| *name != NODES) {
            return Err(DocumentError::member(
                unknown,
                "is unknown; a list of nodes has only the member `nodes`",
            ));
        }
        let nodes = members.get(NODES).and_then(Value::as_object);
        let nodes = nodes.ok_or_else(|| DocumentError::member(NODES, "is missing or not an object"))?;
        nodes.iter().map(|(path, kind)| node(path, kind)).collect()
    }
}

fn node(path: &str, kind: &Value) -> Result<(NodePath, EntryKind), DocumentError> {
    let wrong = |reason: String| DocumentError::member(format!("{NODES}[{path}]"), reason);
    let parsed = NodePath::parse(path, Format::V3Draft).map_err(|error| wrong(error.to_string()))?;
    match kind.as_str() {
        Some("array") => Ok((parsed, EntryKind::Array)),
        Some("group") => Ok((parsed, EntryKind::Group)),
        _ => Err(wrong(format!("is {kind}, not \"array\" or \"group\""))),
    }
}

fn name(kind: EntryKind) -> &'static str {
    if kind.is_group() { "group" } else { "array" }
}
