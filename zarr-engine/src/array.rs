//! The [`Array`] type: its metadata and attributes. Reading and writing are in `array/`.

mod chunks;
mod coding;
mod counts;
mod read;
mod read_ahead;
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

use crate::attributes::{attributes_of, infallible};
use crate::context::ArrayOptions;
use crate::error::{Error, NotUnderstood, Problem};
use crate::hierarchy::{DocumentChange, Hierarchy};
use crate::locks::hash;
use crate::progress::Progress;
use crate::resolve::{Resolved, UsedFallback, resolve};
use crate::stored::{ArrayPlace, Opened, StoredArray};

pub use coding::ChunkSource;
pub use read_ahead::ReadAhead;

/// An array of a hierarchy. It is cheap to clone, and all methods are thread-safe.
///
/// Elements are read and written by [`Selection`](crate::Selection), in C order and native byte order. Writes to one
/// chunk are serialized. Each chunk is replaced atomically, but a selection of several chunks is not: a concurrent
/// reader may see some chunks from before the write and others from after it.
///
/// A handle uses the metadata document from when it was opened. If another handle changes the shape, open the array
/// again to see the new shape.
#[derive(Clone)]
pub struct Array {
    pub(crate) hierarchy: Hierarchy,
    pub(crate) stored: Arc<StoredArray>,
}

impl Array {
    pub(crate) fn new(
        hierarchy: Hierarchy,
        path: NodePath,
        metadata: Arc<ArrayMetadata>,
        place: ArrayPlace,
        options: ArrayOptions,
    ) -> Result<Self, Error> {
        let resolved = match hierarchy.resolved_cache().find(&metadata, options) {
            Some(resolved) => resolved,
            None => Self::resolved(&hierarchy, &path, &metadata, &place, options)?,
        };
        let lock_seed = hash(&(hierarchy.location(), place.chunks.as_str()));
        let context = Arc::clone(hierarchy.shared_context());
        let opened = Opened { path, metadata, resolved, options };
        let stored = StoredArray::new(opened, place, context, lock_seed);
        Ok(Self { hierarchy, stored: Arc::new(stored) })
    }

    /// Creates the plugin instances that `metadata` requires. They are cached for arrays with the same metadata, unless
    /// there are warnings.
    fn resolved(
        hierarchy: &Hierarchy,
        path: &NodePath,
        metadata: &Arc<ArrayMetadata>,
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

    /// Returns a handle whose operations count their chunks in `progress` and can be cancelled through it.
    #[must_use]
    pub fn with_progress(&self, progress: &Progress) -> Self {
        let hierarchy = self.hierarchy.with_progress(progress);
        let context = Arc::clone(hierarchy.shared_context());
        let resolved = Arc::clone(&self.stored.resolved);
        Self { hierarchy, stored: Arc::new(self.stored.replaced(resolved, context)) }
    }

    /// Returns a handle that reads and writes chunks in `store`, for programs with their own requests, retries or caches.
    ///
    /// The storage transformers of the array wrap `store`. [`Array::chunk_key`] returns the keys. Metadata documents stay
    /// in the store of the hierarchy. After a resize, an append or a change of attributes, the handle uses the store of
    /// the hierarchy for chunks, too.
    ///
    /// # Errors
    ///
    /// [`Error::NotUnderstood`] if a storage transformer does not accept the array.
    pub fn with_store(&self, store: Arc<dyn Store>) -> Result<Self, Error> {
        let StoredArray { path, metadata, place, options, context, resolved, .. } = &*self.stored;
        if metadata.storage_transformers.is_empty() {
            let resolved = Arc::new(Resolved { store, ..Resolved::clone(resolved) });
            let stored = self.stored.replaced(resolved, Arc::clone(context));
            return Ok(Self { hierarchy: self.hierarchy.clone(), stored: Arc::new(stored) });
        }
        let reading = Reading::new(context.mode());
        let resolved = resolve(&options.applied_to(context), metadata, store, &place.chunks, &reading);
        let resolved = resolved.map_err(|problems| not_understood(&self.hierarchy, path, problems))?;
        let stored = self.stored.replaced(Arc::new(resolved), Arc::clone(context));
        Ok(Self { hierarchy: self.hierarchy.clone(), stored: Arc::new(stored) })
    }

    /// Returns the hierarchy.
    #[must_use]
    pub fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    /// Returns the path of the array.
    #[must_use]
    pub fn path(&self) -> &NodePath {
        &self.stored.path
    }

    /// Returns the metadata document.
    #[must_use]
    pub fn metadata(&self) -> &ArrayMetadata {
        &self.stored.metadata
    }

    /// Returns the shape: the number of elements per dimension.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.stored.metadata.shape
    }

    /// Returns the data type of the elements.
    #[must_use]
    pub fn data_type(&self) -> &Arc<dyn DataType> {
        &self.stored.resolved.chunk.data_type
    }

    /// Returns the fallback data type, if one replaces an unknown data type: then [`Array::data_type`] is not the type
    /// that the document names.
    #[must_use]
    pub fn fallback(&self) -> Option<&UsedFallback> {
        self.stored.resolved.fallback.as_ref()
    }

