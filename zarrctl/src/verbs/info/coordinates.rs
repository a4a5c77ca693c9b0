//! The ranges of coordinates, decoded by the CF conventions.

use zarr_kit::archive::numbers;
use zarr_kit::spec::Value;
use zarr_kit::{Array, DimensionSelection, Selection};

use crate::cf::{Decoding, TimeUnits};
use crate::decoded::{decoded_texts, short};
use crate::failure::Failure;

/// The maximum number of values of a coordinate that are read. Of a longer coordinate, only the ends are read.
const MOST: u64 = 1 << 16;

/// The most texts that are listed.
const TEXTS: usize = 4;

/// The largest difference between equal steps, as a share of a step.
const ROUNDING: f64 = 1e-4;

/// Describes the values of an array of one dimension: `60 to -30 degrees_north`.
pub(super) fn range(coordinate: &Array) -> Result<String, Failure> {
    let length = coordinate.shape().first().copied().unwrap_or(1);
    if length == 0 {
        return Ok("no values".to_owned());
    }
    let all = DimensionSelection::Range { start: 0, stop: length, step: 1 };
    let is_whole = length <= MOST;
    let along = if is_whole { all } else { DimensionSelection::List(vec![0, length - 1]) };
    let elements = coordinate.read(Selection::Orthogonal(vec![along]))?;
    let decoding = Decoding::of(coordinate);
    let mut texts = decoded_texts(coordinate, &decoding, &elements)?;
    let time = TimeUnits::of(coordinate);
    if time.is_some() {
        // NumPy's times are texts in quotes.
        texts.iter_mut().for_each(|text| *text = text.trim_matches('"').to_owned());
    }
    let Some(numbers) = numbers(&elements) else { return Ok(listed(&texts, length)) };
    let values: Vec<f64> = numbers.iter().map(|&number| decoding.value(number)).collect();
    let unit = coordinate.attributes().get("units").and_then(Value::as_str).unwrap_or_default();
    let unit = if time.is_some() || unit.is_empty() { String::new() } else { format!(" {unit}") };
    let [Some(first), Some(last)] = [texts.first(), texts.last()] else { return Ok(String::new()) };
    if texts.len() == 1 {
        return Ok(format!("{first}{unit}"));
    }
    if !is_sorted(&values) {
        let [least, most] = [least(&values), most(&values)].map(|at| at.and_then(|at| texts.get(at)));
        return Ok(match [least, most] {
            [Some(least), Some(most)] => format!("{least} to {most}{unit}, not sorted"),
            _ => "no values that are not missing".to_owned(),
        });
    }
    let step = step(&values).filter(|_| is_whole && time.is_none());
    let step = step.map_or_else(String::new, |step| format!(", step {}", short(step)));
    Ok(format!("{first} to {last}{unit}{step}"))
}

/// Lists texts: all, or the first ones and the last.
fn listed(texts: &[String], length: u64) -> String {
    match texts {
        [first, .., last] if length > TEXTS as u64 => format!("{first}, …, {last}"),
        texts => texts.join(", "),
    }
}

fn is_sorted(values: &[f64]) -> bool {
    values.is_sorted() || values.is_sorted_by(|one, other| one >= other)
}

/// Returns the position of the smallest value.
fn least(values: &[f64]) -> Option<usize> {
    let numbers = values.iter().enumerate().filter(|(_, value)| !value.is_nan());
    numbers.min_by(|one, other| one.1.total_cmp(other.1)).map(|(at, _)| at)
}

/// Returns the position of the largest value.
fn most(values: &[f64]) -> Option<usize> {
    let numbers = values.iter().enumerate().filter(|(_, value)| !value.is_nan());
    numbers.max_by(|one, other| one.1.total_cmp(other.1)).map(|(at, _)| at)
}

/// Returns the distance between values, if it is always about the same.
fn step(values: &[f64]) -> Option<f64> {
    let step = values.get(1)? - values.first()?;
    let are_equal = values.windows(2).all(|pair| (pair[1] - pair[0] - step).abs() <= step.abs() * ROUNDING);
    (are_equal && values.len() > 2).then_some(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_equal_up_to_rounding() {
        assert_eq!(step(&[1.0, 1.5, 2.0]), Some(0.5));
        assert!(step(&[0.1, 0.2, 0.3, 0.4]).is_some());
        assert_eq!(step(&[1.0, 2.0, 4.0]), None);
        assert_eq!(step(&[1.0, 2.0]), None);
        assert_eq!(step(&[]), None);
    }

    #[test]
    fn unsorted_values_have_extremes() {
        let values = [2.0, f64::NAN, -1.0, 5.0];
        assert!(!is_sorted(&values) && is_sorted(&[3.0, 2.0, 2.0]));
        assert_eq!([least(&values), most(&values)], [Some(2), Some(3)]);
        assert_eq!(least(&[f64::NAN]), None);
    }
}
