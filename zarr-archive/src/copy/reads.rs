//! How often the chunks of a source are read by the boxes of a pass.

use std::collections::BTreeSet;

use zarr_engine::DimensionSelection;

use super::source::whole;

/// The elements that a pass reads, and the chunks that have them.
#[derive(Debug, Clone)]
pub(crate) struct Selected {
    /// Ranges and lists, one per dimension.
    pub(crate) along: Vec<DimensionSelection>,
    /// Elements per dimension of a chunk, or of the largest chunk.
    pub(crate) chunk: Vec<u64>,
    /// Elements of the array per dimension.
    pub(crate) array: Vec<u64>,
}

impl Selected {
    /// Selects all elements of an array.
    pub(crate) fn whole(array: &[u64], chunk: Vec<u64>) -> Self {
        Self { along: array.iter().copied().map(whole).collect(), chunk, array: array.to_vec() }
    }

    /// Returns how often a chunk with selected elements is read, on average, by boxes of `boxes` selected elements per
    /// dimension.
    #[expect(clippy::cast_precision_loss, reason = "the average is for a decision and for people")]
    pub(crate) fn reads(&self, boxes: &[u64]) -> f64 {
        let counts = self.counts(boxes);
        counts.map(|counts| counts.reads.max(1) as f64 / counts.chunks.max(1) as f64).product()
    }

    /// Returns the number of elements in chunks with selected elements.
    pub(crate) fn elements_of_chunks(&self) -> u64 {
        let counts = self.counts(&self.array);
        counts.map(|counts| counts.elements).fold(1, u64::saturating_mul)
    }

    fn counts(&self, boxes: &[u64]) -> impl Iterator<Item = Counts> {
        let dimensions = self.along.iter().zip(&self.chunk).zip(&self.array).zip(boxes);
        dimensions.map(|(((along, &chunk), &array), &own)| {
            let dimension = Dimension { chunk: chunk.clamp(1, array.max(1)), array, own: own.max(1) };
            match along {
                &DimensionSelection::Range { start, stop, step } => {
                    dimension.of_range(start, stop, step.max(1))
                }
                &DimensionSelection::Index(index) => dimension.of_range(index, index.saturating_add(1), 1),
                DimensionSelection::List(list) => dimension.of_list(list),
            }
        })
    }
}

/// The chunks with selected elements along one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counts {
    chunks: u64,
    /// The number of chunk reads of all boxes together.
    reads: u64,
    /// The number of elements in these chunks along the dimension.
    elements: u64,
}

impl Counts {
    const NOTHING: Self = Self { chunks: 0, reads: 0, elements: 0 };
}

/// Lengths along one dimension.
#[derive(Debug, Clone, Copy)]
struct Dimension {
    chunk: u64,
    array: u64,
    /// Selected elements of a box.
    own: u64,
}

impl Dimension {
    fn of_range(self, start: u64, stop: u64, step: u64) -> Counts {
        let Self { chunk, array, .. } = self;
        let length = stop.saturating_sub(start).div_ceil(step);
        if length == 0 {
            return Counts::NOTHING;
        }
        let own = self.own.min(length);
        let boundaries = length.div_ceil(own) - 1;
        if step >= chunk {
            // Each selected element is in a chunk of its own.
            let elements = length.saturating_mul(chunk).min(array);
            return Counts { chunks: length, reads: length, elements };
        }
        let [first, last] = [start, start + (length - 1) * step].map(|element| element / chunk);
        let chunks = last - first + 1;
        // Each chunk is read once, and once more for each boundary between two boxes that lies inside it. `common`
        // counts the boundaries between two chunks: the quotients of the elements on their two sides differ.
        let [start, step, own] = [start, step, own].map(u128::from);
        let sum =
            |first: u128| sum_of_quotients(u128::from(boundaries), u128::from(chunk), own * step, first);
        let common = sum(start + own * step) - sum(start + own * step - step);
        let cut = u128::from(boundaries) - common;
        let elements = ((last + 1).saturating_mul(chunk)).min(array) - first * chunk;
        Counts { chunks, reads: chunks.saturating_add(u64::try_from(cut).unwrap_or(u64::MAX)), elements }
    }

