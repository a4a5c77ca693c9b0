//! Creating nodes of v2.

use zarr_metadata::GroupMetadata;
use zarr_metadata::v2::{array_document, array_key, attributes_key, group_document, group_key, prefix};
use zarr_spec::store::Directory;
use zarr_spec::{Format, NodePath, Object};

use super::V2;
use super::documents::{Documents, stored, stored_all, write_attributes};
use crate::error::Error;
use crate::hierarchy::access::Access;
use crate::hierarchy::known_groups::{Above, State};
use crate::hierarchy::leftovers;
use crate::hierarchy::rules::{NewMetadata, NewNode, below_an_array, exists_already};

/// Number of nodes whose documents are read in one batch. A larger batch would start rayon jobs while the node is
/// locked.
const NODES_PER_BATCH: usize = 64;

pub(super) struct Checked {
    missing: Vec<NodePath>,
    state: State,
    leftover: Documents,
    listed: Option<Directory>,
}

impl V2 {
    /// Creates a node. Attributes are written first, because a node exists as soon as its own document does.
    pub(super) fn create_node(&self, access: &Access, node: &NewNode<'_>) -> Result<(), Error> {
        let path = node.path;
        let Checked { missing, state, leftover, listed } = check(access, path, node.needs_listing())?;
        let (key, document, attributes) = match node.metadata {
            NewMetadata::Array(array) => (array_key(path)?, array_document(array), &array.attributes),
            NewMetadata::Group(group) => (group_key(path)?, group_document(group), &group.attributes),
        };
        let document = document.map_err(|error| Error::document(&key, error))?;
        let group = group_document(&GroupMetadata::new(Format::V2, Object::new()));
        let group = group.map_err(|error| Error::document(&key, error))?;
        let writes_attributes = !attributes.is_empty() || leftover.attributes.is_some();
        let mut lock = leftovers::erase(access, self, node, listed.as_ref())?;
        if writes_attributes && lock.is_none() {
            // Another program that creates the same node must not replace the attributes.
            lock = access.store.lock(&key)?;
            if lock.is_some() && access.has(&key)? {
                return Err(Error::Conflict(key));
            }
        }
        let mut changes = Vec::new();
        for ancestor in &missing {
            let key = group_key(ancestor)?;
            access.create_json(&key, &group)?;
            changes.push((key, Some(group.clone())));
        }
        if writes_attributes {
            changes.push(write_attributes(access, path, attributes)?);
        }
        access.create_json(&key, &document)?;
        drop(lock);
        changes.push((key, Some(document)));
        leftovers::note_group(access, node, listed.as_ref());
        if !self.refresh(access, path, &changes)? {
            access.learn_groups_above(path, state);
        }
        Ok(())
    }
}

/// Refuses to create a node at `path` if another node is in the way. If `lists` is true, also lists the folder of the
/// node.
pub(super) fn check(access: &Access, path: &NodePath, lists: bool) -> Result<Checked, Error> {
    let Above { groups: mut nodes, state } = access.groups_above(path);
    let count = nodes.len();
    if !access.is_local() {
        nodes.push(path.clone());
    }
    let read = || {
        let found = nodes.chunks(NODES_PER_BATCH).map(|nodes| stored_all(access, nodes));
        Ok(found.collect::<Result<Vec<_>, Error>>()?.concat())
    };
    let (mut found, listed) =
        if lists { leftovers::with_listing(access, path, &prefix(path)?, read)? } else { (read()?, None) };
    let itself = if access.is_local() {
        documents_in(access, path, listed.as_ref())?
    } else {
        found.pop().unwrap_or_default()
    };
    let mut missing = Vec::new();
    nodes.truncate(count);
    for (ancestor, documents) in nodes.into_iter().zip(found) {
        if documents.array.is_some() {
            return Err(below_an_array(path, &ancestor));
        }
        if documents.group.is_none() {
            missing.push(ancestor);
        }
    }
    match itself.kind() {
        Some(kind) => Err(exists_already(path, kind)),
        None => Ok(Checked { missing, state, leftover: itself, listed }),
    }
}

/// Reads the documents of a node, unless the listing of its folder contains none.
fn documents_in(access: &Access, path: &NodePath, listed: Option<&Directory>) -> Result<Documents, Error> {
    let keys = [array_key(path)?, group_key(path)?, attributes_key(path)?];
    if keys.iter().any(|key| leftovers::may_have(listed, key)) {
        stored(access, path)
    } else {
        Ok(Documents::default())
    }
}
