//! Arrays: what users read and write.

mod chunks;
mod coding;
mod counts;
mod read;
mod resize;
#[cfg(feature = "ndarray")]
mod strided;
mod write;

use std::fmt;
use std::sync::Arc;

use zarr_metadata::ArrayMetadata;
use zarr_spec::grid::ChunkGrid;
use zarr_spec::store::Store;
use zarr_spec::{CodecChain, DataType, FillValue, Format, Mode, NodePath, Reading};
use zarr_spec::{Object, Value};

use crate::attributes::attributes_of;
use crate::context::ArrayOptions;
use crate::error::{Error, NotUnderstood, Problem};
use crate::hierarchy::Hierarchy;
use crate::locks::hash;
use crate::progress::Progress;
use crate::resolve::{Resolved, UsedFallback, resolve};
use crate::stored::{ArrayPlace, Opened, StoredArray};

/// An array of a hierarchy. Cheap to clone; all its methods may be called on many threads.
///
/// Elements are read and written by [`Selection`](crate::Selection), in C order and native byte order. Threads that
/// write parts of one chunk wait for one another; a reader sees a chunk as it was before or after a write, and may see
/// some chunks of a selection as they were before and others as they are after.
///
/// A handle keeps the metadata document that it was opened with: a shape that is changed through another handle is
/// seen when the array is opened again.
#[derive(Clone)]
pub struct Array {
    pub(crate) hierarchy: Hierarchy,
    pub(crate) stored: Arc<StoredArray>,
}

impl Array {
    pub(crate) fn new(
        hierarchy: Hierarchy,
        path: NodePath,
        mut metadata: ArrayMetadata,
        place: ArrayPlace,
        options: ArrayOptions,
    ) -> Result<Self, Error> {
        let resolved = match hierarchy.resolved_cache().find(&mut metadata, options) {
            Some(resolved) => resolved,
            None => Self::resolved(&hierarchy, &path, &metadata, &place, options)?,
        };
        let lock_seed = hash(&(hierarchy.location(), place.chunks.as_str()));
        let context = Arc::clone(hierarchy.shared_context());
        let opened = Opened { path, metadata, resolved, options };
        let stored = StoredArray::new(opened, place, context, lock_seed);
        Ok(Self { hierarchy, stored: Arc::new(stored) })
    }

    /// Creates what the metadata name. Whoever has the same metadata later shares it, if there is nothing to warn of.
    fn resolved(
        hierarchy: &Hierarchy,
        path: &NodePath,
        metadata: &ArrayMetadata,
        place: &ArrayPlace,
        options: ArrayOptions,
    ) -> Result<Arc<Resolved>, Error> {
        let context = &options.applied_to(hierarchy.context());
        let reading = Reading::new(context.mode());
        let store = Arc::clone(hierarchy.store());
        let resolved = resolve(context, metadata, store, &place.chunks, &reading);
        let resolved = Arc::new(resolved.map_err(|problems| not_understood(hierarchy, path, problems))?);
        let warnings = reading.take_warnings();
        if warnings.is_empty() {
            hierarchy.resolved_cache().add(metadata, options, &resolved);
        }
        hierarchy.add_warnings(path, warnings);
        Ok(resolved)
    }

    /// The same array, whose operations count their chunks in `progress`, which can also cancel them.
    #[must_use]
    pub fn with_progress(&self, progress: &Progress) -> Self {
        let hierarchy = self.hierarchy.with_progress(progress);
        let context = Arc::clone(hierarchy.shared_context());
        let resolved = Arc::clone(&self.stored.resolved);
        Self { hierarchy, stored: Arc::new(self.stored.replaced(resolved, context)) }
    }

