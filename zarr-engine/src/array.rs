//! Arrays: what users read and write.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use zarr_spec::grid::{ChunkGrid, chunk_subset};
use zarr_spec::json::{Object, Value};
use zarr_spec::metadata::ArrayMetadata;
use zarr_spec::pipeline::Pipeline;
use zarr_spec::store::{Store, StoreError, Version, get_value};
use zarr_spec::{
    ArrayRepresentation, ArraySubset, Buffer, ByteRange, CodecChain, CodecError, DataType, FillValue, Format,
    Key, Mode, NodePath, Pool, Prefix, Reading,
};

use crate::context::Context;
use crate::error::Error;
use crate::hierarchy::Hierarchy;
use crate::pipeline::{Bounds, Stages, StepError};
use crate::resolve::{Resolved, UsedFallback, resolve};
use crate::shard::ShardIndex;

/// Bytes of shard indexes that one array keeps.
const KEPT_INDEXES: usize = 16 << 20;

/// Where the chunks of an array are.
#[derive(Debug, Clone)]
pub(crate) struct ArrayPlace {
    /// The key of its document.
    pub(crate) document: Key,
    /// What the keys of chunks begin with.
    pub(crate) chunks: Prefix,
    /// Another key of the only chunk of an array without dimensions.
    pub(crate) rank_zero_key: Option<RankZeroKey>,
    /// Why nothing can be written.
    pub(crate) read_only: Option<String>,
}

/// What some writers of the draft call the only chunk of an array without dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RankZeroKey {
    /// What follows the prefix of the array.
    pub(crate) name: &'static str,
    /// Whether it is looked for before the key that the text has.
    pub(crate) is_first: bool,
}

/// An array of a hierarchy. Cheap to clone; all its methods may be called on many threads.
#[derive(Clone)]
pub struct Array {
    pub(crate) inner: Arc<ArrayInner>,
}

pub(crate) struct ArrayInner {
    pub(crate) hierarchy: Hierarchy,
    pub(crate) path: NodePath,
    pub(crate) metadata: ArrayMetadata,
    pub(crate) place: ArrayPlace,
    pub(crate) resolved: Resolved,
    pub(crate) workers: Pool<Worker>,
    pipelines: Mutex<HashMap<Vec<u64>, Arc<Pipeline>>>,
    indexes: Mutex<KeptIndexes>,
    /// Tells the chunks of one array from those of others.
    lock_seed: u64,
}

/// What one thread works in.
#[derive(Debug, Default)]
pub(crate) struct Worker {
    /// Bytes from the store.
    pub(crate) encoded: Buffer,
    /// Between them and elements.
    pub(crate) stages: Stages,
    /// A value that is being put together.
    pub(crate) value: Buffer,
    /// Elements that are being put together.
    pub(crate) written: Stages,
}

#[derive(Debug, Default)]
struct KeptIndexes {
    size: usize,
    indexes: HashMap<Vec<u64>, Arc<KeptIndex>>,
}

/// A shard's index, and the state of the shard that it is of.
#[derive(Debug)]
pub(crate) struct KeptIndex {
    pub(crate) index: ShardIndex,
    pub(crate) version: Option<Version>,
    pub(crate) size: u64,
}