    /// Returns the fill value: the value of elements that were never written.
    #[must_use]
    pub fn fill_value(&self) -> &FillValue {
        &self.stored.resolved.chunk.fill_value
    }

    /// Returns whether the fill value is undefined, because the document leaves it undefined or it is not valid for the
    /// fallback data type.
    #[must_use]
    pub fn fill_is_undefined(&self) -> bool {
        self.stored.resolved.fill_is_undefined
    }

    /// Returns the chunk grid, which divides the array into chunks. If the array is sharded, these are the shards.
    #[must_use]
    pub fn chunk_grid(&self) -> &dyn ChunkGrid {
        &**self.stored.resolved.grid
    }

    /// Returns the codec chain of the chunks.
    #[must_use]
    pub fn codecs(&self) -> &CodecChain {
        &self.stored.resolved.chain
    }

    /// Returns the name of the first codec that can only decode, including codecs inside of other codecs; `None` if all
    /// codecs can encode. With such a codec, elements of the array cannot be written, but encoded chunks can.
    #[must_use]
    pub fn decode_only_codec(&self) -> Option<&str> {
        self.stored.resolved.decode_only.as_ref().map(|codec| codec.codec.as_str())
    }

    /// Returns the shape of an inner chunk, in elements per dimension; `None` if the array is not sharded.
    ///
    /// # Errors
    ///
    /// [`Error::Chunk`] if the codecs do not support the shape of a chunk.
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

    /// Returns the user attributes of the array.
    #[must_use]
    pub fn attributes(&self) -> &Object {
        &self.stored.metadata.attributes
    }

    /// Returns the names of the dimensions, one entry per dimension; `None` if no names are stored.
    #[must_use]
    pub fn dimension_names(&self) -> Option<&[Option<String>]> {
        let names = &self.stored.resolved.extension_names;
        names.as_ref().or(self.stored.metadata.dimension_names.as_ref()).map(Vec::as_slice)
    }

    /// Replaces all attributes. The rest of the stored document does not change, even if another handle has changed the
    /// shape.
    ///
    /// # Errors
    ///
    /// Same as [`Hierarchy::set_attributes`].
    pub fn set_attributes(&mut self, attributes: impl Into<Value>) -> Result<(), Error> {
        let attributes = attributes_of(attributes)?;
        self.hierarchy.set_attributes(&self.stored.path, attributes.clone())?;
        self.use_attributes(attributes)
    }

    /// Sets one attribute and leaves the others as they are stored. Concurrent calls in one context do not lose
    /// changes.
    ///
    /// # Errors
    ///
    /// Same as [`Array::set_attributes`].
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
    /// Same as [`Array::set_attributes`].
    pub fn update_attributes(&mut self, change: impl FnMut(&mut Object)) -> Result<(), Error> {
        let change = infallible(change);
        let attributes = self.hierarchy.updated_attributes(&self.stored.path, change)?;
        self.use_attributes(attributes)
    }

    fn use_attributes(&mut self, attributes: Object) -> Result<(), Error> {
        let mut metadata = ArrayMetadata::clone(&self.stored.metadata);
        metadata.attributes = attributes;
        *self = self.with_metadata(metadata)?;
        Ok(())
    }

    /// Reads the array's document again, because another handle may have changed it. The caller holds the lock of the
    /// node.
    pub(crate) fn reopened(&self, change: &DocumentChange<'_>) -> Result<Self, Error> {
        let stored = &self.stored;
        let metadata = Arc::new(change.stored_array(&stored.path)?);
        let hierarchy = self.hierarchy.under_lock();
        Self::new(hierarchy, stored.path.clone(), metadata, stored.place.clone(), stored.options)
    }

    /// Converts a handle that was created while the node was locked into a handle for use after the lock is released.
    pub(crate) fn released(mut self) -> Self {
        self.hierarchy = self.hierarchy.released();
        // The `Arc` is not shared yet, so this always succeeds.
        if let Some(stored) = Arc::get_mut(&mut self.stored) {
            stored.context = Arc::clone(self.hierarchy.shared_context());
        }
        self
    }

    fn with_metadata(&self, metadata: ArrayMetadata) -> Result<Self, Error> {
        let Self { hierarchy, stored } = self;
        let metadata = Arc::new(metadata);
        Self::new(hierarchy.clone(), stored.path.clone(), metadata, stored.place.clone(), stored.options)
    }

    /// Returns the same array with metadata that will be published.
    fn changed(&self, mut metadata: ArrayMetadata) -> Result<Self, Error> {
        self.stored.check_elements_writable()?;
        if metadata.format == Format::V3Draft {
            self.write_current_codec_uris(&mut metadata);
        }
        self.with_metadata(metadata)
    }

    /// Writes the metadata document. The caller holds the lock of the node.
    fn publish(&self, change: &DocumentChange<'_>) -> Result<(), Error> {
        change.write_array_metadata(&self.stored.path, &self.stored.metadata)
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
