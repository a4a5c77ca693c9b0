//! Resizing arrays.
//!
//! An array that grows must not expose values that are stored outside of its old shape. Interrupted shrinks and appends
//! leave chunks there, and chunks at the border still hold elements that a shrink cut off. Therefore, before the new
//! shape is published, chunks in the added region are erased, and chunks at the border get the fill value outside of
//! the old shape.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use zarr_metadata::ArrayMetadata;
use zarr_spec::{Elements, Key};

use super::Array;
use crate::copy;
use crate::elements::joined;
use crate::error::{Error, ErrorKind};
use crate::flight;
use crate::hierarchy::DocumentChange;
use crate::selection::Selection;
use crate::stored::{ChunkBox, Clearing, FillChunk, Guard, MayClear, StoredArray, boxes_between};
use crate::unpoisoned::Unpoisoned;

/// Maximum number of chunks that are erased by key. For more chunks, the array is listed.
const NAMED: u64 = 1024;

/// Number of chunks below which a single thread does the work.
const ALONE: usize = 8;

/// The old array in coordinates of the resized array, which may start at another element.
struct Old {
    /// The elements of the old array, in coordinates of the new one.
    elements: Vec<Range<u64>>,
    /// The chunks that contain any of these elements.
    chunks: Vec<Range<u64>>,
    /// The chunks without added elements: the old array contains all of their elements that lie in the new array.
    whole: Vec<Range<u64>>,
}

/// Chunks that hold elements outside of the old array.
#[derive(Default)]
struct Outside {
    added: Vec<ChunkBox>,
    border: Vec<ChunkBox>,
}

/// The last encoded chunk of fill values.
struct LastFill {
    shape: Vec<u64>,
    encoded: Arc<[u8]>,
}

impl Array {
    /// Changes the shape and nothing else in the stored document.
    ///
    /// Chunks outside of the new shape are erased, if the store supports erasing. Chunks that are partly inside are not
    /// changed. If the store cannot list, each chunk is erased by its key; for more than a million chunks, none is
    /// erased. In a store with conditional writes but neither locks nor conditional erasing, such as Azure, they are
    /// replaced by chunks of fill values, because another program may append to the array meanwhile.
    ///
    /// New elements hold the fill value, even if values are stored there: before the new shape is published, chunks in
    /// the added region are erased, and chunks at its border get the fill value outside of the old shape. This does not
    /// hold for more than a million chunks in a store that cannot list, or for whole chunks in a store that cannot
    /// erase.
    ///
    /// # Errors
    ///
    /// If the number of dimensions differs, the array is read only, a chunk at the border cannot be decoded, or the
    /// store fails.
    pub fn resize(&mut self, shape: &[u64]) -> Result<(), Error> {
        self.resize_at(&vec![0; self.shape().len()], shape)
    }

    /// Changes the origin and the shape: per dimension, the array starts `start` elements later, or earlier if `start`
    /// is negative. No chunk moves. Otherwise the same as [`Array::resize`].
    ///
    /// # Errors
    ///
    /// Same as [`Array::resize`]; [`Error::NotSupported`] if the chunk grid does not support another origin.
    pub fn resize_at(&mut self, start: &[i64], shape: &[u64]) -> Result<(), Error> {
        self.stored.check_elements_writable()?;
        let hierarchy = self.hierarchy.clone();
        let path = self.stored.path.clone();
        let _node_lock = hierarchy.lock([&path]);
        let shape_lock = hierarchy.lock_shape(&path)?;
        hierarchy.change_document(|change| {
            let is_shared = shape_lock.is_none() && change.is_conditional();
            self.resize_once(change, is_shared, start, shape)
        })
    }

    /// Resizes the array. `is_shared` is whether other programs may append to it meanwhile. Returns [`Error::Conflict`]
    /// if another program changes the document meanwhile.
    fn resize_once(
        &mut self,
        change: &DocumentChange<'_>,
        is_shared: bool,
        start: &[i64],
        shape: &[u64],
    ) -> Result<(), Error> {
        let before = self.reopened(change)?;
        let resized = before.changed(before.resized(start, shape)?)?;
        let overlap = Overlap::new(before.shape(), shape, start);
        if overlap.loses_some {
            // Consolidated metadata must never describe more elements than the array: readers that use them would read
            // erased chunks as the fill value.
            let metadata = before.resized(&overlap.start, &overlap.shape)?;
            change.write_array_copies(self.path(), &metadata)?;
        }
        let guard = is_shared.then(|| change.guard(self.path())).transpose()?;
        resized.clear_added(&before, start, guard)?;
        resized.publish(change)?;
        let erased = if overlap.loses_some && before.stored.resolved.store.capabilities().erasable {
            before.erase_outside(&resized, is_shared.then_some(change))
        } else {
            Ok(())
        };
        *self = resized.released();
        erased
    }

