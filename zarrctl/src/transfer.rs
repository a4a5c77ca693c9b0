//! The elements of one array to another one, in bounded memory.

use std::collections::BTreeSet;

use zarr_kit::Array;
use zarr_kit::spec::ArraySubset;
use zarr_kit::spec::grid::ChunkGrid;

use crate::failure::Failure;
use crate::slabs::{self, BUDGET};
use crate::terminal::Progress;

/// Small chunks are copied together, up to so many bytes.
const TOGETHER: u64 = 32 << 20;

/// Writes the chunks of `to`, whose document is not there yet.
pub(crate) fn transfer(from: &Array, to: &Array, progress: &Progress) -> Result<(), Failure> {
    // What an earlier attempt left must not show.
    to.erase_chunks(&to.stored_chunks()?)?;
    let stored = match from.hierarchy().store().capabilities().listable {
        true => Some(from.stored_chunks()?),
        false => None,
    };
    match stored {
        Some(stored) if have_one_form(from, to) => as_they_are(from, to, &stored, progress),
        stored => anew(from, to, stored.as_deref(), progress),
    }
}

/// Whether the stored bytes of a chunk mean the same in both.
pub(crate) fn have_one_form(from: &Array, to: &Array) -> bool {
    let (from, to) = (from.metadata(), to.metadata());
    from.format == to.format
        && from.shape == to.shape
        && from.data_type == to.data_type
        && from.chunk_grid == to.chunk_grid
        && from.memory_layout == to.memory_layout
        && from.codecs == to.codecs
        && from.fill_value == to.fill_value
        && from.storage_transformers == to.storage_transformers
}

fn as_they_are(from: &Array, to: &Array, stored: &[Vec<u64>], progress: &Progress) -> Result<(), Failure> {
    let share = slabs::size(from) / (stored.len() as u64).max(1);
    Ok(to.copy_encoded_chunks(from, stored, || progress.add(share))?)
}

fn anew(from: &Array, to: &Array, stored: Option<&[Vec<u64>]>, progress: &Progress) -> Result<(), Failure> {
    let regions = Regions::new(from, to);
    let fills = from.fill_value() == to.fill_value();
    let element = slabs::element_size(from);
    let mut copy = |index: &[u64]| -> Result<(), Failure> {
        let subset = regions.subset(index)?;
        let selection = slabs::selection(&subset);
        let elements = from.read(&selection)?;
        to.write(&selection, elements.bytes())?;
        progress.add(subset.element_count().unwrap_or(0).saturating_mul(element));
        Ok(())
    };
    match stored.filter(|_| fills) {
        Some(stored) => {
            let wanted = regions.of(from, stored)?;
            wanted.iter().try_for_each(|index| copy(index))
        }
        None => for_each_index(&regions.count, &mut copy),
    }
}

/// Boxes of whole chunks of the copy that are read and written at once.
#[derive(Debug)]
struct Regions<'a> {
    grid: &'a dyn ChunkGrid,
    shape: &'a [u64],
    /// Chunks of the copy per dimension of a region.
    chunks: Vec<u64>,
    /// Regions per dimension.
    count: Vec<u64>,
}

impl<'a> Regions<'a> {
    /// The larger of both chunks along each dimension, where memory allows; more of them where they are small.
    fn new(from: &Array, to: &'a Array) -> Self {
        let (grid, source) = (to.chunk_grid(), from.chunk_grid().largest_chunk());
        let own = grid.largest_chunk();
        let cover = own.iter().zip(&source).map(|(&own, &source)| source.div_ceil(own.max(1)).max(1));
        let chunks = region(&own, &cover.collect::<Vec<_>>(), grid.grid_shape(), slabs::element_size(to));
        let count =
            grid.grid_shape().iter().zip(&chunks).map(|(&all, &chunks)| all.div_ceil(chunks)).collect();
        Self { grid, shape: to.shape(), chunks, count }
    }

    /// The elements of a region that are in the array.
    fn subset(&self, index: &[u64]) -> Result<ArraySubset, Failure> {
        let range = |(dimension, &index): (usize, &u64)| {
            let first = index * self.chunks[dimension];
            let last = (first + self.chunks[dimension]).min(self.grid.grid_shape()[dimension]) - 1;
            let start = self.grid.chunk_range(dimension, first)?.start;
            let end = self.grid.chunk_range(dimension, last)?.end.min(self.shape[dimension]);
            Ok(start..end)
        };
        let ranges: Result<_, zarr_kit::spec::grid::GridError> =
            index.iter().enumerate().map(range).collect();
        ranges.map(ArraySubset::new).map_err(|error| Failure::Fault(error.into()))
    }

