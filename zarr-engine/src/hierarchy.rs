//! Hierarchies: the nodes of a store, in any of the formats.

mod access;
mod beside;
mod create;
mod detect;
mod dialect;
mod draft;
mod foreign;
mod location;
mod node;
mod node_index;
mod recent;
mod snapshot;
mod v2;
mod v3;

use std::collections::BTreeSet;
use std::sync::Arc;

use zarr_spec::metadata::draft::EntryPoint;
use zarr_spec::metadata::{ArrayMetadata, NodeMetadata};
use zarr_spec::store::Store;
use zarr_spec::{Format, NodePath, Object};

use crate::array::{Array, ArrayPlace};
use crate::builder::ArrayBuilder;
use crate::context::{ArrayOptions, Context};
use crate::error::Error;
use crate::group::Group;
use crate::resolve::Resolved;
use access::Access;
use beside::Beside;
use dialect::{Dialect, NewNode};
use recent::{Last, Recent};

pub use create::entry_point;
pub use location::open_store;
pub use node::{Child, Kind, Node, OpenOptions, Unreadable};

/// A hierarchy of nodes in a store. Cheap to clone; all its methods may be called on many threads.
///
/// Paths may leave out the `/` that they begin with; the empty one is the root.
#[derive(Debug, Clone)]
pub struct Hierarchy {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    access: Access,
    dialect: Box<dyn Dialect>,
    recent: Recent,
    /// Many arrays are mostly created from one description.
    built: Last<ArrayBuilder, ArrayMetadata>,
}

impl Hierarchy {
    /// Opens whatever hierarchy `store` holds. Detecting the format is one batch of requests.
    ///
    /// Where `zarr.json` is beside documents of v2, it counts, with a warning (V3-KEY-08).
    ///
    /// # Errors
    ///
    /// [`Error::NoHierarchy`], which says what was looked for; [`Error::Document`] for a `zarr.json` that
    /// belongs to no format and for an entry point that cannot be used; [`Error::Store`].
    pub fn open(store: Arc<dyn Store>, context: &Context) -> Result<Self, Error> {
        Self::open_with(store, context, OpenOptions::new())
    }

    /// Opens the hierarchy of `format` in a store that may hold others too.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::open`].
    pub fn open_as(store: Arc<dyn Store>, context: &Context, format: Format) -> Result<Self, Error> {
        Self::open_with(store, context, OpenOptions::new().format(format))
    }

    /// Opens a hierarchy as `options` say.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::open`].
    pub fn open_with(store: Arc<dyn Store>, context: &Context, options: OpenOptions) -> Result<Self, Error> {
        detect::open(store, context, options)
    }

    /// Opens the hierarchy at a path, a `file:` URL, or in a store that a JSON description names; see
    /// [`open_store`].
    ///
    /// # Errors
    ///
    /// As [`open_store`] and [`Hierarchy::open`].
    pub fn open_location(location: &str, context: &Context) -> Result<Self, Error> {
        Self::open(open_store(context.registry(), location)?, context)
    }

    /// Starts a hierarchy of `format`, or opens the one of that format that is there.
    ///
    /// The draft gets its entry point. v2 and v3 have none: their first node is what makes a hierarchy of
    /// the store.
    ///
    /// # Errors
    ///
    /// [`Error::InTheWay`] for a hierarchy of another format; [`Error::NotSupported`] for a store that
    /// cannot be written.
    pub fn create(store: Arc<dyn Store>, context: &Context, format: Format) -> Result<Self, Error> {
        create::create(store, context, format)
    }

    /// As [`Hierarchy::create`] for the draft, with this entry point: see [`entry_point`]. A hierarchy that
    /// is there is opened if it has the same metadata encoding and key suffix, and all of the extensions.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::create`]; [`Error::InTheWay`] also for another hierarchy of the draft;
    /// [`Error::Document`] for an entry point that cannot be written or has extensions that are unknown and
    /// required.
    pub fn create_draft(
        store: Arc<dyn Store>,
        context: &Context,
        entry_point: &EntryPoint,
    ) -> Result<Self, Error> {
        create::create_draft(store, context, entry_point)
    }

