//! What has to be asked before nodes of final v3 are written, and what follows: the copies of their documents in the groups
//! above.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use zarr_spec::metadata::v3::{array_document, group_document, node_key, prefix};
use zarr_spec::metadata::{ArrayMetadata, DocumentError, DocumentKind, GroupMetadata, NodeMetadata};
use zarr_spec::store::{Directory, Version};
use zarr_spec::{Format, Key, NodePath, Object, Prefix, Value, json};

use super::access::{Access, encoded_at, keyed};
use super::dialect::{Chunks, NewArray, below_an_array, in_the_way};
use super::known_groups::{Above, State};
use super::leftovers;
use super::snapshot::is_below;
use super::v3::{V3, parse, parse_all, stored, stored_all};
use super::v3_listing::kind_of;
use crate::error::Error;

/// A document, and its text.
#[derive(Debug)]
pub(super) struct Encoded {
    pub(super) document: Value,
    pub(super) text: Vec<u8>,
}

impl Encoded {
    pub(super) fn new(path: &NodePath, document: Result<Value, DocumentError>) -> Result<Self, Error> {
        let document = made(path, document)?;
        let text = json::to_vec_pretty(&document).map_err(Into::into);
        Ok(Self { text: encoded_at(&keyed(node_key(path))?, text)?, document })
    }
}

/// What was written at a path: a document, or nothing any more there and below.
pub(super) type Change<'a> = (&'a NodePath, Option<&'a Value>);

/// Groups in the cache.
const MOST_PLAIN_GROUPS: usize = 10_000;

/// The versions of the documents of groups without consolidated metadata. Each new node needs the groups above it; a
/// document of the same version is not read again.
///
/// Without it, creating 100 arrays in memory takes 17 % more instructions (`create/100-arrays`).
#[derive(Debug, Default)]
pub(super) struct PlainGroups(Mutex<HashMap<Key, Version>>);

impl PlainGroups {
    /// The node at `path`; nothing but its kind of a group that is known.
    fn read(&self, access: &Access, path: &NodePath) -> Result<Option<NodeMetadata>, Error> {
        let key = keyed(node_key(path))?;
        let known = self.known().get(&key).cloned();
        if known.is_some() && access.version(&key)? == known {
            return Ok(Some(NodeMetadata::Group(GroupMetadata::new(Format::V3, Object::new()))));
        }
        let Some((bytes, version)) = access.get_with_version(&key)? else { return Ok(None) };
        let node = parse(access, path, &access.parse(&key, &bytes, DocumentKind::V3)?)?;
        if let (NodeMetadata::Group(GroupMetadata { consolidated: None, .. }), Some(version)) =
            (&node, version)
        {
            let mut groups = self.known();
            if groups.len() >= MOST_PLAIN_GROUPS {
                groups.clear();
            }
            groups.insert(key, version);
        }
        Ok(Some(node))
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Key, Version>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Documents with consolidated metadata, and the lock that other changes of any such metadata wait for.
type GuardedCopies<'a> = (Vec<(NodePath, Value)>, Option<MutexGuard<'a, ()>>);

/// Nodes above a path, and the document at it.
struct AboveAndAt {
    above: Vec<(NodePath, Option<NodeMetadata>)>,
    itself: Option<Value>,
    state: State,
}

/// What is there where a node is to be created.
pub(super) struct Checked {
    /// Groups above that are to be created, too.
    pub(super) missing: Vec<NodePath>,
    /// The nodes above that were looked at.
    pub(super) above: Vec<(NodePath, Option<NodeMetadata>)>,
    /// When that was.
    pub(super) state: State,
    /// What lies directly below, if that was listed.
    pub(super) below: Option<Directory>,
}

/// What is there where arrays are to be created.
pub(super) struct CheckedArrays {
    /// All nodes above.
    pub(super) above: Vec<(NodePath, Option<NodeMetadata>)>,
    /// The folders of new arrays that something lies in.
    pub(super) occupied: Vec<Prefix>,
}

/// Whether one of `nodes` is a group with consolidated metadata.
pub(super) fn have_copies<'n>(nodes: impl IntoIterator<Item = &'n Option<NodeMetadata>>) -> bool {
    let has_copies = |node: &Option<NodeMetadata>| {
        matches!(node, Some(NodeMetadata::Group(GroupMetadata { consolidated: Some(_), .. })))
    };
    nodes.into_iter().any(has_copies)
}

