//! Creating, changing and erasing the nodes of a hierarchy.

use zarr_spec::metadata::{ArrayMetadata, GroupMetadata};
use zarr_spec::{NodePath, Object};

use super::beside::Beside;
use super::dialect::NewNode;
use super::{Hierarchy, Kind, foreign};
use crate::array::Array;
use crate::builder::ArrayBuilder;
use crate::context::ArrayOptions;
use crate::error::Error;
use crate::group::Group;

impl Hierarchy {
    /// Creates a group. v2 and v3 get groups at all paths above, too, where there are none (V2-HIER-12,
    /// V3-STORE-06).
    ///
    /// # Errors
    ///
    /// [`Error::InTheWay`] if there is a node already, or an array above; [`Error::NotSupported`] for what
    /// is read only.
    pub fn create_group(&self, path: &str, attributes: Object) -> Result<Group, Error> {
        let path = self.path_to_write(path)?;
        let metadata = GroupMetadata::new(self.format(), attributes);
        self.inner.dialect.create(&self.inner.access, &path, NewNode::Group(&metadata))?;
        Ok(Group::new(self.clone(), path, metadata, false))
    }

    /// Creates an array, and groups above it as [`Hierarchy::create_group`] does. No chunk is written.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::create_group`] and [`ArrayBuilder::metadata`]; [`Error::NotUnderstood`] for an array
    /// that this program could not read.
    pub fn create_array(&self, path: &str, builder: &ArrayBuilder) -> Result<Array, Error> {
        let array = self.built(path, builder)?;
        self.publish_array(&array)?;
        Ok(array)
    }

