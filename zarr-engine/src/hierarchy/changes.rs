//! Creating, changing and erasing the nodes of a hierarchy.

use zarr_metadata::{ArrayMetadata, GroupMetadata, NodeMetadata};
use zarr_spec::{NodePath, Object, Value};

use super::Hierarchy;
use super::erase::{Erasure, erase};
use super::kind::Kind;
use super::other_formats::{self, OtherFormats};
use super::path::AsNodePath;
use super::rules::{NewMetadata, NewNode, StoredChunks};
use crate::array::Array;
use crate::attributes::attributes_of;
use crate::builder::ArrayBuilder;
use crate::context::ArrayOptions;
use crate::error::{Error, NotInFormat};
use crate::group::Group;

impl Hierarchy {
    /// Creates a group. v2 and v3 get groups at all paths above, too, where there are none (V2-HIER-12,
    /// V3-STORE-06).
    ///
    /// # Errors
    ///
    /// [`Error::InTheWay`] if there is a node already, or an array above; [`Error::NotSupported`] for what
    /// is read only; [`Error::Invalid`] for attributes that are not a JSON object.
    pub fn create_group(&self, path: impl AsNodePath, attributes: impl Into<Value>) -> Result<Group, Error> {
        let path = self.path_to_write(path)?;
        let attributes = attributes_of(attributes)?;
        let metadata = GroupMetadata::new(self.format(), attributes);
        let _changing = self.lock([&path]);
        let node = NewNode { path: &path, metadata: NewMetadata::Group(&metadata), leftovers: None };
        self.inner.rules.create(&self.inner.access, &node)?;
        Ok(Group::new(self.clone(), path, metadata, false))
    }

    /// Creates an array, and groups above it as [`Hierarchy::create_group`] does. No chunk is written.
    ///
    /// Chunks that an earlier array left at `path` are erased before the array is there, so that they never become its
    /// elements. Where the store cannot list or erase, they stay.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::create_group`] and [`ArrayBuilder::metadata`]; [`Error::NotUnderstood`] for an array
    /// that this program could not read; [`Error::InTheWay`] if nodes are below `path`.
    pub fn create_array(&self, path: impl AsNodePath, builder: &ArrayBuilder) -> Result<Array, Error> {
        let array = self.built(path, builder)?;
        self.publish(std::slice::from_ref(&array), StoredBefore::Erase)?;
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
        self.publish(&arrays, StoredBefore::Erase)?;
        Ok(arrays)
    }

    /// The array that [`Hierarchy::publish_array`] will create, as far as its chunks are concerned: they
    /// can be written before there is a document, so that nobody takes half an array for a whole one.
    ///
    /// Chunks that are stored already are not erased: [`Array::stored_chunks`] has them.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::create_array`].
    pub fn prepare_array(&self, path: impl AsNodePath, metadata: ArrayMetadata) -> Result<Array, Error> {
        let path = self.path_to_write(path)?;
        self.check_format(&metadata)?;
        self.inner.rules.check_free(&self.inner.access, &path, Kind::Array)?;
        self.inner.access.may_leave_chunks();
        self.new_array(&path, metadata, ArrayOptions::new())
    }

    /// Writes the document of an array that [`Hierarchy::prepare_array`] made, and groups above it.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::create_array`].
    pub fn publish_array(&self, array: &Array) -> Result<(), Error> {
        self.publish(std::slice::from_ref(array), StoredBefore::Keep)
    }

    /// As [`Hierarchy::publish_array`] for many arrays, which [`Hierarchy::create_arrays`] says more of.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::create_arrays`].
    pub fn publish_arrays(&self, arrays: &[Array]) -> Result<(), Error> {
        self.publish(arrays, StoredBefore::Keep)
    }

    /// Replaces all attributes of a node; the rest of its document stays as it is. An implicit group
    /// becomes an explicit one. Handles that are open keep the attributes that they have.
    ///
    /// # Errors
    ///
    /// [`Error::NoNode`], [`Error::Document`] for a document that cannot be read, [`Error::NotSupported`]
    /// for what is read only; [`Error::Invalid`] for attributes that are not a JSON object.
    pub fn set_attributes(&self, path: impl AsNodePath, attributes: impl Into<Value>) -> Result<(), Error> {
        let path = self.path_to_write(path)?;
        let attributes = attributes_of(attributes)?;
        let _changing = self.lock([&path]);
        self.write_attributes(&path, attributes)
    }

