//! Splits a selection into blocks of whole chunks, so that each chunk is read or written once.

use std::ops::Range;

use zarr_kit::spec::grid::{ChunkGrid, GridError};
use zarr_kit::{Array, DimensionSelection, Selection};

use crate::failure::Failure;
use crate::slabs::{self, length, slice};

/// A part of a selection: a range of its entries along each dimension.
///
/// An integer in a selection is a dimension with one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) entries: Vec<Range<u64>>,
}

impl Block {
    pub(crate) fn shape(&self) -> Vec<u64> {
        self.entries.iter().map(|range| range.end - range.start).collect()
    }

    pub(crate) fn selection(&self, along: &[DimensionSelection]) -> Selection {
        let parts = along.iter().zip(&self.entries);
        Selection::Orthogonal(parts.map(|(along, range)| slice(along, range.start, range.end)).collect())
    }
}

#[derive(Debug)]
pub(crate) struct Blocks<'a> {
    grid: &'a dyn ChunkGrid,
    along: &'a [DimensionSelection],
    /// The inner chunk shape if blocks consist of inner chunks of shards.
    inner: Option<Vec<u64>>,
    /// Number of chunks, or inner chunks, per dimension of a block.
    counts: Vec<u64>,
}

impl<'a> Blocks<'a> {
    /// Splits the selection into blocks of at most `budget` bytes, or of one chunk if that is larger. A shard
    /// counts as a chunk.
    pub(crate) fn of_chunks(array: &'a Array, along: &'a [DimensionSelection], budget: u64) -> Self {
        let counts = counts(along, &array.chunk_grid().largest_chunk(), slabs::element_size(array), budget);
        Self { grid: array.chunk_grid(), along, inner: None, counts }
    }

    /// Splits the selection as [`Blocks::of_chunks`] does, but into blocks of inner chunks if a shard exceeds
    /// `budget`.
    pub(crate) fn to_read(
        array: &'a Array,
        along: &'a [DimensionSelection],
        budget: u64,
    ) -> Result<Self, Failure> {
        let size = slabs::element_size(array);
        let shard = array.chunk_grid().largest_chunk().iter().fold(size, |size, &n| size.saturating_mul(n));
        let Some(inner) = array.inner_chunk_shape()?.filter(|_| shard > budget) else {
            return Ok(Self::of_chunks(array, along, budget));
        };
        let counts = counts(along, &inner, size, budget);
        Ok(Self { grid: array.chunk_grid(), along, inner: Some(inner), counts })
    }

    pub(crate) fn of_one_chunk(array: &'a Array, along: &'a [DimensionSelection]) -> Self {
        Self { grid: array.chunk_grid(), along, inner: None, counts: vec![1; along.len()] }
    }

    /// Visits bands: parts whose elements are consecutive in C order, and which begin and end at block
    /// boundaries along one dimension.
    ///
    /// A band has at most `budget` bytes if the blocks allow that. A larger block is divided along the next dimension
    /// if it has only one entry along this one; otherwise a band spans the whole block.
    pub(crate) fn for_each_band(
        &self,
        element_size: u64,
        budget: u64,
        visit: &mut dyn FnMut(&Block) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let most = budget / element_size.max(1);
        self.visit_bands(&[], most, visit)
    }

    /// Visits the bands with the entries `first` of the first dimensions.
    fn visit_bands(
        &self,
        first: &[Range<u64>],
        most: u64,
        visit: &mut dyn FnMut(&Block) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let dimension = first.len();
        let rest = &self.along[dimension..];
        let band = |entries: Option<Range<u64>>| {
            let mut known: Vec<_> = first.iter().cloned().chain(entries).collect();
            known.extend(self.along[known.len()..].iter().map(|along| 0..length(along)));
            Block { entries: known }
        };
        if rest.is_empty() || slabs::count(rest) <= most {
            return visit(&band(None));
        }
        let row = slabs::count(&rest[1..]);
        let all = length(&rest[0]);
        let mut from = 0;
        while from < all {
            let end = self.band_end(dimension, from, most / row.max(1))?;
            if end - from == 1 && row > most {
                let known: Vec<_> = first.iter().cloned().chain(std::iter::once(from..end)).collect();
                self.visit_bands(&known, most, visit)?;
            } else {
                visit(&band(Some(from..end)))?;
            }
            from = end;
        }
        Ok(())
    }