    /// Creates many arrays, by their paths. In a hierarchy of v3 whose store keeps many requests in flight, that takes
    /// hardly longer than one array.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::create_array`]. What is wrong with a path or a builder is found before anything is written; when
    /// the store fails, or another node is in the way of one of them, others may be there.
    pub fn create_arrays<'a>(
        &self,
        arrays: impl IntoIterator<Item = (&'a str, &'a ArrayBuilder)>,
    ) -> Result<Vec<Array>, Error> {
        let arrays = arrays.into_iter().map(|(path, builder)| self.built(path, builder));
        let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
        self.publish_arrays(&arrays)?;
        Ok(arrays)
    }

    /// The array that [`Hierarchy::publish_array`] will create, as far as its chunks are concerned: they
    /// can be written before there is a document, so that nobody takes half an array for a whole one.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::create_array`].
    pub fn prepare_array(&self, path: &str, metadata: ArrayMetadata) -> Result<Array, Error> {
        let path = self.path_to_write(path)?;
        self.check_format(&metadata)?;
        self.inner.dialect.check_free(&self.inner.access, &path, Kind::Array)?;
        self.new_array(&path, metadata, ArrayOptions::new())
    }

    /// Writes the document of an array that [`Hierarchy::prepare_array`] made, and groups above it.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::create_array`].
    pub fn publish_array(&self, array: &Array) -> Result<(), Error> {
        self.inner.access.check_writeable()?;
        self.check_format(array.metadata())?;
        self.inner.dialect.create(&self.inner.access, array.path(), NewNode::Array(array.metadata()))
    }

    /// As [`Hierarchy::publish_array`] for many arrays, which [`Hierarchy::create_arrays`] says more of.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::create_arrays`].
    pub fn publish_arrays(&self, arrays: &[Array]) -> Result<(), Error> {
        self.inner.access.check_writeable()?;
        arrays.iter().try_for_each(|array| self.check_format(array.metadata()))?;
        let arrays: Vec<_> = arrays.iter().map(|array| (array.path(), array.metadata())).collect();
        self.inner.dialect.create_arrays(&self.inner.access, &arrays)
    }

    /// Replaces all attributes of a node; the rest of its document stays as it is. An implicit group
    /// becomes an explicit one. Handles that are open keep the attributes that they have.
    ///
    /// # Errors
    ///
    /// [`Error::NoNode`], [`Error::Document`] for a document that cannot be read, [`Error::NotSupported`]
    /// for what is read only.
    pub fn set_attributes(&self, path: &str, attributes: Object) -> Result<(), Error> {
        let path = self.path_to_write(path)?;
        self.inner.dialect.set_attributes(&self.inner.access, &path, attributes)
    }

    /// Erases a node, everything below it, and all chunks. At the root of v2 and v3 that is everything in
    /// the store; the draft keeps its entry point.
    ///
    /// # Errors
    ///
    /// [`Error::NoNode`]; [`Error::OtherFormat`] where documents of another format would go too, for which there is
    /// [`Hierarchy::erase_keeping_other_formats`]; [`Error::NotSupported`] for what is read only; [`Error::Store`] for a store that cannot erase.
    pub fn erase(&self, path: &str) -> Result<(), Error> {
        let path = self.path_to_write(path)?;
        self.inner.dialect.erase(&self.inner.access, &path, Beside::Refused)
    }

    /// As [`Hierarchy::erase`] where folders hold more than one format: the documents and chunks of this one go, and
    /// nothing else does.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::erase`]; [`Error::NotSupported`] where a chunk belongs to arrays of two formats, or may do so
    /// as a document cannot be read, and for a store that cannot list: nothing is erased then.
    pub fn erase_keeping_other_formats(&self, path: &str) -> Result<(), Error> {
        let path = self.path_to_write(path)?;
        self.inner.dialect.erase(&self.inner.access, &path, Beside::Kept)
    }

    /// As [`Hierarchy::erase`], and an implicit group directly above gets a document first: otherwise it
    /// would vanish with the last node below it (D3-OP-19).
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::erase`].
    pub fn erase_keeping_parent(&self, path: &str) -> Result<(), Error> {
        let path = self.path_to_write(path)?;
        let access = &self.inner.access;
        if let Some(parent) = path.parent()
            && self.inner.dialect.kind(access, &path)?.is_some()
            && self.inner.dialect.kind(access, &parent)? == Some(Kind::ImplicitGroup)
        {
            foreign::refuse(access, &*self.inner.dialect, &path)?;
            self.inner.dialect.set_attributes(access, &parent, Object::new())?;
        }
        self.inner.dialect.erase(access, &path, Beside::Refused)
    }

    /// Copies the documents of all nodes below a group to one place, where readers of many nodes find them
    /// with one request: `.zmetadata` in v2, `consolidated_metadata` in the group's own document in v3.
    ///
    /// From then on, what is written through this crate keeps the copy up to date.
    ///
    /// # Errors
    ///
    /// [`Error::NotInFormat`] for the draft; [`Error::NoNode`], [`Error::WrongKind`], [`Error::Document`]
    /// for a document that cannot be copied.
    pub fn consolidate(&self, path: &str) -> Result<(), Error> {
        let path = self.path_to_write(path)?;
        self.inner.dialect.consolidate(&self.inner.access, &path)
    }

    /// Writes the document of an array that is there already.
    pub(crate) fn write_array_metadata(
        &self,
        path: &NodePath,
        metadata: &ArrayMetadata,
    ) -> Result<(), Error> {
        self.inner.access.check_writeable()?;
        self.inner.dialect.rewrite_array(&self.inner.access, path, metadata)
    }

    /// An array that is not there yet.
    fn built(&self, path: &str, builder: &ArrayBuilder) -> Result<Array, Error> {
        let path = self.path_to_write(path)?;
        let make = |builder: &ArrayBuilder| builder.metadata(self.format(), self.context().registry());
        let metadata = self.inner.built.get_or_make(builder, ArrayBuilder::is_alike, make)?;
        self.new_array(&path, metadata, ArrayOptions::new())
    }

    fn path_to_write(&self, text: &str) -> Result<NodePath, Error> {
        self.inner.access.check_writeable()?;
        let path = self.path(text)?;
        self.inner.dialect.check_name(&self.inner.access, &path)?;
        Ok(path)
    }

    fn check_format(&self, metadata: &ArrayMetadata) -> Result<(), Error> {
        let (format, found) = (self.format(), metadata.format);
        if found == format {
            return Ok(());
        }
        Err(Error::NotInFormat { format, reason: format!("metadata of {found}; convert it first") })
    }
}
