//! Medians, quartiles, geometric means, and intervals of ratios.

/// The median and the quartiles of some numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) lower: f64,
    pub(crate) median: f64,
    pub(crate) upper: f64,
}

impl Spread {
    /// Returns the spread of some numbers, or `None` without numbers.
    pub(crate) fn of(numbers: &[f64]) -> Option<Self> {
        let mut sorted = numbers.to_vec();
        sorted.sort_by(f64::total_cmp);
        let lower = quantile(&sorted, 0.25)?;
        Some(Self { lower, median: quantile(&sorted, 0.5)?, upper: quantile(&sorted, 0.75)? })
    }
}

/// Returns a quantile with linear interpolation between neighbours.
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let wanted = share * last as f64;
    let below = (0..last).rev().find(|&place| place as f64 <= wanted).unwrap_or(0);
    let low = *sorted.get(below)?;
    let high = *sorted.get(below + 1).unwrap_or(sorted.last()?);
    Some(low + (high - low) * (wanted - below as f64))
}

/// The limits between which the mean of a ratio lies with a probability of 95 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Interval {
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

/// The quantiles of Student's distribution for an interval of 95 %, by degrees of freedom from 1.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

impl Interval {
    /// Returns the interval of the geometric mean of `others[round] / ours[round]`. Rounds that only one side has run are
    /// left out. Returns `None` for fewer than two rounds.
    pub(crate) fn of_ratios(others: &[f64], ours: &[f64]) -> Option<Self> {
        let logarithms: Vec<f64> = others.iter().zip(ours).map(|(other, ours)| (other / ours).ln()).collect();
        let count = logarithms.len();
        let freedom = count.checked_sub(2)?;
        let mean = logarithms.iter().sum::<f64>() / count as f64;
        let squares = logarithms.iter().map(|logarithm| (logarithm - mean).powi(2)).sum::<f64>();
        let error = (squares / (count - 1) as f64 / count as f64).sqrt();
        let width = error * STUDENT[freedom.min(STUDENT.len() - 1)];
        Some(Self { lower: (mean - width).exp(), upper: (mean + width).exp() })
    }
}

/// Returns the geometric mean, or `None` without numbers.
pub(crate) fn geometric_mean(numbers: &[f64]) -> Option<f64> {
    if numbers.is_empty() {
        return None;
    }
    Some((numbers.iter().map(|number| number.ln()).sum::<f64>() / numbers.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values from `numpy.quantile`.
    #[test]
    fn quartiles_are_interpolated_linearly() {
        let spread = Spread::of(&[4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!(spread, Spread { lower: 1.75, median: 2.5, upper: 3.25 });
        let spread = Spread::of(&[10.0, 30.0, 20.0]).unwrap();
        assert_eq!(spread, Spread { lower: 15.0, median: 20.0, upper: 25.0 });
        assert_eq!(Spread::of(&[7.0]).unwrap(), Spread { lower: 7.0, median: 7.0, upper: 7.0 });
        assert_eq!(Spread::of(&[]), None);
    }

    /// Expected values from `scipy.stats.ttest_rel` of the logarithms, and its `confidence_interval`.
    #[test]
    fn the_interval_of_paired_ratios_is_that_of_students_distribution() {
        let ours = [1.0, 1.1, 0.9, 1.0];
        let theirs = [1.2, 1.2, 1.1, 1.3];
        let interval = Interval::of_ratios(&theirs, &ours).unwrap();
        assert!((interval.lower - 1.06985385).abs() < 1e-4, "{interval:?}");
        assert!((interval.upper - 1.34805376).abs() < 1e-4, "{interval:?}");
        assert_eq!(Interval::of_ratios(&theirs[..1], &ours), None);
        let equal = Interval::of_ratios(&[0.5; 9], &[1.0; 9]).unwrap();
        assert!((equal.lower - 0.5).abs() < 1e-12 && (equal.upper - 0.5).abs() < 1e-12, "{equal:?}");
    }

    #[test]
    fn the_geometric_mean_of_a_ratio_and_its_inverse_is_one() {
        assert!((geometric_mean(&[4.0, 0.25]).unwrap() - 1.0).abs() < 1e-12);
        assert!((geometric_mean(&[2.0, 8.0]).unwrap() - 4.0).abs() < 1e-12);
        assert_eq!(geometric_mean(&[]), None);
    }
}
