//! v2: `.zarray`, `.zgroup` and `.zattrs` beside one another, and perhaps a `.zmetadata` with copies of them.

use std::collections::BTreeMap;

use bytes::Bytes;
use zarr_spec::metadata::v2::{
    Consolidated, KeyKind, array_document, array_key, attributes_document, attributes_key,
    consolidated_document, consolidated_key, group_document, group_key, node_of, parse_array,
    parse_attributes, parse_consolidated, parse_group, prefix,
};
use zarr_spec::metadata::{ArrayMetadata, DocumentKind, GroupMetadata, NodeMetadata};
use zarr_spec::store::Directory;
use zarr_spec::{Format, Invalid, Key, Mode, NodePath, Object, Prefix, Value};

use super::access::{Access, keyed, paths_in};
use super::beside::{Beside, Erased};
use super::dialect::{
    Dialect, Found, FoundArray, NewNode, array_of, below_an_array, in_the_way, not_a_group,
};
use super::snapshot::{Snapshot, directly_below};
use super::{Child, Kind};
use crate::error::Error;

/// The dialect of v2.
#[derive(Debug)]
pub(super) struct V2 {
    snapshot: Snapshot<Documents>,
}

/// The documents of one node, as far as there are any.
#[derive(Debug, Clone, Default)]
struct Documents {
    array: Option<Value>,
    group: Option<Value>,
    attributes: Option<Value>,
}

