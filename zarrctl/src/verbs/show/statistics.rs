//! Statistics of the elements of a selection: exact, or of a sample of chunks.

use std::collections::BTreeSet;

use zarr_kit::archive::numbers;
use zarr_kit::spec::ArraySubset;
use zarr_kit::{Array, DimensionSelection, Selection};

use crate::cf::Decoding;
use crate::failure::Failure;
use crate::slabs;

/// Selections of at most this size are read as a whole, in bytes.
const WHOLE: u64 = 256 << 20;

/// The most chunks of a sample.
const CHUNKS: u64 = 64;

/// The bars of a histogram.
pub(crate) const BARS: usize = 16;

/// The maximum number of values that are held for a histogram. If there are more values, only every second value is
/// held, then every fourth, and so on.
const HELD: usize = 1 << 20;

/// Statistics of numbers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Statistics {
    /// The number of elements that were read.
    pub(crate) read: u64,
    /// Whether all selected elements were read.
    pub(crate) is_exact: bool,
    /// The number of missing values and NaNs.
    pub(crate) missing: u64,
    pub(crate) least: f64,
    pub(crate) most: f64,
    pub(crate) mean: f64,
    /// The standard deviation of all values that were read (with divisor n).
    pub(crate) deviation: f64,
    /// The number of values in each of [`BARS`] equal parts of the range.
    pub(crate) histogram: Vec<u64>,
}

/// Computes statistics of a selection; `None` if the elements are not numbers. Large selections are sampled unless
/// `is_exact`.
pub(crate) fn statistics(
    array: &Array,
    along: &[DimensionSelection],
    decoding: &Decoding,
    is_exact: bool,
) -> Result<Option<Statistics>, Failure> {
    let mut sums = Sums::default();
    let mut are_numbers = true;
    let mut add = |selection: &Selection| -> Result<(), Failure> {
        match numbers(&array.read(selection)?) {
            Some(values) => values.iter().for_each(|&value| sums.add(decoding.value(value))),
            None => are_numbers = false,
        }
        Ok(())
    };
    let size = slabs::count(along).saturating_mul(slabs::element_size(array));
    let sample = if is_exact || size <= WHOLE { None } else { sample(array, along)? };
    match &sample {
        Some(boxes) => boxes.iter().try_for_each(|subset| add(&subset.into()))?,
        None => slabs::for_each(array, along, 1, &mut add)?,
    }
    Ok(are_numbers.then(|| sums.statistics(sample.is_none())))
}

/// Returns chunks that are spread evenly over a selection; `None` if it has few chunks, or is not a box.
fn sample(array: &Array, along: &[DimensionSelection]) -> Result<Option<Vec<ArraySubset>>, Failure> {
    let range = |along: &DimensionSelection| match along {
        DimensionSelection::Range { start, stop, step: 1 } => Some(*start..*stop),
        DimensionSelection::Index(index) => Some(*index..*index + 1),
        _ => None,
    };
    let Some(ranges) = along.iter().map(range).collect::<Option<Vec<_>>>() else { return Ok(None) };
    let grid = array.chunk_grid();
    let mut first = Vec::new();
    let mut counts = Vec::new();
    for (dimension, range) in ranges.iter().enumerate() {
        if range.is_empty() {
            return Ok(None);
        }
        let number =
            |element| grid.chunk_of(dimension, element).map_err(|error| Failure::Fault(error.into()));
        first.push(number(range.start)?);
        counts.push(number(range.end - 1)? - first[dimension] + 1);
    }
    let total = counts.iter().copied().fold(1, u64::saturating_mul);
    if total <= CHUNKS {
        return Ok(None);
    }
    let selected = ArraySubset::new(ranges);
    let numbers: BTreeSet<u64> = (0..CHUNKS)
        .filter_map(|number| u64::try_from(u128::from(total) * u128::from(number) / u128::from(CHUNKS)).ok())
        .collect();
    let mut boxes = Vec::new();
    for mut number in numbers {
        let mut index = vec![0; counts.len()];
        for dimension in (0..counts.len()).rev() {
            index[dimension] = first[dimension] + number % counts[dimension];
            number /= counts[dimension];
        }
        boxes.push(array.chunk_subset(&index)?.intersection(&selected));
    }
    Ok(Some(boxes))
}

