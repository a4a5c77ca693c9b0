//! Erasing chunks.

use std::sync::Arc;

use zarr_spec::Key;
use zarr_spec::grid::ChunkGrid;
use zarr_spec::store::Store;

use super::StoredArray;
use super::chunk_boxes::{ChunkBox, boxes_outside, chunks_that_stay};
use crate::error::Error;
use crate::flight;

/// Maximum number of keys in memory when chunks are erased without a listing.
const ERASED_TOGETHER: usize = 1 << 14;

/// The largest number of values that one request erases: the limit of object stores.
const IN_BULK: usize = 1000;

impl StoredArray {
    pub(crate) fn erase(&self, index: &[u64]) -> Result<(), Error> {
        Ok(self.keys(index)?.try_for_each(|key| self.resolved.store.erase(&key))?)
    }

    /// Calls `work` with the keys of stored chunks that are not in `grid`, the chunk grid after a resize. If the store
    /// cannot list, some of the chunks may be missing, and for too many chunks `work` is not called.
    pub(crate) fn each_outside(
        &self,
        grid: &dyn ChunkGrid,
        mut work: impl FnMut(&[Key]) -> Result<(), Error>,
    ) -> Result<(), Error> {
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
            return work(&outside);
        }
        let stay = chunks_that_stay(old, grid)?;
        let boxes = stay.and_then(|stay| boxes_outside(old.grid_shape(), &stay));
        boxes.map_or(Ok(()), |boxes| self.each_in_boxes(&boxes, work))
    }

    /// Calls `work` with the keys of many chunks at a time.
    pub(crate) fn each_in_boxes(
        &self,
        boxes: &[ChunkBox],
        mut work: impl FnMut(&[Key]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut keys = Vec::new();
        for index in boxes.iter().flat_map(ChunkBox::chunks) {
            keys.push(self.key(&index)?);
            if keys.len() == ERASED_TOGETHER {
                work(&keys)?;
                keys.clear();
            }
        }
        work(&keys)
    }

    /// Erases all values whose keys are chunk keys of this array, including chunks outside of its grid.
    pub(crate) fn erase_all(&self) -> Result<(), Error> {
        self.erase_values(&self.all_keys()?)
    }

    /// Lists all values whose keys are chunk keys of this array, unless the store cannot erase them.
    pub(crate) fn all_keys(&self) -> Result<Vec<Key>, Error> {
        let store = &*self.resolved.store;
        if !store.capabilities().erasable {
            return Ok(Vec::new());
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
        Ok(chunks)
    }

    /// Erases values, with bulk or concurrent requests if the store supports them.
    pub(crate) fn erase_values(&self, keys: &[Key]) -> Result<(), Error> {
        let store = &*self.resolved.store;
        let concurrency = store.read_hints().max_concurrency;
        let each = keys.len().div_ceil(concurrency.max(1)).clamp(1, IN_BULK);
        let batches: Vec<_> = keys.chunks(each).collect();
        flight::each(batches.len(), concurrency, |number| {
            self.context().check_cancelled()?;
            Ok(store.erase_values(batches[number])?)
        })
    }
}
