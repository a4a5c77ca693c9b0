//! Rules of v2: `.zarray`, `.zgroup` and `.zattrs` in the folder of each node, and optionally a `.zmetadata` with
//! copies of them.

mod consolidated;
mod creating;
mod documents;

use bytes::Bytes;
use zarr_metadata::v2::{
    KeyKind, array_document, array_key, attributes_key, consolidated_key, group_key, node_of,
    parse_consolidated, prefix,
};
use zarr_metadata::{ArrayMetadata, DocumentKind};
use zarr_spec::store::Directory;
use zarr_spec::{Format, Invalid, Key, Mode, NodePath, Object, Prefix};

use super::access::Access;
use super::entry::{EntryKind, NodeEntry};
use super::listing::{checked_paths_below, directly_below, paths_in, walk_levels};
use super::rules::{EraseTarget, FormatRules, FoundArray, FoundNode, NewNode, not_a_group};
use super::snapshot::Snapshot;
use crate::error::Error;
use consolidated::at_and_above;
use documents::{
    Documents, arrays_at, children_at, found, found_array, listed, parsed, stored, stored_kind,
    write_attributes,
};

#[derive(Debug)]
pub(super) struct V2 {
    snapshot: Snapshot<Documents>,
}

enum Below {
    Copied(Vec<(NodePath, Documents)>),
    Paths(Vec<NodePath>),
}

impl V2 {
    /// Returns the rules of a hierarchy without consolidated metadata.
    pub(super) fn new() -> Self {
        Self { snapshot: Snapshot::new(None) }
    }

    /// Opens a hierarchy. `consolidated` is the `.zmetadata` of the root, if it exists and should be used.
    ///
    /// Unreadable consolidated metadata are an error only in strict mode, because they are a copy of the documents.
    pub(super) fn open(access: &Access, consolidated: Option<&Bytes>) -> Result<Self, Error> {
        let Some(bytes) = consolidated else { return Ok(Self::new()) };
        let key = consolidated_key(&NodePath::root())?;
        let parsed = access
            .parse(&key, bytes, DocumentKind::V2Consolidated)
            .and_then(|document| access.reading(&key, |reading| parse_consolidated(&document, reading)));
        match parsed {
            Ok(parsed) => Ok(Self { snapshot: Snapshot::new(Some(consolidated::by_node(parsed))) }),
            Err(error) if access.context.mode == Mode::Strict => Err(error),
            Err(error) => {
                access.warn(format!("{error}; consolidated metadata are ignored"));
                Ok(Self::new())
            }
        }
    }

    fn documents(&self, access: &Access, path: &NodePath) -> Result<Documents, Error> {
        match self.snapshot.get(path) {
            Some(documents) => Ok(documents.unwrap_or_default()),
            None => stored(access, path),
        }
    }

    fn below(&self, access: &Access, path: &NodePath) -> Result<Below, Error> {
        let check = || match self.kind(access, path)? {
            None => Err(Error::NoNode(path.clone())),
            Some(EntryKind::Array) => Err(not_a_group(path)),
            Some(_) => Ok(()),
        };
        if let Some(below) = self.snapshot.below(path) {
            check()?;
            return Ok(Below::Copied(directly_below(below, path).collect()));
        }
        Ok(Below::Paths(checked_paths_below(access, path, prefix, check)?))
    }
}

/// Parses the `.zarray`, `.zgroup` and `.zattrs` of the root.
pub(super) fn root(access: &Access, documents: &[Option<Bytes>]) -> Result<Option<FoundNode>, Error> {
    let root = NodePath::root();
    let keys = [array_key(&root)?, group_key(&root)?, attributes_key(&root)?];
    found(access, &root, parsed(access, &keys, documents)?)
}

impl FormatRules for V2 {
    fn format(&self) -> Format {
        Format::V2
    }

    fn is_consolidated(&self) -> bool {
        self.snapshot.is_there()
    }

    fn array_key(&self, path: &NodePath) -> Result<Key, Error> {
        Ok(array_key(path)?)
    }

    fn group_key(&self, path: &NodePath) -> Result<Key, Error> {
        Ok(group_key(path)?)
    }

    fn chunks(&self, path: &NodePath) -> Result<Prefix, Error> {
        Ok(prefix(path)?)
    }

    fn node_of(&self, key: &Key) -> Option<NodePath> {
        let (node, kind) = node_of(key)?;
        matches!(kind, KeyKind::Array | KeyKind::Group).then_some(node)
    }

