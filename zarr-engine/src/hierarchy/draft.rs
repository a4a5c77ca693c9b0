//! Rules of the v3 draft: an entry point, documents below `meta/`, chunks below `data/`, and implicit groups without a
//! document.

mod entry_point;
mod node_index;
mod tree;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use zarr_metadata::draft::{
    ENTRY_POINT, EntryPoint, Generation, Keys, array_document, entry_point_document, group_document,
    parse_array, parse_group,
};
use zarr_metadata::{ArrayMetadata, DocumentError, GroupMetadata, NodeKind, NodeMetadata};
use zarr_spec::extension::Extension;
use zarr_spec::metadata_encoding::MetadataEncoding;
use zarr_spec::{Format, Key, Mode, NodePath, Object, Prefix, Reading, Value};

use super::access::{Access, encoded_at};
use super::entry::{EntryKind, NodeEntry};
use super::known_groups::{Above, State};
use super::leftovers;
use super::listing::is_below;
use super::rules::{
    EraseTarget, FormatRules, FoundArray, FoundNode, NewMetadata, NewNode, array_of, below_an_array,
    exists_already, in_the_way, not_a_group,
};
use crate::error::{Error, NotInFormat};
use crate::flight;
use crate::stored::ScalarKey;
use node_index::{NodeIndex, Nodes};
use tree::below;

pub(super) use entry_point::{difference, with_encoding};

/// Returns the alternative chunk key of zero-dimensional arrays: zarr-python 2 writes `c0` instead of `c`. In
/// generation B, only compatibility mode reads it (D3-GRID-15).
pub(super) fn scalar_key(entry_point: &EntryPoint, mode: Mode) -> Option<ScalarKey> {
    let is_first = entry_point.generation == Generation::A;
    (is_first || mode == Mode::Compatibility).then_some(ScalarKey { name: "c0", is_first })
}

/// Returns the human-readable name of the format, without parentheses.
pub(super) fn description(entry_point: &EntryPoint) -> String {
    let version = &entry_point.version;
    match entry_point.generation {
        Generation::A => {
            "v3-draft, generation A: May to October 2022 and zarr-python 2, read only".to_owned()
        }
        Generation::B if (version.major, version.minor) == (3, 0) => "v3-draft".to_owned(),
        Generation::B => format!("v3-draft, version {}.{}", version.major, version.minor),
    }
}

#[derive(Debug)]
pub(super) struct Draft {
    entry_point: EntryPoint,
    keys: Keys,
    encoding: Arc<dyn MetadataEncoding>,
    /// The list of nodes, if an extension provides one.
    index: Option<NodeIndex>,
    /// The known extensions of the hierarchy.
    #[expect(
        dead_code,
        reason = "an extension takes effect by being created and by the resources that it holds"
    )]
    extensions: Vec<Arc<dyn Extension>>,
}

impl Draft {
    /// Opens a hierarchy. Generation A is read only.
    pub(super) fn open(access: &mut Access, entry_point: &EntryPoint) -> Result<Self, Error> {
        if entry_point.generation == Generation::A {
            let reason = "it is of generation A of the v3 draft, a read-only dialect";
            access.read_only = Some(reason.to_owned());
        }
        Self::new(access, entry_point)
    }

    /// Writes the entry point of a new hierarchy. An entry point that cannot be opened is not written.
    pub(super) fn start(access: &Access, entry_point: &EntryPoint) -> Result<Self, Error> {
        let key = Key::new(ENTRY_POINT)?;
        let document = entry_point_document(entry_point).map_err(|error| Error::document(&key, error))?;
        let draft = Self::new(access, entry_point)?;
        access.creating()?.create_json(&key, &document)?;
        Ok(draft)
    }

    fn new(access: &Access, entry_point: &EntryPoint) -> Result<Self, Error> {
        let key = Key::new(ENTRY_POINT)?;
        let (encoding, extensions) = access.reading(&key, |reading| {
            let encoding = entry_point::metadata_encoding(access, entry_point, reading)?;
            Ok((encoding, entry_point::extensions(access, entry_point, reading)?))
        })?;
        Ok(Self {
            entry_point: entry_point.clone(),
            keys: Keys::new(entry_point),
            index: NodeIndex::of(&extensions, &encoding, &entry_point.key_suffix)?,
            encoding,
            extensions,
        })
    }

