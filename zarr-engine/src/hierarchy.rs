//! Hierarchies: the nodes of a store, in any of the formats.

mod access;
mod beside;
mod changes;
mod create;
mod detect;
mod dialect;
mod draft;
mod foreign;
mod known_groups;
mod leftovers;
mod location;
mod locking;
mod new_groups;
mod node;
mod node_index;
mod recent;
mod snapshot;
mod v2;
mod v2_documents;
mod v3;
mod v3_changes;
mod v3_listing;

use std::collections::BTreeSet;
use std::sync::Arc;

use zarr_spec::metadata::draft::EntryPoint;
use zarr_spec::metadata::{ArrayMetadata, NodeMetadata};
use zarr_spec::store::Store;
use zarr_spec::{Format, Key, NodePath};

use crate::array::{Array, ArrayPlace};
use crate::builder::ArrayBuilder;
use crate::context::{ArrayOptions, Context};
use crate::error::Error;
use crate::group::Group;
use crate::resolve::Resolved;
use access::Access;
use dialect::Dialect;
use recent::{Last, Recent};

pub use beside::Erasure;
pub use create::entry_point;
pub use location::{open_store, readable_location};
pub use node::{Child, Kind, Node, OpenOptions, Unreadable};

/// A hierarchy of nodes in a store. Cheap to clone; all its methods may be called on many threads.
///
/// Paths may leave out the `/` that they begin with; the empty one is the root.
#[derive(Debug, Clone)]
pub struct Hierarchy {
    inner: Arc<Inner>,
    /// Replaces the context of `inner` for arrays that are read and written under the lock of a node.
    context: Option<Arc<Context>>,
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
        Self { inner: Arc::new(Inner { access, dialect, recent, built }), context: None }
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

    /// Whether nodes are found and read by the consolidated metadata of the root. They are a copy, which may be out of
    /// date.
    #[must_use]
    pub fn is_consolidated(&self) -> bool {
        self.inner.dialect.is_consolidated()
    }

    /// The entry point of a hierarchy of the draft, as it was read or written when the hierarchy was opened.
    #[must_use]
    pub fn entry_point(&self) -> Option<&EntryPoint> {
        self.inner.dialect.entry_point()
    }

    /// What operations are done with.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.context.as_deref().unwrap_or(&self.inner.access.context)
    }

    /// Where the values are.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.inner.access.store
    }

    /// The key of the document of the array at `path`.
    pub(crate) fn document_key(&self, path: &NodePath) -> Result<Key, Error> {
        self.inner.dialect.document_key(path)
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

    /// The path that `text` is in this format. The `/` at the beginning may be left out, and there may be one at the end.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for text that is not a path otherwise: [`NodePath::parse`] has the rules.
    pub fn path(&self, text: &str) -> Result<NodePath, Error> {
        let format = self.format();
        let text = text.strip_suffix('/').unwrap_or(text);
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
        path.check(self.format())?;
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
            Err(error @ (Error::Document { .. } | Error::Invalid(_))) => return unreadable(None, error),
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

    /// What lies directly below the group at `path`, sorted by name. A node whose document the store cannot read is
    /// [`Kind::Unreadable`], with a warning, and the others are listed all the same.
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
    /// not listed. A node whose document cannot be read is listed as in [`Hierarchy::children`].
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
                for key in self.store().list_prefix(&prefix)? {
                    let node = self.inner.dialect.node_with(&key?);
                    let Some(node) = node.filter(|node| snapshot::is_below(node, &array.path)) else {
                        continue;
                    };
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

    /// The metadata of a node as its own document has them now, whatever a consolidated copy says; `None` if there is no
    /// document.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for a name that the format does not allow, [`Error::Document`], [`Error::Store`].
    pub fn stored_metadata(&self, path: &NodePath) -> Result<Option<NodeMetadata>, Error> {
        path.check(self.format())?;
        Ok(self.inner.dialect.read_stored(&self.inner.access, path)?.map(|found| found.metadata))
    }

    /// The metadata of an array as its own document has it now, whatever a consolidated copy says.
    pub(crate) fn stored_array(&self, path: &NodePath) -> Result<ArrayMetadata, Error> {
        dialect::array_of(path, self.inner.dialect.read_stored(&self.inner.access, path)?)
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
        path.check(self.format())?;
        self.inner.dialect.read(&self.inner.access, path)?.ok_or_else(|| Error::NoNode(path.clone()))
    }

    fn new_array(
        &self,
        path: &NodePath,
        metadata: ArrayMetadata,
        options: ArrayOptions,
    ) -> Result<Array, Error> {
        let place = ArrayPlace {
            chunks: self.inner.dialect.chunks(path)?,
            rank_zero_key: self.inner.dialect.rank_zero_key(&self.inner.access),
            read_only: self.inner.access.read_only.clone(),
        };
        Array::new(self.clone(), path.clone(), metadata, place, options)
    }
}