    fn resized(&self, start: &[i64], shape: &[u64]) -> Result<ArrayMetadata, Error> {
        let rank = self.shape().len();
        for given in [start.len(), shape.len()] {
            if given != rank {
                let what =
                    format!("dimensions of the new shape: found {given}, expected {rank} as in the array");
                return Err(Error::Selection(what));
            }
        }
        let mut metadata = self.metadata().clone();
        metadata.shape = shape.to_vec();
        if start.iter().all(|&start| start == 0) {
            return Ok(metadata);
        }
        let named = &self.stored.resolved.named_grid;
        let grid = &mut metadata.chunk_grid;
        let Some(moved) = named.moved(start)? else {
            let has_origin = named.moved(&vec![0; rank])?.is_some();
            return Err(Error::NotSupported(match (has_origin, &grid.identifier) {
                (true, grid) => format!("chunk grid `{grid}` cannot move its origin by {start:?} elements"),
                (false, grid) => format!(
                    "chunk grid `{grid}` has no origin: {} can only be resized at its end",
                    self.path()
                ),
            }));
        };
        grid.configuration = moved;
        Ok(metadata)
    }

    /// Erases stored chunks that are not in `resized`. If other programs may append meanwhile, `shared` reads the
    /// document again, and chunks that are in the array by then stay.
    fn erase_outside(&self, resized: &Self, shared: Option<&DocumentChange<'_>>) -> Result<(), Error> {
        self.stored.each_outside(&**resized.stored.resolved.grid, |keys| {
            let Some(change) = shared else { return self.stored.erase_values(keys) };
            let may_clear = |keys: &[Key]| {
                let current = match self.reopened(change) {
                    // Another program erased the array, and its chunks after it.
                    Err(error) if error.kind() == ErrorKind::NotFound => return Ok(vec![false; keys.len()]),
                    current => current?,
                };
                let grid = &**current.stored.resolved.grid;
                keys.iter().map(|key| Ok(current.stored.chunk_in(grid, key)? == Some(None))).collect()
            };
            // A chunk that another program changed meanwhile belongs to the array again, or was cleared.
            self.clear_values(keys, &may_clear).map(drop)
        })
    }

    /// See [`StoredArray::clear_values`].
    fn clear_values(
        &self,
        keys: &[Key],
        may_clear: &(dyn Fn(&[Key]) -> MayClear + Sync),
    ) -> Result<Option<Key>, Error> {
        // Usually all chunks have one shape. They are encoded one at a time, because a chunk may be large.
        let last: Mutex<Option<LastFill>> = Mutex::default();
        let storing = self.stored.storing_fill_values();
        let storing = Self { hierarchy: self.hierarchy.clone(), stored: Arc::new(storing) };
        let fill = |key: &Key| -> FillChunk {
            let Some(Some(index)) = self.stored.chunk_in(self.chunk_grid(), key)? else { return Ok(None) };
            let shape = self.stored.chunk(&index)?.shape;
            let mut last = last.lock().unpoisoned();
            if let Some(last) = last.as_ref().filter(|last| last.shape == shape) {
                return Ok(Some(Arc::clone(&last.encoded)));
            }
            let encoded: Option<Arc<[u8]>> = storing.fill_chunk(&index, &shape)?.map(Arc::from);
            *last = encoded.clone().map(|encoded| LastFill { shape, encoded });
            Ok(encoded)
        };
        self.stored.clear_values(keys, &Clearing { may_clear, fill: &fill })
    }

    /// Returns the encoded chunk at `index` with only fill values.
    fn fill_chunk(&self, index: &[u64], shape: &[u64]) -> Result<Option<Vec<u8>>, Error> {
        let fill = self.fill_value().bytes();
        let count = shape.iter().try_fold(1_u64, |count, &length| count.checked_mul(length));
        let count = count.and_then(|count| usize::try_from(count).ok()).ok_or_else(too_many)?;
        // The shape comes from the document, so the elements are not created before their size is known to fit.
        let each = match self.data_type().elements() {
            Elements::Variable => fill.len().saturating_add(size_of::<&[u8]>()),
            Elements::Fixed { .. } => fill.len(),
        };
        self.stored.check_need(index, each.saturating_mul(count) as u64)?;
        match self.data_type().elements() {
            Elements::Variable => {
                let elements =
                    joined(&vec![fill; count]).map_err(|error| Error::Elements(error.to_string()))?;
                self.encode_chunk(index, &elements)
            }
            Elements::Fixed { .. } => self.encode_chunk(index, &fill.repeat(count)),
        }
    }