/// Where there may be nodes.
enum Below {
    /// Copies of their documents.
    Copied(Vec<(NodePath, Documents)>),
    /// The paths of folders.
    Paths(Vec<NodePath>),
}

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
    /// them.
    fn refresh(
        &self,
        access: &Access,
        path: &NodePath,
        changes: &[Change],
        erased: bool,
    ) -> Result<(), Error> {
        let groups: Vec<NodePath> = path.ancestors().chain((!erased).then(|| path.clone())).collect();
        let keys =
            groups.iter().map(|group| keyed(consolidated_key(group))).collect::<Result<Vec<_>, _>>()?;
        for ((group, key), value) in groups.iter().zip(&keys).zip(access.get_all(&keys)?) {
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
            return Ok(());
        }
        for (key, _) in changes {
            if let Some((node, _)) = node_of(key)
                && self.snapshot.get(&node).is_some()
            {
                let documents = stored(access, &node)?;
                self.snapshot.put(&node, || documents);
            }
        }
        Ok(())
    }

    /// The groups that are missing above `path`, and the documents that are there at `path` without a node.
    fn check(&self, access: &Access, path: &NodePath) -> Result<(Vec<NodePath>, Documents), Error> {
        let mut nodes: Vec<NodePath> = path.ancestors().collect();
        nodes.push(path.clone());
        let mut found = stored_all(access, &nodes)?;
        let itself = found.pop().unwrap_or_default();
        let mut missing = Vec::new();
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
            None => Ok((missing, itself)),
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
            access.paths_below(std::slice::from_ref(path), Format::V2, prefix)
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

impl Documents {
    fn kind(&self) -> Option<Kind> {
        match self {
            Self { array: Some(_), .. } => Some(Kind::Array),
            Self { group: Some(_), .. } => Some(Kind::Group),
            _ => None,
        }
    }

    fn child(&self, access: &Access, path: NodePath) -> Option<Child> {
        child(access, path, self.array.is_some(), self.group.is_some())
    }
}

impl Dialect for V2 {
    fn format(&self) -> Format {
        Format::V2
    }

    fn document_key(&self, path: &NodePath) -> Result<Key, Error> {
        keyed(array_key(path))
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

    fn arrays_listed(
        &self,
        access: &Access,
        listing: Result<Directory, Error>,
    ) -> Result<Vec<FoundArray>, Error> {
        let root = NodePath::root();
        if self.snapshot.is_there() {
            return self.arrays(access, &root);
        }
        arrays_at(access, paths_in(&root, listing?, Format::V2).collect())
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
        self.check(access, path).map(drop)
    }

    /// Attributes are written first: a node is there when its own document is.
    fn create(&self, access: &Access, path: &NodePath, node: NewNode<'_>) -> Result<(), Error> {
        let (missing, leftover) = self.check(access, path)?;
        let (key, document, attributes) = match node {
            NewNode::Array(array) => (keyed(array_key(path))?, array_document(array), &array.attributes),
            NewNode::Group(group) => (keyed(group_key(path))?, group_document(group), &group.attributes),
        };
        let document = document.map_err(|error| Error::document(&key, error))?;
        let group = group_document(&GroupMetadata::new(Format::V2, Object::new()));
        let group = group.map_err(|error| Error::document(&key, error))?;
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
        self.refresh(access, path, &changes, false)
    }

    fn rewrite_array(&self, access: &Access, path: &NodePath, metadata: &ArrayMetadata) -> Result<(), Error> {
        let key = keyed(array_key(path))?;
        let document = array_document(metadata).map_err(|error| Error::document(&key, error))?;
        let attributes = self.write_attributes(access, path, &metadata.attributes)?;
        access.set_json(&key, &document)?;
        self.refresh(access, path, &[attributes, (key, Some(document))], false)
    }

    fn set_attributes(&self, access: &Access, path: &NodePath, attributes: Object) -> Result<(), Error> {
        stored_kind(access, path)?;
        let change = self.write_attributes(access, path, &attributes)?;
        self.refresh(access, path, &[change], false)
    }

    /// The documents go first: what is left of an array after a failure is none.
    fn erase(&self, access: &Access, path: &NodePath, beside: Beside) -> Result<(), Error> {
        stored_kind(access, path)?;
        let erased = Erased::with(access, self, path, beside)?;
        access.store.erase_values(&[keyed(array_key(path))?, keyed(group_key(path))?])?;
        erased.erase(access, &self.prefixes(path)?)?;
        self.refresh(access, path, &[], true)
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

/// The nodes directly below all of `groups`, with one batch of requests. Their documents need not be readable.
fn listed(access: &Access, groups: &[NodePath]) -> Result<Vec<Child>, Error> {
    children_at(access, access.paths_below(groups, Format::V2, prefix)?)
}

/// The nodes that there are at `paths`.
fn children_at(access: &Access, paths: Vec<NodePath>) -> Result<Vec<Child>, Error> {
    let mut keys = Vec::new();
    for path in &paths {
        keys.extend([keyed(array_key(path))?, keyed(group_key(path))?]);
    }
    let values = access.get_all(&keys)?;
    let child = |(path, values): (NodePath, &[Option<_>])| {
        child(access, path, values[0].is_some(), values[1].is_some())
    };
    Ok(paths.into_iter().zip(values.chunks_exact(2)).filter_map(child).collect())
}

/// The arrays that there are at `paths`. What is wrong with documents is said of theirs alone.
fn arrays_at(access: &Access, paths: Vec<NodePath>) -> Result<Vec<FoundArray>, Error> {
    let keys = keys_of(&paths)?;
    let values = access.get_all(&keys)?;
    let nodes = paths.into_iter().zip(keys.chunks_exact(3).zip(values.chunks_exact(3)));
    let arrays = nodes.filter(|(_, (_, values))| values[0].is_some()).collect();
    Ok(access.context.map(arrays, |(path, (keys, values)): (NodePath, (&[Key], &[Option<Bytes>]))| {
        found_array(access, path, parsed(access, keys, values))
    }))
}

fn found_array(access: &Access, path: NodePath, documents: Result<Documents, Error>) -> FoundArray {
    let array = documents.and_then(|documents| array_of(&path, found(access, &path, documents)?));
    (path, array)
}

/// What is there, whether or not it can be read.
fn stored_kind(access: &Access, path: &NodePath) -> Result<Kind, Error> {
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
fn found(access: &Access, path: &NodePath, documents: Documents) -> Result<Option<Found>, Error> {
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

fn stored(access: &Access, path: &NodePath) -> Result<Documents, Error> {
    Ok(stored_all(access, std::slice::from_ref(path))?.pop().unwrap_or_default())
}

/// The documents of some nodes, in one batch.
fn stored_all(access: &Access, paths: &[NodePath]) -> Result<Vec<Documents>, Error> {
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
