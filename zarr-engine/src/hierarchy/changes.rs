//! Creating, changing and erasing the nodes of a hierarchy.

use std::sync::Arc;

use zarr_metadata::{ArrayMetadata, GroupMetadata, NodeMetadata, v3};
use zarr_spec::store::StoreLock;
use zarr_spec::{Format, Key, NodePath, Object, Reading, Value};

use super::Hierarchy;
use super::access::Access;
use super::entry::EntryKind;
use super::erase::{Erasure, erase};
use super::other_formats::{self, OtherFormats};
use super::path::AsNodePath;
use super::rules::{NewMetadata, NewNode, StoredChunks, array_of};
use crate::array::Array;
use crate::attributes::{attributes_of, infallible};
use crate::builder::ArrayBuilder;
use crate::context::ArrayOptions;
use crate::error::{Error, NotInFormat};
use crate::group::Group;
use crate::stored::Guard;

impl Hierarchy {
    /// Creates a group. In v2 and v3, this also creates all missing groups above it (V2-HIER-12, V3-STORE-06).
    ///
    /// # Errors
    ///
    /// [`Error::InTheWay`] if the node exists, or if a node above it is an array; [`Error::NotSupported`] if the
    /// hierarchy is read only; [`Error::Invalid`] for attributes that are not a JSON object.
    pub fn create_group(&self, path: impl AsNodePath, attributes: impl Into<Value>) -> Result<Group, Error> {
        let path = self.path_to_write(path)?;
        let attributes = attributes_of(attributes)?;
        let metadata = GroupMetadata::new(self.format(), attributes);
        let _changing = self.lock([&path]);
        let node = NewNode { path: &path, metadata: NewMetadata::Group(&metadata), leftovers: None };
        let access = &self.inner.access;
        access.until_stored(|| self.inner.rules.create(&access.creating()?, &node))?;
        Ok(Group::new(self.clone(), path, metadata, false))
    }

