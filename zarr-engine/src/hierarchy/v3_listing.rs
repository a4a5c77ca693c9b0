//! The nodes below groups of final v3.

use bytes::Bytes;
use zarr_metadata::v3::{node_key, prefix};
use zarr_metadata::{DocumentKind, NodeMetadata, parse_json_member};
use zarr_spec::{Format, Key, NodePath, Value};

use super::access::{Access, keyed};
use super::dialect::{Dialect, Found, FoundArray, array_of, not_a_group};
use super::snapshot::directly_below;
use super::v3::{V3, parse};
use super::{Child, Kind};
use crate::error::Error;

/// The document of a node in a listing.
pub(super) enum Listed<'a> {
    /// From a copy.
    Read(Value),
    /// As it is stored.
    Stored(&'a Key, &'a [u8]),
    /// The store cannot read it.
    Failed(Error),
    /// Not to be used: its name is not allowed. The reason is told when the node is opened.
    Unreadable,
}

impl Listed<'_> {
    /// The JSON; nothing where it cannot be read. What is wrong with it is said when the node is opened.
    pub(super) fn document(self, access: &Access) -> Option<Value> {
        match self {
            Self::Read(document) => Some(document),
            Self::Stored(key, value) => access.parse(key, value, DocumentKind::V3).ok(),
            Self::Failed(error) => {
                access.warn(error.to_string());
                None
            }
            Self::Unreadable => None,
        }
    }

    pub(super) fn kind(&self, access: &Access) -> Kind {
        match self {
            Self::Read(document) => kind_of(document),
            Self::Stored(key, value) => stored_kind(access, key, value),
            Self::Failed(error) => {
                access.warn(error.to_string());
                Kind::Unreadable
            }
            Self::Unreadable => Kind::Unreadable,
        }
    }

    /// The value of the document of a node. A name that v3 does not allow is that of no node, whatever is there.
    fn of<'a>(path: &NodePath, key: &'a Key, value: &'a [u8]) -> Listed<'a> {
        match path.check(Format::V3) {
            Ok(()) => Listed::Stored(key, value),
            Err(_) => Listed::Unreadable,
        }
    }
}

impl V3 {
    /// What `made` makes of each node directly below the group at `path`, and of its document.
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
            let below = directly_below(below, path).collect();
            return Ok(access.context.map(below, |(path, document)| made(path, Listed::Read(document))));
        }
        let list = || {
            access.check_listable("finding the children of a group")?;
            access.paths_below(std::slice::from_ref(path), prefix)
        };
        Self::there(access, access.checked(check, list)?, made)
    }

    /// The same for the nodes directly below all of `groups`, with one batch of requests for their documents.
    pub(super) fn listed<T: Send>(
        access: &Access,
        groups: &[NodePath],
        made: impl Fn(NodePath, Listed<'_>) -> T + Send + Sync,
    ) -> Result<Vec<T>, Error> {
        Self::there(access, access.paths_below(groups, prefix)?, made)
    }

    /// The same for those of `paths` where there are nodes.
    pub(super) fn there<T: Send>(
        access: &Access,
        paths: Vec<NodePath>,
        made: impl Fn(NodePath, Listed<'_>) -> T + Send + Sync,
    ) -> Result<Vec<T>, Error> {
        if access.is_local() {
            // Each document is done with before the next one is read.
            let one = |path: NodePath| {
                let key = keyed(node_key(&path))?;
                Ok(match access.get(&key) {
                    Ok(value) => value.map(|value| made(path.clone(), Listed::of(&path, &key, &value))),
                    // One document that cannot be read does not hide the others.
                    Err(error) => Some(made(path, Listed::Failed(error))),
                })
            };
            return access.context.map(paths, one).into_iter().filter_map(Result::transpose).collect();
        }
        let keys = paths.iter().map(|path| keyed(node_key(path))).collect::<Result<Vec<_>, _>>()?;
        let values = access.get_each(&keys);
        let there = paths.into_iter().zip(keys).zip(values);
        let there = there.filter_map(|((path, key), value)| Some((path, key, value.transpose()?))).collect();
        Ok(access.context.map(
            there,
            |(path, key, value): (NodePath, Key, Result<Bytes, Error>)| match value {
                Ok(value) => made(path.clone(), Listed::of(&path, &key, &value)),
                Err(error) => made(path, Listed::Failed(error)),
            },
        ))
    }
}

/// The member that tells arrays from groups.
const NODE_TYPE: &str = "node_type";

pub(super) fn kind_of(document: &Value) -> Kind {
    kind_called(document.as_object().and_then(|members| members.get(NODE_TYPE)))
}

/// Of a stored document, nothing else is kept.
pub(super) fn stored_kind(access: &Access, key: &Key, value: &[u8]) -> Kind {
    let read = |reading: &_| parse_json_member(value, DocumentKind::V3, NODE_TYPE, reading);
    kind_called(access.reading(key, read).ok().flatten().as_ref())
}

fn kind_called(node_type: Option<&Value>) -> Kind {
    match node_type.and_then(Value::as_str) {
        Some("array") => Kind::Array,
        Some("group") => Kind::Group,
        _ => Kind::Unreadable,
    }
}

pub(super) fn child(path: NodePath, document: &Value) -> Child {
    Child { path, kind: kind_of(document) }
}

/// An array, of what may be any node.
pub(super) fn found_array(access: &Access, path: NodePath, listed: Listed<'_>) -> Option<FoundArray> {
    if let Err(reason) = path.check(Format::V3) {
        access.warn(format!("{path} is left out: {reason}"));
        return None;
    }
    if let Listed::Failed(error) = listed {
        return Some((path, Err(error)));
    }
    let document = listed.document(access).filter(|document| kind_of(document) == Kind::Array)?;
    let node = parse(access, &path, &document);
    let metadata = node.and_then(|node| array_of(&path, Some(Found::explicit(node))));
    Some((path, metadata))
}

pub(super) fn groups(nodes: &[Child]) -> Vec<NodePath> {
    nodes.iter().filter(|node| node.kind.is_group()).map(|node| node.path.clone()).collect()
}
