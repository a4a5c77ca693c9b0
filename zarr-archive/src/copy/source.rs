//! The elements of an array that are copied: all of them, or a selection along each dimension.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use zarr_engine::{Array, DimensionSelection, ElementArray, Error, Selection};
use zarr_spec::ArraySubset;
use zarr_spec::grid::ChunkGrid;

use super::error::CopyError;
use super::reads::Selected;
use crate::boxes::element_size;

/// Chooses the part of each array that is copied.
#[derive(Clone)]
pub struct Selector(Arc<Choose>);

type Choose = dyn Fn(&Array) -> Result<Option<Vec<DimensionSelection>>, String> + Send + Sync;

impl Selector {
    /// Creates a selector from a function. It returns one selection per dimension, `None` to copy the whole array, or a
    /// message about why the array cannot be copied.
    ///
    /// Every dimension remains in the copy: an index selects a range of one element.
    pub fn new(
        choose: impl Fn(&Array) -> Result<Option<Vec<DimensionSelection>>, String> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(choose))
    }
}

impl fmt::Debug for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Selector").finish_non_exhaustive()
    }
}

/// An array that is copied, and the selection of its elements.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) array: Array,
    /// Ranges and lists, one per dimension; `None` if all elements are copied.
    along: Option<Vec<DimensionSelection>>,
    /// The shape of the copy.
    shape: Vec<u64>,
}

impl Source {
    pub(crate) fn new(array: Array, selector: Option<&Selector>) -> Result<Self, CopyError> {
        let chosen = selector.map_or(Ok(None), |selector| (selector.0)(&array));
        let chosen = chosen.map_err(CopyError::message)?;
        let along: Option<Vec<_>> = chosen.map(|along| along.into_iter().map(kept).collect());
        let is_whole = |along: &Vec<DimensionSelection>| {
            along.iter().zip(array.shape()).all(|(along, &length)| *along == whole(length))
        };
        let along = along.filter(|along| !is_whole(along));
        let shape = match &along {
            Some(along) => Selection::Orthogonal(along.clone()).shape(array.shape())?,
            None => array.shape().to_vec(),
        };
        Ok(Self { array, along, shape })
    }

    /// Returns the shape of the copy.
    pub(crate) fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Returns whether all elements are copied, each to its position.
    pub(crate) fn is_whole(&self) -> bool {
        self.along.is_none()
    }

    /// Returns the selection, for people and for the hash of the plan.
    pub(crate) fn selection_text(&self) -> Option<String> {
        self.along.as_ref().map(|along| Selection::Orthogonal(along.clone()).to_string())
    }

    /// Returns the size of the copied elements in bytes, or an estimate for variable size.
    pub(crate) fn size(&self) -> u64 {
        self.shape.iter().copied().fold(element_size(&self.array), u64::saturating_mul)
    }

    /// Returns the shape of the largest chunk, in elements of the copy.
    pub(crate) fn largest_chunk(&self) -> Vec<u64> {
        let chunk = self.array.chunk_grid().largest_chunk();
        let Some(along) = &self.along else { return chunk };
        let lengths = chunk.iter().zip(along).zip(&self.shape);
        lengths.map(|((&chunk, along), &length)| entries(along, chunk).min(length.max(1))).collect()
    }

    /// Returns the elements that are read, and the lengths of the chunks that are decoded: in shards, of inner chunks.
    pub(crate) fn selected(&self) -> Result<Selected, CopyError> {
        let array = &self.array;
        let chunk = array.inner_chunk_shape()?.unwrap_or_else(|| array.chunk_grid().largest_chunk());
        Ok(match &self.along {
            Some(along) => Selected { along: along.clone(), chunk, array: array.shape().to_vec() },
            None => Selected::whole(array.shape(), chunk),
        })
    }

    /// Returns the index of the source chunk that becomes the first chunk of a copy with the grid `to`, if each chunk
    /// of the copy has the elements of one chunk of the source.
    pub(crate) fn first_chunk(&self, to: &dyn ChunkGrid) -> Result<Option<Vec<u64>>, CopyError> {
        let grid = self.array.chunk_grid();
        let Some(along) = &self.along else { return Ok(Some(vec![0; self.shape.len()])) };
        if grid.chunk_shape().is_none() || grid.chunk_shape() != to.chunk_shape() {
            return Ok(None);
        }
        let mut indices = Vec::with_capacity(along.len());
        for (dimension, along) in along.iter().enumerate() {
            let &DimensionSelection::Range { start, stop, step: 1 } = along else { return Ok(None) };
            if start == stop {
                indices.push(0);
                continue;
            }
            let first = grid.chunk_of(dimension, start)?;
            let last = grid.chunk_of(dimension, stop - 1)?;
            // If the last chunk has elements after the end of the selection, they would become visible when the copy
            // grows.
            let ends =
                stop == self.array.shape()[dimension] || stop == grid.chunk_range(dimension, last)?.end;
            if !ends || grid.chunk_range(dimension, first)?.start != start {
                return Ok(None);
            }
            indices.push(first);
        }
        Ok(Some(indices))
    }

