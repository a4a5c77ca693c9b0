//! Arrays: what users read and write.

mod allowance;
mod chunks;
mod growth;
mod index_cache;
mod work;

use std::fmt;
use std::sync::Arc;

use zarr_metadata::ArrayMetadata;
use zarr_spec::grid::ChunkGrid;
use zarr_spec::{CodecChain, DataType, FillValue, Format, Mode, NodePath, Pool, Prefix, Reading};
use zarr_spec::{Object, Value};

use crate::context::{ArrayOptions, Context};
use crate::error::Error;
use crate::hierarchy::{Hierarchy, ScalarKey};
use crate::locks::hash;
use crate::resolve::{Resolved, UsedFallback, resolve};

pub(crate) use allowance::{Allowance, Needing, is_too_large};
use index_cache::IndexCache;
use work::Pipelines;

pub(crate) use index_cache::CachedIndex;
pub(crate) use work::Scratch;

/// Where the chunks of an array are.
#[derive(Debug, Clone)]
pub(crate) struct ArrayPlace {
    /// What the keys of chunks begin with.
    pub(crate) chunks: Prefix,
    /// Another key of the only chunk of an array without dimensions.
    pub(crate) scalar_key: Option<ScalarKey>,
    /// Why nothing can be written.
    pub(crate) read_only: Option<String>,
}

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
    pub(crate) inner: Arc<ArrayInner>,
}

