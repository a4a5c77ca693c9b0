//! The chunks of an array: the public methods of [`Array`].

use bytes::Bytes;
use zarr_spec::{ArraySubset, Key};

use super::Array;
use crate::error::Error;
use crate::flight::{self, IN_FLIGHT, IoBudget};
use crate::shape::for_each_index;

impl Array {
    /// The key of the chunk at `index`.
    ///
    /// # Errors
    ///
    /// If the grid has no such chunk.
    pub fn chunk_key(&self, index: &[u64]) -> Result<Key, Error> {
        self.stored.chunk(index)?;
        self.stored.key(index)
    }

    /// Returns the elements of the array in the chunk at `index`, one half-open range per dimension. The ranges are
    /// clipped to the array; [`zarr_spec::grid::chunk_subset`] also counts elements that a chunk has past the end.
    ///
    /// # Errors
    ///
    /// If the grid has no such chunk.
    pub fn chunk_subset(&self, index: &[u64]) -> Result<ArraySubset, Error> {
        let chunk = self.stored.resolved.grid.chunk_subset(index)?;
        Ok(chunk.intersection(&ArraySubset::whole(self.shape())))
    }

    /// The stored bytes of the chunk at `index`; `None` if it is not stored.
    ///
    /// # Errors
    ///
    /// If the grid has no such chunk, or the store fails.
    pub fn encoded_chunk(&self, index: &[u64]) -> Result<Option<Bytes>, Error> {
        self.stored.chunk(index)?;
        self.stored.value_below(index, self.stored.value_limit(None))
    }

    /// Stores bytes as the chunk at `index`: they are not looked at.
    ///
    /// # Errors
    ///
    /// If the grid has no such chunk, nothing can be written here, or the store fails.
    pub fn write_encoded_chunk(&self, index: &[u64], bytes: &[u8]) -> Result<(), Error> {
        let stored = &self.stored;
        stored.check_writable()?;
        stored.chunk(index)?;
        let _alone = stored.lock(index);
        stored.forget_index(index);
        Ok(stored.resolved.store.set(&stored.key(index)?, bytes.into())?)
    }

    /// Removes the chunk at `index`: its elements hold the fill value then.
    ///
    /// # Errors
    ///
    /// As [`Array::write_encoded_chunk`].
    pub fn erase_chunk(&self, index: &[u64]) -> Result<(), Error> {
        let stored = &self.stored;
        stored.check_writable()?;
        stored.chunk(index)?;
        let _alone = stored.lock(index);
        stored.forget_index(index);
        stored.erase(index)
    }

    /// Removes many chunks: in bulk where the store can, with as many requests in flight as pay.
    ///
    /// # Errors
    ///
    /// As [`Array::erase_chunk`]. When the store fails, others of them may be gone.
    pub fn erase_chunks(&self, indices: &[Vec<u64>]) -> Result<(), Error> {
        let stored = &self.stored;
        stored.check_writable()?;
        let mut keys = Vec::with_capacity(indices.len());
        for index in indices {
            stored.chunk(index)?;
            keys.extend(stored.keys(index)?);
        }
        let _alone = stored.context().locks.lock_all(indices.iter().map(|index| stored.lock_hash(index)));
        indices.iter().for_each(|index| stored.forget_index(index));
        stored.plan_progress(indices.len());
        stored.erase_values(&keys)?;
        stored.advance_progress(indices.len());
        Ok(())
    }

