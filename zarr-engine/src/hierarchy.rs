//! Hierarchies: the nodes of a store, in any of the formats.
//!
//! [`Hierarchy`] is in this file and in `changes` and `locking`. The rules of each format are in its folder (`v2`,
//! `v3`, `draft`), which implements [`FormatRules`]. These folders, and the modules they use, do not depend on
//! `Hierarchy`, `Group` or `Array`.

mod access;
mod changes;
mod detect;
mod draft;
mod entry;
mod erase;
mod known_groups;
mod last;
mod leftovers;
mod listing;
mod locking;
mod missing;
mod new_arrays;
mod new_groups;
mod node;
mod options;
mod other_formats;
mod ownership;
mod path;
mod require;
mod resolved_cache;
mod rules;
mod snapshot;
mod start;
mod v2;
mod v3;
mod warnings;

use std::sync::Arc;

use zarr_metadata::draft::EntryPoint;
use zarr_metadata::{ArrayMetadata, NodeMetadata};
use zarr_spec::store::Store;
use zarr_spec::{Format, Key, NodePath, Registry};

use crate::array::Array;
use crate::builder::ArrayBuilder;
use crate::context::{ArrayOptions, Context};
use crate::error::Error;
use crate::group::Group;
use crate::location::open_store;
use crate::stored::ArrayPlace;
use access::Access;
use detect::{Opened, OpenedRoot};
use last::Last;
use resolved_cache::ResolvedCache;
use rules::{FormatRules, FoundArray, FoundNode, array_of, not_a_group};

pub(crate) use changes::DocumentChange;
pub use entry::{EntryKind, NodeEntry};
pub use erase::Erasure;
pub use node::{Node, Unreadable};
pub use options::OpenOptions;
pub use path::AsNodePath;
pub use warnings::Warning;

/// A hierarchy of nodes in a store. It is cheap to clone, and all methods are thread-safe.
///
/// Paths are strings or [`NodePath`]s. The leading `/` of a string is optional; the empty string is the root.
#[derive(Debug, Clone)]
pub struct Hierarchy {
    inner: Arc<Inner>,
    /// Replaces the context of `inner` for arrays.
    context: Option<Arc<Context>>,
    /// Replaces `context` and the context of `inner` for arrays that are read and written under the lock of a node.
    under_lock: Option<Arc<Context>>,
}

#[derive(Debug)]
struct Inner {
    access: Access,
    rules: Box<dyn FormatRules>,
    resolved: ResolvedCache,
    /// The metadata of the array that was created last. Without this cache, creating 100 arrays with equal builders
    /// takes twice the instructions (`create/100-arrays`).
    built: Last<ArrayBuilder, Arc<ArrayMetadata>>,
}

impl Hierarchy {
    /// Opens the hierarchy in `store` and detects its format, with one batch of requests.
    ///
    /// If the root has both `zarr.json` and documents of v2, `zarr.json` is used, with a warning (V3-KEY-08).
    ///
    /// # Errors
    ///
    /// [`Error::NoHierarchy`], which lists the keys that were looked for; [`Error::Document`] for a `zarr.json` that
    /// belongs to no format or an entry point that cannot be used; [`Error::Store`].
    pub fn open(store: Arc<dyn Store>, context: &Context) -> Result<Self, Error> {
        Self::open_with(store, context, OpenOptions::new())
    }

