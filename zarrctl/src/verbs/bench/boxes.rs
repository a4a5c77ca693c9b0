//! Chooses the parts of an array to read.

use std::ops::Range;

use zarr_kit::spec::ArraySubset;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// All elements at one index of this dimension.
    Plane(usize),
    /// A row of chunks along the first dimension, complete in all others.
    Slab,
    /// Single chunks or inner chunks.
    Chunk,
    /// Boxes with the shape of a chunk at random positions.
    Box,
}

impl Access {
    pub(super) fn all(rank: usize) -> Vec<Self> {
        let planes = (0..rank).map(Self::Plane);
        let slab = (rank > 1).then_some(Self::Slab);
        let boxes = (rank > 0).then_some(Self::Box);
        planes.chain(slab).chain([Self::Chunk]).chain(boxes).collect()
    }

    pub(super) fn name(self) -> String {
        match self {
            Self::Plane(dimension) => format!("planes of dimension {dimension}"),
            Self::Slab => "slabs of chunks".to_owned(),
            Self::Chunk => "chunk by chunk".to_owned(),
            Self::Box => "random boxes".to_owned(),
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Geometry {
    /// Elements of the array per dimension; never 0.
    pub(super) shape: Vec<u64>,
    /// Elements of a chunk, or of an inner chunk of a shard.
    pub(super) chunk: Vec<u64>,
    /// Bytes of an element; an estimate for variable size.
    pub(super) element: u64,
}

/// The limits of one read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    pub(super) chunks: u64,
    /// The maximum decoded size of all chunks together, in bytes.
    pub(super) bytes: u64,
}

impl Geometry {
    /// Returns the size of a decoded chunk in bytes.
    pub(super) fn chunk_size(&self) -> u64 {
        self.chunk.iter().fold(self.element, |product, &length| product.saturating_mul(length.max(1)))
    }

    /// Returns the decoded size, in bytes, of all chunks that overlap a part.
    pub(super) fn touched_size(&self, part: &ArraySubset) -> u64 {
        let touched =
            part.ranges().iter().zip(&self.chunk).map(|(range, &length)| chunks_touched(range, length));
        touched.fold(self.chunk_size(), u64::saturating_mul)
    }

    /// Chooses a part of the array that overlaps `chunk` and stays within the budget. Returns the chunk if
    /// there is no such part.
    pub(super) fn part(
        &self,
        access: Access,
        chunk: &ArraySubset,
        budget: Budget,
        random: &mut Random,
    ) -> ArraySubset {
        let inside = chunk.intersection(&ArraySubset::whole(&self.shape));
        let wanted: Vec<Range<u64>> = match access {
            Access::Chunk => return inside,
            Access::Box if self.chunk_size() > (4 * budget.bytes) >> self.shape.len().min(63) => {
                return self.corner(&inside, random);
            }
            Access::Box => return self.anywhere(&inside, random),
            Access::Slab => {
                let first = inside.ranges().iter().take(1).cloned();
                first.chain(self.shape.iter().skip(1).map(|&length| 0..length)).collect()
            }
            Access::Plane(along) => self
                .shape
                .iter()
                .zip(inside.ranges())
                .enumerate()
                .map(|(dimension, (&length, range))| match dimension == along {
                    true => {
                        let index = range.start + random.below(range.end.saturating_sub(range.start));
                        index..index + 1
                    }
                    false => 0..length,
                })
                .collect(),
        };
        self.clipped(&wanted, &inside, budget)
    }

    /// Chooses a box with the shape of a chunk, clipped to the array, with its center in `inside`.
    fn anywhere(&self, inside: &ArraySubset, random: &mut Random) -> ArraySubset {
        let lengths = self.shape.iter().zip(&self.chunk).zip(inside.ranges());
        let ranges = lengths.map(|((&all, &chunk), range)| {
            let length = chunk.clamp(1, all);
            let middle = range.start + random.below(range.end.saturating_sub(range.start));
            let start = middle.saturating_sub(length / 2).min(all - length);
            start..start + length
        });
        ArraySubset::new(ranges.collect())
    }

    /// Chooses a box inside one chunk, with half the length along each dimension, because several large
    /// chunks may exceed memory.
    fn corner(&self, inside: &ArraySubset, random: &mut Random) -> ArraySubset {
        let ranges = inside.ranges().iter().map(|range| {
            let all = range.end.saturating_sub(range.start);
            let length = all.div_ceil(2);
            let start = range.start + random.below(all - length + 1);
            start..start + length
        });
        ArraySubset::new(ranges.collect())
    }

    /// Shrinks `wanted` around `chunk` along its longest dimensions until it fits the budget.
    fn clipped(&self, wanted: &[Range<u64>], chunk: &ArraySubset, budget: Budget) -> ArraySubset {
        let mut counts: Vec<u64> =
            wanted.iter().zip(&self.chunk).map(|(range, &length)| chunks_touched(range, length)).collect();
        let before = counts.clone();
        let most = (budget.bytes / self.chunk_size().max(1)).min(budget.chunks).max(1);
        while counts.iter().copied().fold(1, u64::saturating_mul) > most {
            let Some(largest) = counts.iter_mut().max() else { break };
            *largest = largest.div_ceil(2);
        }
        let ranges = wanted.iter().zip(chunk.ranges()).enumerate().map(|(dimension, (range, inside))| {
            let count = counts[dimension];
            if count == before[dimension] {
                return range.clone();
            }
            let length = self.chunk[dimension].max(1);
            let before_chunk = inside.start.saturating_sub(range.start) / length;
            let back = before_chunk.min((count - 1) / 2);
            let start = inside.start - back * length;
            start..start.saturating_add(count.saturating_mul(length)).min(range.end)
        });
        ArraySubset::new(ranges.collect())
    }
}

/// Returns the number of chunks that overlap a range.
fn chunks_touched(range: &Range<u64>, length: u64) -> u64 {
    let length = length.max(1);
    range.end.div_ceil(length).saturating_sub(range.start / length).max(1)
}

/// A generator of pseudo-random numbers. Each run generates the same numbers, so that measurements are
/// repeatable.
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new() -> Self {
        Self(0)
    }

    /// Returns a number below `limit`, or 0 if `limit` is 0.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        // SplitMix64, by Sebastiano Vigna.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MUCH: Budget = Budget { chunks: 1 << 20, bytes: 1 << 40 };

    fn geometry() -> Geometry {
        Geometry { shape: vec![100, 200, 30], chunk: vec![10, 20, 30], element: 2 }
    }

    fn chunk() -> ArraySubset {
        ArraySubset::new(vec![50..60, 100..120, 0..30])
    }

    #[test]
    fn parts_overlap_the_chunk() {
        let mut random = Random::new();
        let mut part = |access| geometry().part(access, &chunk(), MUCH, &mut random);
        let plane = part(Access::Plane(1));
        assert_eq!(plane.shape(), [100, 1, 30]);
        assert!((100..120).contains(&plane.start()[1]));
        assert_eq!(part(Access::Slab).ranges(), [50..60, 0..200, 0..30]);
        assert_eq!(part(Access::Chunk), chunk());
        for _ in 0..100 {
            let part = part(Access::Box);
            assert_eq!(part.shape(), [10, 20, 30]);
            assert!(!part.intersection(&chunk()).is_empty());
            assert!(ArraySubset::whole(&[100, 200, 30]).contains(&part));
        }
    }

    #[test]
    fn boxes_stay_in_one_chunk_where_chunks_are_large() {
        let budget = Budget { chunks: 1, bytes: 1 << 10 };
        let mut random = Random::new();
        for _ in 0..100 {
            let part = geometry().part(Access::Box, &chunk(), budget, &mut random);
            assert_eq!(part.shape(), [5, 10, 15]);
            assert!(chunk().contains(&part), "{part:?}");
        }
    }

    #[test]
    fn parts_stay_within_the_budget() {
        let geometry = geometry();
        for chunks in [1, 2, 3, 7, 50, 1000] {
            for access in [Access::Plane(0), Access::Plane(1), Access::Plane(2), Access::Slab] {
                let budget = Budget { chunks, bytes: u64::MAX };
                let part = geometry.part(access, &chunk(), budget, &mut Random::new());
                let touched = part
                    .ranges()
                    .iter()
                    .zip(&geometry.chunk)
                    .map(|(range, length)| range.end.div_ceil(*length) - range.start / length);
                assert!(touched.product::<u64>() <= chunks, "{access:?} {chunks} {part:?}");
                assert!(!part.intersection(&chunk()).is_empty(), "{access:?} {chunks} {part:?}");
            }
        }
        // A part has at least one chunk, regardless of the budget.
        let budget = Budget { chunks: 0, bytes: 0 };
        assert_eq!(geometry.part(Access::Slab, &chunk(), budget, &mut Random::new()), chunk());
    }

    #[test]
    fn arrays_of_any_number_of_dimensions_have_parts() {
        let scalar = Geometry { shape: Vec::new(), chunk: Vec::new(), element: 8 };
        let one = ArraySubset::new(Vec::new());
        assert_eq!(Access::all(0), [Access::Chunk]);
        assert_eq!(scalar.part(Access::Chunk, &one, MUCH, &mut Random::new()), one);
        assert_eq!(Access::all(1), [Access::Plane(0), Access::Chunk, Access::Box]);
        // The only chunk reaches past the end of the array.
        let short = Geometry { shape: vec![3], chunk: vec![10], element: 1 };
        for access in Access::all(1) {
            let part = short.part(access, &ArraySubset::whole(&[10]), MUCH, &mut Random::new());
            assert!(!part.is_empty() && ArraySubset::whole(&[3]).contains(&part), "{access:?} {part:?}");
        }
        let endless = Geometry { shape: vec![u64::MAX; 3], chunk: vec![1; 3], element: 1 };
        let budget = Budget { chunks: 64, bytes: 1 << 20 };
        let one = ArraySubset::new(vec![7..8, 1 << 40..(1 << 40) + 1, 0..1]);
        let part = endless.part(Access::Plane(0), &one, budget, &mut Random::new());
        assert!(part.element_count().unwrap() <= 64, "{part:?}");
    }
}