    /// Erases chunks in a region that the array gains.
    fn erase_added(&self, keys: &[Key]) -> Result<(), Error> {
        let Some(guard) = self.stored.guard() else { return self.stored.erase_values(keys) };
        let may_clear = |keys: &[Key]| guard.check().map(|()| vec![true; keys.len()]);
        match self.clear_values(keys, &may_clear)? {
            // Another program appends to the array, or resizes it.
            Some(key) => Err(Error::Conflict(key)),
            None => Ok(()),
        }
    }

    /// Clears stored values outside of `old`, the array before the resize, where this array gains elements. The caller
    /// holds the lock of the node. With a guard, nothing is cleared after another program changed the document.
    fn clear_added(&self, old: &Self, start: &[i64], guard: Option<Guard>) -> Result<(), Error> {
        let elements = kept(old.shape(), self.shape(), start);
        let grows = elements.iter().zip(self.shape()).any(|(kept, &length)| kept.end - kept.start < length);
        if !grows || self.shape().contains(&0) {
            return Ok(());
        }
        if let Some(guard) = guard {
            let stored = Arc::new(self.stored.guarded(guard));
            let guarded = Self { hierarchy: self.hierarchy.clone(), stored };
            return guarded.clear_added(old, start, None);
        }
        let old = self.stored.old(elements)?;
        let all: Vec<_> = self.stored.resolved.grid.grid_shape().iter().map(|&count| 0..count).collect();
        let added = boxes_between(&all, &old.chunks);
        let border = boxes_between(&old.chunks, &old.whole);
        let outside = added.zip(border).map(|(added, border)| Outside { added, border });
        let count = outside.as_ref().map_or(u64::MAX, Outside::count);
        let store = self.stored.resolved.store.capabilities();
        if count > NAMED && store.listable {
            return self.clear_listed(&old);
        }
        let Outside { added, border } = outside.unwrap_or_default();
        if store.erasable {
            self.stored.each_in_boxes(&added, |keys| self.erase_added(keys))?;
        }
        self.trim(&border.iter().flat_map(ChunkBox::chunks).collect::<Vec<_>>(), &old)
    }

    /// Like [`Self::clear_added`], for the chunks in a listing of the store.
    fn clear_listed(&self, old: &Old) -> Result<(), Error> {
        let stored = &self.stored;
        let mut added = Vec::new();
        let mut border = Vec::new();
        for key in stored.resolved.store.list_prefix(&stored.place.chunks)? {
            let key = key?;
            let Some(Some(index)) = stored.chunk_in(&**stored.resolved.grid, &key)? else { continue };
            if !is_in(&index, &old.chunks) {
                added.push(key);
            } else if !is_in(&index, &old.whole) {
                border.push(index);
            }
        }
        if stored.resolved.store.capabilities().erasable {
            self.erase_added(&added)?;
        }
        self.trim(&border, old)
    }

    /// Writes the fill value to the parts of `chunks` that are outside of `old`, unless they already hold it.
    fn trim(&self, chunks: &[Vec<u64>], old: &Old) -> Result<(), Error> {
        let threads = match self.stored.resolved.store.read_hints().max_concurrency {
            0 if chunks.len() < ALONE => 1,
            0 => self.stored.context().thread_count(),
            concurrency => concurrency,
        };
        flight::each(chunks.len(), threads, |number| {
            let chunk = &chunks[number];
            self.boxes_to_trim(chunk, old)?.iter().try_for_each(|part| self.trim_part(chunk, part))
        })
    }

    fn trim_part(&self, chunk: &[u64], part: &Selection) -> Result<(), Error> {
        let elements = match self.read(part) {
            // The chunk or an inner chunk is missing. A missing chunk needs no trimming.
            Err(Error::UndefinedFillValue { .. }) if !self.chunk_exists(chunk)? => return Ok(()),
            Err(Error::UndefinedFillValue { .. }) => None,
            elements => Some(elements?),
        };
        let fill = self.fill_value().bytes();
        let is_variable = self.data_type().elements() == Elements::Variable;
        if let Some(elements) = elements {
            let is_fill = match is_variable {
                true => elements.iter().all(|element| element == fill),
                false => copy::all_equal(fill, elements.bytes()),
            };
            if is_fill {
                return Ok(());
            }
        }
        let count = part.shape(self.shape())?.iter().product::<u64>();
        let count = usize::try_from(count).map_err(|_| too_many())?;
        match is_variable {
            true => self.write_values(part, &vec![fill; count]),
            false => self.write(part, &fill.repeat(count)),
        }
    }

