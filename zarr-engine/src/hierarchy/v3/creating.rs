//! Creating nodes of final v3.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use zarr_metadata::v3::{array_document, group_document, node_key, prefix};
use zarr_metadata::{ArrayMetadata, GroupMetadata, NodeMetadata};
use zarr_spec::store::{Directory, StoreLock};
use zarr_spec::{Format, Key, NodePath, Object, Prefix, Value};

use super::V3;
use super::copies::{Change, copies_of, have_copies};
use super::documents::{Encoded, parse_all, stored, stored_all};
use super::listing::kind_of;
use crate::error::Error;
use crate::flight;
use crate::hierarchy::access::Access;
use crate::hierarchy::entry::EntryKind;
use crate::hierarchy::known_groups::{Above, State};
use crate::hierarchy::leftovers;
use crate::hierarchy::listing::is_below;
use crate::hierarchy::new_arrays::{groups_above, refuse_below_arrays, refuse_duplicates};
use crate::hierarchy::rules::{FormatRules, NewMetadata, NewNode, below_an_array, exists_already};

/// The nodes above new nodes; `None` for groups that do not exist.
type Ancestors = Vec<(NodePath, Option<NodeMetadata>)>;

/// The number of arrays from which several threads create them in a local store. A thread starts while another one
/// creates two arrays.
const MANY: usize = 64;

struct AboveAndAt {
    above: Ancestors,
    itself: Option<Value>,
    state: State,
}

pub(super) struct Checked {
    above: Ancestors,
    state: State,
    listed: Option<Directory>,
}

struct CheckedArrays {
    above: Ancestors,
    occupied: BTreeSet<Prefix>,
}

impl V3 {
    /// Creates a node. Returns whether a group above it has consolidated metadata.
    pub(super) fn create_node(&self, access: &Access, node: &NewNode<'_>) -> Result<bool, Error> {
        let path = node.path;
        let check = || self.check(access, path, node.needs_listing());
        let (checked, _guard) =
            self.locked_if(access, check, |checked| have_copies(checked.above.iter().map(|(_, node)| node)))?;
        let Checked { above, state, listed } = checked;
        let new = [(path, self.encoded(node)?)];
        let erase = || Ok(leftovers::erase(access, self, node, listed.as_ref())?.into_iter().collect());
        let has_copies = self.write_new(access, above, &new, erase)?;
        leftovers::note_group(access, node, listed.as_ref());
        if !has_copies {
            access.learn_groups_above(path, state);
        }
        Ok(has_copies)
    }