    fn key(&self, path: &NodePath, kind: NodeKind) -> Result<Key, Error> {
        Ok(match kind {
            NodeKind::Array => self.keys.array(path),
            NodeKind::Group => self.keys.group(path),
        }?)
    }

    fn decode(&self, access: &Access, key: &Key, bytes: &[u8]) -> Result<Value, Error> {
        access.reading(key, |reading| {
            let decoded = self.encoding.decode(bytes, reading);
            decoded.map_err(|error| DocumentError::document(format!("cannot be decoded: {error}")))
        })
    }

    fn parse(
        &self,
        access: &Access,
        key: &Key,
        document: &Value,
        kind: NodeKind,
    ) -> Result<NodeMetadata, Error> {
        access.reading(key, |reading| match kind {
            NodeKind::Array => Ok(NodeMetadata::Array(Box::new(parse_array(
                document,
                self.entry_point.generation,
                reading,
            )?))),
            NodeKind::Group => {
                let document = self.without_empty_extensions(document, reading)?;
                Ok(NodeMetadata::Group(parse_group(&document, reading)?))
            }
        })
    }

    /// Removes an empty `extensions` list from a group document of generation A, as GDAL writes it.
    fn without_empty_extensions<'d>(
        &self,
        document: &'d Value,
        reading: &Reading,
    ) -> Result<Cow<'d, Value>, DocumentError> {
        let extensions = document.as_object().and_then(|members| members.get("extensions"));
        let is_empty = extensions.and_then(Value::as_array).is_some_and(<[_]>::is_empty);
        if self.entry_point.generation != Generation::A || !is_empty {
            return Ok(Cow::Borrowed(document));
        }
        reading.tolerate("a group has an empty list of `extensions`, as GDAL writes it".to_owned())?;
        let mut document = document.clone();
        if let Some(members) = document.as_object_mut() {
            members.remove("extensions");
        }
        Ok(Cow::Owned(document))
    }

    fn write(&self, access: &Access, key: &Key, document: Result<Value, DocumentError>) -> Result<(), Error> {
        let document = document.map_err(|error| Error::document(key, error))?;
        access.set(key, self.encoding.encode(&document))
    }

    /// Like [`Self::write`], for a document that must not exist yet.
    fn write_new(
        &self,
        access: &Access,
        key: &Key,
        document: Result<Value, DocumentError>,
    ) -> Result<(), Error> {
        let document = document.map_err(|error| Error::document(key, error))?;
        access.create(key, &encoded_at(key, self.encoding.encode(&document))?)
    }

    /// Returns the document at `path`. If there are two, returns the document of the array (D3-OP-04).
    fn stored(&self, access: &Access, path: &NodePath) -> Result<Option<(Key, Bytes, NodeKind)>, Error> {
        let keys = [self.key(path, NodeKind::Array)?, self.key(path, NodeKind::Group)?];
        let values: [Option<Bytes>; 2] = access.get_all(&keys)?.try_into().unwrap_or_default();
        let [array_key, group_key] = keys;
        Ok(match values {
            [Some(array), group] => {
                if group.is_some() {
                    access.warn(both(path));
                }
                Some((array_key, array, NodeKind::Array))
            }
            [None, Some(group)] => Some((group_key, group, NodeKind::Group)),
            [None, None] => None,
        })
    }

    /// Returns the nodes from the list of an extension, if the store cannot list.
    fn indexed(&self, access: &Access) -> Result<Option<Nodes>, Error> {
        match &self.index {
            Some(index) if !access.store.capabilities().listable => index.nodes(access).map(Some),
            _ => Ok(None),
        }
    }

    fn change_index(&self, access: &Access, change: impl Fn(&mut Nodes)) -> Result<(), Error> {
        self.index.as_ref().map_or(Ok(()), |index| index.change(access, change))
    }

    /// Returns whether any keys lie where the documents of nodes below `path` are stored.
    fn has_below(&self, access: &Access, path: &NodePath) -> Result<bool, Error> {
        if let Some(nodes) = self.indexed(access)? {
            return Ok(nodes.keys().any(|node| is_below(node, path)));
        }
        access.check_listable(&format!("checking whether {path} is an implicit group"))?;
        has_keys(access, &self.keys.children_prefix(path)?)
    }

    fn explicit_kind(&self, access: &Access, path: &NodePath) -> Result<Option<EntryKind>, Error> {
        let is_array = access.has(&self.key(path, NodeKind::Array)?)?;
        let is_group = !is_array && access.has(&self.key(path, NodeKind::Group)?)?;
        Ok(EntryKind::of_documents(is_array, is_group))
    }

    /// Like [`FormatRules::kind`], but the root is a group even if nothing is stored (D3-OP-21).
    fn kind_or_root(&self, access: &Access, path: &NodePath) -> Result<EntryKind, Error> {
        if path.is_root() {
            return Ok(self.explicit_kind(access, path)?.unwrap_or(EntryKind::ImplicitGroup));
        }
        self.kind(access, path)?.ok_or_else(|| Error::NoNode(path.clone()))
    }

    fn walk_index(&self, access: &Access, path: &NodePath, nodes: Nodes) -> Result<Vec<NodeEntry>, Error> {
        let start = self.kind_or_root(access, path)?;
        Ok(below(access, path, start, nodes))
    }

    /// Returns the explicit nodes whose documents are among `keys`. A node with two documents is an array.
    fn explicit(&self, access: &Access, keys: &[Key]) -> BTreeMap<NodePath, EntryKind> {
        let mut nodes = BTreeMap::new();
        for key in keys {
            let Some((path, kind)) = self.keys.node_of(key) else {
                self.warn_of_name(access, key);
                continue;
            };
            let kind = match kind {
                NodeKind::Array => EntryKind::Array,
                NodeKind::Group => EntryKind::Group,
            };
            if let Some(other) = nodes.insert(path.clone(), kind)
                && other != kind
            {
                access.warn(both(&path));
                nodes.insert(path, EntryKind::Array);
            }
        }
        nodes
    }

    /// Checks that a node of this kind can be created at `path`. Returns the state in which the nodes above were
    /// checked.
    fn check(&self, access: &Access, path: &NodePath, kind: EntryKind) -> Result<State, Error> {
        let Above { groups, state } = access.groups_above(path);
        for ancestor in groups {
            if access.has(&self.key(&ancestor, NodeKind::Array)?)? {
                return Err(below_an_array(path, &ancestor));
            }
        }
        if let Some(there) = self.explicit_kind(access, path)? {
            return Err(exists_already(path, there));
        }
        // An implicit group may become an explicit group, but not an array.
        if kind == EntryKind::Array && self.can_tell_nodes_below(access) && self.has_below(access, path)? {
            return Err(in_the_way(path, "it is an implicit group, because there are nodes below it"));
        }
        Ok(state)
    }

    fn can_tell_nodes_below(&self, access: &Access) -> bool {
        access.store.capabilities().listable || self.index.is_some()
    }

    /// Warns about a document whose key contains an invalid node name (D3-PATH-07, D3-PATH-08).
    fn warn_of_name(&self, access: &Access, key: &Key) {
        let name = key.name().strip_suffix(&self.entry_point.key_suffix);
        let is_document = |name: &str| name.ends_with(".array") || name.ends_with(".group");
        if name.is_some_and(is_document) {
            access
                .warn(format!("`{key}` is ignored: it contains a name that is not a node name in v3-draft"));
        }
    }
}

