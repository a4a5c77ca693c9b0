//! The boxes in which the elements of an array are copied.

use std::collections::BTreeSet;

use zarr_engine::Array;
use zarr_spec::ArraySubset;
use zarr_spec::grid::{ChunkGrid, GridError};

use super::error::CopyError;
use super::source::Source;

/// Boxes of whole chunks of the copy that are read and written in one call.
#[derive(Debug)]
pub(crate) struct Regions<'a> {
    grid: &'a dyn ChunkGrid,
    shape: &'a [u64],
    /// Chunks of the copy per dimension of a region.
    chunks: Vec<u64>,
    /// Regions per dimension.
    count: Vec<u64>,
}

impl<'a> Regions<'a> {
    pub(crate) fn new(to: &'a Array, chunks: &[u64]) -> Self {
        let grid = to.chunk_grid();
        let count =
            grid.grid_shape().iter().zip(chunks).map(|(&all, &chunks)| all.div_ceil(chunks)).collect();
        Self { grid, shape: to.shape(), chunks: chunks.to_vec(), count }
    }

    /// Returns the maximum number of elements in a region.
    pub(crate) fn largest(&self) -> u64 {
        let chunk = self.grid.largest_chunk();
        let lengths = self.shape.iter().zip(chunk.iter().zip(&self.chunks));
        lengths
            .map(|(&all, (chunk, count))| chunk.saturating_mul(*count).min(all))
            .fold(1, u64::saturating_mul)
    }

    /// Returns the elements of a region that are in the array.
    pub(crate) fn subset(&self, index: &[u64]) -> Result<ArraySubset, CopyError> {
        let range = |(dimension, &index): (usize, &u64)| {
            let first = index * self.chunks[dimension];
            let last = (first + self.chunks[dimension]).min(self.grid.grid_shape()[dimension]) - 1;
            let start = self.grid.chunk_range(dimension, first)?.start;
            let end = self.grid.chunk_range(dimension, last)?.end.min(self.shape[dimension]);
            Ok(start..end)
        };
        let ranges: Result<_, GridError> = index.iter().enumerate().map(range).collect();
        Ok(ArraySubset::new(ranges?))
    }

    /// Visits the regions in `wanted`, or all regions if it is `None`.
    pub(crate) fn visit(
        &self,
        wanted: Option<&BTreeSet<Vec<u64>>>,
        visit: &mut dyn FnMut(&[u64]) -> Result<(), CopyError>,
    ) -> Result<(), CopyError> {
        match wanted {
            Some(wanted) => wanted.iter().try_for_each(|index| visit(index)),
            None => for_each_index(&self.count, visit),
        }
    }

    /// Returns the number of regions.
    pub(crate) fn total(&self) -> u64 {
        self.count.iter().copied().fold(1, u64::saturating_mul)
    }

    /// Returns the number of a region in C order.
    pub(crate) fn number(&self, index: &[u64]) -> u64 {
        number(index, &self.count)
    }

    /// Returns whether all chunks of a region are in `stored`.
    pub(crate) fn is_stored(&self, index: &[u64], stored: &BTreeSet<Vec<u64>>) -> bool {
        let grid = self.grid.grid_shape();
        let first: Vec<u64> = index.iter().zip(&self.chunks).map(|(index, chunks)| index * chunks).collect();
        let along = first.iter().zip(&self.chunks).zip(grid);
        let counts: Vec<u64> = along.map(|((first, &chunks), all)| chunks.min(all - first)).collect();
        let count = counts.iter().copied().fold(1, u64::saturating_mul);
        if count > stored.len() as u64 {
            return false;
        }
        let mut all = true;
        // The closure does not fail.
        let _visited = for_each_index(&counts, &mut |offset| {
            let chunk: Vec<u64> = first.iter().zip(offset).map(|(first, offset)| first + offset).collect();
            all = all && stored.contains(&chunk);
            Ok(())
        });
        all
    }

    /// Returns the regions with elements of stored chunks.
    pub(crate) fn of(&self, from: &Source, stored: &[Vec<u64>]) -> Result<BTreeSet<Vec<u64>>, CopyError> {
        let mut regions = BTreeSet::new();
        let positions = from.positions()?;
        for index in stored {
            let chunk = positions.of(index)?;
            if chunk.is_empty() {
                continue;
            }
            let mut ranges = Vec::with_capacity(index.len());
            for (dimension, range) in chunk.ranges().iter().enumerate() {
                let number = |element| -> Result<u64, CopyError> {
                    let chunk = self.grid.chunk_of(dimension, element);
                    Ok(chunk? / self.chunks[dimension])
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

/// Returns the position of an index in C order.
pub(crate) fn number(index: &[u64], shape: &[u64]) -> u64 {
    let along = index.iter().zip(shape);
    along.fold(0, |number: u64, (index, length)| number.saturating_mul(*length).saturating_add(*index))
}

/// Visits the indices of a grid in C order.
pub(crate) fn for_each_index(
    counts: &[u64],
    visit: &mut dyn FnMut(&[u64]) -> Result<(), CopyError>,
) -> Result<(), CopyError> {
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
