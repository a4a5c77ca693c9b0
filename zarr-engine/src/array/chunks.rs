//! Access to single chunks: public methods of [`Array`].

use bytes::Bytes;
use zarr_spec::{ArraySubset, Key};

use super::Array;
use crate::error::Error;
use crate::flight::{self, IN_FLIGHT, IoBudget};
use crate::shape::for_each_index;

/// The maximum number of neighbouring chunks that one thread copies, one after another, between local stores.
const TOGETHER: usize = 64;

impl Array {
    /// Returns the key of the chunk at `index`.
    ///
    /// # Errors
    ///
    /// If the grid does not have this chunk.
    pub fn chunk_key(&self, index: &[u64]) -> Result<Key, Error> {
        self.stored.chunk(index)?;
        self.stored.key(index)
    }

    /// Returns the array subset that the chunk at `index` covers, in elements. The ranges are clipped to the array;
    /// [`zarr_spec::grid::chunk_subset`] also includes elements of the chunk past the end of the array.
    ///
    /// # Errors
    ///
    /// If the grid does not have this chunk.
    pub fn chunk_subset(&self, index: &[u64]) -> Result<ArraySubset, Error> {
        let chunk = self.stored.resolved.grid.chunk_subset(index)?;
        Ok(chunk.intersection(&ArraySubset::whole(self.shape())))
    }

    /// Returns the stored bytes of the chunk at `index`; `None` if it is not stored.
    ///
    /// # Errors
    ///
    /// If the grid does not have this chunk, or the store fails.
    pub fn read_encoded_chunk(&self, index: &[u64]) -> Result<Option<Bytes>, Error> {
        self.stored.chunk(index)?;
        self.stored.value_below(index, self.stored.value_limit(None))
    }

    /// Stores `bytes` as the value of the chunk at `index`, without decoding or checking them.
    ///
    /// # Errors
    ///
    /// If the grid does not have this chunk, the array is read only, or the store fails.
    pub fn write_encoded_chunk(&self, index: &[u64], bytes: &[u8]) -> Result<(), Error> {
        let stored = &self.stored;
        stored.check_writable()?;
        stored.chunk(index)?;
        let _alone = stored.lock(index);
        stored.forget_index(index);
        Ok(stored.resolved.store.set(&stored.key(index)?, bytes.into())?)
    }

    /// Erases the chunk at `index`. Its elements then read as the fill value.
    ///
    /// # Errors
    ///
    /// Same as [`Array::write_encoded_chunk`].
    pub fn erase_chunk(&self, index: &[u64]) -> Result<(), Error> {
        let stored = &self.stored;
        stored.check_writable()?;
        stored.chunk(index)?;
        let _alone = stored.lock(index);
        stored.forget_index(index);
        stored.erase(index)
    }

    /// Erases many chunks, with bulk or concurrent requests if the store supports them.
    ///
    /// # Errors
    ///
    /// Same as [`Array::erase_chunk`]. If the store fails, some of the chunks may have been erased.
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

    /// Copies the stored values of the chunks at `indices` from `source`, without decoding or checking them. Both
    /// arrays must use the same encoding. If a chunk is missing in `source`, the chunk of this array does not change.
    ///
    /// Chunks are copied concurrently: by the threads of the context, or by more if one of the stores is remote. At any
    /// time, the values in flight take at most 64 MiB, and at most half of the memory budget of `source`, unless a single
    /// value is larger.
    ///
    /// # Errors
    ///
    /// Same as [`Array::read_encoded_chunk`] and [`Array::write_encoded_chunk`]. If a store fails, some chunks may have been
    /// copied.
    pub fn copy_encoded_chunks(&self, source: &Self, indices: &[Vec<u64>]) -> Result<(), Error> {
        self.copy_encoded(source, indices, None)
    }

    /// Copies stored values like [`Array::copy_encoded_chunks`], from other positions: the chunk at `index` becomes a copy
    /// of the chunk of `source` at `index` + `first`. `first` has one entry per dimension.
    ///
    /// # Errors
    ///
    /// Same as [`Array::copy_encoded_chunks`].
    pub fn copy_encoded_chunks_from(
        &self,
        source: &Self,
        first: &[u64],
        indices: &[Vec<u64>],
    ) -> Result<(), Error> {
        self.copy_encoded(source, indices, Some(first))
    }

