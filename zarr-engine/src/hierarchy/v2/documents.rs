//! The documents of the nodes of v2.

use bytes::Bytes;
use zarr_metadata::v2::{
    array_key, attributes_document, attributes_key, group_key, parse_array, parse_attributes, parse_group,
    prefix,
};
use zarr_metadata::{DocumentKind, NodeMetadata};
use zarr_spec::{Key, NodePath, Object, Value};

use crate::error::Error;
use crate::hierarchy::access::Access;
use crate::hierarchy::entry::{EntryKind, NodeEntry};
use crate::hierarchy::listing::paths_below;
use crate::hierarchy::rules::{FoundArray, FoundNode, array_of};

/// A document that was written, or `None` if it was erased.
pub(super) type Change = (Key, Option<Value>);

#[derive(Debug, Clone, Default)]
pub(super) struct Documents {
    pub(super) array: Option<Value>,
    pub(super) group: Option<Value>,
    pub(super) attributes: Option<Value>,
}

impl Documents {
    pub(super) fn kind(&self) -> Option<EntryKind> {
        EntryKind::of_documents(self.array.is_some(), self.group.is_some())
    }

    pub(super) fn entry(&self, access: &Access, path: NodePath) -> Option<NodeEntry> {
        entry(access, path, self.array.is_some(), self.group.is_some())
    }
}

/// Lists the nodes directly below all of `groups`. Unreadable documents are not an error.
pub(super) fn listed(access: &Access, groups: &[NodePath]) -> Result<Vec<NodeEntry>, Error> {
    children_at(access, paths_below(access, groups, prefix)?)
}

pub(super) fn children_at(access: &Access, paths: Vec<NodePath>) -> Result<Vec<NodeEntry>, Error> {
    let mut keys = Vec::new();
    for path in &paths {
        keys.extend([array_key(path)?, group_key(path)?]);
    }
    let values = access.get_each(&keys);
    let child = |(path, values): (NodePath, &[Result<Option<_>, Error>])| match values {
        [Ok(array), Ok(group)] => entry(access, path, array.is_some(), group.is_some()),
        values => {
            warn_of_unreadable(access, values);
            Some(NodeEntry { path, kind: EntryKind::Unreadable })
        }
    };
    Ok(paths.into_iter().zip(values.chunks_exact(2)).filter_map(child).collect())
}

fn warn_of_unreadable<T>(access: &Access, values: &[Result<T, Error>]) {
    values.iter().filter_map(|value| value.as_ref().err()).for_each(|error| access.warn(error.to_string()));
}

type Fetched = Result<Option<Bytes>, Error>;

