//! Divides an array into boxes of elements that are read together, so that each chunk is decoded once.

use std::iter::Peekable;

use zarr_engine::{Array, ElementArray, Error, Selection};
use zarr_spec::{ArraySubset, Elements};

use crate::settings::Settings;

/// The assumed size of an element of variable size in bytes, which is unknown before it is read.
const VARIABLE_SIZE: u64 = 64;

/// The maximum number of boxes that are read together.
const MAX_BOXES: usize = 4096;

/// Returns the size of an element in bytes, or an estimate for variable size.
pub(crate) fn element_size(array: &Array) -> u64 {
    match array.data_type().elements() {
        Elements::Fixed { size, .. } => size as u64,
        Elements::Variable => VARIABLE_SIZE,
    }
}

/// Iterates over the indices of the chunks that may have elements other than the fill value.
type Chunks = Box<dyn Iterator<Item = Vec<u64>> + Send>;

/// Boxes of elements that cover all stored chunks of an array, in groups that fit into memory.
pub(crate) struct Boxes {
    array: Array,
    chunks: Peekable<Chunks>,
    /// The boxes of a chunk that is larger than the memory.
    waiting: Vec<ArraySubset>,
    inner_shape: Option<Vec<u64>>,
    /// The maximum number of elements in memory.
    limit: u64,
}

impl Boxes {
    /// Returns the boxes of the chunks that are stored, or of all chunks if the store cannot list.
    pub(crate) fn stored(array: &Array, settings: &Settings) -> Result<Self, Error> {
        let is_listable = array.hierarchy().store().capabilities().listable;
        let chunks: Chunks = match is_listable {
            true => Box::new(array.stored_chunks()?.into_iter()),
            false => Box::new(array.chunk_indices()),
        };
        Self::of(array, chunks, settings)
    }

    /// Returns the boxes of `chunks`.
    pub(crate) fn of(array: &Array, chunks: Chunks, settings: &Settings) -> Result<Self, Error> {
        Ok(Self {
            array: array.with_progress(&settings.progress),
            chunks: chunks.peekable(),
            waiting: Vec::new(),
            inner_shape: array.inner_chunk_shape()?,
            limit: (settings.memory / element_size(array).max(1)).max(1),
        })
    }

    /// Returns the next boxes, whose elements fit into memory together; an empty list at the end.
    pub(crate) fn next_group(&mut self) -> Result<Vec<ArraySubset>, Error> {
        let mut group = Vec::new();
        let mut count: u64 = 0;
        loop {
            let Some(next) = self.next_box()? else { break };
            let size = next.element_count().unwrap_or(u64::MAX);
            if !group.is_empty() && (count.saturating_add(size) > self.limit || group.len() == MAX_BOXES) {
                self.waiting.push(next);
                break;
            }
            count = count.saturating_add(size);
            group.push(next);
        }
        Ok(group)
    }

    /// Reads boxes.
    pub(crate) fn read(&self, boxes: &[ArraySubset]) -> Result<Vec<ElementArray>, Error> {
        let selections: Vec<Selection> = boxes.iter().map(Selection::from).collect();
        self.array.read_many(&selections)
    }

    fn next_box(&mut self) -> Result<Option<ArraySubset>, Error> {
        loop {
            if let Some(waiting) = self.waiting.pop() {
                return Ok(Some(waiting));
            }
            let Some(chunk) = self.chunks.next() else { return Ok(None) };
            let subset = self.array.chunk_subset(&chunk)?;
            if subset.is_empty() && subset.rank() > 0 {
                continue;
            }
            match &self.inner_shape {
                Some(inner) => self.waiting = divided(subset, inner, self.limit),
                None => return Ok(Some(subset)),
            }
        }
    }
}

/// Divides a shard at boundaries of inner chunks until each part has at most `limit` elements or is one inner chunk.
/// Returns the parts in reverse order, so that the caller can pop the first one.
pub(crate) fn divided(shard: ArraySubset, inner: &[u64], limit: u64) -> Vec<ArraySubset> {
    let start = shard.start();
    let mut parts = Vec::new();
    let mut rest = vec![shard];
    while let Some(part) = rest.pop() {
        let is_small = part.element_count().is_some_and(|count| count <= limit);
        let ranges = part.ranges();
        let along =
            (0..ranges.len()).find(|&along| ranges[along].end - ranges[along].start > inner[along].max(1));
        let Some(along) = along.filter(|_| !is_small) else {
            parts.push(part);
            continue;
        };
        let length = inner[along].max(1);
        let range = ranges[along].clone();
        let chunks = (range.end - range.start).div_ceil(length);
        let first = (range.start - start[along]) / length;
        let middle = start[along] + (first + chunks / 2) * length;
        let half = |range| {
            let mut ranges = ranges.to_vec();
            ranges[along] = range;
            ArraySubset::new(ranges)
        };
        rest.push(half(middle..range.end));
        rest.push(half(range.start..middle));
    }
    parts.reverse();
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_divided_between_inner_chunks() {
        let shard = ArraySubset::new(vec![8..16, 4..9]);
        let parts = divided(shard.clone(), &[2, 4], 8);
        let expected: Vec<_> = (0..4)
            .rev()
            .flat_map(|row| [(row, 8..9), (row, 4..8)])
            .map(|(row, columns)| ArraySubset::new(vec![8 + 2 * row..10 + 2 * row, columns]))
            .collect();
        assert_eq!(parts, expected);
        assert_eq!(divided(shard.clone(), &[2, 4], 40).len(), 1);
        assert_eq!(divided(shard.clone(), &[8, 5], 1), [shard]);
    }
}