    fn of_list(self, list: &[u64]) -> Counts {
        let own = usize::try_from(self.own).unwrap_or(usize::MAX);
        let chunks_of =
            |entries: &[u64]| entries.iter().map(|entry| entry / self.chunk).collect::<BTreeSet<_>>();
        let all = chunks_of(list);
        let reads = list.chunks(own).map(|entries| chunks_of(entries).len() as u64).sum();
        let of_chunk =
            |chunk: &u64| ((chunk + 1).saturating_mul(self.chunk)).min(self.array) - chunk * self.chunk;
        Counts { chunks: all.len() as u64, reads, elements: all.iter().map(of_chunk).sum() }
    }
}

/// Returns the sum of ⌊(`first` + i · `step`) / `divisor`⌋ for i from 0 to `count` - 1, in logarithmic time.
///
/// Whole quotients of `step` and `first` are added directly. The remaining sum counts the points with integer
/// coordinates below a line with a slope below 1, which exchanging the axes makes shorter.
fn sum_of_quotients(mut count: u128, mut divisor: u128, mut step: u128, mut first: u128) -> u128 {
    let mut sum = 0;
    while count > 0 {
        sum += count * (count - 1) / 2 * (step / divisor) + count * (first / divisor);
        step %= divisor;
        first %= divisor;
        let end = step * count + first;
        if end < divisor {
            break;
        }
        count = end / divisor;
        first = end % divisor;
        (divisor, step) = (step, divisor);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts by visiting each box.
    fn counted(elements: &[u64], dimension: Dimension) -> Counts {
        let Dimension { chunk, array, own } = dimension;
        let of = |elements: &[u64]| elements.iter().map(|element| element / chunk).collect::<BTreeSet<_>>();
        let chunks = of(elements);
        let boxes = elements.chunks(usize::try_from(own).unwrap());
        let of_chunk = |chunk_index: &u64| ((chunk_index + 1) * chunk).min(array) - chunk_index * chunk;
        Counts {
            chunks: chunks.len() as u64,
            reads: boxes.map(|own| of(own).len() as u64).sum(),
            elements: chunks.iter().map(of_chunk).sum(),
        }
    }

    #[test]
    fn reads_of_ranges_are_the_counted_ones() {
        let array = 17;
        for chunk in 1..=array {
            for own in [1, 2, 3, 5, 8, 17, 100] {
                let dimension = Dimension { chunk, array, own };
                for start in 0..=7 {
                    for stop in start..=array {
                        for step in 1..=4 {
                            let elements: Vec<u64> =
                                (start..stop).step_by(usize::try_from(step).unwrap()).collect();
                            let found = dimension.of_range(start, stop, step);
                            let mut expected = counted(&elements, dimension);
                            if step >= chunk {
                                // `elements` is an upper bound, because the last chunk may be shorter.
                                assert!(found.elements >= expected.elements, "{dimension:?} {start}:{stop}");
                                expected.elements = found.elements;
                            }
                            assert_eq!(found, expected, "{dimension:?} {start}:{stop}:{step}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn reads_of_lists_are_those_of_their_boxes() {
        let dimension = Dimension { chunk: 4, array: 10, own: 2 };
        let list = [0, 9, 1, 2, 8];
        assert_eq!(dimension.of_list(&list), Counts { chunks: 2, reads: 4, elements: 6 });
        assert_eq!(dimension.of_list(&list), counted(&list, dimension));
    }

    #[test]
    fn lengths_may_be_huge() {
        let dimension = Dimension { chunk: 1 << 40, array: u64::MAX, own: 3 };
        let counts = dimension.of_range(1, u64::MAX, 1);
        assert_eq!(counts.chunks, 1 << 24);
        assert!(counts.reads > u64::MAX / 3 && counts.elements == u64::MAX, "{counts:?}");
    }
}
