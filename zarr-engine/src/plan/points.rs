//! Single elements, grouped by chunk.

use std::borrow::Cow;

use zarr_spec::grid::GridError;

use super::lookup::ChunkLookup;
use super::{Run, StridedBox};
use crate::grid::{Axis, AxisChunk};
use crate::per_dimension::PerDimension;

/// Single elements of one chunk, in the order of the output.
#[derive(Debug, Clone)]
pub(super) struct Points<'p> {
    elements: &'p Elements<'p>,
    numbers: &'p [usize],
    /// The start of the chunk in the coordinates of the list. It wraps around if the chunk starts before the array.
    origin: PerDimension<u64>,
}

#[derive(Debug)]
struct Elements<'a> {
    rank: usize,
    coordinates: Cow<'a, [u64]>,
    /// The position of each element in the output; `None` if element `n` has position `n`.
    outputs: Option<Vec<usize>>,
}

impl Elements<'_> {
    fn coordinate(&self, number: usize, dimension: usize) -> u64 {
        self.coordinates[number * self.rank + dimension]
    }

    fn output(&self, number: usize) -> usize {
        self.outputs.as_ref().map_or(number, |outputs| outputs[number])
    }
}

impl Points<'_> {
    fn coordinate(&self, number: usize, dimension: usize) -> u64 {
        self.elements.coordinate(number, dimension).wrapping_sub(self.origin[dimension])
    }

    pub(super) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Takes elements from the front that are contiguous along the last dimension, in the chunk and in the output.
    /// Returns false if there are none left. In `taken`, only the starts and the last run change.
    pub(super) fn take_run(&mut self, taken: &mut StridedBox) -> bool {
        let Some((&first, mut rest)) = self.numbers.split_first() else { return false };
        let rank = self.elements.rank;
        let last = rank - 1;
        let mut count = 1;
        while let Some((&next, after)) = rest.split_first()
            && self.follows(first, next, count)
        {
            rest = after;
            count += 1;
        }
        self.numbers = rest;
        for (dimension, run) in taken.runs[..rank].iter_mut().enumerate() {
            run.start = self.coordinate(first, dimension);
        }
        taken.runs[last] = Run { count, out: self.elements.output(first), ..taken.runs[last] };
        true
    }

    fn follows(&self, first: usize, next: usize, by: usize) -> bool {
        let rank = self.elements.rank;
        self.elements.output(next) == self.elements.output(first) + by
            && (0..rank).all(|dimension| {
                let further = if dimension == rank - 1 { by as u64 } else { 0 };
                self.coordinate(next, dimension) == self.coordinate(first, dimension) + further
            })
    }
}

#[derive(Debug)]
pub(super) struct PointsPlan<'a> {
    axes: Vec<ChunkLookup<'a>>,
    elements: Elements<'a>,
    /// The elements, sorted by chunk, and within a chunk by their numbers.
    numbers: Vec<usize>,
    /// The start of the elements of each chunk in `numbers`.
    starts: Vec<usize>,
}

impl<'a> PointsPlan<'a> {
    /// Plans the elements in a list of coordinates, with one coordinate per axis for each element.
    pub(super) fn of_list(axes: Vec<Axis<'a>>, coordinates: &'a [u64]) -> Result<Self, GridError> {
        let rank = axes.len();
        let elements = Elements { rank, coordinates: Cow::Borrowed(coordinates), outputs: None };
        Self::sorted(axes, elements, coordinates.len() / rank.max(1))
    }

    /// Plans the inner chunks of a shard that contain its selected elements. Dimension `i` of the inner chunks is
    /// dimension `order[i]` of the shard.
    pub(super) fn of_points(
        axes: Vec<Axis<'a>>,
        points: &Points<'_>,
        order: &[usize],
    ) -> Result<Self, GridError> {
        let count = points.numbers.len();
        let mut coordinates = Vec::with_capacity(count * order.len());
        for &number in points.numbers {
            coordinates.extend(order.iter().map(|&dimension| points.coordinate(number, dimension)));
        }
        let outputs = points.numbers.iter().map(|&number| points.elements.output(number)).collect();
        let elements =
            Elements { rank: order.len(), coordinates: Cow::Owned(coordinates), outputs: Some(outputs) };
        Self::sorted(axes, elements, count)
    }

    /// Sorts the elements by chunk. This takes a few words of memory per element and dimension, as the coordinates do.
    fn sorted(axes: Vec<Axis<'a>>, elements: Elements<'a>, count: usize) -> Result<Self, GridError> {
        let rank = elements.rank;
        let mut axes: Vec<_> = axes.into_iter().map(ChunkLookup::new).collect();
        let mut chunks = Vec::with_capacity(count * rank);
        for number in 0..count {
            for (dimension, axis) in axes.iter_mut().enumerate() {
                chunks.push(axis.chunk_with(elements.coordinate(number, dimension))?.number);
            }
        }
        let chunk = |number: usize| &chunks[number * rank..(number + 1) * rank];
        let mut numbers: Vec<usize> = (0..count).collect();
        // The sort is stable: if an element is written twice, the last value wins.
        numbers.sort_by(|&a, &b| chunk(a).cmp(chunk(b)));
        let begins = |at: &usize| *at == 0 || chunk(numbers[*at - 1]) != chunk(numbers[*at]);
        let starts = (0..count).filter(begins).collect();
        Ok(Self { axes, elements, numbers, starts })
    }

    pub(super) fn rank(&self) -> usize {
        self.axes.len()
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Writes the position of a chunk to `position`, and returns its elements; there is at least one.
    pub(super) fn piece(&self, number: usize, position: &mut [u64]) -> Result<Points<'_>, GridError> {
        let start = self.starts[number];
        let end = self.starts.get(number + 1).copied().unwrap_or(self.numbers.len());
        let mut origin = PerDimension::new(self.rank(), 0);
        for (dimension, position) in position.iter_mut().enumerate() {
            let chunk = self.chunk(number, dimension)?;
            *position = chunk.number;
            origin[dimension] = chunk.extent.origin();
        }
        Ok(Points { elements: &self.elements, numbers: &self.numbers[start..end], origin })
    }

    pub(super) fn chunk(&self, number: usize, dimension: usize) -> Result<AxisChunk, GridError> {
        let element = self.elements.coordinate(self.numbers[self.starts[number]], dimension);
        self.axes[dimension].known_chunk_with(element)
    }
}
