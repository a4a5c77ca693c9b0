//! Helpers for codecs that decode subsets of an array.

use std::ops::Range;

use zarr_spec::ArraySubset;

/// Returns the runs of neighbouring elements of `subset`: ranges of positions in the elements of an array of `shape`
/// in C order. Runs are in ascending order and do not overlap.
pub fn runs<'s>(shape: &'s [u64], subset: &'s ArraySubset) -> impl Iterator<Item = Range<u64>> + use<'s> {
    let ranges = subset.ranges();
    let is_whole = |dimension: usize| ranges[dimension] == (0..shape[dimension]);
    // A run extends along the last dimension that is not whole, and all dimensions after it.
    let along = (0..shape.len()).rev().find(|&dimension| !is_whole(dimension)).unwrap_or(0);
    let row: u64 = shape.iter().skip(along + 1).product();
    let run = ranges.get(along).map_or(0..1, |range| range.start * row..range.end * row);
    let outer = &ranges[..along.min(ranges.len())];
    let length: u64 = shape.iter().skip(along).product();
    let count: u64 = outer.iter().map(|range| range.end - range.start).product();
    (0..count).map(move |number| {
        let mut rest = number;
        let mut stride = length;
        let mut offset = 0;
        for (range, length) in outer.iter().zip(shape).rev() {
            let count = range.end - range.start;
            offset += (range.start + rest % count) * stride;
            rest /= count;
            stride *= length;
        }
        offset + run.start..offset + run.end
    })
}

/// Combines byte ranges in ascending order that overlap or are at most `gap` bytes apart.
#[must_use]
pub fn combined(ranges: impl Iterator<Item = Range<u64>>, gap: u64) -> Vec<Range<u64>> {
    let mut combined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match combined.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(gap) => last.end = last.end.max(range.end),
            _ => combined.push(range),
        }
    }
    combined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs_of(shape: &[u64], ranges: &[Range<u64>]) -> Vec<Range<u64>> {
        runs(shape, &ArraySubset::new(ranges.to_vec())).collect()
    }

    #[test]
    fn a_run_extends_over_whole_trailing_dimensions() {
        assert_eq!(runs_of(&[4, 3, 2], &[1..3, 0..3, 0..2]), vec![6..18]);
        assert_eq!(runs_of(&[4, 3, 2], &[1..3, 1..2, 0..2]), [8..10, 14..16]);
        assert_eq!(runs_of(&[2, 3, 2], &[0..2, 0..2, 1..2]), [1..2, 3..4, 7..8, 9..10]);
    }

    #[test]
    fn whole_arrays_and_arrays_without_dimensions_are_one_run() {
        assert_eq!(runs_of(&[4, 3], &[0..4, 0..3]), vec![0..12]);
        assert_eq!(runs_of(&[], &[]), vec![0..1]);
    }

    #[test]
    fn ranges_that_are_close_are_combined() {
        assert_eq!(combined([0..2, 2..3, 5..6, 9..10].into_iter(), 2), [0..6, 9..10]);
    }
}
