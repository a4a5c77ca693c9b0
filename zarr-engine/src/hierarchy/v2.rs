//! v2: `.zarray`, `.zgroup` and `.zattrs` beside one another, and perhaps a `.zmetadata` with copies of them.

use std::collections::BTreeMap;

use zarr_spec::metadata::v2::{
    Consolidated, KeyKind, array_document, array_key, attributes_document, attributes_key,
    consolidated_document, consolidated_key, group_document, group_key, node_of, parse_consolidated, prefix,
};
use zarr_spec::metadata::{ArrayMetadata, DocumentKind, GroupMetadata};
use zarr_spec::store::Directory;
use zarr_spec::{Format, Invalid, Key, Mode, NodePath, Object, Prefix, Value};

use super::access::{Access, keyed};
use super::beside::{Beside, Doomed, Erased};
use super::dialect::{
    Chunks, Dialect, Found, FoundArray, NewArray, NewNode, below_an_array, in_the_way, not_a_group,
};
use super::known_groups::{Above, State};
use super::leftovers;
use super::snapshot::{Snapshot, directly_below};
use super::v2_documents::{
    Documents, arrays_at, children_at, found, found_array, listed, stored, stored_all, stored_kind,
};
use super::{Child, Kind};
use crate::error::Error;

/// The dialect of v2.
#[derive(Debug)]
pub(super) struct V2 {
    snapshot: Snapshot<Documents>,
}

/// Where there may be nodes.
enum Below {
    /// Copies of their documents.
    Copied(Vec<(NodePath, Documents)>),
    /// The paths of folders.
    Paths(Vec<NodePath>),
}

/// What is there where a node is to be created.
struct Checked {
    /// Groups above that are to be created, too.
    missing: Vec<NodePath>,
    /// When the groups above were looked at.
    state: State,
    /// Documents without a node.
    leftover: Documents,
    /// What lies directly below, if that was listed.
    below: Option<Directory>,
}

/// Nodes whose documents are read with one call where that must not take other threads.
const NODES_AT_A_TIME: usize = 64;

/// A document that was written, or erased.
type Change = (Key, Option<Value>);

impl V2 {
    /// `consolidated` is the root's `.zmetadata`, if it is to be used.
    pub(super) fn new(access: &Access, consolidated: Option<&Value>) -> Result<Self, Error> {
        let Some(document) = consolidated else { return Ok(Self { snapshot: Snapshot::new(None) }) };
        let key = keyed(consolidated_key(&NodePath::root()))?;
        match access.reading(&key, |reading| parse_consolidated(document, reading)) {
            Ok(consolidated) => Ok(Self { snapshot: Snapshot::new(Some(by_node(consolidated))) }),
            Err(error) if access.context.mode == Mode::Strict => Err(error),
            // It is a copy: the documents themselves are there too.
            Err(error) => {
                access.warn(format!("{error}; consolidated metadata are ignored"));
                Ok(Self { snapshot: Snapshot::new(None) })
            }
        }
    }

    fn documents(&self, access: &Access, path: &NodePath) -> Result<Documents, Error> {
        match self.snapshot.get(path) {
            Some(documents) => Ok(documents.unwrap_or_default()),
            None => stored(access, path),
        }
    }

