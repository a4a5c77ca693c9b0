//! The trait that each format implements.

use std::fmt::Debug;
use std::sync::Arc;

use zarr_metadata::draft::EntryPoint;
use zarr_metadata::{ArrayMetadata, GroupMetadata, NodeMetadata};
use zarr_spec::store::Directory;
use zarr_spec::{Format, Key, NodePath, Object, Prefix};

use super::access::Access;
use super::entry::{EntryKind, NodeEntry};
use crate::error::{Error, InTheWay, WrongKind};

/// Keys, documents and operations of one format.
///
/// The caller of a method that writes holds the lock of the node.
pub(super) trait FormatRules: Debug + Send + Sync {
    fn format(&self) -> Format;

    fn is_consolidated(&self) -> bool {
        false
    }

    fn entry_point(&self) -> Option<&EntryPoint> {
        None
    }

    fn array_key(&self, path: &NodePath) -> Result<Key, Error>;

    /// Returns the key of the document of a group at `path`. Some formats use the same key for an array.
    fn group_key(&self, path: &NodePath) -> Result<Key, Error>;

    fn chunks(&self, path: &NodePath) -> Result<Prefix, Error>;

    fn prefixes(&self, path: &NodePath) -> Result<Vec<Prefix>, Error> {
        Ok(vec![self.chunks(path)?])
    }

    fn node_of(&self, key: &Key) -> Option<NodePath>;

    /// Checks names that [`NodePath`] allows but this format does not.
    fn check_name(&self, _access: &Access, _path: &NodePath) -> Result<(), Error> {
        Ok(())
    }

    fn read(&self, access: &Access, path: &NodePath) -> Result<Option<FoundNode>, Error>;

    /// Reads the metadata of a node from its own documents, without consolidated metadata.
    fn read_stored(&self, access: &Access, path: &NodePath) -> Result<Option<FoundNode>, Error> {
        self.read(access, path)
    }

    /// Returns the kind of the node at `path`, and reads only the necessary part of its documents.
    fn kind(&self, access: &Access, path: &NodePath) -> Result<Option<EntryKind>, Error>;

    fn children(&self, access: &Access, path: &NodePath) -> Result<Vec<NodeEntry>, Error>;

    fn arrays(&self, access: &Access, path: &NodePath) -> Result<Vec<FoundArray>, Error>;

    /// Reads the metadata of the arrays directly below the root, given a listing of the root.
    fn arrays_listed(
        &self,
        access: &Access,
        _listing: Result<Directory, Error>,
    ) -> Result<Vec<FoundArray>, Error> {
        self.arrays(access, &NodePath::root())
    }

    fn walk(&self, access: &Access, path: &NodePath) -> Result<Vec<NodeEntry>, Error>;

    /// Refuses to create a node of this kind at `path` if another node is in the way.
    fn check_free(&self, access: &Access, path: &NodePath, kind: EntryKind) -> Result<(), Error>;

    fn create(&self, access: &Access, node: &NewNode<'_>) -> Result<(), Error>;

    fn create_arrays(&self, access: &Access, arrays: &[NewNode<'_>]) -> Result<(), Error> {
        arrays.iter().try_for_each(|array| self.create(access, array))
    }

    fn rewrite_array(&self, access: &Access, path: &NodePath, metadata: &ArrayMetadata) -> Result<(), Error>;

    /// Replaces the copies of an array's document in consolidated metadata, but not the document itself.
    fn rewrite_copies(
        &self,
        _access: &Access,
        _path: &NodePath,
        _metadata: &ArrayMetadata,
    ) -> Result<(), Error> {
        Ok(())
    }

    fn set_attributes(&self, access: &Access, path: &NodePath, attributes: Object) -> Result<(), Error>;

    fn erase_target<'p>(&self, access: &Access, path: &'p NodePath) -> Result<EraseTarget<'p>, Error>;

    /// Removes the node at `path` and all nodes below it from consolidated metadata and lists of nodes.
    fn forget(&self, access: &Access, path: &NodePath) -> Result<(), Error>;

    /// Copies all documents at and below a group to consolidated metadata.
    fn consolidate(&self, access: &Access, path: &NodePath) -> Result<(), Error>;
}

#[derive(Debug)]
pub(super) struct FoundNode {
    pub(super) metadata: NodeMetadata,
    /// Whether the node is an implicit group, without a document.
    pub(super) is_implicit: bool,
}

pub(super) type FoundArray = (NodePath, Result<ArrayMetadata, Error>);

pub(super) trait StoredChunks: Debug + Sync {
    /// Lists the values whose keys are chunk keys of the array, unless the store cannot erase them.
    fn keys(&self) -> Result<Vec<Key>, Error>;

    fn erase(&self, keys: &[Key]) -> Result<(), Error>;
}

#[derive(Debug, Clone, Copy)]
pub(super) struct NewNode<'a> {
    pub(super) path: &'a NodePath,
    pub(super) metadata: NewMetadata<'a>,
    /// Chunks that an earlier array may have left. `None` if the stored chunks were written for this array.
    pub(super) leftovers: Option<&'a dyn StoredChunks>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum NewMetadata<'a> {
    Array(&'a Arc<ArrayMetadata>),
    Group(&'a GroupMetadata),
}

#[derive(Debug)]
pub(super) struct EraseTarget<'p> {
    pub(super) path: &'p NodePath,
    /// Whether the node exists. If it does not, an earlier call may have left some of its keys.
    pub(super) exists: bool,
    pub(super) prefixes: Vec<Prefix>,
}

impl FoundNode {
    pub(super) fn explicit(metadata: NodeMetadata) -> Self {
        Self { metadata, is_implicit: false }
    }
}

impl NewNode<'_> {
    pub(super) fn kind(&self) -> EntryKind {
        match self.metadata {
            NewMetadata::Array(_) => EntryKind::Array,
            NewMetadata::Group(_) => EntryKind::Group,
        }
    }

    /// Returns whether the folder of the node must be listed: to erase leftover chunks, or to note a new group as
    /// empty.
    pub(super) fn needs_listing(&self) -> bool {
        self.kind() == EntryKind::Group || self.leftovers.is_some()
    }
}

pub(super) fn array_of(path: &NodePath, found: Option<FoundNode>) -> Result<ArrayMetadata, Error> {
    match found.ok_or_else(|| Error::NoNode(path.clone()))?.metadata {
        NodeMetadata::Array(metadata) => Ok(*metadata),
        NodeMetadata::Group(_) => {
            Err(WrongKind { path: path.clone(), found: "a group", wanted: "an array" }.into())
        }
    }
}

pub(super) fn in_the_way(path: &NodePath, reason: impl Into<String>) -> Error {
    InTheWay { path: path.clone(), reason: reason.into() }.into()
}

/// Returns the error for a node that cannot be created because another node exists at its path.
pub(super) fn exists_already(path: &NodePath, kind: EntryKind) -> Error {
    in_the_way(path, format!("{} already exists", kind.name()))
}

pub(super) fn below_an_array(path: &NodePath, array: &NodePath) -> Error {
    in_the_way(path, format!("{array} is an array, and only groups have nodes below them"))
}

pub(super) fn not_a_group(path: &NodePath) -> Error {
    WrongKind { path: path.clone(), found: "an array", wanted: "a group" }.into()
}
