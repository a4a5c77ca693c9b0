//! Creating nodes of final v3.

use std::collections::BTreeSet;
use std::sync::Arc;

use zarr_metadata::v3::{array_document, group_document, node_key, prefix};
use zarr_metadata::{ArrayMetadata, GroupMetadata, NodeMetadata};
use zarr_spec::store::Directory;
use zarr_spec::{Format, NodePath, Object, Prefix, Value};

use super::V3;
use super::copies::{Change, copies_of, have_copies};
use super::documents::{Encoded, made, parse_all, stored, stored_all};
use super::listing::kind_of;
use crate::error::Error;
use crate::flight;
use crate::hierarchy::access::{Access, keyed};
use crate::hierarchy::known_groups::{Above, State};
use crate::hierarchy::leftovers;
use crate::hierarchy::listing::is_below;
use crate::hierarchy::rules::{
    FormatRules, NewMetadata, NewNode, below_an_array, exists_already, in_the_way,
};

/// The nodes above new ones. `None` for groups that do not exist.
type Ancestors = Vec<(NodePath, Option<NodeMetadata>)>;

/// The nodes above a path, and the document at it.
struct AboveAndAt {
    above: Ancestors,
    itself: Option<Value>,
    state: State,
}

/// What is stored where a node is to be created.
pub(super) struct Checked {
    /// The nodes above that were read.
    above: Ancestors,
    /// When they were read.
    state: State,
    /// The folder of the node, if it was listed.
    listed: Option<Directory>,
}

/// What is stored where arrays are to be created.
struct CheckedArrays {
    /// All nodes above.
    above: Ancestors,
    /// The folders of new arrays that are not empty.
    occupied: Vec<Prefix>,
}

impl V3 {
    pub(super) fn create_node(&self, access: &Access, node: &NewNode<'_>) -> Result<(), Error> {
        let path = node.path;
        let check = || self.check(access, path, node.needs_listing());
        let (checked, _guard) =
            self.locked_if(access, check, |checked| have_copies(checked.above.iter().map(|(_, node)| node)))?;
        let Checked { above, state, listed } = checked;
        let encoded = match node.metadata {
            NewMetadata::Array(array) => self.encoded(path, array)?,
            NewMetadata::Group(group) => Arc::new(Encoded::new(path, group_document(group))?),
        };
        let mut groups = Vec::new();
        for ancestor in missing(&above) {
            let group = made(ancestor, group_document(&GroupMetadata::new(Format::V3, Object::new())))?;
            groups.push((ancestor.clone(), group));
        }
        let mut changes: Vec<Change<'_>> =
            groups.iter().map(|(ancestor, group)| (ancestor, Some(group))).collect();
        changes.push((path, Some(&encoded.document)));
        let copies = copies_of(above.into_iter(), &changes)?;
        leftovers::erase(access, self, node, listed.as_ref())?;
        for (ancestor, group) in &groups {
            access.set_json(&keyed(node_key(ancestor))?, group)?;
        }
        access.store.set(&keyed(node_key(path))?, encoded.text.as_slice().into())?;
        leftovers::note_group(access, node, listed.as_ref());
        if copies.is_empty() {
            access.learn_groups_above(path, state);
        }
        self.refresh(access, &copies, &changes)
    }