    /// Returns the selection of the elements at the positions `subset` of the copy.
    pub(crate) fn selection(&self, subset: &ArraySubset) -> Selection {
        let Some(along) = &self.along else { return Selection::from(subset) };
        let parts = along.iter().zip(subset.ranges());
        Selection::Orthogonal(parts.map(|(along, range)| part(along, range)).collect())
    }

    /// Reads the elements at the positions `subset` of the copy.
    pub(crate) fn read(&self, subset: &ArraySubset) -> Result<ElementArray, Error> {
        self.array.read(self.selection(subset))
    }

    /// Returns the positions in the copy of the elements of chunks.
    pub(crate) fn positions(&self) -> Result<Positions<'_>, CopyError> {
        let mut lists = Vec::new();
        for (dimension, along) in self.along.iter().flatten().enumerate() {
            let mut hulls: BTreeMap<u64, Range<u64>> = BTreeMap::new();
            if let DimensionSelection::List(list) = along {
                for (position, &element) in (0..).zip(list) {
                    let chunk = self.array.chunk_grid().chunk_of(dimension, element)?;
                    let hull = hulls.entry(chunk).or_insert(position..position + 1);
                    hull.end = position + 1;
                }
            }
            lists.push(hulls);
        }
        Ok(Positions { source: self, lists })
    }

    /// Divides positions along a dimension where the boundaries of chunks, or of inner chunks, are. Each part is in one
    /// chunk.
    pub(crate) fn parts(
        &self,
        dimension: usize,
        positions: Range<u64>,
        inner: Option<&[u64]>,
    ) -> Result<Vec<ChunkPart>, CopyError> {
        let grid = self.array.chunk_grid();
        let length = self.shape[dimension];
        let whole = whole(length);
        let along = self.along.as_ref().map_or(&whole, |along| &along[dimension]);
        let mut parts: Vec<ChunkPart> = Vec::new();
        let mut position = positions.start;
        while position < positions.end {
            let element = element(along, position);
            let chunk = grid.chunk_of(dimension, element)?;
            let range = grid.chunk_range(dimension, chunk)?;
            let unit = match inner {
                Some(inner) => {
                    let unit = inner[dimension].max(1);
                    let start = range.start + (element - range.start) / unit * unit;
                    start..(start + unit).min(range.end)
                }
                None => range,
            };
            let end = end_of_part(along, position, &unit).min(positions.end);
            parts.push(ChunkPart { chunk, positions: position..end });
            position = end;
        }
        Ok(parts)
    }
}

/// Positions along one dimension whose elements are in one chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChunkPart {
    pub(crate) chunk: u64,
    pub(crate) positions: Range<u64>,
}

/// The positions in a copy of the elements of chunks of the source.
pub(crate) struct Positions<'a> {
    source: &'a Source,
    /// For each dimension with a list, the smallest range with all positions of each chunk.
    lists: Vec<BTreeMap<u64, Range<u64>>>,
}

impl Positions<'_> {
    /// Returns the smallest box with the positions of all elements of a chunk. It is empty if no element of the chunk
    /// is copied.
    pub(crate) fn of(&self, index: &[u64]) -> Result<ArraySubset, CopyError> {
        let array = &self.source.array;
        let chunk = array.chunk_subset(index)?.intersection(&ArraySubset::whole(array.shape()));
        let Some(along) = &self.source.along else { return Ok(chunk) };
        let ranges = chunk.ranges().iter().enumerate();
        let positions = ranges.map(|(dimension, range)| match &along[dimension] {
            DimensionSelection::List(_) => {
                self.lists[dimension].get(&index[dimension]).cloned().unwrap_or(0..0)
            }
            along => positions_in(along, range),
        });
        Ok(ArraySubset::new(positions.collect()))
    }
}

/// Selects all elements of a dimension.
pub(crate) fn whole(length: u64) -> DimensionSelection {
    DimensionSelection::Range { start: 0, stop: length, step: 1 }
}

/// Converts an index to a range of one element, so that its dimension remains, and a list of consecutive indices to a
/// range.
fn kept(along: DimensionSelection) -> DimensionSelection {
    let range = |start: u64, length: u64| DimensionSelection::Range {
        start,
        stop: start.saturating_add(length),
        step: 1,
    };
    match along {
        DimensionSelection::Index(index) => range(index, 1),
        DimensionSelection::List(list) => match list.first() {
            Some(&first) if (first..).zip(&list).all(|(expected, &found)| expected == found) => {
                range(first, list.len() as u64)
            }
            _ => DimensionSelection::List(list),
        },
        range @ DimensionSelection::Range { .. } => range,
    }
}

/// Returns the maximum number of entries of a selection that are in one chunk of length `chunk`.
fn entries(along: &DimensionSelection, chunk: u64) -> u64 {
    match along {
        DimensionSelection::Range { step, .. } => chunk.div_ceil((*step).max(1)),
        DimensionSelection::Index(_) | DimensionSelection::List(_) => chunk,
    }
}

