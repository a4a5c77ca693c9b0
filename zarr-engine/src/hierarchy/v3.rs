//! Rules of final v3: every node has a `zarr.json`. Groups without one are read, but not in strict mode: see
//! `implicit`.

mod copies;
mod creating;
mod documents;
pub(super) mod implicit;
mod listing;
mod plain_groups;

use std::collections::BTreeMap;
use std::sync::Arc;

use zarr_metadata::v3::{array_document, node_key, node_of, prefix};
use zarr_metadata::{ArrayMetadata, GroupMetadata, NodeMetadata};
use zarr_spec::store::Directory;
use zarr_spec::{Format, Key, Mode, NodePath, Object, Prefix, Value};

use super::access::Access;
use super::entry::{EntryKind, NodeEntry};
use super::last::Last;
use super::listing::{paths_in, walk_levels};
use super::rules::{EraseTarget, FormatRules, FoundArray, FoundNode, NewMetadata, NewNode};
use super::snapshot::Snapshot;
use crate::error::Error;
pub(super) use documents::parse;
use documents::{Encoded, made, stored};
use listing::{Listed, entry, found_array, kind_of, listed, nodes_at, stored_kind};
use plain_groups::PlainGroups;

#[derive(Debug)]
pub(super) struct V3 {
    snapshot: Snapshot<Value>,
    plain_groups: PlainGroups,
    /// The document of the array that was created last. Without this cache, creating 100 arrays with the same
    /// description takes 2.5 times the instructions (`create/100-arrays`).
    arrays: Last<Arc<ArrayMetadata>, Arc<Encoded>>,
}

impl V3 {
    /// Opens a hierarchy. `root` is the document of the root, if its consolidated metadata should be used.
    pub(super) fn open(access: &Access, root: Option<&Value>) -> Self {
        Self {
            snapshot: Snapshot::new(root.and_then(|document| consolidated(access, document))),
            plain_groups: PlainGroups::default(),
            arrays: Last::default(),
        }
    }

    fn document(&self, access: &Access, path: &NodePath) -> Result<Option<Value>, Error> {
        match self.snapshot.get(path) {
            Some(document) => Ok(document),
            None => stored(access, path),
        }
    }

    /// Returns whether the node at `path`, which does not have a document, is read as a group.
    fn is_implicit_group(&self, access: &Access, path: &NodePath) -> Result<bool, Error> {
        match self.snapshot.below(path) {
            Some(below) if below.is_empty() || access.context.mode == Mode::Strict => Ok(false),
            Some(_) => {
                implicit::warn(access);
                Ok(true)
            }
            None => implicit::is_group(access, path),
        }
    }
}

impl FormatRules for V3 {
    fn format(&self) -> Format {
        Format::V3
    }

    fn is_consolidated(&self) -> bool {
        self.snapshot.is_there()
    }

    fn array_key(&self, path: &NodePath) -> Result<Key, Error> {
        Ok(node_key(path)?)
    }

    fn group_key(&self, path: &NodePath) -> Result<Key, Error> {
        Ok(node_key(path)?)
    }

    fn chunks(&self, path: &NodePath) -> Result<Prefix, Error> {
        Ok(prefix(path)?)
    }

    fn node_of(&self, key: &Key) -> Option<NodePath> {
        node_of(key)
    }

    /// Warns about unusual characters. The specification only recommends against them (V3-NAME-06).
    fn check_name(&self, access: &Access, path: &NodePath) -> Result<(), Error> {
        let unusual =
            |name: &&String| !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        if let Some(name) = path.names().iter().find(unusual) {
            access.warn(format!("the name `{name}` has characters other than letters, digits and `-_.`"));
        }
        Ok(())
    }

    fn read(&self, access: &Access, path: &NodePath) -> Result<Option<FoundNode>, Error> {
        match found(access, path, self.document(access, path)?)? {
            None if self.is_implicit_group(access, path)? => Ok(Some(implicit::found())),
            found => Ok(found),
        }
    }

    fn read_stored(&self, access: &Access, path: &NodePath) -> Result<Option<FoundNode>, Error> {
        found(access, path, stored(access, path)?)
    }

    fn kind(&self, access: &Access, path: &NodePath) -> Result<Option<EntryKind>, Error> {
        let kind = match self.snapshot.get(path) {
            Some(document) => document.as_ref().map(kind_of),
            None => {
                let key = node_key(path)?;
                access.get(&key)?.map(|value| stored_kind(access, &key, &value))
            }
        };
        match kind {
            None if self.is_implicit_group(access, path)? => Ok(Some(EntryKind::ImplicitGroup)),
            kind => Ok(kind),
        }
    }

    fn children(&self, access: &Access, path: &NodePath) -> Result<Vec<NodeEntry>, Error> {
        self.below(access, path, |path, listed| NodeEntry { path, kind: listed.kind(access) })
    }