    /// Creates an array, and missing groups above it as [`Hierarchy::create_group`] does. It writes no chunks.
    ///
    /// Chunks that an earlier array left at `path` are erased before the document is written, so that they never become
    /// elements of the new array. If the store cannot list or erase, they stay.
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::create_group`] and [`ArrayBuilder::metadata`]; [`Error::NotUnderstood`] for an array that
    /// this program cannot read; [`Error::NotSupported`] if a codec only decodes; [`Error::InTheWay`] if nodes are
    /// below `path`.
    pub fn create_array(&self, path: impl AsNodePath, builder: &ArrayBuilder) -> Result<Array, Error> {
        let array = self.built(path, builder)?;
        self.publish(std::slice::from_ref(&array), StoredBefore::Erase)?;
        Ok(array)
    }

    /// Creates the arrays at the given paths. For v2 and v3 in a store that handles many concurrent requests, this
    /// takes little longer than creating one array. In v3, missing groups above them are created at the same time.
    /// Arrays of v3 in a local store are created by as many threads as the context has, in any order.
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::create_array`]. Errors in paths and builders are found before anything is written. If the
    /// store fails, or if one of the nodes exists already, some of the arrays may have been created.
    pub fn create_arrays<'a>(
        &self,
        arrays: impl IntoIterator<Item = (&'a str, &'a ArrayBuilder)>,
    ) -> Result<Vec<Array>, Error> {
        let arrays: Vec<_> = arrays.into_iter().collect();
        let arrays = self.context().map(arrays, |(path, builder)| self.built(path, builder));
        let arrays = arrays.into_iter().collect::<Result<Vec<_>, _>>()?;
        self.publish(&arrays, StoredBefore::Erase)?;
        Ok(arrays)
    }

    /// Returns the array that [`Hierarchy::publish_array`] will create. Its chunks can be written before its document
    /// exists, so that readers never see an incomplete array.
    ///
    /// Existing chunks are not erased; [`Array::stored_chunks`] lists them.
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::create_array`].
    pub fn prepare_array(&self, path: impl AsNodePath, metadata: ArrayMetadata) -> Result<Array, Error> {
        let path = self.path_to_write(path)?;
        self.check_format(&metadata)?;
        self.inner.rules.check_free(&self.inner.access, &path, EntryKind::Array)?;
        self.inner.access.may_leave_chunks();
        let metadata = self.as_held(&path, Arc::new(metadata))?;
        self.new_array(&path, metadata, ArrayOptions::new())
    }

    /// Writes the document of an array from [`Hierarchy::prepare_array`], and missing groups above it.
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::create_array`].
    pub fn publish_array(&self, array: &Array) -> Result<(), Error> {
        self.publish(std::slice::from_ref(array), StoredBefore::Keep)
    }

    /// Like [`Hierarchy::publish_array`] for many arrays: see [`Hierarchy::create_arrays`].
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::create_arrays`].
    pub fn publish_arrays(&self, arrays: &[Array]) -> Result<(), Error> {
        self.publish(arrays, StoredBefore::Keep)
    }

    /// Replaces all attributes of a node and leaves the rest of its document unchanged. An implicit group becomes an
    /// explicit one. Open handles of the node keep their old attributes.
    ///
    /// # Errors
    ///
    /// [`Error::NoNode`], [`Error::Document`] for a document that cannot be read, [`Error::NotSupported`] if the
    /// hierarchy is read only; [`Error::Invalid`] for attributes that are not a JSON object.
    pub fn set_attributes(&self, path: impl AsNodePath, attributes: impl Into<Value>) -> Result<(), Error> {
        let path = self.path_to_write(path)?;
        let attributes = attributes_of(attributes)?;
        let _changing = self.lock([&path]);
        let access = &self.inner.access;
        access
            .until_stored(|| self.inner.rules.set_attributes(&access.changing()?, &path, attributes.clone()))
    }

    /// Sets one attribute of a node and leaves the others as they are stored. Concurrent calls for the same node do not
    /// lose changes if they share a context, or if the store has conditional writes.
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::set_attributes`].
    pub fn set_attribute(
        &self,
        path: impl AsNodePath,
        name: &str,
        value: impl Into<Value>,
    ) -> Result<(), Error> {
        let value = value.into();
        self.update_attributes(path, |attributes| {
            attributes.insert(name, value.clone());
        })
    }

    /// Reads the attributes of a node, changes them with `change`, and writes them, while the node is locked. `change`
    /// must not call methods that change this store. It is called again with the new attributes if another program
    /// changes them meanwhile.
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::set_attributes`].
    pub fn update_attributes(
        &self,
        path: impl AsNodePath,
        change: impl FnMut(&mut Object),
    ) -> Result<(), Error> {
        self.try_update_attributes(path, infallible(change))
    }

    /// Like [`Hierarchy::update_attributes`] for a change that may fail. If `change` returns an error, nothing is
    /// written.
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::set_attributes`], and the errors of `change`.
    pub fn try_update_attributes<E: From<Error>>(
        &self,
        path: impl AsNodePath,
        change: impl FnMut(&mut Object) -> Result<(), E>,
    ) -> Result<(), E> {
        let path = self.path_to_write(path)?;
        self.updated_attributes(&path, change).map(drop)
    }

    /// Like [`Hierarchy::try_update_attributes`]. Returns the new attributes.
    pub(crate) fn updated_attributes<E: From<Error>>(
        &self,
        path: &NodePath,
        mut change: impl FnMut(&mut Object) -> Result<(), E>,
    ) -> Result<Object, E> {
        self.inner.access.check_writeable()?;
        let _changing = self.lock([path]);
        self.inner.access.until_stored(|| {
            let access = self.inner.access.changing()?;
            let rules = &self.inner.rules;
            let mut attributes = match rules.read_stored(&access, path)?.map(|found| found.metadata) {
                Some(NodeMetadata::Array(array)) => array.attributes,
                Some(NodeMetadata::Group(group)) => group.attributes,
                None if rules.kind(&access, path)? == Some(EntryKind::ImplicitGroup) => Object::new(),
                None => return Err(Error::NoNode(path.clone())),
            };
            if let Err(error) = change(&mut attributes) {
                return Ok(Err(error));
            }
            self.inner.rules.set_attributes(&access, path, attributes.clone())?;
            Ok(Ok(attributes))
        })?
    }

    /// Erases a node, all nodes below it, and all their chunks. Erasing the root of v2 or v3 removes everything in the
    /// store; in the draft, the entry point stays.
    ///
    /// The node is removed from consolidated metadata first, then its documents are erased, then its chunks. A reader
    /// that opens a node meanwhile, or after an interruption, finds either the whole node or none. Calling this method
    /// again finishes an interrupted call: at a path without a document, it erases documents of nodes and values whose
    /// keys look like chunk keys.
    ///
    /// # Errors
    ///
    /// [`Error::NoNode`], also if nothing is left to erase; [`Error::OtherFormat`] if documents of another format would
    /// be erased, too (see [`Hierarchy::erase_keeping_other_formats`]); [`Error::NotSupported`] if the hierarchy is
    /// read only; [`Error::Store`] for a store that cannot erase.
    pub fn erase(&self, path: impl AsNodePath) -> Result<(), Error> {
        let path = self.path_to_write(path)?;
        self.erase_with(&path, OtherFormats::Refuse).map(drop)
    }

    /// Like [`Hierarchy::erase`], but leaves files that are not part of Zarr. Returns the keys that were removed and
    /// left.
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::erase`]; [`Error::NotSupported`] if a document does not determine which chunks belong to
    /// it, or if the store cannot list. In these cases, nothing is erased.
    pub fn erase_own(&self, path: impl AsNodePath) -> Result<Erasure, Error> {
        let path = self.path_to_write(path)?;
        self.erase_with(&path, OtherFormats::RefuseKeepingFiles)
    }

    /// Like [`Hierarchy::erase`] for folders that hold more than one format: erases only the documents and chunks of
    /// this format. Returns the keys that were removed and left.
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::erase`]; [`Error::NotSupported`] if a chunk belongs to arrays of two formats, if it may
    /// belong to two because a document cannot be read, or if the store cannot list. In these cases, nothing is erased.
    pub fn erase_keeping_other_formats(&self, path: impl AsNodePath) -> Result<Erasure, Error> {
        let path = self.path_to_write(path)?;
        self.erase_with(&path, OtherFormats::Keep)
    }

    /// Like [`Hierarchy::erase`], but first writes a document for an implicit group directly above. Otherwise the group
    /// would vanish with the last node below it (D3-OP-19).
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::erase`].
    pub fn erase_keeping_parent(&self, path: impl AsNodePath) -> Result<(), Error> {
        let path = self.path_to_write(path)?;
        let access = &self.inner.access;
        let parent = path.parent();
        let _changing = self.lock([&path].into_iter().chain(&parent));
        access.may_leave_chunks();
        access.context.groups_changed();
        if let Some(parent) = parent
            && self.inner.rules.kind(access, &path)?.is_some()
            && self.inner.rules.kind(access, &parent)? == Some(EntryKind::ImplicitGroup)
        {
            other_formats::refuse(access, &*self.inner.rules, &path)?;
            access.until_stored(|| {
                self.inner.rules.set_attributes(&access.changing()?, &parent, Object::new())
            })?;
        }
        erase(access, &*self.inner.rules, &path, OtherFormats::Refuse).map(drop)
    }

    /// Copies the documents of all nodes below a group into one document, so that readers of many nodes need only one
    /// request: `.zmetadata` in v2, `consolidated_metadata` in the group's own document in v3.
    ///
    /// Later changes through this crate update the copy.
    ///
    /// # Errors
    ///
    /// [`Error::NotInFormat`] for the draft; [`Error::NoNode`], [`Error::WrongKind`], [`Error::Document`]
    /// for a document that cannot be copied.
    pub fn consolidate(&self, path: impl AsNodePath) -> Result<(), Error> {
        let path = self.path_to_write(path)?;
        let access = self.inner.access.with_context(self.context().under_lock());
        let _changing = self.lock([&path]);
        access.context.groups_changed();
        access.until_stored(|| self.inner.rules.consolidate(&access.changing()?, &path))
    }

    fn erase_with(&self, path: &NodePath, other_formats: OtherFormats) -> Result<Erasure, Error> {
        let _changing = self.lock([path]);
        let access = self.inner.access.with_context(self.context().clone());
        access.may_leave_chunks();
        access.context.groups_changed();
        erase(&access, &*self.inner.rules, path, other_formats)
    }

    fn publish(&self, arrays: &[Array], before: StoredBefore) -> Result<(), Error> {
        self.inner.access.check_writeable()?;
        arrays.iter().try_for_each(|array| self.check_format(array.metadata()))?;
        let _changing = self.lock(arrays.iter().map(Array::path));
        let new: Vec<_> = arrays.iter().map(|array| new_array(array, before)).collect();
        let access = &self.inner.access;
        access.until_stored(|| self.inner.rules.create_arrays(&access.creating()?, &new))
    }

    /// Repeats a change of the document of an existing array until no other program changes it at the same time. The
    /// caller holds the lock of the node.
    pub(crate) fn change_document(
        &self,
        mut change: impl FnMut(&DocumentChange<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let access = &self.inner.access;
        access.check_writeable()?;
        access.until_stored(|| change(&DocumentChange { hierarchy: self, access: access.changing()? }))
    }

    /// Takes the lock of an array against changes of its shape by other programs; `None` if the store has no locks.
    pub(crate) fn lock_shape(&self, path: &NodePath) -> Result<Option<StoreLock>, Error> {
        Ok(self.inner.access.store.lock(&self.inner.rules.array_key(path)?)?)
    }

    /// Returns the array that `builder` describes, without creating it in the store.
    fn built(&self, path: impl AsNodePath, builder: &ArrayBuilder) -> Result<Array, Error> {
        let path = self.path_to_write(path)?;
        let make =
            |builder: &ArrayBuilder| builder.metadata(self.format(), self.context().registry()).map(Arc::new);
        let metadata = self.inner.built.get_or_make(builder, ArrayBuilder::is_alike, make)?;
        let metadata = self.as_held(&path, metadata)?;
        let array = self.new_array(&path, metadata, ArrayOptions::new())?;
        array.stored.check_encodes("created")?;
        Ok(array)
    }

    /// Returns the metadata of a new array, adapted to the store if the store cannot hold every document.
    fn as_held(&self, path: &NodePath, metadata: Arc<ArrayMetadata>) -> Result<Arc<ArrayMetadata>, Error> {
        let store = self.store();
        if metadata.format != Format::V3 || !store.capabilities().adapts_documents {
            return Ok(metadata);
        }
        let key = v3::node_key(path)?;
        let document = v3::array_document(&metadata).map_err(|error| Error::document(&key, error))?;
        let Some(adapted) = store.array_document(&key, &document)? else { return Ok(metadata) };
        let adapted = v3::parse_node(&adapted, &Reading::default());
        match adapted.map_err(|error| Error::document(&key, error))? {
            NodeMetadata::Array(adapted) => Ok(adapted.into()),
            NodeMetadata::Group(_) => Ok(metadata),
        }
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

pub(crate) struct DocumentChange<'h> {
    hierarchy: &'h Hierarchy,
    access: Access,
}

impl DocumentChange<'_> {
    /// Reads the metadata of an array from its own document, not from consolidated metadata.
    pub(crate) fn stored_array(&self, path: &NodePath) -> Result<ArrayMetadata, Error> {
        array_of(path, self.hierarchy.inner.rules.read_stored(&self.access, path)?)
    }

    /// Rewrites the document. Returns [`Error::Conflict`] if another program changed the document since it was read.
    pub(crate) fn write_array_metadata(
        &self,
        path: &NodePath,
        metadata: &ArrayMetadata,
    ) -> Result<(), Error> {
        self.hierarchy.inner.rules.rewrite_array(&self.access, path, metadata)
    }

    /// Updates the consolidated metadata of an array, but not its document.
    pub(crate) fn write_array_copies(&self, path: &NodePath, metadata: &ArrayMetadata) -> Result<(), Error> {
        let change = || {
            let access = self.hierarchy.inner.access.changing()?;
            self.hierarchy.inner.rules.rewrite_copies(&access, path, metadata)
        };
        self.access.until_stored(change)
    }

    /// Returns a guard of the document of an array, as this change read it.
    pub(crate) fn guard(&self, path: &NodePath) -> Result<Guard, Error> {
        let document = self.hierarchy.inner.rules.array_key(path)?;
        let version = self.access.seen_version(&document);
        Ok(Guard { store: Arc::clone(&self.access.store), document, version })
    }

    /// Returns whether the document is only replaced if it is unchanged.
    pub(crate) fn is_conditional(&self) -> bool {
        self.access.store.capabilities().conditional_set
    }
}

/// The treatment of chunks that are stored at the path of a new array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoredBefore {
    Keep,
    /// Erases the chunks, because an earlier array left them.
    Erase,
}

fn new_array(array: &Array, before: StoredBefore) -> NewNode<'_> {
    let leftovers: Option<&dyn StoredChunks> = match before {
        StoredBefore::Keep => None,
        StoredBefore::Erase => Some(array),
    };
    NewNode { path: array.path(), metadata: NewMetadata::Array(&array.stored.metadata), leftovers }
}

impl StoredChunks for Array {
    fn keys(&self) -> Result<Vec<Key>, Error> {
        self.stored.all_keys()
    }

    fn erase(&self, keys: &[Key]) -> Result<(), Error> {
        self.stored.erase_values(keys)
    }
}
