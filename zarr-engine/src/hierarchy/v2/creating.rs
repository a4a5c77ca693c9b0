//! Creating nodes of v2.

use std::collections::BTreeSet;

use zarr_metadata::GroupMetadata;
use zarr_metadata::v2::{array_document, array_key, attributes_key, group_document, group_key, prefix};
use zarr_spec::store::{Directory, StoreLock};
use zarr_spec::{Format, Key, NodePath, Object, Prefix, Value};

use super::V2;
use super::consolidated::at_and_above;
use super::documents::{
    Change, Documents, groups_and_node, stored, stored_all, stored_groups, stored_kind, write_attributes,
};
use crate::error::Error;
use crate::flight;
use crate::hierarchy::access::Access;
use crate::hierarchy::known_groups::{Above, State};
use crate::hierarchy::leftovers;
use crate::hierarchy::new_arrays::{groups_above, refuse_below_arrays, refuse_duplicates};
use crate::hierarchy::rules::{FormatRules, NewMetadata, NewNode, below_an_array, exists_already};

pub(super) struct Checked {
    missing: Vec<NodePath>,
    state: State,
    leftover: Documents,
    listed: Option<Directory>,
}

struct CheckedArrays {
    above: Vec<NodePath>,
    missing: Vec<NodePath>,
    /// The stored documents of each array.
    leftovers: Vec<Documents>,
    occupied: BTreeSet<Prefix>,
}

/// The documents of a new node.
struct NewDocuments<'n> {
    key: Key,
    document: Value,
    attributes: &'n Object,
}

impl<'n> NewDocuments<'n> {
    fn of(node: &NewNode<'n>) -> Result<Self, Error> {
        let path = node.path;
        let (key, document, attributes) = match node.metadata {
            NewMetadata::Array(array) => (array_key(path)?, array_document(array), &array.attributes),
            NewMetadata::Group(group) => (group_key(path)?, group_document(group), &group.attributes),
        };
        let document = document.map_err(|error| Error::document(&key, error))?;
        Ok(Self { key, document, attributes })
    }
}

impl V2 {
    /// Creates a node. Attributes are written first, because a node exists as soon as its own document does.
    pub(super) fn create_node(&self, access: &Access, node: &NewNode<'_>) -> Result<(), Error> {
        let path = node.path;
        let Checked { missing, state, leftover, listed } = check(access, path, node.needs_listing())?;
        let NewDocuments { key, document, attributes } = NewDocuments::of(node)?;
        let mut lock = leftovers::erase(access, self, node, listed.as_ref())?;
        if lock.is_none() && has_attributes(attributes, &leftover) {
            // Another program that creates the same node must not replace the attributes.
            lock = access.store.lock(&key)?;
            if lock.is_some() && access.has(&key)? {
                return Err(Error::Conflict(key));
            }
        }
        let mut changes = create_groups(access, &missing, 1)?;
        changes.extend(create_attributes(access, path, attributes, &leftover)?);
        access.create_json(&key, &document)?;
        drop(lock);
        changes.push((key, Some(document)));
        leftovers::note_group(access, node, listed.as_ref());
        let groups = match node.metadata {
            NewMetadata::Array(_) => access.groups_above(path).groups,
            NewMetadata::Group(_) => at_and_above(access, path),
        };
        if !self.refresh(access, &groups, &changes)? {
            access.learn_groups_above(path, state);
        }
        Ok(())
    }

