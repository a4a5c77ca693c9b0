//! Kinds of nodes, and entries of listings.

use std::fmt;

use zarr_spec::NodePath;

/// The kind of a node in a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(clippy::exhaustive_enums, reason = "programs handle every kind of node")]
pub enum EntryKind {
    /// An array.
    Array,
    /// A group that has a document.
    Group,
    /// A group without a document, which exists while there are nodes below it: in the draft, and in v3 outside of
    /// strict mode.
    ImplicitGroup,
    /// A node whose document does not have a kind or cannot be read from the store, or whose name the format does not
    /// allow.
    Unreadable,
}

impl EntryKind {
    /// Returns whether the node can have children.
    #[must_use]
    pub fn is_group(self) -> bool {
        matches!(self, Self::Group | Self::ImplicitGroup)
    }

    /// Returns the kind of a node with these documents. A node with both is an array.
    pub(super) fn of_documents(has_array: bool, has_group: bool) -> Option<Self> {
        has_array.then_some(Self::Array).or(has_group.then_some(Self::Group))
    }

    /// Returns the name of the kind in messages, with its article.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Array => "an array",
            Self::Group => "a group",
            Self::ImplicitGroup => "an implicit group",
            Self::Unreadable => "a node whose document cannot be read",
        }
    }
}

impl fmt::Display for EntryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Array => "array",
            Self::Group => "group",
            Self::ImplicitGroup => "implicit group",
            Self::Unreadable => "unreadable",
        })
    }
}

/// A node in a listing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct NodeEntry {
    /// The path of the node.
    pub path: NodePath,
    /// The kind of the node.
    pub kind: EntryKind,
}