    /// Returns the elements of a chunk that are inside of this array but not in `old`, as disjoint boxes.
    fn boxes_to_trim(&self, chunk: &[u64], old: &Old) -> Result<Vec<Selection>, Error> {
        let extents = self.stored.resolved.grid.extents(chunk)?;
        let inside = extents.iter().zip(self.shape());
        let inside: Vec<_> = inside.map(|(extent, &length)| extent.start..extent.end.min(length)).collect();
        let mut boxes = Vec::new();
        for (dimension, (range, kept)) in inside.iter().zip(&old.elements).enumerate() {
            let before = range.start..kept.start.min(range.end);
            let behind = kept.end.max(range.start)..range.end;
            for part in [before, behind].into_iter().filter(|part| !part.is_empty()) {
                let along = inside.iter().zip(&old.elements).enumerate().map(|(other, (range, kept))| {
                    match other.cmp(&dimension) {
                        std::cmp::Ordering::Less => range.start.max(kept.start)..range.end.min(kept.end),
                        std::cmp::Ordering::Equal => part.clone(),
                        std::cmp::Ordering::Greater => range.clone(),
                    }
                });
                boxes.push(Selection::from(along.collect::<Vec<_>>()));
            }
        }
        Ok(boxes)
    }
}

impl StoredArray {
    /// Describes the old array, which covered `elements` of this array.
    fn old(&self, elements: Vec<Range<u64>>) -> Result<Old, Error> {
        let grid = &self.resolved.grid;
        let mut chunks = Vec::new();
        let mut whole = Vec::new();
        for (dimension, kept) in elements.iter().enumerate() {
            if kept.is_empty() {
                chunks.push(0..0);
                whole.push(0..0);
                continue;
            }
            let axis = grid.axis(dimension);
            let first = axis.chunk_with(kept.start)?;
            let last = axis.chunk_with(kept.end - 1)?;
            let end = last.extent.end.min(self.metadata.shape[dimension]);
            let from = first.number + u64::from(first.extent.start < kept.start);
            chunks.push(first.number..last.number + 1);
            whole.push(from..(last.number + u64::from(end <= kept.end)).max(from));
        }
        Ok(Old { elements, chunks, whole })
    }
}

struct Overlap {
    start: Vec<i64>,
    shape: Vec<u64>,
    loses_some: bool,
}

impl Overlap {
    /// Returns the overlap of an array of shape `old` with its new shape `new`, which starts `start` elements later.
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

impl Outside {
    fn count(&self) -> u64 {
        self.added.iter().chain(&self.border).map(ChunkBox::count).fold(0, u64::saturating_add)
    }
}

/// Returns the elements of an array of shape `old` that remain in shape `new`, which starts `start` elements later, in
/// coordinates of the new array.
fn kept(old: &[u64], new: &[u64], start: &[i64]) -> Vec<Range<u64>> {
    let lengths = old.iter().zip(new).zip(start);
    let kept = lengths.map(|((&old, &new), &start)| {
        let from = if start < 0 { start.unsigned_abs() } else { 0 };
        let end = match start < 0 {
            true => old.saturating_add(from),
            false => old.saturating_sub(start.unsigned_abs()),
        };
        from.min(new)..end.clamp(from.min(new), new)
    });
    kept.collect()
}

fn too_many() -> Error {
    Error::Elements("too many elements".to_owned())
}

fn is_in(index: &[u64], chunks: &[Range<u64>]) -> bool {
    index.iter().zip(chunks).all(|(index, chunks)| chunks.contains(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remaining_elements_are_counted_from_the_new_origin() {
        assert_eq!(kept(&[5, 5, 5, 5], &[8, 3, 9, 2], &[0, 0, -2, 4]), [0..5, 0..3, 2..7, 0..1]);
        assert_eq!(kept(&[5], &[2], &[7]), [Range { start: 0, end: 0 }]);
        assert_eq!(kept(&[5], &[2], &[-7]), [Range { start: 2, end: 2 }]);
    }
}
