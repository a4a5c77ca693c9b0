//! The chunks of an array: their keys, their stored bytes, their locks.

use std::cmp::Ordering;
use std::mem;
use std::ops::Range;
use std::sync::{Arc, MutexGuard};

use bytes::Bytes;
use zarr_spec::grid::{ChunkGrid, GridError, chunk_of_key, key_indices};
use zarr_spec::store::{GetOptions, GetResult, Store, StoreError, get_value};
use zarr_spec::{ArrayRepresentation, ArraySubset, ByteRange, CodecError, Key, Output};

use super::{Array, ArrayInner, ScalarKey, hash, is_too_large};
use crate::budget::Permit;
use crate::copy::MAX_RANK;
use crate::error::Error;
use crate::flight::{self, IN_FLIGHT, IoBudget};
use crate::grid::Extent;
use crate::shape::for_each_index;

/// Bytes that the part of a chunk's key behind that of its array mostly has at most.
const KEY_ROOM: usize = 48;

impl Array {
    /// The key of the chunk at `index`.
    ///
    /// # Errors
    ///
    /// If the grid has no such chunk.
    pub fn chunk_key(&self, index: &[u64]) -> Result<Key, Error> {
        self.inner.chunk(index)?;
        self.inner.key(index)
    }

    /// The elements of the chunk at `index`, one half-open range per dimension. A chunk may reach past the end of the
    /// array; what it has before the first element is left out.
    ///
    /// # Errors
    ///
    /// If the grid has no such chunk.
    pub fn chunk_subset(&self, index: &[u64]) -> Result<ArraySubset, Error> {
        Ok(self.inner.resolved.grid.chunk_subset(index)?)
    }

