//! What there is in a hierarchy, and how one is opened.

use std::sync::Arc;

use zarr_metadata::ArrayMetadata;
use zarr_spec::{Format, NodePath};

use crate::array::Array;
use crate::error::Error;
use crate::group::Group;

/// What a listing says that a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// An array.
    Array,
    /// A group that has a document.
    Group,
    /// A group of the draft that has no document of its own, only nodes below it.
    ImplicitGroup,
    /// There is a document that does not say of what it is, or that the store cannot read, or its place is not that of a
    /// node: the format does not allow the name.
    Unreadable,
}

impl Kind {
    /// Whether nodes can be below it.
    #[must_use]
    pub fn is_group(self) -> bool {
        matches!(self, Self::Group | Self::ImplicitGroup)
    }

    /// What messages call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Array => "an array",
            Self::Group => "a group",
            Self::ImplicitGroup => "an implicit group",
            Self::Unreadable => "a node whose document cannot be read",
        }
    }
}

/// A node in a listing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Child {
    /// Where it is.
    pub path: NodePath,
    /// What it is.
    pub kind: Kind,
}

/// A node of any kind, also one that cannot be used.
#[derive(Debug, Clone)]
pub enum Node {
    /// An array.
    Array(Box<Array>),
    /// A group.
    Group(Group),
    /// A node that is there and cannot be used.
    Unreadable(Box<Unreadable>),
}

/// A node that is there and cannot be used.
#[derive(Debug, Clone)]
pub struct Unreadable {
    /// Where it is.
    pub path: NodePath,
    /// What its document says, if that much can be read: it is an array then.
    pub metadata: Option<ArrayMetadata>,
    /// Why it cannot be used.
    pub error: Arc<Error>,
}

/// How a hierarchy is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenOptions {
    pub(super) format: Option<Format>,
    pub(super) consolidated: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { format: None, consolidated: true }
    }
}

impl OpenOptions {
    /// Any format, and consolidated metadata where there are some.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// As this format, where a store holds more than one.
    #[must_use]
    pub fn format(self, format: Format) -> Self {
        Self { format: Some(format), ..self }
    }

    /// Whether to read through the consolidated metadata of v2 and v3, where there are some (the default).
    /// They are a copy: what others wrote since it was made does not show.
    #[must_use]
    pub fn consolidated(self, consolidated: bool) -> Self {
        Self { consolidated, ..self }
    }
}