    /// Creates arrays in a far store: reads all documents above in one batch, then writes all documents concurrently,
    /// those of groups first.
    pub(super) fn create_far_arrays(&self, access: &Access, arrays: &[NewNode<'_>]) -> Result<(), Error> {
        let check = || check_all_listed(access, arrays);
        let (checked, _guard) =
            self.locked_if(access, check, |checked| have_copies(checked.above.iter().map(|(_, node)| node)))?;
        let CheckedArrays { above, occupied } = checked;
        let missing: Vec<NodePath> = missing(&above).cloned().collect();
        let group = GroupMetadata::new(Format::V3, Object::new());
        let groups =
            missing.iter().map(|path| Ok((path, Arc::new(Encoded::new(path, group_document(&group))?))));
        let groups = groups.collect::<Result<Vec<_>, Error>>()?;
        let new = arrays.iter().filter_map(|new| match new.metadata {
            NewMetadata::Array(array) => Some((new.path, array)),
            NewMetadata::Group(_) => None,
        });
        let new = new.map(|(path, array)| Ok((path, self.encoded(path, array)?)));
        let new = new.collect::<Result<Vec<_>, Error>>()?;
        let changes: Vec<Change<'_>> =
            groups.iter().chain(&new).map(|(path, encoded)| (*path, Some(&encoded.document))).collect();
        let copies = copies_of(above.into_iter(), &changes)?;
        for array in arrays {
            let prefix = self.chunks(array.path)?;
            if occupied.contains(&prefix) {
                leftovers::erase(access, self, array, Some(&access.store.list_dir(&prefix)?))?;
            }
        }
        for nodes in [&groups, &new] {
            flight::each(nodes.len(), access.store.read_hints().max_concurrency, |number| {
                let (path, encoded) = &nodes[number];
                Ok::<_, Error>(access.store.set(&keyed(node_key(path))?, encoded.text.as_slice().into())?)
            })?;
        }
        self.refresh(access, &copies, &changes)
    }

    /// Refuses to create a node at `path` if another node is in the way. Lists the folder of the node if `lists`.
    pub(super) fn check(&self, access: &Access, path: &NodePath, lists: bool) -> Result<Checked, Error> {
        let read = || self.above_and_at(access, path);
        let (AboveAndAt { above, mut itself, state }, listed) = if lists {
            leftovers::with_listing(access, path, &keyed(prefix(path))?, read)?
        } else {
            (read()?, None)
        };
        // A folder that was listed without a document does not have one.
        if access.is_local() && leftovers::may_have(listed.as_ref(), &keyed(node_key(path))?) {
            itself = stored(access, path)?;
        }
        let is_array = |node: &Option<NodeMetadata>| matches!(node, Some(NodeMetadata::Array(_)));
        if let Some((array, _)) = above.iter().find(|(_, node)| is_array(node)) {
            return Err(below_an_array(path, array));
        }
        match itself {
            Some(document) => Err(exists_already(path, kind_of(&document))),
            None => Ok(Checked { above, state, listed }),
        }
    }

    /// Reads the nodes above `path`, and its own document. Groups that are known to have no consolidated metadata are
    /// left out.
    fn above_and_at(&self, access: &Access, path: &NodePath) -> Result<AboveAndAt, Error> {
        let Above { groups: mut nodes, state } = access.groups_above(path);
        if access.is_local() {
            let above = nodes.into_iter().map(|ancestor| {
                let node = self.plain_groups.read(access, &ancestor)?;
                Ok((ancestor, node))
            });
            return Ok(AboveAndAt { above: above.collect::<Result<_, Error>>()?, itself: None, state });
        }
        // One batch of documents takes fewer round trips than a request for each version.
        nodes.push(path.clone());
        let mut documents = stored_all(access, &nodes)?;
        let itself = documents.pop().flatten();
        let above = parse_all(access, &nodes, &documents)?;
        Ok(AboveAndAt { above: nodes.into_iter().zip(above).collect(), itself, state })
    }

    /// Returns the document of an array. It is cached.
    fn encoded(&self, path: &NodePath, array: &ArrayMetadata) -> Result<Arc<Encoded>, Error> {
        let make = |array: &ArrayMetadata| Encoded::new(path, array_document(array)).map(Arc::new);
        self.arrays.get_or_make(array, has_same_text, make)
    }
}

/// Returns the paths of the groups that do not exist.
fn missing(above: &Ancestors) -> impl Iterator<Item = &NodePath> {
    above.iter().filter(|(_, node)| node.is_none()).map(|(path, _)| path)
}

/// Checks the paths of all `arrays`, and lists the folders of arrays whose stored chunks are to be erased.
fn check_all_listed(access: &Access, arrays: &[NewNode<'_>]) -> Result<CheckedArrays, Error> {
    let erased = arrays.iter().filter(|new| new.leftovers.is_some());
    let erased = erased.map(|new| Ok((new.path, keyed(prefix(new.path))?)));
    let erased = erased.collect::<Result<Vec<_>, Error>>()?;
    let (above, occupied) = leftovers::with_listings(access, &erased, || check_all(access, arrays))?;
    Ok(CheckedArrays { above, occupied })
}

/// Returns the nodes above `arrays`. Refuses to create the arrays if other nodes are in the way.
fn check_all(access: &Access, arrays: &[NewNode<'_>]) -> Result<Ancestors, Error> {
    let mut new = BTreeSet::new();
    for path in arrays.iter().map(|array| array.path) {
        if !new.insert(path) {
            return Err(in_the_way(path, "it is to be created twice"));
        }
    }
    let mut nodes: Vec<NodePath> = groups_above(arrays).into_iter().collect();
    let count = nodes.len();
    nodes.extend(arrays.iter().map(|array| array.path.clone()));
    let documents = stored_all(access, &nodes)?;
    let found = parse_all(access, &nodes[..count], &documents)?;
    let is_array = |(path, node): (&NodePath, &Option<NodeMetadata>)| {
        (new.contains(path) || matches!(node, Some(NodeMetadata::Array(_)))).then(|| path.clone())
    };
    if let Some(array) = nodes.iter().zip(&found).find_map(is_array)
        && let Some(below) = arrays.iter().find(|new| is_below(new.path, &array))
    {
        return Err(below_an_array(below.path, &array));
    }
    for (array, document) in arrays.iter().zip(&documents[count..]) {
        if let Some(document) = document {
            return Err(exists_already(array.path, kind_of(document)));
        }
    }
    Ok(nodes.into_iter().zip(found).collect())
}

/// Returns the paths of all groups above `arrays`.
fn groups_above(arrays: &[NewNode<'_>]) -> BTreeSet<NodePath> {
    let mut above = BTreeSet::new();
    for array in arrays {
        let mut next = array.path.parent();
        while let Some(group) = next.filter(|group| !above.contains(group)) {
            next = group.parent();
            above.insert(group);
        }
    }
    above
}

/// Returns whether the documents of both have the same text.
fn has_same_text(one: &ArrayMetadata, other: &ArrayMetadata) -> bool {
    // Objects are equal in any order of their members, but written in theirs.
    one.attributes.is_empty() && one.ignored.is_empty() && one == other
}