    /// Returns the end of a run of blocks that begins at entry `from` of a dimension. The run has at most
    /// `fitting` entries, but at least one block.
    fn band_end(&self, dimension: usize, from: u64, fitting: u64) -> Result<u64, Failure> {
        let all = length(&self.along[dimension]);
        let mut end = self.end(dimension, from)?;
        while end < all {
            let further = self.end(dimension, end)?;
            if further - from > fitting {
                break;
            }
            end = further;
        }
        Ok(end)
    }

    /// Visits each block, in C order. A selection without elements has no blocks.
    pub(crate) fn for_each(
        &self,
        visit: &mut dyn FnMut(&Block) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        // If any dimension has no entries, there are no blocks, but the loops would visit all blocks of the dimensions
        // before it, up to 2^63.
        if slabs::count(self.along) == 0 {
            return Ok(());
        }
        self.visit(&mut Block { entries: Vec::with_capacity(self.along.len()) }, visit)
    }

    /// Visits all blocks that begin with the ranges in `block`.
    fn visit(
        &self,
        block: &mut Block,
        visit: &mut dyn FnMut(&Block) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let dimension = block.entries.len();
        let Some(along) = self.along.get(dimension) else { return visit(block) };
        let mut from = 0;
        let all = length(along);
        while from < all {
            let end = self.end(dimension, from)?;
            block.entries.push(from..end);
            self.visit(block, visit)?;
            block.entries.pop();
            from = end;
        }
        Ok(())
    }

    /// Returns the end of the block that begins at entry `from` of a dimension.
    fn end(&self, dimension: usize, from: u64) -> Result<u64, GridError> {
        match &self.along[dimension] {
            DimensionSelection::Index(_) => Ok(1),
            DimensionSelection::Range { start, step, .. } => {
                let elements = self.elements(dimension, start + from * step)?;
                let end = elements.end.saturating_sub(*start).div_ceil(*step);
                Ok(end.clamp(from + 1, length(&self.along[dimension])))
            }
            DimensionSelection::List(list) => {
                let mut end = usize::try_from(from).unwrap_or(usize::MAX);
                let elements = self.elements(dimension, list[end])?;
                while list.get(end).is_some_and(|element| elements.contains(element)) {
                    end += 1;
                }
                Ok(end as u64)
            }
        }
    }

    /// Returns the elements, along a dimension, of the block that contains `element`.
    fn elements(&self, dimension: usize, element: u64) -> Result<Range<u64>, GridError> {
        let grid = self.grid;
        let count = self.counts[dimension];
        let chunk = grid.chunk_of(dimension, element)?;
        if let Some(inner) = &self.inner {
            let shard = grid.chunk_range(dimension, chunk)?;
            let length = inner[dimension].saturating_mul(count).max(1);
            let start = element - (element - shard.start) % length;
            return Ok(start..start.saturating_add(length).min(shard.end));
        }
        let first = chunk - chunk % count;
        let last = first.saturating_add(count).min(grid.grid_shape()[dimension]) - 1;
        Ok(grid.chunk_range(dimension, first)?.start..grid.chunk_range(dimension, last)?.end)
    }
}

/// Returns the number of chunks per dimension of a block. The last dimensions grow first, so that elements
/// are close together in a file.
fn counts(along: &[DimensionSelection], chunk: &[u64], element_size: u64, budget: u64) -> Vec<u64> {
    let entries = |dimension: usize, count: u64| {
        let elements = chunk[dimension].saturating_mul(count);
        let entries = match &along[dimension] {
            DimensionSelection::Range { step, .. } => elements.div_ceil((*step).max(1)),
            DimensionSelection::Index(_) => 1,
            DimensionSelection::List(_) => elements,
        };
        entries.clamp(1, length(&along[dimension]).max(1))
    };
    let mut counts = vec![1; along.len()];
    for dimension in (0..along.len()).rev() {
        let size = (0..along.len())
            .fold(element_size.max(1), |size, other| size.saturating_mul(entries(other, counts[other])));
        counts[dimension] = (budget / size).max(1);
    }
    counts
}