pub(crate) struct ArrayInner {
    pub(crate) hierarchy: Hierarchy,
    pub(crate) path: NodePath,
    pub(crate) metadata: ArrayMetadata,
    pub(crate) place: ArrayPlace,
    pub(crate) resolved: Arc<Resolved>,
    pub(crate) options: ArrayOptions,
    /// Memory for the keys of chunks.
    keys: Pool<String>,
    pipelines: Pipelines,
    indexes: IndexCache,
    /// Tells the chunks of one array from those of others.
    lock_seed: u64,
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
        Ok(Self {
            inner: Arc::new(ArrayInner {
                hierarchy,
                path,
                metadata,
                place,
                resolved,
                options,
                keys: Pool::new(),
                pipelines: Pipelines::default(),
                indexes: IndexCache::default(),
                lock_seed,
            }),
        })
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
        let resolved = resolve(context, metadata, store, &place.chunks, &reading).map_err(|problems| {
            let key = hierarchy.document_key(path).map_or_else(|_| String::new(), |key| key.to_string());
            Error::NotUnderstood { path: path.clone(), key, problems }
        })?;
        let resolved = Arc::new(resolved);
        let warnings = reading.take_warnings();
        if warnings.is_empty() {
            hierarchy.resolved_cache().add(metadata, options, &resolved);
        }
        hierarchy.add_warnings(path, warnings);
        Ok(resolved)
    }

    /// The hierarchy it belongs to.
    #[must_use]
    pub fn hierarchy(&self) -> &Hierarchy {
        &self.inner.hierarchy
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &NodePath {
        &self.inner.path
    }

    /// Its metadata document.
    #[must_use]
    pub fn metadata(&self) -> &ArrayMetadata {
        &self.inner.metadata
    }

    /// Elements per dimension.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.inner.metadata.shape
    }

    /// The type of its elements.
    #[must_use]
    pub fn data_type(&self) -> &Arc<dyn DataType> {
        &self.inner.resolved.chunk.data_type
    }

    /// The type that stands in for one that is not known, if that was asked for: then [`Array::data_type`] is not the
    /// type that the document names.
    #[must_use]
    pub fn fallback(&self) -> Option<&UsedFallback> {
        self.inner.resolved.fallback.as_ref()
    }

    /// What elements that were never written hold.
    #[must_use]
    pub fn fill_value(&self) -> &FillValue {
        &self.inner.resolved.chunk.fill_value
    }

    /// Whether there is no fill value: the document leaves it undefined, or it is none of the fallback that is used.
    #[must_use]
    pub fn fill_is_undefined(&self) -> bool {
        self.inner.resolved.fill_is_undefined
    }

    /// How the array is divided into chunks (shards, where there are any).
    #[must_use]
    pub fn chunk_grid(&self) -> &dyn ChunkGrid {
        &**self.inner.resolved.grid
    }

    /// The codecs, as they were created.
    #[must_use]
    pub fn codecs(&self) -> &CodecChain {
        &self.inner.resolved.chain
    }

    /// Elements of an inner chunk per dimension; `None` if chunks are no shards.
    ///
    /// # Errors
    ///
    /// [`Error::Chunk`] if the codecs do not work with the shape of a chunk.
    pub fn inner_chunk_shape(&self) -> Result<Option<Vec<u64>>, Error> {
        let chunk = &self.inner.resolved.chunk.shape;
        let pipeline = self.inner.pipeline(&vec![0; chunk.len()], chunk)?;
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
        &self.inner.metadata.attributes
    }

    /// One entry per dimension, if there are names at all.
    #[must_use]
    pub fn dimension_names(&self) -> Option<&[Option<String>]> {
        let names = &self.inner.resolved.extension_names;
        names.as_ref().or(self.inner.metadata.dimension_names.as_ref()).map(Vec::as_slice)
    }

    /// Replaces the attributes; the rest of the stored document stays as it is, a shape that another handle has
    /// changed included.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::set_attributes`].
    pub fn set_attributes(&mut self, attributes: Object) -> Result<(), Error> {
        let before = Arc::clone(&self.inner);
        let _changing = before.hierarchy.lock([&before.path]);
        self.store_attributes(attributes)
    }

    /// Sets one attribute; all others stay as they are stored. Threads that set attributes of one array at the same time
    /// lose none.
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
        let before = Arc::clone(&self.inner);
        let _changing = before.hierarchy.lock([&before.path]);
        let mut attributes = before.hierarchy.stored_array(&before.path)?.attributes;
        change(&mut attributes);
        self.store_attributes(attributes)
    }

    fn store_attributes(&mut self, attributes: Object) -> Result<(), Error> {
        let inner = &self.inner;
        let metadata = ArrayMetadata { attributes: attributes.clone(), ..inner.metadata.clone() };
        let updated = inner.with_metadata(metadata)?;
        inner.hierarchy.write_attributes(&inner.path, attributes)?;
        *self = updated;
        Ok(())
    }

    /// Changes the shape; the rest of the document stays as it is stored. Chunks that end up outside are erased, if
    /// the store can erase; those that are partly inside keep their bytes. A store that cannot list is asked for each
    /// of them, unless there are more than a million: then all stay.
    ///
    /// Elements that the array gains hold the fill value, whatever is stored there: before the new shape is written,
    /// chunks in the added region are erased, and chunks at its border get the fill value outside of the old shape. That
    /// is not so for more than a million chunks in a store that cannot list, nor for whole chunks in one that cannot
    /// erase.
    ///
    /// # Errors
    ///
    /// For another number of dimensions, when nothing can be written here, when a chunk at the border cannot be decoded,
    /// or when the store fails.
    pub fn resize(&mut self, shape: &[u64]) -> Result<(), Error> {
        self.resize_at(&vec![0; self.shape().len()], shape)
    }

    /// Changes the first element and the shape: the array begins `start` elements later per dimension, or earlier where
    /// that is negative. No chunk moves; apart from that as [`Array::resize`].
    ///
    /// # Errors
    ///
    /// As [`Array::resize`]; [`Error::NotSupported`] if the chunk grid cannot begin elsewhere.
    pub fn resize_at(&mut self, start: &[i64], shape: &[u64]) -> Result<(), Error> {
        self.inner.check_writable()?;
        let opened = Arc::clone(&self.inner);
        let _changing = opened.hierarchy.lock([&opened.path]);
        let before = self.reopened()?;
        let resized = before.inner.changed(before.inner.resized(start, shape)?)?;
        let overlap = Overlap::new(before.shape(), shape, start);
        if overlap.loses_some {
            // Consolidated metadata never have more elements than the array: readers of them would find chunks erased.
            let metadata = before.inner.resized(&overlap.start, &overlap.shape)?;
            before.inner.hierarchy.write_array_copies(&before.inner.path, &metadata)?;
        }
        resized.clear_added(&before, start)?;
        resized.inner.publish()?;
        let erased = if overlap.loses_some && before.inner.resolved.store.capabilities().erasable {
            before.inner.erase_outside(&**resized.inner.resolved.grid)
        } else {
            Ok(())
        };
        *self = resized.released();
        erased
    }

    /// The array as its document is now: another handle may have changed it. The caller has the lock of the node.
    pub(crate) fn reopened(&self) -> Result<Self, Error> {
        let inner = &self.inner;
        let metadata = inner.hierarchy.stored_array(&inner.path)?;
        let path = inner.path.clone();
        let place = inner.place.clone();
        Self::new(inner.hierarchy.under_lock(), path, metadata, place, inner.options)
    }

    /// The handle that a caller gets, of one that was made under the lock of the node.
    pub(crate) fn released(mut self) -> Self {
        // Nothing else refers to it yet.
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.hierarchy = inner.hierarchy.released();
        }
        self
    }
}