    /// Puts changes into every `.zmetadata` that has copies of what is changed, and into what was read of
    /// them. Returns whether there was a `.zmetadata`.
    fn refresh(
        &self,
        access: &Access,
        path: &NodePath,
        changes: &[Change],
        erased: bool,
    ) -> Result<bool, Error> {
        let mut groups = access.groups_above(path).groups;
        groups.extend((!erased).then(|| path.clone()));
        let keys =
            groups.iter().map(|group| keyed(consolidated_key(group))).collect::<Result<Vec<_>, _>>()?;
        let mut values = access.get_all(&keys)?;
        let has_copies = self.snapshot.is_there() || values.iter().any(Option::is_some);
        let _alone = if has_copies { access.lock_consolidated() } else { None };
        if has_copies {
            // Another thread may have changed them before the lock was taken.
            values = access.get_all(&keys)?;
        }
        for ((group, key), value) in groups.iter().zip(&keys).zip(values) {
            let Some(value) = value else { continue };
            let refreshed = access.parse(key, &value, DocumentKind::V2Consolidated).and_then(|document| {
                let consolidated = access.reading(key, |reading| parse_consolidated(&document, reading))?;
                let consolidated = changed(consolidated, group, path, changes, erased)?;
                let document =
                    consolidated_document(&consolidated).map_err(|error| Error::document(key, error))?;
                access.set_json(key, &document)
            });
            if let Err(error) = refreshed {
                access.warn(format!("{error}; `{key}` is erased, since it would not be up to date"));
                access.store.erase(key)?;
            }
        }
        if erased {
            self.snapshot.remove(path);
            return Ok(has_copies);
        }
        for (key, _) in changes {
            if let Some((node, _)) = node_of(key)
                && self.snapshot.get(&node).is_some()
            {
                let documents = stored(access, &node)?;
                self.snapshot.put(&node, || documents);
            }
        }
        Ok(has_copies)
    }

    /// What is there where a node is to be created; what lies below it is listed if that is of use.
    fn check(&self, access: &Access, path: &NodePath, lists: bool) -> Result<Checked, Error> {
        let Above { groups: mut nodes, state } = access.groups_above(path);
        let count = nodes.len();
        if !access.is_local() {
            nodes.push(path.clone());
        }
        let read = || {
            // In small batches, which are not handed to rayon under the lock of the node.
            let found = nodes.chunks(NODES_AT_A_TIME).map(|nodes| stored_all(access, nodes));
            Ok(found.collect::<Result<Vec<_>, Error>>()?.concat())
        };
        let (mut found, below) = match lists {
            true => leftovers::with_listing(access, path, &keyed(prefix(path))?, read)?,
            false => (read()?, None),
        };
        let itself = match access.is_local() {
            true => self.documents_in(access, path, below.as_ref())?,
            false => found.pop().unwrap_or_default(),
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
            Some(kind) => Err(in_the_way(path, format!("{} is there already", kind.name()))),
            None => Ok(Checked { missing, state, leftover: itself, below }),
        }
    }

    /// The documents of a node, if the listing of its folder does not say that there are none.
    fn documents_in(
        &self,
        access: &Access,
        path: &NodePath,
        listed: Option<&Directory>,
    ) -> Result<Documents, Error> {
        let keys = [keyed(array_key(path))?, keyed(group_key(path))?, keyed(attributes_key(path))?];
        match keys.iter().any(|key| leftovers::may_have(listed, key)) {
            true => stored(access, path),
            false => Ok(Documents::default()),
        }
    }

    /// What there may be directly below the group at `path`.
    fn below(&self, access: &Access, path: &NodePath) -> Result<Below, Error> {
        let check = || match self.kind(access, path)? {
            None => Err(Error::NoNode(path.clone())),
            Some(Kind::Array) => Err(not_a_group(path)),
            Some(_) => Ok(()),
        };
        if let Some(below) = self.snapshot.below(path) {
            check()?;
            return Ok(Below::Copied(directly_below(below, path).collect()));
        }
        let list = || {
            access.check_listable("finding the children of a group")?;
            access.paths_below(std::slice::from_ref(path), prefix)
        };
        Ok(Below::Paths(access.checked(check, list)?))
    }

    /// Writes the attributes: no document for none, as far as the store can.
    fn write_attributes(
        &self,
        access: &Access,
        path: &NodePath,
        attributes: &Object,
    ) -> Result<Change, Error> {
        let key = keyed(attributes_key(path))?;
        if attributes.is_empty() && access.store.capabilities().erasable {
            access.store.erase(&key)?;
            return Ok((key, None));
        }
        let document = attributes_document(attributes);
        access.set_json(&key, &document)?;
        Ok((key, Some(document)))
    }
}

