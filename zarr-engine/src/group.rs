//! Groups: nodes that contain other nodes.

use zarr_metadata::GroupMetadata;
use zarr_spec::{NodePath, Object, Value};

use crate::array::Array;
use crate::attributes::{attributes_of, infallible};
use crate::builder::ArrayBuilder;
use crate::error::Error;
use crate::hierarchy::{Hierarchy, Node, NodeEntry};

/// A group of a hierarchy. It is cheap to clone.
///
/// Methods that take the `name` of a node also accept a relative path, such as `a/b`.
#[derive(Debug, Clone)]
pub struct Group {
    hierarchy: Hierarchy,
    path: NodePath,
    metadata: GroupMetadata,
    is_implicit: bool,
}

impl Group {
    pub(crate) fn new(
        hierarchy: Hierarchy,
        path: NodePath,
        metadata: GroupMetadata,
        is_implicit: bool,
    ) -> Self {
        Self { hierarchy, path, metadata, is_implicit }
    }

    /// Returns the hierarchy.
    #[must_use]
    pub fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    /// Returns the path of the group.
    #[must_use]
    pub fn path(&self) -> &NodePath {
        &self.path
    }

    /// Returns the metadata, as they were when the group was opened. If nodes are read through consolidated metadata, those
    /// of their group are returned without entries.
    #[must_use]
    pub fn metadata(&self) -> &GroupMetadata {
        &self.metadata
    }

    /// Returns the user attributes of the group.
    #[must_use]
    pub fn attributes(&self) -> &Object {
        &self.metadata.attributes
    }

    /// Returns whether this is an implicit group, without a document. It exists while there are nodes below it. The
    /// draft allows such groups; in v3, they are read with a warning, but not in strict mode.
    #[must_use]
    pub fn is_implicit(&self) -> bool {
        self.is_implicit
    }

    /// Returns the nodes directly below this group, sorted by name.
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::children`].
    pub fn children(&self) -> Result<Vec<NodeEntry>, Error> {
        self.hierarchy.children(&self.path)
    }

    /// Returns this group and all nodes below it, in the order of [`Hierarchy::walk`].
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::walk`].
    pub fn walk(&self) -> Result<Vec<NodeEntry>, Error> {
        self.hierarchy.walk(&self.path)
    }

    /// Opens the arrays directly below this group, sorted by name.
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::children`], and as [`Hierarchy::array`] for the first array that cannot be opened.
    pub fn arrays(&self) -> Result<Vec<Array>, Error> {
        self.hierarchy.arrays(&self.path)
    }

    /// Opens the groups directly below this group, sorted by name.
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::children`] and [`Hierarchy::group`].
    pub fn groups(&self) -> Result<Vec<Self>, Error> {
        let children = self.children()?.into_iter().filter(|child| child.kind.is_group());
        children.map(|child| self.hierarchy.group(&child.path)).collect()
    }

    /// Opens the array `name`.
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::array`].
    pub fn array(&self, name: &str) -> Result<Array, Error> {
        self.hierarchy.array(&self.below(name)?)
    }

    /// Opens the group `name`.
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::group`].
    pub fn group(&self, name: &str) -> Result<Self, Error> {
        self.hierarchy.group(&self.below(name)?)
    }

    /// Opens the node `name`, of whatever kind.
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::node`].
    pub fn node(&self, name: &str) -> Result<Node, Error> {
        self.hierarchy.node(&self.below(name)?)
    }

    /// Creates the array `name`.
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::create_array`].
    pub fn create_array(&self, name: &str, builder: &ArrayBuilder) -> Result<Array, Error> {
        self.hierarchy.create_array(self.below(name)?, builder)
    }

    /// Opens the array `name`, or creates it if there is no node.
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::open_or_create_array`].
    pub fn open_or_create_array(&self, name: &str, builder: &ArrayBuilder) -> Result<Array, Error> {
        self.hierarchy.open_or_create_array(self.below(name)?, builder)
    }

    /// Opens the group `name`, or creates it if there is no node.
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::require_group`].
    pub fn require_group(&self, name: &str) -> Result<Self, Error> {
        self.hierarchy.require_group(self.below(name)?)
    }

    /// Creates the group `name`.
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::create_group`].
    pub fn create_group(&self, name: &str, attributes: impl Into<Value>) -> Result<Self, Error> {
        self.hierarchy.create_group(self.below(name)?, attributes)
    }

    /// Replaces all attributes.
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::set_attributes`].
    pub fn set_attributes(&mut self, attributes: impl Into<Value>) -> Result<(), Error> {
        let attributes = attributes_of(attributes)?;
        self.hierarchy.set_attributes(&self.path, attributes.clone())?;
        self.metadata.attributes = attributes;
        self.is_implicit = false;
        Ok(())
    }

    /// Sets one attribute and leaves the others as they are stored. Concurrent calls for the same group in one context
    /// do not lose changes.
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::set_attributes`].
    pub fn set_attribute(&mut self, name: &str, value: impl Into<Value>) -> Result<(), Error> {
        let value = value.into();
        self.update_attributes(|attributes| {
            attributes.insert(name, value.clone());
        })
    }

    /// Changes the stored attributes, as [`Hierarchy::update_attributes`] does.
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::set_attributes`].
    pub fn update_attributes(&mut self, change: impl FnMut(&mut Object)) -> Result<(), Error> {
        let change = infallible(change);
        self.metadata.attributes = self.hierarchy.updated_attributes(&self.path, change)?;
        self.is_implicit = false;
        Ok(())
    }

    fn below(&self, name: &str) -> Result<NodePath, Error> {
        let format = self.hierarchy.format();
        let child = name.split('/').try_fold(self.path.clone(), |path, name| path.child(name, format));
        Ok(child?)
    }
}
