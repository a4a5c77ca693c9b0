//! The documents of the nodes of v2: what is there, and what they say.

use bytes::Bytes;
use zarr_metadata::v2::{
    array_key, attributes_key, group_key, parse_array, parse_attributes, parse_group, prefix,
};
use zarr_metadata::{ArrayMetadata, DocumentKind, GroupMetadata, NodeMetadata};
use zarr_spec::{Key, NodePath, Object, Value};

use super::access::{Access, keyed};
use super::dialect::{Found, FoundArray, array_of};
use super::{Child, Kind};
use crate::error::Error;

/// The documents of one node, as far as there are any.
#[derive(Debug, Clone, Default)]
pub(super) struct Documents {
    pub(super) array: Option<Value>,
    pub(super) group: Option<Value>,
    pub(super) attributes: Option<Value>,
}

impl Documents {
    pub(super) fn kind(&self) -> Option<Kind> {
        match self {
            Self { array: Some(_), .. } => Some(Kind::Array),
            Self { group: Some(_), .. } => Some(Kind::Group),
            _ => None,
        }
    }

    pub(super) fn child(&self, access: &Access, path: NodePath) -> Option<Child> {
        child(access, path, self.array.is_some(), self.group.is_some())
    }
}

/// The nodes directly below all of `groups`, with one batch of requests. Their documents need not be readable.
pub(super) fn listed(access: &Access, groups: &[NodePath]) -> Result<Vec<Child>, Error> {
    children_at(access, access.paths_below(groups, prefix)?)
}

/// The nodes that there are at `paths`.
pub(super) fn children_at(access: &Access, paths: Vec<NodePath>) -> Result<Vec<Child>, Error> {
    let mut keys = Vec::new();
    for path in &paths {
        keys.extend([keyed(array_key(path))?, keyed(group_key(path))?]);
    }
    let values = access.get_each(&keys);
    let child = |(path, values): (NodePath, &[Result<Option<_>, Error>])| match values {
        [Ok(array), Ok(group)] => child(access, path, array.is_some(), group.is_some()),
        values => {
            values
                .iter()
                .filter_map(|value| value.as_ref().err())
                .for_each(|error| access.warn(error.to_string()));
            Some(Child { path, kind: Kind::Unreadable })
        }
    };
    Ok(paths.into_iter().zip(values.chunks_exact(2)).filter_map(child).collect())
}

/// The arrays that there are at `paths`. What is wrong with documents is said of theirs alone.
pub(super) fn arrays_at(access: &Access, paths: Vec<NodePath>) -> Result<Vec<FoundArray>, Error> {
    let keys = keys_of(&paths)?;
    let values = access.get_all(&keys)?;
    let nodes = paths.into_iter().zip(keys.chunks_exact(3).zip(values.chunks_exact(3)));
    let arrays = nodes.filter(|(_, (_, values))| values[0].is_some()).collect();
    Ok(access.context.map(arrays, |(path, (keys, values)): (NodePath, (&[Key], &[Option<Bytes>]))| {
        found_array(access, path, parsed(access, keys, values))
    }))
}

pub(super) fn found_array(
    access: &Access,
    path: NodePath,
    documents: Result<Documents, Error>,
) -> FoundArray {
    let array = documents.and_then(|documents| array_of(&path, found(access, &path, documents)?));
    (path, array)
}

/// What is there, whether or not it can be read.
pub(super) fn stored_kind(access: &Access, path: &NodePath) -> Result<Kind, Error> {
    let keys = [keyed(array_key(path))?, keyed(group_key(path))?];
    let (is_array, is_group) = match access.is_local() {
        true => (access.has(&keys[0])?, None),
        false => {
            let have = access.have(&keys)?;
            (have[0], Some(have[1]))
        }
    };
    if is_array {
        return Ok(Kind::Array);
    }
    match is_group.map_or_else(|| access.has(&keys[1]), Ok)? {
        true => Ok(Kind::Group),
        false => Err(Error::NoNode(path.clone())),
    }
}

/// The node that has these documents.
pub(super) fn found(access: &Access, path: &NodePath, documents: Documents) -> Result<Option<Found>, Error> {
    let Some(kind) = documents.kind() else { return Ok(None) };
    let attributes_key = keyed(attributes_key(path))?;
    let attributes = match &documents.attributes {
        Some(document) => access.reading(&attributes_key, |_| parse_attributes(document))?,
        None => Object::new(),
    };
    let (Some(document), Kind::Array) = (&documents.array, kind) else {
        let document = documents.group.unwrap_or(Value::Null);
        let group =
            access.reading(&keyed(group_key(path))?, |reading| parse_group(&document, None, reading))?;
        return Ok(Some(Found::explicit(NodeMetadata::Group(GroupMetadata { attributes, ..group }))));
    };
    if documents.group.is_some() {
        access.warn(both(path));
    }
    let array = access.reading(&keyed(array_key(path))?, |reading| parse_array(document, None, reading))?;
    Ok(Some(Found::explicit(NodeMetadata::Array(Box::new(ArrayMetadata { attributes, ..array })))))
}

pub(super) fn stored(access: &Access, path: &NodePath) -> Result<Documents, Error> {
    Ok(stored_all(access, std::slice::from_ref(path))?.pop().unwrap_or_default())
}

/// The documents of some nodes, in one batch.
pub(super) fn stored_all(access: &Access, paths: &[NodePath]) -> Result<Vec<Documents>, Error> {
    let keys = keys_of(paths)?;
    let values = access.get_all(&keys)?;
    keys.chunks_exact(3)
        .zip(values.chunks_exact(3))
        .map(|(keys, values)| parsed(access, keys, values))
        .collect()
}

/// The keys of the documents of nodes, three for each.
fn keys_of(paths: &[NodePath]) -> Result<Vec<Key>, Error> {
    let mut keys = Vec::new();
    for path in paths {
        keys.extend([keyed(array_key(path))?, keyed(group_key(path))?, keyed(attributes_key(path))?]);
    }
    Ok(keys)
}

/// The documents of a node, from the values of these keys.
fn parsed(access: &Access, keys: &[Key], values: &[Option<Bytes>]) -> Result<Documents, Error> {
    let kinds = [DocumentKind::V2, DocumentKind::V2, DocumentKind::V2Attributes];
    let mut documents =
        keys.iter().zip(values).zip(kinds).map(|((key, value), kind)| {
            value.as_ref().map(|value| access.parse(key, value, kind)).transpose()
        });
    let mut next = || documents.next().unwrap_or(Ok(None));
    Ok(Documents { array: next()?, group: next()?, attributes: next()? })
}

fn both(path: &NodePath) -> String {
    format!("{path} has both `.zarray` and `.zgroup`; it is taken for an array")
}

fn child(access: &Access, path: NodePath, is_array: bool, is_group: bool) -> Option<Child> {
    if is_array && is_group {
        access.warn(both(&path));
    }
    match (is_array, is_group) {
        (true, _) => Some(Child { path, kind: Kind::Array }),
        (false, true) => Some(Child { path, kind: Kind::Group }),
        (false, false) => None,
    }
}