impl FormatRules for Draft {
    fn format(&self) -> Format {
        Format::V3Draft
    }

    fn entry_point(&self) -> Option<&EntryPoint> {
        Some(&self.entry_point)
    }

    fn array_key(&self, path: &NodePath) -> Result<Key, Error> {
        self.key(path, NodeKind::Array)
    }

    fn group_key(&self, path: &NodePath) -> Result<Key, Error> {
        self.key(path, NodeKind::Group)
    }

    fn chunks(&self, path: &NodePath) -> Result<Prefix, Error> {
        Ok(self.keys.data_prefix(path)?)
    }

    fn prefixes(&self, path: &NodePath) -> Result<Vec<Prefix>, Error> {
        Ok(vec![self.keys.children_prefix(path)?, self.keys.data_prefix(path)?])
    }

    fn node_of(&self, key: &Key) -> Option<NodePath> {
        Some(self.keys.node_of(key)?.0)
    }

    fn read(&self, access: &Access, path: &NodePath) -> Result<Option<FoundNode>, Error> {
        if let Some((key, bytes, kind)) = self.stored(access, path)? {
            let document = self.decode(access, &key, &bytes)?;
            return Ok(Some(FoundNode::explicit(self.parse(access, &key, &document, kind)?)));
        }
        if !path.is_root() && !self.has_below(access, path)? {
            return Ok(None);
        }
        let group = GroupMetadata::new(Format::V3Draft, Object::new());
        Ok(Some(FoundNode { metadata: NodeMetadata::Group(group), is_implicit: true }))
    }