impl Array {
    pub(crate) fn new(
        hierarchy: Hierarchy,
        path: NodePath,
        metadata: ArrayMetadata,
        place: ArrayPlace,
    ) -> Result<Self, Error> {
        let context = hierarchy.context();
        let reading = Reading::new(context.mode());
        let store = Arc::clone(hierarchy.store());
        let resolved = resolve(context, &metadata, store, &place.chunks, &reading).map_err(|problems| {
            Error::NotUnderstood { path: path.clone(), key: place.document.to_string(), problems }
        })?;
        let lock_seed = hash(&(hierarchy.store().location(), place.chunks.as_str()));
        let warnings = reading.take_warnings();
        hierarchy.add_warnings(warnings.into_iter().map(|warning| format!("{path}: {warning}")).collect());
        Ok(Self {
            inner: Arc::new(ArrayInner {
                hierarchy,
                path,
                metadata,
                place,
                resolved,
                workers: Pool::new(),
                pipelines: Mutex::default(),
                indexes: Mutex::default(),
                lock_seed,
            }),
        })
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

    /// The type that stands in for one that is not known, if that was asked for.
    #[must_use]
    pub fn fallback(&self) -> Option<&UsedFallback> {
        self.inner.resolved.fallback.as_ref()
    }

    /// What elements that were never written hold.
    #[must_use]
    pub fn fill_value(&self) -> &FillValue {
        &self.inner.resolved.chunk.fill_value
    }

    /// Whether the document leaves the fill value undefined.
    #[must_use]
    pub fn fill_is_undefined(&self) -> bool {
        self.inner.resolved.fill_is_undefined
    }

    /// How the array is divided into chunks (shards, where there are any).
    #[must_use]
    pub fn chunk_grid(&self) -> &dyn ChunkGrid {
        &*self.inner.resolved.grid
    }

    /// The codecs, as they were created.
    #[must_use]
    pub fn codecs(&self) -> &CodecChain {
        &self.inner.resolved.chain
    }

    /// Elements of an inner chunk per dimension, if chunks are shards.
    #[must_use]
    pub fn inner_chunk_shape(&self) -> Option<Vec<u64>> {
        let pipeline = self.inner.pipeline(&self.inner.resolved.chunk.shape).ok()?;
        let shard = pipeline.shard()?;
        let mut shape = vec![0; shard.order.len()];
        for (&dimension, &length) in shard.order.iter().zip(&shard.inner.array.shape) {
            shape[dimension] = length;
        }
        Some(shape)
    }

    /// What users say of the array.
    #[must_use]
    pub fn attributes(&self) -> &Object {
        &self.inner.metadata.attributes
    }

    /// One entry per dimension, if there are names at all.
    #[must_use]
    pub fn dimension_names(&self) -> Option<&[Option<String>]> {
        self.inner.resolved.dimension_names.as_deref()
    }

    /// Replaces the attributes.
    ///
    /// # Errors
    ///
    /// When nothing can be written here, or the store fails.
    pub fn set_attributes(&mut self, attributes: Object) -> Result<(), Error> {
        self.update(ArrayMetadata { attributes, ..self.inner.metadata.clone() })
    }

    /// Sets one attribute.
    ///
    /// # Errors
    ///
    /// As [`Array::set_attributes`].
    pub fn set_attribute(&mut self, name: &str, value: impl Into<Value>) -> Result<(), Error> {
        let mut attributes = self.inner.metadata.attributes.clone();
        attributes.insert(name, value);
        self.set_attributes(attributes)
    }

    /// Changes the shape. Chunks that end up outside are erased, if the store can erase; those that are partly inside
    /// keep their bytes.
    ///
    /// # Errors
    ///
    /// For another number of dimensions, when nothing can be written here, or when the store fails.
    pub fn resize(&mut self, shape: &[u64]) -> Result<(), Error> {
        self.inner.check_writable()?;
        let rank = self.shape().len();
        if shape.len() != rank {
            let given = shape.len();
            return Err(Error::Selection(format!("a shape of {given} dimensions for an array of {rank}")));
        }
        let before = Arc::clone(&self.inner);
        self.update(ArrayMetadata { shape: shape.to_vec(), ..before.metadata.clone() })?;
        if before.resolved.store.capabilities().erasable
            && shape.iter().zip(&before.metadata.shape).any(|(new, old)| new < old)
        {
            before.erase_outside(&*self.inner.resolved.grid)?;
        }
        Ok(())
    }

    fn update(&mut self, mut metadata: ArrayMetadata) -> Result<(), Error> {
        self.inner.check_writable()?;
        let inner = &self.inner;
        if metadata.format == Format::V3Draft {
            inner.spell_codecs(&mut metadata);
        }
        let place = inner.place.clone();
        let updated = Self::new(inner.hierarchy.clone(), inner.path.clone(), metadata, place)?;
        inner.hierarchy.write_array_metadata(&inner.path, &updated.inner.metadata)?;
        *self = updated;
        Ok(())
    }

    /// The key of the chunk at `index`.
    ///
    /// # Errors
    ///
    /// If the grid has no such chunk.
    pub fn chunk_key(&self, index: &[u64]) -> Result<Key, Error> {
        self.inner.chunk(index)?;
        self.inner.key(index)
    }

    /// The elements of the chunk at `index`, one half-open range per dimension, not clipped to the array.
    ///
    /// # Errors
    ///
    /// If the grid has no such chunk.
    pub fn chunk_subset(&self, index: &[u64]) -> Result<ArraySubset, Error> {
        chunk_subset(self.chunk_grid(), index).map_err(|error| Error::Selection(error.to_string()))
    }

    /// The stored bytes of the chunk at `index`; `None` if it is not stored.
    ///
    /// # Errors
    ///
    /// If the grid has no such chunk, or the store fails.
    pub fn encoded_chunk(&self, index: &[u64]) -> Result<Option<Bytes>, Error> {
        let inner = &self.inner;
        inner.chunk(index)?;
        let limit = usize::try_from(inner.context().limits.value_size).unwrap_or(usize::MAX);
        for key in inner.keys(index)? {
            if let Some(bytes) = get_value(&*inner.resolved.store, &key, limit)? {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }

    /// Stores bytes as the chunk at `index`: they are not looked at.
    ///
    /// # Errors
    ///
    /// If the grid has no such chunk, nothing can be written here, or the store fails.
    pub fn write_encoded_chunk(&self, index: &[u64], bytes: &[u8]) -> Result<(), Error> {
        let inner = &self.inner;
        inner.check_writable()?;
        inner.chunk(index)?;
        let _alone = inner.lock(index);
        inner.forget_index(index);
        Ok(inner.resolved.store.set(&inner.key(index)?, bytes)?)
    }

    /// Removes the chunk at `index`: its elements hold the fill value then.
    ///
    /// # Errors
    ///
    /// As [`Array::write_encoded_chunk`].
    pub fn erase_chunk(&self, index: &[u64]) -> Result<(), Error> {
        let inner = &self.inner;
        inner.check_writable()?;
        inner.chunk(index)?;
        let _alone = inner.lock(index);
        inner.forget_index(index);
        inner.erase(index)
    }

    /// Whether the chunk at `index` is stored.
    ///
    /// # Errors
    ///
    /// If the grid has no such chunk, or the store fails.
    pub fn chunk_exists(&self, index: &[u64]) -> Result<bool, Error> {
        Ok(self.chunk_size(index)?.is_some())
    }

    /// Bytes of the stored chunk at `index`; `None` if it is not stored.
    ///
    /// # Errors
    ///
    /// If the grid has no such chunk, or the store fails.
    pub fn chunk_size(&self, index: &[u64]) -> Result<Option<u64>, Error> {
        self.inner.chunk(index)?;
        for key in self.inner.keys(index)? {
            if let Some(size) = self.inner.resolved.store.size(&key)? {
                return Ok(Some(size));
            }
        }
        Ok(None)
    }

    /// The indices of all chunks that are stored, from a listing of the store.
    ///
    /// # Errors
    ///
    /// If the store cannot list, or fails.
    pub fn stored_chunks(&self) -> Result<Vec<Vec<u64>>, Error> {
        let inner = &self.inner;
        let rank = self.shape().len();
        let grid_shape = self.chunk_grid().grid_shape();
        let keys = inner.resolved.store.list_prefix(&inner.place.chunks)?;
        let indices = keys.iter().filter_map(|key| {
            let rest = inner.place.chunks.strip(key.as_str())?;
            if rank == 0 && inner.place.rank_zero_key.is_some_and(|key| key.name == rest) {
                return Some(Vec::new());
            }
            let index = inner.resolved.key_encoding.decode(rest, rank)?;
            index.iter().zip(grid_shape).all(|(index, length)| index < length).then_some(index)
        });
        let mut indices: Vec<_> = indices.collect();
        indices.sort_unstable();
        indices.dedup();
        Ok(indices)
    }
}

fn hash(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Array")
            .field("path", &self.inner.path)
            .field("shape", &self.shape())
            .field("data_type", &self.data_type().name())
            .finish_non_exhaustive()
    }
}

impl ArrayInner {
    pub(crate) fn context(&self) -> &Context {
        self.hierarchy.context()
    }

    /// Historic URIs of codecs are read and never written (D3-CODEC-19).
    fn spell_codecs(&self, metadata: &mut ArrayMetadata) {
        let (registry, reading) = (self.context().registry(), Reading::new(Mode::Lenient));
        for codec in &mut metadata.codecs {
            if let Ok(plugin) = registry.codecs().find(metadata.format, &codec.identifier, &reading)
                && plugin.identifiers.aliases.contains(&codec.identifier.as_str())
                && let Some(canonical) = plugin.identifiers.in_format(metadata.format)
            {
                codec.identifier = canonical.to_owned();
            }
        }
    }

    pub(crate) fn bounds(&self) -> Bounds {
        let limits = self.context().limits;
        Bounds { chunk: limits.chunk_size, value: limits.value_size }
    }

    pub(crate) fn check_writable(&self) -> Result<(), Error> {
        if let Some(reason) = &self.place.read_only {
            return Err(Error::NotSupported(format!("{} cannot be written: {reason}", self.path)));
        }
        if let Some(fallback) = &self.resolved.fallback {
            let UsedFallback { unknown, used } = fallback;
            return Err(Error::NotSupported(format!(
                "{} cannot be written: its data type {unknown} is not known, and {used} only stands in for it",
                self.path
            )));
        }
        Ok(())
    }

    /// The chunk at `index`, as an array.
    pub(crate) fn chunk(&self, index: &[u64]) -> Result<ArrayRepresentation, Error> {
        let subset = chunk_subset(&*self.resolved.grid, index);
        let subset = subset.map_err(|error| Error::Selection(error.to_string()))?;
        Ok(ArrayRepresentation { shape: subset.shape(), ..self.resolved.chunk.clone() })
    }

    /// What decodes and encodes chunks of this shape.
    pub(crate) fn pipeline(&self, shape: &[u64]) -> Result<Arc<Pipeline>, CodecError> {
        let mut pipelines = self.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipeline) = pipelines.get(shape) {
            return Ok(Arc::clone(pipeline));
        }
        let chunk = ArrayRepresentation { shape: shape.to_vec(), ..self.resolved.chunk.clone() };
        let pipeline = Arc::new(self.resolved.chain.resolve(&chunk)?);
        pipelines.insert(shape.to_vec(), Arc::clone(&pipeline));
        Ok(pipeline)
    }

    /// The key that a chunk is written to.
    pub(crate) fn key(&self, index: &[u64]) -> Result<Key, Error> {
        let mut key = self.place.chunks.as_str().to_owned();
        self.resolved.key_encoding.encode(index, &mut key);
        Ok(Key::new(key).map_err(StoreError::from)?)
    }

    /// The keys that a chunk may be read from, in turn.
    pub(crate) fn keys(&self, index: &[u64]) -> Result<impl Iterator<Item = Key> + use<>, Error> {
        let key = self.key(index)?;
        let (before, after) = match self.place.rank_zero_key.filter(|_| index.is_empty()) {
            None => (None, None),
            Some(RankZeroKey { name, is_first }) => {
                let other = self.place.chunks.key(name).map_err(StoreError::from)?;
                if is_first { (Some(other), None) } else { (None, Some(other)) }
            }
        };
        Ok(before.into_iter().chain([key]).chain(after))
    }

    /// Removes a chunk under all the keys that it may have.
    pub(crate) fn erase(&self, index: &[u64]) -> Result<(), Error> {
        Ok(self.keys(index)?.try_for_each(|key| self.resolved.store.erase(&key))?)
    }

    /// Says where an error of a codec came up.
    pub(crate) fn chunk_error(&self, index: &[u64], error: StepError) -> Error {
        let key = self.key(index).map_or_else(|_| String::new(), |key| key.to_string());
        let StepError { codec, source } = error;
        Error::Chunk { path: self.path.clone(), index: index.to_vec(), key, codec, source: Box::new(source) }
    }

    /// Reads part of the value of a chunk into `buffer`.
    pub(crate) fn get(
        &self,
        index: &[u64],
        range: ByteRange,
        output: &mut zarr_spec::Output<'_>,
    ) -> Result<Option<zarr_spec::store::Got>, Error> {
        // A value that is too large is the fault of the chunk.
        let mut get = |key: &Key| {
            self.resolved.store.get(key, range, output).map_err(|error| match error {
                StoreError::TooLarge { source, .. } => {
                    self.chunk_error(index, CodecError::from(source).into())
                }
                error => error.into(),
            })
        };
        if !index.is_empty() {
            return get(&self.key(index)?);
        }
        for key in self.keys(index)? {
            if let Some(got) = get(&key)? {
                return Ok(Some(got));
            }
        }
        Ok(None)
    }

    /// Keeps others from changing the chunk at `index`: all handles that were opened with one context.
    pub(crate) fn lock(&self, index: &[u64]) -> MutexGuard<'_, ()> {
        self.context().locks.lock(hash(&(self.lock_seed, index)))
    }