    /// Creates arrays one after another; many arrays on several threads.
    pub(super) fn create_local_arrays(&self, access: &Access, arrays: &[NewNode<'_>]) -> Result<(), Error> {
        if arrays.len() > 1 {
            refuse_duplicates(arrays)?;
            refuse_below_arrays(arrays, &groups_above(arrays), |_| false)?;
        }
        let threads = if arrays.len() < MANY { 1 } else { access.context.thread_count() };
        if threads == 1 {
            return arrays.iter().try_for_each(|array| self.create_node(access, array).map(drop));
        }
        // The first array below each group creates the missing groups above it.
        let mut groups = BTreeSet::new();
        let (first, others): (Vec<_>, Vec<_>) =
            arrays.iter().partition(|array| groups.insert(array.path.parent()));
        let mut has_copies = false;
        for array in first {
            has_copies |= self.create_node(access, array)?;
        }
        if has_copies {
            // Each new array changes the same consolidated metadata.
            return others.iter().try_for_each(|array| self.create_node(access, array).map(drop));
        }
        let documents = flight::map(&others, threads, |array| self.create_below_group(access, array))?;
        let mut changes: BTreeMap<Option<NodePath>, Vec<Change<'_>>> = BTreeMap::new();
        for (array, encoded) in others.iter().zip(&documents) {
            changes.entry(array.path.parent()).or_default().push((array.path, Some(&encoded.document)));
        }
        // Another program may have consolidated the metadata of a group meanwhile.
        changes.values().try_for_each(|changes| self.refresh(access, &[], changes))
    }

    /// Creates an array below a group without consolidated metadata. Returns the document of the array.
    fn create_below_group(&self, access: &Access, array: &NewNode<'_>) -> Result<Arc<Encoded>, Error> {
        let path = array.path;
        let listed = match array.needs_listing() {
            true => leftovers::with_listing(access, path, &prefix(path)?, || Ok(()))?.1,
            false => None,
        };
        refuse_existing_node(access, path, None, listed.as_ref())?;
        let _lock = leftovers::erase(access, self, array, listed.as_ref())?;
        let encoded = self.encoded(array)?;
        create_document(access, path, &encoded)?;
        Ok(encoded)
    }

    /// Creates arrays in a remote store: reads all documents above in one batch, and writes new documents concurrently.
    pub(super) fn create_far_arrays(&self, access: &Access, arrays: &[NewNode<'_>]) -> Result<(), Error> {
        let check = || check_all_listed(access, arrays);
        let (checked, _guard) =
            self.locked_if(access, check, |checked| have_copies(checked.above.iter().map(|(_, node)| node)))?;
        let CheckedArrays { above, occupied } = checked;
        let new = arrays.iter().map(|array| Ok((array.path, self.encoded(array)?)));
        let new = new.collect::<Result<Vec<_>, Error>>()?;
        let erase = || {
            let mut locks = Vec::new();
            for array in arrays {
                let prefix = self.chunks(array.path)?;
                if occupied.contains(&prefix) {
                    let listed = access.store.list_dir(&prefix)?;
                    locks.extend(leftovers::erase(access, self, array, Some(&listed))?);
                }
            }
            Ok(locks)
        };
        self.write_new(access, above, &new, erase).map(drop)
    }

    /// Writes the missing groups in `above`, the new nodes, and then consolidated metadata. Calls `erase_leftovers`
    /// before it writes anything, and holds the locks that it returns. Returns whether there are consolidated metadata.
    fn write_new(
        &self,
        access: &Access,
        above: Ancestors,
        new: &[(&NodePath, Arc<Encoded>)],
        erase_leftovers: impl FnOnce() -> Result<Vec<StoreLock>, Error>,
    ) -> Result<bool, Error> {
        let missing = above.iter().filter(|(_, node)| node.is_none());
        let missing: Vec<NodePath> = missing.map(|(path, _)| path.clone()).collect();
        let group = GroupMetadata::new(Format::V3, Object::new());
        let encode = |path| Ok((path, Arc::new(Encoded::new(path, group_document(&group))?)));
        let groups = missing.iter().map(encode).collect::<Result<Vec<_>, Error>>()?;
        let changes: Vec<Change<'_>> =
            groups.iter().chain(new).map(|(path, encoded)| (*path, Some(&encoded.document))).collect();
        let copies = copies_of(above.into_iter(), &changes)?;
        let _locks = erase_leftovers()?;
        let was_created_meanwhile = create_documents(access, &groups, new)?;
        self.refresh(access, &copies, &changes)?;
        if was_created_meanwhile {
            self.refresh_as_stored(access, &changes)?;
        }
        Ok(!copies.is_empty())
    }

    /// Refuses to create a node at `path` if another node is in the way. If `lists` is true, also lists the folder of
    /// the node.
    pub(super) fn check(&self, access: &Access, path: &NodePath, lists: bool) -> Result<Checked, Error> {
        let read = || self.above_and_at(access, path);
        let (AboveAndAt { above, itself, state }, listed) = if lists {
            leftovers::with_listing(access, path, &prefix(path)?, read)?
        } else {
            (read()?, None)
        };
        let is_array = |node: &Option<NodeMetadata>| matches!(node, Some(NodeMetadata::Array(_)));
        if let Some((array, _)) = above.iter().find(|(_, node)| is_array(node)) {
            return Err(below_an_array(path, array));
        }
        refuse_existing_node(access, path, itself, listed.as_ref())?;
        Ok(Checked { above, state, listed })
    }

    /// Reads the nodes above `path`, and its own document. Groups that are cached as having no consolidated metadata
    /// are left out.
    fn above_and_at(&self, access: &Access, path: &NodePath) -> Result<AboveAndAt, Error> {
        let Above { groups: mut nodes, state } = access.groups_above(path);
        if access.is_local() {
            let above = nodes.into_iter().map(|ancestor| {
                let node = self.plain_groups.read(access, &ancestor)?;
                Ok((ancestor, node))
            });
            return Ok(AboveAndAt { above: above.collect::<Result<_, Error>>()?, itself: None, state });
        }
        if access.is_new_hierarchy() {
            let above = nodes.into_iter().map(|ancestor| (ancestor, None)).collect();
            return Ok(AboveAndAt { above, itself: None, state });
        }
        let count = nodes.len();
        if !access.has_versions() {
            nodes.push(path.clone());
        }
        // One batch of documents takes fewer round trips than a request for each version.
        let mut documents = stored_all(access, &nodes)?;
        let itself = documents.drain(count..).next().flatten();
        nodes.truncate(count);
        let above = parse_all(access, &nodes, &documents)?;
        Ok(AboveAndAt { above: nodes.into_iter().zip(above).collect(), itself, state })
    }

    /// Returns the document of a new node. The document of the last array is cached.
    fn encoded(&self, node: &NewNode<'_>) -> Result<Arc<Encoded>, Error> {
        let path = node.path;
        let make = |array: &Arc<ArrayMetadata>| Encoded::new(path, array_document(array)).map(Arc::new);
        match node.metadata {
            NewMetadata::Array(array) => self.arrays.get_or_make(array, has_same_text, make),
            NewMetadata::Group(group) => Ok(Arc::new(Encoded::new(path, group_document(group))?)),
        }
    }
}

/// Checks the paths of all `arrays`, and lists the folders of arrays whose leftover chunks must be erased.
fn check_all_listed(access: &Access, arrays: &[NewNode<'_>]) -> Result<CheckedArrays, Error> {
    let erased = arrays.iter().filter(|new| new.leftovers.is_some());
    let erased = erased.map(|new| Ok((new.path, prefix(new.path)?)));
    let erased = erased.collect::<Result<Vec<_>, Error>>()?;
    let (above, occupied) = leftovers::with_listings(access, &erased, || check_all(access, arrays))?;
    if access.has_versions() {
        let mut paths = Vec::new();
        for array in arrays {
            if occupied.contains(&prefix(array.path)?) {
                paths.push(array.path.clone());
            }
        }
        refuse_existing(&paths, &stored_all(access, &paths)?)?;
    }
    Ok(CheckedArrays { above, occupied })
}

/// Returns an error if the node at `path` exists. `document` is its document, if it has been read, and `listed` what its
/// folder contains.
///
/// Without a listing, a store that is not local is not asked: the conditional write of the new document fails if there is
/// one.
fn refuse_existing_node(
    access: &Access,
    path: &NodePath,
    mut document: Option<Value>,
    listed: Option<&Directory>,
) -> Result<(), Error> {
    let key = node_key(path)?;
    let may_exist = listed.map_or_else(|| access.is_local(), |listed| listed.keys.contains(&key));
    if document.is_none() && may_exist {
        document = stored(access, path)?;
    }
    match document {
        Some(document) => Err(exists_already(path, kind_of(&document))),
        None => Ok(()),
    }
}

/// Writes the documents of missing groups and of new nodes below them. Returns whether another program has created one
/// of the groups meanwhile.
///
/// A single node is written last, after the groups from the top down. Many nodes are written in one batch with the
/// groups, which saves a round trip.
fn create_documents(
    access: &Access,
    groups: &[(&NodePath, Arc<Encoded>)],
    new: &[(&NodePath, Arc<Encoded>)],
) -> Result<bool, Error> {
    if let [(path, encoded)] = new {
        groups.iter().try_for_each(|(group, encoded)| access.create(&node_key(group)?, &encoded.text))?;
        return create_document(access, path, encoded).map(|()| false);
    }
    let was_created_meanwhile = AtomicBool::new(false);
    let concurrency = access.store.read_hints().max_concurrency;
    flight::each(groups.len() + new.len(), concurrency, |number| match groups.get(number) {
        Some((group, encoded)) => match access.create(&node_key(group)?, &encoded.text) {
            // The change cannot be repeated from the start, because documents of new nodes may be stored already.
            Err(Error::Conflict(key)) => {
                was_created_meanwhile.store(true, Ordering::Relaxed);
                refuse_array(access, group, new, key)
            }
            created => created,
        },
        None => {
            let (path, encoded) = &new[number - groups.len()];
            create_document(access, path, encoded)
        }
    })?;
    Ok(was_created_meanwhile.into_inner())
}

/// Returns an error unless the node that another program has created at `path` is a group.
fn refuse_array(
    access: &Access,
    path: &NodePath,
    new: &[(&NodePath, Arc<Encoded>)],
    key: Key,
) -> Result<(), Error> {
    let document = stored(access, path)?.ok_or(Error::Conflict(key))?;
    if kind_of(&document) != EntryKind::Array {
        return Ok(());
    }
    let below = new.iter().find(|(new, _)| is_below(new, path));
    Err(below
        .map_or_else(|| exists_already(path, EntryKind::Array), |(below, _)| below_an_array(below, path)))
}

/// Writes the document of a new node.
fn create_document(access: &Access, path: &NodePath, encoded: &Encoded) -> Result<(), Error> {
    match access.create(&node_key(path)?, &encoded.text) {
        Err(Error::Conflict(key)) => Err(conflict(access, path, key)?),
        created => created,
    }
}

/// Returns an error if one of the new nodes has a document.
fn refuse_existing(nodes: &[NodePath], documents: &[Option<Value>]) -> Result<(), Error> {
    let mut existing = nodes.iter().zip(documents);
    match existing.find_map(|(path, document)| Some((path, document.as_ref()?))) {
        Some((path, document)) => Err(exists_already(path, kind_of(document))),
        None => Ok(()),
    }
}

/// Returns the error for a new node whose document another program has created.
fn conflict(access: &Access, path: &NodePath, key: Key) -> Result<Error, Error> {
    let document = stored(access, path)?;
    Ok(document.map_or(Error::Conflict(key), |document| exists_already(path, kind_of(&document))))
}

/// Returns the nodes above `arrays`. It is an error if other nodes are in the way.
///
/// In a store with conditional writes, the documents of the arrays are not read: writing them finds existing ones.
fn check_all(access: &Access, arrays: &[NewNode<'_>]) -> Result<Ancestors, Error> {
    refuse_duplicates(arrays)?;
    let mut nodes: Vec<NodePath> = groups_above(arrays).into_iter().collect();
    let count = nodes.len();
    let documents = match access.is_new_hierarchy() {
        true => vec![None; count],
        false => {
            if !access.has_versions() {
                nodes.extend(arrays.iter().map(|array| array.path.clone()));
            }
            stored_all(access, &nodes)?
        }
    };
    let found = parse_all(access, &nodes[..count], &documents[..count])?;
    let is_array = |number: usize| matches!(found[number], Some(NodeMetadata::Array(_)));
    refuse_below_arrays(arrays, &nodes[..count], is_array)?;
    refuse_existing(&nodes[count..], &documents[count..])?;
    Ok(nodes.into_iter().zip(found).collect())
}

fn has_same_text(one: &Arc<ArrayMetadata>, other: &Arc<ArrayMetadata>) -> bool {
    // Equal objects may have their members in a different order, which changes the text.
    Arc::ptr_eq(one, other) || one.attributes.is_empty() && one.ignored.is_empty() && one == other
}