    /// The root of the hierarchy that `store` holds, and the arrays directly below it, sorted by name: as
    /// [`Hierarchy::open`], [`Hierarchy::group`] and [`Group::arrays`]. In v3 that is two round trips to a store that is
    /// far away, and not four.
    ///
    /// # Errors
    ///
    /// As those.
    pub fn open_with_arrays(store: Arc<dyn Store>, context: &Context) -> Result<(Group, Vec<Array>), Error> {
        let (hierarchy, detect::Begun { root, listing }) = detect::open_and_list(store, context)?;
        let (path, inner) = (NodePath::root(), &hierarchy.inner);
        let found = match root {
            Some(document) => dialect::Found::explicit(v3::parse(&inner.access, &path, &document)?),
            None => hierarchy.found(&path)?,
        };
        let group = hierarchy.group_of(&path, found)?;
        let arrays = inner.dialect.arrays_listed(&inner.access, listing)?;
        Ok((group, hierarchy.opened(arrays)?))
    }

    fn new(access: Access, dialect: Box<dyn Dialect>) -> Self {
        let (recent, built) = (Recent::default(), Last::default());
        Self { inner: Arc::new(Inner { access, dialect, recent, built }) }
    }

    /// The format.
    #[must_use]
    pub fn format(&self) -> Format {
        self.inner.dialect.format()
    }

    /// The format as people should see it, with the generation of the draft and whether it can be written.
    #[must_use]
    pub fn description(&self) -> String {
        self.inner.dialect.description()
    }

    /// The entry point of a hierarchy of the draft, as it was read or written when the hierarchy was opened.
    #[must_use]
    pub fn entry_point(&self) -> Option<&EntryPoint> {
        self.inner.dialect.entry_point()
    }

