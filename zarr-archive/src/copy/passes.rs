//! Plans how the chunks of one array become chunks of another shape, in bounded memory.
//!
//! One pass reads boxes of whole chunks of the copy. If chunks of the source are much longer along some dimension, and
//! chunks of the copy along another, each box needs a small part of many chunks of the source, which are then read and
//! decoded again for the next box. Two passes read every chunk about once: the first writes chunks that lie inside of
//! both shapes to an intermediate array, and the second joins them.

use std::fmt;

use super::reads::Selected;
use super::text;

/// Small chunks are copied together, up to this number of bytes, if memory allows.
const TOGETHER: u64 = 32 << 20;

/// The minimum size in bytes of a chunk of the intermediate array. Smaller chunks would cost more as files than they
/// save.
const SMALLEST: u64 = 16 << 10;

/// Shapes and limits of a copy of one array.
#[derive(Debug, Clone)]
pub(crate) struct Shapes {
    /// Elements of the copy per dimension.
    pub(crate) array: Vec<u64>,
    /// Elements of the copy, per dimension, in a chunk of the source, or in its largest chunk.
    pub(crate) source: Vec<u64>,
    /// The elements of the source that are copied, and the chunks of the source.
    pub(crate) selected: Selected,
    /// Elements per dimension of a chunk of the copy, or of its largest chunk; of a shard if there are shards.
    pub(crate) target: Vec<u64>,
    pub(crate) sizes: Sizes,
}

/// Bytes of an element, and of all elements in memory at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) element: u64,
    pub(crate) budget: u64,
}

/// The passes over one array.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Passes {
    /// One pass.
    One(Pass),
    /// Two passes, each of which reads every chunk about once.
    Two(TwoPasses),
}

/// Boxes that are read and written in turn.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Pass {
    /// The size of a box: chunks of the result along each dimension.
    pub chunks: Vec<u64>,
    /// How often a chunk is read, on average.
    pub reads: f64,
}

/// Two passes through an intermediate array.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TwoPasses {
    /// The pass from the source to the intermediate array.
    pub first: Pass,
    /// Elements per dimension of a chunk of the intermediate array.
    pub between: Vec<u64>,
    /// The pass from the intermediate array to the copy.
    pub second: Pass,
}

impl Passes {
    /// Chooses one pass, unless it would read the chunks of the source more than `max_reads` times on average, and two
    /// passes read and write less in total.
    pub(crate) fn new(shapes: &Shapes, max_reads: f64) -> Self {
        let one = shapes.one_pass();
        if one.reads <= max_reads {
            return Self::One(one);
        }
        let two = shapes.two_passes();
        let is_large = bytes(&two.between, shapes.sizes.element) >= SMALLEST;
        // The intermediate array is also written once, which counts like one more read.
        let is_less = two.first.reads + 1.0 + two.second.reads < one.reads;
        if is_large && is_less { Self::Two(two) } else { Self::One(one) }
    }

    /// Returns the number of passes.
    #[must_use]
    pub fn count(&self) -> u64 {
        match self {
            Self::One(_) => 1,
            Self::Two(_) => 2,
        }
    }
}

impl fmt::Display for Passes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(pass) => write!(f, "1; each chunk is read {} on average", times(pass.reads)),
            Self::Two(two) => write!(
                f,
                "2, with chunks of {} in between; each chunk is read {}, then {} on average",
                text::shape(&two.between),
                times(two.first.reads),
                times(two.second.reads)
            ),
        }
    }
}

fn times(reads: f64) -> String {
    format!("{reads:.2} times")
}

impl Shapes {
    fn one_pass(&self) -> Pass {
        let Self { array, source, selected, target, sizes } = self;
        let chunks = region(target, &ratios(source, target), &ratios(array, target), *sizes);
        with_boxes(chunks, selected, target)
    }

