//! What the formats have each in its own way.

use std::fmt::Debug;

use zarr_spec::metadata::draft::EntryPoint;
use zarr_spec::metadata::{ArrayMetadata, GroupMetadata, NodeKind, NodeMetadata};
use zarr_spec::{Format, Key, NodePath, Object, Prefix};

use super::access::Access;
use super::beside::{Beside, Erased};
use super::{Child, Kind};
use crate::array::{Array, RankZeroKey};
use crate::error::Error;
use crate::flight;

/// A node that is there.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) metadata: NodeMetadata,
    /// Whether it is a group without a document.
    pub(super) is_implicit: bool,
}

/// A node that is to be written.
#[derive(Debug, Clone, Copy)]
pub(super) enum NewNode<'a> {
    Array(NewArray<'a>),
    Group(&'a GroupMetadata),
}

/// An array that is to be written.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewArray<'a> {
    pub(super) array: &'a Array,
    pub(super) chunks: Chunks,
}

/// Chunks that are stored where a new array is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chunks {
    /// They were written for this array.
    Kept,
    /// They were left by another one, and are erased.
    Erased,
}

/// An array in a listing.
pub(super) type FoundArray = (NodePath, Result<ArrayMetadata, Error>);

/// The metadata of the array that was found at `path`.
pub(super) fn array_of(path: &NodePath, found: Option<Found>) -> Result<ArrayMetadata, Error> {
    match found.ok_or_else(|| Error::NoNode(path.clone()))?.metadata {
        NodeMetadata::Array(metadata) => Ok(*metadata),
        NodeMetadata::Group(_) => {
            Err(Error::WrongKind { path: path.clone(), found: "a group", wanted: "an array" })
        }
    }
}

impl Found {
    pub(super) fn explicit(metadata: NodeMetadata) -> Self {
        Self { metadata, is_implicit: false }
    }
}

/// Keys, documents and operations of one format.
pub(super) trait Dialect: Debug + Send + Sync {
    fn format(&self) -> Format;

    /// As people should see it. It may stand in parentheses, and so has none.
    fn description(&self) -> String {
        self.format().to_string()
    }

    /// Whether documents are read from a copy of all of them.
    fn is_consolidated(&self) -> bool {
        false
    }

    /// What only the draft has.
    fn entry_point(&self) -> Option<&EntryPoint> {
        None
    }

    /// The key of the document of the array at `path`.
    fn document_key(&self, path: &NodePath) -> Result<Key, Error>;

    /// The keys that the documents of the node at `path` may have. Without them there is no node.
    fn own_documents(&self, path: &NodePath) -> Result<Vec<Key>, Error>;

    /// What the keys of the chunks of the array at `path` begin with.
    fn chunks(&self, path: &NodePath) -> Result<Prefix, Error>;

    /// What all keys begin with that go with the node at `path` when it is erased.
    fn prefixes(&self, path: &NodePath) -> Result<Vec<Prefix>, Error> {
        Ok(vec![self.chunks(path)?])
    }

    /// The node whose document has this key, where documents are not in the folders of their nodes.
    fn node_of(&self, _key: &Key) -> Option<(NodePath, NodeKind)> {
        None
    }

    /// The node that a document with this key belongs to.
    fn node_with(&self, key: &Key) -> Option<NodePath>;

    /// What [`ArrayPlace`](crate::array::ArrayPlace) has.
    fn rank_zero_key(&self, _access: &Access) -> Option<RankZeroKey> {
        None
    }

    /// Whether a node may be written at `path`; [`NodePath`] has refused most of what may not.
    fn check_name(&self, access: &Access, path: &NodePath) -> Result<(), Error>;

    /// The metadata of a node.
    fn read(&self, access: &Access, path: &NodePath) -> Result<Option<Found>, Error>;

    /// As [`Dialect::read`], from the documents of the node itself and no copy of them.
    fn read_stored(&self, access: &Access, path: &NodePath) -> Result<Option<Found>, Error> {
        self.read(access, path)
    }

    /// What is at `path`, with as little as can be of its documents.
    fn kind(&self, access: &Access, path: &NodePath) -> Result<Option<Kind>, Error>;

    /// What is directly below a group.
    fn children(&self, access: &Access, path: &NodePath) -> Result<Vec<Child>, Error>;

    /// The arrays directly below a group, with their metadata or why there are none.
    fn arrays(&self, access: &Access, path: &NodePath) -> Result<Vec<FoundArray>, Error> {
        let children = self.children(access, path)?.into_iter().filter(|child| child.kind == Kind::Array);
        let children: Vec<_> = children.collect();
        flight::map(&children, access.store.manner().concurrency, |Child { path, .. }| {
            let found = self.read(access, path).and_then(|found| array_of(path, found));
            Ok((path.clone(), found))
        })
    }

    /// A node and all below it.
    fn walk(&self, access: &Access, path: &NodePath) -> Result<Vec<Child>, Error>;

    /// Refuses what cannot be created at `path`.
    fn check_free(&self, access: &Access, path: &NodePath, kind: Kind) -> Result<(), Error>;

    /// Writes a node where nothing is in its way, and what it needs above it.
    fn create(&self, access: &Access, path: &NodePath, node: NewNode<'_>) -> Result<(), Error>;

    /// The same for many arrays.
    fn create_arrays(&self, access: &Access, arrays: &[NewArray<'_>]) -> Result<(), Error> {
        arrays.iter().try_for_each(|new| self.create(access, new.array.path(), NewNode::Array(*new)))
    }

    /// Writes the documents of an array in the place of those that are there.
    fn rewrite_array(&self, access: &Access, path: &NodePath, metadata: &ArrayMetadata) -> Result<(), Error>;

    /// Replaces what consolidated metadata have of an array, and not its own documents.
    fn rewrite_copies(
        &self,
        _access: &Access,
        _path: &NodePath,
        _metadata: &ArrayMetadata,
    ) -> Result<(), Error> {
        Ok(())
    }

    /// Replaces the attributes and nothing else.
    fn set_attributes(&self, access: &Access, path: &NodePath, attributes: Object) -> Result<(), Error>;

    /// Removes a node and all below it: first what consolidated metadata above it have of it, then its documents and
    /// those below it, then everything else. Of a node without a document, what an earlier call left is removed.
    /// Returns what was erased.
    fn erase(&self, access: &Access, path: &NodePath, beside: Beside) -> Result<Erased, Error>;

    /// Copies all documents to one place.
    fn consolidate(&self, access: &Access, path: &NodePath) -> Result<(), Error>;
}

/// Something that stands where `path` is to be created.
pub(super) fn in_the_way(path: &NodePath, reason: impl Into<String>) -> Error {
    Error::InTheWay { path: path.clone(), reason: reason.into() }
}

/// An array above the node that is to be created.
pub(super) fn below_an_array(path: &NodePath, array: &NodePath) -> Error {
    in_the_way(path, format!("{array} is an array, and only groups have nodes below them"))
}

/// The array at `path`, where a group was wanted.
pub(super) fn not_a_group(path: &NodePath) -> Error {
    Error::WrongKind { path: path.clone(), found: "an array", wanted: "a group" }
}