/// What an array keeps when it is resized.
struct Overlap {
    start: Vec<i64>,
    shape: Vec<u64>,
    loses_some: bool,
}

impl Overlap {
    /// Of an array of the shape `old` that gets the shape `new`, and begins `start` elements later.
    fn new(old: &[u64], new: &[u64], start: &[i64]) -> Self {
        let kept = old.iter().zip(new).zip(start).map(|((&old, &new), &start)| {
            let end = (i128::from(start) + i128::from(new)).min(i128::from(old));
            u64::try_from(end - i128::from(start.max(0))).unwrap_or(0)
        });
        let shape: Vec<u64> = kept.collect();
        let start: Vec<i64> = start.iter().map(|&start| start.max(0)).collect();
        Self { loses_some: shape != old, start, shape }
    }
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Array")
            .field("path", &self.inner.path)
            .field("shape", &self.shape())
            .field("data_type", &self.data_type().name())
            .field("fallback", &self.fallback())
            .finish_non_exhaustive()
    }
}

impl ArrayInner {
    pub(crate) fn context(&self) -> &Context {
        self.hierarchy.context()
    }

    /// The same array with other metadata.
    fn with_metadata(&self, metadata: ArrayMetadata) -> Result<Array, Error> {
        Array::new(self.hierarchy.clone(), self.path.clone(), metadata, self.place.clone(), self.options)
    }

    /// The same array with metadata that are to be published.
    pub(crate) fn changed(&self, mut metadata: ArrayMetadata) -> Result<Array, Error> {
        self.check_writable()?;
        if metadata.format == Format::V3Draft {
            self.spell_codecs(&mut metadata);
        }
        self.with_metadata(metadata)
    }

    /// Writes the document. The caller has the lock of the node.
    pub(crate) fn publish(&self) -> Result<(), Error> {
        self.hierarchy.write_array_metadata(&self.path, &self.metadata)
    }

    /// The metadata with another first element and shape.
    fn resized(&self, start: &[i64], shape: &[u64]) -> Result<ArrayMetadata, Error> {
        let rank = self.metadata.shape.len();
        for given in [start.len(), shape.len()] {
            if given != rank {
                let what = format!("the new shape has {given} dimensions, but the array has {rank}");
                return Err(Error::Selection(what));
            }
        }
        let mut metadata = ArrayMetadata { shape: shape.to_vec(), ..self.metadata.clone() };
        if start.iter().all(|&start| start == 0) {
            return Ok(metadata);
        }
        let named = &self.resolved.named_grid;
        let grid = &mut metadata.chunk_grid;
        let Some(moved) = named.moved(start)? else {
            let has_origin = named.moved(&vec![0; rank])?.is_some();
            return Err(Error::NotSupported(match (has_origin, &grid.identifier) {
                (true, grid) => format!("chunk grid `{grid}` cannot begin {start:?} elements later"),
                (false, grid) => {
                    format!("chunk grid `{grid}` has no origin: {} can only be resized at its end", self.path)
                }
            }));
        };
        grid.configuration = moved;
        Ok(metadata)
    }

    /// Historic URIs of codecs are read and never written (D3-CODEC-19).
    fn spell_codecs(&self, metadata: &mut ArrayMetadata) {
        let registry = self.context().registry();
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

    /// Whether chunks may be written: an error that says why not.
    pub(crate) fn check_writable(&self) -> Result<(), Error> {
        if let Some(reason) = &self.place.read_only {
            return Err(Error::NotSupported(format!("{} cannot be written: {reason}", self.path)));
        }
        let may_write = self.options.write_fallback.unwrap_or(self.context().write_fallback);
        if let Some(UsedFallback { unknown, used }) = &self.resolved.fallback
            && !may_write
        {
            return Err(Error::NotSupported(format!(
                "{} cannot be written: its data type {unknown} is not known, and elements of {used}, which stands in \
                 for it, are written only when asked for",
                self.path
            )));
        }
        Ok(())
    }

    /// Whether chunks that hold nothing but the fill value are stored too: as the context says, and wherever others may
    /// take another element for the fill value.
    pub(crate) fn stores_fill_values(&self) -> bool {
        let is_unsure = self.resolved.fill_is_undefined || self.resolved.fallback.is_some();
        self.context().store_empty_chunks || is_unsure
    }
}