impl Dialect for V2 {
    fn format(&self) -> Format {
        Format::V2
    }

    fn is_consolidated(&self) -> bool {
        self.snapshot.is_there()
    }

    fn document_key(&self, path: &NodePath) -> Result<Key, Error> {
        keyed(array_key(path))
    }

    fn own_documents(&self, path: &NodePath) -> Result<Vec<Key>, Error> {
        Ok(vec![keyed(array_key(path))?, keyed(group_key(path))?])
    }

    fn chunks(&self, path: &NodePath) -> Result<Prefix, Error> {
        keyed(prefix(path))
    }

    fn node_with(&self, key: &Key) -> Option<NodePath> {
        let (node, kind) = node_of(key)?;
        matches!(kind, KeyKind::Array | KeyKind::Group).then_some(node)
    }

    /// v2 says ASCII; its writers emit any text (V2-HIER-01, V2-STORE-02).
    fn check_name(&self, access: &Access, path: &NodePath) -> Result<(), Error> {
        let Some(name) = path.names().iter().find(|name| !name.is_ascii()) else { return Ok(()) };
        let what = format!("the name `{name}` has characters other than ASCII, which v2 wants of names");
        if access.context.mode == Mode::Strict {
            return Err(Invalid::new(format!("{what}; strict mode does not write it")).into());
        }
        access.warn(format!("{what}; it is written all the same, as other programs do"));
        Ok(())
    }

    fn read(&self, access: &Access, path: &NodePath) -> Result<Option<Found>, Error> {
        found(access, path, self.documents(access, path)?)
    }

    fn read_stored(&self, access: &Access, path: &NodePath) -> Result<Option<Found>, Error> {
        found(access, path, stored(access, path)?)
    }

    fn kind(&self, access: &Access, path: &NodePath) -> Result<Option<Kind>, Error> {
        if let Some(documents) = self.snapshot.get(path) {
            return Ok(documents.and_then(|documents| documents.kind()));
        }
        match stored_kind(access, path) {
            Err(Error::NoNode(_)) => Ok(None),
            kind => kind.map(Some),
        }
    }

    fn children(&self, access: &Access, path: &NodePath) -> Result<Vec<Child>, Error> {
        match self.below(access, path)? {
            Below::Copied(nodes) => {
                Ok(nodes.into_iter().filter_map(|(path, node)| node.child(access, path)).collect())
            }
            Below::Paths(paths) => children_at(access, paths),
        }
    }

    fn arrays(&self, access: &Access, path: &NodePath) -> Result<Vec<FoundArray>, Error> {
        match self.below(access, path)? {
            Below::Copied(nodes) => Ok(nodes
                .into_iter()
                .filter(|(_, documents)| documents.array.is_some())
                .map(|(path, documents)| found_array(access, path, Ok(documents)))
                .collect()),
            Below::Paths(paths) => arrays_at(access, paths),
        }
    }

    fn walk(&self, access: &Access, path: &NodePath) -> Result<Vec<Child>, Error> {
        let kind = self.kind(access, path)?.ok_or_else(|| Error::NoNode(path.clone()))?;
        let mut nodes = vec![Child { path: path.clone(), kind }];
        if let Some(below) = self.snapshot.below(path) {
            nodes.extend(below.into_iter().filter_map(|(path, node)| node.child(access, path)));
            return Ok(nodes);
        }
        access.check_listable("finding the nodes of a hierarchy")?;
        let mut level = groups(&nodes);
        while !level.is_empty() {
            let found = listed(access, &level)?;
            level = groups(&found);
            nodes.extend(found);
        }
        Ok(nodes)
    }

    fn check_free(&self, access: &Access, path: &NodePath, _kind: Kind) -> Result<(), Error> {
        self.check(access, path, false).map(drop)
    }

