//! The keys of chunks, and the locks of their values.

use std::mem;

use zarr_spec::grid::{ChunkGrid, GridError, chunk_of_key, key_indices};
use zarr_spec::{ArrayRepresentation, BoxError, Key};

use super::{ScalarKey, StoredArray};
use crate::copy::MAX_RANK;
use crate::error::{ChunkKeyError, Error};
use crate::locks::{ChunkGuard, hash};

/// Capacity for the part of a chunk key that follows the prefix of its array, enough for most keys.
const KEY_CAPACITY: usize = 48;

impl StoredArray {
    pub(crate) fn chunk(&self, index: &[u64]) -> Result<ArrayRepresentation, Error> {
        let extents = self.resolved.grid.extents(index)?;
        let shape = extents.iter().map(|extent| extent.length).collect();
        Ok(self.resolved.chunk.clone().with_shape(shape))
    }

    pub(crate) fn key(&self, index: &[u64]) -> Result<Key, Error> {
        // The capacity is enough for most keys, so that there is only one allocation.
        self.key_in(String::with_capacity(self.place.chunks.as_str().len() + KEY_CAPACITY), index)
    }

    /// Calls `work` with the key that a chunk is written to. Reuses the memory of earlier keys.
    pub(crate) fn with_key<R>(
        &self,
        index: &[u64],
        work: impl FnOnce(&Key) -> Result<R, Error>,
    ) -> Result<R, Error> {
        self.keys.with(String::new, |memory| {
            let key = self.key_in(mem::take(memory), index)?;
            let result = work(&key);
            *memory = key.into();
            result
        })
    }

    /// Like [`Self::key`], reusing `memory`.
    fn key_in(&self, mut memory: String, index: &[u64]) -> Result<Key, Error> {
        memory.clear();
        memory.push_str(self.place.chunks.as_str());
        self.with_key_indices(index, |indices| self.resolved.key_encoding.encode(indices, &mut memory))?;
        Ok(Key::new(memory)?)
    }

    /// Like [`key_indices`], without an allocation for few dimensions.
    fn with_key_indices<R>(&self, index: &[u64], work: impl FnOnce(&[u64]) -> R) -> Result<R, GridError> {
        let grid = &**self.resolved.grid;
        let mut indices = [0; MAX_RANK];
        let Some(indices) = indices.get_mut(..index.len()) else {
            return Ok(work(&key_indices(grid, index)?));
        };
        for (dimension, (to, &chunk)) in indices.iter_mut().zip(index).enumerate() {
            *to = grid.key_index(dimension, chunk)?;
        }
        Ok(work(indices))
    }

    pub(crate) fn keys(&self, index: &[u64]) -> Result<impl Iterator<Item = Key> + use<>, Error> {
        let key = self.key(index)?;
        let (before, after) = match self.place.scalar_key.filter(|_| index.is_empty()) {
            None => (None, None),
            Some(ScalarKey { name, is_first }) => {
                let other = self.place.chunks.key(name)?;
                if is_first { (Some(other), None) } else { (None, Some(other)) }
            }
        };
        Ok(before.into_iter().chain([key]).chain(after))
    }

    /// Returns the index of the chunk of `grid` with this key; `Some(None)` if the grid does not have the chunk, `None`
    /// if the key is not a chunk key.
    pub(crate) fn chunk_in(
        &self,
        grid: &dyn ChunkGrid,
        key: &Key,
    ) -> Result<Option<Option<Vec<u64>>>, Error> {
        let rank = self.metadata.shape.len();
        let Some(rest) = self.place.chunks.strip(key.as_str()) else { return Ok(None) };
        let indices = self.resolved.key_encoding.decode(rest, rank);
        let chunk = indices.and_then(|indices| Ok(indices.map(|of| chunk_of_key(grid, &of)).transpose()?));
        chunk.map_err(|source| self.chunk_key_error(key, source))
    }

    /// Returns the indices in a chunk key, given its part after the prefix of the array.
    pub(super) fn indices_in(&self, key: &Key, rest: &str) -> Result<Option<Vec<u64>>, Error> {
        let indices = self.resolved.key_encoding.decode(rest, self.metadata.shape.len());
        indices.map_err(|source| self.chunk_key_error(key, source))
    }

    fn chunk_key_error(&self, key: &Key, source: BoxError) -> Error {
        ChunkKeyError { path: self.path.clone(), key: key.to_string(), source }.into()
    }

    pub(crate) fn lock(&self, index: &[u64]) -> ChunkGuard<'_> {
        self.context().locks.lock(self.lock_hash(index))
    }

    pub(crate) fn lock_hash(&self, index: &[u64]) -> u64 {
        let hash = |indices: &[u64]| hash(&(self.lock_seed, indices));
        // Uses the indices of the key, which do not change if another handle resizes the array. A chunk without a key
        // cannot be written anyway.
        let by_key = self.with_key_indices(index, hash);
        by_key.unwrap_or_else(|_| hash(index))
    }
}
