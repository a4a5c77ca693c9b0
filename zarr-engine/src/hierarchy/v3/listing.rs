//! The nodes below groups of final v3.

use bytes::Bytes;
use zarr_metadata::v3::{node_key, prefix};
use zarr_metadata::{DocumentKind, NodeMetadata, parse_json_member};
use zarr_spec::{Format, Key, NodePath, Value};

use super::V3;
use super::documents::parse;
use super::implicit;
use crate::error::Error;
use crate::hierarchy::access::Access;
use crate::hierarchy::entry::{EntryKind, NodeEntry};
use crate::hierarchy::listing::{checked_paths_below, directly_below, paths_below};
use crate::hierarchy::rules::{FormatRules, FoundArray, FoundNode, array_of, not_a_group};

pub(super) enum Listed<'a> {
    Read(Value),
    Stored(&'a Key, &'a [u8]),
    /// The store failed to read the document.
    Failed(Error),
    /// The name of the node is not allowed. Opening the node returns the reason.
    Unreadable,
    /// A group without a document.
    Implicit,
}

impl Listed<'_> {
    /// Parses the JSON. Returns `None` if it cannot be read; opening the node returns the reason.
    pub(super) fn document(self, access: &Access) -> Option<Value> {
        match self {
            Self::Read(document) => Some(document),
            Self::Stored(key, value) => access.parse(key, value, DocumentKind::V3).ok(),
            Self::Failed(error) => {
                access.warn(error.to_string());
                None
            }
            Self::Unreadable => None,
            Self::Implicit => implicit::document(),
        }
    }

    pub(super) fn kind(&self, access: &Access) -> EntryKind {
        match self {
            Self::Read(document) => kind_of(document),
            Self::Stored(key, value) => stored_kind(access, key, value),
            Self::Failed(error) => {
                access.warn(error.to_string());
                EntryKind::Unreadable
            }
            Self::Unreadable => EntryKind::Unreadable,
            Self::Implicit => EntryKind::ImplicitGroup,
        }
    }

    /// Returns the stored document of a node. A node with a name that v3 does not allow is unreadable.
    fn of<'a>(path: &NodePath, key: &'a Key, value: &'a [u8]) -> Listed<'a> {
        match path.check(Format::V3) {
            Ok(()) => Listed::Stored(key, value),
            Err(_) => Listed::Unreadable,
        }
    }
}

impl V3 {
    /// Calls `made` for each node directly below the group at `path`, with its document.
    pub(super) fn below<T: Send>(
        &self,
        access: &Access,
        path: &NodePath,
        made: impl Fn(NodePath, Listed<'_>) -> T + Send + Sync,
    ) -> Result<Vec<T>, Error> {
        let check = || match self.read(access, path)?.ok_or_else(|| Error::NoNode(path.clone()))?.metadata {
            NodeMetadata::Group(_) => Ok(()),
            NodeMetadata::Array(_) => Err(not_a_group(path)),
        };
        if let Some(below) = self.snapshot.below(path) {
            check()?;
            let implicit = implicit::groups_between(access, path, &below).into_iter();
            let implicit =
                directly_below(implicit.map(|group| (group.path, Listed::Implicit)).collect(), path);
            let below = directly_below(below, path).map(|(path, document)| (path, Listed::Read(document)));
            let below = below.chain(implicit).collect();
            return Ok(access.context.map(below, |(path, listed)| made(path, listed)));
        }
        nodes_at(access, checked_paths_below(access, path, prefix, check)?, made)
    }
}

pub(super) fn listed<T: Send>(
    access: &Access,
    groups: &[NodePath],
    made: impl Fn(NodePath, Listed<'_>) -> T + Send + Sync,
) -> Result<Vec<T>, Error> {
    nodes_at(access, paths_below(access, groups, prefix)?, made)
}

/// Calls `made` for each of `paths` that has a document or is read as a group without one. An unreadable document does
/// not affect the others.
pub(super) fn nodes_at<T: Send>(
    access: &Access,
    paths: Vec<NodePath>,
    made: impl Fn(NodePath, Listed<'_>) -> T + Send + Sync,
) -> Result<Vec<T>, Error> {
    let made = |path: NodePath, key: &Key, value: Result<Option<Bytes>, Error>| match value {
        Ok(Some(value)) => Ok(Some(made(path.clone(), Listed::of(&path, key, &value)))),
        Ok(None) => Ok(implicit::is_group(access, &path)?.then(|| made(path, Listed::Implicit))),
        Err(error) => Ok(Some(made(path, Listed::Failed(error)))),
    };
    if access.is_local() {
        // Each document is dropped before the next one is read.
        let one = |path: NodePath| {
            let key = node_key(&path)?;
            made(path, &key, access.get(&key))
        };
        return access.context.map(paths, one).into_iter().filter_map(Result::transpose).collect();
    }
    let keys = paths.iter().map(node_key).collect::<Result<Vec<_>, _>>()?;
    let values = access.get_each(&keys);
    let nodes = paths.into_iter().zip(keys).zip(values).collect();
    let one = |((path, key), value): ((NodePath, Key), Result<Option<Bytes>, Error>)| made(path, &key, value);
    access.context.map(nodes, one).into_iter().filter_map(Result::transpose).collect()
}

const NODE_TYPE: &str = "node_type";

pub(super) fn kind_of(document: &Value) -> EntryKind {
    kind_called(document.as_object().and_then(|members| members.get(NODE_TYPE)))
}

/// Returns the kind from the text of a document. The rest is not parsed.
pub(super) fn stored_kind(access: &Access, key: &Key, value: &[u8]) -> EntryKind {
    let read = |reading: &_| parse_json_member(value, DocumentKind::V3, NODE_TYPE, reading);
    kind_called(access.reading(key, read).ok().flatten().as_ref())
}

fn kind_called(node_type: Option<&Value>) -> EntryKind {
    match node_type.and_then(Value::as_str) {
        Some("array") => EntryKind::Array,
        Some("group") => EntryKind::Group,
        _ => EntryKind::Unreadable,
    }
}

pub(super) fn entry(path: NodePath, document: &Value) -> NodeEntry {
    NodeEntry { path, kind: kind_of(document) }
}

pub(super) fn found_array(access: &Access, path: NodePath, listed: Listed<'_>) -> Option<FoundArray> {
    if let Err(reason) = path.check(Format::V3) {
        access.warn(format!("{path} is left out: {reason}"));
        return None;
    }
    if let Listed::Failed(error) = listed {
        return Some((path, Err(error)));
    }
    let document = listed.document(access).filter(|document| kind_of(document) == EntryKind::Array)?;
    let node = parse(access, &path, &document);
    let metadata = node.and_then(|node| array_of(&path, Some(FoundNode::explicit(node))));
    Some((path, metadata))
}