    /// The same array, whose chunks are read from and written to `store`: for programs that have requests, retries or caches
    /// of their own. Storage transformers of the array wrap it. [`Array::chunk_key`] returns the keys. Documents are those
    /// of the hierarchy: an array that is resized or that grows is in the store of the hierarchy again.
    ///
    /// # Errors
    ///
    /// [`Error::NotUnderstood`] if a storage transformer does not accept the array.
    pub fn with_store(&self, store: Arc<dyn Store>) -> Result<Self, Error> {
        let StoredArray { path, metadata, place, options, context, .. } = &*self.stored;
        let reading = Reading::new(context.mode());
        let resolved = resolve(&options.applied_to(context), metadata, store, &place.chunks, &reading);
        let resolved = resolved.map_err(|problems| not_understood(&self.hierarchy, path, problems))?;
        let stored = self.stored.replaced(Arc::new(resolved), Arc::clone(context));
        Ok(Self { hierarchy: self.hierarchy.clone(), stored: Arc::new(stored) })
    }

    /// The hierarchy it belongs to.
    #[must_use]
    pub fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &NodePath {
        &self.stored.path
    }

    /// Its metadata document.
    #[must_use]
    pub fn metadata(&self) -> &ArrayMetadata {
        &self.stored.metadata
    }