    /// Sets one attribute of a node; all others stay as they are stored. Threads that set attributes of one node at the
    /// same time lose none.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::set_attributes`].
    pub fn set_attribute(
        &self,
        path: impl AsNodePath,
        name: &str,
        value: impl Into<Value>,
    ) -> Result<(), Error> {
        self.update_attributes(path, |attributes| {
            attributes.insert(name, value);
        })
    }

    /// Changes the attributes of a node as they are stored now. No other change of the node comes between reading and
    /// writing them; `change` must not call methods that change this store.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::set_attributes`].
    pub fn update_attributes(
        &self,
        path: impl AsNodePath,
        change: impl FnOnce(&mut Object),
    ) -> Result<(), Error> {
        self.try_update_attributes(path, |attributes| {
            change(attributes);
            Ok(())
        })
    }

    /// As [`Hierarchy::update_attributes`] for a change that may fail. If `change` returns an error, nothing is written.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::set_attributes`], and those of `change`.
    pub fn try_update_attributes<E: From<Error>>(
        &self,
        path: impl AsNodePath,
        change: impl FnOnce(&mut Object) -> Result<(), E>,
    ) -> Result<(), E> {
        let path = self.path_to_write(path)?;
        self.updated_attributes(&path, change).map(drop)
    }

    /// As [`Hierarchy::try_update_attributes`]. Returns the new attributes.
    pub(crate) fn updated_attributes<E: From<Error>>(
        &self,
        path: &NodePath,
        change: impl FnOnce(&mut Object) -> Result<(), E>,
    ) -> Result<Object, E> {
        self.inner.access.check_writeable()?;
        let _changing = self.lock([path]);
        let found = self.inner.rules.read_stored(&self.inner.access, path)?;
        let mut attributes = match found.ok_or_else(|| Error::NoNode(path.clone()))?.metadata {
            NodeMetadata::Array(array) => array.attributes,
            NodeMetadata::Group(group) => group.attributes,
        };
        change(&mut attributes)?;
        self.write_attributes(path, attributes.clone())?;
        Ok(attributes)
    }

    /// As [`Hierarchy::set_attributes`]. The caller has the lock of the node.
    pub(crate) fn write_attributes(&self, path: &NodePath, attributes: Object) -> Result<(), Error> {
        self.inner.access.check_writeable()?;
        self.inner.rules.set_attributes(&self.inner.access, path, attributes)
    }

    /// Erases a node, everything below it, and all chunks. At the root of v2 and v3 that is everything in
    /// the store; the draft keeps its entry point.
    ///
    /// Consolidated metadata forget the node first, then the documents go, and then the chunks: a reader that opens a
    /// node meanwhile, or after the call was interrupted, finds it whole or not at all. Calling it again finishes what
    /// was interrupted: at a path without a document it erases documents of nodes and values that are named like chunks.
    ///
    /// # Errors
    ///
    /// [`Error::NoNode`], also if there is nothing left to erase; [`Error::OtherFormat`] where documents of another format would go too, for which there is
    /// [`Hierarchy::erase_keeping_other_formats`]; [`Error::NotSupported`] for what is read only; [`Error::Store`] for a store that cannot erase.
    pub fn erase(&self, path: impl AsNodePath) -> Result<(), Error> {
        let path = self.path_to_write(path)?;
        self.erase_with(&path, OtherFormats::Refuse).map(drop)
    }

    /// As [`Hierarchy::erase`], but leaves files that are not part of Zarr, and returns what was removed and left.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::erase`]; [`Error::NotSupported`] where a document does not tell which chunks are its own, and for
    /// a store that cannot list: nothing is erased then.
    pub fn erase_own(&self, path: impl AsNodePath) -> Result<Erasure, Error> {
        let path = self.path_to_write(path)?;
        self.erase_with(&path, OtherFormats::RefuseKeepingFiles)
    }

    /// As [`Hierarchy::erase`] where folders hold more than one format: the documents and chunks of this one go, and
    /// nothing else does. Returns what was removed and left.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::erase`]; [`Error::NotSupported`] where a chunk belongs to arrays of two formats, or may do so
    /// as a document cannot be read, and for a store that cannot list: nothing is erased then.
    pub fn erase_keeping_other_formats(&self, path: impl AsNodePath) -> Result<Erasure, Error> {
        let path = self.path_to_write(path)?;
        self.erase_with(&path, OtherFormats::Keep)
    }

