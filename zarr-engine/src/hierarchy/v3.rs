//! Final v3: a `zarr.json` in every node, and none for what has none.

use std::collections::BTreeMap;
use std::sync::Arc;

use zarr_spec::metadata::v3::{array_document, group_document, node_key, node_of, parse_node, prefix};
use zarr_spec::metadata::{ArrayMetadata, DocumentKind, GroupMetadata, NodeMetadata};
use zarr_spec::{Format, Key, NodePath, Object, Prefix, Value};

use super::access::{Access, keyed};
use super::beside::{Beside, Doomed, Erased};
use super::dialect::{Chunks, Dialect, Found, FoundArray, NewArray, NewNode, not_a_group};
use super::last::Last;
use super::leftovers;
use super::snapshot::Snapshot;
use super::v3_changes::{Change, Checked, CheckedArrays, Encoded, PlainGroups, apply, have_copies, made};
use super::v3_listing::{child, found_array, groups, kind_of, stored_kind};
use super::{Child, Kind};
use crate::error::Error;
use crate::flight;

/// The dialect of final v3.
#[derive(Debug)]
pub(super) struct V3 {
    pub(super) snapshot: Snapshot<Value>,
    pub(super) plain_groups: PlainGroups,
    /// The document of the array that was created last. Without it, creating 100 arrays of one description takes two and
    /// a half times as many instructions (`create/100-arrays`).
    pub(super) arrays: Last<ArrayMetadata, Arc<Encoded>>,
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
        Self {
            snapshot: Snapshot::new(consolidated),
            plain_groups: PlainGroups::default(),
            arrays: Last::default(),
        }
    }

    pub(super) fn document(&self, access: &Access, path: &NodePath) -> Result<Option<Value>, Error> {
        match self.snapshot.get(path) {
            Some(document) => Ok(document),
            None => stored(access, path),
        }
    }
}

impl Dialect for V3 {
    fn format(&self) -> Format {
        Format::V3
    }

    fn is_consolidated(&self) -> bool {
        self.snapshot.is_there()
    }

    fn document_key(&self, path: &NodePath) -> Result<Key, Error> {
        keyed(node_key(path))
    }

    fn own_documents(&self, path: &NodePath) -> Result<Vec<Key>, Error> {
        Ok(vec![keyed(node_key(path))?])
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
        self.check(access, path, false).map(drop)
    }

    fn create(&self, access: &Access, path: &NodePath, node: NewNode<'_>) -> Result<(), Error> {
        let lists = !matches!(node, NewNode::Array(NewArray { chunks: Chunks::Kept, .. }));
        let check = || self.check(access, path, lists);
        let has_copies = |checked: &Checked| have_copies(checked.above.iter().map(|(_, node)| node));
        let (checked, _alone) = self.alone(access, check, has_copies)?;
        let Checked { missing, above, state, below } = checked;
        let Encoded { document, text } = &*match node {
            NewNode::Array(new) => self.encoded(path, new.array.metadata())?,
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
        let copies = Self::copies_of(above.into_iter(), &changes)?;
        if let NewNode::Array(NewArray { array, chunks: Chunks::Erased }) = node {
            leftovers::erase(access, self, array, below.as_ref())?;
        }
        for (ancestor, group) in &groups {
            access.set_json(&keyed(node_key(ancestor))?, group)?;
        }
        access.store.set(&keyed(node_key(path))?, text)?;
        leftovers::note_group(access, path, node, below.as_ref());
        if copies.is_empty() {
            access.learn_groups_above(path, state);
        }
        self.refresh(access, &copies, &changes)
    }

    /// Where each request is a round trip: one batch of documents for all of them, then everything that is written at
    /// once, groups first.
    fn create_arrays(&self, access: &Access, arrays: &[NewArray<'_>]) -> Result<(), Error> {
        if access.is_local() || arrays.len() < 2 {
            return arrays
                .iter()
                .try_for_each(|new| self.create(access, new.array.path(), NewNode::Array(*new)));
        }
        let check = || Self::check_all_listed(access, arrays);
        let (checked, _alone) =
            self.alone(access, check, |checked| have_copies(checked.above.iter().map(|(_, node)| node)))?;
        let CheckedArrays { above, occupied } = checked;
        let missing: Vec<_> =
            above.iter().filter(|(_, node)| node.is_none()).map(|(path, _)| path.clone()).collect();
        let group = GroupMetadata::new(Format::V3, Object::new());
        let groups =
            missing.iter().map(|path| Ok((path, Arc::new(Encoded::new(path, group_document(&group))?))));
        let groups = groups.collect::<Result<Vec<_>, Error>>()?;
        let new = arrays
            .iter()
            .map(|new| Ok((new.array.path(), self.encoded(new.array.path(), new.array.metadata())?)));
        let new = new.collect::<Result<Vec<_>, Error>>()?;
        let changes: Vec<Change<'_>> =
            groups.iter().chain(&new).map(|(path, encoded)| (*path, Some(&encoded.document))).collect();
        let copies = Self::copies_of(above.into_iter(), &changes)?;
        for new in arrays {
            let prefix = self.chunks(new.array.path())?;
            if occupied.contains(&prefix) {
                leftovers::erase(access, self, new.array, Some(&access.store.list_dir(&prefix)?))?;
            }
        }
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

    fn rewrite_copies(
        &self,
        access: &Access,
        path: &NodePath,
        metadata: &ArrayMetadata,
    ) -> Result<(), Error> {
        let document = made(path, array_document(metadata))?;
        let changes = [(path, Some(&document))];
        let (copies, _alone) = self.copies(access, path, &changes)?;
        self.refresh(access, &copies, &changes)
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

    fn erase(&self, access: &Access, path: &NodePath, beside: Beside) -> Result<Erased, Error> {
        let is_there = access.has(&keyed(node_key(path))?)?;
        let doomed = Doomed { path, is_there, prefixes: self.prefixes(path)? };
        let erased = Erased::with(access, self, doomed, beside)?;
        let changes = [(path, None)];
        let (copies, _alone) = self.copies(access, path, &changes)?;
        self.refresh(access, &copies, &changes)?;
        erased.erase(access)?;
        Ok(erased)
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
                if let Err(reason) = path.check(Format::V3) {
                    access.warn(format!("{path} is left out of the consolidated metadata: {reason}"));
                    continue;
                }
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

pub(super) fn stored(access: &Access, path: &NodePath) -> Result<Option<Value>, Error> {
    access.get_json(&keyed(node_key(path))?, DocumentKind::V3)
}

/// The documents of some nodes, in one batch.
pub(super) fn stored_all(access: &Access, paths: &[NodePath]) -> Result<Vec<Option<Value>>, Error> {
    let keys = paths.iter().map(|path| keyed(node_key(path))).collect::<Result<Vec<Key>, _>>()?;
    let values = access.get_all(&keys)?.into_iter().zip(&keys);
    values
        .map(|(value, key)| value.map(|value| access.parse(key, &value, DocumentKind::V3)).transpose())
        .collect()
}

pub(super) fn parse(access: &Access, path: &NodePath, document: &Value) -> Result<NodeMetadata, Error> {
    access.reading(&keyed(node_key(path))?, |reading| parse_node(document, reading))
}

pub(super) fn parse_all(
    access: &Access,
    paths: &[NodePath],
    documents: &[Option<Value>],
) -> Result<Vec<Option<NodeMetadata>>, Error> {
    let parse = |(path, document): (&NodePath, &Option<Value>)| {
        document.as_ref().map(|document| parse(access, path, document)).transpose()
    };
    paths.iter().zip(documents).map(parse).collect()
}
