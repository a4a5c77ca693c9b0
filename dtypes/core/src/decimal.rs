//! Exact decimal numbers, where a detour through a float would round.

use std::cmp::Ordering;

use zarr_spec::Number;

/// The size of a finite number, `0.DIGITS` × 10^`exponent`; zero has no digits and the least exponent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    /// Neither the first nor the last is a zero.
    digits: String,
    exponent: i128,
}

impl Decimal {
    /// Reads the text of a JSON number, without its sign. `None` if its exponent does not fit 64 bits.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim_start_matches('-');
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let exponent: i64 = exponent.parse().ok()?;
        let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{integer}{fraction}");
        let significant = all.trim_start_matches('0');
        let zeros = all.len() - significant.len();
        let place = i128::try_from(integer.len()).ok()? - i128::try_from(zeros).ok()?;
        let digits = significant.trim_end_matches('0').to_owned();
        let exponent = if digits.is_empty() { i128::MIN } else { i128::from(exponent) + place };
        Some(Self { digits, exponent })
    }

    /// Compares with a float that is not zero and a multiple of 2^-60.
    pub(crate) fn compare(&self, float: f64) -> Option<Ordering> {
        // A binary fraction of n places has n decimal ones.
        let other = Self::parse(&format!("{:.60}", float.abs()))?;
        Some(self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits)))
    }
}

/// The integer that a number stands for, whatever its notation: `1.0`, `1e3`.
pub(crate) fn integer(number: &Number) -> Option<i128> {
    let Decimal { digits, exponent } = Decimal::parse(number.text())?;
    if digits.is_empty() {
        return Some(0);
    }
    // 2^127 has 39 digits.
    let length = usize::try_from(exponent).ok().filter(|&length| length <= 39 && digits.len() <= length)?;
    let magnitude: i128 = format!("{digits:0<length$}").parse().ok()?;
    Some(if number.text().starts_with('-') { -magnitude } else { magnitude })
}