    fn copy_encoded(&self, source: &Self, indices: &[Vec<u64>], first: Option<&[u64]>) -> Result<(), Error> {
        let context = self.stored.context();
        self.stored.check_writable()?;
        self.stored.plan_progress(indices.len());
        let concurrency = |array: &Self| array.stored.resolved.store.read_hints().max_concurrency;
        let (threads, together) = match concurrency(source).max(concurrency(self)) {
            // One thread copies several neighbouring chunks: they usually are in one folder, and two threads that write
            // to one folder wait for each other.
            0 => {
                let threads = context.thread_count();
                (threads, (indices.len() / (8 * threads)).clamp(1, TOGETHER))
            }
            remote => (remote, 1),
        };
        let parts: Vec<&[Vec<u64>]> = indices.chunks(together).collect();
        let decoded = source.stored.resolved.chunk.size().limit();
        let expected = decoded.and_then(|size| usize::try_from(size).ok()).unwrap_or(IN_FLIGHT);
        let io_budget = IoBudget::new(1, source.stored.budget().size() / 2);
        let copy = |index: &Vec<u64>| -> Result<(), Error> {
            context.check_cancelled()?;
            let moved = first.map(|first| index.iter().zip(first).map(|(index, first)| index + first));
            let moved: Option<Vec<u64>> = moved.map(Iterator::collect);
            let mut io_permit = io_budget.acquire(expected);
            if let (Some(bytes), _permit) = source.stored.stored_value(moved.as_ref().unwrap_or(index))? {
                io_permit.resize(bytes.len());
                self.write_encoded_chunk(index, &bytes)?;
            }
            self.stored.advance_progress(1);
            Ok(())
        };
        flight::each(parts.len(), threads, |number| parts[number].iter().try_for_each(&copy))
    }

    /// Returns whether the chunk at `index` is stored.
    ///
    /// # Errors
    ///
    /// If the grid does not have this chunk, or the store fails.
    pub fn chunk_exists(&self, index: &[u64]) -> Result<bool, Error> {
        Ok(self.chunk_size(index)?.is_some())
    }

    /// Returns the size of the stored value of the chunk at `index` in bytes; `None` if it is not stored.
    ///
    /// # Errors
    ///
    /// If the grid does not have this chunk, or the store fails.
    pub fn chunk_size(&self, index: &[u64]) -> Result<Option<u64>, Error> {
        self.stored.chunk(index)?;
        self.stored.stored_size(index)
    }

    /// Returns the indices of all chunks that are stored, from a listing of the store.
    ///
    /// # Errors
    ///
    /// If the store cannot list, or fails; [`Error::ChunkKey`] if the chunk index of a key cannot be determined.
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

    /// Erases all stored values whose keys are chunk keys of this array, including those outside of its chunk grid.
    /// Call this for an array from [`Hierarchy::prepare_array`](crate::Hierarchy::prepare_array) before its chunks are
    /// written, because an earlier array at the same path may have left chunks.
    ///
    /// # Errors
    ///
    /// If the store cannot list, or fails; [`Error::ChunkKey`] if the chunk key encoding cannot decode a key.
    pub fn erase_leftovers(&self) -> Result<(), Error> {
        self.stored.erase_all()
    }

    /// Returns the positions of the inner chunks that are stored in the shard at `index`, sorted. The list is empty if
    /// the shard is not stored.
    ///
    /// # Errors
    ///
    /// If the grid does not have this chunk, the store fails, or the shard index cannot be read;
    /// [`Error::NotSupported`] if the chunks are not shards, or if a codec other than a permutation comes before or
    /// after the sharding codec.
    pub fn stored_inner_chunks(&self, index: &[u64]) -> Result<Vec<Vec<u64>>, Error> {
        let array = &self.stored;
        let pipeline = array.pipeline(index, &array.chunk(index)?.shape)?;
        let Some(shard) = pipeline.shard() else {
            return Err(Error::NotSupported(format!(
                "{} is not sharded, or has codecs around `sharding_indexed`; its inner chunks \
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