    /// Attributes are written first: a node is there when its own document is.
    fn create(&self, access: &Access, path: &NodePath, node: NewNode<'_>) -> Result<(), Error> {
        let lists = !matches!(node, NewNode::Array(NewArray { chunks: Chunks::Kept, .. }));
        let Checked { missing, state, leftover, below } = self.check(access, path, lists)?;
        let (key, document, attributes) = match node {
            NewNode::Array(new) => {
                let array = new.array.metadata();
                (keyed(array_key(path))?, array_document(array), &array.attributes)
            }
            NewNode::Group(group) => (keyed(group_key(path))?, group_document(group), &group.attributes),
        };
        let document = document.map_err(|error| Error::document(&key, error))?;
        let group = group_document(&GroupMetadata::new(Format::V2, Object::new()));
        let group = group.map_err(|error| Error::document(&key, error))?;
        if let NewNode::Array(NewArray { array, chunks: Chunks::Erased }) = node {
            leftovers::erase(access, self, array, below.as_ref())?;
        }
        let mut changes = Vec::new();
        for ancestor in &missing {
            let key = keyed(group_key(ancestor))?;
            access.set_json(&key, &group)?;
            changes.push((key, Some(group.clone())));
        }
        if !attributes.is_empty() || leftover.attributes.is_some() {
            changes.push(self.write_attributes(access, path, attributes)?);
        }
        access.set_json(&key, &document)?;
        changes.push((key, Some(document)));
        leftovers::note_group(access, path, node, below.as_ref());
        if !self.refresh(access, path, &changes, false)? {
            access.learn_groups_above(path, state);
        }
        Ok(())
    }

    fn rewrite_array(&self, access: &Access, path: &NodePath, metadata: &ArrayMetadata) -> Result<(), Error> {
        let key = keyed(array_key(path))?;
        let document = array_document(metadata).map_err(|error| Error::document(&key, error))?;
        let attributes = self.write_attributes(access, path, &metadata.attributes)?;
        access.set_json(&key, &document)?;
        self.refresh(access, path, &[attributes, (key, Some(document))], false).map(drop)
    }

    fn rewrite_copies(
        &self,
        access: &Access,
        path: &NodePath,
        metadata: &ArrayMetadata,
    ) -> Result<(), Error> {
        let key = keyed(array_key(path))?;
        let document = array_document(metadata).map_err(|error| Error::document(&key, error))?;
        self.refresh(access, path, &[(key, Some(document))], false).map(drop)
    }

    fn set_attributes(&self, access: &Access, path: &NodePath, attributes: Object) -> Result<(), Error> {
        stored_kind(access, path)?;
        let change = self.write_attributes(access, path, &attributes)?;
        self.refresh(access, path, &[change], false).map(drop)
    }

    fn erase(&self, access: &Access, path: &NodePath, beside: Beside) -> Result<Erased, Error> {
        let is_there = match stored_kind(access, path) {
            Err(Error::NoNode(_)) => false,
            kind => kind.map(|_| true)?,
        };
        let doomed = Doomed { path, is_there, prefixes: self.prefixes(path)? };
        let erased = Erased::with(access, self, doomed, beside)?;
        self.refresh(access, path, &[], true)?;
        erased.erase(access)?;
        Ok(erased)
    }

    fn consolidate(&self, access: &Access, path: &NodePath) -> Result<(), Error> {
        access.check_listable("consolidating metadata")?;
        let mut level = vec![(path.clone(), stored(access, path)?)];
        match level[0].1.kind() {
            None => return Err(Error::NoNode(path.clone())),
            Some(Kind::Array) => return Err(not_a_group(path)),
            Some(_) => {}
        }
        let mut all = BTreeMap::new();
        while !level.is_empty() {
            let groups: Vec<NodePath> = level
                .iter()
                .filter(|(_, documents)| documents.kind() == Some(Kind::Group))
                .map(|(path, _)| path.clone())
                .collect();
            all.extend(level);
            let below: Vec<NodePath> = listed(access, &groups)?.into_iter().map(|child| child.path).collect();
            let documents = stored_all(access, &below)?;
            level = below.into_iter().zip(documents).collect();
        }
        let key = keyed(consolidated_key(path))?;
        let mut consolidated = Consolidated::default();
        for (node, Documents { array, group, attributes }) in &all {
            let keys = [keyed(array_key(node))?, keyed(group_key(node))?, keyed(attributes_key(node))?];
            for (key, document) in keys.iter().zip([array, group, attributes]) {
                if let Some(document) = document {
                    consolidated.documents.insert(relative(key, path)?, document.clone());
                }
            }
        }
        let document = consolidated_document(&consolidated).map_err(|error| Error::document(&key, error))?;
        access.set_json(&key, &document)?;
        all.into_iter().for_each(|(node, documents)| self.snapshot.put(&node, || documents));
        Ok(())
    }
}