impl V3 {
    /// The documents of the groups above `path` whose consolidated metadata the changes belong into
    /// (V3-GRP-08), with them in it. No other thread changes these until the guard is dropped.
    ///
    /// Nothing is written yet: a copy that cannot be kept up to date is an error before the changes are made.
    pub(super) fn copies<'a>(
        &self,
        access: &'a Access,
        path: &NodePath,
        changes: &[Change<'_>],
    ) -> Result<GuardedCopies<'a>, Error> {
        let read = || {
            let ancestors = access.groups_above(path).groups;
            let above = parse_all(access, &ancestors, &stored_all(access, &ancestors)?)?;
            Self::copies_of(ancestors.into_iter().zip(above), changes)
        };
        self.alone(access, read, |copies| !copies.is_empty())
    }

    /// What `read` returns. If it has consolidated metadata, no other thread changes any in this store until the guard is
    /// dropped.
    pub(super) fn alone<'a, T>(
        &self,
        access: &'a Access,
        read: impl Fn() -> Result<T, Error>,
        has_copies: impl Fn(&T) -> bool,
    ) -> Result<(T, Option<MutexGuard<'a, ()>>), Error> {
        let alone = if self.snapshot.is_there() { access.lock_consolidated() } else { None };
        let found = read()?;
        if alone.is_some() || !has_copies(&found) {
            return Ok((found, alone));
        }
        // Another thread may have changed them before the lock was taken.
        let alone = access.lock_consolidated();
        Ok((read()?, alone))
    }

    /// The same documents as [`V3::copies`] returns, of nodes that were read.
    pub(super) fn copies_of(
        nodes: impl Iterator<Item = (NodePath, Option<NodeMetadata>)>,
        changes: &[Change<'_>],
    ) -> Result<Vec<(NodePath, Value)>, Error> {
        let mut copies = Vec::new();
        for (path, node) in nodes {
            if let Some(NodeMetadata::Group(mut group)) = node
                && let Some(nodes) = &mut group.consolidated
            {
                changes.iter().for_each(|change| apply(nodes, &path, *change));
                let document = made(&path, group_document(&group))?;
                copies.push((path, document));
            }
        }
        Ok(copies)
    }

    /// Writes the copies, after the changes that are in them.
    pub(super) fn refresh(
        &self,
        access: &Access,
        copies: &[(NodePath, Value)],
        changes: &[Change<'_>],
    ) -> Result<(), Error> {
        for (group, document) in copies {
            access.set_json(&keyed(node_key(group))?, document)?;
            self.note((group, Some(document)));
        }
        changes.iter().for_each(|change| self.note(*change));
        Ok(())
    }

    /// Replaces the document of the node at `path`, and what the groups above it have of it.
    pub(super) fn replace(&self, access: &Access, path: &NodePath, document: &Value) -> Result<(), Error> {
        let changes = [(path, Some(document))];
        let (copies, _alone) = self.copies(access, path, &changes)?;
        access.set_json(&keyed(node_key(path))?, document)?;
        self.refresh(access, &copies, &changes)
    }

    fn note(&self, (path, document): Change<'_>) {
        match document {
            Some(document) => self.snapshot.put(path, || document.clone()),
            None => self.snapshot.remove(path),
        }
    }

    /// The nodes above `path`, and its own document. Of groups that are known to have no consolidated metadata, nothing
    /// else is told.
    fn above_and_at(&self, access: &Access, path: &NodePath) -> Result<AboveAndAt, Error> {
        let Above { groups: mut nodes, state } = access.groups_above(path);
        if access.is_local() {
            let above = nodes.into_iter().map(|ancestor| {
                let node = self.plain_groups.read(access, &ancestor)?;
                Ok((ancestor, node))
            });
            return Ok(AboveAndAt { above: above.collect::<Result<_, Error>>()?, itself: None, state });
        }
        // Where each request is a round trip, one batch of documents is less than a question for each.
        nodes.push(path.clone());
        let mut documents = stored_all(access, &nodes)?;
        let itself = documents.pop().flatten();
        let above = parse_all(access, &nodes, &documents)?;
        Ok(AboveAndAt { above: nodes.into_iter().zip(above).collect(), itself, state })
    }

    /// What is there where a node is to be created; what lies below it is listed if that is of use.
    pub(super) fn check(&self, access: &Access, path: &NodePath, lists: bool) -> Result<Checked, Error> {
        let read = || self.above_and_at(access, path);
        let (AboveAndAt { above, mut itself, state }, below) = match lists {
            true => leftovers::with_listing(access, path, &keyed(prefix(path))?, read)?,
            false => (read()?, None),
        };
        // In a folder that was listed without a document there is none.
        if access.is_local() && leftovers::may_have(below.as_ref(), &keyed(node_key(path))?) {
            itself = stored(access, path)?;
        }
        let mut missing = Vec::new();
        for (ancestor, node) in &above {
            match node {
                None => missing.push(ancestor.clone()),
                Some(NodeMetadata::Group(_)) => {}
                Some(NodeMetadata::Array(_)) => return Err(below_an_array(path, ancestor)),
            }
        }
        match itself {
            Some(document) => {
                Err(in_the_way(path, format!("{} is there already", kind_of(&document).name())))
            }
            None => Ok(Checked { missing, above, state, below }),
        }
    }

    /// As [`V3::check_all`], and what lies below arrays whose stored chunks are to be erased.
    pub(super) fn check_all_listed(access: &Access, arrays: &[NewArray<'_>]) -> Result<CheckedArrays, Error> {
        let erased = arrays.iter().filter(|new| new.chunks == Chunks::Erased);
        let erased = erased.map(|new| Ok((new.array.path(), keyed(prefix(new.array.path()))?)));
        let erased = erased.collect::<Result<Vec<_>, Error>>()?;
        let (above, occupied) =
            leftovers::with_listings(access, &erased, || Self::check_all(access, arrays))?;
        Ok(CheckedArrays { above, occupied })
    }

    /// The nodes above `arrays`, if there are no other nodes where these are to be.
    fn check_all(
        access: &Access,
        arrays: &[NewArray<'_>],
    ) -> Result<Vec<(NodePath, Option<NodeMetadata>)>, Error> {
        let mut new = BTreeSet::new();
        for path in arrays.iter().map(|new| new.array.path()) {
            if !new.insert(path) {
                return Err(in_the_way(path, "it is to be created twice"));
            }
        }
        let mut above = BTreeSet::new();
        for new in arrays {
            let mut next = new.array.path().parent();
            while let Some(group) = next.filter(|group| !above.contains(group)) {
                next = group.parent();
                above.insert(group);
            }
        }
        let mut nodes: Vec<NodePath> = above.into_iter().collect();
        let count = nodes.len();
        nodes.extend(arrays.iter().map(|new| new.array.path().clone()));
        let documents = stored_all(access, &nodes)?;
        let found = parse_all(access, &nodes[..count], &documents)?;
        let is_array = |(path, node): (&NodePath, &Option<NodeMetadata>)| {
            (new.contains(path) || matches!(node, Some(NodeMetadata::Array(_)))).then(|| path.clone())
        };
        if let Some(array) = nodes.iter().zip(&found).find_map(is_array)
            && let Some(new) = arrays.iter().find(|new| is_below(new.array.path(), &array))
        {
            return Err(below_an_array(new.array.path(), &array));
        }
        for (new, document) in arrays.iter().zip(&documents[count..]) {
            if let Some(document) = document {
                return Err(in_the_way(
                    new.array.path(),
                    format!("{} is there already", kind_of(document).name()),
                ));
            }
        }
        Ok(nodes.into_iter().zip(found).collect())
    }

    /// The document of an array: that of the last one, where it is the same.
    pub(super) fn encoded(&self, path: &NodePath, array: &ArrayMetadata) -> Result<Arc<Encoded>, Error> {
        let make = |array: &ArrayMetadata| Encoded::new(path, array_document(array)).map(Arc::new);
        self.arrays.get_or_make(array, is_alike, make)
    }
}

/// Whether the documents of both are the same to the last byte.
fn is_alike(one: &ArrayMetadata, other: &ArrayMetadata) -> bool {
    // Members that are compared in any order are written in theirs.
    one.attributes.is_empty() && one.ignored.is_empty() && one == other
}

/// The document that was made for the node at `path`.
pub(super) fn made(path: &NodePath, document: Result<Value, DocumentError>) -> Result<Value, Error> {
    let key = keyed(node_key(path))?;
    document.map_err(|error| Error::document(&key, error))
}

/// Puts a change at or below `group` into its consolidated metadata, where inner copies have no place.
pub(super) fn apply(nodes: &mut Object, group: &NodePath, (path, document): Change<'_>) {
    if !is_below(path, group) {
        return;
    }
    let relative = path.names()[group.names().len()..].join("/");
    match document {
        Some(document) => {
            let mut document = document.clone();
            if let Some(members) = document.as_object_mut() {
                members.remove("consolidated_metadata");
            }
            nodes.insert(relative, document);
        }
        None => {
            let inside = format!("{relative}/");
            *nodes = nodes
                .iter()
                .filter(|(name, _)| *name != relative && !name.starts_with(&inside))
                .map(|(name, document)| (name.to_owned(), document.clone()))
                .collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use zarr_spec::json::{ParseOptions, parse};

    use super::*;

    fn path(text: &str) -> NodePath {
        NodePath::parse(text, Format::V3).unwrap()
    }

    #[test]
    fn consolidated_metadata_follow_what_is_written_and_erased() {
        let text = br#"{"a":{"node_type":"group"},"a/b":{},"ab":{},"a-":{}}"#;
        let value = parse(text, &ParseOptions::default()).unwrap().value;
        let mut nodes = value.as_object().unwrap().clone();
        let document: Value = [("x", 1), ("consolidated_metadata", 2)].into_iter().collect();
        apply(&mut nodes, &path("/g"), (&path("/g/a/c"), Some(&document)));
        assert_eq!(nodes.get("a/c").unwrap().to_string(), r#"{"x":1}"#);
        apply(&mut nodes, &path("/g"), (&path("/g"), Some(&document)));
        apply(&mut nodes, &path("/g"), (&path("/ga"), None));
        assert_eq!(nodes.len(), 5);
        apply(&mut nodes, &path("/g"), (&path("/g/a"), None));
        assert_eq!(nodes.keys().collect::<Vec<_>>(), ["ab", "a-"]);
    }
}