    fn two_passes(&self) -> TwoPasses {
        // The largest boxes of whole source chunks, and of whole chunks of the copy, that memory allows.
        let read = grown(&self.source, &ratios(&self.target, &self.source), &self.array, self.sizes);
        let write = grown(&self.target, &ratios(&self.source, &self.target), &self.array, self.sizes);
        let between: Vec<u64> = read.iter().zip(&write).map(|(read, write)| *read.min(write)).collect();
        let whole = |boxes: &[u64], unit: &[u64]| {
            boxes.iter().zip(unit).map(|(own, unit)| (own / unit.max(&1)).max(1)).collect::<Vec<_>>()
        };
        let first = with_boxes(whole(&read, &between), &self.selected, &between);
        let copied = Selected::whole(&self.array, between.clone());
        let second = with_boxes(whole(&write, &self.target), &copied, &self.target);
        TwoPasses { first, between, second }
    }
}

/// Returns the pass over boxes of `chunks` chunks of the shape `to`.
fn with_boxes(chunks: Vec<u64>, from: &Selected, to: &[u64]) -> Pass {
    let boxes: Vec<u64> = to.iter().zip(&chunks).map(|(to, chunks)| to.saturating_mul(*chunks)).collect();
    Pass { reads: from.reads(&boxes), chunks }
}

/// Returns a box of as many chunks as memory allows, in elements per dimension.
fn grown(chunk: &[u64], cover: &[u64], array: &[u64], sizes: Sizes) -> Vec<u64> {
    let counts = region(chunk, cover, &ratios(array, chunk), sizes);
    let lengths = chunk.iter().zip(&counts).zip(array);
    lengths.map(|((chunk, count), &array)| chunk.saturating_mul(*count).min(array.max(1))).collect()
}

/// Returns the number of `unit` lengths that cover each length.
fn ratios(lengths: &[u64], unit: &[u64]) -> Vec<u64> {
    lengths.iter().zip(unit).map(|(length, unit)| length.div_ceil((*unit).max(1)).max(1)).collect()
}

fn bytes(lengths: &[u64], element: u64) -> u64 {
    lengths.iter().copied().fold(element.max(1), u64::saturating_mul)
}

