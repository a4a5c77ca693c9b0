//! Random numbers from a printed seed, and random selections.

use zarr_kit::{DimensionSelection, Selection};

/// A random number generator with a fixed sequence for each seed (SplitMix64).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Creates a generator from a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a random number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`, which must not be 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.number() % end
    }

    /// Returns a number from `first` to `last`, inclusive.
    pub fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last - first + 1)
    }

    /// Returns an index below `end`, which must not be 0.
    pub fn index(&mut self, end: usize) -> usize {
        // The remainder is below `end`.
        usize::try_from(self.below(end as u64)).unwrap_or(0)
    }

    /// Returns `true` with a probability of one in `of`.
    pub fn chance(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    /// Returns a random item of `of`.
    pub fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.index(of.len())]
    }

    /// Returns a permutation of the numbers below `count`.
    pub fn permutation(&mut self, count: usize) -> Vec<usize> {
        let mut numbers: Vec<usize> = (0..count).collect();
        for place in (1..count).rev() {
            numbers.swap(place, self.index(place + 1));
        }
        numbers
    }

    /// Returns a random selection from an array of `shape`; lists and coordinates may repeat elements if
    /// `repeating`.
    pub fn selection(&mut self, shape: &[u64], repeating: bool) -> Selection {
        let elements: u64 = shape.iter().product();
        match self.below(10) {
            0 => Selection::All,
            1 if !shape.is_empty() && elements > 0 => self.coordinates(shape, repeating),
            2 if elements <= 4096 => Selection::Mask((0..elements).map(|_| self.chance(3)).collect()),
            3 => Selection::Orthogonal(shape.iter().map(|&length| self.range(length, 1)).collect()),
            _ => Selection::Orthogonal(shape.iter().map(|&length| self.along(length, repeating)).collect()),
        }
    }

    fn range(&mut self, length: u64, step: u64) -> DimensionSelection {
        let a = self.between(0, length);
        let b = self.between(0, length);
        DimensionSelection::Range { start: a.min(b), stop: a.max(b), step }
    }

    fn along(&mut self, length: u64, repeating: bool) -> DimensionSelection {
        match self.below(6) {
            0 if length > 0 => DimensionSelection::Index(self.below(length)),
            1 if length > 0 => DimensionSelection::List(self.list(length, repeating)),
            2 => {
                let step = self.between(1, length.max(1) + 1);
                self.range(length, step)
            }
            3 => DimensionSelection::Range { start: 0, stop: length, step: 1 },
            _ => self.range(length, 1),
        }
    }

    /// Returns indices below `length`: descending, evenly spaced or arbitrary.
    fn list(&mut self, length: u64, repeating: bool) -> Vec<u64> {
        let mut list: Vec<u64> = match self.below(3) {
            0 => (0..length).rev().collect(),
            1 => (0..length).step_by(self.index(3) + 1).collect(),
            _ => (0..self.between(0, 6)).map(|_| self.below(length)).collect(),
        };
        if self.chance(3) && list.len() > 1 {
            let a = self.index(list.len());
            let b = self.index(list.len());
            list.swap(a, b);
        }
        if !repeating {
            let mut seen = std::collections::HashSet::new();
            list.retain(|&index| seen.insert(index));
        }
        list
    }

    fn coordinates(&mut self, shape: &[u64], repeating: bool) -> Selection {
        let count = self.between(0, 12);
        let mut points: Vec<Vec<u64>> =
            (0..count).map(|_| shape.iter().map(|&length| self.below(length)).collect()).collect();
        if !repeating {
            points.sort();
            points.dedup();
        }
        let lists = (0..shape.len()).map(|dimension| points.iter().map(|point| point[dimension]).collect());
        Selection::Coordinates(lists.collect())
    }
}
