//! Array subsets.

use std::fmt;
use std::ops::Range;

/// A half-open range of elements per dimension.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ArraySubset(Vec<Range<u64>>);

impl ArraySubset {
    /// Creates a subset from one range per dimension; a range that ends before its start is empty.
    #[must_use]
    pub fn new(ranges: Vec<Range<u64>>) -> Self {
        Self(ranges.into_iter().map(|range| range.start..range.end.max(range.start)).collect())
    }

    /// Returns the subset of all elements of an array.
    #[must_use]
    pub fn whole(shape: &[u64]) -> Self {
        Self(shape.iter().map(|&length| 0..length).collect())
    }

    /// Returns the number of dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// Returns one range per dimension.
    #[must_use]
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.0
    }

    /// Returns the number of elements per dimension.
    #[must_use]
    pub fn shape(&self) -> Vec<u64> {
        self.0.iter().map(|range| range.end - range.start).collect()
    }

    /// Returns the first element per dimension.
    #[must_use]
    pub fn start(&self) -> Vec<u64> {
        self.0.iter().map(|range| range.start).collect()
    }

    /// Returns whether the subset is empty. A subset without dimensions contains one element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().any(Range::is_empty)
    }

    /// Returns the number of elements; `None` if it exceeds `u64::MAX`.
    #[must_use]
    pub fn element_count(&self) -> Option<u64> {
        if self.is_empty() {
            return Some(0);
        }
        self.0.iter().try_fold(1u64, |product, range| product.checked_mul(range.end - range.start))
    }

    /// Returns the elements in both subsets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self::new(self.0.iter().zip(&other.0).map(|(a, b)| a.start.max(b.start)..a.end.min(b.end)).collect())
    }

    /// Returns whether the subset contains every element of `other`.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        other.is_empty() || self.0.iter().zip(&other.0).all(|(a, b)| a.start <= b.start && b.end <= a.end)
    }
}

impl fmt::Debug for ArraySubset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.0).finish()
    }
}

/// Formats the subset as in NumPy: `[0:10, 4:6]`.
impl fmt::Display for ArraySubset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (dimension, range) in self.0.iter().enumerate() {
            let separator = if dimension == 0 { "" } else { ", " };
            write!(f, "{separator}{}:{}", range.start, range.end)?;
        }
        f.write_str("]")
    }
}