/// Returns the number of chunks per dimension that are copied together: enough to cover `cover` chunks if memory
/// allows, and more if chunks are small.
pub(crate) fn region(chunk: &[u64], cover: &[u64], grid: &[u64], sizes: Sizes) -> Vec<u64> {
    let Sizes { element, budget } = sizes;
    let mut counts = vec![1u64; chunk.len()];
    let bytes = |counts: &[u64]| {
        let lengths = chunk.iter().zip(counts).map(|(chunk, count)| chunk.saturating_mul(*count));
        lengths.fold(element.max(1), u64::saturating_mul)
    };
    for (budget, wanted) in [(budget, cover), (TOGETHER.min(budget), grid)] {
        for dimension in (0..chunk.len()).rev() {
            let now = counts[dimension];
            let limit = wanted[dimension].min(grid[dimension]);
            let fitting = budget / bytes(&counts).max(1);
            // Multiples of the current count, so that regions still end at chunk boundaries of the source.
            let times = fitting.min(limit.div_ceil(now)).max(1);
            counts[dimension] = now.saturating_mul(times);
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn sizes(element: u64) -> Sizes {
        Sizes { element, budget: 128 * MIB }
    }

    fn shapes(array: &[u64], source: &[u64], target: &[u64], budget: u64) -> Shapes {
        Shapes {
            array: array.to_vec(),
            source: source.to_vec(),
            selected: Selected::whole(array, source.to_vec()),
            target: target.to_vec(),
            sizes: Sizes { element: 4, budget },
        }
    }

    #[test]
    fn planes_become_columns_in_two_passes_that_read_each_chunk_once() {
        let shapes = shapes(&[1024, 1024, 1024], &[1, 1024, 1024], &[1024, 32, 32], 64 * MIB);
        let Passes::Two(two) = Passes::new(&shapes, 2.0) else { panic!("{:?}", Passes::new(&shapes, 2.0)) };
        assert_eq!(two.between, [16, 32, 512]);
        assert_eq!((two.first.reads, two.second.reads), (1.0, 1.0));
        assert_eq!(two.first.chunks, [1, 32, 2]);
        assert_eq!(two.second.chunks, [1, 1, 16]);
    }

    #[test]
    fn one_pass_suffices_if_chunks_fit_into_memory_or_are_similar() {
        for (source, target) in [
            ([1, 1024, 1024], [1, 512, 512]),
            ([1, 1024, 1024], [8, 1024, 1024]),
            ([64, 64, 64], [128, 32, 64]),
            ([1, 1024, 1024], [3, 1024, 100]),
        ] {
            let shapes = shapes(&[1024, 1024, 1024], &source, &target, 128 * MIB);
            let plan = Passes::new(&shapes, 2.0);
            assert_eq!(plan.count(), 1, "{source:?} {target:?} {plan:?}");
        }
        // The array fits into memory, so one pass reads each chunk once.
        let small = shapes(&[16, 256, 256], &[1, 256, 256], &[16, 8, 8], 64 * MIB);
        assert_eq!(Passes::new(&small, 1.0), Passes::One(Pass { chunks: vec![1, 32, 32], reads: 1.0 }));
    }

    #[test]
    fn one_pass_is_kept_on_request_and_if_two_do_not_help() {
        let columns = shapes(&[1024, 1024, 1024], &[1, 1024, 1024], &[1024, 32, 32], 64 * MIB);
        assert_eq!(Passes::new(&columns, 1000.0).count(), 1);
        // Chunks of the intermediate array would be tiny, so one pass is chosen.
        let tiny = shapes(&[1 << 20, 1 << 20], &[1, 1 << 20], &[1 << 20, 1], MIB);
        assert_eq!(Passes::new(&tiny, 2.0).count(), 1);
        assert_eq!(Passes::new(&shapes(&[], &[], &[], MIB), 1.0).count(), 1);
        assert_eq!(Passes::new(&shapes(&[0, 5], &[1, 5], &[1, 1], MIB), 1.0).count(), 1);
    }

    #[test]
    fn regions_cover_the_chunks_of_the_source_where_memory_allows() {
        // Chunks of 1 MiB; those of the source are four times as long. Eight source chunks of 4 MiB fit into
        // 32 MiB.
        assert_eq!(region(&[1024, 1024], &[4, 1], &[100, 1], sizes(1)), [32, 1]);
        // A source chunk exceeds the budget, so regions consist of chunks of the copy.
        assert_eq!(region(&[4096, 4096], &[100, 1], &[100, 1], sizes(4)), [2, 1]);
        // A chunk exceeds the budget, so a region is one chunk.
        assert_eq!(region(&[1 << 20, 1 << 10], &[1, 1], &[10, 10], sizes(1)), [1, 1]);
        assert!(region(&[], &[], &[], sizes(8)).is_empty());
        // With little memory there are fewer chunks, but at least one.
        assert_eq!(region(&[1024, 1024], &[4, 1], &[100, 1], Sizes { element: 1, budget: 2 * MIB }), [2, 1]);
        assert_eq!(region(&[1024, 1024], &[4, 1], &[100, 1], Sizes { element: 1, budget: 1 }), [1, 1]);
    }

    #[test]
    fn regions_exceed_the_budget_only_if_one_chunk_does() {
        for chunk in [[1, 1], [100, 7], [512, 4096], [8192, 8192]] {
            for cover in [[1, 1], [3, 5], [1000, 1], [1, 1000]] {
                let counts = region(&chunk, &cover, &[1 << 20, 1 << 20], sizes(8));
                let bytes = chunk[0] * counts[0] * chunk[1] * counts[1] * 8;
                assert!(bytes <= 128 * MIB || counts == [1, 1], "{chunk:?} {cover:?}: {counts:?}");
            }
        }
    }
}