    /// The stored bytes of the chunk at `index`; `None` if it is not stored.
    ///
    /// # Errors
    ///
    /// If the grid has no such chunk, or the store fails.
    pub fn encoded_chunk(&self, index: &[u64]) -> Result<Option<Bytes>, Error> {
        self.inner.chunk(index)?;
        self.inner.value_below(index, self.inner.value_limit(None))
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
        Ok(inner.resolved.store.set(&inner.key(index)?, bytes.into())?)
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

    /// Removes many chunks: in bulk where the store can, with as many requests in flight as pay.
    ///
    /// # Errors
    ///
    /// As [`Array::erase_chunk`]. When the store fails, others of them may be gone.
    pub fn erase_chunks(&self, indices: &[Vec<u64>]) -> Result<(), Error> {
        let inner = &self.inner;
        inner.check_writable()?;
        let mut keys = Vec::with_capacity(indices.len());
        for index in indices {
            inner.chunk(index)?;
            keys.extend(inner.keys(index)?);
        }
        let _alone = inner.context().locks.lock_all(indices.iter().map(|index| inner.lock_hash(index)));
        indices.iter().for_each(|index| inner.forget_index(index));
        Ok(erase_values(&*inner.resolved.store, &keys)?)
    }

    /// Stores the chunks at `indices` as they are stored in `source`, where their bytes have to mean the same: they are
    /// not looked at. Chunks that are not stored there stay as they are here. `copied` hears of each when it is done.
    ///
    /// Where requests in flight pay for one of the stores, as many chunks are on their way at once, as long as they have
    /// no more than 64 MiB, and the memory budget of `source` has as many.
    ///
    /// # Errors
    ///
    /// As [`Array::encoded_chunk`] and [`Array::write_encoded_chunk`]. When a store fails, some may be copied.
    pub fn copy_encoded_chunks(
        &self,
        source: &Self,
        indices: &[Vec<u64>],
        copied: impl Fn() + Sync,
    ) -> Result<(), Error> {
        self.inner.check_writable()?;
        let [from, to] = [source, self].map(|array| array.inner.resolved.store.read_hints().max_concurrency);
        let decoded = source.inner.resolved.chunk.size().limit();
        let expected = decoded.and_then(|size| usize::try_from(size).ok()).unwrap_or(IN_FLIGHT);
        let io_budget = IoBudget::new(1, source.inner.budget().size() / 2);
        flight::each(indices.len(), from.max(to), |number| {
            let mut io_permit = io_budget.acquire(expected);
            if let (Some(bytes), _permit) = source.inner.stored_value(&indices[number])? {
                io_permit.resize(bytes.len());
                self.write_encoded_chunk(&indices[number], &bytes)?;
            }
            copied();
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
    /// If the store cannot list, or fails; [`Error::ChunkKey`] if it cannot be told which chunk a key is of.
    pub fn stored_chunks(&self) -> Result<Vec<Vec<u64>>, Error> {
        let inner = &self.inner;
        let mut indices = Vec::new();
        for key in inner.resolved.store.list_prefix(&inner.place.chunks)? {
            let key = key?;
            let Some(rest) = inner.place.chunks.strip(key.as_str()) else { continue };
            if self.shape().is_empty() && inner.place.scalar_key.is_some_and(|key| key.name == rest) {
                indices.push(Vec::new());
            } else if let Some(chunk) = inner.chunk_in(self.chunk_grid(), &key)? {
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
        self.inner.erase_all()
    }

    /// The inner chunks that are stored in the chunk at `index`, a shard: their positions in it, in order. None if the
    /// shard is not stored.
    ///
    /// # Errors
    ///
    /// If the grid has no such chunk, chunks are no shards or not shards alone (a codec other than a permutation comes
    /// before or behind), the index of the shard cannot be read, or the store fails.
    pub fn stored_inner_chunks(&self, index: &[u64]) -> Result<Vec<Vec<u64>>, Error> {
        let inner = &self.inner;
        let pipeline = inner.pipeline(index, &inner.chunk(index)?.shape)?;
        let Some(shard) = pipeline.shard() else {
            return Err(Error::NotSupported(format!(
                "{} has codecs around `sharding_indexed`; its inner chunks \
                 cannot be listed",
                inner.path
            )));
        };
        let mut stored = Vec::new();
        if let Some(kept) = inner.fetch_index(index, shard)? {
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

impl ArrayInner {
    /// The chunk of `grid`, that of the array or another one, whose key this is; `Some(None)` if the grid does not have it,
    /// `None` if it is no key of a chunk.
    pub(super) fn chunk_in(
        &self,
        grid: &dyn ChunkGrid,
        key: &Key,
    ) -> Result<Option<Option<Vec<u64>>>, Error> {
        let rank = self.metadata.shape.len();
        let Some(rest) = self.place.chunks.strip(key.as_str()) else { return Ok(None) };
        let indices = self.resolved.key_encoding.decode(rest, rank);
        let chunk = indices.and_then(|indices| Ok(indices.map(|of| chunk_of_key(grid, &of)).transpose()?));
        chunk.map_err(|source| Error::ChunkKey { path: self.path.clone(), key: key.to_string(), source })
    }

    /// The chunk at `index`, as an array.
    pub(crate) fn chunk(&self, index: &[u64]) -> Result<ArrayRepresentation, Error> {
        let extents = self.resolved.grid.extents(index)?;
        let shape = extents.iter().map(Extent::length).collect();
        Ok(ArrayRepresentation { shape, ..self.resolved.chunk.clone() })
    }

    /// The key that a chunk is written to.
    pub(crate) fn key(&self, index: &[u64]) -> Result<Key, Error> {
        // Enough capacity for most keys: one allocation.
        self.key_in(String::with_capacity(self.place.chunks.as_str().len() + KEY_ROOM), index)
    }

    /// Hands out the key that a chunk is written to, in memory that is kept from key to key.
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

    /// The same, in this memory.
    fn key_in(&self, mut memory: String, index: &[u64]) -> Result<Key, Error> {
        memory.clear();
        memory.push_str(self.place.chunks.as_str());
        self.with_key_indices(index, |indices| self.resolved.key_encoding.encode(indices, &mut memory))?;
        Ok(Key::new(memory).map_err(StoreError::from)?)
    }

    /// As [`key_indices`], without a list of them where that can be.
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

    /// The keys that a chunk may be read from, in turn.
    pub(crate) fn keys(&self, index: &[u64]) -> Result<impl Iterator<Item = Key> + use<>, Error> {
        let key = self.key(index)?;
        let (before, after) = match self.place.scalar_key.filter(|_| index.is_empty()) {
            None => (None, None),
            Some(ScalarKey { name, is_first }) => {
                let other = self.place.chunks.key(name).map_err(StoreError::from)?;
                if is_first { (Some(other), None) } else { (None, Some(other)) }
            }
        };
        Ok(before.into_iter().chain([key]).chain(after))
    }

    /// The stored bytes of the chunk at `index`, and the memory for them.
    fn stored_value(&self, index: &[u64]) -> Result<(Option<Bytes>, Permit<'_>), Error> {
        let shape = self.chunk(index)?.shape;
        let mut size = self.expected_value(index, &*self.pipeline(index, &shape)?)?;
        loop {
            self.check_need(index, size)?;
            let mut permit = self.budget().acquire(size);
            match self.value_below(index, usize::try_from(size).unwrap_or(usize::MAX)) {
                Err(error) if is_too_large(&error) => {
                    drop(permit);
                    match self.stored_size(index)? {
                        Some(stored) if stored > size => size = stored,
                        _ => return Err(error),
                    }
                }
                value => {
                    let value = value?;
                    permit.resize(value.as_ref().map_or(0, Bytes::len) as u64);
                    return Ok((value, permit));
                }
            }
        }
    }

    /// The stored bytes of the chunk at `index`, if they are no more than `limit`.
    fn value_below(&self, index: &[u64], limit: usize) -> Result<Option<Bytes>, Error> {
        for key in self.keys(index)? {
            let value = get_value(&*self.resolved.store, &key, limit).map_err(|error| match error {
                StoreError::TooLarge { source, .. } => self.chunk_error(index, CodecError::from(source)),
                error => error.into(),
            })?;
            if value.is_some() {
                return Ok(value);
            }
        }
        Ok(None)
    }

    /// Removes a chunk under all the keys that it may have.
    pub(crate) fn erase(&self, index: &[u64]) -> Result<(), Error> {
        Ok(self.keys(index)?.try_for_each(|key| self.resolved.store.erase(&key))?)
    }

    /// Reads part of the value of a chunk: to `output`, or shared.
    pub(crate) fn get(
        &self,
        index: &[u64],
        range: ByteRange,
        output: &mut Output<'_>,
    ) -> Result<Option<GetResult>, Error> {
        let got = self.get_with(index, |store, key| store.get(key, range.into(), output));
        self.or_out_of_memory(index, output, got)
    }

    /// The same, for bytes of chunks that are decoded or replaced at once.
    pub(crate) fn get_once(
        &self,
        index: &[u64],
        range: ByteRange,
        output: &mut Output<'_>,
    ) -> Result<Option<GetResult>, Error> {
        let got = self.get_with(index, |store, key| store.get(key, GetOptions::uncached(range), output));
        self.or_out_of_memory(index, output, got)
    }

    /// Stores cannot tell the limit of an output from memory that the system does not have.
    fn or_out_of_memory<R>(
        &self,
        index: &[u64],
        output: &Output<'_>,
        got: Result<R, Error>,
    ) -> Result<R, Error> {
        got.map_err(|error| match output.out_of_memory() {
            Some(size) => self.chunk_error(index, CodecError::OutOfMemory { size }),
            None => error,
        })
    }

    fn get_with(
        &self,
        index: &[u64],
        mut get: impl FnMut(&dyn Store, &Key) -> Result<Option<GetResult>, StoreError>,
    ) -> Result<Option<GetResult>, Error> {
        // A value that is too large is the fault of the chunk.
        let mut get = |key: &Key| -> Result<Option<GetResult>, Error> {
            let got = get(&*self.resolved.store, key).map_err(|error| match error {
                StoreError::TooLarge { source, .. } => self.chunk_error(index, CodecError::from(source)),
                error => error.into(),
            })?;
            Ok(got)
        };
        if !index.is_empty() {
            return self.with_key(index, get);
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
        self.context().locks.lock(self.lock_hash(index))
    }

    fn lock_hash(&self, index: &[u64]) -> u64 {
        let hash = |indices: &[u64]| hash(&(self.lock_seed, indices));
        // By its key, which it keeps when others have changed the shape of the array. A chunk whose key cannot be told is
        // not written either.
        let by_key = self.with_key_indices(index, hash);
        by_key.unwrap_or_else(|_| hash(index))
    }

    /// Erases stored chunks that `grid`, another one of the same array, does not have.
    pub(super) fn erase_outside(&self, grid: &dyn ChunkGrid) -> Result<(), Error> {
        let old = &**self.resolved.grid;
        let store: &Arc<dyn Store> = &self.resolved.store;
        if store.capabilities().listable {
            let mut outside = Vec::new();
            for key in store.list_prefix(&self.place.chunks)? {
                let key = key?;
                if self.chunk_in(grid, &key)? == Some(None) {
                    outside.push(key);
                }
            }
            return Ok(erase_values(&**store, &outside)?);
        }
        let stay = chunks_that_stay(old, grid)?;
        let boxes = stay.and_then(|stay| boxes_outside(old.grid_shape(), &stay));
        boxes.map_or(Ok(()), |boxes| self.erase_boxes(&boxes))
    }

    /// Erases the chunks of these boxes, whether or not they are stored.
    pub(super) fn erase_boxes(&self, boxes: &[ChunkBox]) -> Result<(), Error> {
        let store = &*self.resolved.store;
        let mut keys = Vec::new();
        for index in boxes.iter().flat_map(ChunkBox::chunks) {
            keys.push(self.key(&index)?);
            if keys.len() == ERASED_TOGETHER {
                erase_values(store, &keys)?;
                keys.clear();
            }
        }
        Ok(erase_values(store, &keys)?)
    }

    /// Erases all values that are named like chunks of this array, whatever its grid.
    fn erase_all(&self) -> Result<(), Error> {
        let store = &*self.resolved.store;
        if !store.capabilities().erasable {
            return Ok(());
        }
        let rank = self.metadata.shape.len();
        let mut chunks = Vec::new();
        for key in store.list_prefix(&self.place.chunks)? {
            let key = key?;
            let Some(rest) = self.place.chunks.strip(key.as_str()) else { continue };
            let is_other_name = rank == 0 && self.place.scalar_key.is_some_and(|other| other.name == rest);
            if is_other_name || self.indices_in(&key, rest)?.is_some() {
                chunks.push(key);
            }
        }
        Ok(erase_values(store, &chunks)?)
    }

    /// The indices in the key of a chunk, of which `rest` follows the prefix of the array.
    fn indices_in(&self, key: &Key, rest: &str) -> Result<Option<Vec<u64>>, Error> {
        let indices = self.resolved.key_encoding.decode(rest, self.metadata.shape.len());
        indices.map_err(|source| Error::ChunkKey { path: self.path.clone(), key: key.to_string(), source })
    }
}

/// Removes values, in as many requests in flight as pay: each in bulk, where the store can.
pub(super) fn erase_values(store: &dyn Store, keys: &[Key]) -> Result<(), StoreError> {
    let concurrency = store.read_hints().max_concurrency;
    let each = keys.len().div_ceil(concurrency.max(1)).clamp(1, IN_BULK);
    let batches: Vec<_> = keys.chunks(each).collect();
    flight::each(batches.len(), concurrency, |number| store.erase_values(batches[number]))
}

/// Chunks that are erased without a listing of them, at most.
const ERASED: u64 = 1_000_000;

/// Keys of those that are in memory at a time.
const ERASED_TOGETHER: usize = 1 << 14;

/// Values that one request removes at most: as many as object stores take.
const IN_BULK: usize = 1000;

/// Chunk numbers along one dimension.
#[derive(Debug, Clone)]
enum Along {
    One(Range<u64>),
    /// What lies before and behind the chunks that stay.
    Two(Range<u64>, Range<u64>),
}

impl Along {
    fn count(&self) -> u64 {
        match self {
            Self::One(only) => only.end.saturating_sub(only.start),
            Self::Two(before, behind) => {
                before.end.saturating_sub(before.start) + behind.end.saturating_sub(behind.start)
            }
        }
    }

    fn chunk(&self, number: u64) -> u64 {
        match self {
            Self::One(only) => only.start + number,
            Self::Two(before, _) if number < before.end - before.start => before.start + number,
            Self::Two(before, behind) => behind.start + (number - (before.end - before.start)),
        }
    }
}

/// Some chunks of a grid, each dimension independently.
#[derive(Debug)]
pub(super) struct ChunkBox(Vec<Along>);

impl ChunkBox {
    pub(super) fn count(&self) -> u64 {
        self.0.iter().map(Along::count).product()
    }

    /// The indices of all of its chunks.
    pub(super) fn chunks(&self) -> impl Iterator<Item = Vec<u64>> + '_ {
        (0..self.count()).map(|number| {
            let mut rest = number;
            let mut index = vec![0; self.0.len()];
            for (index, along) in index.iter_mut().zip(&self.0).rev() {
                *index = along.chunk(rest % along.count());
                rest /= along.count();
            }
            index
        })
    }
}

/// The chunks of `old` that `new`, another grid of the same array, does have, per dimension; `None` if it lacks more than
/// [`ERASED`] along one.
fn chunks_that_stay(old: &dyn ChunkGrid, new: &dyn ChunkGrid) -> Result<Option<Vec<Range<u64>>>, GridError> {
    let mut stay = Vec::with_capacity(old.grid_shape().len());
    for (dimension, &count) in old.grid_shape().iter().enumerate() {
        // Chunks do not move, and an array has no holes: those that stay follow one another.
        let outside = |chunks: &mut dyn Iterator<Item = u64>| {
            let mut number = 0;
            while let Some(chunk) = chunks.next().filter(|_| number <= ERASED) {
                if new.chunk_of_key(dimension, old.key_index(dimension, chunk)?)?.is_some() {
                    break;
                }
                number += 1;
            }
            Ok::<_, GridError>(number)
        };
        let before = outside(&mut (0..count))?;
        let behind = outside(&mut (before..count).rev())?;
        if before + behind > ERASED {
            return Ok(None);
        }
        stay.push(before..count - behind);
    }
    Ok(Some(stay))
}

/// All chunks of a grid that has so many but for those that stay, as boxes that share none. `None` if there are more than
/// [`ERASED`].
fn boxes_outside(all: &[u64], stay: &[Range<u64>]) -> Option<Vec<ChunkBox>> {
    let all: Vec<Range<u64>> = all.iter().map(|&count| 0..count).collect();
    boxes_between(&all, stay)
}

/// The chunks of the box `all` but for those of the box `stay` inside of it, as boxes that share none. `None` if there are
/// more than [`ERASED`].
pub(super) fn boxes_between(all: &[Range<u64>], stay: &[Range<u64>]) -> Option<Vec<ChunkBox>> {
    if all.iter().any(Range::is_empty) {
        return Some(Vec::new());
    }
    let mut total = 0u64;
    let mut boxes = Vec::with_capacity(all.len());
    for (dimension, range) in stay.iter().enumerate() {
        let along: Vec<Along> = (0..all.len())
            .map(|other| match other.cmp(&dimension) {
                Ordering::Less => Along::One(stay[other].clone()),
                Ordering::Equal => Along::Two(all[other].start..range.start, range.end..all[other].end),
                Ordering::Greater => Along::One(all[other].clone()),
            })
            .collect();
        if along.iter().all(|along| along.count() > 0) {
            let count = along.iter().map(Along::count).try_fold(1, u64::checked_mul)?;
            total = total.checked_add(count).filter(|&total| total <= ERASED)?;
            boxes.push(ChunkBox(along));
        }
    }
    Some(boxes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 4 chunks of one element; a grid that fails does not know its keys.
    #[derive(Debug)]
    struct Grid {
        shape: [u64; 1],
        fails: bool,
    }

    impl ChunkGrid for Grid {
        fn grid_shape(&self) -> &[u64] {
            &self.shape
        }

        fn chunk_range(&self, _dimension: usize, chunk: u64) -> Result<Range<u64>, GridError> {
            Ok(chunk..chunk + 1)
        }

        fn chunk_of(&self, _dimension: usize, element: u64) -> Result<u64, GridError> {
            Ok(element)
        }

        fn chunk_shape(&self) -> Option<&[u64]> {
            Some(&[1])
        }

        fn largest_chunk(&self) -> Vec<u64> {
            vec![1]
        }

        fn chunk_of_key(&self, _dimension: usize, key_index: u64) -> Result<Option<u64>, GridError> {
            match self.fails {
                true => Err(GridError::OutOfBounds("on purpose".to_owned())),
                false => Ok((key_index < self.shape[0]).then_some(key_index)),
            }
        }
    }

    #[test]
    fn chunks_that_a_grid_cannot_tell_are_not_taken_for_ones_that_it_lacks() {
        let old = Grid { shape: [4], fails: false };
        let new = Grid { shape: [3], fails: false };
        let stay = chunks_that_stay(&old, &new).unwrap().unwrap();
        assert_eq!(stay, vec![Range { start: 0, end: 3 }]);
        assert_eq!(boxes_outside(&[4], &stay).unwrap().iter().map(ChunkBox::count).sum::<u64>(), 1);
        let none = chunks_that_stay(&old, &Grid { shape: [0], fails: false }).unwrap().unwrap();
        assert!(none[0].is_empty(), "{none:?}");
        let error = chunks_that_stay(&old, &Grid { shape: [3], fails: true }).unwrap_err();
        assert_eq!(error.to_string(), "on purpose");
    }
}
