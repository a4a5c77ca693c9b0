//! Medians, quartiles, geometric means.

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

    #[test]
    fn the_geometric_mean_of_a_ratio_and_its_inverse_is_one() {
        assert!((geometric_mean(&[4.0, 0.25]).unwrap() - 1.0).abs() < 1e-12);
        assert!((geometric_mean(&[2.0, 8.0]).unwrap() - 4.0).abs() < 1e-12);
        assert_eq!(geometric_mean(&[]), None);
    }
}