/// Running sums, which do not lose digits (Welford's method).
#[derive(Debug)]
struct Sums {
    read: u64,
    missing: u64,
    count: f64,
    least: f64,
    most: f64,
    mean: f64,
    squares: f64,
    /// Values for the histogram, every `step`-th.
    held: Vec<f64>,
    step: u64,
}

impl Default for Sums {
    fn default() -> Self {
        Self {
            read: 0,
            missing: 0,
            count: 0.0,
            least: f64::INFINITY,
            most: f64::NEG_INFINITY,
            mean: 0.0,
            squares: 0.0,
            held: Vec::new(),
            step: 1,
        }
    }
}

impl Sums {
    fn add(&mut self, value: f64) {
        self.read += 1;
        if value.is_nan() {
            self.missing += 1;
            return;
        }
        self.least = self.least.min(value);
        self.most = self.most.max(value);
        if value.is_finite() {
            self.count += 1.0;
            let before = value - self.mean;
            self.mean += before / self.count;
            self.squares += before * (value - self.mean);
        }
        if self.read.is_multiple_of(self.step) {
            self.held.push(value);
            if self.held.len() == HELD {
                let mut number = 0_u64;
                self.held.retain(|_| {
                    number += 1;
                    number.is_multiple_of(2)
                });
                self.step *= 2;
            }
        }
    }

    fn statistics(self, is_exact: bool) -> Statistics {
        let has_values = self.count > 0.0;
        Statistics {
            read: self.read,
            is_exact,
            missing: self.missing,
            least: if self.least > self.most { f64::NAN } else { self.least },
            most: if self.least > self.most { f64::NAN } else { self.most },
            mean: if has_values { self.mean } else { f64::NAN },
            deviation: if has_values { (self.squares / self.count).sqrt() } else { f64::NAN },
            histogram: self.histogram(),
        }
    }

    /// Counts the held values in equal parts of the range of finite values.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "the result is clamped to the bars"
    )]
    fn histogram(&self) -> Vec<u64> {
        let finite = || self.held.iter().copied().filter(|value| value.is_finite());
        let low = finite().fold(f64::INFINITY, f64::min);
        let high = finite().fold(f64::NEG_INFINITY, f64::max);
        if low >= high {
            return Vec::new();
        }
        let mut bars = vec![0; BARS];
        for value in finite() {
            let bar = (value - low) / (high - low) * BARS as f64;
            bars[(bar as usize).min(BARS - 1)] += 1;
        }
        bars
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Statistics {
        let mut sums = Sums::default();
        values.iter().for_each(|&value| sums.add(value));
        sums.statistics(true)
    }

    #[test]
    fn statistics_are_those_of_numpy() {
        let found = of(&[1.0, 2.0, f64::NAN, 4.0, 9.0]);
        assert_eq!((found.read, found.missing, found.least, found.most), (5, 1, 1.0, 9.0));
        assert_eq!(found.mean, 4.0);
        // numpy.std([1, 2, 4, 9])
        assert!((found.deviation - 3.082_207_001_484_488).abs() < 1e-12, "{}", found.deviation);
        assert_eq!(found.histogram.iter().sum::<u64>(), 4);
        assert_eq!((found.histogram[0], found.histogram[15]), (1, 1));
    }

    #[test]
    fn large_offsets_do_not_cancel() {
        let found = of(&[1e9, 1e9 + 1.0, 1e9 + 2.0]);
        assert!((found.deviation - (2.0_f64 / 3.0).sqrt()).abs() < 1e-9, "{}", found.deviation);
    }

    #[test]
    fn nothing_has_no_statistics() {
        for found in [of(&[]), of(&[f64::NAN])] {
            assert!(found.mean.is_nan() && found.least.is_nan() && found.deviation.is_nan());
            assert!(found.histogram.is_empty());
        }
        assert!(of(&[2.0, 2.0]).histogram.is_empty());
    }
}
