//! Final v3: a `zarr.json` in every node, and none for what has none.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use zarr_spec::metadata::v3::{array_document, group_document, node_key, node_of, parse_node, prefix};
use zarr_spec::metadata::{
    ArrayMetadata, DocumentError, DocumentKind, GroupMetadata, NodeMetadata, parse_json_member,
};
use zarr_spec::store::{Directory, Version};
use zarr_spec::{Format, Key, NodePath, Object, Prefix, Value, json};

use super::access::{Access, encoded_at, keyed, paths_in};
use super::beside::{Beside, Erased};
use super::dialect::{
    Dialect, Found, FoundArray, NewArray, NewNode, array_of, below_an_array, in_the_way, not_a_group,
};
use super::recent::Last;
use super::snapshot::{Snapshot, directly_below, is_below};
use super::{Child, Kind};
use crate::error::Error;
use crate::flight;

/// The dialect of final v3.
#[derive(Debug)]
pub(super) struct V3 {
    snapshot: Snapshot<Value>,
    plain_groups: PlainGroups,
    /// Many arrays are mostly created alike.
    arrays: Last<ArrayMetadata, Arc<Encoded>>,
}

/// A document, and its text.
#[derive(Debug)]
struct Encoded {
    document: Value,
    text: Vec<u8>,
}

/// What was written at a path: a document, or nothing any more there and below.
type Change<'a> = (&'a NodePath, Option<&'a Value>);

/// Groups to remember at most.
const MOST_PLAIN_GROUPS: usize = 10_000;

/// Groups without consolidated metadata, as they were when they were last read. Whoever creates a node asks for the
/// groups above it each time, and need not read them again as long as they are the same.
#[derive(Debug, Default)]
struct PlainGroups(Mutex<HashMap<NodePath, Version>>);