    /// Elements per dimension.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.stored.metadata.shape
    }

    /// The type of its elements.
    #[must_use]
    pub fn data_type(&self) -> &Arc<dyn DataType> {
        &self.stored.resolved.chunk.data_type
    }

    /// The type that stands in for one that is not known, if that was asked for: then [`Array::data_type`] is not the
    /// type that the document names.
    #[must_use]
    pub fn fallback(&self) -> Option<&UsedFallback> {
        self.stored.resolved.fallback.as_ref()
    }

    /// What elements that were never written hold.
    #[must_use]
    pub fn fill_value(&self) -> &FillValue {
        &self.stored.resolved.chunk.fill_value
    }

    /// Whether there is no fill value: the document leaves it undefined, or it is none of the fallback that is used.
    #[must_use]
    pub fn fill_is_undefined(&self) -> bool {
        self.stored.resolved.fill_is_undefined
    }

    /// How the array is divided into chunks (shards, where there are any).
    #[must_use]
    pub fn chunk_grid(&self) -> &dyn ChunkGrid {
        &**self.stored.resolved.grid
    }

    /// The codecs, as they were created.
    #[must_use]
    pub fn codecs(&self) -> &CodecChain {
        &self.stored.resolved.chain
    }

    /// Elements of an inner chunk per dimension; `None` if chunks are no shards.
    ///
    /// # Errors
    ///
    /// [`Error::Chunk`] if the codecs do not work with the shape of a chunk.
    pub fn inner_chunk_shape(&self) -> Result<Option<Vec<u64>>, Error> {
        let chunk = &self.stored.resolved.chunk.shape;
        let pipeline = self.stored.pipeline(&vec![0; chunk.len()], chunk)?;
        let Some(shard) = pipeline.shard() else { return Ok(None) };
        let mut shape = vec![0; shard.order.len()];
        for (&dimension, &length) in shard.order.iter().zip(&shard.inner.array.shape) {
            shape[dimension] = length;
        }
        Ok(Some(shape))
    }

    /// What users say of the array.
    #[must_use]
    pub fn attributes(&self) -> &Object {
        &self.stored.metadata.attributes
    }

    /// One entry per dimension, if there are names at all.
    #[must_use]
    pub fn dimension_names(&self) -> Option<&[Option<String>]> {
        let names = &self.stored.resolved.extension_names;
        names.as_ref().or(self.stored.metadata.dimension_names.as_ref()).map(Vec::as_slice)
    }

    /// Replaces the attributes. The rest of the stored document does not change, even if another handle has changed the
    /// shape.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::set_attributes`].
    pub fn set_attributes(&mut self, attributes: impl Into<Value>) -> Result<(), Error> {
        let attributes = attributes_of(attributes)?;
        let hierarchy = self.hierarchy.clone();
        let _node_lock = hierarchy.lock([&self.stored.path.clone()]);
        self.store_attributes(attributes)
    }

    /// Sets one attribute; the others stay as they are stored. Concurrent calls in one context lose no attribute.
    ///
    /// # Errors
    ///
    /// As [`Array::set_attributes`].
    pub fn set_attribute(&mut self, name: &str, value: impl Into<Value>) -> Result<(), Error> {
        self.update_attributes(|attributes| {
            attributes.insert(name, value);
        })
    }

    /// Changes the attributes as they are stored now, as [`Hierarchy::update_attributes`] does.
    ///
    /// # Errors
    ///
    /// As [`Array::set_attributes`].
    pub fn update_attributes(&mut self, change: impl FnOnce(&mut Object)) -> Result<(), Error> {
        let hierarchy = self.hierarchy.clone();
        let path = self.stored.path.clone();
        let _node_lock = hierarchy.lock([&path]);
        let mut attributes = hierarchy.stored_array(&path)?.attributes;
        change(&mut attributes);
        self.store_attributes(attributes)
    }

    fn store_attributes(&mut self, attributes: Object) -> Result<(), Error> {
        let metadata = ArrayMetadata { attributes: attributes.clone(), ..self.stored.metadata.clone() };
        let updated = self.with_metadata(metadata)?;
        self.hierarchy.write_attributes(&self.stored.path, attributes)?;
        *self = updated;
        Ok(())
    }

    /// Reads the array's document again, which another handle may have changed. The caller holds the lock of the node.
    pub(crate) fn reopened(&self) -> Result<Self, Error> {
        let stored = &self.stored;
        let metadata = self.hierarchy.stored_array(&stored.path)?;
        let hierarchy = self.hierarchy.under_lock();
        Self::new(hierarchy, stored.path.clone(), metadata, stored.place.clone(), stored.options)
    }

    /// Returns the handle for callers, given one that was made under the lock of the node.
    pub(crate) fn released(mut self) -> Self {
        self.hierarchy = self.hierarchy.released();
        // The array is not shared yet.
        if let Some(stored) = Arc::get_mut(&mut self.stored) {
            stored.context = Arc::clone(self.hierarchy.shared_context());
        }
        self
    }

    /// The same array with other metadata.
    fn with_metadata(&self, metadata: ArrayMetadata) -> Result<Self, Error> {
        let Self { hierarchy, stored } = self;
        Self::new(hierarchy.clone(), stored.path.clone(), metadata, stored.place.clone(), stored.options)
    }

    /// The same array with metadata that will be published.
    fn changed(&self, mut metadata: ArrayMetadata) -> Result<Self, Error> {
        self.stored.check_writable()?;
        if metadata.format == Format::V3Draft {
            self.write_current_codec_uris(&mut metadata);
        }
        self.with_metadata(metadata)
    }

    /// Writes the metadata document. The caller holds the lock of the node.
    fn publish(&self) -> Result<(), Error> {
        self.hierarchy.write_array_metadata(&self.stored.path, &self.stored.metadata)
    }

    /// Replaces historic URIs of codecs, which are read but never written (D3-CODEC-19).
    fn write_current_codec_uris(&self, metadata: &mut ArrayMetadata) {
        let registry = self.hierarchy.context().registry();
        let reading = Reading::new(Mode::Lenient);
        for codec in &mut metadata.codecs {
            if let Ok(plugin) = registry.codecs().find(metadata.format, &codec.identifier, &reading)
                && plugin.identifiers.aliases.contains(&codec.identifier.as_str())
                && let Some(canonical) = plugin.identifiers.in_format(metadata.format)
            {
                codec.identifier = canonical.to_owned();
            }
        }
    }
}

fn not_understood(hierarchy: &Hierarchy, path: &NodePath, problems: Vec<Problem>) -> Error {
    let key = hierarchy.document_key(path).map_or_else(|_| String::new(), |key| key.to_string());
    NotUnderstood { path: path.clone(), key, problems }.into()
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Array")
            .field("path", &self.stored.path)
            .field("shape", &self.shape())
            .field("data_type", &self.data_type().name())
            .field("fallback", &self.fallback())
            .finish_non_exhaustive()
    }
}