/// The positions of a selection's elements in a file.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) shape: Vec<u64>,
    /// Bytes of an element.
    pub(crate) element_size: u64,
    /// Bytes before the first element.
    pub(crate) start: u64,
    /// Whether the first dimension changes fastest.
    pub(crate) is_fortran: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) position: u64,
    pub(crate) size: u64,
}

impl Layout {
    /// Visits the bytes of a block, in the order of the file.
    pub(crate) fn for_each_run(
        &self,
        block: &Block,
        visit: &mut dyn FnMut(Run) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut shape = self.shape.clone();
        let mut entries = block.entries.clone();
        if self.is_fortran {
            shape.reverse();
            entries.reverse();
        }
        let mut stride = self.element_size;
        // A run covers all trailing dimensions that are selected completely, and one more.
        while let (Some(length), Some(range)) = (shape.pop(), entries.pop()) {
            let outer = Outer { shape: &shape, entries: &entries, stride: stride.saturating_mul(length) };
            if range != (0..length) || shape.is_empty() {
                let run = Run {
                    position: self.start + range.start * stride,
                    size: (range.end - range.start) * stride,
                };
                return outer.visit(run, visit);
            }
            stride = outer.stride;
        }
        visit(Run { position: self.start, size: stride })
    }
}

/// The dimensions outside of a run.
struct Outer<'a> {
    shape: &'a [u64],
    entries: &'a [Range<u64>],
    /// Bytes from one entry of the last of these dimensions to the next.
    stride: u64,
}

