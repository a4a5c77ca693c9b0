//! Groups: nodes that have nodes below them.

use zarr_metadata::GroupMetadata;
use zarr_spec::{NodePath, Object, Value};

use crate::array::Array;
use crate::attributes::attributes_of;
use crate::builder::ArrayBuilder;
use crate::error::Error;
use crate::hierarchy::{Hierarchy, Node, NodeEntry};

/// A group of a hierarchy. Cheap to clone.
///
/// Names of nodes below it may be several names with `/` between them.
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

    /// The hierarchy it belongs to.
    #[must_use]
    pub fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &NodePath {
        &self.path
    }

    /// Its metadata, as they were when it was opened.
    #[must_use]
    pub fn metadata(&self) -> &GroupMetadata {
        &self.metadata
    }

    /// What users say of it.
    #[must_use]
    pub fn attributes(&self) -> &Object {
        &self.metadata.attributes
    }

    /// Whether it is a group of the draft that has no document: it is there as long as a node below it is.
    #[must_use]
    pub fn is_implicit(&self) -> bool {
        self.is_implicit
    }

    /// What is directly below it, sorted by name.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::children`].
    pub fn children(&self) -> Result<Vec<NodeEntry>, Error> {
        self.hierarchy.children(&self.path)
    }

    /// It and everything below it, as [`Hierarchy::walk`] has it.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::walk`].
    pub fn walk(&self) -> Result<Vec<NodeEntry>, Error> {
        self.hierarchy.walk(&self.path)
    }

    /// The arrays directly below it, sorted by name.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::children`] and [`Hierarchy::array`], the latter for the first array that cannot be
    /// used.
    pub fn arrays(&self) -> Result<Vec<Array>, Error> {
        self.hierarchy.arrays(&self.path)
    }

    /// The groups directly below it, sorted by name.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::children`] and [`Hierarchy::group`].
    pub fn groups(&self) -> Result<Vec<Self>, Error> {
        let children = self.children()?.into_iter().filter(|child| child.kind.is_group());
        children.map(|child| self.hierarchy.group(&child.path)).collect()
    }

    /// The array called `name` below it.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::array`].
    pub fn array(&self, name: &str) -> Result<Array, Error> {
        self.hierarchy.array(&self.below(name)?)
    }

    /// The group called `name` below it.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::group`].
    pub fn group(&self, name: &str) -> Result<Self, Error> {
        self.hierarchy.group(&self.below(name)?)
    }

    /// The node called `name` below it, whatever it is.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::node`].
    pub fn node(&self, name: &str) -> Result<Node, Error> {
        self.hierarchy.node(&self.below(name)?)
    }

    /// Creates an array below it.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::create_array`].
    pub fn create_array(&self, name: &str, builder: &ArrayBuilder) -> Result<Array, Error> {
        self.hierarchy.create_array(self.below(name)?, builder)
    }

    /// Opens the array called `name` below it, or creates it if there is no node.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::open_or_create_array`].
    pub fn open_or_create_array(&self, name: &str, builder: &ArrayBuilder) -> Result<Array, Error> {
        self.hierarchy.open_or_create_array(self.below(name)?, builder)
    }

    /// Opens the child group `name`, or creates it if there is no node.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::require_group`].
    pub fn require_group(&self, name: &str) -> Result<Self, Error> {
        self.hierarchy.require_group(self.below(name)?)
    }

    /// Creates a group below it.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::create_group`].
    pub fn create_group(&self, name: &str, attributes: impl Into<Value>) -> Result<Self, Error> {
        self.hierarchy.create_group(self.below(name)?, attributes)
    }

    /// Replaces all attributes.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::set_attributes`].
    pub fn set_attributes(&mut self, attributes: impl Into<Value>) -> Result<(), Error> {
        let attributes = attributes_of(attributes)?;
        self.hierarchy.set_attributes(&self.path, attributes.clone())?;
        self.metadata.attributes = attributes;
        self.is_implicit = false;
        Ok(())
    }

    /// Sets one attribute; all others stay as they are stored. Threads that set attributes of one group at the same time
    /// lose none.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::set_attributes`].
    pub fn set_attribute(&mut self, name: &str, value: impl Into<Value>) -> Result<(), Error> {
        self.update_attributes(|attributes| {
            attributes.insert(name, value);
        })
    }

    /// Changes the attributes as they are stored now, as [`Hierarchy::update_attributes`] does.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::set_attributes`].
    pub fn update_attributes(&mut self, change: impl FnOnce(&mut Object)) -> Result<(), Error> {
        let change = |attributes: &mut Object| {
            change(attributes);
            Ok::<_, Error>(())
        };
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