/// Returns the element at a position of a selection.
fn element(along: &DimensionSelection, position: u64) -> u64 {
    match along {
        DimensionSelection::Range { start, step, .. } => start.saturating_add(position.saturating_mul(*step)),
        DimensionSelection::Index(index) => *index,
        DimensionSelection::List(list) => {
            usize::try_from(position).ok().and_then(|position| list.get(position)).copied().unwrap_or(0)
        }
    }
}

/// Returns the entries at these positions of a selection.
fn part(along: &DimensionSelection, positions: &Range<u64>) -> DimensionSelection {
    match along {
        DimensionSelection::Range { stop, step, .. } => DimensionSelection::Range {
            start: element(along, positions.start).min(*stop),
            stop: element(along, positions.end).min(*stop),
            step: *step,
        },
        DimensionSelection::Index(index) => DimensionSelection::Index(*index),
        DimensionSelection::List(list) => {
            let [start, end] = [positions.start, positions.end]
                .map(|position| usize::try_from(position).map_or(list.len(), |at| at.min(list.len())));
            DimensionSelection::List(list.get(start..end).unwrap_or_default().to_vec())
        }
    }
}

/// Returns the positions of the elements in `chunk` among the elements that `along`, a range of every n-th element,
/// selects.
fn positions_in(along: &DimensionSelection, chunk: &Range<u64>) -> Range<u64> {
    let DimensionSelection::Range { start, stop, step } = along else { return 0..0 };
    let step = (*step).max(1);
    let from = chunk.start.max(*start);
    let until = chunk.end.min(*stop);
    if from >= until {
        return 0..0;
    }
    let first = (from - start).div_ceil(step);
    let end = (until - 1 - start) / step + 1;
    if first < end { first..end } else { 0..0 }
}

/// Returns the first position after `position` whose element is outside of `unit`.
fn end_of_part(along: &DimensionSelection, position: u64, unit: &Range<u64>) -> u64 {
    match along {
        DimensionSelection::Range { start, step, .. } => {
            (unit.end.saturating_sub(*start)).div_ceil((*step).max(1)).max(position + 1)
        }
        DimensionSelection::Index(_) => position + 1,
        DimensionSelection::List(list) => {
            let rest = usize::try_from(position).ok().and_then(|at| list.get(at..)).unwrap_or_default();
            let count = rest.iter().take_while(|element| unit.contains(*element)).count();
            position + (count as u64).max(1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, stop: u64, step: u64) -> DimensionSelection {
        DimensionSelection::Range { start, stop, step }
    }

    #[test]
    fn positions_of_a_chunk_are_those_of_its_selected_elements() {
        for start in 0..5 {
            for stop in start..12 {
                for step in 1..4 {
                    let along = range(start, stop, step);
                    let elements: Vec<u64> = (start..stop).step_by(usize::try_from(step).unwrap()).collect();
                    for chunk in [0..3, 3..6, 4..11, 11..20] {
                        let found = positions_in(&along, &chunk);
                        let expected: Vec<u64> = (0..)
                            .zip(&elements)
                            .filter(|(_, element)| chunk.contains(*element))
                            .map(|(position, _)| position)
                            .collect();
                        assert_eq!(found.collect::<Vec<_>>(), expected, "{along:?} {chunk:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn indices_and_lists_of_neighbours_are_ranges() {
        assert_eq!(kept(DimensionSelection::Index(3)), range(3, 4, 1));
        assert_eq!(kept(DimensionSelection::List(vec![3, 4, 5])), range(3, 6, 1));
        for list in [vec![], vec![3, 5], vec![3, 3], vec![4, 3]] {
            let list = DimensionSelection::List(list);
            assert_eq!(kept(list.clone()), list);
        }
    }

    #[test]
    fn parts_of_selections_have_the_elements_at_their_positions() {
        let along = range(3, 20, 4);
        assert_eq!(part(&along, &(1..3)), range(7, 15, 4));
        assert_eq!(part(&along, &(4..5)), range(19, 20, 4));
        let list = DimensionSelection::List(vec![5, 1, 9]);
        assert_eq!(part(&list, &(1..3)), DimensionSelection::List(vec![1, 9]));
        assert_eq!([0, 1, 2].map(|position| element(&list, position)), [5, 1, 9]);
        assert_eq!(element(&along, 2), 11);
    }

    #[test]
    fn a_part_ends_where_its_chunk_ends() {
        assert_eq!(end_of_part(&range(3, 20, 4), 0, &(0..10)), 2);
        assert_eq!(end_of_part(&range(3, 20, 4), 1, &(5..8)), 2);
        let list = DimensionSelection::List(vec![5, 1, 9, 4]);
        assert_eq!(end_of_part(&list, 0, &(0..8)), 2);
        assert_eq!(end_of_part(&list, 2, &(8..16)), 3);
    }
}
