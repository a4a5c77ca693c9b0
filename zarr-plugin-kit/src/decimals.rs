//! Decimal numbers of documents as elements, also of float types that Rust does not have.

use std::cmp::Ordering;

use zarr_json::{Number, Value};
use zarr_spec::data_type::FillContext;
use zarr_spec::{Format, Invalid};

/// Returns the number in a string, with a warning. Python programs write and read such strings in v2 and v3. In the draft,
/// only GDAL writes them, for integers from 2^63 on, which float64 cannot represent. `None` for other values.
///
/// # Errors
///
/// In strict mode, for a number in a string.
pub fn in_text(json: &Value, context: &FillContext<'_>) -> Result<Option<Number>, Invalid> {
    let number = json.as_str().and_then(Number::parse).filter(Number::is_finite_token);
    let is_large = |number: &Number| number.as_u64().is_some() && number.as_i64().is_none();
    let Some(number) = number.filter(|number| context.format != Format::V3Draft || is_large(number)) else {
        return Ok(None);
    };
    context.reading.tolerate(format!("fill value {json} is a number in a string"))?;
    Ok(Some(number))
}

/// Returns the nearest number with `mantissa` stored bits and an exponent of at least `least_exponent`, rounded once
/// from the decimal text; ties to even. The exponent has no upper limit, so the number may be too large for the type.
/// `None` if the number has too many digits.
#[must_use]
pub fn nearest(number: &Number, mantissa: u32, least_exponent: i16) -> Option<f64> {
    let double = number.as_f64()?;
    if double.is_infinite() {
        return Some(double);
    }
    let magnitude = double.abs();
    let exponent = (magnitude.to_bits() >> 52).max(1023_u64.saturating_add_signed(least_exponent.into()));
    let quantum = f64::from_bits((exponent - u64::from(mantissa)) << 52);
    // The product is exact, except for numbers that are too large and become infinite.
    Some((quotient(number, magnitude, quantum)? * quantum).copysign(double))
}

/// Divides `number` by `quantum`, a power of two, and rounds to an integer; ties to even. `magnitude` is the absolute
/// value of the double that is nearest to `number`. `None` if the number has too many digits.
#[must_use]
pub fn quotient(number: &Number, magnitude: f64, quantum: f64) -> Option<f64> {
    let quotient = magnitude / quantum;
    // The double rounds like the text, unless it is exactly between two elements.
    let is_between = quotient.fract() == 0.5;
    let side = if is_between { number.compare_magnitude(magnitude)? } else { Ordering::Equal };
    Some(match side {
        Ordering::Less => quotient.floor(),
        Ordering::Equal => quotient.round_ties_even(),
        Ordering::Greater => quotient.ceil(),
    })
}

/// Returns the number with the fewest digits, at most six, that `is_same` accepts; `value` if there is none.
#[must_use]
pub fn shortest(value: f64, is_same: impl Fn(&Number) -> bool) -> f64 {
    let texts = (0..5).map(|digits| format!("{value:.digits$e}"));
    let mut same = texts.filter(|text| Number::parse(text).is_some_and(|number| is_same(&number)));
    same.next().and_then(|text| text.parse().ok()).unwrap_or(value)
}