    /// Opens the hierarchy in `store` with `options`.
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::open`].
    pub fn open_with(store: Arc<dyn Store>, context: &Context, options: OpenOptions) -> Result<Self, Error> {
        Ok(Self::new(detect::open(store, context, options)?))
    }

    /// Opens the hierarchy at a path, at a `file:` URL, or in a store that a JSON document describes: see
    /// [`open_store`].
    ///
    /// # Errors
    ///
    /// Same as [`open_store`] and [`Hierarchy::open`].
    pub fn open_location(location: &str, context: &Context) -> Result<Self, Error> {
        Self::open(open_store(context.registry(), location)?, context)
    }

    /// Creates a hierarchy of `format`, or opens the existing one of that format.
    ///
    /// For the draft, this writes the entry point. v2 and v3 do not have an entry point: the hierarchy exists once its
    /// first node is created.
    ///
    /// # Errors
    ///
    /// [`Error::InTheWay`] for a hierarchy of another format; [`Error::NotSupported`] for a read-only store.
    pub fn create(store: Arc<dyn Store>, context: &Context, format: Format) -> Result<Self, Error> {
        Ok(Self::new(start::create(store, context, format, None)?))
    }

    /// Creates a hierarchy of `format` at a location, or opens the existing one of that format: see [`open_store`].
    ///
    /// # Errors
    ///
    /// Same as [`open_store`] and [`Hierarchy::create`].
    pub fn create_location(location: &str, context: &Context, format: Format) -> Result<Self, Error> {
        Self::create(open_store(context.registry(), location)?, context, format)
    }

    /// Like [`Hierarchy::create`] for the draft, with a given entry point: see [`Hierarchy::draft_entry_point`]. An
    /// existing hierarchy is opened if its entry point has the given metadata encoding, the given key suffix, and at
    /// least the given extensions.
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::create`]; [`Error::InTheWay`] also for another hierarchy of the draft; [`Error::Document`]
    /// for an entry point that cannot be written, or that requires unknown extensions.
    pub fn create_draft(
        store: Arc<dyn Store>,
        context: &Context,
        entry_point: &EntryPoint,
    ) -> Result<Self, Error> {
        Ok(Self::new(start::create(store, context, Format::V3Draft, Some(entry_point))?))
    }

    /// Returns the entry point of a new hierarchy of the draft with the metadata encoding `name`, which is any of its
    /// identifiers.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for an encoding that is unknown or does not have a URI.
    pub fn draft_entry_point(registry: &Registry, name: &str) -> Result<EntryPoint, Error> {
        draft::with_encoding(registry, name)
    }

    /// Opens the root of the hierarchy in `store` and the arrays directly below it, sorted by name, as
    /// [`Hierarchy::open`], [`Hierarchy::group`] and [`Group::arrays`] do. For v3 in a remote store, this takes two
    /// round trips instead of four, or one with consolidated metadata.
    ///
    /// # Errors
    ///
    /// Same as those methods.
    pub fn open_with_arrays(store: Arc<dyn Store>, context: &Context) -> Result<(Group, Vec<Array>), Error> {
        let (OpenedRoot { opened, root }, listing) = detect::open_and_list(store, context)?;
        let hierarchy = Self::new(opened);
        let access = &hierarchy.inner.access;
        let path = NodePath::root();
        let found = match root.parsed(access)? {
            Some(found) => found,
            None => hierarchy.found(&path)?,
        };
        let arrays = hierarchy.inner.rules.arrays_listed(access, listing)?;
        Ok((hierarchy.group_of(path, found)?, hierarchy.opened_arrays(arrays)?))
    }

    /// Opens the array that is the root of `store`, as [`Hierarchy::open_with`] and [`Hierarchy::array`] do. For v2 and
    /// v3, this takes one round trip; for v3, it is a single request if `options` specify the format.
    ///
    /// # Errors
    ///
    /// Same as those methods.
    pub fn open_root_array(
        store: Arc<dyn Store>,
        context: &Context,
        options: OpenOptions,
    ) -> Result<Array, Error> {
        let OpenedRoot { opened, root } = detect::open_with_root(store, context, options)?;
        let hierarchy = Self::new(opened);
        let path = NodePath::root();
        match root.parsed(&hierarchy.inner.access)? {
            Some(found) => hierarchy.new_array(&path, array_of(&path, Some(found))?, ArrayOptions::new()),
            None => hierarchy.array(&path),
        }
    }

    fn new(opened: Opened) -> Self {
        let Opened { access, rules } = opened;
        let resolved = ResolvedCache::default();
        let built = Last::default();
        Self { inner: Arc::new(Inner { access, rules, resolved, built }), context: None, under_lock: None }
    }

    /// Returns the format of the hierarchy.
    #[must_use]
    pub fn format(&self) -> Format {
        self.inner.rules.format()
    }

    /// Returns the human-readable name of the format. For the draft, the name includes the generation, and whether the
    /// hierarchy is read only.
    #[must_use]
    pub fn description(&self) -> String {
        self.entry_point().map_or_else(|| self.format().to_string(), draft::description)
    }

    /// Returns whether nodes are found and read through the consolidated metadata of the root, which is a copy and may
    /// be out of date.
    #[must_use]
    pub fn is_consolidated(&self) -> bool {
        self.inner.rules.is_consolidated()
    }

    /// Returns the entry point, as it was when the hierarchy was opened; `None` for v2 and v3.
    #[must_use]
    pub fn entry_point(&self) -> Option<&EntryPoint> {
        self.inner.rules.entry_point()
    }

    /// Returns the context that operations on this hierarchy use.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.shared_context()
    }

    pub(crate) fn shared_context(&self) -> &Arc<Context> {
        let replaced = self.under_lock.as_ref().or(self.context.as_ref());
        replaced.unwrap_or(&self.inner.access.context)
    }

    /// Returns the store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.inner.access.store
    }

    pub(crate) fn document_key(&self, path: &NodePath) -> Result<Key, Error> {
        self.inner.rules.array_key(path)
    }

    pub(crate) fn location(&self) -> &str {
        &self.inner.access.location
    }

    /// Returns why the hierarchy is read only; `None` if it can be written.
    #[must_use]
    pub fn read_only(&self) -> Option<&str> {
        self.inner.access.read_only.as_deref()
    }

    /// Returns the distinct warnings so far.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        self.inner.access.warnings()
    }

    pub(crate) fn add_warnings(&self, path: &NodePath, warnings: Vec<String>) {
        for text in warnings {
            let warning = Warning::of_node(path, self.document_key(path).ok(), text);
            self.inner.access.add_warning(warning);
        }
    }

    /// Parses a path in the format of this hierarchy. The leading `/` is optional, and a trailing one is allowed.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for text that is not a path: see [`NodePath::parse`].
    pub fn path(&self, path: impl AsNodePath) -> Result<NodePath, Error> {
        path.to_node_path(self.format())
    }

    /// Returns the metadata of a node without resolving its extensions, so it also works for nodes whose extensions are
    /// unknown.
    ///
    /// # Errors
    ///
    /// [`Error::NoNode`], [`Error::Document`], [`Error::Store`].
    pub fn metadata(&self, path: impl AsNodePath) -> Result<NodeMetadata, Error> {
        Ok(self.found(&self.path(path)?)?.metadata)
    }

    /// Opens the array at `path`.
    ///
    /// # Errors
    ///
    /// [`Error::NoNode`], [`Error::WrongKind`], [`Error::Document`]; [`Error::NotUnderstood`], which lists every
    /// extension of the array that this program does not know.
    pub fn array(&self, path: impl AsNodePath) -> Result<Array, Error> {
        self.array_with(path, ArrayOptions::new())
    }

    /// Opens the array at `path` with options that replace the options of the context.
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::array`].
    pub fn array_with(&self, path: impl AsNodePath, options: ArrayOptions) -> Result<Array, Error> {
        let path = self.path(path)?;
        let found = self.stored_or_copied(&path)?;
        self.new_array(&path, array_of(&path, found)?, options)
    }

    /// Opens the group at `path`. In the draft, the root is always a group unless it is an array.
    ///
    /// # Errors
    ///
    /// [`Error::NoNode`], [`Error::WrongKind`], [`Error::Document`].
    pub fn group(&self, path: impl AsNodePath) -> Result<Group, Error> {
        let path = self.path(path)?;
        let found = self.found(&path)?;
        self.group_of(path, found)
    }

    fn group_of(&self, path: NodePath, found: FoundNode) -> Result<Group, Error> {
        match found.metadata {
            NodeMetadata::Group(metadata) => Ok(Group::new(self.clone(), path, metadata, found.is_implicit)),
            NodeMetadata::Array(_) => Err(not_a_group(&path)),
        }
    }

    /// Opens the node at `path`, of whatever kind.
    ///
    /// # Errors
    ///
    /// [`Error::NoNode`], [`Error::Store`]. Faults of the node itself are reported as [`Node::Unreadable`].
    pub fn node(&self, path: impl AsNodePath) -> Result<Node, Error> {
        let path = self.path(path)?;
        let found = match self.found(&path) {
            Ok(found) => found,
            Err(error @ (Error::Document { .. } | Error::Invalid(_))) => {
                return Ok(Node::unreadable(path, None, error));
            }
            Err(error) => return Err(error),
        };
        let metadata = match found.metadata {
            NodeMetadata::Group(metadata) => {
                return Ok(Node::Group(Group::new(self.clone(), path, metadata, found.is_implicit)));
            }
            NodeMetadata::Array(metadata) => metadata,
        };
        match self.new_array(&path, (*metadata).clone(), ArrayOptions::new()) {
            Ok(array) => Ok(Node::Array(Box::new(array))),
            Err(error) => Ok(Node::unreadable(path, Some(*metadata), error)),
        }
    }

    /// Returns whether there is a node at `path`. This takes at most three requests in the draft, and one in v3.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for text that is not a path, [`Error::Store`].
    pub fn exists(&self, path: impl AsNodePath) -> Result<bool, Error> {
        Ok(self.inner.rules.kind(&self.inner.access, &self.path(path)?)?.is_some())
    }

    /// Returns the nodes directly below the group at `path`, sorted by name. A node whose document cannot be read from
    /// the store is listed as [`EntryKind::Unreadable`], with a warning.
    ///
    /// # Errors
    ///
    /// [`Error::NoNode`], [`Error::WrongKind`] for an array; [`Error::Store`] for a store that cannot list.
    pub fn children(&self, path: impl AsNodePath) -> Result<Vec<NodeEntry>, Error> {
        let mut children = self.inner.rules.children(&self.inner.access, &self.path(path)?)?;
        children.sort();
        Ok(children)
    }

    /// Returns the node at `path` and all nodes below it: parents before their children, siblings sorted by name.
    ///
    /// If the format requires it, the documents of groups are read level by level. Keys of chunks are not listed. A
    /// node whose document cannot be read is listed as in [`Hierarchy::children`].
    ///
    /// # Errors
    ///
    /// [`Error::NoNode`]; [`Error::NotSupported`] for a group in a store that cannot list.
    pub fn walk(&self, path: impl AsNodePath) -> Result<Vec<NodeEntry>, Error> {
        let mut nodes = self.inner.rules.walk(&self.inner.access, &self.path(path)?)?;
        nodes.sort();
        Ok(nodes)
    }

    /// Returns the arrays directly below the group at `path`, sorted by name.
    pub(crate) fn arrays(&self, path: &NodePath) -> Result<Vec<Array>, Error> {
        self.opened_arrays(self.inner.rules.arrays(&self.inner.access, path)?)
    }

    fn opened_arrays(&self, mut found: Vec<FoundArray>) -> Result<Vec<Array>, Error> {
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        let open = |(path, metadata): FoundArray| self.new_array(&path, metadata?, ArrayOptions::new());
        self.context().map(found, open).into_iter().collect()
    }

    /// Reads the metadata of a node from its own document, not from consolidated metadata; `None` if there is no
    /// document.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for a name that the format does not allow, [`Error::Document`], [`Error::Store`].
    pub fn stored_metadata(&self, path: impl AsNodePath) -> Result<Option<NodeMetadata>, Error> {
        let path = self.path(path)?;
        path.check(self.format())?;
        Ok(self.inner.rules.read_stored(&self.inner.access, &path)?.map(|found| found.metadata))
    }

    pub(crate) fn resolved_cache(&self) -> &ResolvedCache {
        &self.inner.resolved
    }

    fn found(&self, path: &NodePath) -> Result<FoundNode, Error> {
        self.stored_or_copied(path)?.ok_or_else(|| Error::NoNode(path.clone()))
    }

    fn stored_or_copied(&self, path: &NodePath) -> Result<Option<FoundNode>, Error> {
        path.check(self.format())?;
        self.inner.rules.read(&self.inner.access, path)
    }

    fn new_array(
        &self,
        path: &NodePath,
        metadata: impl Into<Arc<ArrayMetadata>>,
        options: ArrayOptions,
    ) -> Result<Array, Error> {
        let place = ArrayPlace {
            chunks: self.inner.rules.chunks(path)?,
            scalar_key: self.entry_point().and_then(|entry| draft::scalar_key(entry, self.context().mode())),
            read_only: self.inner.access.read_only.clone(),
        };
        Array::new(self.clone(), path.clone(), metadata.into(), place, options)
    }
}