    pub(crate) fn kept_index(&self, index: &[u64]) -> Option<Arc<KeptIndex>> {
        self.indexes.lock().unwrap_or_else(PoisonError::into_inner).indexes.get(index).map(Arc::clone)
    }

    pub(crate) fn keep_index(&self, index: &[u64], kept: Arc<KeptIndex>) {
        let mut indexes = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        let size = kept.index.memory();
        if indexes.size + size > KEPT_INDEXES {
            *indexes = KeptIndexes::default();
        }
        if size <= KEPT_INDEXES && indexes.indexes.insert(index.to_vec(), kept).is_none() {
            indexes.size += size;
        }
    }

    pub(crate) fn forget_index(&self, index: &[u64]) {
        let mut indexes = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = indexes.indexes.remove(index) {
            indexes.size -= kept.index.memory();
        }
    }

    /// Erases stored chunks that `grid`, a smaller one, does not have.
    fn erase_outside(&self, grid: &dyn ChunkGrid) -> Result<(), Error> {
        let (old, new) = (self.resolved.grid.grid_shape(), grid.grid_shape());
        let store: &Arc<dyn Store> = &self.resolved.store;
        if store.capabilities().listable {
            let rank = old.len();
            for key in store.list_prefix(&self.place.chunks)? {
                let rest = self.place.chunks.strip(key.as_str());
                let index = rest.and_then(|rest| self.resolved.key_encoding.decode(rest, rank));
                if index.is_some_and(|index| index.iter().zip(new).any(|(index, length)| index >= length)) {
                    store.erase(&key)?;
                }
            }
            return Ok(());
        }
        let mut result = Ok(());
        crate::variable::for_each_index(old, |_, index| {
            let index: Vec<u64> = index.iter().map(|&index| index as u64).collect();
            if result.is_ok() && index.iter().zip(new).any(|(index, length)| index >= length) {
                result = self.key(&index).and_then(|key| Ok(store.erase(&key)?));
            }
        });
        result
    }

    /// The format whose rules apply.
    pub(crate) fn format(&self) -> Format {
        self.metadata.format
    }
}
