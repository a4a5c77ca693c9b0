//! What an array that grows does about elements that are stored outside of its old shape.
//!
//! A shrink that was interrupted leaves chunks there, and so does an append. A chunk at the border keeps the elements
//! that a shrink cut off. None of them may come back: before the new shape is published, chunks in the added region are
//! erased, and those at the border get the fill value where the array did not reach.

use std::ops::Range;

use zarr_metadata::ArrayMetadata;
use zarr_spec::Elements;

use super::Array;
use crate::copy;
use crate::error::Error;
use crate::flight;
use crate::selection::Selection;
use crate::stored::{ChunkBox, StoredArray, boxes_between};

/// Chunks that are looked for by their names rather than in a listing of the array.
const NAMED: u64 = 1024;

/// Chunks that one thread looks at before others take part.
const ALONE: usize = 8;

/// The old array in a larger one, which begins elsewhere perhaps.
struct Old {
    /// The elements that it had, as they are counted now.
    elements: Vec<Range<u64>>,
    /// The chunks that have some of these.
    chunks: Vec<Range<u64>>,
    /// The chunks that have no others inside of the new array.
    whole: Vec<Range<u64>>,
}

/// Chunks that hold elements outside of the old array.
#[derive(Default)]
struct Outside {
    added: Vec<ChunkBox>,
    border: Vec<ChunkBox>,
}

impl Array {
    /// Changes the shape. The rest of the stored document does not change.
    ///
    /// Chunks that are outside of the new shape are erased, if the store supports erasing; chunks that are partly inside
    /// keep their bytes. If the store cannot list, each chunk is erased by its key; if there are more than a million, none
    /// is erased.
    ///
    /// New elements hold the fill value, whatever is stored there: before the new shape is published, chunks in the added
    /// region are erased, and chunks at its border get the fill value outside of the old shape. This does not hold for
    /// more than a million chunks in a store that cannot list, or for whole chunks in a store that cannot erase.
    ///
    /// # Errors
    ///
    /// If the number of dimensions differs, the array cannot be written, a chunk at the border cannot be decoded, or the
    /// store fails.
    pub fn resize(&mut self, shape: &[u64]) -> Result<(), Error> {
        self.resize_at(&vec![0; self.shape().len()], shape)
    }

    /// Changes the first element and the shape: the array begins `start` elements later per dimension, or earlier where
    /// `start` is negative. No chunk moves. Otherwise the same as [`Array::resize`].
    ///
    /// # Errors
    ///
    /// As [`Array::resize`]; [`Error::NotSupported`] if the chunk grid cannot begin elsewhere.
    pub fn resize_at(&mut self, start: &[i64], shape: &[u64]) -> Result<(), Error> {
        self.stored.check_writable()?;
        let hierarchy = self.hierarchy.clone();
        let path = self.stored.path.clone();
        let _node_lock = hierarchy.lock([&path]);
        let before = self.reopened()?;
        let resized = before.changed(before.resized(start, shape)?)?;
        let overlap = Overlap::new(before.shape(), shape, start);
        if overlap.loses_some {
            // Consolidated metadata must never have more elements than the array: its readers would miss erased chunks.
            let metadata = before.resized(&overlap.start, &overlap.shape)?;
            hierarchy.write_array_copies(&path, &metadata)?;
        }
        resized.clear_added(&before, start)?;
        resized.publish()?;
        let erased = if overlap.loses_some && before.stored.resolved.store.capabilities().erasable {
            before.stored.erase_outside(&**resized.stored.resolved.grid)
        } else {
            Ok(())
        };
        *self = resized.released();
        erased
    }

    /// The metadata with another first element and shape.
    fn resized(&self, start: &[i64], shape: &[u64]) -> Result<ArrayMetadata, Error> {
        let rank = self.shape().len();
        for given in [start.len(), shape.len()] {
            if given != rank {
                let what = format!("the new shape has {given} dimensions, but the array has {rank}");
                return Err(Error::Selection(what));
            }
        }
        let mut metadata = ArrayMetadata { shape: shape.to_vec(), ..self.metadata().clone() };
        if start.iter().all(|&start| start == 0) {
            return Ok(metadata);
        }
        let named = &self.stored.resolved.named_grid;
        let grid = &mut metadata.chunk_grid;
        let Some(moved) = named.moved(start)? else {
            let has_origin = named.moved(&vec![0; rank])?.is_some();
            return Err(Error::NotSupported(match (has_origin, &grid.identifier) {
                (true, grid) => format!("chunk grid `{grid}` cannot begin {start:?} elements later"),
                (false, grid) => format!(
                    "chunk grid `{grid}` has no origin: {} can only be resized at its end",
                    self.path()
                ),
            }));
        };
        grid.configuration = moved;
        Ok(metadata)
    }

    /// Removes what is stored outside of `old`, the same array before it was resized, from where this one gains elements.
    /// The caller has the lock of the node.
    pub(super) fn clear_added(&self, old: &Self, start: &[i64]) -> Result<(), Error> {
        let elements = kept(old.shape(), self.shape(), start);
        let grows = elements.iter().zip(self.shape()).any(|(kept, &length)| kept.end - kept.start < length);
        if !grows || self.shape().contains(&0) {
            return Ok(());
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
            self.stored.erase_boxes(&added)?;
        }
        self.trim(&border.iter().flat_map(ChunkBox::chunks).collect::<Vec<_>>(), &old)
    }

    /// The same for chunks that a listing has.
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
            stored.erase_values(&added)?;
        }
        self.trim(&border, old)
    }

    /// Writes the fill value to chunks where `old` did not reach, if they hold anything else there.
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
            // No value, or none of an inner chunk: the former holds nothing to be trimmed.
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
        let count = usize::try_from(count).map_err(|_| Error::Elements("too many elements".to_owned()))?;
        match is_variable {
            true => self.write_values(part, &vec![fill; count]),
            false => self.write(part, &fill.repeat(count)),
        }
    }

    /// The elements of a chunk that are inside of this array and were not in `old`, as boxes that share none.
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
    /// Where the old array is, which had `elements`, in this one.
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
            let first = axis.cell_with(kept.start)?;
            let last = axis.cell_with(kept.end - 1)?;
            let end = last.extent.end.min(self.metadata.shape[dimension]);
            let from = first.number + u64::from(first.extent.start < kept.start);
            chunks.push(first.number..last.number + 1);
            whole.push(from..(last.number + u64::from(end <= kept.end)).max(from));
        }
        Ok(Old { elements, chunks, whole })
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

impl Outside {
    fn count(&self) -> u64 {
        self.added.iter().chain(&self.border).map(ChunkBox::count).fold(0, u64::saturating_add)
    }
}

/// The elements of an array of the shape `old` that one of the shape `new` has, which begins `start` elements later.
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

fn is_in(index: &[u64], chunks: &[Range<u64>]) -> bool {
    index.iter().zip(chunks).all(|(index, chunks)| chunks.contains(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_array_keeps_is_counted_from_its_new_beginning() {
        assert_eq!(kept(&[5, 5, 5, 5], &[8, 3, 9, 2], &[0, 0, -2, 4]), [0..5, 0..3, 2..7, 0..1]);
        assert_eq!(kept(&[5], &[2], &[7]), [Range { start: 0, end: 0 }]);
        assert_eq!(kept(&[5], &[2], &[-7]), [Range { start: 2, end: 2 }]);
    }
}