    /// Creates arrays in a remote store: reads the documents above them in one batch, and writes new documents
    /// concurrently.
    pub(super) fn create_far_arrays(&self, access: &Access, arrays: &[NewNode<'_>]) -> Result<(), Error> {
        let CheckedArrays { above, missing, leftovers, occupied } = check_all(access, arrays)?;
        let new = arrays.iter().map(NewDocuments::of).collect::<Result<Vec<_>, _>>()?;
        let locks = self.erase_leftovers(access, arrays, &occupied)?;
        let concurrency = access.store.read_hints().max_concurrency;
        let mut changes = create_groups(access, &missing, concurrency)?;
        let numbers: Vec<usize> = (0..new.len()).collect();
        let attributes = flight::map(&numbers, concurrency, |&number| {
            create_attributes(access, arrays[number].path, new[number].attributes, &leftovers[number])
        })?;
        flight::each(new.len(), concurrency, |number| {
            match access.create_json(&new[number].key, &new[number].document) {
                Err(Error::Conflict(key)) => Err(conflict(access, arrays[number].path, key)?),
                created => created,
            }
        })?;
        drop(locks);
        changes.extend(attributes.into_iter().flatten());
        changes.extend(new.into_iter().map(|new| (new.key, Some(new.document))));
        self.refresh(access, &above, &changes).map(drop)
    }

    fn erase_leftovers(
        &self,
        access: &Access,
        arrays: &[NewNode<'_>],
        occupied: &BTreeSet<Prefix>,
    ) -> Result<Vec<StoreLock>, Error> {
        let mut locks = Vec::new();
        for array in arrays.iter().filter(|array| array.leftovers.is_some()) {
            let prefix = self.chunks(array.path)?;
            if occupied.contains(&prefix) {
                let listed = access.store.list_dir(&prefix)?;
                locks.extend(leftovers::erase(access, self, array, Some(&listed))?);
            }
        }
        Ok(locks)
    }
}

fn has_attributes(attributes: &Object, leftover: &Documents) -> bool {
    !attributes.is_empty() || leftover.attributes.is_some()
}

fn create_groups(access: &Access, missing: &[NodePath], concurrency: usize) -> Result<Vec<Change>, Error> {
    flight::map(missing, concurrency, |path| {
        let key = group_key(path)?;
        let group = group_document(&GroupMetadata::new(Format::V2, Object::new()));
        let group = group.map_err(|error| Error::document(&key, error))?;
        access.create_json(&key, &group)?;
        Ok((key, Some(group)))
    })
}

/// Writes the attributes of a new node, and removes those that an interrupted call left.
fn create_attributes(
    access: &Access,
    path: &NodePath,
    attributes: &Object,
    leftover: &Documents,
) -> Result<Option<Change>, Error> {
    if !has_attributes(attributes, leftover) {
        return Ok(None);
    }
    if leftover.attributes.is_some() {
        return write_attributes(access, path, attributes).map(Some);
    }
    let key = attributes_key(path)?;
    let document = Value::Object(attributes.clone());
    access.create_json(&key, &document)?;
    Ok(Some((key, Some(document))))
}

/// Returns the error for a new node whose document another program has created.
fn conflict(access: &Access, path: &NodePath, key: Key) -> Result<Error, Error> {
    Ok(stored_kind(access, path)?.map_or(Error::Conflict(key), |kind| exists_already(path, kind)))
}

/// Refuses to create a node at `path` if another node is in the way.
///
/// If `lists` is true, also lists the folder of the node, and reads its documents only if the listing contains one.
/// Below a group that this context created, the folder is not listed but taken to be empty. The documents are then
/// read, because another program may have created the node.
pub(super) fn check(access: &Access, path: &NodePath, lists: bool) -> Result<Checked, Error> {
    let Above { groups, state } = access.groups_above(path);
    let is_new = !access.is_local() && access.new_groups.cover(&access.context, path);
    let (above, itself, listed) = if !lists || is_new || !access.store.capabilities().listable {
        let (above, itself) = groups_and_node(access, &groups, path)?;
        (above, itself, (lists && is_new).then(Directory::default))
    } else {
        let read = || stored_groups(access, &groups);
        let (above, listed) = leftovers::with_current_listing(access, &prefix(path)?, read)?;
        (above, documents_in(access, path, listed.as_ref())?, listed)
    };
    let mut missing = Vec::new();
    for (ancestor, documents) in groups.into_iter().zip(above) {
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

/// Checks the paths of all `arrays`. The listings of the groups above them show which arrays may have documents or
/// chunks already. Arrays whose chunks are stored before their documents are not listed.
fn check_all(access: &Access, arrays: &[NewNode<'_>]) -> Result<CheckedArrays, Error> {
    refuse_duplicates(arrays)?;
    let above: Vec<NodePath> = groups_above(arrays).into_iter().collect();
    let paths: Vec<NodePath> = arrays.iter().map(|array| array.path.clone()).collect();
    let prefixes = paths.iter().map(prefix).collect::<Result<Vec<_>, _>>()?;
    let are_listed =
        access.store.capabilities().listable && arrays.iter().all(|array| array.leftovers.is_some());
    let (groups, leftovers, occupied) = if are_listed {
        let read = || stored_groups(access, &above);
        let listed = prefixes.iter().collect();
        let (groups, occupied) = leftovers::with_current_listings(access, &listed, read)?;
        let leftovers = documents_among(access, &paths, |number| occupied.contains(&prefixes[number]))?;
        (groups, leftovers, occupied)
    } else {
        let groups = stored_groups(access, &above)?;
        (groups, stored_all(access, &paths)?, BTreeSet::new())
    };
    refuse_below_arrays(arrays, &above, |number| groups[number].array.is_some())?;
    let mut existing = paths.iter().zip(&leftovers);
    if let Some((path, kind)) = existing.find_map(|(path, documents)| Some((path, documents.kind()?))) {
        return Err(exists_already(path, kind));
    }
    let missing = above.iter().zip(&groups).filter(|(_, documents)| documents.group.is_none());
    let missing = missing.map(|(path, _)| path.clone()).collect();
    Ok(CheckedArrays { above, missing, leftovers, occupied })
}

/// Reads the documents of those nodes for which `may_exist` returns true.
fn documents_among(
    access: &Access,
    paths: &[NodePath],
    may_exist: impl Fn(usize) -> bool,
) -> Result<Vec<Documents>, Error> {
    let numbers: Vec<usize> = (0..paths.len()).filter(|number| may_exist(*number)).collect();
    let read: Vec<NodePath> = numbers.iter().map(|&number| paths[number].clone()).collect();
    let mut documents = vec![Documents::default(); paths.len()];
    for (number, found) in numbers.into_iter().zip(stored_all(access, &read)?) {
        documents[number] = found;
    }
    Ok(documents)
}