impl PlainGroups {
    /// The node at `path`; nothing but its kind of a group that is known.
    fn read(&self, access: &Access, path: &NodePath) -> Result<Option<NodeMetadata>, Error> {
        let key = keyed(node_key(path))?;
        let known = self.known().get(path).cloned();
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
            groups.insert(path.clone(), version);
        }
        Ok(Some(node))
    }

    fn known(&self) -> MutexGuard<'_, HashMap<NodePath, Version>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl V3 {
    /// `root` is the document of the root, if it is known and consolidated metadata in it shall be used.
    pub(super) fn new(access: &Access, root: Option<&Value>) -> Self {
        let consolidated = root.and_then(|document| {
            // What is wrong with the root is said when the root is opened.
            let Ok(NodeMetadata::Group(group)) = parse(access, &NodePath::root(), document) else {
                return None;
            };
            let nodes = group.consolidated?;
            // Paths that are none are not among them: there was a warning for each.
            let mut documents: BTreeMap<_, _> = nodes
                .into_iter()
                .filter_map(|(path, node)| {
                    Some((NodePath::parse(&format!("/{path}"), Format::V3).ok()?, node))
                })
                .collect();
            documents.insert(NodePath::root(), document.clone());
            Some(documents)
        });
        let (plain_groups, arrays) = (PlainGroups::default(), Last::default());
        Self { snapshot: Snapshot::new(consolidated), plain_groups, arrays }
    }

    fn document(&self, access: &Access, path: &NodePath) -> Result<Option<Value>, Error> {
        match self.snapshot.get(path) {
            Some(document) => Ok(document),
            None => stored(access, path),
        }
    }

    /// The documents of the groups above `path` whose consolidated metadata the changes belong into
    /// (V3-GRP-08), with them in it. `above` are all nodes above, if they were read.
    ///
    /// Nothing is written yet: a copy that cannot be kept up to date is an error before the changes are made.
    fn copies(
        access: &Access,
        path: &NodePath,
        above: Option<Vec<Option<NodeMetadata>>>,
        changes: &[Change<'_>],
    ) -> Result<Vec<(NodePath, Value)>, Error> {
        let ancestors: Vec<NodePath> = path.ancestors().collect();
        let above = match above {
            Some(above) => above,
            None => parse_all(access, &ancestors, &stored_all(access, &ancestors)?)?,
        };
        Self::copies_of(ancestors.into_iter().zip(above), changes)
    }

    /// The same, of these nodes.
    fn copies_of(
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
    fn refresh(
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
    fn replace(&self, access: &Access, path: &NodePath, document: &Value) -> Result<(), Error> {
        let changes = [(path, Some(document))];
        let copies = Self::copies(access, path, None, &changes)?;
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
    fn above_and_at(
        &self,
        access: &Access,
        path: &NodePath,
    ) -> Result<(Vec<Option<NodeMetadata>>, Option<Value>), Error> {
        let mut nodes: Vec<NodePath> = path.ancestors().collect();
        if access.is_local() {
            let above = nodes.iter().map(|ancestor| self.plain_groups.read(access, ancestor));
            return Ok((above.collect::<Result<_, _>>()?, stored(access, path)?));
        }
        // Where each request is a round trip, one batch of documents is less than a question for each.
        nodes.push(path.clone());
        let mut documents = stored_all(access, &nodes)?;
        let itself = documents.pop().flatten();
        Ok((parse_all(access, &nodes, &documents)?, itself))
    }

    /// The groups that are missing above `path`, and those that are there.
    fn check(
        &self,
        access: &Access,
        path: &NodePath,
    ) -> Result<(Vec<NodePath>, Vec<Option<NodeMetadata>>), Error> {
        let (above, itself) = self.above_and_at(access, path)?;
        let mut missing = Vec::new();
        for (ancestor, node) in path.ancestors().zip(&above) {
            match node {
                None => missing.push(ancestor),
                Some(NodeMetadata::Group(_)) => {}
                Some(NodeMetadata::Array(_)) => return Err(below_an_array(path, &ancestor)),
            }
        }
        match itself {
            Some(document) => {
                Err(in_the_way(path, format!("{} is there already", kind_of(&document).name())))
            }
            None => Ok((missing, above)),
        }
    }

    /// The nodes above `arrays`, if there are no other nodes where these are to be.
    fn check_all(
        access: &Access,
        arrays: &[NewArray<'_>],
    ) -> Result<Vec<(NodePath, Option<NodeMetadata>)>, Error> {
        let mut new = BTreeSet::new();
        for &(path, _) in arrays {
            if !new.insert(path) {
                return Err(in_the_way(path, "it is to be created twice"));
            }
        }
        let above: BTreeSet<NodePath> = arrays.iter().flat_map(|(path, _)| path.ancestors()).collect();
        let mut nodes: Vec<NodePath> = above.into_iter().collect();
        let count = nodes.len();
        nodes.extend(arrays.iter().map(|&(path, _)| path.clone()));
        let documents = stored_all(access, &nodes)?;
        let found = parse_all(access, &nodes[..count], &documents)?;
        let is_array = |(path, node): (&NodePath, &Option<NodeMetadata>)| {
            (new.contains(path) || matches!(node, Some(NodeMetadata::Array(_)))).then(|| path.clone())
        };
        if let Some(array) = nodes.iter().zip(&found).find_map(is_array)
            && let Some((path, _)) = arrays.iter().find(|(path, _)| is_below(path, &array))
        {
            return Err(below_an_array(path, &array));
        }
        for ((path, _), document) in arrays.iter().zip(&documents[count..]) {
            if let Some(document) = document {
                return Err(in_the_way(path, format!("{} is there already", kind_of(document).name())));
            }
        }
        Ok(nodes.into_iter().zip(found).collect())
    }

    /// The document of an array: that of the last one, where it is the same.
    fn encoded(&self, path: &NodePath, array: &ArrayMetadata) -> Result<Arc<Encoded>, Error> {
        let make = |array: &ArrayMetadata| Encoded::new(path, array_document(array)).map(Arc::new);
        self.arrays.get_or_make(array, is_alike, make)
    }

    /// What `made` makes of each node directly below the group at `path`, and of its document.
    fn below<T: Send>(
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
            access.paths_below(std::slice::from_ref(path), Format::V3, prefix)
        };
        Self::there(access, access.checked(check, list)?, made)
    }

    /// The same for the nodes directly below all of `groups`, with one batch of requests for their documents.
    fn listed<T: Send>(
        access: &Access,
        groups: &[NodePath],
        made: impl Fn(NodePath, Listed<'_>) -> T + Send + Sync,
    ) -> Result<Vec<T>, Error> {
        Self::there(access, access.paths_below(groups, Format::V3, prefix)?, made)
    }

    /// The same for those of `paths` where there are nodes.
    fn there<T: Send>(
        access: &Access,
        paths: Vec<NodePath>,
        made: impl Fn(NodePath, Listed<'_>) -> T + Send + Sync,
    ) -> Result<Vec<T>, Error> {
        if access.is_local() {
            // Each document is done with before the next one is read.
            let one = |path: NodePath| {
                let key = keyed(node_key(&path))?;
                Ok(access.get(&key)?.map(|value| made(path, Listed::Stored(&key, &value))))
            };
            return access.context.map(paths, one).into_iter().filter_map(Result::transpose).collect();
        }
        let keys = paths.iter().map(|path| keyed(node_key(path))).collect::<Result<Vec<_>, _>>()?;
        let values = access.get_all(&keys)?;
        let there = paths.into_iter().zip(keys).zip(values);
        let there = there.filter_map(|((path, key), value)| Some((path, key, value?))).collect();
        Ok(access.context.map(there, |(path, key, value): (NodePath, Key, Bytes)| {
            made(path, Listed::Stored(&key, &value))
        }))
    }
}

/// The document of a node in a listing.
enum Listed<'a> {
    /// From a copy.
    Read(Value),
    /// As it is stored.
    Stored(&'a Key, &'a [u8]),
}

impl Listed<'_> {
    /// The JSON; nothing where it cannot be read. What is wrong with it is said when the node is opened.
    fn document(self, access: &Access) -> Option<Value> {
        match self {
            Self::Read(document) => Some(document),
            Self::Stored(key, value) => access.parse(key, value, DocumentKind::V3).ok(),
        }
    }

    fn kind(&self, access: &Access) -> Kind {
        match self {
            Self::Read(document) => kind_of(document),
            Self::Stored(key, value) => stored_kind(access, key, value),
        }
    }
}

impl Dialect for V3 {
    fn format(&self) -> Format {
        Format::V3
    }

    fn document_key(&self, path: &NodePath) -> Result<Key, Error> {
        keyed(node_key(path))
    }

    fn chunks(&self, path: &NodePath) -> Result<Prefix, Error> {
        keyed(prefix(path))
    }

    fn node_with(&self, key: &Key) -> Option<NodePath> {
        node_of(key)
    }

    /// Only advice: the text wants users to stay within these characters (V3-NAME-06).
    fn check_name(&self, access: &Access, path: &NodePath) -> Result<(), Error> {
        let unusual =
            |name: &&String| !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        if let Some(name) = path.names().iter().find(unusual) {
            access.warn(format!("the name `{name}` has characters other than letters, digits and `-_.`"));
        }
        Ok(())
    }

    fn read(&self, access: &Access, path: &NodePath) -> Result<Option<Found>, Error> {
        let Some(document) = self.document(access, path)? else { return Ok(None) };
        Ok(Some(Found::explicit(parse(access, path, &document)?)))
    }

    fn read_stored(&self, access: &Access, path: &NodePath) -> Result<Option<Found>, Error> {
        let Some(document) = stored(access, path)? else { return Ok(None) };
        Ok(Some(Found::explicit(parse(access, path, &document)?)))
    }

    fn kind(&self, access: &Access, path: &NodePath) -> Result<Option<Kind>, Error> {
        match self.snapshot.get(path) {
            Some(document) => Ok(document.as_ref().map(kind_of)),
            None => {
                let key = keyed(node_key(path))?;
                Ok(access.get(&key)?.map(|value| stored_kind(access, &key, &value)))
            }
        }
    }

    fn children(&self, access: &Access, path: &NodePath) -> Result<Vec<Child>, Error> {
        self.below(access, path, |path, listed| Child { path, kind: listed.kind(access) })
    }

    /// The documents that say that they are those of arrays are not fetched again.
    fn arrays(&self, access: &Access, path: &NodePath) -> Result<Vec<FoundArray>, Error> {
        let arrays = self.below(access, path, |path, listed| found_array(access, path, listed))?;
        Ok(arrays.into_iter().flatten().collect())
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
        let paths = paths_in(&root, listing?, Format::V3).collect();
        let arrays = Self::there(access, paths, |path, listed| found_array(access, path, listed))?;
        Ok(arrays.into_iter().flatten().collect())
    }

    fn walk(&self, access: &Access, path: &NodePath) -> Result<Vec<Child>, Error> {
        let document = self.document(access, path)?.ok_or_else(|| Error::NoNode(path.clone()))?;
        let mut nodes = vec![child(path.clone(), &document)];
        if let Some(below) = self.snapshot.below(path) {
            nodes.extend(below.into_iter().map(|(path, document)| child(path, &document)));
            return Ok(nodes);
        }
        access.check_listable("finding the nodes of a hierarchy")?;
        let mut level = groups(&nodes);
        while !level.is_empty() {
            let found =
                Self::listed(access, &level, |path, listed| Child { path, kind: listed.kind(access) })?;
            level = groups(&found);
            nodes.extend(found);
        }
        Ok(nodes)
    }

    fn check_free(&self, access: &Access, path: &NodePath, _kind: Kind) -> Result<(), Error> {
        self.check(access, path).map(drop)
    }

    fn create(&self, access: &Access, path: &NodePath, node: NewNode<'_>) -> Result<(), Error> {
        let (missing, above) = self.check(access, path)?;
        let Encoded { document, text } = &*match node {
            NewNode::Array(array) => self.encoded(path, array)?,
            NewNode::Group(group) => Arc::new(Encoded::new(path, group_document(group))?),
        };
        let mut groups = Vec::new();
        for ancestor in missing {
            let group = made(&ancestor, group_document(&GroupMetadata::new(Format::V3, Object::new())))?;
            groups.push((ancestor, group));
        }
        let mut changes: Vec<Change<'_>> =
            groups.iter().map(|(ancestor, group)| (ancestor, Some(group))).collect();
        changes.push((path, Some(document)));
        let copies = Self::copies(access, path, Some(above), &changes)?;
        for (ancestor, group) in &groups {
            access.set_json(&keyed(node_key(ancestor))?, group)?;
        }
        access.store.set(&keyed(node_key(path))?, text)?;
        self.refresh(access, &copies, &changes)
    }

    /// Where each request is a round trip: one batch of documents for all of them, then everything that is written at
    /// once, groups first.
    fn create_arrays(&self, access: &Access, arrays: &[NewArray<'_>]) -> Result<(), Error> {
        if access.is_local() || arrays.len() < 2 {
            return arrays
                .iter()
                .try_for_each(|(path, array)| self.create(access, path, NewNode::Array(array)));
        }
        let above = Self::check_all(access, arrays)?;
        let missing: Vec<_> =
            above.iter().filter(|(_, node)| node.is_none()).map(|(path, _)| path.clone()).collect();
        let group = GroupMetadata::new(Format::V3, Object::new());
        let groups =
            missing.iter().map(|path| Ok((path, Arc::new(Encoded::new(path, group_document(&group))?))));
        let groups = groups.collect::<Result<Vec<_>, Error>>()?;
        let new = arrays.iter().map(|(path, array)| Ok((*path, self.encoded(path, array)?)));
        let new = new.collect::<Result<Vec<_>, Error>>()?;
        let changes: Vec<Change<'_>> =
            groups.iter().chain(&new).map(|(path, encoded)| (*path, Some(&encoded.document))).collect();
        let copies = Self::copies_of(above.into_iter(), &changes)?;
        for nodes in [&groups, &new] {
            flight::each(nodes.len(), access.store.manner().concurrency, |number| {
                let (path, Encoded { text, .. }) = (nodes[number].0, &*nodes[number].1);
                Ok::<_, Error>(access.store.set(&keyed(node_key(path))?, text)?)
            })?;
        }
        self.refresh(access, &copies, &changes)
    }

    fn rewrite_array(&self, access: &Access, path: &NodePath, metadata: &ArrayMetadata) -> Result<(), Error> {
        self.replace(access, path, &made(path, array_document(metadata))?)
    }

    fn set_attributes(&self, access: &Access, path: &NodePath, attributes: Object) -> Result<(), Error> {
        let mut document = stored(access, path)?.ok_or_else(|| Error::NoNode(path.clone()))?;
        // What cannot be read is not changed either.
        parse(access, path, &document)?;
        if let Some(members) = document.as_object_mut() {
            members.insert("attributes", attributes);
        }
        self.replace(access, path, &document)
    }

    /// The document goes first: what is left of an array after a failure is none.
    fn erase(&self, access: &Access, path: &NodePath, beside: Beside) -> Result<(), Error> {
        let key = keyed(node_key(path))?;
        if !access.has(&key)? {
            return Err(Error::NoNode(path.clone()));
        }
        let erased = Erased::with(access, self, path, beside)?;
        let changes = [(path, None)];
        let copies = Self::copies(access, path, None, &changes)?;
        access.store.erase(&key)?;
        erased.erase(access, &self.prefixes(path)?)?;
        self.refresh(access, &copies, &changes)
    }

    fn consolidate(&self, access: &Access, path: &NodePath) -> Result<(), Error> {
        access.check_listable("consolidating metadata")?;
        let document = stored(access, path)?.ok_or_else(|| Error::NoNode(path.clone()))?;
        let NodeMetadata::Group(mut group) = parse(access, path, &document)? else {
            return Err(not_a_group(path));
        };
        let mut nodes = Object::new();
        let mut level = vec![path.clone()];
        while !level.is_empty() {
            let mut found = Vec::new();
            let below = Self::listed(access, &level, |path, listed| (path, listed.document(access)))?;
            for (path, document) in below {
                // A second look, as an error this time.
                let document = match document {
                    Some(document) => document,
                    None => stored(access, &path)?.unwrap_or(Value::Null),
                };
                parse(access, &path, &document)?;
                found.push((path, document));
            }
            let children: Vec<_> = found.iter().map(|(path, node)| child(path.clone(), node)).collect();
            level = groups(&children);
            for (node, document) in &found {
                apply(&mut nodes, path, (node, Some(document)));
            }
        }
        group.consolidated = Some(nodes);
        self.replace(access, path, &made(path, group_document(&group))?)
    }
}

fn stored(access: &Access, path: &NodePath) -> Result<Option<Value>, Error> {
    access.get_json(&keyed(node_key(path))?, DocumentKind::V3)
}

/// The documents of some nodes, in one batch.
fn stored_all(access: &Access, paths: &[NodePath]) -> Result<Vec<Option<Value>>, Error> {
    let keys = paths.iter().map(|path| keyed(node_key(path))).collect::<Result<Vec<Key>, _>>()?;
    let values = access.get_all(&keys)?.into_iter().zip(&keys);
    values
        .map(|(value, key)| value.map(|value| access.parse(key, &value, DocumentKind::V3)).transpose())
        .collect()
}

pub(super) fn parse(access: &Access, path: &NodePath, document: &Value) -> Result<NodeMetadata, Error> {
    access.reading(&keyed(node_key(path))?, |reading| parse_node(document, reading))
}

fn parse_all(
    access: &Access,
    paths: &[NodePath],
    documents: &[Option<Value>],
) -> Result<Vec<Option<NodeMetadata>>, Error> {
    let parse = |(path, document): (&NodePath, &Option<Value>)| {
        document.as_ref().map(|document| parse(access, path, document)).transpose()
    };
    paths.iter().zip(documents).map(parse).collect()
}

impl Encoded {
    fn new(path: &NodePath, document: Result<Value, DocumentError>) -> Result<Self, Error> {
        let document = made(path, document)?;
        let text = json::to_vec_pretty(&document).map_err(Into::into);
        Ok(Self { text: encoded_at(&keyed(node_key(path))?, text)?, document })
    }
}

/// Whether the documents of both are the same to the last byte.
fn is_alike(one: &ArrayMetadata, other: &ArrayMetadata) -> bool {
    // Members that are compared in any order are written in theirs.
    one.attributes.is_empty() && one.ignored.is_empty() && one == other
}

/// The document that was made for the node at `path`.
fn made(path: &NodePath, document: Result<Value, DocumentError>) -> Result<Value, Error> {
    let key = keyed(node_key(path))?;
    document.map_err(|error| Error::document(&key, error))
}

/// Puts a change at or below `group` into its consolidated metadata, where inner copies have no place.
fn apply(nodes: &mut Object, group: &NodePath, (path, document): Change<'_>) {
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

/// The member that tells arrays from groups.
const NODE_TYPE: &str = "node_type";

fn kind_of(document: &Value) -> Kind {
    kind_called(document.as_object().and_then(|members| members.get(NODE_TYPE)))
}

/// Of a stored document, nothing else is kept.
fn stored_kind(access: &Access, key: &Key, value: &[u8]) -> Kind {
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

fn child(path: NodePath, document: &Value) -> Child {
    Child { path, kind: kind_of(document) }
}

/// An array, of what may be any node.
fn found_array(access: &Access, path: NodePath, listed: Listed<'_>) -> Option<FoundArray> {
    let document = listed.document(access).filter(|document| kind_of(document) == Kind::Array)?;
    let node = parse(access, &path, &document);
    let metadata = node.and_then(|node| array_of(&path, Some(Found::explicit(node))));
    Some((path, metadata))
}

fn groups(nodes: &[Child]) -> Vec<NodePath> {
    nodes.iter().filter(|node| node.kind.is_group()).map(|node| node.path.clone()).collect()
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