    /// Looks for an array, a group and an implicit group, in this order, and stops at the first (D3-OP-17).
    fn kind(&self, access: &Access, path: &NodePath) -> Result<Option<EntryKind>, Error> {
        if let Some(kind) = self.explicit_kind(access, path)? {
            return Ok(Some(kind));
        }
        Ok(self.has_below(access, path)?.then_some(EntryKind::ImplicitGroup))
    }

    fn children(&self, access: &Access, path: &NodePath) -> Result<Vec<NodeEntry>, Error> {
        let indexed = self.indexed(access)?;
        if indexed.is_none() {
            access.check_finds_nodes("finding the children of a group")?;
        }
        if access.has(&self.key(path, NodeKind::Array)?)? {
            return Err(not_a_group(path));
        }
        if let Some(nodes) = indexed {
            let mut children = self.walk_index(access, path, nodes)?;
            children.retain(|child| child.path.parent().as_ref() == Some(path));
            return Ok(children);
        }
        let prefix = self.keys.children_prefix(path)?;
        let below = access.store.list_dir(&prefix)?;
        let mut children = self.explicit(access, &below.keys);
        children.retain(|child, _| is_below(child, path));
        for below in &below.prefixes {
            let name = prefix.strip(below.as_str()).unwrap_or_default().trim_end_matches('/');
            let Ok(child) = path.child(name, Format::V3Draft) else { continue };
            let known = children.get(&child);
            // A prefix without keys is not a node. An implicit group exists because of the nodes below it.
            if known.is_some_and(|kind| *kind != EntryKind::Array) || !has_keys(access, below)? {
                continue;
            }
            match known {
                Some(_) => access.warn(format!("there are keys below {child}, which is an array")),
                None => drop(children.insert(child, EntryKind::ImplicitGroup)),
            }
        }
        if children.is_empty() {
            self.kind_or_root(access, path)?;
        }
        Ok(children.into_iter().map(|(path, kind)| NodeEntry { path, kind }).collect())
    }

    fn arrays(&self, access: &Access, path: &NodePath) -> Result<Vec<FoundArray>, Error> {
        let children =
            self.children(access, path)?.into_iter().filter(|child| child.kind == EntryKind::Array);
        let children: Vec<_> = children.collect();
        flight::map(&children, access.store.read_hints().max_concurrency, |NodeEntry { path, .. }| {
            let found = self.read(access, path).and_then(|found| array_of(path, found));
            Ok((path.clone(), found))
        })
    }

    fn walk(&self, access: &Access, path: &NodePath) -> Result<Vec<NodeEntry>, Error> {
        if let Some(nodes) = self.indexed(access)? {
            return self.walk_index(access, path, nodes);
        }
        if !access.store.capabilities().listable
            && self.explicit_kind(access, path)? == Some(EntryKind::Array)
        {
            return Ok(vec![NodeEntry { path: path.clone(), kind: EntryKind::Array }]);
        }
        access.check_finds_nodes("finding the nodes below a group")?;
        let start = self.kind_or_root(access, path)?;
        let keys = access.store.list_sorted(&self.keys.children_prefix(path)?)?;
        Ok(below(access, path, start, self.explicit(access, &keys)))
    }

