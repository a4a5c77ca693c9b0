//! Elements as texts for people, decoded by the CF conventions.

use zarr_kit::archive::numbers;
use zarr_kit::spec::Value;
use zarr_kit::{Array, ElementArray};

use crate::cf::{Decoding, TimeUnits};
use crate::failure::Failure;
use crate::forms::summary::texts;

/// Formats elements: times as dates, packed numbers as the numbers that they stand for, missing values as NaN, and other
/// elements as they are stored.
pub(crate) fn decoded_texts(
    array: &Array,
    decoding: &Decoding,
    elements: &ElementArray,
) -> Result<Vec<String>, Failure> {
    let is_numpy_time = array.data_type().name().starts_with("numpy.");
    if let Some(time) = TimeUnits::of(array).filter(|_| !is_numpy_time)
        && let Some(values) = numbers(elements)
    {
        return Ok(values.iter().map(|&value| time.text(decoding.value(value))).collect());
    }
    if decoding.is_packed()
        && let Some(values) = numbers(elements)
    {
        return Ok(values.iter().map(|&value| short(decoding.value(value))).collect());
    }
    let stored = texts(elements)?;
    let Some(values) = numbers(elements) else { return Ok(stored) };
    let text =
        |(text, &value): (String, &f64)| if decoding.is_missing(value) { "NaN".to_owned() } else { text };
    Ok(stored.into_iter().zip(&values).map(text).collect())
}

/// Decodes the elements of an array.
#[derive(Debug)]
pub(crate) struct Decoder {
    decoding: Decoding,
    time: Option<TimeUnits>,
}

/// A decoded element.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Decoded {
    Number(f64),
    /// A time.
    Text(String),
}

impl Decoder {
    /// Returns the decoder; `None` if the metadata declare nothing to decode.
    pub(crate) fn of(array: &Array) -> Option<Self> {
        let decoding = Decoding::of_xarray(array);
        let is_numpy_time = array.data_type().name().starts_with("numpy.");
        let time = TimeUnits::of(array).filter(|_| !is_numpy_time);
        (time.is_some() || decoding.text().is_some()).then_some(Self { decoding, time })
    }

    /// Decodes elements; `None` if they are not numbers.
    pub(crate) fn decoded(&self, elements: &ElementArray) -> Option<Vec<Decoded>> {
        let decoded = |&stored: &f64| {
            let value = self.decoding.value(stored);
            match &self.time {
                Some(time) => Decoded::Text(time.text(value)),
                None => Decoded::Number(value),
            }
        };
        Some(numbers(elements)?.iter().map(decoded).collect())
    }
}

impl Decoded {
    /// Returns the element as text, with the fewest digits that restore a number.
    pub(crate) fn into_text(self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text,
        }
    }

    /// Returns the element as JSON; numbers that are not finite are texts.
    pub(crate) fn into_json(self) -> Value {
        match self {
            Self::Number(number) => Value::from(number),
            Self::Text(text) => Value::from(text),
        }
    }
}

/// Formats a number with at most seven digits.
pub(crate) fn short(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    let magnitude = number.abs();
    if number != 0.0 && number.is_finite() && !(1e-4..1e7).contains(&magnitude) {
        return format!("{number:.6e}");
    }
    let decimals = if magnitude >= 1e5 { 1 } else { 6 };
    let text = format!("{number:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_few_digits() {
        for (number, text) in [
            (0.0, "0"),
            (1.5, "1.5"),
            (-2.0, "-2"),
            (273.150_000_1, "273.15"),
            (1e-9, "1.000000e-9"),
            (123_456_789.0, "1.234568e8"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(short(number), text);
        }
    }
}