impl Outer<'_> {
    fn visit(&self, run: Run, visit: &mut dyn FnMut(Run) -> Result<(), Failure>) -> Result<(), Failure> {
        let mut index: Vec<u64> = self.entries.iter().map(|range| range.start).collect();
        loop {
            let row = index.iter().zip(self.shape).fold(0, |row, (index, length)| row * length + index);
            visit(Run { position: run.position + row * self.stride, ..run })?;
            let next = (0..index.len()).rev().find(|&at| index[at] + 1 < self.entries[at].end);
            let Some(next) = next else { return Ok(()) };
            index[next] += 1;
            for (index, range) in index.iter_mut().zip(self.entries).skip(next + 1) {
                *index = range.start;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use zarr_kit::{ArrayBuilder, Context, Format, Hierarchy, open_store};

    use super::*;

    fn runs(shape: &[u64], entries: &[Range<u64>], is_fortran: bool) -> Vec<(u64, u64)> {
        let layout = Layout { shape: shape.to_vec(), element_size: 2, start: 100, is_fortran };
        let mut runs = Vec::new();
        layout
            .for_each_run(&Block { entries: entries.to_vec() }, &mut |run| {
                runs.push((run.position, run.size));
                Ok(())
            })
            .unwrap();
        runs
    }

    /// Creates an array of bytes in memory.
    fn array(shape: &[u64], chunks: &[u64]) -> Array {
        let context = Context::linked().unwrap();
        let store = open_store(context.registry(), "memory:").unwrap();
        let hierarchy = Hierarchy::create(store, &context, Format::V3).unwrap();
        hierarchy.create_array("/a", &ArrayBuilder::new(shape, "uint8").chunks(chunks)).unwrap()
    }

    fn along(selection: &str, array: &Array) -> Vec<DimensionSelection> {
        slabs::parse(Some(selection), array).unwrap()
    }

    /// Counts the visits of each chunk and each entry of a two-dimensional selection.
    fn visits(blocks: &[Block], array: &Array, along: &[DimensionSelection]) -> (Vec<usize>, Vec<usize>) {
        let lengths: Vec<u64> = along.iter().map(length).collect();
        let mut entries = vec![0; usize::try_from(lengths[0] * lengths[1]).unwrap()];
        let mut chunks: std::collections::BTreeMap<(u64, u64), usize> = Default::default();
        for block in blocks {
            let mut touched = std::collections::BTreeSet::new();
            for row in block.entries[0].clone() {
                for column in block.entries[1].clone() {
                    entries[usize::try_from(row * lengths[1] + column).unwrap()] += 1;
                    let element = |dimension: usize, entry: u64| match &along[dimension] {
                        DimensionSelection::Range { start, step, .. } => start + entry * step,
                        DimensionSelection::Index(index) => *index,
                        DimensionSelection::List(list) => list[usize::try_from(entry).unwrap()],
                    };
                    let chunk = |dimension, entry| {
                        array.chunk_grid().chunk_of(dimension, element(dimension, entry)).unwrap()
                    };
                    touched.insert((chunk(0, row), chunk(1, column)));
                }
            }
            touched.into_iter().for_each(|chunk| *chunks.entry(chunk).or_default() += 1);
        }
        (chunks.into_values().collect(), entries)
    }

    #[test]
    fn each_chunk_and_each_element_is_in_one_block_for_every_budget() {
        let array = array(&[23, 31], &[4, 7]);
        for selection in ["", "3:20,5:", "::3,1:30:5", "7,:", ":,-1", "[0,1,5,22],2:9", "0:0,:"] {
            let along = along(selection, &array);
            for budget in [1, 28, 100, 300, 10_000] {
                let mut blocks = Vec::new();
                Blocks::of_chunks(&array, &along, budget)
                    .for_each(&mut |block| {
                        assert!(
                            block.shape().iter().product::<u64>() <= budget.max(28),
                            "{selection} {budget}"
                        );
                        blocks.push(block.clone());
                        Ok(())
                    })
                    .unwrap();
                let (chunks, entries) = visits(&blocks, &array, &along);
                assert!(chunks.iter().chain(&entries).all(|&times| times == 1), "{selection} {budget}");
            }
        }
    }

    #[test]
    fn bands_are_consecutive_and_contain_whole_chunks() {
        let array = array(&[23, 31], &[4, 7]);
        for selection in ["", "3:20,5:", "::3,1:30:5", "7,:", "0:0,:"] {
            let along = along(selection, &array);
            for budget in [1, 28, 150, 300, 10_000] {
                let mut blocks = Vec::new();
                let mut next = 0;
                Blocks::of_one_chunk(&array, &along)
                    .for_each_band(1, budget, &mut |band| {
                        let columns = length(&along[1]);
                        assert_eq!(band.entries[0].start * columns + band.entries[1].start, next);
                        next += band.shape().iter().product::<u64>();
                        assert!(next <= slabs::count(&along));
                        blocks.push(band.clone());
                        Ok(())
                    })
                    .unwrap();
                assert_eq!(next, slabs::count(&along), "{selection} {budget}");
                let (chunks, entries) = visits(&blocks, &array, &along);
                assert!(chunks.iter().chain(&entries).all(|&times| times == 1), "{selection} {budget}");
            }
        }
    }

    #[test]
    fn complete_rows_are_one_run() {
        assert_eq!(runs(&[4, 5], &[0..4, 0..5], false), [(100, 40)]);
        assert_eq!(runs(&[4, 5], &[1..3, 0..5], false), [(110, 20)]);
        assert_eq!(runs(&[2, 4, 5], &[0..2, 1..3, 0..5], false), [(110, 20), (150, 20)]);
        assert_eq!(runs(&[4, 5], &[1..3, 2..4], false), [(114, 4), (124, 4)]);
        assert_eq!(runs(&[], &[], false), [(100, 2)]);
    }

    #[test]
    fn runs_follow_the_first_dimension_in_fortran_order() {
        assert_eq!(runs(&[4, 5], &[0..4, 1..3], true), [(108, 16)]);
        assert_eq!(runs(&[4, 5], &[1..3, 0..2], true), [(102, 4), (110, 4)]);
    }

    #[test]
    fn blocks_grow_along_the_last_dimensions_first() {
        let all = |length| DimensionSelection::Range { start: 0, stop: length, step: 1 };
        assert_eq!(counts(&[all(64), all(4096), all(4096)], &[64, 512, 512], 1, 128 << 20)[1..], [1, 8]);
        assert_eq!(counts(&[all(100), all(1000), all(1000)], &[100, 100, 100], 4, 128 << 20)[1..], [3, 33]);
        // One chunk exceeds the budget, so a block is one chunk.
        assert_eq!(counts(&[all(100), all(100)], &[100, 100], 8, 1000), [1, 1]);
        assert!(counts(&[], &[], 8, 1000).is_empty());
    }
}