    fn check_free(&self, access: &Access, path: &NodePath, kind: EntryKind) -> Result<(), Error> {
        self.check(access, path, kind).map(drop)
    }

    fn create(&self, access: &Access, node: &NewNode<'_>) -> Result<(), Error> {
        let path = node.path;
        let kind = node.kind();
        let state = self.check(access, path, kind)?;
        let mut lock = None;
        match node.metadata {
            NewMetadata::Array(array) => {
                if !self.can_tell_nodes_below(access) {
                    // The array may replace an implicit group, so cached groups are no longer valid.
                    access.context.groups_changed();
                }
                if node.leftovers.is_some() && access.store.capabilities().listable {
                    let listed = access.store.list_dir(&self.chunks(path)?)?;
                    lock = leftovers::erase(access, self, node, Some(&listed))?;
                }
                self.write_new(access, &self.key(path, NodeKind::Array)?, array_document(array))?;
            }
            NewMetadata::Group(group) => {
                self.write_new(access, &self.key(path, NodeKind::Group)?, group_document(group))?;
            }
        }
        drop(lock);
        self.change_index(access, |nodes| {
            nodes.insert(path.clone(), kind);
        })?;
        access.learn_groups_above(path, state);
        Ok(())
    }

    fn rewrite_array(&self, access: &Access, path: &NodePath, metadata: &ArrayMetadata) -> Result<(), Error> {
        self.write(access, &self.key(path, NodeKind::Array)?, array_document(metadata))
    }

    /// Replaces the attributes. An implicit group becomes an explicit one (D3-GRP-08).
    fn set_attributes(&self, access: &Access, path: &NodePath, attributes: Object) -> Result<(), Error> {
        if let Some((key, bytes, kind)) = self.stored(access, path)? {
            let mut document = self.decode(access, &key, &bytes)?;
            // A document that cannot be parsed must not be changed.
            self.parse(access, &key, &document, kind)?;
            if let Some(members) = document.as_object_mut() {
                members.insert("attributes", attributes);
            }
            return self.write(access, &key, Ok(document));
        }
        self.kind_or_root(access, path)?;
        let group = GroupMetadata::new(Format::V3Draft, attributes);
        self.write(access, &self.key(path, NodeKind::Group)?, group_document(&group))?;
        self.change_index(access, |nodes| {
            nodes.insert(path.clone(), EntryKind::Group);
        })
    }

    fn erase_target<'p>(&self, access: &Access, path: &'p NodePath) -> Result<EraseTarget<'p>, Error> {
        let kind = self.kind(access, path)?;
        let prefixes = match kind {
            Some(EntryKind::Array) => vec![self.chunks(path)?],
            _ => self.prefixes(path)?,
        };
        Ok(EraseTarget { path, exists: kind.is_some(), prefixes })
    }

    fn forget(&self, access: &Access, path: &NodePath) -> Result<(), Error> {
        self.change_index(access, |nodes| nodes.retain(|node, _| node != path && !is_below(node, path)))
    }

    fn consolidate(&self, _access: &Access, _path: &NodePath) -> Result<(), Error> {
        Err(NotInFormat {
            format: Format::V3Draft,
            reason: "consolidated metadata (v2 and v3 do)".to_owned(),
        }
        .into())
    }
}

fn both(path: &NodePath) -> String {
    format!("{path} has documents of both an array and a group; it is read as an array")
}

/// Returns whether any key lies below `prefix`. A store may list empty folders.
fn has_keys(access: &Access, prefix: &Prefix) -> Result<bool, Error> {
    let mut prefixes = vec![prefix.clone()];
    while let Some(prefix) = prefixes.pop() {
        let below = access.store.list_dir(&prefix)?;
        if !below.keys.is_empty() {
            return Ok(true);
        }
        prefixes.extend(below.prefixes);
    }
    Ok(false)
}