/// Reads the arrays at `paths`, with one batch of requests. Each array has its own result.
pub(super) fn arrays_at(access: &Access, paths: Vec<NodePath>) -> Result<Vec<FoundArray>, Error> {
    let keys = keys_of(&paths)?;
    let mut values = access.get_each(&keys).into_iter();
    let mut arrays = Vec::new();
    for (path, keys) in paths.into_iter().zip(keys.chunks_exact(3)) {
        let values: Vec<Fetched> = values.by_ref().take(3).collect();
        match values.first() {
            Some(Ok(None)) => warn_of_unreadable(access, &values),
            _ => arrays.push((path, keys, values)),
        }
    }
    Ok(access.context.map(arrays, |(path, keys, values): (NodePath, &[Key], Vec<Fetched>)| {
        let values = values.into_iter().collect::<Result<Vec<_>, _>>();
        found_array(access, path, values.and_then(|values| parsed(access, keys, &values)))
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

/// Returns the kind of the stored node at `path`. Unreadable documents are not an error.
pub(super) fn stored_kind(access: &Access, path: &NodePath) -> Result<Option<EntryKind>, Error> {
    let keys = [array_key(path)?, group_key(path)?];
    let (is_array, is_group) = if access.is_local() {
        let is_array = access.has(&keys[0])?;
        (is_array, !is_array && access.has(&keys[1])?)
    } else {
        let have = access.have(&keys)?;
        (have[0], have[1])
    };
    Ok(EntryKind::of_documents(is_array, is_group))
}

pub(super) fn found(
    access: &Access,
    path: &NodePath,
    documents: Documents,
) -> Result<Option<FoundNode>, Error> {
    let Some(kind) = documents.kind() else { return Ok(None) };
    let attributes_key = attributes_key(path)?;
    let attributes = documents.attributes.as_ref();
    let parsed = |document: &Value| access.reading(&attributes_key, |_| parse_attributes(document));
    let (Some(document), EntryKind::Array) = (&documents.array, kind) else {
        let attributes = attributes.map(parsed).transpose()?.unwrap_or_default();
        let document = documents.group.unwrap_or(Value::Null);
        let mut group = access.reading(&group_key(path)?, |reading| parse_group(&document, None, reading))?;
        group.attributes = attributes;
        return Ok(Some(FoundNode::explicit(NodeMetadata::Group(group))));
    };
    if documents.group.is_some() {
        access.warn(both(path));
    }
    // The error about attributes that are not an object names their own document.
    if let Some(wrong) = attributes.filter(|document| document.as_object().is_none()) {
        parsed(wrong)?;
    }
    let array = access.reading(&array_key(path)?, |reading| parse_array(document, attributes, reading))?;
    Ok(Some(FoundNode::explicit(NodeMetadata::Array(Box::new(array)))))
}

pub(super) fn stored(access: &Access, path: &NodePath) -> Result<Documents, Error> {
    Ok(stored_all(access, std::slice::from_ref(path))?.pop().unwrap_or_default())
}

pub(super) fn stored_all(access: &Access, paths: &[NodePath]) -> Result<Vec<Documents>, Error> {
    let keys = keys_of(paths)?;
    let values = access.get_all(&keys)?;
    keys.chunks_exact(3)
        .zip(values.chunks_exact(3))
        .map(|(keys, values)| parsed(access, keys, values))
        .collect()
}

/// Reads the documents of groups without their attributes.
pub(super) fn stored_groups(access: &Access, paths: &[NodePath]) -> Result<Vec<Documents>, Error> {
    let keys = group_keys_of(paths)?;
    parsed_groups(access, &keys, &access.get_all(&keys)?)
}

/// Reads the documents of groups without their attributes, and all documents of a node. In a remote store, this is one
/// batch of requests.
pub(super) fn groups_and_node(
    access: &Access,
    groups: &[NodePath],
    path: &NodePath,
) -> Result<(Vec<Documents>, Documents), Error> {
    if access.is_local() {
        return Ok((stored_groups(access, groups)?, stored(access, path)?));
    }
    let mut keys = group_keys_of(groups)?;
    let count = keys.len();
    keys.extend(keys_of(std::slice::from_ref(path))?);
    let values = access.get_all(&keys)?;
    let groups = parsed_groups(access, &keys[..count], &values[..count])?;
    Ok((groups, parsed(access, &keys[count..], &values[count..])?))
}

/// Returns the keys of the documents of groups without their attributes, two for each.
fn group_keys_of(paths: &[NodePath]) -> Result<Vec<Key>, Error> {
    let mut keys = Vec::new();
    for path in paths {
        keys.extend([array_key(path)?, group_key(path)?]);
    }
    Ok(keys)
}

fn parsed_groups(access: &Access, keys: &[Key], values: &[Option<Bytes>]) -> Result<Vec<Documents>, Error> {
    let parsed = |(keys, values)| parsed(access, keys, values);
    keys.chunks_exact(2).zip(values.chunks_exact(2)).map(parsed).collect()
}

/// Returns the keys of the documents of nodes, three for each.
fn keys_of(paths: &[NodePath]) -> Result<Vec<Key>, Error> {
    let mut keys = Vec::new();
    for path in paths {
        keys.extend([array_key(path)?, group_key(path)?, attributes_key(path)?]);
    }
    Ok(keys)
}

/// Parses the documents of a node: its `.zarray`, `.zgroup` and `.zattrs`, or the first two of them.
pub(super) fn parsed(access: &Access, keys: &[Key], values: &[Option<Bytes>]) -> Result<Documents, Error> {
    let kinds = [DocumentKind::V2, DocumentKind::V2, DocumentKind::V2Attributes];
    let mut documents =
        keys.iter().zip(values).zip(kinds).map(|((key, value), kind)| {
            value.as_ref().map(|value| access.parse(key, value, kind)).transpose()
        });
    let mut next = || documents.next().unwrap_or(Ok(None));
    Ok(Documents { array: next()?, group: next()?, attributes: next()? })
}

/// Writes the attributes of a node. If they are empty and the store can erase, erases the document instead.
pub(super) fn write_attributes(
    access: &Access,
    path: &NodePath,
    attributes: &Object,
) -> Result<Change, Error> {
    let key = attributes_key(path)?;
    let document = attributes_document(attributes);
    if attributes.is_empty() {
        let document = access.erase_or_set(&key, &document)?;
        return Ok((key, document));
    }
    access.set_json(&key, &document)?;
    Ok((key, Some(document)))
}

fn both(path: &NodePath) -> String {
    format!("{path} has both `.zarray` and `.zgroup`; it is read as an array")
}

fn entry(access: &Access, path: NodePath, is_array: bool, is_group: bool) -> Option<NodeEntry> {
    if is_array && is_group {
        access.warn(both(&path));
    }
    Some(NodeEntry { path, kind: EntryKind::of_documents(is_array, is_group)? })
}