    /// Checks that names are ASCII, as v2 requires. Other programs also write other names (V2-HIER-01, V2-STORE-02).
    fn check_name(&self, access: &Access, path: &NodePath) -> Result<(), Error> {
        let Some(name) = path.names().iter().find(|name| !name.is_ascii()) else { return Ok(()) };
        let what = format!("the name `{name}` has characters other than ASCII, which v2 does not allow");
        if access.context.mode == Mode::Strict {
            return Err(Invalid::new(format!("{what}; strict mode does not write it")).into());
        }
        access.warn(format!("{what}; it is written anyway, as other programs do"));
        Ok(())
    }

    fn read(&self, access: &Access, path: &NodePath) -> Result<Option<FoundNode>, Error> {
        found(access, path, self.documents(access, path)?)
    }

    fn read_stored(&self, access: &Access, path: &NodePath) -> Result<Option<FoundNode>, Error> {
        found(access, path, stored(access, path)?)
    }

    fn kind(&self, access: &Access, path: &NodePath) -> Result<Option<EntryKind>, Error> {
        match self.snapshot.get(path) {
            Some(documents) => Ok(documents.and_then(|documents| documents.kind())),
            None => stored_kind(access, path),
        }
    }

    fn children(&self, access: &Access, path: &NodePath) -> Result<Vec<NodeEntry>, Error> {
        match self.below(access, path)? {
            Below::Copied(nodes) => {
                Ok(nodes.into_iter().filter_map(|(path, node)| node.entry(access, path)).collect())
            }
            Below::Paths(paths) => children_at(access, paths),
        }
    }

    fn arrays(&self, access: &Access, path: &NodePath) -> Result<Vec<FoundArray>, Error> {
        let nodes = match self.below(access, path)? {
            Below::Copied(nodes) => nodes,
            Below::Paths(paths) => return arrays_at(access, paths),
        };
        let arrays = nodes.into_iter().filter(|(_, documents)| documents.array.is_some());
        Ok(arrays.map(|(path, documents)| found_array(access, path, Ok(documents))).collect())
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
        arrays_at(access, paths_in(&root, listing?))
    }

    fn walk(&self, access: &Access, path: &NodePath) -> Result<Vec<NodeEntry>, Error> {
        let kind = self.kind(access, path)?.ok_or_else(|| Error::NoNode(path.clone()))?;
        let start = NodeEntry { path: path.clone(), kind };
        match self.snapshot.below(path) {
            None => walk_levels(access, start, |groups| listed(access, groups)),
            Some(below) => {
                let below = below.into_iter().filter_map(|(path, node)| node.entry(access, path));
                Ok(std::iter::once(start).chain(below).collect())
            }
        }
    }

    fn check_free(&self, access: &Access, path: &NodePath, _kind: EntryKind) -> Result<(), Error> {
        creating::check(access, path, false).map(drop)
    }

    fn create(&self, access: &Access, node: &NewNode<'_>) -> Result<(), Error> {
        self.create_node(access, node)
    }

    fn create_arrays(&self, access: &Access, arrays: &[NewNode<'_>]) -> Result<(), Error> {
        if access.is_local() || arrays.len() < 2 {
            return arrays.iter().try_for_each(|array| self.create_node(access, array));
        }
        self.create_far_arrays(access, arrays)
    }

    fn rewrite_array(&self, access: &Access, path: &NodePath, metadata: &ArrayMetadata) -> Result<(), Error> {
        let key = array_key(path)?;
        let document = array_document(metadata).map_err(|error| Error::document(&key, error))?;
        let attributes = write_attributes(access, path, &metadata.attributes)?;
        access.set_json(&key, &document)?;
        self.refresh(access, &at_and_above(access, path), &[attributes, (key, Some(document))]).map(drop)
    }

    fn rewrite_copies(
        &self,
        access: &Access,
        path: &NodePath,
        metadata: &ArrayMetadata,
    ) -> Result<(), Error> {
        let key = array_key(path)?;
        let document = array_document(metadata).map_err(|error| Error::document(&key, error))?;
        self.change_only_copies(access, path, &[(key, Some(document))])
    }

    fn set_attributes(&self, access: &Access, path: &NodePath, attributes: Object) -> Result<(), Error> {
        stored_kind(access, path)?.ok_or_else(|| Error::NoNode(path.clone()))?;
        let change = write_attributes(access, path, &attributes)?;
        self.refresh(access, &at_and_above(access, path), &[change]).map(drop)
    }

    fn erase_target<'p>(&self, access: &Access, path: &'p NodePath) -> Result<EraseTarget<'p>, Error> {
        let exists = stored_kind(access, path)?.is_some();
        Ok(EraseTarget { path, exists, prefixes: self.prefixes(path)? })
    }

    fn forget(&self, access: &Access, path: &NodePath) -> Result<(), Error> {
        self.refresh_erased(access, path)
    }

    fn consolidate(&self, access: &Access, path: &NodePath) -> Result<(), Error> {
        self.write_consolidated(access, path)
    }
}