    /// As [`Hierarchy::erase`], and an implicit group directly above gets a document first: otherwise it
    /// would vanish with the last node below it (D3-OP-19).
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::erase`].
    pub fn erase_keeping_parent(&self, path: impl AsNodePath) -> Result<(), Error> {
        let path = self.path_to_write(path)?;
        let access = &self.inner.access;
        let parent = path.parent();
        let _changing = self.lock([&path].into_iter().chain(&parent));
        access.may_leave_chunks();
        access.context.groups_changed();
        if let Some(parent) = parent
            && self.inner.rules.kind(access, &path)?.is_some()
            && self.inner.rules.kind(access, &parent)? == Some(Kind::ImplicitGroup)
        {
            other_formats::refuse(access, &*self.inner.rules, &path)?;
            self.inner.rules.set_attributes(access, &parent, Object::new())?;
        }
        erase(access, &*self.inner.rules, &path, OtherFormats::Refuse).map(drop)
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
    pub fn consolidate(&self, path: impl AsNodePath) -> Result<(), Error> {
        let path = self.path_to_write(path)?;
        let access = self.inner.access.under_lock();
        let _changing = self.lock([&path]);
        access.context.groups_changed();
        self.inner.rules.consolidate(&access, &path)
    }

    fn erase_with(&self, path: &NodePath, other_formats: OtherFormats) -> Result<Erasure, Error> {
        let _changing = self.lock([path]);
        self.inner.access.may_leave_chunks();
        self.inner.access.context.groups_changed();
        erase(&self.inner.access, &*self.inner.rules, path, other_formats)
    }

    fn publish(&self, arrays: &[Array], before: StoredBefore) -> Result<(), Error> {
        self.inner.access.check_writeable()?;
        arrays.iter().try_for_each(|array| self.check_format(array.metadata()))?;
        let _changing = self.lock(arrays.iter().map(Array::path));
        let new: Vec<_> = arrays.iter().map(|array| new_array(array, before)).collect();
        self.inner.rules.create_arrays(&self.inner.access, &new)
    }

    /// Writes the document of an array that is there already. The caller has the lock of the node.
    pub(crate) fn write_array_metadata(
        &self,
        path: &NodePath,
        metadata: &ArrayMetadata,
    ) -> Result<(), Error> {
        self.inner.access.check_writeable()?;
        self.inner.rules.rewrite_array(&self.inner.access, path, metadata)
    }

    /// Writes what consolidated metadata have of an array, and not its document. The caller has the lock of the node.
    pub(crate) fn write_array_copies(&self, path: &NodePath, metadata: &ArrayMetadata) -> Result<(), Error> {
        self.inner.access.check_writeable()?;
        self.inner.rules.rewrite_copies(&self.inner.access, path, metadata)
    }

    /// An array that is not there yet.
    fn built(&self, path: impl AsNodePath, builder: &ArrayBuilder) -> Result<Array, Error> {
        let path = self.path_to_write(path)?;
        let make = |builder: &ArrayBuilder| builder.metadata(self.format(), self.context().registry());
        let metadata = self.inner.built.get_or_make(builder, ArrayBuilder::is_alike, make)?;
        self.new_array(&path, metadata, ArrayOptions::new())
    }

    fn path_to_write(&self, path: impl AsNodePath) -> Result<NodePath, Error> {
        self.inner.access.check_writeable()?;
        let path = self.path(path)?;
        path.check(self.format())?;
        self.inner.rules.check_name(&self.inner.access, &path)?;
        Ok(path)
    }

    fn check_format(&self, metadata: &ArrayMetadata) -> Result<(), Error> {
        let format = self.format();
        let found = metadata.format;
        if found == format {
            return Ok(());
        }
        Err(NotInFormat { format, reason: format!("metadata of {found}; convert it first") }.into())
    }
}

/// What happens to chunks that are stored where a new array is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoredBefore {
    /// They were written for the new array.
    Keep,
    /// An earlier array left them.
    Erase,
}

fn new_array(array: &Array, before: StoredBefore) -> NewNode<'_> {
    let leftovers: Option<&dyn StoredChunks> = match before {
        StoredBefore::Keep => None,
        StoredBefore::Erase => Some(array),
    };
    NewNode { path: array.path(), metadata: NewMetadata::Array(array.metadata()), leftovers }
}

impl StoredChunks for Array {
    fn erase(&self) -> Result<(), Error> {
        self.erase_leftovers()
    }
}
