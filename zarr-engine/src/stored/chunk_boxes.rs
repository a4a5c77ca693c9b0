//! Boxes of chunk indices, and the chunks that one grid has but another does not.

use std::cmp::Ordering;
use std::ops::Range;

use zarr_spec::grid::{ChunkGrid, GridError};

/// The largest number of chunks that are erased without a listing.
const ERASED: u64 = 1_000_000;

/// Chunk indices of a box along one dimension.
#[derive(Debug, Clone)]
enum IndexSide {
    One(Range<u64>),
    /// The indices before and after the chunks that stay.
    Two(Range<u64>, Range<u64>),
}

impl IndexSide {
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

/// A box of chunks: all combinations of the indices along each dimension.
#[derive(Debug)]
pub(crate) struct ChunkBox(Vec<IndexSide>);

impl ChunkBox {
    pub(crate) fn count(&self) -> u64 {
        self.0.iter().map(IndexSide::count).product()
    }

    pub(crate) fn chunks(&self) -> impl Iterator<Item = Vec<u64>> + '_ {
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

/// Returns the range of chunks of `old` that are also in `new`, another grid of the same array, per dimension. Returns
/// `None` if more than [`ERASED`] chunks are missing along a dimension.
pub(crate) fn chunks_that_stay(
    old: &dyn ChunkGrid,
    new: &dyn ChunkGrid,
) -> Result<Option<Vec<Range<u64>>>, GridError> {
    let mut stay = Vec::with_capacity(old.grid_shape().len());
    for (dimension, &count) in old.grid_shape().iter().enumerate() {
        // Chunks do not move, and an array has no holes, so the chunks that stay are contiguous.
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

/// Returns all chunks of a grid of shape `all` except those that stay, as disjoint boxes; `None` if there are more than
/// [`ERASED`].
pub(crate) fn boxes_outside(all: &[u64], stay: &[Range<u64>]) -> Option<Vec<ChunkBox>> {
    let all: Vec<Range<u64>> = all.iter().map(|&count| 0..count).collect();
    boxes_between(&all, stay)
}

/// Returns the chunks of the box `all` except those of the box `stay` inside of it, as disjoint boxes; `None` if there
/// are more than [`ERASED`].
pub(crate) fn boxes_between(all: &[Range<u64>], stay: &[Range<u64>]) -> Option<Vec<ChunkBox>> {
    if all.iter().any(Range::is_empty) {
        return Some(Vec::new());
    }
    let mut total = 0u64;
    let mut boxes = Vec::with_capacity(all.len());
    for (dimension, range) in stay.iter().enumerate() {
        let along: Vec<IndexSide> = (0..all.len())
            .map(|other| match other.cmp(&dimension) {
                Ordering::Less => IndexSide::One(stay[other].clone()),
                Ordering::Equal => IndexSide::Two(all[other].start..range.start, range.end..all[other].end),
                Ordering::Greater => IndexSide::One(all[other].clone()),
            })
            .collect();
        if along.iter().all(|along| along.count() > 0) {
            let count = along.iter().map(IndexSide::count).try_fold(1, u64::checked_mul)?;
            total = total.checked_add(count).filter(|&total| total <= ERASED)?;
            boxes.push(ChunkBox(along));
        }
    }
    Some(boxes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grid of 4 chunks with one element each; if it `fails`, it cannot decode keys.
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
    fn an_error_of_the_grid_does_not_mean_that_chunks_are_missing() {
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
