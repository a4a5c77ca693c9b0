//! Nodes of any kind.

use std::sync::Arc;

use zarr_metadata::ArrayMetadata;
use zarr_spec::NodePath;

use crate::array::Array;
use crate::error::Error;
use crate::group::Group;

/// A node of any kind, including nodes that cannot be used.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_enums, reason = "programs handle every kind of node")]
pub enum Node {
    /// An array.
    Array(Box<Array>),
    /// A group.
    Group(Group),
    /// A node that exists but cannot be used.
    Unreadable(Box<Unreadable>),
}

/// A node that exists but cannot be used.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Unreadable {
    /// The path of the node.
    pub path: NodePath,
    /// The metadata, if the document describes an array and can be parsed.
    pub metadata: Option<ArrayMetadata>,
    /// The reason why the node cannot be used.
    pub error: Arc<Error>,
}

impl Node {
    pub(super) fn unreadable(path: NodePath, metadata: Option<ArrayMetadata>, error: Error) -> Self {
        Self::Unreadable(Box::new(Unreadable { path, metadata, error: Arc::new(error) }))
    }
}