    /// Reads the metadata of the arrays directly below `path`. Each document is read once.
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
        let made = |path, listed: Listed<'_>| found_array(access, path, listed);
        Ok(nodes_at(access, paths_in(&root, listing?), made)?.into_iter().flatten().collect())
    }

    fn walk(&self, access: &Access, path: &NodePath) -> Result<Vec<NodeEntry>, Error> {
        let start = match self.document(access, path)? {
            Some(document) => entry(path.clone(), &document),
            None if self.is_implicit_group(access, path)? => {
                NodeEntry { path: path.clone(), kind: EntryKind::ImplicitGroup }
            }
            None => return Err(Error::NoNode(path.clone())),
        };
        let Some(below) = self.snapshot.below(path) else {
            return walk_levels(access, start, |groups| {
                listed(access, groups, |path, listed| NodeEntry { path, kind: listed.kind(access) })
            });
        };
        let implicit = implicit::groups_between(access, path, &below);
        let below = below.into_iter().map(|(path, document)| entry(path, &document));
        Ok(std::iter::once(start).chain(implicit).chain(below).collect())
    }

    fn check_free(&self, access: &Access, path: &NodePath, _kind: EntryKind) -> Result<(), Error> {
        self.check(access, path, false).map(drop)
    }

    fn create(&self, access: &Access, node: &NewNode<'_>) -> Result<(), Error> {
        self.create_node(access, node).map(drop)
    }

    fn create_arrays(&self, access: &Access, arrays: &[NewNode<'_>]) -> Result<(), Error> {
        if access.is_local() || arrays.len() < 2 {
            return self.create_local_arrays(access, arrays);
        }
        self.create_far_arrays(access, arrays)
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
        self.change_copies(access, path, Some(&document))
    }

    fn set_attributes(&self, access: &Access, path: &NodePath, attributes: Object) -> Result<(), Error> {
        let Some(mut document) = stored(access, path)? else {
            if self.kind(access, path)? != Some(EntryKind::ImplicitGroup) {
                return Err(Error::NoNode(path.clone()));
            }
            let group = GroupMetadata::new(Format::V3, attributes);
            let metadata = NewMetadata::Group(&group);
            return self.create_node(access, &NewNode { path, metadata, leftovers: None }).map(drop);
        };
        // A document that cannot be read is not changed.
        parse(access, path, &document)?;
        if let Some(members) = document.as_object_mut() {
            members.insert("attributes", attributes);
        }
        self.replace(access, path, &document)
    }

    fn erase_target<'p>(&self, access: &Access, path: &'p NodePath) -> Result<EraseTarget<'p>, Error> {
        let exists = access.has(&node_key(path)?)? || self.is_implicit_group(access, path)?;
        Ok(EraseTarget { path, exists, prefixes: self.prefixes(path)? })
    }

    fn forget(&self, access: &Access, path: &NodePath) -> Result<(), Error> {
        self.change_copies(access, path, None)
    }

    fn consolidate(&self, access: &Access, path: &NodePath) -> Result<(), Error> {
        self.write_consolidated(access, path)
    }
}

fn consolidated(access: &Access, document: &Value) -> Option<BTreeMap<NodePath, Value>> {
    // An error in the document is returned when the root is opened.
    let Ok(NodeMetadata::Group(group)) = parse(access, &NodePath::root(), document) else { return None };
    // Parsing has already warned about invalid paths.
    let nodes = group
        .consolidated?
        .into_iter()
        .filter_map(|(path, node)| Some((NodePath::parse(&format!("/{path}"), Format::V3).ok()?, node)));
    let mut documents: BTreeMap<_, _> = nodes.collect();
    documents.insert(NodePath::root(), without_copies(document));
    Some(documents)
}

/// Returns the document of a group without the copies in its consolidated metadata, because the [`Snapshot`] has them,
/// and they would be parsed whenever the group is opened.
fn without_copies(document: &Value) -> Value {
    let copies = |(name, value): (&str, &Value)| match name {
        "metadata" => Value::from(Object::new()),
        _ => value.clone(),
    };
    let member = |(name, value): (&str, &Value)| match value.as_object() {
        Some(consolidated) if name == "consolidated_metadata" => {
            Value::from(consolidated.iter().map(|one| (one.0, copies(one))).collect::<Object>())
        }
        _ => value.clone(),
    };
    match document.as_object() {
        Some(members) => Value::from(members.iter().map(|one| (one.0, member(one))).collect::<Object>()),
        None => document.clone(),
    }
}

fn found(access: &Access, path: &NodePath, document: Option<Value>) -> Result<Option<FoundNode>, Error> {
    let Some(document) = document else { return Ok(None) };
    Ok(Some(FoundNode::explicit(parse(access, path, &document)?)))
}