fn by_node(consolidated: Consolidated) -> BTreeMap<NodePath, Documents> {
    let mut nodes: BTreeMap<NodePath, Documents> = BTreeMap::new();
    for (key, document) in consolidated.documents {
        let Some((path, kind)) = node_of(&key) else { continue };
        let documents = nodes.entry(path).or_default();
        match kind {
            KeyKind::Array => documents.array = Some(document),
            KeyKind::Group => documents.group = Some(document),
            KeyKind::Attributes => documents.attributes = Some(document),
        }
    }
    nodes
}

/// The consolidated metadata of `group` after `changes` at and above `path`.
fn changed(
    mut consolidated: Consolidated,
    group: &NodePath,
    path: &NodePath,
    changes: &[Change],
    erased: bool,
) -> Result<Consolidated, Error> {
    if erased {
        let gone = keyed(prefix(path))?;
        let at = keyed(prefix(group))?;
        let inside = at.strip(gone.as_str()).unwrap_or_default();
        consolidated.documents.retain(|key, _| !key.as_str().starts_with(inside));
    }
    for (key, document) in changes {
        let Ok(key) = relative(key, group) else { continue };
        match document {
            Some(document) => consolidated.documents.insert(key, document.clone()),
            None => consolidated.documents.remove(&key),
        };
    }
    Ok(consolidated)
}

/// A key as the consolidated metadata of `group` have it.
fn relative(key: &Key, group: &NodePath) -> Result<Key, Error> {
    let at = keyed(prefix(group))?;
    // What is not below the group becomes the empty key, which there is none of.
    keyed(Key::new(at.strip(key.as_str()).unwrap_or_default()))
}

fn groups(nodes: &[Child]) -> Vec<NodePath> {
    nodes.iter().filter(|node| node.kind == Kind::Group).map(|node| node.path.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> NodePath {
        NodePath::parse(text, Format::V2).unwrap()
    }

    #[test]
    fn consolidated_metadata_follow_what_is_written_and_erased() {
        let keys = [".zgroup", "a/.zgroup", "a/b/.zarray", "a-/.zgroup", "ab/.zarray"];
        let documents = keys.map(|key| (Key::new(key).unwrap(), Value::Null)).into_iter().collect();
        let (consolidated, group) = (Consolidated { documents }, path("g"));
        let change = |key: &str, value| (Key::new(key).unwrap(), value);
        let changes = [
            change("g/a/.zattrs", Some(Value::Null)),
            change("g/.zgroup", None),
            change(".zgroup", None),
            change("ga/.zgroup", Some(Value::Null)),
        ];
        let consolidated = changed(consolidated, &group, &path("g/a"), &changes, false).unwrap();
        let keys = |consolidated: &Consolidated| {
            consolidated.documents.keys().map(Key::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            keys(&consolidated),
            ["a-/.zgroup", "a/.zattrs", "a/.zgroup", "a/b/.zarray", "ab/.zarray"]
        );
        let consolidated = changed(consolidated, &group, &path("g/a"), &[], true).unwrap();
        assert_eq!(keys(&consolidated), ["a-/.zgroup", "ab/.zarray"]);
    }
}