    /// What operations are done with.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.inner.access.context
    }

    /// Where the values are.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.inner.access.store
    }

    /// Where the store is.
    pub(crate) fn location(&self) -> &str {
        &self.inner.access.location
    }

    /// Why nothing can be written, if that is so.
    #[must_use]
    pub fn read_only(&self) -> Option<&str> {
        self.inner.access.read_only.as_deref()
    }

    /// What came up so far while documents were read, each thing once.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        self.inner.access.warnings()
    }

    /// Keeps warnings that begin with the path of a node, but for those that its document was read with.
    pub(crate) fn add_warnings(&self, warnings: Vec<String>) {
        if warnings.is_empty() {
            return;
        }
        let told = self.warnings();
        let is_new = |warning: &String| !told.iter().any(|told| self.says_the_same(told, warning));
        warnings.into_iter().filter(is_new).for_each(|warning| self.inner.access.warn(warning));
    }

    /// Whether "document `KEY`: …" and "PATH: …" say one thing of one node.
    fn says_the_same(&self, of_document: &str, of_node: &str) -> bool {
        let document = of_document.strip_prefix("document `").and_then(|rest| rest.split_once("`: "));
        let Some((key, what)) = document else { return false };
        let path = of_node.strip_suffix(what).and_then(|rest| rest.strip_suffix(": "));
        let node = path.and_then(|path| self.path(path).ok());
        node.is_some_and(|path| {
            self.inner.dialect.document_key(&path).is_ok_and(|document| document.as_str() == key)
        })
    }

    /// The path that `text` is in this format.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for what is no path: [`NodePath::parse`] has the rules.
    pub fn path(&self, text: &str) -> Result<NodePath, Error> {
        let format = self.format();
        let is_relative = format != Format::V2 && !text.is_empty() && !text.starts_with('/');
        let path = if is_relative {
            NodePath::parse(&format!("/{text}"), format)
        } else {
            NodePath::parse(text, format)
        };
        Ok(path?)
    }

    /// The metadata of a node, without resolving its extensions: what can be said of a node that cannot be
    /// read.
    ///
    /// # Errors
    ///
    /// [`Error::NoNode`], [`Error::Document`], [`Error::Store`].
    pub fn metadata(&self, path: &str) -> Result<NodeMetadata, Error> {
        Ok(self.found(&self.path(path)?)?.metadata)
    }

    /// The array at `path`.
    ///
    /// # Errors
    ///
    /// [`Error::NoNode`], [`Error::WrongKind`], [`Error::Document`]; [`Error::NotUnderstood`] lists
    /// everything that this program does not know about the array.
    pub fn array(&self, path: &str) -> Result<Array, Error> {
        self.array_at(&self.path(path)?)
    }

    /// The array at `path`.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::array`].
    pub fn array_at(&self, path: &NodePath) -> Result<Array, Error> {
        self.array_with(path, ArrayOptions::new())
    }

    /// The array at `path`, opened as `options` say rather than as the context does.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::array`].
    pub fn array_with(&self, path: &NodePath, options: ArrayOptions) -> Result<Array, Error> {
        let found = self.inner.dialect.read(&self.inner.access, path)?;
        self.new_array(path, dialect::array_of(path, found)?, options)
    }

    /// The group at `path`. The root of a hierarchy of the draft is always one, if it is no array.
    ///
    /// # Errors
    ///
    /// [`Error::NoNode`], [`Error::WrongKind`], [`Error::Document`].
    pub fn group(&self, path: &str) -> Result<Group, Error> {
        self.group_at(&self.path(path)?)
    }

    /// The group at `path`.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::group`].
    pub fn group_at(&self, path: &NodePath) -> Result<Group, Error> {
        self.group_of(path, self.found(path)?)
    }

    fn group_of(&self, path: &NodePath, found: dialect::Found) -> Result<Group, Error> {
        match found.metadata {
            NodeMetadata::Group(metadata) => {
                Ok(Group::new(self.clone(), path.clone(), metadata, found.is_implicit))
            }
            NodeMetadata::Array(_) => Err(dialect::not_a_group(path)),
        }
    }

    /// The node at `path`, whatever it is.
    ///
    /// # Errors
    ///
    /// [`Error::NoNode`], and those of the store. What is wrong with the node itself is in
    /// [`Node::Unreadable`].
    pub fn node(&self, path: &str) -> Result<Node, Error> {
        self.node_at(&self.path(path)?)
    }

    /// The node at `path`, whatever it is.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::node`].
    pub fn node_at(&self, path: &NodePath) -> Result<Node, Error> {
        let unreadable = |metadata, error| {
            let unreadable = Unreadable { path: path.clone(), metadata, error: Arc::new(error) };
            Ok(Node::Unreadable(Box::new(unreadable)))
        };
        let found = match self.found(path) {
            Ok(found) => found,
            Err(error @ Error::Document { .. }) => return unreadable(None, error),
            Err(error) => return Err(error),
        };
        match found.metadata {
            NodeMetadata::Group(metadata) => {
                Ok(Node::Group(Group::new(self.clone(), path.clone(), metadata, found.is_implicit)))
            }
            NodeMetadata::Array(metadata) => {
                match self.new_array(path, (*metadata).clone(), ArrayOptions::new()) {
                    Ok(array) => Ok(Node::Array(Box::new(array))),
                    Err(error) => unreadable(Some(*metadata), error),
                }
            }
        }
    }

    /// Whether there is a node at `path`. In the draft this is at most three calls of the store, in v3 one.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for what is no path, [`Error::Store`].
    pub fn exists(&self, path: &str) -> Result<bool, Error> {
        Ok(self.inner.dialect.kind(&self.inner.access, &self.path(path)?)?.is_some())
    }

    /// What lies directly below the group at `path`, sorted by name.
    ///
    /// # Errors
    ///
    /// [`Error::NoNode`], [`Error::WrongKind`] for an array; [`Error::Store`] for a store that cannot list.
    pub fn children(&self, path: &NodePath) -> Result<Vec<Child>, Error> {
        let mut children = self.inner.dialect.children(&self.inner.access, path)?;
        children.sort();
        Ok(children)
    }

    /// The node at `path` and everything below it: parents before their children, siblings sorted by name.
    ///
    /// Where the format says so only by its documents, these are read level by level; keys of chunks are
    /// not listed.
    ///
    /// # Errors
    ///
    /// [`Error::NoNode`]; [`Error::Store`] for a store that cannot list.
    pub fn walk(&self, path: &NodePath) -> Result<Vec<Child>, Error> {
        let mut nodes = self.inner.dialect.walk(&self.inner.access, path)?;
        nodes.sort();
        Ok(nodes)
    }

    /// Documents of nodes inside of arrays at and below `path`, by the paths that they would have: something went
    /// wrong there, since only groups have nodes below them, and no listing shows these. There is a warning for each.
    ///
    /// Every key of every array is listed, those of chunks included.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::walk`].
    pub fn nodes_inside_arrays(&self, path: &NodePath) -> Result<Vec<NodePath>, Error> {
        let mut inside = BTreeSet::new();
        for array in self.walk(path)?.into_iter().filter(|node| node.kind == Kind::Array) {
            for prefix in self.inner.dialect.prefixes(&array.path)? {
                let keys = self.store().list_prefix(&prefix)?;
                let nodes = keys.iter().filter_map(|key| self.inner.dialect.node_with(key));
                for node in nodes.filter(|node| snapshot::is_below(node, &array.path)) {
                    self.inner.access.warn(format!(
                        "there is a document of {node} inside of {}, which is an array",
                        array.path
                    ));
                    inside.insert(node);
                }
            }
        }
        Ok(inside.into_iter().collect())
    }

    /// Creates a group. v2 and v3 get groups at all paths above, too, where there are none (V2-HIER-12,
    /// V3-STORE-06).
    ///
    /// # Errors
    ///
    /// [`Error::InTheWay`] if there is a node already, or an array above; [`Error::NotSupported`] for what
    /// is read only.
    pub fn create_group(&self, path: &str, attributes: Object) -> Result<Group, Error> {
        let path = self.path_to_write(path)?;
        let metadata = zarr_spec::metadata::GroupMetadata::new(self.format(), attributes);
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

    /// An array that is not there yet.
    fn built(&self, path: &str, builder: &ArrayBuilder) -> Result<Array, Error> {
        let path = self.path_to_write(path)?;
        let make = |builder: &ArrayBuilder| builder.metadata(self.format(), self.context().registry());
        let metadata = self.inner.built.get_or_make(builder, ArrayBuilder::is_alike, make)?;
        self.new_array(&path, metadata, ArrayOptions::new())
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

    /// The arrays directly below the group at `path`, sorted by name.
    pub(crate) fn arrays(&self, path: &NodePath) -> Result<Vec<Array>, Error> {
        self.opened(self.inner.dialect.arrays(&self.inner.access, path)?)
    }

    /// Arrays that were found, sorted by name.
    fn opened(&self, mut found: Vec<dialect::FoundArray>) -> Result<Vec<Array>, Error> {
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        let open =
            |(path, metadata): dialect::FoundArray| self.new_array(&path, metadata?, ArrayOptions::new());
        self.context().map(found, open).into_iter().collect()
    }

    /// The metadata of an array as its own document has it now, whatever a consolidated copy says.
    pub(crate) fn stored_array(&self, path: &NodePath) -> Result<ArrayMetadata, Error> {
        dialect::array_of(path, self.inner.dialect.read_stored(&self.inner.access, path)?)
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

    /// What an array with the same metadata and options was made of.
    pub(crate) fn recent(&self, metadata: &ArrayMetadata, options: ArrayOptions) -> Option<Arc<Resolved>> {
        self.inner.recent.find(metadata, options)
    }

    pub(crate) fn keep_recent(
        &self,
        metadata: &ArrayMetadata,
        options: ArrayOptions,
        resolved: &Arc<Resolved>,
    ) {
        self.inner.recent.keep(metadata, options, resolved);
    }

    fn found(&self, path: &NodePath) -> Result<dialect::Found, Error> {
        self.inner.dialect.read(&self.inner.access, path)?.ok_or_else(|| Error::NoNode(path.clone()))
    }

    fn new_array(
        &self,
        path: &NodePath,
        metadata: ArrayMetadata,
        options: ArrayOptions,
    ) -> Result<Array, Error> {
        let place = ArrayPlace {
            document: self.inner.dialect.document_key(path)?,
            chunks: self.inner.dialect.chunks(path)?,
            rank_zero_key: self.inner.dialect.rank_zero_key(&self.inner.access),
            read_only: self.inner.access.read_only.clone(),
        };
        Array::new(self.clone(), path.clone(), metadata, place, options)
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