    /// Stores the chunks at `indices` as they are stored in `source`, where their bytes have to mean the same: they are
    /// not looked at. Chunks that are not stored there stay as they are here.
    ///
    /// Where requests in flight pay for one of the stores, as many chunks are on their way at once, as long as they have
    /// no more than 64 MiB, and the memory budget of `source` has as many.
    ///
    /// # Errors
    ///
    /// As [`Array::encoded_chunk`] and [`Array::write_encoded_chunk`]. When a store fails, some may be copied.
    pub fn copy_encoded_chunks(&self, source: &Self, indices: &[Vec<u64>]) -> Result<(), Error> {
        self.stored.check_writable()?;
        self.stored.plan_progress(indices.len());
        let [from, to] = [source, self].map(|array| array.stored.resolved.store.read_hints().max_concurrency);
        let decoded = source.stored.resolved.chunk.size().limit();
        let expected = decoded.and_then(|size| usize::try_from(size).ok()).unwrap_or(IN_FLIGHT);
        let io_budget = IoBudget::new(1, source.stored.budget().size() / 2);
        flight::each(indices.len(), from.max(to), |number| {
            self.stored.context().check_cancelled()?;
            let mut io_permit = io_budget.acquire(expected);
            if let (Some(bytes), _permit) = source.stored.stored_value(&indices[number])? {
                io_permit.resize(bytes.len());
                self.write_encoded_chunk(&indices[number], &bytes)?;
            }
            self.stored.advance_progress(1);
            Ok(())
        })
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
        self.stored.chunk(index)?;
        for key in self.stored.keys(index)? {
            if let Some(size) = self.stored.resolved.store.size(&key)? {
                return Ok(Some(size));
            }
        }
        Ok(None)
    }

    /// The indices of all chunks that are stored, from a listing of the store.
    ///
    /// # Errors
    ///
    /// If the store cannot list, or fails; [`Error::ChunkKey`] if it cannot be told which chunk a key is of.
    pub fn stored_chunks(&self) -> Result<Vec<Vec<u64>>, Error> {
        let stored = &self.stored;
        let mut indices = Vec::new();
        for key in stored.resolved.store.list_prefix(&stored.place.chunks)? {
            let key = key?;
            let Some(rest) = stored.place.chunks.strip(key.as_str()) else { continue };
            if self.shape().is_empty() && stored.place.scalar_key.is_some_and(|key| key.name == rest) {
                indices.push(Vec::new());
            } else if let Some(chunk) = stored.chunk_in(self.chunk_grid(), &key)? {
                indices.extend(chunk);
            }
        }
        indices.sort_unstable();
        indices.dedup();
        Ok(indices)
    }

    /// Erases all stored values whose keys are chunk keys of this array, also those outside of its chunk grid. For an
    /// array that is prepared and not published: an earlier array at the same path may have left chunks.
    ///
    /// # Errors
    ///
    /// If the store cannot list, or fails; [`Error::ChunkKey`] if the chunk key encoding cannot decode a key.
    pub fn erase_leftovers(&self) -> Result<(), Error> {
        self.stored.erase_all()
    }

    /// The inner chunks that are stored in the chunk at `index`, a shard: their positions in it, in order. None if the
    /// shard is not stored.
    ///
    /// # Errors
    ///
    /// If the grid has no such chunk, chunks are no shards or not shards alone (a codec other than a permutation comes
    /// before or behind), the index of the shard cannot be read, or the store fails.
    pub fn stored_inner_chunks(&self, index: &[u64]) -> Result<Vec<Vec<u64>>, Error> {
        let array = &self.stored;
        let pipeline = array.pipeline(index, &array.chunk(index)?.shape)?;
        let Some(shard) = pipeline.shard() else {
            return Err(Error::NotSupported(format!(
                "{} has codecs around `sharding_indexed`; its inner chunks \
                 cannot be listed",
                array.path
            )));
        };
        let mut stored = Vec::new();
        if let Some(kept) = array.shard_index(index, shard)? {
            for_each_index(&shard.grid_shape, |number, place| {
                if kept.index.range(number).is_some() {
                    let mut position = vec![0; place.len()];
                    shard.order.iter().zip(place).for_each(|(&along, &at)| position[along] = at as u64);
                    stored.push(position);
                }
            });
        }
        stored.sort_unstable();
        Ok(stored)
    }
}