    /// Those that hold elements of stored chunks.
    fn of(&self, from: &Array, stored: &[Vec<u64>]) -> Result<BTreeSet<Vec<u64>>, Failure> {
        let mut regions = BTreeSet::new();
        for index in stored {
            let chunk = from.chunk_subset(index)?.intersection(&ArraySubset::whole(self.shape));
            if chunk.is_empty() {
                continue;
            }
            let mut ranges = Vec::with_capacity(index.len());
            for (dimension, range) in chunk.ranges().iter().enumerate() {
                let number = |element| -> Result<u64, Failure> {
                    let chunk = self.grid.chunk_of(dimension, element);
                    Ok(chunk.map_err(|error| Failure::Fault(error.into()))? / self.chunks[dimension])
                };
                ranges.push((number(range.start)?, number(range.end - 1)?));
            }
            let counts: Vec<u64> = ranges.iter().map(|(first, last)| last - first + 1).collect();
            for_each_index(&counts, &mut |offset| {
                regions
                    .insert(offset.iter().zip(&ranges).map(|(offset, (first, _))| first + offset).collect());
                Ok(())
            })?;
        }
        Ok(regions)
    }
}

/// How many chunks of a shape are copied together, per dimension.
fn region(chunk: &[u64], cover: &[u64], grid: &[u64], element: u64) -> Vec<u64> {
    let mut counts = vec![1u64; chunk.len()];
    let bytes = |counts: &[u64]| {
        let lengths = chunk.iter().zip(counts).map(|(chunk, count)| chunk.saturating_mul(*count));
        lengths.fold(element.max(1), u64::saturating_mul)
    };
    for (budget, wanted) in [(BUDGET, cover), (TOGETHER, grid)] {
        for dimension in (0..chunk.len()).rev() {
            let now = counts[dimension];
            let limit = wanted[dimension].min(grid[dimension]);
            let fitting = budget / bytes(&counts).max(1);
            // Multiples of what is there: regions keep ending where chunks of the source do.
            let times = fitting.min(limit.div_ceil(now)).max(1);
            counts[dimension] = now.saturating_mul(times);
        }
    }
    counts
}

fn for_each_index(
    counts: &[u64],
    visit: &mut dyn FnMut(&[u64]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if counts.contains(&0) {
        return Ok(());
    }
    let mut index = vec![0; counts.len()];
    loop {
        visit(&index)?;
        let next = (0..counts.len()).rev().find(|&dimension| index[dimension] + 1 < counts[dimension]);
        let Some(dimension) = next else { return Ok(()) };
        index[dimension] += 1;
        index[dimension + 1..].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn regions_cover_the_chunks_of_the_source_where_memory_allows() {
        // 1 MiB chunks, the source's are four times as long: 4 MiB, and seven of those are below 32 MiB.
        assert_eq!(region(&[1024, 1024], &[4, 1], &[100, 1], 1), [32, 1]);
        // A source chunk is far too large: single chunks, as many as fit.
        assert_eq!(region(&[4096, 4096], &[100, 1], &[100, 1], 4), [2, 1]);
        // Chunks that are too large as they are.
        assert_eq!(region(&[1 << 20, 1 << 10], &[1, 1], &[10, 10], 1), [1, 1]);
        assert!(region(&[], &[], &[], 8).is_empty());
    }

    #[test]
    fn regions_never_pass_the_budget_unless_one_chunk_does() {
        for chunk in [[1, 1], [100, 7], [512, 4096], [8192, 8192]] {
            for cover in [[1, 1], [3, 5], [1000, 1], [1, 1000]] {
                let counts = region(&chunk, &cover, &[1 << 20, 1 << 20], 8);
                let bytes = chunk[0] * counts[0] * chunk[1] * counts[1] * 8;
                assert!(bytes <= 128 * MIB || counts == [1, 1], "{chunk:?} {cover:?}: {counts:?}");
            }
        }
    }

    #[test]
    fn every_index_is_visited_once() {
        let mut seen = Vec::new();
        for_each_index(&[2, 3], &mut |index| {
            seen.push(index.to_vec());
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]);
        let mut times = 0;
        let mut count = |_: &[u64]| {
            times += 1;
            Ok(())
        };
        for_each_index(&[], &mut count).unwrap();
        for_each_index(&[2, 0], &mut count).unwrap();
        assert_eq!(times, 1);
    }
}
